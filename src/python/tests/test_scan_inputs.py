"""scan beside the command line: archives, result files, lists, shards, and what ends a run."""

import gzip
import io
import json
import os
import pathlib
import signal
import tarfile
import threading
import time
import zipfile

import pytest

import imghist


def pgm(*values):
    return b"P5 %d 1 255 " % len(values) + bytes(values)


def tar(path, members, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


MEMBERS = [("a/one.pgm", pgm(1)), ("a/bad.png", b"\x89PNG\r\n\x1a\nnothing"), ("notes.txt", b"text"),
           (".hidden.pgm", pgm(9)), ("../out.pgm", pgm(7)), ("z.ppm", b"P6 1 1 255 abc")]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """A tree with every kind of input."""
    root = tmp_path_factory.mktemp("kinds")
    tar(root / "plain.tar", MEMBERS)
    tar(root / "squeezed.tgz", MEMBERS, "w:gz")
    tar(root / "squeezed.tar.xz", MEMBERS, "w:xz")
    with zipfile.ZipFile(root / "zipped.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in MEMBERS:
            archive.writestr(name, data)
    (root / "cut.tar").write_bytes((root / "plain.tar").read_bytes()[:2000])
    tar(root / "none.tar", [("notes.txt", b"text")])
    tar(root / "tar without its name", MEMBERS)
    (root / "one.pgm.gz").write_bytes(gzip.compress(pgm(5)))
    (root / "sub" / "deeper").mkdir(parents=True)
    (root / "sub" / "deeper" / "b.pgm").write_bytes(pgm(3, 4))
    (root / "sub" / "a.png").write_bytes(b"no image")
    (root / "sub" / "raw.cr2").write_bytes(b"")
    (root / "empty").mkdir()
    (root / "empty" / "notes.txt").write_text("text")
    os.mkfifo(root / "pipe")
    os.mkfifo(root / "pipe.png")
    (root / "earlier.ndjson").write_text("{}")
    return root


def plain(error):
    """Without the option or the setting that it names."""
    return error.partition(" (")[0]


def told(program, *arguments):
    """The records of the command line: [(file, status, error or bins)], and how many it skipped."""
    found = []
    lists = ("--ndjson", "-q", "--device=cpu", *arguments)
    for line in program(*lists).decode(errors="surrogateescape").splitlines():
        record = json.loads(line)
        if "file" not in record:  # the end of a shard
            continue
        is_ok = record["status"] == "ok"
        bins = {c["name"]: c["histogram"] for c in record["channels"]} if is_ok else plain(record["error"])
        found.append((record["file"], record["status"] == "ok", bins))
    log = program.errors("--csv=stats", "-o", os.devnull, "--list-skipped", "--device=cpu", *arguments)
    return found, log.count(": skipped: ")


def scanned(*paths, **keywords):
    results = imghist.scan(*paths, on_error="record", **keywords)
    found = []
    for r in results:
        if isinstance(r, imghist.Counts):
            found.append((r.file, True, {p: r.histogram(p).tolist() for p in r.planes}))
        else:
            found.append((r.source, False, plain(str(r).removeprefix(f"{r.source}: "))))
    return found, results.skipped


def same(ours, theirs):
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]  # skipped


def test_a_tree_with_every_kind(program, kinds):
    theirs = told(program, kinds)
    same(scanned(kinds), theirs)
    assert {record[1] for record in theirs[0]} == {True, False} and len(theirs[0]) > 20 and theirs[1] > 5
    found = {r.source: r.status for r in imghist.scan(kinds, on_error="record") if isinstance(r, Exception)}
    for name, status in (("cut.tar", "corrupt"), ("plain.tar/../out.pgm", "corrupt"), ("pipe.png", "unknown"),
                         ("squeezed.tgz/a/bad.png", "corrupt"), ("sub/a.png", "unknown")):
        assert found[str(kinds / name)] == status


@pytest.mark.parametrize("threads", [1, 5])
def test_named_inputs(program, kinds, threads):
    paths = [kinds / name for name in ("tar without its name", "empty", "sub", "one.pgm.gz", "nothing",
                                       "none.tar", "zipped.zip", "sub/a.png", "cut.tar", "plain.tar")]
    theirs = told(program, *paths)
    same(scanned(paths, threads=threads), theirs)
    assert (str(kinds / "empty"), False) in [record[:2] for record in theirs[0]]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_shards(program, kinds, n):
    whole = scanned(kinds)[0]
    parts = []
    for i in range(1, n + 1):
        same(scanned(kinds, shard=(i, n)), told(program, f"--shard={i}/{n}", kinds))
        parts += scanned(kinds, shard=(i, n))[0]
    assert sorted(parts, key=str) == sorted(whole, key=str)


def test_lists(program, kinds, tmp_path):
    names = [f"{kinds}/sub/a.png", "", f"{kinds}/plain.tar", f"{kinds}/sub"]
    for text in ("\n".join(names), "\ufeff" + "\r\n".join(names) + "\r\n"):
        (tmp_path / "list").write_bytes(text.encode())
        theirs = told(program, kinds / "zipped.zip", f"--files-from={tmp_path / 'list'}")
        same(scanned(kinds / "zipped.zip", files_from=tmp_path / "list"), theirs)
    (tmp_path / "list").write_bytes(b"a\0b\n")
    same(scanned(files_from=tmp_path / "list"), told(program, f"--files-from={tmp_path / 'list'}"))
    same(scanned(files_from=tmp_path), told(program, f"--files-from={tmp_path}"))
    with pytest.raises(imghist.Error, match="nothing: the list cannot be opened"):
        imghist.scan(files_from=kinds / "nothing")
    with pytest.raises(ValueError, match="not a file"):
        imghist.scan(files_from=kinds / "pipe")


def test_the_name_of_standard_input_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("-").write_bytes(pgm(1))
    assert [c.file for c in imghist.scan("-")] == ["./-"]


# ---- result files ----


@pytest.fixture(scope="module")
def results(program, kinds, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    (folder / "run.ndjson").write_bytes(program("--ndjson", "-q", kinds))
    (folder / "run.json").write_bytes(program("--json", "-q", kinds))
    (folder / "total.json").write_bytes(program("--json", "--total-only", "-q", kinds))
    (folder / "range.ndjson").write_bytes(program("--ndjson", "-q", "--depth=12", kinds / "sub"))
    (folder / "region.ndjson").write_bytes(program("--ndjson", "-q", "--region=1x1+0+0", kinds / "sub"))
    for i in (1, 2, 3):
        (folder / f"{i}.ndjson").write_bytes(program("--ndjson", "-q", f"--shard={i}/3", kinds))
    return folder


@pytest.mark.parametrize("name", ["run.ndjson", "run.json", "range.ndjson", "region.ndjson"])
def test_records_are_results(program, kinds, results, name):
    theirs = told(program, results / name)
    same(scanned(results / name), theirs)
    assert {record[1] for record in theirs[0]} == {True, False}
    good = (c for c in imghist.scan(results / name, on_error="record") if isinstance(c, imghist.Counts))
    total = json.loads(program("--json", "--total-only", "-q", results / name))["total"]
    assert {p["name"]: p["histogram"] for p in total["channels"]} == {
        p: s.histogram(p).tolist() for s in [sum(good)] for p in s.planes}


def test_records_beside_images(kinds, results):
    counted = {r.file: r for r in imghist.scan(kinds, on_error="record") if isinstance(r, imghist.Counts)}
    read = [r for r in imghist.scan([results / "run.json", kinds], on_error="record")
            if isinstance(r, imghist.Counts)]
    assert len(read) == 2 * len(counted)
    for r in read:
        assert r == counted[r.file] and r.format == counted[r.file].format
        assert imghist.Counts.from_bytes(r.to_bytes()) == r


def test_records_of_other_settings_are_refused(program, samples, tmp_path):
    """As the command line does; a context without settings takes any."""
    path = tmp_path / "run.ndjson"
    for options, settings, others in [
        (("--luma=bt601",), {"luma": "bt601"}, {"luma": "bt709"}),
        (("--clip=1,254",), {"clip": (1, 254)}, {"clip": (0, 255)}),
        (("--alpha=skip-transparent",), {"alpha": "skip-transparent"}, {"alpha": "count"}),
    ]:
        path.write_bytes(program("--ndjson", "-q", *options, samples / "cutout.png"))
        for context in ({}, settings, {"max_pixels": 1 << 20}):
            assert list(imghist.Context(**context).scan(path))
        with pytest.raises(ValueError, match="counted with .*; this run asks for"):
            list(imghist.Context(**others).scan(path))


def test_result_files_of_shards(kinds, results):
    parts = [results / f"{i}.ndjson" for i in (3, 1, 2)]
    assert scanned(parts)[0] == scanned(kinds)[0]
    with pytest.raises(ValueError, match="shard 3/3 is missing"):
        scanned(parts[1:])

    def slowly():  # the first file has been found before the last is given
        for part in parts:
            time.sleep(0.3)
            yield part

    assert scanned(slowly())[0] == scanned(parts)[0]


def test_a_total_is_one_result(kinds, results):
    (total,) = imghist.scan(results / "total.json")
    assert total == imghist.total(imghist.scan(kinds, on_error="record")) and total.file is None
    assert imghist.Counts.from_bytes(total.to_bytes()) + total == total + total
    with pytest.raises(ValueError, match="count images twice"):
        scanned([results / "total.json", kinds / "sub"])


def test_a_region_stays_with_its_counts(results, kinds):
    (region, *_) = (r for r in imghist.scan(results / "region.ndjson", on_error="record")
                    if isinstance(r, imghist.Counts))
    again = imghist.Counts.from_bytes(region.to_bytes())
    assert again == region and (again + region).pixels == 2
    with pytest.raises(ValueError, match="counted with region"):
        again + imghist.count(kinds / "sub" / "deeper" / "b.pgm")
    with pytest.raises(ValueError, match="counted with region"):
        scanned([kinds / "sub", results / "region.ndjson"])


def test_damage_ends_the_run(results, tmp_path):
    lines = (results / "run.ndjson").read_text().splitlines()
    (tmp_path / "bad.ndjson").write_text("\n".join([lines[0], "{", lines[1]]))
    given = imghist.scan(tmp_path / "bad.ndjson", on_error="record")
    next(given)
    with pytest.raises(imghist.Error, match="bad.ndjson: line 2: ") as caught:
        next(given)
    assert caught.value.status == "corrupt" and list(given) == []
    with pytest.raises(ValueError, match="no input of a shard"):
        scanned(results / "run.ndjson", shard=(1, 2))


# ---- arguments, ends ----


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), (1, 10000), (-1, 1)])
def test_shards_that_do_not_exist(shard):
    with pytest.raises(ValueError, match="shard"):
        imghist.scan(".", shard=shard)


def test_arguments(kinds):
    with pytest.raises(TypeError):
        list(imghist.scan([3]))
    with pytest.raises(ValueError, match="null byte"):
        list(imghist.scan("a\0b"))
    with pytest.raises(ValueError, match="threads"):
        imghist.scan(kinds, threads=0)
    context = imghist.Context(raw_channels=1)
    assert [c.pixels for c in context.scan(kinds / "none.tar")] == [(kinds / "none.tar").stat().st_size]
    context = imghist.Context(max_memory=100, max_pixels=1)
    limited = list(context.scan(kinds / "plain.tar", on_error="record"))
    assert isinstance(limited[0], imghist.Counts) and limited[0].pixels == 1


def test_paths_come_from_any_iterable(tmp_path):
    """They are taken a bounded number ahead, and an exception comes after the results before it."""
    (tmp_path / "a.pgm").write_bytes(pgm(1))
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield tmp_path / "a.pgm"

    results = imghist.scan(endless(), threads=2)
    for _ in range(50):
        next(results)
    results.close()
    assert 50 <= taken < 2000

    def failing():
        for _ in range(500):
            yield tmp_path
        raise KeyError("a sentinel")

    results = imghist.scan(failing())
    assert [next(results).pixels for _ in range(500)] == [1] * 500
    with pytest.raises(KeyError, match="a sentinel"):
        next(results)

    def slow():
        yield tmp_path
        yield tmp_path
        time.sleep(0.5)
        yield tmp_path
        time.sleep(3)
        yield tmp_path

    started = time.monotonic()
    results = imghist.scan(slow())
    next(results)
    assert time.monotonic() - started < 2.5
    results.close()


def test_a_few_results_do_not_wait_for_more(tmp_path):
    """They come while the next input gives no data yet."""
    (tmp_path / "a.pgm").write_bytes(pgm(1))
    pipe = tmp_path / "pipe.pgm"
    os.mkfifo(pipe)
    writer = threading.Timer(20, pipe.write_bytes, [pgm(2)])  # ends the test if they wait
    writer.start()
    results = imghist.scan([tmp_path / "a.pgm"] * 3 + [pipe], threads=1)
    assert [next(results)["gray"].max for _ in range(3)] == [1] * 3
    assert writer.is_alive()
    writer.cancel()
    pipe.write_bytes(pgm(2))  # begins when the scan has opened the pipe
    assert [result["gray"].max for result in results] == [2]


def test_an_end_in_the_middle(tmp_path):
    tar(tmp_path / "many.tar", [(f"{i}.pgm", pgm(i % 256)) for i in range(5000)])
    for taken in (0, 1, 700):
        with imghist.scan([tmp_path / "many.tar"] * 3, threads=3) as results:
            for _ in range(taken):
                next(results)
        assert list(results) == []
    del results
    assert len(list(imghist.scan(tmp_path, threads=4))) == 5000


def test_keyboard_interrupt_stops_a_scan(tmp_path):
    tar(tmp_path / "many.tar", [(f"{i}.pgm", pgm(1) + bytes(100_000)) for i in range(2000)])
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            for _ in imghist.scan([tmp_path] * 100):
                pass
    assert time.monotonic() - started < 10


def test_an_end_does_not_wait_for_files_that_are_no_images(tmp_path):
    n = 50_000
    for i in range(n):
        (tmp_path / str(i)).touch()

    def paths():
        yield tmp_path
        raise KeyboardInterrupt

    results = imghist.scan(paths(), threads=1)
    with pytest.raises(KeyboardInterrupt):
        next(results)
    assert results.skipped < n // 2


def test_an_empty_list_raises(tmp_path):
    (tmp_path / "list").touch()
    with pytest.raises(imghist.Error, match="no images found: the list is empty") as caught:
        list(imghist.scan(files_from=tmp_path / "list"))
    assert caught.value.source == str(tmp_path / "list")
    assert list(imghist.scan(files_from=tmp_path / "list", shard=(1, 2))) == []
    (tmp_path / "a.pgm").write_bytes(pgm(1))
    assert len(list(imghist.scan(tmp_path / "a.pgm", files_from=tmp_path / "list"))) == 1


def test_a_scan_does_not_survive_fork(kinds):
    results = imghist.scan([kinds] * 50, on_error="record")
    next(results)
    child = os.fork()
    if child == 0:
        try:
            next(results)
        except RuntimeError:
            del results
            os._exit(0 if list(imghist.scan(kinds / "sub" / "deeper")) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    results.close()
