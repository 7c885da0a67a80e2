"""Results as a table for Arrow consumers (pyarrow, DuckDB, Polars, pandas), and as result files."""

import itertools
import operator
import os
import struct

from . import _imghist

_CODES = {"L": "Q", "C": "B", "S": "H", "g": "d"}  # of Arrow, and of the struct module
_COLUMNS = (
    [("file", "u", None), ("status", "u", None), ("error", "u", None), ("width", "L", None), ("height", "L", None)]
    + [("channel", "u", None)]
    + [(name, code, None) for name, code in zip(_imghist.Stats.__match_args__, _imghist.STATS_CODES)]
    + [("histogram", "+w:256", "L")]
)
_NATIVE = {"C": "S", "+w:256": "+L"}  # statistics of 16 bits, lists of any length
_SAVED = [("counts", "z", None)]
_OF_IMAGE = (
    [("format", "u"), ("width", "L"), ("height", "L"), ("pixels", "L"), ("source_depth", "L"), ("source_min", "L")]
    + [("source_max", "L"), ("mean_luminance", "g")]
    + [(f"{words}_{which}", "L") for words in ("crushed", "blown") for which in ("any", "all")]
)
_PLANES = ("gray", "red", "green", "blue", "alpha", "luma")
_IMAGE_COLUMNS = (
    [("file", "u", None), ("status", "u", None), ("error", "u", None)]
    + [(name, code, None) for name, code in _OF_IMAGE]
    + [
        (f"{plane}_{name}", code, None)
        for plane in _PLANES
        for name, code in zip(_imghist.Stats.__match_args__, _imghist.STATS_CODES)
    ]
)
_READ = {"file": str, "status": str, "error": str, "counts": bytes}
_EMPTY = bytes(256 * 8)


class Table:
    """Results as a table with one row for each image and plane: __arrow_c_stream__.

    results  an iterable of Counts, such as count_many gives it. An exception, as on_error='record'
             gives it, is a row with file, status and error.
    saved    True: the column counts has Counts.to_bytes in the first row of each image, and the
             total of one failure in rows of exceptions. Their sum is the total of the table, and
             read_table gives the results again.
    bins     'native': values are uint16, and histograms are lists of any length. By default that of
             the results of count_many or scan, or 256

    Columns: file, status ('ok' or Error.status), error, width, height, channel, the fields of Stats,
    and histogram, a list of 256 uint64. rows='images': one row for each image, without histograms:
    file, status, error, what Counts say of the image, and the fields of Stats of each plane, such as
    red_mean. Rows are made while they are read, batch_images images at a time, so memory does not
    grow with their number; an iterator can be read once.
    """

    def __init__(self, results, *, batch_images=256, saved=False, rows="channels", bins=None):
        if operator.index(batch_images) < 1:
            raise ValueError(f"batch_images is {batch_images}, must be at least 1")
        if rows not in ("channels", "images") or (saved and rows == "images"):
            raise ValueError("rows must be 'channels' or 'images', and saved needs 'channels'")
        if bins not in (None, 256, "native"):
            raise ValueError(f"bins: {bins!r} is not 256 or 'native'")
        self._is_wide = rows == "images"
        self._is_native = (bins or getattr(results, "bins", None)) == "native"
        self._results = results
        self._saved = saved
        self._batch_images = batch_images

    def __arrow_c_stream__(self, requested_schema=None):
        results = iter(self._results)
        columns = _IMAGE_COLUMNS if self._is_wide else _COLUMNS + _SAVED if self._saved else _COLUMNS
        if self._is_native:
            columns = [(name, _NATIVE.get(code, code), values) for name, code, values in columns]

        def next_batch():
            rows = []
            for result in itertools.islice(results, self._batch_images):
                samples = getattr(result, "samples", "uint8")
                if not samples.startswith("uint"):
                    raise ValueError(f"a table has columns for unsigned samples, none for {samples}")
                if not self._is_native and getattr(result, "n_bins", 256) != 256:
                    raise ValueError(f"a table of 256 bins has no {result.n_bins}: use Table(results, bins='native')")
                rows.extend([_wide_row(result)] if self._is_wide else _rows(result, self._saved))
            return _batch(columns, rows) if rows else None

        return _imghist.arrow_stream(columns, next_batch)


def _rows(result, saved):
    """The rows of a result: values in the order of _COLUMNS and _SAVED, None for null."""
    if isinstance(result, BaseException):
        error = (_source(result), _status(result), str(result))
        nulls = (None,) * (len(_COLUMNS) - len(error))
        return [(*error, *nulls, _imghist.failures(1).to_bytes() if saved else None)]
    if not isinstance(result, _imghist.Counts):
        raise TypeError(f"a table of results: {type(result)} is neither Counts nor an exception")
    start = (result.file, "ok", None, result.width, result.height)
    rows = [(*start, plane, *result[plane], result.histogram(plane), None) for plane in result.planes]
    if saved and rows:
        rows[0] = (*rows[0][:-1], result.to_bytes())
    return rows


def _wide_row(result):
    """The row of a result in the order of _IMAGE_COLUMNS."""
    if isinstance(result, BaseException):
        return _source(result), _status(result), str(result), *(None,) * (len(_IMAGE_COLUMNS) - 3)
    if not isinstance(result, _imghist.Counts):
        raise TypeError(f"a table of results: {type(result)} is neither Counts nor an exception")
    nothing = (None,) * len(_imghist.STATS_CODES)
    of_planes = (result[plane] if plane in result.planes else nothing for plane in _PLANES)
    return (result.file, "ok", None, *(getattr(result, name) for name, _ in _OF_IMAGE), *itertools.chain(*of_planes))


def _batch(names, rows):
    columns = []
    for (_, code, _), values in zip(names, zip(*rows)):
        n_nulls = sum(v is None for v in values)
        validity = _bits(values) if n_nulls else None
        if code in "uz":
            columns.append((n_nulls, [validity, *_texts(values)], None))
        elif code == "+w:256":
            data = b"".join(_EMPTY if v is None else v for v in values)
            columns.append((n_nulls, [validity], [None, data]))
        elif code == "+L":
            ends = itertools.accumulate((0 if v is None else len(v) for v in values), initial=0)
            offsets = struct.pack(f"{len(rows) + 1}q", *ends)
            columns.append((n_nulls, [validity, offsets], [None, b"".join(v for v in values if v is not None)]))
        else:
            numbers = [0 if v is None else v for v in values] if n_nulls else values
            data = struct.pack(f"{len(rows)}{_CODES[code]}", *numbers)
            columns.append((n_nulls, [validity, data], None))
    return len(rows), columns


def _bits(values):
    bits = bytearray((len(values) + 7) // 8)
    for i, v in enumerate(values):
        if v is not None:
            bits[i // 8] |= 1 << i % 8
    return bytes(bits)


def _texts(values):
    texts = [b"" if v is None else v if isinstance(v, bytes) else v.encode("utf-8", "replace") for v in values]
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    return struct.pack(f"{len(offsets)}i", *offsets), b"".join(texts)


def _group(result, by):
    if callable(by):
        return by(result)
    if isinstance(by, (str, bytes)) and by != "folder":
        raise ValueError(f"total: by is {by!r}, and must be 'folder', a dict or a function")
    name = result.file if isinstance(result, _imghist.Counts) else _source(result)
    if name is None and by == "folder":
        raise ValueError("total: a result without a name is in no folder; group by a function")
    return os.path.dirname(name) or "." if by == "folder" else by[name]


def _source(error):
    source = getattr(error, "source", None)  # other packages may use the name for anything
    return os.fsdecode(source) if isinstance(source, (str, bytes, os.PathLike)) else None


def _status(error):
    status = getattr(error, "status", None)
    return status if isinstance(status, str) else "usage"


def _bytes(text):
    """A name without what no file's name has: NUL, and surrogates that stand for no byte."""
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        encoded = text.encode("utf-8", "replace")
    return encoded.replace(b"\0", b"?")


def _error_text(source, text):
    """The error without the name before it, as the command line records it."""
    return text.removeprefix(f"{source}: ").encode("utf-8", "replace").replace(b"\0", b"?")


def read_table(table):
    for batch in table.to_batches() if hasattr(table, "to_batches") else [table]:
        if not hasattr(batch, "column"):
            raise TypeError(f"read_table: {type(batch)} is no table of pyarrow")
        for row in zip(*(batch.column(name) for name in _READ)):
            file, status, text, counts = map(_value, _READ.items(), row)
            if text is not None:
                error = _imghist.Error(text)
                error.source, error.status = file, status
                yield error
            elif counts is not None:
                yield _imghist.load(counts, file)


def _value(column, scalar):
    (name, kind), value = column, scalar.as_py()
    if not isinstance(value, (kind, type(None))):
        raise TypeError(f"read_table: the column {name} holds {type(value)}, not {kind}")
    return value


def total(results, by=None):
    if by is not None:
        groups = {}
        for result in results:
            name = _group(result, by)
            groups[name] = total([result]) + groups.get(name, 0)
        return {name: groups[name] for name in sorted(groups)}
    counts, failed = 0, 0
    for result in results:
        if isinstance(result, BaseException):
            failed += 1
        elif isinstance(result, _imghist.Counts):
            counts += result
        else:
            raise TypeError(f"total: {type(result)} is neither Counts nor an exception")
    return _imghist.failures(failed) + counts


def ndjson(results, folder):
    for result in results:
        if isinstance(result, BaseException):
            source, counts = _source(result) or "-", None
            error = _error_text(source, str(result)) or type(result).__name__.encode()
        else:
            source, counts, error = getattr(result, "file", None) or "-", result, b""
        yield _imghist.ndjson(_bytes(source), counts, error, os.fsencode(folder))
