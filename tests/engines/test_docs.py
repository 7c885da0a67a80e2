"""The examples and the walk-through of docs/engines.md run."""

import os
import re
import shutil
import subprocess
import sys

import data
import pytest

PAGE = (data.ROOT / "docs/engines.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## (.*?)\n.*?^```python\n(.*?)^```$", PAGE, re.M | re.S)
COMMANDS = re.search(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)[1].splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same folder for all examples: a reader tries one after the other."""
    made = tmp_path_factory.mktemp("clone")
    shutil.copytree(data.ROOT / "samples", made / "samples")
    return made


def run(code, folder):
    """As in the walk-through: venv/bin/python, which is not on the PATH."""
    (folder / "count.py").write_text(code)
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    environment.pop("PYSPARK_PYTHON", None)
    environment["PATH"] = os.pathsep.join(p for p in os.get_exec_path() if p != os.path.dirname(sys.executable))
    done = subprocess.run([sys.executable, "count.py"], cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_there_is_one_for_each_engine():
    assert [heading.split()[0] for heading, _ in EXAMPLES] == ["From", "Ray", "Spark", "Dask"]


@pytest.mark.parametrize("heading, code", EXAMPLES[1:], ids=[heading for heading, _ in EXAMPLES[1:]])
def test_example(heading, code, folder):
    if heading == "Spark" and not shutil.which("java"):
        pytest.skip("Spark needs Java: run third_party/install.sh engines")
    assert "6 images, 0 failed" in run(code, folder)
    assert list((folder / f"records-{heading.lower()}").glob("*.parquet"))


def test_walk_through(folder):
    """Installing is done already; the rest runs as it is written."""
    assert COMMANDS[2] == "venv/bin/python count.py" and COMMANDS[3].startswith("./imghist ")
    assert "samples/cutout.png" in run(EXAMPLES[0][1], folder)
    arguments = COMMANDS[3].split()[1:]
    rows = data.run_program(*(str(folder / a) if a.endswith(".ndjson") else a for a in arguments)).decode()
    images = {line.split(",")[0] for line in rows.splitlines()[1:]}
    assert images == {f"samples/{path.name}" for path in (folder / "samples").glob("*.*g")}
