"""Counting on Spark: DataFrames of images become DataFrames of records, or one total. Examples: docs/engines.md."""

import functools

import pyarrow
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from . import _engines

__all__ = ["count", "total"]


def count(images, *, name="path", image=None, threads=1, **settings):
    """Returns a DataFrame of records, the rows of imghist.Table with saved=True; failures are rows.

    images    a DataFrame, or an iterable of paths. Members of archives are read one at a time.
    name      the column with the paths, or with the names of images in memory
    image     the column with files in memory; None: 'content', the column of binaryFile, or else the
              files at the paths
    threads   of a task; a task that has more needs spark.task.cpus
    settings  those of imghist.Context

    Integers are signed, because Spark has no others. For images in memory, this sets the session's
    limits of Arrow batches to 64 MiB and 128 rows, and so does a total of records: 10,000 photos,
    Spark's default, would be tens of GB. The limits stay set.
    """
    return _map(_records, from_arrow_schema(_signed(_engines.schema(settings.get("bins")))), images, name, image, threads, settings)


def total(images, *, name="path", image=None, threads=1, **settings):
    """Returns the total (Counts) of images, which count describes, or of a DataFrame of records."""
    partial = _map(_total, "counts binary", images, name, image, threads, settings).collect()
    return _engines.finish(row.counts for row in partial)


def _map(function, schema, images, name, image, threads, settings):
    is_table = hasattr(images, "sparkSession")
    _engines.check(is_table, image, threads, settings)
    images = images if is_table else _frame(images, name)
    image = "content" if image is None and "content" in images.columns else image
    is_saved = function is _total and _engines.is_saved(dict(images.dtypes), name, image, settings)
    columns = ["counts"] if is_saved else [name] if image is None else [name, image]
    if is_saved or image is not None:
        for key, limit in (("maxRecordsPerBatch", 128), ("maxBytesPerBatch", _engines.BATCH_BYTES)):
            images.sparkSession.conf.set("spark.sql.execution.arrow." + key, str(limit))
    task = functools.partial(function, name=name, image=image, threads=threads, settings=settings)
    return images.select(*columns).mapInArrow(task, schema)


def _frame(paths, name):
    """Paths with a task for each portion. By default Spark makes one task for each core of up to 48 MB of paths."""
    session, key = SparkSession.builder.getOrCreate(), "spark.sql.execution.arrow.localRelationThreshold"
    tables = _engines.path_tables(paths, name, session.sparkContext.defaultParallelism, is_costly=True)
    table, before = pyarrow.concat_tables(tables), session.conf.get(key)
    try:
        session.conf.set(key, "0")
        return session.createDataFrame(table)
    finally:
        session.conf.set(key, before)


def _records(batches, name, image, threads, settings):
    items = (item for batch in batches for item in _engines.items(batch, name, image))
    for table in _engines.tables(items, threads, settings):
        yield from table.cast(_signed(table.schema)).to_batches()


def _total(batches, name, image, threads, settings):
    partial = _engines.partial_total(batches, name, image, threads, settings)
    yield pyarrow.RecordBatch.from_pydict({"counts": [partial]})


def _signed(schema):
    types = {pyarrow.uint64(): pyarrow.int64(), pyarrow.uint8(): pyarrow.int16(), pyarrow.uint16(): pyarrow.int32()}
    types[schema.field("histogram").type] = pyarrow.list_(pyarrow.int64())
    return pyarrow.schema([(field.name, types.get(field.type, field.type)) for field in schema])
