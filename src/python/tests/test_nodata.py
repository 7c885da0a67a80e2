"""Samples that stand for no data, by value and by the mask of a masked array, with NumPy as the judge."""

import json
import math

import pytest

import imghist
from test_samples import codes

numpy = pytest.importorskip("numpy")
TYPES = ["uint8", "uint16", "int8", "int16", "float16", "float32"]
NAMES = [["gray"], ["gray", "alpha"], ["red", "green", "blue"], ["red", "green", "blue", "alpha"]]


def bins_of(samples, n_bins=None):
    """Bins by NumPy: native ones, or 256 of unsigned samples."""
    bits = samples.dtype.itemsize * 8
    if samples.dtype.kind == "u":
        values = samples.astype(int)
        values = values if n_bins else (values * 255 * 2 + (1 << bits) - 1) // (2 * ((1 << bits) - 1))
        return numpy.bincount(values, minlength=n_bins or 256)
    keys = codes(samples[numpy.isfinite(samples)])
    return numpy.bincount(keys >> max(bits - 16, 0), minlength=1 << min(bits, 16))


def check(counts, masked, n_bins=None):
    """masked: [H, W, C]; its mask is what has no data."""
    data, mask = masked.data, numpy.ma.getmaskarray(masked)
    names = NAMES[data.shape[2] - 1] if data.shape[2] <= 4 else [f"band{c + 1}" for c in range(data.shape[2])]
    assert list(counts.planes[: data.shape[2]]) == names
    for c in range(data.shape[2]):
        left = masked[..., c].compressed()
        stats = counts[c]
        assert stats.nodata == mask[..., c].sum()
        assert stats.count == numpy.isfinite(left).sum()
        assert numpy.array_equal(numpy.asarray(counts.bins[c]), bins_of(left, n_bins))
        if data.dtype.kind == "f":
            assert stats.nan == numpy.isnan(left).sum() and stats.positive_infinity == numpy.isposinf(left).sum()
        finite = [float(v) for v in left[numpy.isfinite(left)]]
        if finite and (n_bins or data.dtype != "uint16"):
            assert stats.mean == pytest.approx(math.fsum(finite) / len(finite), rel=1e-12)
            assert (stats.min, stats.max) == (min(finite), max(finite))
    n_colours = {1: 1, 2: 1, 3: 3, 4: 3}.get(data.shape[2])
    if n_colours and data.dtype == "uint8":
        colours = [masked[..., c].compressed() / 255 for c in range(n_colours)]
        linear = [numpy.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4) for x in colours]
        means = [x.mean() if x.size else math.nan for x in linear]
        expected = means[0] if n_colours == 1 else numpy.dot(means, [0.2126, 0.7152, 0.0722])
        assert counts.mean_luminance == pytest.approx(expected, rel=1e-12, nan_ok=True) or (
            math.isnan(expected) and counts.mean_luminance is None
        )
    return counts


def arrays(dtype, n, channels=(1, 5)):
    chance = numpy.random.default_rng(7)
    dtype = numpy.dtype(dtype)
    for _ in range(n):
        shape = *chance.integers(1, 50, 2), chance.integers(*channels)
        bits = chance.integers(0, 1 << 32, shape, "u4").astype("u4")
        x = (bits >> (32 - dtype.itemsize * 8)).astype(f"u{dtype.itemsize}").view(dtype)
        few = chance.integers(0, 6, shape).astype(dtype)
        yield chance, numpy.where(chance.random(shape) < chance.random(), few, x)


@pytest.mark.parametrize("dtype", TYPES)
def test_values(dtype):
    for chance, x in arrays(dtype, 60):
        value = dtype_value(chance, x)
        mask = x == value
        if x.shape[2] in (2, 4):
            mask[..., -1] = False  # alpha has no value for no data
        native = {"bins": "native"} if dtype == "uint16" and chance.random() < 0.5 else {}
        n_bins = 65536 if native else 256 if dtype == "uint8" else None
        counts = check(imghist.count(x, nodata=value, **native), numpy.ma.array(x, mask=mask), n_bins)
        for other in layouts(x):
            assert imghist.count(*other, nodata=float(value), **other.keywords, **native) == counts
        assert imghist.Counts.from_bytes(counts.to_bytes()) == counts
        assert float(recorded(counts)) == value


def recorded(counts):
    return json.loads(next(iter(imghist.ndjson([counts])))).get("nodata")


def dtype_value(chance, x):
    finite = x[numpy.isfinite(x)]
    return finite[chance.integers(finite.size)] if finite.size else x.dtype.type(3)


class layouts:
    """The same pixels, planar, in the other byte order, with gaps, and upside down."""

    def __new__(cls, x):
        wide = numpy.zeros((x.shape[0], 2 * x.shape[1], x.shape[2] + 1), x.dtype)
        wide[:, ::2, :-1] = x
        for array, keywords in (
            (numpy.ascontiguousarray(x.transpose(2, 0, 1)), {"layout": "CHW"}),
            (x.astype(x.dtype.newbyteorder()), {}),
            (wide[:, ::2, :-1], {}),
            (numpy.asfortranarray(x)[::-1, ::-1], {}),
        ):
            yield _Call((array,), keywords)


class _Call(tuple):
    def __new__(cls, arguments, keywords):
        self = super().__new__(cls, arguments)
        self.keywords = keywords
        return self


@pytest.mark.parametrize("dtype", TYPES)
def test_masked_arrays(dtype):
    for chance, x in arrays(dtype, 40, (1, 9)):
        masked = numpy.ma.array(x, mask=chance.random(x.shape) < chance.choice([0, 0.02, 0.5, 1]))
        n_bins = 256 if dtype == "uint8" else None
        layout = {"layout": "HWC"} if x.shape[2] > 4 else {}
        counts = check(imghist.count(masked, **layout), masked, n_bins)
        assert imghist.count(masked.transpose(2, 0, 1), layout="CHW") == counts
        assert imghist.count(masked[::-1, ::-1], **layout) == counts
        swapped = numpy.ma.array(x.astype(x.dtype.newbyteorder()), mask=masked.mask)
        assert imghist.count(swapped, **layout) == counts
        value = dtype_value(chance, x)
        both = numpy.ma.array(x, mask=masked.mask | (x == value))
        if x.shape[2] in (2, 4):
            both.mask[..., -1] = masked.mask[..., -1]
        check(imghist.count(masked, nodata=value, **layout), both, n_bins)


def test_two_dimensions_and_no_mask():
    x = numpy.ma.array([[1, 2], [3, 4]], "uint8", mask=[[0, 1], [0, 0]])
    assert (imghist.count(x)["gray"].count, imghist.count(x)["gray"].nodata, imghist.count(x)["luma"].nodata) == (3, 1, 1)
    assert imghist.count(numpy.ma.array(x.data)) == imghist.count(x.data)
    assert imghist.count(numpy.ma.array([1, 2, 3], "uint8")[None]).width == 3
    masked = numpy.ma.array([[[1, 2, 3], [4, 5, 6]]], "uint8", mask=[[[0, 1, 0], [0, 0, 0]]])
    counts = imghist.count(masked)
    assert [counts[name].nodata for name in ("red", "green", "blue", "luma")] == [0, 1, 0, 1]
    assert imghist.count(masked[..., ::-1], order="bgr") == counts


def test_clips_and_luma():
    chance = numpy.random.default_rng(8)
    x = chance.choice(numpy.array([0, 7, 200, 255], "uint8"), (40, 50, 3))
    mask = chance.random(x.shape) < 0.3
    counts, data = imghist.count(numpy.ma.array(x, mask=mask)), ~mask
    assert counts.crushed_any == ((x == 0) & data).any(2).sum()
    assert counts.blown_all == ((x == 255) & data).all(2).sum()
    kept = x[data.all(2)].astype(int)
    luma = (13933 * kept[:, 0] + 46871 * kept[:, 1] + 4732 * kept[:, 2] + 32768) >> 16
    assert numpy.array_equal(numpy.asarray(counts["luma"].bins), numpy.bincount(luma, minlength=256))
    alpha = numpy.ma.array([[[0, 9], [255, 8], [7, 7]]], "uint8", mask=[[[0, 1], [0, 1], [1, 0]]])
    counts = imghist.count(alpha)  # gray whose alpha alone is masked is clipped, too
    assert (counts.crushed_any, counts.blown_all, counts["gray"].crushed) == (1, 1, 1)


def test_transparent_pixels():
    chance = numpy.random.default_rng(9)
    for dtype in TYPES:
        x = chance.integers(0, 3, (60, 70, 4)).astype(dtype)
        masked = numpy.ma.array(x, mask=chance.random(x.shape) < 0.2)
        seen = masked[x[..., 3] > 0][None]
        counts = imghist.count(masked, context=imghist.Context(alpha="skip-transparent"))
        check(counts, seen, 256 if dtype == "uint8" else None)


def test_threads_and_parts():
    chance = numpy.random.default_rng(10)
    for dtype in TYPES:
        x = chance.integers(0, 100, (1100, 900, 3)).astype(dtype)
        masked = numpy.ma.array(x, mask=chance.random(x.shape) < 0.1)
        one = check(imghist.count(masked, threads=1), masked, 256 if dtype == "uint8" else None)
        assert imghist.count(masked, threads=4) == one
        parts = imghist.count(masked[:300]) + imghist.count(masked[300:])
        assert numpy.array_equal(numpy.asarray(parts.bins), numpy.asarray(one.bins))
        assert parts[1].nodata == one[1].nodata and parts[1].mean == one[1].mean


def test_range_and_native():
    chance = numpy.random.default_rng(11)
    x = chance.integers(0, 5000, (80, 90, 3)).astype("uint16")
    left = numpy.ma.array(x, mask=x == 77)
    counts = imghist.count(x, nodata=77, range=(100, 4095))
    for c in range(3):
        v = numpy.clip(left[..., c].compressed().astype(int), 100, 4095) - 100
        assert numpy.array_equal(numpy.asarray(counts.bins[c]), numpy.bincount((v * 510 + 3995) // (2 * 3995), minlength=256))
    native = imghist.count(left, bins="native", range=(0, 4095))
    assert native.bins.shape[1] == 4096 and native[0].nodata == left.mask[..., 0].sum()


def test_values_that_no_sample_has():
    x = numpy.arange(12, dtype="uint8").reshape(3, 4)
    for value in (-9999, 0.5, 1e300, "none"):
        assert numpy.array_equal(numpy.asarray(imghist.count(x, nodata=value).bins), numpy.asarray(imghist.count(x).bins))
    assert recorded(imghist.count(x, nodata=0)) == "0" and recorded(imghist.count(x)) is None
    with pytest.raises(ValueError, match="nodata"):
        imghist.count(x, nodata=0) + imghist.count(x)


def test_many_and_files(tmp_path):
    x = numpy.arange(12, dtype="uint16").reshape(3, 4)
    numpy.save(tmp_path / "x.npy", x)
    expected = imghist.count(x, nodata=5, bins="native")
    (many,) = imghist.count_many([x], nodata=5, bins="native")
    (file,) = imghist.scan(tmp_path, nodata=5, bins="native")
    (read,) = imghist.scan(tmp_path, reader=numpy.load, nodata=5, bins="native")
    assert many == expected and read["gray"] == expected["gray"] == file["gray"] and file["gray"].nodata == 1
    assert imghist.scan(tmp_path, nodata=5, fields="gray.count", sort="file").__next__()["gray.count"] == 11


def test_refusals():
    x = numpy.zeros((2, 2), "uint8")
    for value in (math.nan, math.inf, "5", "", "None"):
        with pytest.raises(ValueError, match="nodata"):
            imghist.count(x, nodata=value)
    with pytest.raises(TypeError):
        imghist.count(x, nodata=[1])
    with pytest.raises(ValueError, match="context has its own"):
        imghist.count(x, nodata=1, context=imghist.Context())
    for dtype in ("float64", "int32", "uint32", "bool", "complex64"):
        with pytest.raises(TypeError, match="astype"):
            imghist.count(numpy.ma.zeros((2, 2), dtype))
    with pytest.raises(TypeError, match="masked array.*filled"):
        imghist.count_batch(numpy.ma.zeros((1, 2, 2), "uint8"), layout="NHW")
    with pytest.raises(ValueError, match="nodata"):
        imghist.count_batch(numpy.zeros((1, 2, 2), "uint8"), layout="NHW", context=imghist.Context(nodata=3))
    for i in range(100):  # no more contexts are kept than 32
        imghist.count(x, nodata=i)
    assert len(imghist._defaults) <= 32
