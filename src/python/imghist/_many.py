"""count_many and scan: arguments and threads."""

import os
import sys

from . import _imghist

_SHARDS_MAX = 9999


def n_threads(threads):
    if threads is None:
        process = sys.modules.get("multiprocessing.process")
        is_worker = process is not None and process.parent_process() is not None
        return 1 if is_worker else _imghist.cores()
    if not 1 <= threads <= 1024:
        raise ValueError(f"threads: {threads} is not 1 to 1024")
    return threads


def raises(on_error):
    if on_error not in ("raise", "record"):
        raise ValueError(f"on_error: {on_error!r} is not 'raise' or 'record'")
    return on_error == "raise"


def count_many(
    context, iterable, /, *, threads=None, on_error="raise", layout=None, order="rgb", range=None
):
    if isinstance(iterable, (str, bytes, os.PathLike)):
        raise TypeError("count_many takes an iterable of images: use [x], or count(x)")
    return _imghist.iterate(
        context, iterable, n_threads(threads), raises(on_error), layout, order, range
    )


def check_shard(shard):
    i, n = (0, 0) if shard is None else shard
    if shard is not None and not 1 <= i <= n <= _SHARDS_MAX:
        raise ValueError(f"shard: 1 <= i ({i}) <= n ({n}) <= {_SHARDS_MAX} does not hold")
    return i, n


def scan(
    context, paths=(), /, *, files_from=None, shard=None, threads=None, on_error="raise", labels=None, ignore_label=None
):
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    i, n = check_shard(shard)
    if files_from is not None:
        files_from = encode(files_from)
        if os.path.exists(files_from) and not os.path.isfile(files_from) and not os.path.isdir(files_from):
            raise ValueError("files_from: not a file; read it and pass the paths")
    if labels is not None:
        labels = encode(labels)
    elif ignore_label is not None:
        raise ValueError("ignore_label: needs labels")
    return _imghist.walk(
        context, map(encode, paths), files_from, i, n, n_threads(threads), raises(on_error), True, labels, ignore_label
    )


def encode(path):
    path = os.fsencode(path)
    if b"\0" in path:
        raise ValueError("embedded null byte in a path")
    return b"./-" if path == b"-" else path  # "-" is standard input for the command line alone
