"""Results as result files and totals of the command line, and names of images in memory."""

import json
import subprocess
import sys

import pytest

import imghist


def results(samples):
    paths = [samples / "scene.jpg", "missing.png", samples / "gray16.png", samples / "cutout.png"]
    return list(imghist.count_many(paths, on_error="record"))


def test_lines_are_those_of_the_command_line(samples, program, tree):
    expected = program("--ndjson", "--device=cpu", "-q", tree)
    assert expected.count(b"\n") > 1900
    lines = b"".join(imghist.ndjson(imghist.scan(tree, on_error="record")))
    advice = b" (--list shows the formats, --raw reads bare samples)", b" (raw_channels reads bare samples)"
    assert lines.replace(advice[1], b"").splitlines() == expected.replace(advice[0], b"").splitlines()


def test_total_is_that_of_the_command_line(samples, program, tmp_path):
    counted = results(samples)
    total = imghist.total(counted)
    assert (total.images, total.failed) == (3, 1)
    (line,) = imghist.ndjson([total], folder="a/")
    record = json.loads(line)
    assert (record["n_images"], record["n_failed"], record["folder"]) == (3, 1, "a/")
    (tmp_path / "records.ndjson").write_bytes(b"".join(imghist.ndjson(counted)))
    merged = program("--ndjson", "--total-only", tmp_path / "records.ndjson")
    assert {**json.loads(merged), "folder": ""} == {**record, "folder": ""}
    (tmp_path / "total.ndjson").write_bytes(line)
    twice = json.loads(program("--ndjson", "--total-only", tmp_path / "total.ndjson", tmp_path / "records.ndjson"))
    assert (twice["n_images"], twice["n_failed"]) == (6, 2)


def test_totals_add_up_in_any_grouping(samples):
    counted = results(samples)
    whole = imghist.total(counted)
    parts = [imghist.total(counted[:2]), imghist.total(counted[2:]), imghist.total([])]
    assert imghist.total(parts) == whole == sum(parts)
    assert sum(parts).failed == imghist.total(parts).failed == 1
    saved = imghist.Counts.from_bytes(whole.to_bytes())
    assert (saved, saved.failed) == (whole, 1)
    assert (parts[2].images, parts[2].failed, counted[0].failed) == (0, 0, 0)
    with pytest.raises(ValueError, match="luma"):
        imghist.total([counted[0], imghist.Context(luma="bt601").count(samples / "scene.jpg")])


def test_a_saved_table_gives_the_results_again(samples):
    pyarrow = pytest.importorskip("pyarrow")
    counted = results(samples)
    table = pyarrow.table(imghist.Table(counted, saved=True))
    again = list(imghist.read_table(table))
    assert list(imghist.ndjson(again)) == list(imghist.ndjson(counted))
    assert [a.file for a in again if isinstance(a, imghist.Counts)] == [
        c.file for c in counted if isinstance(c, imghist.Counts)]
    assert (again[1].source, again[1].status) == ("missing.png", "io")
    assert table.column("status").to_pylist().count("ok") == table.num_rows - 1
    with pytest.raises(KeyError):
        list(imghist.read_table(pyarrow.table(imghist.Table(counted))))


def test_wrong_tables_are_refused(samples):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(imghist.Table(results(samples), saved=True))
    for name in ("file", "status", "error", "counts"):
        i = table.column_names.index(name)
        wrong = table.set_column(i, name, pyarrow.array([5] * table.num_rows))
        with pytest.raises(TypeError, match=f"the column {name}"):
            list(imghist.read_table(wrong))
    for wrong in ({"file": []}, 5, None):
        with pytest.raises(TypeError, match="no table"):
            list(imghist.read_table(wrong))


def test_records_of_arrays_are_read_again(program, tmp_path):
    numpy = pytest.importorskip("numpy")
    colours = numpy.arange(4 * 5 * 3, dtype=numpy.uint8).reshape(4, 5, 3)
    deep = numpy.array([[0, 99, 65535]], numpy.uint16)
    arrays = {"colours": colours, "deep": deep, "gray": colours[..., 0], "none": colours[:0]}
    counted = [*imghist.count_many(arrays.items()), imghist.count(colours)]
    lines = list(imghist.ndjson(counted))
    (tmp_path / "r.ndjson").write_bytes(b"".join(lines))
    assert list(imghist.scan(tmp_path / "r.ndjson")) == counted
    assert program("--ndjson", tmp_path / "r.ndjson").splitlines() == b"".join(lines).splitlines()


def test_a_region_and_a_mask_are_settings(samples, program, tmp_path):
    results = []
    for option in ("--clip=0,255", "--region=480x320+0+0", f"--mask={tmp_path / 'white.pgm'}"):
        (tmp_path / "white.pgm").write_bytes(b"P5 480 320 255\n" + 480 * 320 * b"\1")
        (tmp_path / "r.ndjson").write_bytes(program("--ndjson", "--device=cpu", option, samples / "scene.jpg"))
        results.append(next(imghist.scan(tmp_path / "r.ndjson")))
    assert [(c.region, c.mask) for c in results] == [
        ("", ""), ("480x320+0+0", ""), ("", str(tmp_path / "white.pgm"))]
    for i, one in enumerate(results):
        assert imghist.Counts.from_bytes(one.to_bytes()) == one
        assert [one == other for other in results] == [i == j for j in range(3)]
        assert [name for name in ("region", "mask") if name in one.to_dict()] == [[], ["region"], ["mask"]][i]
    with pytest.raises(ValueError, match="region"):
        results[0] + results[1]


def test_images_in_memory_have_names(samples):
    data = (samples / "scene.jpg").read_bytes()
    pairs = [("a.jpg", data), ("b.jpg", b""), ("c.jpg", memoryview(data)), ("d", samples / "scene.jpg")]
    a, b, c, d = imghist.count_many(pairs, on_error="record")
    assert (a.file, c.file, d.file) == ("a.jpg", "c.jpg", "d")
    assert a == c == d == imghist.count(data)
    assert (b.source, b.status) == ("b.jpg", "unknown") and str(b).startswith("b.jpg: ")
    for pair in ((b"a.jpg", data), (1, data), ("a", None)):
        with pytest.raises(TypeError):
            list(imghist.count_many([pair]))


def test_every_failure_has_its_name(samples):
    limited = imghist.Context(max_pixels=10)
    (error,) = limited.count_many([samples / "gray16.png"], on_error="record")
    assert (error.source, error.status) == (str(samples / "gray16.png"), "limit")
    record = json.loads(next(imghist.ndjson([error])))
    assert record["file"] == error.source and not record["error"].startswith(error.source)


LITTLE_MEMORY = """
import resource, sys, imghist
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (16 << 20),) * 2)
(error,) = imghist.count_many([sys.argv[1]], threads=1, on_error="record")
print(type(error).__name__, error.source, error.status)
"""


@pytest.mark.usefixtures("unsanitized")
def test_a_failure_for_memory_has_its_name(tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = str(tmp_path / "a.webp")
    image.new("RGB", (4000, 4000)).save(path, lossless=True)  # libwebp needs all pixels
    done = subprocess.run([sys.executable, "-c", LITTLE_MEMORY, path], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["MemoryError", path, "memory"], done.stdout + done.stderr


def test_what_is_no_result():
    for wrong in ([1, -1], [None], [0], ["x"]):
        with pytest.raises(TypeError, match="total: .* is neither Counts nor an exception"):
            imghist.total(wrong)
    for number in (-1, 1 << 64, "x"):
        with pytest.raises((OverflowError, TypeError)):
            imghist._imghist.failures(number)


class Odd(Exception):
    pass


def odd(text="", **fields):
    error = Odd(text)
    vars(error).update(fields)
    return error


def test_attributes_of_other_exceptions_do_not_end_a_table(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    errors = [odd(status=404, source=5), odd(source=tmp_path), odd(source=b"b"), odd(source="c", status="io")]
    table = pyarrow.table(imghist.Table(errors))
    assert table.column("status").to_pylist() == ["usage", "usage", "usage", "io"]
    assert table.column("file").to_pylist() == [None, str(tmp_path), "b", "c"]
    names = [json.loads(line)["file"] for line in imghist.ndjson(errors)]
    assert names == ["-", str(tmp_path), "b", "c"]


def test_names_that_no_file_has(samples, tmp_path):
    data = (samples / "palette.png").read_bytes()
    pairs = [("a\0b", data), ("\ud800", data), ("\0", b""), ("\udfff", b""), ("\udcff", data), ("d", data)]
    results = [*imghist.count_many(pairs, on_error="record"), odd("\0 a\0b \ud800")]
    records = [json.loads(line) for line in imghist.ndjson(results)]
    assert [r["file"] for r in records[:4]] == ["a?b", "?", "?", "?"] and records[5]["file"] == "d"
    assert records[6]["error"] == "? a?b ?"
    for counts in results[:2]:
        assert "<svg" in counts._repr_html_()
        counts.chart(tmp_path / "chart.svg")
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(imghist.Table(results)).column("file").to_pylist()[-2:] == ["d", None]


def test_charts_of_no_images_are_refused(tmp_path):
    failed = imghist.total(imghist.count_many(["missing.png"], on_error="record"))
    for empty in (failed, imghist.total([]), imghist.Counts.from_bytes(failed.to_bytes())):
        with pytest.raises(ValueError, match="empty"):
            empty.chart(tmp_path / "chart.svg")
        assert "svg" not in empty._repr_html_()
    assert not list(tmp_path.iterdir())


def test_what_is_no_result_is_refused(samples):
    class Other:
        __slots__ = ("a", "file")
        file: object

    other = Other()
    other.file = "x.png"
    counts = imghist.count(samples / "scene.jpg")
    for wrong in (other, None, 5, b"x", "x"):
        with pytest.raises(TypeError):
            list(imghist.ndjson([wrong]))
        with pytest.raises(TypeError):
            imghist._imghist.chart(wrong, "", "x.svg", (640, 400), "linear", "dark", None, "count")
        with pytest.raises(TypeError):
            imghist.count(samples / "scene.jpg", context=wrong or 0)
        for results in ([wrong], [counts, wrong, counts]):
            stream = pytest.importorskip("pyarrow").RecordBatchReader.from_stream(imghist.Table(results))
            with pytest.raises(OSError, match="TypeError.*neither Counts nor an exception"):
                stream.read_all()
    for n in (0, -1):
        with pytest.raises(ValueError, match="batch_images"):
            imghist.Table([counts], batch_images=n)
    with pytest.raises(TypeError):
        imghist.Table([counts], batch_images="x")


def test_a_table_tells_the_kind_of_an_exception_and_passes_on_an_interrupt(samples):
    pyarrow = pytest.importorskip("pyarrow")

    def results(exception):
        yield imghist.count(samples / "scene.jpg")
        raise exception

    with pytest.raises(OSError, match="KeyError.*name"):
        pyarrow.RecordBatchReader.from_stream(imghist.Table(results(KeyError("name")))).read_all()
    with pytest.raises(KeyboardInterrupt):
        try:
            pyarrow.RecordBatchReader.from_stream(imghist.Table(results(KeyboardInterrupt()))).read_all()
        except OSError:
            for _ in range(1000):
                pass
