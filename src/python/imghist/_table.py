"""Results as a table for Arrow consumers: pyarrow, DuckDB, Polars, pandas."""

import struct

from . import _imghist

_STATS = (
    ("count", "L"),
    ("sum", "L"),
    ("mean", "g"),
    ("stddev", "g"),
    ("min", "C"),
    ("max", "C"),
    ("p01", "C"),
    ("p05", "C"),
    ("p25", "C"),
    ("median", "C"),
    ("p75", "C"),
    ("p95", "C"),
    ("p99", "C"),
    ("entropy", "g"),
    ("clip_low", "L"),
    ("clip_high", "L"),
)
_CODES = {"L": "Q", "C": "B", "g": "d"}  # of Arrow, and of the struct module
_COLUMNS = (
    [("file", "u", None), ("error", "u", None), ("width", "L", None), ("height", "L", None)]
    + [("channel", "u", None)]
    + [(name, code, None) for name, code in _STATS]
    + [("histogram", "+w:256", "L")]
)
_EMPTY = bytes(256 * 8)


class Table:
    """Results as a table with one row for each image and plane: __arrow_c_stream__.

    results  an iterable of Counts, such as count_many gives it. An exception, as on_error='record'
             gives it, is a row with file and error.

    Columns: file, error, width, height, channel, the fields of Stats, and histogram, a list of 256
    uint64. Rows are made while they are read, batch_images images at a time, so memory does not
    grow with their number; an iterator can be read once.
    """

    def __init__(self, results, *, batch_images=256):
        self._results = results
        self._batch_images = batch_images

    def __arrow_c_stream__(self, requested_schema=None):
        results = iter(self._results)

        def next_batch():
            rows = []
            for _ in range(self._batch_images):
                result = next(results, None)
                if result is None:
                    break
                rows.extend(_rows(result))
            return _batch(rows) if rows else None

        return _imghist.arrow_stream(_COLUMNS, next_batch)


def _rows(result):
    """The rows of a result: values in the order of _COLUMNS, None for null."""
    if isinstance(result, BaseException):
        source = getattr(result, "source", None)
        return [(source, str(result)) + (None,) * (len(_COLUMNS) - 2)]
    start = (result.file, None, result.width, result.height)
    return [(*start, plane, *result[plane], result.histogram(plane)) for plane in result.planes]


def _batch(rows):
    columns = []
    for (_, code, _), values in zip(_COLUMNS, zip(*rows)):
        n_nulls = sum(v is None for v in values)
        validity = _bits(values) if n_nulls else None
        if code == "u":
            columns.append((n_nulls, [validity, *_texts(values)], None))
        elif code == "+w:256":
            data = b"".join(_EMPTY if v is None else v for v in values)
            columns.append((n_nulls, [validity], [None, data]))
        else:
            numbers = [0 if v is None else v for v in values] if n_nulls else values
            columns.append((n_nulls, [validity, struct.pack(f"{len(rows)}{_CODES[code]}", *numbers)], None))
    return len(rows), columns


def _bits(values):
    bits = bytearray((len(values) + 7) // 8)
    for i, v in enumerate(values):
        if v is not None:
            bits[i // 8] |= 1 << i % 8
    return bytes(bits)


def _texts(values):
    texts = [b"" if v is None else v.encode("utf-8", "replace") for v in values]
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    return struct.pack(f"{len(offsets)}i", *offsets), b"".join(texts)
