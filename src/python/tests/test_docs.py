"""The examples of docs/python.md and docs/recipes.md run."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
EXAMPLES = {
    f"{page}-{i}": code
    for page in ("python", "recipes")
    for i, code in enumerate(
        re.findall(r"^```python\n(.*?)^```$", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.M | re.S), 1
    )
}


def test_there_are_all():
    assert len(EXAMPLES) == 22 + 5


@pytest.mark.parametrize("code", EXAMPLES.values(), ids=EXAMPLES)
def test_example(code, samples, tmp_path):
    for path in samples.glob("*.*g"):
        shutil.copy(path, tmp_path)
        (tmp_path / "train").mkdir(exist_ok=True)
        shutil.copy(path, tmp_path / "train")
    if "segments/" in code:
        shutil.rmtree(tmp_path / "train")
        (tmp_path / "train").mkdir()
        (tmp_path / "segments").mkdir()
        shutil.copy(samples / "gray16.png", tmp_path / "train")
        shutil.copy(samples / "gray16.png", tmp_path / "segments")
    for name in ("numpy", "pyarrow", "matplotlib", "pandas"):
        if f"import {name}" in code:
            pytest.importorskip(name)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "print(" not in code or done.stdout.strip()
