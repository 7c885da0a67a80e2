"""What imghist.ray, imghist.spark and imghist.dask share: a task's images in, its records or total out.

A task holds one thread by default and one context for each process, made when it is first needed. It
returns records, or the total of its images, and keeps nothing: an engine may run a task twice and
uses one of the results.
"""

import functools
import itertools
import operator
import os
import struct

import pyarrow

from . import Context, Counts, Table, _imghist, _many
from . import total as add

BATCH_IMAGES = 64  # records of 64 images have about 1 MiB
BATCH_BYTES = 64 << 20  # of files in memory, where the engine leaves the choice
TASK_PATHS_MIN, TASK_PATHS_MAX = 32, 1024  # small images take 20 ms to 0.6 s
_ARCHIVES = (".tar", ".gz", ".tgz", ".zst", ".xz", ".bz2", ".zip")
_ROWS = struct.Struct("<QQ")  # a partial total: the rows without counts, how many the images need; then a record
NO_IMAGES = _ROWS.pack(0, 0) + _imghist.failures(0).to_bytes()


def check(is_table, image, threads, settings):
    """Raises the errors of arguments before any task starts. The device is that of the workers."""
    if image is not None and not is_table:
        raise TypeError(f"image: paths have no column {image!r}: let the engine read files that have one")
    _many.n_threads(operator.index(threads))
    Context(**{key: value for key, value in settings.items() if key not in ("device", "kernel")})


@functools.lru_cache(maxsize=16)
def _context(settings):
    return Context(**dict(settings))


def results(items, threads, settings):
    """Counts and exceptions of paths, as scan gives them, or of pairs (name, bytes), in order.

    A result file raises ValueError: a task does not see the others, so it cannot tell whether they fit together.
    """
    items = iter(items)
    start = list(itertools.islice(items, 1))
    hashable = sorted((key, tuple(v) if isinstance(v, list) else v) for key, v in settings.items())
    context, items = _context(tuple(hashable)), itertools.chain(start, items)
    if start and isinstance(start[0], tuple):
        return context.count_many(items, threads=threads, on_error="record")
    return _imghist.walk(context, map(_many.encode, items), None, 0, 0, threads, False, False)


def items(batch, name, image):
    """The images of a batch: paths, or pairs of a name and bytes, not copied. Samples of WebDataset have __key__."""
    if image is None and "__key__" in batch.schema.names:
        return (pair for i in range(batch.num_rows) for pair in _members(batch.slice(i, 1).to_pylist()[0], name))
    names = map(_local, batch.column(name).to_pylist())
    return names if image is None else zip(names, map(_bytes, batch.column(image)))


def _members(sample, name):
    tar = f"{sample[name]}/" if name in sample else ""
    for ending, data in sample.items():
        if isinstance(data, bytes) and _imghist.is_image_name("x." + ending):
            yield f"{tar}{sample['__key__']}.{ending}", data


def _bytes(data):
    if not data.is_valid:
        return b""
    if not hasattr(data, "as_buffer"):
        raise TypeError(f"image: a column of {data.type} holds no files; it must be binary")
    return memoryview(data.as_buffer()).cast("B")


def _local(path):
    """A path as the command line writes it: engines write file:/a and file:///a for /a. A null is an empty name."""
    path = os.fsdecode("" if path is None else path)
    return "/" + path[5:].lstrip("/") if path.startswith("file:/") else path


def tables(items, threads, settings):
    """Records as tables of at most BATCH_IMAGES images."""
    counted = Table(results(items, threads, settings), batch_images=BATCH_IMAGES, saved=True, bins=settings.get("bins"))
    return (pyarrow.Table.from_batches([batch]) for batch in pyarrow.RecordBatchReader.from_stream(counted))


def schema(bins=256):
    return pyarrow.RecordBatchReader.from_stream(Table([], saved=True, bins=bins)).schema


def total_bytes(items, threads, settings):
    """The partial total of images."""
    return _ROWS.pack(0, 0) + add(results(items, threads, settings)).to_bytes()


def saved_bytes(columns):
    """The partial total of records, from their column counts."""
    n_rows, n_due, total = 0, 0, _imghist.failures(0)
    for column in columns:
        n_rows += column.null_count
        for counts in (_imghist.load(saved.as_buffer(), None) for saved in column if saved.is_valid):
            n_due += max(0, len(counts.planes) - 1)
            total += counts
    return _ROWS.pack(n_rows, n_due) + total.to_bytes()


def is_saved(types, name, image, settings):
    """Whether a table, {column: type}, has records in place of images."""
    if image is not None or "binary" not in str(types.get("counts")) or name in types and "channel" not in types:
        return False
    if settings:
        raise TypeError(f"total: records have been counted already, so they take no {', '.join(settings)}")
    return True


def partial_total(batches, name, image, threads, settings):
    """The partial total of tables of images or of records."""
    batches = iter(batches)
    start = list(itertools.islice(batches, 1))
    batches = itertools.chain(start, batches)
    if start and is_saved(dict(zip(start[0].schema.names, start[0].schema.types)), name, image, settings):
        return saved_bytes(batch.column("counts") for batch in batches)
    return total_bytes((item for batch in batches for item in items(batch, name, image)), threads, settings)


def add_bytes(a, b):
    rows = map(sum, zip(_ROWS.unpack_from(a), _ROWS.unpack_from(b)))
    return _ROWS.pack(*rows) + (_counts(a) + _counts(b)).to_bytes()


def finish(partial):
    """The Counts of partial totals. Records may come in any order, all rows of an image or only those with counts."""
    total = functools.reduce(add_bytes, partial, NO_IMAGES)
    n_rows, n_due = _ROWS.unpack_from(total)
    if n_rows not in (0, n_due):
        rows = f"{n_rows} rows of records without counts, but their images have {n_due}"
        raise ValueError(f"total: {rows}: only an image's first row has its counts, so a total needs all rows")
    return _counts(total)


def _counts(partial):
    return Counts.from_bytes(memoryview(partial)[_ROWS.size :])


def names(paths):
    """Paths as str: an iterable of str, bytes or os.PathLike, or one of them."""
    one = isinstance(paths, (str, bytes, os.PathLike))
    return map(_local, [paths] if one else paths)


def path_tables(paths, name, n_workers, is_costly=False):
    """A table for each portion, one at least. Paths are bytes there, because Arrow's text is UTF-8."""
    for portion in list(slices(paths, n_workers, is_costly)) or [[]]:
        yield pyarrow.table({name: pyarrow.array(map(os.fsencode, portion), pyarrow.binary())})


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
