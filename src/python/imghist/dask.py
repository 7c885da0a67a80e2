"""Counting on Dask: paths of images become a bag of tables of records, or one total. Examples: docs/engines.md."""

import os

import dask.bag
import dask.distributed
import pyarrow.parquet

from . import _engines

__all__ = ["count", "to_parquet", "total"]


def count(paths, *, name="path", image=None, threads=1, **settings):
    """Returns a dask.bag of pyarrow.Table: records as in imghist.Table with saved=True; failures are rows.

    paths     of images. Members of archives are read one at a time.
    image     the paths are Parquet files, and this column has files in memory; a task reads a row group
    name      their column with the names of images
    threads   of a task: workers of one thread each use all cores
    settings  those of imghist.Context
    """
    return _map(_records, paths, name, image, threads, settings)


def to_parquet(records, folder):
    """Writes part-00000.parquet and so on, one for each partition. FileExistsError: the folder has Parquet files."""
    os.makedirs(folder, exist_ok=True)
    if others := [name for name in os.listdir(folder) if name.endswith(".parquet")]:
        raise FileExistsError(f"{folder} has files of another run, such as {max(others)}: name a new folder")
    dask.compute(*(dask.delayed(_write)(part, folder, i) for i, part in enumerate(records.to_delayed())))


def total(images, *, name="path", image=None, threads=1, **settings):
    """Returns the total (Counts) of images, which count describes, or of a bag of records."""
    if isinstance(images, dask.bag.Bag):
        partial = images.map(lambda table: _engines.partial_total([table], name, image, threads, settings))
    else:
        partial = _map(_total, images, name, image, threads, settings)
    return _engines.finish([partial.fold(_engines.add_bytes, initial=_engines.NO_IMAGES, split_every=16).compute()])


def _map(function, paths, name, image, threads, settings):
    _engines.check(True, image, threads, settings)
    try:
        n_workers = sum(dask.distributed.get_client().ncores().values())
    except ValueError:  # there is no cluster: Dask starts a process for each core
        n_workers = os.cpu_count()
    parts = list(_engines.slices(paths, n_workers) if image is None else _row_groups(paths)) or [[]]
    task = dask.delayed(function)
    return dask.bag.from_delayed([task(part, name, image, threads, settings) for part in parts])


def _row_groups(paths):
    for path in _engines.names(paths):
        yield from ([(path, i)] for i in range(pyarrow.parquet.ParquetFile(path).num_row_groups))


def _items(part, name, image):
    for path, i in part:
        with pyarrow.parquet.ParquetFile(path) as file:
            group = file.metadata.row_group(i)
            n = max(1, _engines.BATCH_BYTES * group.num_rows // max(1, group.total_byte_size))
            for batch in file.iter_batches(n, [i], [name, image]):
                yield from _engines.items(batch, name, image)


def _records(part, name, image, threads, settings):
    items = part if image is None else _items(part, name, image)
    return list(_engines.tables(items, threads, settings))


def _total(part, name, image, threads, settings):
    return [_engines.total_bytes(part if image is None else _items(part, name, image), threads, settings)]


def _write(tables, folder, i):
    path, part = os.path.join(folder, f"part-{i:05}.parquet"), os.path.join(folder, f".part-{i:05}.{os.getpid()}")
    pyarrow.parquet.write_table(pyarrow.concat_tables(tables or [_engines.schema().empty_table()]), part)
    os.replace(part, path)
