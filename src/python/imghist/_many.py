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
    """Yields (path, is_named) for each file, an Error for what cannot be read, None for what is skipped."""
    for path in paths:
        path = os.fsencode(path)
        if os.path.isdir(path):
            yield from _walk_directory(path)
        else:
            yield os.fsdecode(path), True


def _error(path, status, why):
    error = _imghist.Error(f"{os.fsdecode(path)}: {why}")
    error.status, error.source = status, os.fsdecode(path)
    return error


def _walk_directory(directory):
    try:
        names = sorted(name for name in os.listdir(directory) if not name.startswith(b"."))
    except OSError as e:
        yield _error(directory, "io", f"cannot read the directory: {e.strerror}")
        return
    for name in names:
        path = os.path.join(directory, name)
        try:
            is_link = stat.S_ISLNK(os.lstat(path).st_mode)
        except OSError:  # it vanished
            continue
        try:
            mode = os.stat(path).st_mode
        except OSError:
            mode = 0
        if stat.S_ISDIR(mode) and not is_link:
            yield from _walk_directory(path)
        elif stat.S_ISREG(mode):
            is_chart = name.lower().endswith((b".hist.png", b".hist.svg"))  # of an earlier run
            yield None if is_chart else (os.fsdecode(path), False)
        elif _imghist.is_image_name(path):
            yield _error(path, "unknown", "a link to nothing" if is_link and not mode else "not a file")
        else:
            yield None
