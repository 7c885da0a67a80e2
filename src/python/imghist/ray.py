"""Counting on Ray: datasets of images become datasets of records, or one total. Examples: docs/engines.md."""

import pyarrow
import ray.data
from ray.data.aggregate import AggregateFnV2
from ray.data.block import BlockAccessor

from . import _engines

__all__ = ["Total", "count", "total"]


def count(images, *, name="path", image=None, threads=1, **settings):
    """Returns a dataset of records, the rows of imghist.Table with saved=True; failures are rows.

    images    a dataset, whose blocks are the tasks, or an iterable of paths. Archives are read member by member.
    name      the column with the paths, or with the names of images in memory
    image     the column with files in memory; None: the files at the paths, or the members that
              ray.data.read_webdataset(..., decoder=None, include_paths=True) gives
    threads   of a task, which takes as many CPUs
    settings  those of imghist.Context
    """
    return _map(_records, images, name, image, threads, settings)


def total(images, *, name="path", image=None, threads=1, **settings):
    """Returns the total (Counts) of images, which count describes, or of a dataset of records."""
    if not isinstance(images, ray.data.Dataset):
        return _engines.finish(_totals(images, _n_tasks(images, image, threads, settings), threads, settings))
    batches = _map(_total, images, name, image, threads, settings).iter_batches(batch_size=None, batch_format="pyarrow")
    return _engines.finish(partial.as_py() for batch in batches for partial in batch.column("counts"))


class Total(AggregateFnV2):
    """The total of records, by group if you like, as bytes for imghist.Counts.from_bytes."""

    combine = staticmethod(_engines.add_bytes)
    finalize = staticmethod(lambda partial: _engines.finish([partial]).to_bytes())

    def __init__(self, alias_name="total"):
        super().__init__(alias_name, lambda: _engines.NO_IMAGES, on="counts", ignore_nulls=True)

    def aggregate_block(self, block):
        return _engines.saved_bytes([BlockAccessor.for_block(block).to_arrow().column("counts")])


def _totals(paths, n_tasks, threads, settings):
    """Totals of portions, from plain tasks: Ray Data starts a worker's next task about 0.15 s after the last."""
    task = ray.remote(num_cpus=threads)(_engines.total_bytes)
    totals = [task.remote(portion, threads, settings) for portion in _engines.slices(paths, n_tasks)]
    try:
        yield from map(ray.get, totals)
    except BaseException:
        for total in ray.wait(totals, num_returns=len(totals), timeout=0)[1]:  # Ray can abort if one has ended
            ray.cancel(total)
        raise


def _n_tasks(images, image, threads, settings):
    _engines.check(isinstance(images, ray.data.Dataset), image, threads, settings)
    ray.is_initialized() or ray.init()
    cpus = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
    if threads > max(1, *cpus):
        raise ValueError(f"threads: no node has {threads} CPUs, so Ray would wait for ever")
    return sum(cpus) // threads


def _map(function, images, name, image, threads, settings):
    n_tasks, arguments = _n_tasks(images, image, threads, settings), (name, image, threads, settings)
    if not isinstance(images, ray.data.Dataset):
        images = ray.data.from_arrow(list(_engines.path_tables(images, name, n_tasks)))
    return images.map_batches(function, batch_size=None, batch_format="pyarrow", num_cpus=threads, fn_args=arguments)


def _records(table, name, image, threads, settings):
    yield from _engines.tables(_engines.items(table, name, image), threads, settings)


def _total(table, *arguments):
    return pyarrow.table({"counts": [_engines.partial_total([table], *arguments)]})
