"""Arrays of signed and float samples, with NumPy as the judge."""

import math
import pickle

import pytest

import imghist

numpy = pytest.importorskip("numpy")
TYPES = ["int8", "int16", "float16"]


def codes(x):
    """The bins of samples: keys in the order of values, by integer arithmetic."""
    bits = x.dtype.itemsize * 8
    v = numpy.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").astype(int)
    if x.dtype.kind == "i":
        return v ^ 1 << bits - 1
    return numpy.where(x == 0, 1 << bits - 1, numpy.where(v >> bits - 1, ~v & (1 << bits) - 1, v | 1 << bits - 1))


def expected(plane):
    return numpy.bincount(codes(plane)[numpy.isfinite(plane)], minlength=1 << plane.dtype.itemsize * 8)


def check(counts, x):
    n = x.shape[2]
    assert list(counts.planes[:n]) == [["gray"], ["gray", "alpha"], ["red", "green", "blue"], ["red", "green", "blue", "alpha"]][n - 1]
    for c in range(n):
        plane = x[..., c].ravel()
        finite = plane[numpy.isfinite(plane)]
        assert numpy.array_equal(numpy.asarray(counts.bins[c]), expected(plane))
        stats, ordered = counts[c], numpy.sort(finite)
        assert stats.count == finite.size and stats.crushed is None and stats.blown is None
        if finite.size == 0:
            continue
        assert (stats.min, stats.max) == (ordered[0], ordered[-1])
        assert stats.median == ordered[(ordered.size - 1) // 2] == stats.percentile(50)
        exact = [float(v) for v in finite]
        mean = math.fsum(exact) / len(exact)
        assert stats.mean == pytest.approx(mean, rel=1e-12, abs=1e-300)
        assert stats.stddev == pytest.approx(math.sqrt(math.fsum((v - mean) ** 2 for v in exact) / len(exact)), rel=1e-9)
        if x.dtype.kind == "i":
            assert stats.sum == ordered.sum(dtype=int) and isinstance(stats.min, int)
        else:
            assert stats.sum is None and stats.step is None and isinstance(stats.min, float)
    return counts


def random_array(rng, dtype):
    shape = rng.integers(1, 40), rng.integers(1, 40), rng.integers(1, 5)
    dtype = numpy.dtype(dtype)
    x = rng.integers(0, 1 << dtype.itemsize * 8, shape).astype(f"u{dtype.itemsize}").view(dtype)
    if rng.random() < 0.5:
        x = rng.normal(0, 20, shape).astype(dtype)
    return x


@pytest.mark.parametrize("dtype", TYPES)
def test_arrays(dtype):
    rng = numpy.random.default_rng(52)
    for i in range(150):
        x = random_array(rng, dtype)
        counts = check(imghist.count(x), x)
        if i % 5 == 0:
            assert imghist.count(x[::-1, ::2])[0] == check(imghist.count(x[::-1, ::2]), x[::-1, ::2])[0]
            assert imghist.count(x.transpose(2, 0, 1), layout="CHW") == counts
            swapped = x.astype(x.dtype.newbyteorder())
            assert imghist.count(swapped) == counts
            assert imghist.Counts.from_bytes(counts.to_bytes()) == counts
            assert pickle.loads(pickle.dumps(counts)) == counts
        if x.shape[0] > 1:
            assert numpy.array_equal(numpy.asarray((imghist.count(x[:1]) + imghist.count(x[1:])).bins), numpy.asarray(counts.bins))


@pytest.mark.parametrize("dtype", TYPES)
def test_large_arrays_on_threads(dtype):
    x = numpy.random.default_rng(3).normal(0, 50, (1200, 1500, 3)).astype(dtype)
    one = imghist.count(x, threads=1)
    check(one, x)
    assert imghist.count(x, threads=4) == one


def test_luma_of_signed_samples():
    x = numpy.random.default_rng(4).integers(-32768, 32768, (50, 60, 3)).astype("int16")
    luma = (13933 * x[..., 0].astype(int) + 46871 * x[..., 1].astype(int) + 4732 * x[..., 2].astype(int) + 32768) >> 16
    counts = imghist.count(x)
    assert numpy.array_equal(numpy.asarray(counts["luma"].bins), expected(luma.astype("int16").ravel()))
    assert imghist.count(x[..., ::-1], order="bgr") == counts
    assert "luma" not in imghist.count(x.astype("float16")).planes


def test_what_is_counted_apart():
    x = numpy.array([[1, numpy.nan, numpy.inf, -numpy.inf, -0.0, -numpy.nan]], "float16")
    s = imghist.count(x)["gray"]
    assert (s.count, s.nan, s.positive_infinity, s.negative_infinity) == (2, 2, 1, 1)
    assert s.min == 0 and str(s.min) == "0.0"
    nothing = imghist.count(numpy.full((2, 2), numpy.nan, "float16"))["gray"]
    assert nothing.count == 0 and nothing.nan == 4 and math.isnan(nothing.mean)


def test_tables_and_axes():
    signed, floats = imghist.count(numpy.array([[1, -2, 3]], "int16")), imghist.count(numpy.array([[1, -2, 3]], "float16"))
    assert (signed.samples, floats.samples, imghist.count(numpy.zeros((1, 1), "uint8")).samples) == ("int16", "float16", "uint8")
    with pytest.raises(ValueError, match="distances"):
        floats.compare(floats)
    assert signed.compare(signed).emd == 0


def test_tables_refuse_them():
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(Exception, match="none for int16"):
        pyarrow.table(imghist.Table([imghist.count(numpy.zeros((1, 1), "int16"))], bins="native"))


def test_refusals():
    context = imghist.Context(clip=(1, 200))
    with pytest.raises(imghist.Error, match="clip limits are for unsigned samples, and it has samples of int16"):
        imghist.count(numpy.zeros((2, 2), "int16"), context=context)
    with pytest.raises(ValueError, match="range"):
        imghist.count(numpy.zeros((2, 2), "int16"), range=(0, 100))
    for dtype in ("float64", "int32", "bool", "complex64"):
        with pytest.raises(TypeError, match="astype"):
            imghist.count(numpy.zeros((2, 2), dtype))
    with pytest.raises(ValueError, match="float16"):
        imghist.count(numpy.zeros((2, 2), "int16")) + imghist.count(numpy.zeros((2, 2), "float16"))
