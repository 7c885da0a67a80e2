import shutil

import local
import pytest
from data import Inputs


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    return Inputs(tmp_path_factory.mktemp("inputs"), 150)


@pytest.fixture(scope="module", params=local.ENGINES)
def engine(request):
    """One engine after the other, so that they do not share two cores."""
    if request.param == "spark" and not shutil.which("java"):
        pytest.skip("Spark needs Java: run third_party/install.sh engines")
    started = local.ENGINES[request.param]()
    started.open()
    yield started
    started.close()
