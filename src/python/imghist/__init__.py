"""Exact histograms of images, with 256 bins or native ones: every channel, luma, statistics and clip counts.

    import imghist
    c = imghist.count("photo.jpg")
    c["red"].p99, c["luma"].mean, c.bins

docs/python.md has more examples.
"""

from . import _batch, _imghist
from ._imghist import Context, Counts, Error, Results, Stats, __version__

__all__ = ["Context", "Counts", "Error", "Results", "Stats", "Table", "copies", "count", "count_batch"]
__all__ += ["count_many", "ndjson", "read_table", "scan", "total"]

_defaults = {}


def _context(context, luma=None, bins=None, nodata=None, bands=None):
    """Returns the given context, or the default one of these settings, which counts on the CPU."""
    if not isinstance(bands, (str, type(None))):
        raise TypeError(f"bands: a str, as '1,3-5', not {type(bands).__name__}")
    if context is None:
        settings = luma, 256 if bins is None else bins, nodata, bands
        if settings not in _defaults:
            if len(_defaults) >= 32:  # values of nodata may be many
                _defaults.clear()
            _defaults[settings] = Context(luma=luma, bins=settings[1], nodata=nodata, bands=bands)
        return _defaults[settings]
    if not isinstance(context, Context):
        raise TypeError(f"context: {type(context)} is no imghist.Context")
    if luma is not None:
        raise ValueError("luma: a context has its own, Context(luma=...)")
    if bins not in (None, context.bins):
        raise ValueError("bins: a context has its own, Context(bins=...)")
    if nodata is not None:
        raise ValueError("nodata: a context has its own, Context(nodata=...)")
    if bands is not None:
        raise ValueError("bands: a context has its own, Context(bands=...)")
    return context


def count(
    x,
    /,
    *,
    layout=None,
    order="rgb",
    range=None,
    threads=None,
    labels=None,
    ignore_label=None,
    luma=None,
    bins=None,
    nodata=None,
    bands=None,
    context=None,
):
    """Counts one image and returns its Counts.

    x        a path (str or os.PathLike); a file in memory: bytes, or any buffer of uint8 with one
             dimension; a binary file object; or pixels in host memory: an array with the buffer
             protocol, __array_interface__ or DLPack, of uint8, uint16, int8, int16, float16, bfloat16
             or float32, with any strides. Nothing is copied. Channels: gray; gray, alpha; RGB; RGBA;
             or with a layout up to 4,096 bands. Masked samples of a masked array of NumPy are counted
             apart, as nodata, each channel for itself, alpha too.
    layout   the letters of an array's dimensions: 'HW', 'HWC', 'CHW' and so on; by default HW for 2 and
             HWC for 3
    order    'rgb' or 'bgr': the order of colour channels in an array
    range    (low, high) of uint16 arrays: the values that become 0 and 255; default (0, 65535).
             Alpha is scaled from (0, 65535). For a file layout, order='bgr' and range raise ValueError
    threads  that count a large array; by default one for each core. Smaller arrays and files take one
    labels   of an array: uint8 or uint16 [height, width], the label of each pixel. The result is a dict with
             the Counts of each label that occurs; Counts.label is the label. ignore_label: one that is left out
    luma     'bt709' (default) or 'bt601', the weights of luma; 'none': channels alone, which is faster,
             and the Counts have no plane of luma
    bins     256, or 'native': a bin for each value that samples of 9 to 16 bits can have. A uint16
             array has 65,536; with range=(0, 4095), which limits its values, 4,096
    nodata   samples of this value are counted apart (Stats.nodata), in no bin and no statistic, each channel
             for itself; not of alpha. 'none': none are. By default those that a file says (GDAL_NODATA)
    bands    '1,3-5': count only these channels, by their numbers in the file or array (--bands)
    context  a Context; by default one for the CPU with default settings. It has its own luma, bins, nodata and
             bands

    Raises Error for a file that cannot be counted, ValueError or TypeError for another argument.
    The GIL is released while the image is decoded and counted.
    """
    context = _context(context, luma, bins, nodata, bands)
    if labels is not None:
        if threads is not None:
            raise ValueError("threads: labels are counted in one")
        return _imghist.count_labels(context, x, labels, ignore_label, layout, order, range)
    if ignore_label is not None:
        raise ValueError("ignore_label: needs labels")
    return context.count(x, layout=layout, order=order, range=range, threads=threads)


def count_many(
    iterable,
    /,
    *,
    threads=None,
    on_error="raise",
    layout=None,
    order="rgb",
    range=None,
    luma=None,
    bins=None,
    nodata=None,
    bands=None,
    context=None,
):
    """Counts many images on all cores and iterates over their Counts in the order of the inputs.

    iterable  what count accepts, mixed as you like; up to 64 items for each thread are taken ahead.
              A pair (name, image) gives a name to an image that has no path
    threads   by default one for each core, and one in a worker process of multiprocessing
    on_error  'raise' the exception of the first image that fails, after the results before it;
              'record': that exception is its result, and counting goes on

    The other arguments are those of count. The result is an iterator with close(); it also works in
    a with statement and as an Arrow stream. KeyboardInterrupt stops it, also within a long file.
    """
    return _context(context, luma, bins, nodata, bands).count_many(
        iterable, threads=threads, on_error=on_error, layout=layout, order=order, range=range
    )


def count_batch(
    tensor,
    layout="NHWC",
    labels=None,
    *,
    n_labels=None,
    order="rgb",
    luma=True,
    bins=256,
    sums=False,
    out=None,
    stream=None,
    context=None,
):
    """Counts each image of a batch where it lies, and returns its bins [N, planes, bins].

    tensor    uint8, or for other bins than 256 uint16, int16, float16 or bfloat16, with 3 or 4 dimensions and any
              strides (0 not along W), in GPU memory (__dlpack__,
              __cuda_array_interface__) or in host memory (also buffers and __array_interface__)
    layout    the letters of its dimensions: 'NHWC', 'NCHW', 'NHW' and so on
    labels    uint8 [N, H, W] or [H, W] for all images, beside the tensor, rows without gaps; pixels are counted for
              each label from 0 to n_labels - 1 apart, and the result is [N, n_labels, planes, bins]
    luma      False: colour images get no luma plane
    bins      256; 'native': 65,536, one for each value of 16 bits; or of uint16 257 to 65,536, one for each value below:
              larger ones are in no bin. int16 v is in bin v + 32768. Floats are in the order of their values, with
              NaN and infinities at both ends, and have no luma; docs/python.md has the values of their bins. In
              GPU memory, 16 bits must be packed as NHWC or NCHW, have no labels, and planar colour (NCHW) has no
              luma and, of uint16, no sums.
    sums      None, False: none. True: the result is (bins, sums), with uint64 [N, planes + 4] (torch:
              int64, as of int16): the sum of values of each plane (of floats 0), then the pixels with crushed_any,
              blown_any, crushed_all, blown_all (of signed and float samples 0). Or the tensor for them.
    out       the tensor for the bins: integers of 32 bits, in memory of its own. By default torch, CuPy and NumPy
              allocate it; for other tensors in GPU memory it must be given. JAX arrays never
              change: for one in GPU memory, pass out (and sums) of CuPy or torch, and make it
              JAX's with jax.dlpack.from_dlpack. For one in host memory the result is NumPy's.
    stream    a CUDA stream (an object or its address); by default the current stream of torch or
              CuPy, or the stream of __cuda_array_interface__

    Planes are the channels, and luma of colour images. Counts on a GPU are enqueued on the stream:
    nothing waits, nothing is copied, and the tensors must live until the stream has passed this
    point. Bins are uint32; torch gets int32, because it has no arithmetic for uint32. Counts in host memory are
    complete when the call returns.
    """
    return _batch.count_batch(
        _context(context), tensor, layout, labels, n_labels, order, luma, bins, sums, out, stream
    )


def scan(
    paths=(),
    /,
    *,
    files_from=None,
    shard=None,
    threads=None,
    on_error="raise",
    reader=None,
    pattern=None,
    workers=None,
    layout=None,
    order=None,
    range=None,
    luma=None,
    bins=None,
    nodata=None,
    bands=None,
    labels=None,
    ignore_label=None,
    fields=None,
    sort=None,
    top=None,
    context=None,
):
    """Counts what the command line would count, and iterates over the Counts in its order.

    paths       a path, or an iterable of paths, taken some ahead. A directory is walked recursively
                in the byte order of its names. Hidden entries and links to directories
                are left out. The members of a tar or zip file, also compressed, are counted in its
                place; in a directory, if it has the name of one. The records of a result file of
                imghist, told by its name (.ndjson, .jsonl, .json), become results, failures too,
                with the status 'corrupt'; give the files of all shards of a run together.
    files_from  a file with more paths, one in each line
    shard       (i, n): only part i of n, 1 <= i <= n; all parts together have each image once
    reader      a function that gets each path as str and returns what count takes: an array, or several as
                an iterable or a generator, each with a number, or as pairs (name, array). What it
                raises is an Error with its text. Paths may be anything that it understands, such as URLs
    pattern     of reader: names of files in directories, as in '*.dcm', or several; by default all. A directory that
                matches is not walked: the reader gets it, as a Zarr store
    workers     of reader: 'threads', or 'processes' for one that holds the GIL, which is then a function of a
                module and runs in processes that are started anew
    layout, order, range  of reader: those of count
    labels      a gray image of 8 or 16 bits, or a directory of such images with the names of the others: a result
                for each label that occurs in an image, in order, as imghist --labels counts. Counts.label is the
                label, and the name ends in '#' and the label. Counts on the CPU; not with a reader
    ignore_label  pixels with this label are not counted
    fields      names of fields, 'file,red.p99' or an iterable of them: an iterator over dicts with these keys
    sort        the name of a field: results, or these dicts, in its order; '-name' begins with the largest.
                Those without a value come last; all are held until the end. It is an iterator without skipped
    top         with sort: only the first top of them, and no more are held

    In a directory, a file that is no image is skipped, unless its name ends as those of images do;
    the attribute skipped of the result counts these files. A path that is named and no image is an
    error, and so is a directory without images.

    An error that would end the run of the command line is raised, whatever on_error says: an empty
    list, or a damaged result file. These raise ValueError: a result file if shard is given, a total
    beside single images, and records that were counted with other settings than the context's or
    than the records beside them. See count_many for the rest.
    """
    if (fields, sort, top) != (None, None, None):
        from ._select import select

        others = {"files_from": files_from, "shard": shard, "threads": threads, "on_error": on_error, "reader": reader}
        others |= {"pattern": pattern, "workers": workers, "layout": layout, "order": order, "range": range}
        others |= {"luma": luma, "bins": bins, "nodata": nodata, "bands": bands, "context": context}
        others |= {"labels": labels, "ignore_label": ignore_label}
        return select(lambda: scan(paths, **others), fields, sort, top)
    if reader is not None:
        from ._reader import scan as read

        if (labels, ignore_label) != (None, None):
            raise ValueError("labels: not with a reader")
        settings = {"luma": luma, "bins": bins, "nodata": nodata, "bands": bands}
        options = {"layout": layout, "order": order or "rgb", "range": range}
        return read(paths, files_from, shard, threads, on_error, reader, pattern, workers, options, context, settings)
    for name, value in {"pattern": pattern, "workers": workers, "layout": layout, "order": order, "range": range}.items():
        if value is not None:
            raise ValueError(f"{name}: needs a reader")
    return _context(context, luma, bins, nodata, bands).scan(
        paths,
        files_from=files_from,
        shard=shard,
        threads=threads,
        on_error=on_error,
        labels=labels,
        ignore_label=ignore_label,
    )


def total(results, /, *, by=None):
    """Adds results and returns one Counts, as imghist --total-only does.

    results  an iterable of Counts, sums of Counts and exceptions. The attribute failed of the total
             is the number of exceptions, and of those in the totals added.
    by       returns a dict with the Counts of each group, sorted by name, as imghist --by does:
             'folder' groups by the folder in the name of the input; a dict by the group of each
             name; a function by what it returns for a result

    Raises ValueError if the settings of counting differ, KeyError for a name that a dict lacks.
    """
    from ._table import total

    return total(results, by)


def copies(results, /):
    """Returns lists of the names of images with equal fingerprints, in the order of their first images.

    results  an iterable of Counts and exceptions, which are left out; a result without a name is its number

    Copies of an image have equal fingerprints in any format, rotated by quarters and mirrored. The
    opposite does not follow: equal fingerprints are equal histograms, so compare the pixels too.
    """
    groups = {}
    for i, result in enumerate(results):
        if not isinstance(result, BaseException):
            groups.setdefault(result.fingerprint, []).append(i if result.file is None else result.file)
    return [names for names in groups.values() if len(names) > 1]


def ndjson(results, /, *, folder=""):
    """Iterates over the lines (bytes) of a result file, as imghist --ndjson writes them.

    results  an iterable of Counts and exceptions; a sum of Counts is the record of a total
    folder   of a total: what the names of its images begin with

    The command line reads such a file: imghist results.ndjson --csv.
    """
    from ._table import ndjson

    return ndjson(results, folder)


def read_table(table, /):
    """Iterates over the Counts and Errors of a table that Table(saved=True) gave.

    table  a table or a record batch of pyarrow with the columns file, status, error and counts
    """
    from ._table import read_table

    return read_table(table)


def __dir__():
    return sorted({*globals(), *__all__})


def __getattr__(name):
    if name == "Table":
        from ._table import Table

        return Table
    raise AttributeError(f"module 'imghist' has no attribute {name!r}")
