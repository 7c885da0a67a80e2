"""Shared by the tests: the sample images, the program, and a tree of many small files."""

import os
import pathlib
import random
import shutil
import signal
import subprocess

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs without it
ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def unsanitized():
    """Of tests that the address sanitizer itself fails: of little memory, short times and fork() beside threads."""
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("not with the address sanitizer")


@pytest.fixture(scope="session")
def samples():
    return ROOT / "samples"


@pytest.fixture(scope="session")
def program():
    """The command line program: the judge of counts of files."""
    found = os.environ.get("IMGHIST") or shutil.which("imghist")
    if not found:
        pytest.skip("no imghist program: set IMGHIST")

    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # sanitizers of Python

    def done(*arguments, **others):
        return subprocess.run([found, *map(str, arguments)], capture_output=True, check=False, env=environment, **others)

    def run(*arguments, **others):
        return done(*arguments, **others).stdout

    def errors(*arguments):
        return done(*arguments).stderr.decode()

    run.errors = errors
    return run


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """2,000 small files in directories: six formats, a fifth of them damaged, some no images."""
    image = pytest.importorskip("PIL.Image")
    root = tmp_path_factory.mktemp("tree")
    chance = random.Random(20)
    formats = [("RGB", "jpg"), ("RGB", "png"), ("L", "png"), ("RGBA", "png"), ("RGB", "bmp"),
               ("L", "jpg"), ("P", "gif"), ("RGB", "ppm")]
    for i in range(2000):
        mode, ending = chance.choice(formats)
        size = chance.randrange(1, 60), chance.randrange(1, 60)
        channels = {"L": 1, "P": 1, "RGB": 3, "RGBA": 4}[mode]
        made = image.frombytes(mode, size, chance.randbytes(size[0] * size[1] * channels))
        if mode == "P":
            made.putpalette(chance.randbytes(768))
        path = root / f"d{i % 7}" / f"é{i % 3}" / f"{i}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        made.save(path)
        if i % 5 == 0:
            data = bytearray(path.read_bytes())
            if i % 2:
                del data[chance.randrange(len(data)) :]
            else:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            path.write_bytes(data)
    (root / "notes.txt").write_text("no image")
    (root / ".hidden.png").write_bytes(b"hidden")
    (root / "old.hist.png").write_bytes(b"an earlier chart")
    (root / "link").symlink_to(root / "d1", target_is_directory=True)
    (root / "dangling.png").symlink_to(root / "nothing")
    return root
