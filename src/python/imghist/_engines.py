"""What imghist.ray, imghist.spark and imghist.dask share: a task's images in, its records or total out.

A task holds one thread by default and one context for each process, made when it is first needed. It
returns records, or the total of its images, and keeps nothing: an engine may run a task twice and
uses one of the results.
"""

import functools
import itertools
import os

import pyarrow

from . import Context, Counts, Table, _imghist
from . import total as add

BATCH_IMAGES = 64  # records of 64 images have about 1 MiB
BATCH_BYTES = 64 << 20  # of files in memory, where the engine leaves the choice
TASK_PATHS_MIN, TASK_PATHS_MAX = 32, 1024  # small images take 20 ms to 0.6 s
_ARCHIVES = (".tar", ".gz", ".tgz", ".zst", ".xz", ".bz2", ".zip")


@functools.lru_cache(maxsize=16)
def _context(settings):
    return Context(**dict(settings))


def results(items, threads, settings):
    """Counts and exceptions of paths, as scan gives them, or of pairs (name, bytes), in order."""
    items = iter(items)
    start = list(itertools.islice(items, 1))
    hashable = sorted((key, tuple(v) if isinstance(v, list) else v) for key, v in settings.items())
    context, items = _context(tuple(hashable)), itertools.chain(start, items)
    if start and isinstance(start[0], tuple):
        return context.count_many(items, threads=threads, on_error="record")
    return context.scan(items, threads=threads, on_error="record")


def items(batch, name, image):
    """The images of a batch: paths, or pairs of a name and bytes, not copied. Samples of WebDataset have __key__."""
    if image is None and "__key__" in batch.schema.names:
        return (pair for i in range(batch.num_rows) for pair in _members(batch.slice(i, 1).to_pylist()[0], name))
    names = (_local(n) for n in batch.column(name).to_pylist())
    if image is None:
        return names
    return zip(names, (_bytes(data) for data in batch.column(image)))


def _members(sample, name):
    tar = f"{sample[name]}/" if name in sample else ""
    for ending, data in sample.items():
        if isinstance(data, bytes) and _imghist.is_image_name("x." + ending):
            yield f"{tar}{sample['__key__']}.{ending}", data


def _bytes(data):
    return memoryview(data.as_buffer()).cast("B") if data.is_valid else b""


def _local(path):
    """A path as the command line writes it: engines write file:/a and file:///a for /a."""
    return "/" + path[5:].lstrip("/") if path.startswith("file:/") else path


def tables(items, threads, settings):
    """Records as tables of at most BATCH_IMAGES images."""
    counted = Table(results(items, threads, settings), batch_images=BATCH_IMAGES, saved=True)
    return pyarrow.RecordBatchReader.from_stream(counted)


def schema():
    return pyarrow.RecordBatchReader.from_stream(Table([], saved=True)).schema


def total_bytes(items, threads, settings):
    return add(results(items, threads, settings)).to_bytes()


def saved_total(counted):
    """The total of results as a table with one row and the column counts."""
    return pyarrow.table({"counts": pyarrow.array([add(counted).to_bytes()], pyarrow.binary())})


def add_saved(a, b):
    return (Counts.from_bytes(a) + Counts.from_bytes(b)).to_bytes()


def saved_results(batch):
    """The counts in records, failures included, or the totals that saved_total made."""
    return (_imghist.load(c.as_buffer(), None) for c in batch.column("counts") if c.is_valid)


def names(paths):
    """Paths as str: an iterable of str, bytes or os.PathLike, or one of them."""
    one = isinstance(paths, (str, bytes, os.PathLike))
    return (_local(os.fsdecode(path)) for path in ([paths] if one else paths))


def slices(paths, n_workers, is_costly=False):
    """Paths in portions for one task: fewer towards the end, so that all workers end together; each archive is one.

    If a task costs much (60 ms in Spark, 3 ms in Ray), portions are fewer: about 6 for each worker.
    """
    paths, portion = list(names(paths)), []
    n_left, n_workers = len(paths), max(1, n_workers)
    n_min, n_max = TASK_PATHS_MIN, TASK_PATHS_MAX
    if is_costly:
        n_min, n_max = max(n_min, n_left // (16 * n_workers)), 4 * n_max
    for path in paths:
        portion.append(path)
        n_wanted = min(max(n_left // (2 * n_workers), n_min), n_max)
        if len(portion) >= n_wanted or path.endswith(_ARCHIVES):
            yield portion
            n_left -= len(portion)
            portion = []
    if portion:
        yield portion
