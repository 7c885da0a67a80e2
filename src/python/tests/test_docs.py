"""The examples of docs/python.md run."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def test_there_are_twelve():
    assert len(EXAMPLES) == 12


@pytest.mark.parametrize("code", EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
def test_example(code, samples, tmp_path):
    for path in samples.glob("*.*g"):
        shutil.copy(path, tmp_path)
    for name in ("numpy", "pyarrow"):
        if f"import {name}" in code:
            pytest.importorskip(name)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "print(" not in code or done.stdout.strip()
