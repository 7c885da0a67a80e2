"""The package: imports, types, names, and memory."""

import inspect
import inspect
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import imghist

FOLDER = pathlib.Path(imghist.__file__).parent


def python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.usefixtures("unsanitized")
def test_import_is_quick_and_loads_no_other_package():
    code = "import time, sys; t = time.perf_counter(); import imghist; "
    times = [float(python(code + "print(time.perf_counter() - t)")) for _ in range(5)]
    assert min(times) < 0.030
    loaded = set(python(code + "print(*sys.modules)").split())
    assert not loaded & {"numpy", "torch", "typing", "multiprocessing", "asyncio", "PIL"}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="subinterpreters take the GIL correctly")
def test_a_subinterpreter_of_3_11_is_refused():
    code = "import _xxsubinterpreters as s; s.run_string(s.create(), 'import imghist')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "ImportError" in done.stderr and "3.12 or later" in done.stderr


def test_every_public_name_has_a_docstring():
    assert set(imghist.__all__) <= set(dir(imghist))
    settings = inspect.getdoc(imghist.Context)
    for name in inspect.signature(imghist.Context).parameters:
        assert re.search(rf"^{name} ", settings, re.M), name
    for name in imghist.__all__:
        assert inspect.getdoc(getattr(imghist, name)), name
    for kind in (imghist.Counts, imghist.Context, imghist.Results):
        for name, member in vars(kind).items():
            if not name.startswith("_"):
                assert inspect.getdoc(member), f"{kind.__name__}.{name}"


def test_stubs_have_the_names_of_the_module():
    for module, stub in ((imghist, "__init__.pyi"), (imghist._imghist, "_imghist.pyi")):
        text = (FOLDER / stub).read_text(encoding="utf-8")
        for name in vars(module):
            if not name.startswith("_") and not inspect.ismodule(getattr(module, name)):
                assert name in text, (stub, name)
    text = (FOLDER / "_imghist.pyi").read_text(encoding="utf-8")
    for kind in (imghist.Counts, imghist.Context, imghist.Results):
        for name in vars(kind):
            if not name.startswith("__"):
                assert f"def {name}(" in text, name
    for name in imghist.Stats.__match_args__:
        assert f"    def {name}(self)" in text


def test_the_module_runs_the_program():
    done = subprocess.run([sys.executable, "-m", "imghist", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"imghist {imghist.__version__}\n"
    assert subprocess.run([sys.executable, "-m", "imghist", "missing.png"], capture_output=True, check=False).returncode == 1


USE = '''
import imghist
from typing import Literal, assert_type

c = imghist.count("a.png")
assert_type(c, imghist.Counts)
assert_type(c["red"].p99, int | float)
assert_type(c["red"].mean, float)
assert_type(c["red"][3], float)
for each in imghist.count_many(["a.png", b"bytes"]):
    assert_type(each, imghist.Counts)
for either in imghist.scan(".", on_error="record"):
    assert_type(either, imghist.Counts | Exception)
assert_type(sum(imghist.scan(".")), imghist.Counts | Literal[0])
assert_type(c + c, imghist.Counts)
results: imghist.Results[imghist.Counts] = imghist.count_many(["a.png"])
assert_type(imghist.Counts.from_bytes(c.to_bytes()), imghist.Counts)
'''


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_accept_the_package(checker, tmp_path):
    pytest.importorskip(checker)
    use = tmp_path / "use.py"
    wrong = tmp_path / "wrong.py"
    use.write_text(USE)
    shutil.copytree(FOLDER, tmp_path / "imghist", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    wrong.write_text("import imghist\nimghist.count('a', layout='QQ')\nimghist.count('a').width = 5\n")
    arguments = {"mypy": ["--strict"], "pyright": []}[checker]

    def check(*paths):
        return subprocess.run([sys.executable, "-m", checker, *arguments, *map(str, paths)],
                              capture_output=True, text=True, cwd=tmp_path)

    done = check(use, *(tmp_path / "imghist").glob("*.pyi"))
    assert done.returncode == 0, done.stdout + done.stderr
    done = check(wrong)
    assert done.returncode != 0 and "2 errors" in done.stdout.replace("Found 2", "2"), done.stdout


def rss():
    for line in open("/proc/self/status", encoding="ascii"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) << 10
    return 0


def test_memory_does_not_grow(samples):
    """A short form of tests/bench/python.sh, which makes 10^6 calls."""
    numpy = pytest.importorskip("numpy")
    x = numpy.zeros((8, 8, 3), numpy.uint8)
    path = str(samples / "palette.png")

    def calls(n):
        for _ in range(n):
            c = imghist.count(x)
            c.bins, c["red"], c.to_bytes(), c + c
            imghist.count_batch(x[None], sums=True)
            for bad in (b"P5 1 1 255 ", "missing", None):
                with pytest.raises((imghist.Error, TypeError)):
                    imghist.count(bad)
        for _ in range(n // 100):
            list(imghist.count_many([x, path, b"bad"] * 5, on_error="record", threads=2))
            c.to_dict(), c._repr_html_(), imghist.Table([c]).__arrow_c_stream__()

    calls(1000)
    before = rss()
    calls(5000)
    assert rss() - before < 4 << 20
