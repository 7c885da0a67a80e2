"""Arrays of a reader: scan(reader=) and python -m imghist --reader, in threads and processes."""

import csv
import io
import itertools
import json
import os
import pathlib
import pickle
import re
import signal
import struct
import subprocess
import sys
import threading

import pytest

import imghist

numpy = pytest.importorskip("numpy")
BOTH = pytest.mark.parametrize("workers", ["threads", "processes"])


# ---- readers, which worker processes import from this file ----


def one(path):
    return numpy.full((4, 5), len(path), numpy.uint8)


def pgm(path):
    print("reading", path)
    kind, width, height, _, data = pathlib.Path(path).read_bytes().split(None, 4)
    shape = (int(height), int(width), 3) if kind == b"P6" else (int(height), int(width))
    return numpy.frombuffer(data, numpy.uint8).reshape(shape)


def several(path):
    if path == "pairs":
        return [("a", one("1")), ("b", one("22"))]
    if path == "pair":
        return "a", one("1")
    if path == "single":
        return iter([one("1")])
    return (numpy.full((2, 2, 3), i, numpy.uint8) for i in range(3))


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("no pickle")


def wrong(path):
    if path in ("raise", "exit", "interrupt"):
        raise {"raise": Unpicklable("what\nhappened"), "exit": SystemExit(3), "interrupt": KeyboardInterrupt()}[path]
    if path == "late":
        return (one("") if i < 2 else wrong("raise") for i in range(3))
    return {
        "none": None, "text": "x", "number": 5, "object": numpy.array([[None, 1]]), "float": numpy.zeros((2, 2)),
        "flags": numpy.zeros((2, 2), bool), "wide": numpy.zeros((2, 2), numpy.uint32), "empty": [],
        "huge": numpy.broadcast_to(numpy.uint8(3), (1 << 31, 1 << 31)), "deep": numpy.zeros((2, 2, 2, 2), numpy.uint8),
        "channels": numpy.zeros((2, 2, 5), numpy.uint8), "lists": [[1, 2]], "lazy": Lazy(), "dict": {"a": one("")},
    }[path]  # fmt: skip


class Lazy:
    shape = (2, 2)

    def __array__(self):
        raise AssertionError("reads all of it")

    def __iter__(self):
        raise AssertionError("reads row by row")


WRONG = {
    "raise": "Unpicklable: what\nhappened", "exit": "SystemExit: 3", "interrupt": "KeyboardInterrupt",
    "none": "TypeError: the reader gave None, which is no array", "text": "TypeError: the reader gave 'x'",
    "number": "TypeError: the reader gave 5", "object": "TypeError: ", "float": "TypeError: ", "flags": "TypeError: ",
    "wide": "TypeError: ", "empty": "ValueError: the reader gave no image",
    "huge": "ValueError: the reader gave an array of the shape (2147483648, 2147483648)", "deep": "ValueError: ",
    "channels": "ValueError: 5 channels", "lists": "TypeError: the reader gave [1, 2]",
    "lazy": "TypeError: the reader gave a test_reader.Lazy, which is not in memory", "dict": "TypeError: the reader gave",
}  # fmt: skip


def killed(path):
    if path.endswith("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    if path.endswith("leave"):
        os._exit(7)
    return one(path)


def stuck(path):
    if path == "first":
        return one(path)
    print("stuck", flush=True)
    threading.Event().wait()


def endless(path):
    return (one(path) for _ in itertools.count())


def bands(path):
    """The samples of a TIFF that tiff() has written: the array lies beside it."""
    return numpy.load(f"{path}.npy")


def planes(path):
    return numpy.moveaxis(bands(path), 2, 0)


def tiff(path, array):
    """Writes [height, width, n] as an uncompressed TIFF of n bands without colours, and as NPY."""
    numpy.save(f"{path}.npy", array)
    (height, width, n), bits = array.shape, 8 * array.itemsize
    kind = {"u": 1, "i": 2, "f": 3}[array.dtype.kind]
    fields = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, n, 0), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 0),
              (277, 3, 1, n), (278, 3, 1, height), (279, 4, 1, array.nbytes), (284, 3, 1, 1), (338, 3, n - 1, 0), (339, 3, n, 0)]  # fmt: skip
    data, after = b"", 8 + 2 + 12 * len(fields) + 4
    at = {tag: after + 2 * n * i for i, tag in enumerate((258, 338, 339, 273))}
    for words in ([bits] * n, [0] * n, [kind] * n):
        data += struct.pack(f"<{n}H", *words)
    directory = b"".join(struct.pack("<HHII", tag, size, m, at.get(tag, value)) for tag, size, m, value in fields)
    head = struct.pack("<2sHIH", b"II", 42, 8, len(fields)) + directory + bytes(4)
    pathlib.Path(path).write_bytes(head + data + array.astype(array.dtype.newbyteorder("<")).tobytes())


# ---- imghist.scan ----


def scan(paths, reader, **options):
    return list(imghist.scan(paths, reader=reader, on_error="record", **options))


def name(result):
    return result.source if isinstance(result, imghist.Error) else result.file


@BOTH
def test_results_are_in_the_order_of_the_paths(workers):
    paths = [f"{'x' * (i % 7)}{i}" for i in range(50)]
    results = scan(iter(paths), one, workers=workers, threads=3)
    assert [(c.file, c["gray"].min, c.pixels) for c in results] == [(p, len(p), 20) for p in paths]
    assert results[3] == imghist.count(one(paths[3]))
    parts = [scan(paths, one, workers=workers, threads=2, shard=(i, 3)) for i in (1, 2, 3)]
    assert [[c.file for c in part] for part in parts] == [paths[0::3], paths[1::3], paths[2::3]]


@BOTH
def test_several_images_of_a_path_have_names(workers):
    results = scan(["pairs", "pair", "single", "frames"], several, workers=workers)
    assert [c.file for c in results] == [
        "pairs/a", "pairs/b", "pair/a", "single", "frames#1", "frames#2", "frames#3"]
    assert [c[0].max for c in results] == [1, 2, 1, 1, 0, 1, 2]


@BOTH
def test_what_a_reader_does_wrong_is_a_failed_item(workers):
    results = scan([*WRONG, "late"], wrong, workers=workers, threads=2)
    texts = dict(zip(WRONG, results))
    for path, text in WRONG.items():
        assert str(texts[path]).startswith((f"{path}: {text}", f"{path}#1: {text}")), path
    assert [name(r) for r in results[len(WRONG) :]] == ["late#1", "late#2", "late"]
    assert str(results[-1]) == "late: Unpicklable: what\nhappened"
    with pytest.raises(imghist.Error, match="none: TypeError"):
        list(imghist.scan(["none"], reader=wrong, workers=workers))


@BOTH
def test_one_bad_image_does_not_end_its_path(workers):
    results = scan(["x"], bad_second, workers=workers)
    assert [(name(r), isinstance(r, imghist.Error)) for r in results] == [("x#1", False), ("x#2", True), ("x#3", False)]


def bad_second(path):
    return [one(path), None, one(path)]


def test_a_process_that_dies_fails_its_path_alone():
    results = scan(["a", "kill", "b", "leave", "kill", "c"], killed, workers="processes", threads=2)
    assert [str(r) for r in results if isinstance(r, imghist.Error)] == [
        "kill: the worker process was killed by SIGKILL", "leave: the worker process ended with status 7",
        "kill: the worker process was killed by SIGKILL"]
    assert [r.file for r in results if isinstance(r, imghist.Counts)] == ["a", "b", "c"]


def test_no_more_is_read_than_is_taken_soon():
    """Whatever the machine does, at most 2 paths for each thread, and 4 results of each and one, are ahead."""
    n_read, n_made, n_taken, ahead = itertools.count(), itertools.count(), 0, []

    def reader(path):
        ahead.append(next(n_read) - n_taken // 100)
        for i in range(100):
            ahead.append((next(n_made) - n_taken) / 6)
            yield one(path)

    for c in imghist.scan((str(i) for i in range(20)), reader=reader, threads=2):
        n_taken += 1
    assert n_taken == 2000 and max(ahead) <= 4


@BOTH
def test_an_endless_reader_can_be_closed(workers):
    with imghist.scan(["a", "b"], reader=endless, workers=workers) as results:
        assert [next(results).file for _ in range(30)] == [f"a#{i}" for i in range(1, 31)]
    assert next(results, None) is None
    results = imghist.scan(["a", "b"], reader=endless, workers=workers)
    next(results)
    del results


def test_an_interrupt_ends_the_scan():
    may_end = threading.Event()

    def reader(path):
        os.kill(os.getpid(), signal.SIGINT)
        may_end.wait()

    results = imghist.scan(["a"], reader=reader)
    with pytest.raises(KeyboardInterrupt):
        next(results)
    may_end.set()
    assert next(results, None) is None


def test_an_exception_of_the_paths_comes_after_the_results_before_it():
    def paths():
        yield "a"
        yield "b"
        raise LookupError("no more")

    results = imghist.scan(paths(), reader=one)
    assert [next(results).file, next(results).file] == ["a", "b"]
    with pytest.raises(LookupError, match="no more"):
        next(results)


def test_directories_are_walked_as_the_program_walks_them(program, tree):
    results = imghist.scan(tree, reader=one, on_error="record", pattern=["*.jpg", "*.png", "*.bmp", "*.gif", "*.ppm"])
    found = [name(r) for r in results]
    lines = program("--ndjson", "--device=cpu", "-q", tree).splitlines()
    left_out = (".hist.png", "dangling.png")  # of imghist's own charts, and links that the program reports
    assert [f for f in found if not f.endswith(left_out)] == [
        f for f in (json.loads(line)["file"] for line in lines) if not f.endswith(left_out)]
    assert results.skipped == 3  # notes.txt, the link to a directory and that to nothing


def test_a_directory_that_matches_is_an_input(tmp_path):
    for folder in ("a.zarr/x", "b/c.zarr", "b/.hidden.zarr", "empty"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "b/c.zarr/0").touch()
    results = scan([tmp_path / "a.zarr", tmp_path / "b", tmp_path / "empty"], one, pattern="*.zarr")
    assert [os.path.relpath(name(r), tmp_path) for r in results] == ["a.zarr", "b/c.zarr", "empty"]
    assert "matches the pattern" in str(results[2]) and results[2].status == "io"


def test_settings():
    image = numpy.full((2, 3, 3), 4000, numpy.uint16)
    options = {"bins": "native", "range": (0, 4095), "luma": "none"}
    for workers in ("threads", "processes"):
        (c,) = imghist.scan(["a"], reader=Constant(image), workers=workers, **options)
        assert c == imghist.count(image, **options)
    (c,) = imghist.scan(["a"], reader=lambda path: image.transpose(2, 0, 1), layout="CHW", order="bgr")
    assert c == imghist.count(image)
    assert imghist.scan(["a"], reader=one, bins="native").bins == "native"
    for arguments in ({"workers": "x"}, {"shard": (3, 2)}, {"threads": 0}, {"on_error": "x"}, {"files_from": "x"},
                      {"workers": "processes", "context": imghist.Context()}):
        with pytest.raises(ValueError):
            imghist.scan(["a"], reader=one, **arguments)
    with pytest.raises(TypeError, match="no function"):
        imghist.scan(["a"], reader=5)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        imghist.scan(["a"], reader=lambda path: image, workers="processes")
    for option in ("pattern", "workers", "layout", "order", "range"):
        with pytest.raises(ValueError, match=f"{option}: needs a reader"):
            imghist.scan(["a"], **{option: "x"})


class Constant:
    def __init__(self, image):
        self.image = image

    def __call__(self, path):
        return self.image


@BOTH
def test_many_bands(tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    array = numpy.random.default_rng(8).integers(0, 256, (5, 7, 4096), numpy.uint8)
    tiff("a", array)
    for reader, layout in ((bands, "HWC"), (planes, "CHW")):
        for some, kept in ((None, range(4096)), ("4,7-9,4096", [3, 6, 7, 8, 4095])):
            (c,) = imghist.scan(["a"], reader=reader, layout=layout, workers=workers, bands=some)
            assert c.planes == tuple(f"band{b + 1}" for b in kept)
            for plane, b in list(zip(c.planes, kept))[::97]:
                assert numpy.array_equal(c.histogram(plane), numpy.bincount(array[..., b].ravel(), minlength=256))
    with pytest.raises(imghist.Error, match="a: it has no band 6: its pixels have 5 samples"):
        list(imghist.scan(["a"], reader=Constant(array[..., :5]), layout="HWC", bands="2-6", workers=workers))


def test_results_are_a_table():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(imghist.scan(["a", "b"], reader=one))
    assert table.column("file").to_pylist() == ["a", "a", "b", "b"]


def test_a_child_of_fork_cannot_go_on():
    results = imghist.scan(["a"], reader=one)
    child = os.fork()
    if child == 0:
        try:
            next(results)
        except RuntimeError:
            os._exit(5)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5


# ---- the program ----


@pytest.fixture
def run(program, tmp_path, monkeypatch):
    """Starts python -m imghist in a folder with images; program is there to skip."""
    folder = tmp_path / "d"
    (folder / "sub").mkdir(parents=True)
    chance = numpy.random.default_rng(5)
    for i in range(9):
        kind, n = (b"P6", 3) if i % 3 == 0 else (b"P5", 1)
        path = folder / ("sub" if i % 2 else ".") / f"{i}.pnm"
        path.write_bytes(b"%s 5 4 255\n" % kind + chance.integers(48, 200, 20 * n, numpy.uint8).tobytes())
    (folder / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent))

    def start(reader, *arguments, **options):
        command = [sys.executable, "-m", "imghist", f"--reader=test_reader:{reader}", *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def done(*arguments):
        with start(*arguments) as process:
            output, errors = process.communicate()
        return process.returncode, output, errors.decode()

    done.start = start
    return done


@pytest.mark.parametrize("options", [
    ["--csv"], ["--csv=long"], ["--csv=stats", "--total", "--percentiles=3"], ["--by=folder", "--csv=stats"],
    ["--csv=bins", "--luma=none"], ["--csv=stats", "--where", "gray.mean > 120"], ["--csv=stats", "--clip=60,190"],
    ["--csv=stats", "--alpha=skip-transparent", "-j", "2"], ["--total-only", "--csv", "--luma", "bt601"],
    ["--csv=stats", "--nodata=100"], ["--chart=-", "--total", "-q"], ["--print0", "--fail-if", "gray.max > 100", "-q"],
], ids=" ".join)  # fmt: skip
def test_outputs_are_those_of_files(run, program, options):
    status, output, errors = run("pgm", "d", "--pattern=*.pnm", *options)
    expected = subprocess.run([os.environ.get("IMGHIST", "imghist"), "--device=cpu", *options, "d"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    assert (status, output) == (expected.returncode, expected.stdout) and len(output) > 20
    assert errors.count("reading") == 9


@pytest.mark.parametrize("options", [
    ["--csv"], ["--csv=long", "--bands=2,5-7,12"], ["--csv=stats", "--total", "--bins=native"], ["--text"], ["--ndjson"],
    ["--csv=stats", "--nodata=3", "--by=folder"], ["--json", "--bands=9", "--total-only"], ["--html"], ["--chart=-", "--total"],
], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16", "float16", "float32"])
def test_outputs_of_bands_are_those_of_tiff(run, program, kind, options):
    if b"tiff" not in program("--list"):
        pytest.skip("no TIFF in this build")
    chance = numpy.random.default_rng(7)
    for name in ("a.tif", "d/b.tif"):
        samples = chance.normal(0, 60, (20, 30, 12)) if kind[0] != "u" else chance.integers(0, 256, (20, 30, 12))
        tiff(name, samples.clip(-128, 255).astype(kind))
    expected = program("--device=cpu", "-q", *options, "a.tif", "d/b.tif")
    reader, axes = chance.choice([("bands", "--axes=HWC"), ("planes", "--axes=CHW")])
    status, output, errors = run(reader, "a.tif", "d/b.tif", axes, "-q", *options)
    assert (status, errors) == (0, "") and without_format(output) == without_format(expected) and len(output) > 200


def without_format(output):
    """Records and pages without what only a file has: also the least and largest stored samples of 16 bits."""
    output = re.sub(rb'"(format|library|frames|range|source_min|source_max)": ?[^,]*,\s*|(?<=")tiff(?=")', b"", output)
    return re.sub(rb"(,16|00,null),(0|null),(255|null),", rb"\1,", output)


def test_shards_merge_to_the_whole_run(run, program):
    inputs = "d", "missing", "--pattern=*.pnm"
    status, whole, _ = run("pgm", *inputs, "--ndjson")
    assert status == 1 and len(whole.splitlines()) == 10
    names = []
    for i in (3, 1, 2, 4):
        status, _, _ = run("pgm", *inputs, f"--shard={i}/4", "--workers=processes", "-j2", "-qo", f"part{i}.ndjson")
        lines = [json.loads(line) for line in pathlib.Path(f"part{i}.ndjson").read_bytes().splitlines()]
        names += [line["file"] for line in lines[:-1]]
        assert lines[-1]["status"] == "end" and status == (1 if "missing" in names[-3:] and i == 2 else 0)
        assert all(line["shard"] == f"{i}/4" for line in lines)
    assert len(set(names)) == len(names) == 10
    assert program("--ndjson", *(f"part{i}.ndjson" for i in (4, 2, 1, 3))) == whole
    run("pgm", "d", "--pattern=*.pnm", "--shard=1/4", "-qo", "other.ndjson")
    assert "of another run" in program.errors("other.ndjson", *(f"part{i}.ndjson" for i in (2, 3, 4)))
    tiff("d/b.tif", numpy.arange(1200, dtype=numpy.int16).reshape(10, 12, 10))
    for i in (1, 2):
        run("planes", "missing", "d/b.tif", "--axes=CHW", "--bands", "9", f"--shard={i}/2", "-qo", f"b{i}.ndjson")
    assert program("--csv", "b1.ndjson", "b2.ndjson") == program("--csv", "--bands=9", "d/b.tif")
    for i in (1, 2):  # frames and totals
        run("several", "x", "y", "pairs", f"--shard={i}/2", "--total", "-qo", f"f{i}.ndjson")
    _, frames, _ = run("several", "x", "y", "pairs", "--ndjson", "--total")
    assert program("--ndjson", "--total", "f1.ndjson", "f2.ndjson") == frames


def test_failures_are_records_with_the_text(run):
    status, output, errors = run("wrong", "raise", "late", "--csv=images")
    rows = list(csv.DictReader(io.StringIO(output.decode())))
    assert status == 1 and [(r["file"], r["status"]) for r in rows] == [
        ("raise", "error"), ("late#1", "ok"), ("late#2", "ok"), ("late", "error")]
    assert rows[0]["error"] == "Unpicklable: what\nhappened" and "imghist: raise: Unpicklable" in errors
    status, output, errors = run("killed", "a", "kill", "b", "--workers=processes", "-j1", "--csv=stats")
    assert status == 1 and "kill: the worker process was killed by SIGKILL" in errors
    assert [line.split(b",")[0] for line in output.splitlines()[1::2]] == [b"a", b"b"]


@pytest.mark.parametrize("options", [
    ["--frames"], ["--resume", "-o", "x.ndjson"], ["--region=1x1+0+0"], ["--mask=x"], ["--raw=1"], ["--records=x"],
    ["--diff"], ["--name=x"], ["--axes=NHW"], ["--axes=HWC", "--axes=CHW"], ["--bands=0"],
    ["--lenient"], ["--max-pixels=5"], ["--workers=x"], ["--workers"], ["--shard=3/2"],
    ["--csv=x"], ["--nothing"], ["--pattern=a", "--pattern=b"], ["--reader=x:y"],
], ids=" ".join)  # fmt: skip
def test_what_cannot_work_is_refused_by_name(run, options):
    status, output, errors = run("one", "a", *options)
    assert (status, output) == (2, b"") and options[0].split("=")[0].lstrip("-") in errors, errors


@pytest.mark.parametrize(("reader", "text"), [
    ("x", "not MODULE:FUNCTION"), ("no_such_module:x", "ModuleNotFoundError"), ("test_reader:nothing", "AttributeError"),
    ("test_reader:WRONG", "no function"), ("", "needs a value"),
])  # fmt: skip
def test_readers_that_are_none(run, reader, text):
    done = subprocess.run([sys.executable, "-m", "imghist", f"--reader={reader}", "a"], capture_output=True, check=False)
    assert done.returncode == 2 and "--reader" in done.stderr.decode() and text in done.stderr.decode()


def test_lists_and_help(run):
    pathlib.Path("list").write_bytes(b"a\nb c\n\n")
    pathlib.Path("list0").write_bytes(b"g\0e\nf\0")
    for option, names in (("--files-from=list", b"x\0a\0b c\0"), ("--files0-from=list0", b"x\0g\0e\nf\0")):
        assert run("one", "x", option, "--print0")[:2] == (0, names)
    with run.start("one", "--files-from=-", "--print0", "--", "--y", stdin=subprocess.PIPE) as process:
        assert process.communicate(b"z\n")[0] == b"--y\0z\0"
    status, output, _ = run("one", "--help")
    assert status == 0 and b"--workers=" in output and b"--threads=" in output
    status, _, errors = run("one", "--files-from=missing")
    assert status == 1 and "missing" in errors
    assert run("one")[0] == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@BOTH
def test_a_signal_ends_the_run(run, number, workers):
    with run.start("stuck", "first", "a", f"--workers={workers}", "-o", "x.csv") as process:
        assert process.stderr.readline() == b"stuck\n"
        process.send_signal(number)
        assert process.wait() == -number
    assert not list(pathlib.Path().glob("*x.csv*"))


def test_a_closed_pipe_ends_the_run(run):
    with run.start("endless", "a", "--csv=stats") as process:
        assert process.stdout.readline().startswith(b"file,")
        process.stdout.close()
        assert process.wait() == -signal.SIGPIPE


def test_fail_fast_ends_the_run(run):
    status, _, errors = run("wrong", "raise", *("a" for _ in range(1000)), "--fail-fast", "--csv=stats")
    assert status == 1 and errors.count("Unpicklable") == 1


@pytest.mark.parametrize("workers", ["threads", "killed"])
def test_a_run_whose_python_ends_leaves_no_output(run, workers):
    reader, path = ("killed", "leave") if workers == "threads" else ("stuck", "a")
    many = [f"x{i}" for i in range(20)]
    with run.start(reader, *(many if workers == "threads" else ["first"]), path, "-j1", "-o", "x.csv") as process:
        if workers == "killed":
            assert process.stderr.readline() == b"stuck\n"
            process.kill()
        _, errors = process.communicate()  # also of the program, which ends a little later
    assert process.returncode == (7 if workers == "threads" else -signal.SIGKILL)
    assert f"imghist: test_reader:{reader}: ".encode() in errors
    assert not pathlib.Path("x.csv").exists()
