"""count_many and scan: arguments, threads and the directory walk."""

import os
import stat
import sys

from . import _imghist


def _n_threads(threads):
    if threads is None:
        process = sys.modules.get("multiprocessing.process")
        is_worker = process is not None and process.parent_process() is not None
        return 1 if is_worker else _imghist.cores()
    if not 1 <= threads <= 1024:
        raise ValueError(f"threads: {threads} is not 1 to 1024")
    return threads


def _raises(on_error):
    if on_error not in ("raise", "record"):
        raise ValueError(f"on_error: {on_error!r} is not 'raise' or 'record'")
    return on_error == "raise"


def count_many(
    context, iterable, /, *, threads=None, on_error="raise", layout=None, order="rgb", range=None
):
    if isinstance(iterable, (str, bytes, os.PathLike)):
        raise TypeError("count_many takes an iterable of images: use [x], or count(x)")
    return _imghist.iterate(
        context, iterable, _n_threads(threads), _raises(on_error), False, layout, order, range
    )


def scan(context, paths, /, *, threads=None, on_error="raise"):
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    return _imghist.iterate(
        context, walk(paths), _n_threads(threads), _raises(on_error), True, None, None, None
    )


def walk(paths):
    """Yields (path, is_named) for each file, and an Error for each directory that cannot be read."""
    for path in paths:
        path = os.fsencode(path)
        if os.path.isdir(path):
            yield from _walk_directory(path)
        else:
            yield path_of(path), True


def path_of(path):
    return os.fsdecode(path)


def _walk_directory(directory):
    try:
        names = sorted(name for name in os.listdir(directory) if not name.startswith(b"."))
    except OSError as e:
        error = _imghist.Error(f"{path_of(directory)}: cannot read the directory: {e.strerror}")
        error.status, error.source = "io", path_of(directory)
        yield error
        return
    for name in names:
        path = os.path.join(directory, name)
        try:
            is_link = stat.S_ISLNK(os.lstat(path).st_mode)
            mode = os.stat(path).st_mode
        except OSError:  # a dangling link, or a name that has vanished
            continue
        if stat.S_ISDIR(mode) and not is_link:
            yield from _walk_directory(path)
        elif stat.S_ISREG(mode) and not name.lower().endswith(b".hist.png"):  # not an earlier chart
            yield path_of(path), False
