"""Counting on Ray: datasets of images become datasets of records, or one total. Examples: docs/engines.md."""

import pyarrow
import ray.data
from ray.data.aggregate import AggregateFnV2
from ray.data.block import BlockAccessor

from . import Counts, _engines, _imghist

__all__ = ["Total", "count", "total"]


def count(images, *, name="path", image=None, threads=1, **settings):
    """Returns a dataset of records, the rows of imghist.Table with saved=True; failures are rows.

    images    a dataset, or an iterable of paths. Members of archives are read one at a time.
    name      the column with the paths, or with the names of images in memory
    image     the column with files in memory; None: the files at the paths, or the members that
              ray.data.read_webdataset(..., decoder=None, include_paths=True) gives
    threads   of a task, which takes as many CPUs
    settings  those of imghist.Context

    A task counts one block, so Ray's block size bounds the memory, not a number of rows.
    """
    return _map(_records, images, name, image, threads, settings)


def total(images, *, name="path", image=None, threads=1, **settings):
    """Returns the total (Counts) of images, which count describes, or of a dataset of records."""
    if not isinstance(images, ray.data.Dataset):
        return _engines.add(_totals(images, threads, settings))
    batches = _map(_total, images, name, image, threads, settings).iter_batches(batch_size=None, batch_format="pyarrow")
    return _engines.add(result for batch in batches for result in _engines.saved_results(batch))


class Total(AggregateFnV2):
    """The total of records, by group if you like, as bytes for imghist.Counts.from_bytes."""

    def __init__(self, alias_name="total"):
        super().__init__(alias_name, lambda: _imghist.failures(0).to_bytes(), on="counts", ignore_nulls=True)

    def aggregate_block(self, block):
        return _engines.add(_engines.saved_results(BlockAccessor.for_block(block).to_arrow())).to_bytes()

    def combine(self, current_accumulator, new):
        return _engines.add_saved(current_accumulator, new)


def _totals(paths, threads, settings):
    """Totals of portions, from plain tasks: Ray Data starts a worker's next task about 0.15 s after the last."""
    task = ray.remote(num_cpus=threads)(_engines.total_bytes)
    totals = [task.remote(portion, threads, settings) for portion in _portions(paths, threads)]
    try:
        yield from (Counts.from_bytes(ray.get(total)) for total in totals)
    except BaseException:
        for total in ray.wait(totals, num_returns=len(totals), timeout=0)[1]:  # Ray can abort if one has ended
            ray.cancel(total)
        raise


def _portions(paths, threads):
    return _engines.slices(paths, ray.cluster_resources().get("CPU", 1) // threads)


def _map(function, images, name, image, threads, settings):
    if not isinstance(images, ray.data.Dataset):
        images = ray.data.from_arrow([pyarrow.table({name: paths}) for paths in _portions(images, threads)])
    arguments = (name, image, threads, settings)
    return images.map_batches(function, batch_size=None, batch_format="pyarrow", num_cpus=threads, fn_args=arguments)


def _records(table, name, image, threads, settings):
    for batch in _engines.tables(_engines.items(table, name, image), threads, settings):
        yield pyarrow.Table.from_batches([batch])


def _total(table, name, image, threads, settings):
    if "counts" in table.column_names:
        return _engines.saved_total(_engines.saved_results(table))
    return _engines.saved_total(_engines.results(_engines.items(table, name, image), threads, settings))
