"""Counts: the buffer, statistics, sums, comparisons, dicts, charts, and tables for other tools."""

import concurrent.futures
import copy
import ctypes
import json
import math
import os
import pathlib
import pickle
import re

import pytest

import imghist

FIELDS = (
    "count sum mean stddev min max p01 p05 p25 median p75 p95 p99 entropy crushed blown "
    "skewness kurtosis mode mode_share otsu distinct step".split()
)


@pytest.fixture
def scene(samples):
    return imghist.count(samples / "scene.jpg")


def test_bins_are_a_view(scene):
    numpy = pytest.importorskip("numpy")
    view = scene.bins
    assert (view.format, view.shape, view.readonly, view.itemsize) == ("Q", (4, 256), True, 8)
    first, second = numpy.asarray(scene.bins), numpy.asarray(scene)
    assert first.dtype == numpy.uint64 and first.shape == (4, 256)
    assert numpy.shares_memory(first, second)
    assert not first.flags.writeable
    with pytest.raises(ValueError):
        numpy.frombuffer(scene, numpy.uint8).flags.writeable = True
    for i, plane in enumerate(scene.planes):
        one = scene.histogram(plane)
        assert one.shape == (256,) and one.tolist() == first[i].tolist()
        assert scene.histogram(i) == one == scene.histogram(i - 4)
    assert [row.tolist() for row in scene.bins] == scene.bins.tolist() == [scene.bins[i].tolist() for i in range(-4, 0)]
    assert len(scene.bins) == 4 and scene.bins == scene.bins and scene.bins[3][255] == scene.bins[3, 255]
    with pytest.raises(IndexError):
        scene.bins[4]
    kept = imghist.count(b"P5 2 1 255 \x01\x02").bins  # lives as long as the view
    assert kept[0, 1] == 1 and kept.tobytes().count(1) == 4


def test_statistics(samples):
    numpy = pytest.importorskip("numpy")
    image = pytest.importorskip("PIL.Image")
    x = numpy.asarray(image.open(samples / "scene.png").convert("RGB"))
    counts = imghist.Context(clip=(10, 240)).count(x)
    assert counts.planes == ("red", "green", "blue", "luma") and len(counts) == 4
    for c, plane in enumerate(("red", "green", "blue")):
        values = numpy.sort(x[..., c].ravel())
        stats = counts[plane]
        assert type(stats) is imghist.Stats and stats == counts[c] == counts[c - 4]
        assert imghist.Stats.__match_args__ == tuple(FIELDS)
        assert (stats.count, stats.sum) == (values.size, values.sum())
        assert stats.mean == pytest.approx(values.mean()) and stats.stddev == pytest.approx(values.std())
        assert (stats.min, stats.max) == (values[0], values[-1])
        for name, percent in zip(("p01", "p05", "p25", "median", "p75", "p95", "p99"),
                                 (1, 5, 25, 50, 75, 95, 99)):
            assert getattr(stats, name) == values[-(-values.size * percent // 100) - 1]
        p = numpy.bincount(values) / values.size
        assert stats.entropy == pytest.approx(-(p[p > 0] * numpy.log2(p[p > 0])).sum())
        assert stats.crushed == (values <= 10).sum() and stats.blown == (values >= 240).sum()
    assert counts.crushed_any == (x <= 10).any(axis=2).sum()
    assert counts.blown_all == (x >= 240).all(axis=2).sum()
    for wrong in ("gray", "", 4, -5):
        with pytest.raises((KeyError, IndexError)):
            counts[wrong]
        with pytest.raises((KeyError, IndexError)):
            counts.histogram(wrong)
    with pytest.raises(TypeError):
        counts[1.5]


def test_the_description(samples, scene):
    numpy = pytest.importorskip("numpy")
    assert (scene.format, scene.width, scene.height) == ("jpeg", 480, 320)
    assert (scene.images, scene.pixels, scene.source_depth) == (1, 480 * 320, 8)
    assert "jpeg" in scene.decoder and scene.kernel and scene.warnings == ()
    assert 0 < scene.mean_luminance < 1
    assert imghist.count(samples / "gray16.png").source_depth == 16
    assert "scene.jpg" in repr(scene) and "153600 pixels" in repr(scene)
    empty = imghist.count(numpy.zeros((0, 4), numpy.uint8))
    assert empty.pixels == 0 and math.isnan(empty["gray"].mean) and math.isnan(empty.mean_luminance)
    with pytest.raises(AttributeError):
        scene.width = 5
    with pytest.raises(TypeError):
        imghist.Counts()


def test_sums(samples, scene):
    gray = imghist.count(b"P5 2 1 255 \x07\x07")
    total = scene + gray
    assert total.images == 2 and total.file is None and total.width == 0
    for plane in ("red", "green", "blue", "luma"):  # a gray pixel counts as R = G = B
        bins = scene.histogram(plane).tolist()
        bins[7] += 2
        assert total.histogram(plane).tolist() == bins
    assert gray + scene == total
    assert sum([scene, gray]) == total == sum((gray, scene, ), start=0)
    assert scene + 0 == scene == 0 + scene
    for wrong in (1, "x", None, 1 << 80):
        with pytest.raises(TypeError):
            scene + wrong
    with pytest.raises(ValueError, match="luma"):
        scene + imghist.Context(luma="bt601").count(samples / "scene.png")


def test_comparisons(samples, scene):
    assert scene == imghist.count((samples / "scene.jpg").read_bytes())
    assert scene != imghist.count(samples / "scene.png")
    assert scene != imghist.Context(clip=(1, 255)).count(samples / "scene.jpg")
    assert scene != imghist.Context(luma="bt601").count(samples / "scene.jpg")
    assert scene != 5 and not scene == "scene"
    assert scene + scene != scene
    with pytest.raises(TypeError):
        hash(scene)
    with pytest.raises(TypeError):
        scene < scene


def test_failures_are_seen(scene):
    failed = imghist.total([scene, OSError()])
    assert failed != scene and failed == scene + imghist.total([OSError()])
    assert "1 image, 1 failed, " in repr(failed) and "failed" not in repr(scene)


def test_numpy_does_not_add_to_counts(scene):
    numpy = pytest.importorskip("numpy")
    for other in (numpy.int64(0), numpy.zeros(256, int)):
        for add in (lambda a, b: a + b, lambda a, b: b + a):
            with pytest.raises(TypeError):
                add(scene, other)
    assert numpy.asarray(scene).shape == (4, 256) and scene != numpy.asarray(scene)
    assert sum([scene]) is scene


def test_the_buffer_is_not_in_fortran_order(scene):
    view = (ctypes.c_char * 256)()  # a Py_buffer
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    fortran, c, any_order = 0x58, 0x38, 0x98
    with pytest.raises(BufferError, match="C order"):
        get(scene, view, fortran)
    for counts, order in ((scene, c), (scene, any_order), (imghist.total([]), fortran)):
        assert get(counts, view, order) == 0
        ctypes.pythonapi.PyBuffer_Release(view)


def test_bytes_and_pickle(samples, scene):
    numpy = pytest.importorskip("numpy")
    others = [imghist.count(samples / "gray16.png"), imghist.count(numpy.zeros((3, 0, 2), numpy.uint8)),
              imghist.Context(luma="bt601", clip=(3, 250)).count(samples / "cutout.png")]
    for counts in [scene, scene + scene + others[0], *others]:
        data = counts.to_bytes()
        loaded = imghist.Counts.from_bytes(data)
        assert loaded == counts and loaded.to_bytes() == data and loaded.file is None
        assert (loaded.format, loaded.width, loaded.source_depth) == (
            counts.format, counts.width, counts.source_depth)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(counts, protocol))
            assert again == counts and again.file == counts.file
        assert copy.copy(counts) == copy.deepcopy(counts) == counts
        assert imghist.Counts.from_bytes(memoryview(bytearray(data))) == counts
    assert scene + imghist.Counts.from_bytes(others[0].to_bytes()) == scene + others[0]
    stats = pickle.loads(pickle.dumps(scene["red"]))
    assert stats == scene["red"] and type(stats) is imghist.Stats
    data = scene.to_bytes()
    assert json.loads(data) | {"file": scene.file} == json.loads(*imghist.ndjson([scene]))
    assert imghist.Counts.from_bytes(data[:-1]) == scene  # the line feed is not needed
    for wrong in (b"", b"x", data[:-2], data + b"x", data + data, bytes(len(data)), data[:50] + b"\xff" + data[51:]):
        with pytest.raises(imghist.Error):
            imghist.Counts.from_bytes(wrong)
    (failed,) = imghist.ndjson(imghist.count_many(["missing.png"], on_error="record"))
    with pytest.raises(ValueError, match="a record without counts"):
        imghist.Counts.from_bytes(failed)
    with pytest.raises(TypeError):
        imghist.Counts.from_bytes("text")


def test_errors_can_be_pickled():
    (error,) = imghist.count_many(["missing.png"], on_error="record")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.status, again.source) == (str(error), "io", "missing.png")


def test_extremes_of_the_stored_samples(samples, scene):
    deep = imghist.count(samples / "gray16.png")
    image = pytest.importorskip("PIL.Image").open(samples / "gray16.png")
    assert (deep.source_min, deep.source_max) == image.getextrema()
    assert (deep.to_dict()["source_min"], deep.to_dict()["source_max"]) == image.getextrema()
    assert (scene.source_min, scene.source_max) == (None, None)
    both = scene + deep
    assert (both.source_min, both.source_max) == image.getextrema()
    for c in (deep, both):
        again = imghist.Counts.from_bytes(c.to_bytes())
        assert (again.source_min, again.source_max) == image.getextrema()


def test_dict_has_the_values_of_json(samples, program):
    numpy = pytest.importorskip("numpy")
    for path in samples.glob("*.*g"):
        record = json.loads(program("--ndjson", "--device=cpu", path))
        made = imghist.count(path).to_dict()
        assert json.loads(json.dumps(made)) == made
        assert made["file"] == record["file"] and made["format"] == record["format"]
        for channel, other in zip(made["channels"], record["channels"], strict=True):
            for key in ("name", "count", "sum", "min", "max", "median", "p99", "crushed", "histogram"):
                assert channel[key] == other[key], (path, key)
            assert channel["mean"] == pytest.approx(other["mean"], abs=1e-6)
            assert channel["stddev"] == pytest.approx(other["stddev"], abs=1e-6)
        assert made["mean_luminance"] == pytest.approx(record["mean_luminance"], abs=1e-6)
        assert made["warnings"] == record.get("warnings", [])
    empty = imghist.count(numpy.zeros((0, 4), numpy.uint8)).to_dict()
    assert empty["channels"][0]["mean"] is None and empty["mean_luminance"] is None


def test_charts(samples, scene, tmp_path, program):
    image = pytest.importorskip("PIL.Image")
    for ending in ("png", "jpg", "bmp", "tga"):
        path = tmp_path / f"chart.{ending}"
        scene.chart(path, size=(640, 400), theme="light", scale="log")
        assert image.open(path).size == (640, 400)
    made, judge = tmp_path / "made.png", tmp_path / "judge.png"
    scene.chart(str(made))
    program(samples / "scene.jpg", f"--chart={judge}", "--device=cpu")
    assert image.open(made).tobytes() == image.open(judge).tobytes()
    total = scene + imghist.count(samples / "cutout.png")
    total.chart(made, title="Two of them")
    program(samples / "scene.jpg", samples / "cutout.png", "--total-only", f"--chart={judge}", "--title=Two of them")
    assert image.open(made).tobytes() == image.open(judge).tobytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["chart.png", "chart.jpg", "chart.bmp", "chart.tga", "made.png", "judge.png"]
    )
    with pytest.raises(FileNotFoundError) as missing:
        scene.chart(tmp_path / "no" / "chart.png")
    assert missing.value.filename == str(tmp_path / "no" / "chart.png")
    for wrong in ({"scale": "cubic"}, {"theme": "pink"}, {"size": (1, 1)}, {"scale_y": "x"}):
        with pytest.raises(ValueError):
            scene.chart(tmp_path / "wrong.png", **wrong)
    with pytest.raises(ValueError, match="must end in"):
        scene.chart(tmp_path / "chart.gif")
    assert not list(tmp_path.glob("*.part")) and not list(tmp_path.glob("wrong*"))


def test_bins_of_a_plane(samples, scene):
    for counts in (scene, imghist.count(samples / "cutout.png"), imghist.count(samples / "gray16.png", bins="native")):
        for i, plane in enumerate(counts.planes):
            judge = list(counts.histogram(plane))
            for row in (counts.bins[i], counts[plane].bins):
                assert row.tolist() == judge and list(row) == judge and row[-1] == judge[-1]
                assert row == counts.histogram(plane) and len(row) == counts.n_bins and row.shape == (counts.n_bins,)
                assert memoryview(row).readonly and bytes(row) == bytes(counts.histogram(plane))
    kept = imghist.count(samples / "scene.jpg")["red"].bins  # outlives the counts
    assert kept == scene.histogram("red")
    for wrong, right in (("histogram", "bins"), ("std", "stddev"), ("p50", "median")):
        with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; it is '{right}'"):
            getattr(scene["red"], wrong)
    assert not hasattr(scene["red"], "other") and "histogram" not in dir(scene["red"])
    with pytest.raises(IndexError):
        scene.bins[0][scene.n_bins]
    numpy = pytest.importorskip("numpy")
    for array in (numpy.asarray(scene["red"].bins), scene["red"].bins.to_numpy()):
        assert array.dtype == numpy.uint64 and array.tolist() == scene.bins[0].tolist()
        assert not array.flags.writeable
    assert scene.bins.to_numpy().shape == (4, 256)


def test_bins_in_matplotlib_and_pandas(scene):
    pandas = pytest.importorskip("pandas")
    assert pandas.Series(scene.bins[0]).tolist() == scene.bins[0].tolist()
    frame = pandas.DataFrame({plane: scene[plane].bins for plane in scene.planes})
    assert frame.shape == (256, 4) and frame["luma"].sum() == scene["luma"].count
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot

    (line,) = matplotlib.pyplot.plot(scene.bins[0])
    assert line.get_ydata().tolist() == scene.bins[0].tolist()
    values = matplotlib.pyplot.stairs(scene["red"].bins).get_data().values
    assert list(values) == scene.bins[0].tolist()
    matplotlib.pyplot.close("all")


def test_threads_draw_charts_to_one_path(scene, tmp_path):
    path = tmp_path / ("c" * 250 + ".svg")  # the longest name but one
    scene.chart(path)
    judge = path.read_bytes()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: scene.chart(path), range(200)))
    assert path.read_bytes() == judge and list(tmp_path.iterdir()) == [path]


def test_an_interrupt_leaves_no_part_of_a_chart(scene, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scene.chart(tmp_path / "chart.svg")
    assert not list(tmp_path.iterdir())


def test_notebooks_get_svg(scene):
    html = scene._repr_html_()
    assert html.startswith("<svg") and re.search(r"</svg>\s*<table>", html)
    assert re.search(r"<th>luma</th><td>110.82</td>", html)
    assert "script" not in html


def test_uhi(scene):
    numpy = pytest.importorskip("numpy")
    made = scene._to_uhi_()
    pytest.importorskip("fastjsonschema")
    uhi_json = pytest.importorskip("uhi.io.json")
    text = json.dumps({"scene": made}, default=uhi_json.default)
    pytest.importorskip("uhi.schema").validate(json.loads(text))
    histogram = pytest.importorskip("boost_histogram").serialization.from_uhi(made)
    assert numpy.array_equal(histogram.view(), numpy.asarray(scene.bins))
    assert list(histogram.axes[0]) == list(scene.planes) and histogram.axes[1].size == 256


def results(samples):
    items = [samples / "scene.jpg", "missing.png", samples / "gray16.png", samples / "cutout.png"]
    return imghist.count_many(items, on_error="record")


def test_arrow_with_pyarrow(samples, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table(imghist.Table(results(samples), batch_images=3))
    table.validate(full=True)
    assert table.column("histogram").num_chunks == 2
    rows = table.to_pylist()
    assert [r["channel"] for r in rows] == (
        ["red", "green", "blue", "luma", None, "gray", "luma", "red", "green", "blue", "alpha", "luma"]
    )
    at = 0
    for result in results(samples):
        if isinstance(result, Exception):
            assert rows[at]["file"] == "missing.png" and rows[at]["error"] == str(result)
            assert rows[at]["histogram"] is None and rows[at]["mean"] is None
            at += 1
            continue
        for plane in result.planes:
            row = rows[at]
            assert (row["file"], row["error"], row["channel"]) == (result.file, None, plane)
            assert tuple(row[f] for f in FIELDS) == tuple(result[plane])
            assert row["histogram"] == result.histogram(plane).tolist()
            assert (row["width"], row["height"]) == (result.width, result.height)
            at += 1
    assert at == len(rows)
    parquet.write_table(table, tmp_path / "counts.parquet")
    assert parquet.read_table(tmp_path / "counts.parquet").to_pylist() == rows
    direct = pyarrow.table(results(samples))  # an iterator is a table too
    assert direct.to_pylist() == rows


def test_arrow_with_the_other_readers(samples):
    counted = imghist.Table(list(results(samples)))
    n_readers = 0
    try:
        import polars
    except ImportError:
        pass
    else:
        frame = polars.DataFrame(counted)
        assert frame.height == 12 and frame["histogram"][0].sum() == 480 * 320
        n_readers += 1
    try:
        import duckdb
    except ImportError:
        pass
    else:
        found = duckdb.sql("select sum(count) from counted where channel = 'luma'").fetchall()
        assert found[0][0] == sum(c.pixels for c in results(samples) if hasattr(c, "pixels"))
        n_readers += 1
    if not n_readers:
        pytest.skip("neither polars nor duckdb is installed")


def test_arrow_memory_outlives_the_results_and_threads_may_release_it(samples):
    pyarrow = pytest.importorskip("pyarrow")
    import gc
    import threading

    chunks = pyarrow.RecordBatchReader.from_stream(imghist.Table(results(samples)))
    column = chunks.read_next_batch().column("histogram")
    del chunks
    gc.collect()
    assert sum(column[0].as_py()) == 480 * 320
    holder = [column]
    del column
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    unused = imghist.Table(results(samples)).__arrow_c_stream__()  # a capsule that no reader takes
    del unused


def test_arrow_passes_on_errors(samples):
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(Exception, match="missing.png"):
        pyarrow.table(imghist.count_many([samples / "scene.jpg", "missing.png"]))
    with pytest.raises(Exception, match="neither Counts"):
        pyarrow.table(imghist.Table([5]))
    assert pyarrow.table(imghist.Table([])).num_rows == 0


def test_charts_of_names_that_are_not_utf8(tmp_path, scene):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.pgm")
    with open(name, "wb") as file:
        file.write(b"P5 1 1 255 x")
    counts = imghist.count(name)
    for c in (counts, scene):
        c.chart(os.fsdecode(os.fsencode(tmp_path) + b"/o\xe9.svg"))
        assert b"<svg" in pathlib.Path(os.fsdecode(os.fsencode(tmp_path) + b"/o\xe9.svg")).read_bytes()
        assert "<svg" in c._repr_html_()


def test_sizes_of_charts_do_not_wrap(tmp_path, scene):
    for size in ((2**32 + 640, 400), (640, -1), (-1, 400), (640,), 5, ("a", "b"), (640.0, 400)):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            scene.chart(tmp_path / "chart.svg", size=size)
    assert not list(tmp_path.iterdir())


def test_copies(program, samples, tmp_path):
    scene = (samples / "scene.png").read_bytes()
    for name in ("a.png", "c.png"):
        (tmp_path / name).write_bytes(scene)
    (tmp_path / "b.png").write_bytes((samples / "testcard.png").read_bytes())
    (tmp_path / "d.png").write_bytes(scene[:99])
    results = list(imghist.scan(tmp_path, on_error="record"))
    assert imghist.copies(results) == [[str(tmp_path / "a.png"), str(tmp_path / "c.png")]]
    rows = program(tmp_path, "--fields=fingerprint").decode().split()[1:]
    assert [c.fingerprint for c in results[:3]] == rows[:3]
    gray = imghist.count(memoryview(b"\1\2\2\11").cast("B", (2, 2)))
    colour = imghist.count(memoryview(bytes([1] * 3 + [9] * 3 + [2] * 6)).cast("B", (1, 4, 3)))
    assert imghist.copies([gray, results[3], colour, results[0]]) == [[0, 2]]


def test_fields(program, samples, tmp_path):
    c = imghist.count(samples / "scene.png")
    assert [c.field(name) for name in ("width", "format", "red.p99", "p50", "gray.mean", "file")] == [
        480, "png", c["red"].p99, c["luma"].median, None, str(samples / "scene.png")]
    assert c.field("red.share_le_100") == sum(c["red"].bins[:101]) / c.pixels
    assert c.field("red.clipped_mean", 2) != c.field("red.clipped_mean") == c.field("red.clipped_mean", 3)
    for name in ("wdth", "", "width,height", "ks"):
        with pytest.raises(ValueError, match="column 1: |several"):
            c.field(name)
    (tmp_path / "bad.png").write_bytes(b"no image")
    for name in ("scene.png", "testcard.png", "gray16.png", "palette.png"):
        (tmp_path / name).write_bytes((samples / name).read_bytes())
    fields = "file,red.mean,gray.clipped_mean,entropy,status,pixels"
    for sort, top in ((None, None), ("red.mean", None), ("-red.mean", 2), ("-file", 3), ("pixels", 1), ("gray.mean", 3)):
        options = ([f"--sort={sort}"] if sort else []) + ([f"--top={top}"] if top else [])
        rows = program("-q", tmp_path, "--csv=images", f"--fields={fields}", *options).decode().splitlines()
        got = list(imghist.scan(tmp_path, on_error="record", fields=fields, sort=sort, top=top))
        assert [",".join(got[0])] + [",".join(map(shown, row.values())) for row in got] == rows
    names = [c.file for c in imghist.scan(tmp_path / "scene.png", sort="width")]
    assert names == [str(tmp_path / "scene.png")]
    for wrong in ({"fields": "wdth"}, {"sort": "-wdth"}, {"sort": ""}, {"top": 3}, {"sort": "width", "top": 0}):
        with pytest.raises(ValueError):
            imghist.scan(tmp_path, **wrong)


def shown(value):
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)
