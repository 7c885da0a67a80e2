"""scan(reader=f): the arrays that a function reads, counted in threads or processes, in the order of the paths.

Each worker reads one path from start to end and counts each array at once, so it holds one array. It then waits
while ITEMS of its results are still to be taken. The thread that iterates takes paths ahead, PATHS for each worker.
Only the first path's results are handed out; its worker never waits for another, so nothing can lock up.
"""

import collections
import fnmatch
import math
import multiprocessing
import os
import pickle
import signal
import threading

from . import _imghist, _many
from ._imghist import Error

PATHS, ITEMS = 2, 4
INTERRUPT_S = 0.05  # a signal just before a thread waits is seen when the wait ends
SAMPLES = 1 << 38  # of an array: memory has fewer, and a broadcast array of more takes minutes


# ---- paths ----


def walk(paths, pattern, skip):
    """Yields pairs of a path and None or what is wrong with it. A directory that matches the pattern is an input."""
    patterns = [pattern] if isinstance(pattern, str) else pattern
    for path in [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths:
        path = os.fsdecode(path)
        if "\0" in path:
            raise ValueError("embedded null byte in a path")
        if not os.path.isdir(path) or _matches(path, patterns, False):
            yield path, None
            continue
        n = 0
        for n, found in enumerate(_folder(path, patterns, skip), 1):
            yield found
        if n == 0:
            yield path, FileNotFoundError("no file in this directory" + " matches the pattern" * (patterns is not None))


def _matches(path, patterns, default=True):
    name = os.path.basename(path.rstrip("/"))
    return default if patterns is None else any(fnmatch.fnmatchcase(name, one) for one in patterns)


def _folder(folder, patterns, skip):
    try:
        names = sorted((name for name in os.listdir(folder) if not name.startswith(".")), key=os.fsencode)
    except OSError as error:
        yield folder, error
        return
    for path in (os.path.join(folder, name) for name in names):
        is_folder = os.path.isdir(path)
        if is_folder and os.path.islink(path) or not is_folder and not os.path.isfile(path):
            skip()
        elif _matches(path, patterns, not is_folder):
            yield path, None
        elif is_folder:
            yield from _folder(path, patterns, skip)
        else:
            skip()


# ---- one path ----


def failure(name, error):
    """The Error of a result: "name: what happened"."""
    if isinstance(error, Error):
        text, status = str(error), error.status
    else:
        text, status = f"{type(error).__name__}: {error}".removesuffix(": "), "corrupt"
        status = "io" if isinstance(error, OSError) else "memory" if isinstance(error, MemoryError) else status
    return _error(name, text, status)


def _error(name, text, status):
    error = Error(f"{name}: {text}")
    error.source, error.status = name, status
    return error


def _is_image(x):
    if hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__") or hasattr(x, "read"):
        return True
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def _check(x):
    if hasattr(x, "__array__") and hasattr(x, "shape") and not _is_image(x):
        kind = f"{type(x).__module__}.{type(x).__qualname__}"
        raise TypeError(f"the reader gave a {kind}, which is not in memory: give x[...], or parts of it")
    if isinstance(x, (str, os.PathLike)) or not _is_image(x):
        raise TypeError(f"the reader gave {x!r:.60}, which is no array")
    shape = getattr(x, "shape", None) or ()
    if math.prod(shape) > SAMPLES:
        raise ValueError(f"the reader gave an array of the shape {tuple(shape)}: give parts of it")


def _images(path, value):
    """Yields names and images of what the reader gave. A name is None: it is the path with a number."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        value = [value]
    elif _is_image(value) or hasattr(value, "__array__") or not hasattr(value, "__iter__") or isinstance(value, str):
        yield path, value
        return
    for item in value:
        is_pair = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
        yield (f"{path}/{item[0]}", item[1]) if is_pair else (None, item)
        del item  # before the reader makes the next one


def read(reader, count, path):
    """Yields a name and the Counts or the Error of each image of a path; one pair at least.

    An image alone has the name of its path; of several, the first waits until there is a second.
    """
    first, n = None, 0
    try:
        for name, image in _images(path, reader(path)):
            n += 1
            if first:
                yield _named(f"{path}#1", first)
                first = None
            try:
                _check(image)
                result = count(image)
            except Exception as error:
                result = error.with_traceback(None)
            if name is None and n == 1:
                first = (result,)
            else:
                yield _named(name or f"{path}#{n}", (result,))
            del image, result
        if n == 0:
            raise ValueError("the reader gave no image")
    except GeneratorExit:
        raise
    except BaseException as error:  # also SystemExit: a reader ends its path and nothing else
        if first:
            yield _named(f"{path}#1", first)
            first = None
        yield path, failure(path, error)
    if first:
        yield _named(path, first)


def _named(name, result):
    (result,) = result
    if isinstance(result, BaseException):
        return name, failure(name, result)
    return name, _imghist.load(result.to_bytes(), name)


# ---- workers ----


class _Path:
    def __init__(self, index, path, results=()):
        self.index, self.path, self.n = index, path, 0
        self.results, self.is_done = collections.deque(results), bool(results)


class _Workers:
    """Threads, each with a process if is_process. All fields are under the lock of `changed`."""

    def __init__(self, reader, n, is_process, context, options):
        self.changed = threading.Condition()
        self.is_process, self.arguments = is_process, (reader, context, options)
        self.paths, self.children = collections.deque(), {}
        self.n, self.n_threads, self.is_stopped = n, 0, False

    def add(self, path):
        with self.changed:
            self.paths.append(path)
            self.changed.notify_all()
            if self.n_threads < self.n:
                self.n_threads += 1
                threading.Thread(target=self._work, args=(self.n_threads,), daemon=True).start()

    def _next(self):
        with self.changed:
            self.changed.wait_for(lambda: self.paths or self.is_stopped)
            return None if self.is_stopped else self.paths.popleft()

    def _work(self, number):
        local = None if self.is_process else (self.arguments[0], counter(*self.arguments[1:]))
        while path := self._next():
            try:
                for item in read(*local, path.path) if local else self._remote(number, path.path):
                    with self.changed:
                        self.changed.wait_for(lambda: len(path.results) < ITEMS or self.is_stopped)
                        if self.is_stopped:
                            return
                        path.results.append(item)
                        self.changed.notify_all()
            except BaseException as error:  # of starting a process
                with self.changed:
                    path.results.append((path.path, failure(path.path, error)))
            with self.changed:
                path.is_done = True
                self.changed.notify_all()

    def _child(self, number):
        """The process of a worker, and its pipe. None: the workers have been stopped."""
        with self.changed:
            if number in self.children or self.is_stopped:
                return self.children.get(number)
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(theirs, *self.arguments), daemon=True
        )
        process.start()
        theirs.close()
        with self.changed:
            self.children[number] = process, ours
            if self.is_stopped:
                process.kill()
            return process, ours

    def _remote(self, number, path):
        """As read, in the worker's process. A process that ends is an error of the path, and is started again."""
        child = self._child(number)
        if child is None:
            return
        process, pipe = child
        try:
            pipe.send(path)
            while (item := pipe.recv()) is not None:
                name, is_counted, value = item
                yield name, _imghist.load(value, name) if is_counted else _error(name, *value)
        except (EOFError, OSError):
            with self.changed:
                del self.children[number]
            pipe.close()
            process.join()
            code = process.exitcode
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
            yield path, _error(path, f"the worker process {how}", "corrupt")

    def stop(self):
        with self.changed:
            self.is_stopped = True
            for process, _ in self.children.values():
                process.kill()
            self.changed.notify_all()


def counter(context, options):
    """A function that counts an image. context: a Context, or its settings, which travel to other processes."""
    context = context if isinstance(context, _imghist.Context) else _imghist.Context(**context)
    return lambda image: context.count(image, threads=1, **options)


def _serve(pipe, reader, context, options):
    """The main function of a worker process, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    count = counter(context, options)
    try:
        while True:
            for name, result in read(reader, count, pipe.recv()):
                if isinstance(result, Error):
                    pipe.send((name, False, (str(result).removeprefix(f"{name}: "), result.status)))
                else:
                    pipe.send((name, True, result.to_bytes()))
            pipe.send(None)
    except (EOFError, OSError):
        pass


# ---- results ----


class Results:
    """Results in the order of the paths, as those of count_many. Use it in one thread at a time."""

    def __init__(self, paths, reader, pattern, workers, n, context, options, shard, raises):
        if workers not in ("threads", "processes"):
            raise ValueError(f"workers: {workers!r} is not 'threads' or 'processes'")
        if not callable(reader):
            raise TypeError(f"reader: {reader!r} is no function")
        if workers == "processes":
            pickle.dumps(reader)  # a function of a module: a process imports it
        else:
            context = context if isinstance(context, _imghist.Context) else _imghist.Context(**context)
        self.bins = context.bins if isinstance(context, _imghist.Context) else context.get("bins", 256)
        self.skipped, self.n_paths, self._failure = 0, 0, None
        self._raises, self._shard, self._pid = raises, shard or (1, 1), os.getpid()
        self._paths = enumerate(walk(paths, pattern, self._skip))
        self._ahead, self._n_ahead = collections.deque(), n * PATHS
        self._workers = _Workers(reader, n, workers == "processes", context, options)

    def _skip(self):
        self.skipped += 1

    def _take_path(self):
        """Takes a path ahead. False: there are no more, or their iterable has failed."""
        try:
            return self._failure is None and self._take_next()
        except Exception as error:
            self._failure = error
            return False

    def _take_next(self):
        i, n = self._shard
        for index, (path, error) in self._paths:
            self.n_paths = index + 1
            self.see(path)
            if index % n == i - 1:
                results = () if error is None else [(path, failure(path, error))]
                self._ahead.append(_Path(index, path, results))
                if not results:
                    self._workers.add(self._ahead[-1])
                return True
        return False

    def see(self, path):
        """Called for each path of all shards, in order."""

    def next_place(self):
        """The next result with its place: the number of the path, that of the result in it, and the result."""
        if self._pid != os.getpid():
            raise RuntimeError("this iterator was made before fork()")
        try:
            return self._next_place()
        except BaseException:
            self.close()
            raise

    def _next_place(self):
        changed, has_paths = self._workers.changed, not self._workers.is_stopped
        while True:
            with changed:
                first = self._ahead[0] if self._ahead else None
                while first and not first.results and first.is_done:
                    self._ahead.popleft()
                    first = self._ahead[0] if self._ahead else None
                if first and first.results:
                    _, result = first.results.popleft()
                    first.n += 1
                    changed.notify_all()
                    return first.index, first.n - 1, result
            if has_paths and len(self._ahead) < self._n_ahead:
                has_paths = self._take_path()
            elif not first:
                raise self._failure or StopIteration
            else:
                with changed:
                    changed.wait_for(lambda: first.results or first.is_done, INTERRUPT_S)

    def __iter__(self):
        return self

    def __next__(self):
        result = self.next_place()[2]
        if self._raises and isinstance(result, Error):
            self.close()
            raise result
        return result

    def close(self):
        """Ends the worker processes. A thread ends after the path that it is reading."""
        self._workers.stop()
        self._ahead.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if hasattr(self, "_workers"):
            self._workers.stop()

    def __arrow_c_stream__(self, requested_schema=None):
        from ._table import Table

        return Table(self).__arrow_c_stream__(requested_schema)


def scan(paths, files_from, shard, threads, on_error, reader, pattern, workers, options, context, settings):
    """imghist.scan with a reader."""
    from . import _context  # of the package, which imports this module when it is needed

    if files_from is not None:
        raise ValueError("files_from: with a reader, give the paths")
    if workers != "processes":
        settings = _context(context, **settings)
    elif context is not None:
        raise ValueError("context: worker processes have contexts of their own; give luma, bins and nodata")
    else:
        settings = settings | {"bins": settings["bins"] or 256}
    _many.check_shard(shard)
    return Results(
        paths, reader, pattern, workers or "threads", _many.n_threads(threads), settings, options, shard,
        _many.raises(on_error),
    )  # fmt: skip
