"""Counting on Ray: datasets of images become datasets of records, or one total. Examples: docs/engines.md."""

import pyarrow
import ray.data
from ray.data.aggregate import AggregateFnV2
from ray.data.block import BlockAccessor

from . import _engines, _imghist

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
    partial = _map(_total, images, name, image, threads, settings)
    batches = partial.iter_batches(batch_size=None, batch_format="pyarrow")
    return _engines.add(result for batch in batches for result in _engines.saved_results(batch))


class Total(AggregateFnV2):
    """The total of records, by group if you like, as bytes for imghist.Counts.from_bytes."""

    def __init__(self, alias_name="total"):
        super().__init__(alias_name, lambda: _imghist.failures(0).to_bytes(), on="counts", ignore_nulls=True)

    def aggregate_block(self, block):
        return _engines.add(_engines.saved_results(BlockAccessor.for_block(block).to_arrow())).to_bytes()

    def combine(self, current_accumulator, new):
        return _engines.add_saved(current_accumulator, new)


def _map(function, images, name, image, threads, settings):
    if not isinstance(images, ray.data.Dataset):
        portions = _engines.slices(images, ray.cluster_resources().get("CPU", 1) // threads)
        images = ray.data.from_arrow([pyarrow.table({name: paths}) for paths in portions])
    return images.map_batches(
        function, batch_size=None, batch_format="pyarrow", num_cpus=threads,
        fn_args=(name, image, threads, settings),
    )


def _items(table, name, image):
    if image is not None or "__key__" not in table.column_names:
        return _engines.items(table, name, image)
    return (pair for i in range(table.num_rows) for pair in _members(table.slice(i, 1).to_pylist()[0], name))


def _members(sample, name):
    tar = f"{sample[name]}/" if name in sample else ""
    for ending, data in sample.items():
        if isinstance(data, bytes) and _imghist.is_image_name("x." + ending):
            yield f"{tar}{sample['__key__']}.{ending}", data


def _records(table, name, image, threads, settings):
    for batch in _engines.tables(_items(table, name, image), threads, settings):
        yield pyarrow.Table.from_batches([batch])


def _total(table, name, image, threads, settings):
    if "counts" in table.column_names:
        return _engines.saved_total(_engines.saved_results(table))
    return _engines.saved_total(_engines.results(_items(table, name, image), threads, settings))
