"""compare.py [ENGINE...]: 2,000 files from every form of input, against one run of the command line, byte for byte."""

import pathlib
import sys
import tempfile
import time

import data
import local
from kill import folder_of

import imghist


def compare(name, inputs, folder):
    """Returns the number of forms whose records or total differ."""
    engine, n_different = local.ENGINES[name](), 0
    engine.open()
    for form in engine.forms:
        lines, total_line = inputs.expected(form)
        images, arguments = engine.images(inputs, form)
        start = time.monotonic()
        engine.save(engine.module.count(images, **arguments), folder / name / form)
        total = engine.module.total(images, **arguments)
        took_s = time.monotonic() - start
        is_same = data.same(local.read_records(folder / name / form), lines)
        total_lines = data.comparable(imghist.ndjson([total], folder=folder_of(total_line)))
        is_same = data.same(total_lines, data.comparable([total_line])) and is_same
        print(f"{name}, {form}: {total.images} images, {total.failed} failed, {took_s:.1f} s:",
              "the same" if is_same else "DIFFERENT", flush=True)
        n_different += not is_same
    engine.close()
    return n_different


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as FOLDER:
        FOLDER = pathlib.Path(FOLDER)
        INPUTS = data.Inputs(FOLDER, 2000)
        sys.exit(sum(compare(name, INPUTS, FOLDER) for name in sys.argv[1:] or local.ENGINES) > 0)
