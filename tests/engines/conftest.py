import local
import pytest
from data import Inputs


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    return Inputs(tmp_path_factory.mktemp("inputs"), 150)


@pytest.fixture(scope="module", params=local.ENGINES)
def engine(request):
    """One engine after the other, so that they do not share two cores."""
    started = local.ENGINES[request.param]()
    started.open()
    yield started
    started.close()
