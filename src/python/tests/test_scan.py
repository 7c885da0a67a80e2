"""scan and the other ways to count 2,000 files, damaged ones included, against the command line."""

import concurrent.futures
import json
import multiprocessing
import os

import pytest

import imghist


@pytest.fixture(scope="module")
def records(program, tree):
    """What the command line says, in its order: {file: {plane: bins} or an error}."""
    lines = program("--ndjson", "--device=cpu", "-q", tree).decode().splitlines()
    found = {}
    for line in lines:
        record = json.loads(line)
        if record["status"] == "ok":
            found[record["file"]] = {c["name"]: c["histogram"] for c in record["channels"]}
        else:
            found[record["file"]] = record["error"]
    assert 1900 < len(found) <= 2001  # and a link to nothing
    assert sum(isinstance(r, str) for r in found.values()) > 100
    return found


def bins_of(result):
    if isinstance(result, Exception):
        return str(result).removeprefix(f"{result.source}: ")
    return {plane: result.histogram(plane).tolist() for plane in result.planes}


def name_of(result):
    return result.source if isinstance(result, Exception) else result.file


def test_scan_gives_the_records_of_the_command_line(records, program, tree):
    results = imghist.scan(tree, on_error="record")
    scanned = [(name_of(r), bins_of(r)) for r in results]
    assert [name for name, _ in scanned] == list(records)
    assert dict(scanned) == records
    skipped = program.errors("--csv=stats", "-o", os.devnull, "--list-skipped", "--device=cpu", tree)
    assert results.skipped == skipped.count(": skipped: ") >= 3


@pytest.mark.parametrize("threads", [1, 4])
def test_count_many_gives_the_same(records, threads):
    results = imghist.count_many(records, threads=threads, on_error="record")
    for (name, record), result in zip(records.items(), results, strict=True):
        assert name_of(result) == name
        if name.endswith("dangling.png"):
            continue
        assert bins_of(result) == record


def regular(records):
    return {path: record for path, record in records.items() if not path.endswith("dangling.png")}


def single(path):
    try:
        return bins_of(imghist.count(path))
    except imghist.Error as e:
        return bins_of(e)


def in_memory(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return bins_of(imghist.count(data))
    except imghist.Error as e:
        return bins_of(e)


def test_single_calls_give_the_same(records):
    for path, record in regular(records).items():
        assert single(path) == record
        assert in_memory(path) == record


def test_records_of_counts_give_the_same(records, tree):
    for result in imghist.scan(tree, on_error="record"):
        if isinstance(result, imghist.Counts):
            assert bins_of(imghist.Counts.from_bytes(result.to_bytes())) == records[result.file]


def test_threads_give_the_same(records):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(single, regular(records))) == list(regular(records).values())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_give_the_same(records, method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(single, regular(records), chunksize=100) == list(regular(records).values())


def test_the_sum_is_the_total_of_the_command_line(records, program, tree):
    total = json.loads(program("--json", "--total-only", "--device=cpu", "-q", tree))["total"]
    good = (r for r in imghist.scan(tree, on_error="record") if isinstance(r, imghist.Counts))
    counted = sum(good)
    assert bins_of(counted) == {c["name"]: c["histogram"] for c in total["channels"]}
    for channel in total["channels"]:
        stats = counted[channel["name"]]
        for field in ("count", "sum", "min", "max", "p01", "median", "p99", "crushed", "blown"):
            assert getattr(stats, field) == channel[field]
        assert stats.mean == pytest.approx(channel["mean"], abs=1e-6)
        assert stats.entropy == pytest.approx(channel["entropy"], abs=1e-6)


def test_named_paths(tree, samples):
    text = str(tree / "notes.txt")
    results = list(imghist.scan([samples / "scene.png", text, tree / "nothing"], on_error="record"))
    assert results[0] == imghist.count(samples / "scene.png")
    assert [r.status for r in results[1:]] == ["unknown", "io"]
    with pytest.raises(imghist.Error, match="not an image"):
        list(imghist.scan(text))
    assert next(imghist.scan(os.fsencode(samples / "scene.png"))).file == str(samples / "scene.png")
    assert list(imghist.scan([])) == []


def test_names_that_are_not_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.pgm"
    with open(path, "wb") as file:
        file.write(b"P5 1 1 255 x")
    (result,) = imghist.scan(tmp_path)
    assert os.fsencode(result.file) == path


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every directory")
def test_a_directory_that_cannot_be_read(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    (error,) = imghist.scan(tmp_path, on_error="record")
    assert error.status == "io" and error.source == str(tmp_path / "closed")
