"""bins='native': arrays and files of 9 to 16 bits, with NumPy as the judge."""

import io
import pickle

import pytest

import imghist

numpy = pytest.importorskip("numpy")
WEIGHTS = {"bt709": (13933, 46871, 4732), "bt601": (19595, 38470, 7471)}


def expected(x, n_bins, luma="bt709"):
    """The bins of HxWxC pixels by numpy.bincount, luma last. A range does not hold for alpha, which is scaled."""
    planes = [x[..., c].astype(numpy.uint64) for c in range(x.shape[2])]
    if len(planes) in (2, 4) and n_bins < 65536:
        planes[-1] = (2 * planes[-1] * (n_bins - 1) + 65535) // 131070
    gray = planes[0]
    if len(planes) >= 3:
        gray = sum(w * p for w, p in zip(WEIGHTS[luma], planes)) + 32768 >> numpy.uint64(16)
    return numpy.array([numpy.bincount(p.ravel().astype(int), minlength=n_bins) for p in [*planes, gray]])


def clipped(x, low, high):
    """crushed_any, blown_any, crushed_all, blown_all"""
    colours = x[..., :3] if x.shape[2] >= 3 else x[..., :1]
    below, above = colours <= low, colours >= high
    return [int(f(-1).sum()) for f in (below.any, above.any, below.all, above.all)]


def check(counts, x, n_bins, luma="bt709"):
    bins = expected(x, n_bins, luma)
    assert counts.n_bins == n_bins and counts.bins.shape == bins.shape
    assert numpy.array_equal(numpy.asarray(counts.bins), bins)
    low, high = counts.clip
    assert [counts.crushed_any, counts.blown_any, counts.crushed_all, counts.blown_all] == clipped(x, low, high)
    assert counts.reduction == ("none" if n_bins == 65536 else f"clamp(v,0,{n_bins - 1})")
    return counts


def random_image(rng, depth):
    """A small image of an uneven distribution, with both extremes now and then."""
    shape = rng.integers(1, 24), rng.integers(1, 24), rng.integers(1, 5)
    x = rng.integers(0, 1 << depth, shape) >> rng.integers(0, depth)
    return numpy.where(rng.random(shape) < 0.05, rng.choice([0, (1 << depth) - 1]), x).astype(numpy.uint16)


def test_arrays():
    rng = numpy.random.default_rng(40)
    for _ in range(500):
        depth = int(rng.integers(9, 17))
        x = random_image(rng, depth)
        range_ = (0, (1 << depth) - 1) if depth < 16 else None
        c = check(imghist.count(x, bins="native", range=range_), x, 1 << depth)
        assert c.clip == (0, (1 << depth) - 1) and c.source_depth == 16
        stats, samples = c[0], numpy.sort(x[..., 0].ravel())
        assert (stats.min, stats.max, stats.sum) == (samples[0], samples[-1], samples.sum(dtype=numpy.uint64))
        assert stats.median == samples[(samples.size - 1) // 2] and abs(stats.stddev - samples.std()) < 1e-6


def test_count_many_of_random_images():
    rng = numpy.random.default_rng(41)
    context = imghist.Context(bins="native", luma="bt601", clip=(20, 400))
    for depth in range(9, 17):
        images = [random_image(rng, depth) for _ in range(190)]
        range_ = None if depth == 16 else (0, (1 << depth) - 1)
        for x, c in zip(images, context.count_many(images, threads=2, range=range_), strict=True):
            check(c, x, 1 << depth, "bt601")


def test_layouts():
    x = random_image(numpy.random.default_rng(1), 16)
    x = numpy.concatenate([x] * 4, -1)[..., :3]
    for view, arguments in [
        (x[::-1, ::2], {}),
        (x[..., ::-1], {}),
        (x[..., ::-1], {"order": "bgr"}),
        (x.transpose(2, 0, 1), {"layout": "CHW"}),
    ]:
        pixels = view if "layout" not in arguments else x
        pixels = pixels[..., ::-1] if "order" in arguments else pixels
        check(imghist.count(view, bins="native", **arguments), pixels, 65536)


def test_skip_transparent():
    x = random_image(numpy.random.default_rng(2), 12)[..., :1]
    x = numpy.concatenate([x, x % 3], -1)
    kept = x[x[..., 1] > 0][None]
    c = imghist.Context(bins="native", alpha="skip-transparent").count(x)
    assert numpy.array_equal(numpy.asarray(c.bins), expected(kept, 65536)) and c.pixels == kept.shape[1]


def pnm(x, maxval):
    head = f"P{6 if x.shape[2] == 3 else 5}\n{x.shape[1]} {x.shape[0]}\n{maxval}\n"
    return head.encode() + x.astype(">u2" if maxval > 255 else "u1").tobytes()


@pytest.fixture
def files(tmp_path):
    """Files of PNM with their pixels: {path: (pixels, bins)}."""
    rng, made = numpy.random.default_rng(3), {}
    for i, maxval in enumerate([256, 300, 1023, 4095, 65535, 255]):
        x = rng.integers(0, maxval + 1, (9, 14, 3 if i % 2 else 1)).astype(numpy.uint16)
        path = tmp_path / f"{i}.pnm"
        path.write_bytes(pnm(x, maxval))
        made[str(path)] = x, maxval + 1
    return made


def check_file(c, x, n_bins):
    assert c.n_bins == n_bins and numpy.array_equal(numpy.asarray(c.bins), expected(x, n_bins))
    assert c.reduction == ("none" if n_bins > 256 else "round(v*255/max)")


def test_files(files, tmp_path):
    for path, file in files.items():
        data = open(path, "rb").read()
        for source in (path, data, io.BytesIO(data)):
            check_file(imghist.count(source, bins="native"), *file)
    for c in imghist.scan(tmp_path, bins="native"):
        check_file(c, *files[c.file])


def test_sums():
    rng = numpy.random.default_rng(4)
    images = [rng.integers(0, 65536, (5, 7, n)).astype(numpy.uint16) for n in (1, 3, 1)]
    total = sum(imghist.count_many(images, bins="native"))
    as_rgb = numpy.concatenate([numpy.broadcast_to(x, (5, 7, 3)) for x in images])
    check(total, as_rgb, 65536)
    assert total == imghist.total(imghist.count_many(images[::-1], bins="native"))


def test_other_bins_are_not_added():
    x = numpy.zeros((2, 2), numpy.uint16)
    a, b, c = (imghist.count(x, bins=n, range=r) for n, r in (("native", None), ("native", (0, 4095)), (256, None)))
    assert a != b and a != c and a == imghist.count(x, bins="native")
    for one, other in ((a, b), (a, c), (c, a)):
        with pytest.raises(ValueError, match="bins"):
            one + other


def test_to_bytes_and_pickle(files):
    for path, file in files.items():
        c = imghist.count(path, bins="native")
        for again in (imghist.Counts.from_bytes(c.to_bytes()), pickle.loads(pickle.dumps(c))):
            assert again == c and again.clip == c.clip
            check_file(again, *file)
        total = imghist.Counts.from_bytes((c + c).to_bytes())
        assert total.images == 2 and numpy.array_equal(numpy.asarray(total.bins), 2 * expected(*file))
    short = numpy.full((100, 100), 60000, numpy.uint16)
    assert len(imghist.count(short, bins="native").to_bytes()) < 1500


def test_records(files, tmp_path):
    """A result file has the counts, by Python's own JSON, and is read as the same counts."""
    all_counts = list(imghist.scan(list(files), bins="native"))
    path = tmp_path / "all.ndjson"
    path.write_bytes(b"".join(imghist.ndjson(all_counts)))
    assert list(imghist.scan([path])) == all_counts
    for c in all_counts:
        record = c.to_dict()
        bins = numpy.zeros((len(c.planes), c.n_bins), int)
        for row, channel in zip(bins, record["channels"], strict=True):
            if c.n_bins == 256:
                row[:] = channel["histogram"]
            for first, *counts in channel.get("ranges", ()):
                row[first : first + len(counts)] = counts
        assert record.get("bins", 256) == c.n_bins and numpy.array_equal(bins, expected(*files[c.file]))


def test_record_of_12_bits_is_short():
    x = numpy.random.default_rng(5).integers(0, 4096, (4000, 5000), numpy.uint16)
    (line,) = imghist.ndjson([imghist.count(x, bins="native", range=(0, 4095))])
    assert len(line) <= 65536


def test_table(files):
    pyarrow = pytest.importorskip("pyarrow")
    with imghist.count_many(files, bins="native") as results:
        table = pyarrow.table(results)
    planes = [plane for x, n in files.values() for plane in expected(x, n)]
    assert table["histogram"].to_pylist() == [p.tolist() for p in planes]
    assert table["max"].to_pylist() == [int(numpy.flatnonzero(p)[-1]) for p in planes]
    images = pyarrow.table(imghist.Table(imghist.count_many(files, bins="native"), rows="images"))
    assert images["luma_max"].to_pylist() == [int(numpy.flatnonzero(expected(*f)[-1])[-1]) for f in files.values()]
    failed = imghist.count_many([b"", *files], bins="native", on_error="record")
    saved = pyarrow.table(imghist.Table((r for r in failed), bins="native", saved=True))
    assert saved["histogram"].to_pylist() == [None, *table["histogram"].to_pylist()]
    assert list(imghist.read_table(saved))[1:] == list(imghist.count_many(files, bins="native"))
    with pytest.raises(Exception, match="bins='native'"):
        pyarrow.table(imghist.Table([imghist.count(list(files)[3], bins="native")]))


def test_uhi(files):
    made = imghist.count(list(files)[3], bins="native")._to_uhi_()
    histogram = pytest.importorskip("boost_histogram").serialization.from_uhi(made)
    x, n_bins = files[list(files)[3]]
    assert histogram.axes[1].size == n_bins and histogram.axes[1].edges[-1] == n_bins
    assert numpy.array_equal(histogram.values(), expected(x, n_bins))


def test_chart(files, tmp_path):
    c = imghist.count(list(files)[3], bins="native")
    c.chart(tmp_path / "c.svg")
    svg = (tmp_path / "c.svg").read_text()
    assert all(f">{value}<" in svg for value in (0, 1024, 2048, 3072, 4095)) and "4096 values, 16 in a bar" in svg
    assert "<svg" in c._repr_html_()


def test_arguments():
    x = numpy.zeros((2, 2), numpy.uint16)
    native = imghist.Context(bins="native")
    assert native.bins == "native" and imghist.Context().bins == 256
    assert imghist.count(x, context=native).n_bins == imghist.count(x, bins="native", context=native).n_bins == 65536
    assert imghist.count(x.astype(numpy.uint8), bins="native").n_bins == 256
    with pytest.raises(ValueError, match="a context has its own"):
        imghist.count(x, bins="native", context=imghist.Context())
    for bins in ("256", 512, -1, "natives"):
        with pytest.raises((ValueError, OverflowError)):
            imghist.Context(bins=bins)
    with pytest.raises(ValueError, match="1 to 65535"):
        imghist.Context(bins="native", clip=(0, 0))
    with pytest.raises(ValueError, match="clip"):
        imghist.Context(bins="native", clip=(0, 65536))
    with pytest.raises(TypeError, match="with bins='native' uint16"):
        imghist.count_batch(numpy.zeros((1, 2, 2, 3), numpy.uint16))
