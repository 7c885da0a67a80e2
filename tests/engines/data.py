"""Test files in the forms that engines read, and what the command line says of them."""

import functools
import itertools
import os
import pathlib
import random
import re
import subprocess
import tarfile

import PIL.Image
import pyarrow
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATS = [("RGB", "jpg"), ("RGB", "png"), ("L", "png"), ("RGBA", "png"), ("RGB", "bmp"),
           ("L", "jpg"), ("P", "gif"), ("RGB", "ppm"), ("RGB", "webp"), ("RGB", "tif")]


def make_files(folder, n, seed=21):
    """n small images with random pixels; a fifth is damaged, and every 50th is empty."""
    chance = random.Random(seed)
    for i in range(n):
        mode, ending = FORMATS[i % len(FORMATS)]
        size = chance.randrange(1, 60), chance.randrange(1, 60)
        n_channels = {"L": 1, "P": 1, "RGB": 3, "RGBA": 4}[mode]
        made = PIL.Image.frombytes(mode, size, chance.randbytes(size[0] * size[1] * n_channels))
        if mode == "P":
            made.putpalette(chance.randbytes(768))
        path = folder / f"d{i % 7} é%20" / f"{i}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        made.save(path)
        if i % 50 == 49:
            path.write_bytes(b"")
        elif i % 5 == 3 or i % 5 == 4 and i % 3 == 0:
            data = bytearray(path.read_bytes())
            if i % 2:
                del data[chance.randrange(len(data)) :]
            else:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            path.write_bytes(data)


class Inputs:
    """Loose files, tar files and Parquet files of the same images.

    paths, tars   lists of names
    parquet       a folder of files with the columns path and bytes
    """

    def __init__(self, folder, n, n_parts=8):
        self.folder, self.loose = folder, folder / "loose"
        make_files(self.loose, n)
        self.paths = sorted(str(path) for path in self.loose.rglob("*.*"))
        self.parquet = folder / "parquet"
        self.parquet.mkdir()
        (folder / "tars").mkdir()
        self.tars = []
        for i in range(n_parts):
            self._write_part(i, self.paths[i::n_parts])
        for path in (ROOT / "samples").glob("*.*g"):
            self.paths.append(str(path))

    def _write_part(self, i, paths):
        data = [pathlib.Path(path).read_bytes() for path in paths]
        table = pyarrow.table({"path": paths, "bytes": pyarrow.array(data, pyarrow.binary())})
        pyarrow.parquet.write_table(table, self.parquet / f"{i}.parquet", row_group_size=40)
        self.tars.append(str(self.folder / "tars" / f"{i}.tar"))
        with tarfile.open(self.tars[-1], "w") as tar:
            for path in paths:
                tar.add(path, path.removeprefix(str(self.loose) + "/"))
            tar.add(ROOT / "LICENSE", "notes.txt")  # no image: skipped

    def names(self, form):
        """The names that the command line gets for a form."""
        if form in ("tars", "webdataset"):
            return self.tars
        if form in ("parquet", "binaryFile"):
            paths = [path for path in self.paths if path.startswith(str(self.loose))]
            return [p for p in paths if form == "parquet" or os.path.getsize(p)]  # Spark skips empty files
        return self.paths

    @functools.lru_cache(maxsize=32)  # noqa: B019
    def expected(self, form, *options):
        """The lines of records, sorted, and the line of the total of one run of the command line."""
        lines = run_program("--ndjson", "--total", *options, *self.names(form)).splitlines(True)
        return comparable(lines[:-1]), lines[-1]


def comparable(lines):
    """Sorted, without the advice that names options of the program or settings of Python."""
    left_out = rb' \((--list shows|raw_channels reads)[^)]*\)'
    return sorted(re.sub(left_out, b"", line) for line in lines)


def same(a, b):
    """False with one line that differs, because whole records do not fit a report."""
    for x, y in itertools.zip_longest(a, b):
        if x != y:
            at = next(i for i in range(len(x or b"") + 1) if (x or b"")[i : i + 1] != (y or b"")[i : i + 1])
            print(f"differ at byte {at}:", *((line or b"-")[max(at - 200, 0) : at + 100] for line in (x, y)), sep="\n")
            return False
    return True


def run_program(*arguments):
    """What the program writes. Failed inputs are expected."""
    program = os.environ.get("IMGHIST", str(ROOT / "build/release/imghist"))
    done = subprocess.run([program, "-q", "--device=cpu", *arguments], capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout
