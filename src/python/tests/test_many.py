"""count_many: order, errors, threads, processes, interruption."""

import concurrent.futures
import gc
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import imghist


def pgm(value, width=3, height=2):
    return b"P5\n%d %d\n255\n" % (width, height) + bytes([value]) * (width * height)


def value_of(counts):
    return counts["gray"].min


class Raising:
    def __init__(self, error):
        self.error = error

    def read(self):
        raise self.error


@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_results_come_in_order(threads, samples):
    items = [pgm(i % 256, 1 + i % 97) for i in range(3000)]
    items[7] = (samples / "scene.png").read_bytes()  # slower than those after it
    results = list(imghist.count_many(items, threads=threads))
    assert len(results) == 3000
    assert results[7] == imghist.count(items[7])
    assert [value_of(c) for i, c in enumerate(results) if i != 7] == [
        i % 256 for i in range(3000) if i != 7
    ]


def test_all_kinds_of_inputs(samples, tmp_path):
    numpy = pytest.importorskip("numpy")
    path = samples / "scene.jpg"
    x = numpy.arange(600, dtype=numpy.uint8).reshape(10, 20, 3)
    with open(path, "rb") as file:
        items = [str(path), path, path.read_bytes(), file]
        for counts in imghist.count_many(items):
            assert counts == imghist.count(path)
    chw = [x.transpose(2, 0, 1), memoryview(x.transpose(2, 0, 1).copy())]
    for counts in imghist.count_many(chw, layout="CHW"):
        assert counts == imghist.count(x)
    assert list(imghist.count_many([x[..., ::-1]], order="bgr")) == [imghist.count(x)]
    assert list(imghist.count_many([])) == []


def test_a_single_image_is_refused(samples):
    for single in ("a.png", b"bytes", samples / "scene.png"):
        with pytest.raises(TypeError, match="iterable"):
            imghist.count_many(single)
    with pytest.raises(TypeError):
        imghist.count_many(5)
    for wrong in (0, -1, 1025):
        with pytest.raises(ValueError, match="threads"):
            imghist.count_many([], threads=wrong)
    with pytest.raises(ValueError, match="on_error"):
        imghist.count_many([], on_error="ignore")


def test_errors_are_raised_in_their_place():
    results = imghist.count_many([pgm(1), pgm(2), b"damaged", pgm(4)])
    assert value_of(next(results)) == 1
    assert value_of(next(results)) == 2
    with pytest.raises(imghist.Error):
        next(results)
    assert list(results) == []  # ended


def test_errors_are_recorded():
    items = [pgm(1), "missing.png", 5, pgm(4)]
    results = list(imghist.count_many(items, on_error="record"))
    assert [type(r) for r in results] == [imghist.Counts, imghist.Error, TypeError, imghist.Counts]
    assert results[1].source == "missing.png" and results[1].status == "io"


def test_stop_iteration_while_an_image_is_opened_is_no_end(samples):
    class Exhausted:
        def read(self, n=-1):
            return next(iter(()))

    scene = samples / "scene.png"
    results = imghist.count_many([scene, Exhausted(), scene])
    assert next(results).images == 1
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        next(results)
    assert isinstance(caught.value.__cause__, StopIteration)
    one, error, two = imghist.count_many([scene, Exhausted(), scene], on_error="record")
    assert one == two and isinstance(error, StopIteration)


def test_an_exception_of_the_iterable_comes_after_the_results_before_it():
    def items():
        yield pgm(1)
        yield pgm(2)
        raise ZeroDivisionError

    for on_error in ("raise", "record"):
        results = imghist.count_many(items(), on_error=on_error)
        assert [value_of(next(results)), value_of(next(results))] == [1, 2]
        with pytest.raises(ZeroDivisionError):
            next(results)


def test_a_slow_iterable_does_not_hold_up_results():
    n_given = 0

    def items():
        nonlocal n_given
        while True:
            n_given += 1
            time.sleep(0.02)
            yield pgm(n_given % 256)

    with imghist.count_many(items()) as results:
        for i in range(1, 6):
            assert value_of(next(results)) == i
            assert n_given < 2 * i + 6


def test_the_iterable_is_taken_a_bounded_number_ahead():
    n_given = 0

    def items():
        nonlocal n_given
        for n_given in range(1, 100001):
            yield pgm(1)

    results = imghist.count_many(items(), threads=2)
    for _ in range(1000):
        next(results)
    assert n_given <= 1000 + 2 * 64 + 2
    results.close()
    assert list(results) == []


def test_large_items_are_taken_fewer_ahead():
    numpy = pytest.importorskip("numpy")
    n_given = 0

    def items():
        nonlocal n_given
        for n_given in range(1, 41):
            yield numpy.full((8000, 8000), n_given, numpy.uint8)

    results = imghist.count_many(items(), threads=2)
    assert value_of(next(results)) == 1
    assert n_given <= 8
    results.close()


def test_iterators_that_are_dropped_end_their_threads():
    before = len(os.listdir("/proc/self/task"))
    for _ in range(50):
        results = imghist.count_many([pgm(i % 256) for i in range(500)], threads=4)
        next(results)
        del results
    gc.collect()
    assert len(os.listdir("/proc/self/task")) <= before + 2


def test_one_thread_at_a_time():
    entered, leave = threading.Event(), threading.Event()

    def items():
        entered.set()
        leave.wait(10)
        yield pgm(1)

    results = imghist.count_many(items())
    thread = threading.Thread(target=lambda: list(results))
    thread.start()
    entered.wait(10)
    with pytest.raises(ValueError, match="in use$"):
        next(results)
    with pytest.raises(ValueError, match="in use$"):
        results.close()
    leave.set()
    thread.join()


def test_many_threads_share_a_context(samples):
    expected = imghist.count(samples / "scene.jpg")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for counts in pool.map(imghist.count, [samples / "scene.jpg"] * 64):
            assert counts == expected


def test_the_gil_is_released(samples):
    """While one thread counts a large array, another one runs Python code."""
    numpy = pytest.importorskip("numpy")
    x = numpy.zeros((30000, 10000, 3), numpy.uint8)
    n_ticks = 0
    is_done = threading.Event()

    def tick():
        nonlocal n_ticks
        while not is_done.is_set():
            n_ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    time.sleep(0.05)
    before = n_ticks
    imghist.count(x)
    during = n_ticks - before
    is_done.set()
    thread.join()
    assert during > 10


# ---- processes ----


def in_child(path):
    return imghist.count(path).to_dict(), sum(imghist.count_many([path] * 20)).to_dict(), len(
        os.listdir("/proc/self/task")
    )


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_count_with_a_context_of_their_own(method, samples):
    path = str(samples / "scene.jpg")
    counts = imghist.count(path)  # opens the default context before the fork
    busy = imghist.count_many([path] * 1000)
    next(busy)  # so do threads of the parent
    with multiprocessing.get_context(method).Pool(2) as pool:
        for one, many, _ in pool.map(in_child, [path] * 8):
            assert one == counts.to_dict()
            assert many["images"] == 20
    busy.close()


def n_threads_by_default(_):
    results = imghist.count_many(pgm(1) for _ in range(100))
    before = len(os.listdir("/proc/self/task"))
    next(results)
    return before


def test_a_worker_process_uses_one_thread():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(n_threads_by_default, [0])[0] <= 3  # pool's own threads included
    from imghist import _many

    assert _many.n_threads(None) == imghist._imghist.cores()


def run(code, **arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, **arguments
    )


@pytest.mark.usefixtures("unsanitized")
def test_after_fork_an_iterator_is_refused_and_a_cpu_context_works():
    done = run(
        """
        import imghist, os
        image = b"P5 1 1 255 x"
        context = imghist.Context()
        context.count(image)
        results = context.count_many([image] * 1000)
        next(results)
        child = os.fork()
        if child == 0:
            assert context.count(image).pixels == 1
            assert sum(context.count_many([image] * 10)).images == 10
            try:
                next(results)
            except RuntimeError as e:
                assert "fork" in str(e)
                del results
                os._exit(5)
            os._exit(6)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        assert len(list(results)) == 999
        """
    )
    assert done.returncode == 0, done.stderr


def test_after_fork_a_context_that_may_use_a_gpu_is_refused():
    done = run(
        """
        import imghist, os
        context = imghist.Context(device="auto")
        child = os.fork()
        if child == 0:
            try:
                context.count(b"P5 1 1 255 x")
            except RuntimeError as e:
                os._exit(5 if "fork" in str(e) else 6)
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        """
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("what", ["count_many(endless())", "scan(slow_paths())"])
def test_keyboard_interrupt_stops_it(what, tmp_path):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    code = f"""
    import collections, imghist, time
    def endless():
        while True:
            yield b"P5 1 1 255 x"
    def slow_paths():
        while True:
            time.sleep(0.01)
            yield {str(tmp_path / 'one.pgm')!r}
    open({str(tmp_path / 'one.pgm')!r}, "wb").write(b"P5 1 1 255 x")
    try:
        results = imghist.{what}
        next(results)
        print("running", flush=True)
        collections.deque(results, maxlen=0)  # a for loop may lose the exception in Python 3.13.0
    except KeyboardInterrupt:
        print("stopped", flush=True)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "running\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "stopped\n"
    assert child.wait(20) == 0


ENDLESS = {
    "file": "context.count('endless.pgm')",
    "array": "imghist.count(numpy.broadcast_to(numpy.uint8(1), (1 << 20, 1 << 20)))",
    "pipe": "imghist.count(f'/dev/fd/{os.pipe()[0]}')",
    "file of many": "next(context.count_many([b'P5 1 1 255 x', 'endless.pgm'][i] for i in (1, 0)))",
    "array of many": "next(imghist.count_many([numpy.broadcast_to(numpy.uint8(1), (1 << 20, 1 << 20))]))",
    "file of a scan": "next(context.scan(['endless.pgm']))",
}


@pytest.mark.parametrize("what", ENDLESS)
def test_keyboard_interrupt_stops_a_long_image(what, tmp_path):
    pytest.importorskip("numpy")
    with open(tmp_path / "endless.pgm", "wb") as file:
        file.write(b"P5 1000000 1000000 255\n")
        file.truncate(10**12 + 23)  # takes no space
    code = f'''
    import imghist, numpy, os
    context = imghist.Context(max_pixels=1 << 60)
    print("running", flush=True)
    try:
        {ENDLESS[what]}
    except KeyboardInterrupt:
        print("stopped", flush=True)
    assert imghist.count(b"P5 1 1 255 x").pixels == context.count(b"P5 1 1 255 x").pixels == 1
    '''
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        assert child.stdout.readline() == "running\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=20) == ("stopped\n", None)
        assert child.returncode == 0
    finally:
        child.kill()


def test_other_signal_handlers_run_while_an_image_is_counted():
    numpy = pytest.importorskip("numpy")

    class Stop(Exception):
        pass

    seen = []

    def on_alarm(number, frame):
        seen.append(number)
        if len(seen) == 3:
            raise Stop

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(Stop):
            imghist.count(numpy.broadcast_to(numpy.uint8(1), (1 << 20, 1 << 20)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(seen) == 3


def test_ending_the_interpreter_with_work_to_do():
    done = run(
        """
        import imghist
        results = imghist.count_many(b"P5 100 100 255 " + bytes(10000) for _ in range(100000))
        next(results)
        """
    )
    assert done.returncode == 0, done.stderr


def test_cycles_of_garbage_end_their_threads(samples):
    class Loader:
        def __init__(self, make):
            self.results = make(self.items())

        def items(self):
            for _ in range(300):
                yield self.path

        path = str(samples / "scene.jpg")

    before = len(os.listdir("/proc/self/task"))
    for make in (imghist.count_many, imghist.scan):
        for _ in range(20):
            next(Loader(make).results)
    gc.collect()
    assert len(os.listdir("/proc/self/task")) <= before + 2


@pytest.mark.parametrize("kind", ["buffer", "interface", "error", "name"])
def test_cycles_through_items_taken_ahead_are_collected(kind):
    class Image(bytearray):
        pass

    class Interface:
        def __init__(self):
            self.data = bytearray(6)
            self.__array_interface__ = {"typestr": "|u1", "shape": (2, 3), "data": self.data, "version": 3}

    class Name(str):
        pass

    def item():
        if kind == "error":
            owner = ZeroDivisionError()
            return Raising(owner), owner
        if kind == "name":
            owner = Name("a")
            return (owner, pgm(1)), owner
        owner = Image(pgm(1)) if kind == "buffer" else Interface()
        return owner, owner

    before = len(os.listdir("/proc/self/task"))
    for _ in range(20):
        items, owners = zip(*(item() for _ in range(50)))
        results = imghist.count_many(items, on_error="record", threads=2)
        next(results)
        for owner in owners:
            owner.results = results
        del items, owners, owner, results
    gc.collect()
    assert len(os.listdir("/proc/self/task")) <= before + 2


def test_the_collector_runs_while_items_are_counted_and_released():
    class Image(bytearray):
        def __del__(self):
            gc.collect()

    with imghist.count_many((Image(pgm(i % 256)) for i in range(300)), threads=2) as results:
        assert [value_of(c) for c in itertools.islice(results, 100)] == list(range(100))
        gc.collect()


def test_images_that_fail_keep_their_names():
    pairs = [("a", b"no image"), ("b", 5), ("c", [1, 2]), ("d", pgm(1))]
    assert [getattr(r, "source", None) or r.file for r in imghist.count_many(pairs, on_error="record")] == list("abcd")
    same = ZeroDivisionError()
    names = [r.source for r in imghist.count_many([("a", Raising(same)), ("b", Raising(same))], on_error="record")]
    assert names == ["a", "a"]
    (error,) = imghist.count_many([(5, pgm(1))], on_error="record")
    assert getattr(error, "source", None) is None
    assert b'"file":"-"' in b"".join(imghist.ndjson([error]))


def test_an_interrupt_ends_the_opening_of_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    # In a process of its own: a package that another test has imported may have set another handler.
    code = f"""
        import os, signal, threading, imghist
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            imghist.count({str(tmp_path / "pipe")!r})
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr
