"""A worker that is killed in mid-run: the result is right, or the job fails. kill.py makes more runs."""

import shutil

import kill
import local
import pytest


@pytest.mark.parametrize("name", local.ENGINES)
def test_a_killed_worker_changes_nothing(name):
    if name == "spark" and not shutil.which("java"):
        pytest.skip("Spark needs Java: run third_party/install.sh engines")
    right, loud, missed = kill.kills(name, 2, n_files=400)
    assert right + loud + missed <= 4 and right + loud > 0
