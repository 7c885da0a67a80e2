"""Arrays of float32, with exact fractions as the judge."""

import math
import pickle
from fractions import Fraction

import pytest

import imghist

numpy = pytest.importorskip("numpy")


def root(x):
    return float(Fraction(math.isqrt((x.numerator << 4800) // x.denominator), 1 << 2400))


def check(counts, x):
    for c in range(x.shape[2]):
        plane = x[..., c].ravel().astype("=f4")
        finite = numpy.sort(plane[numpy.isfinite(plane)]) + numpy.float32(0)
        bits = finite.view("u4").astype(numpy.int64)
        keys = numpy.where(bits >> 31, ~bits & 0xFFFFFFFF, bits | 0x80000000)
        assert numpy.array_equal(numpy.asarray(counts.bins[c]), numpy.bincount(keys >> 16, minlength=65536))
        s = counts[c]
        assert (s.count, s.nan) == (finite.size, numpy.isnan(plane).sum())
        assert (s.positive_infinity, s.negative_infinity) == (numpy.isposinf(plane).sum(), numpy.isneginf(plane).sum())
        if finite.size == 0:
            continue
        exact = [Fraction(float(v)) for v in finite]
        mean = sum(exact) / len(exact)
        assert (s.mean, s.stddev) == (float(mean), root(sum(v * v for v in exact) / len(exact) - mean * mean))
        assert (s.min, s.max) == (finite[0], finite[-1])
        median = finite[(finite.size - 1) // 2]
        assert s.min <= s.median <= median
        assert median - s.median <= abs(median) / 128 + 2.0**-133


def arrays():
    chance = numpy.random.default_rng(52)
    for i in range(40):
        shape = (*chance.integers(1, 40, 2), chance.integers(1, 5))
        x = chance.normal(0, 10.0 ** chance.integers(-38, 38), shape).astype("f4")
        if i % 3 == 0:
            x[chance.random(shape) < 0.2] = chance.choice([math.nan, math.inf, -math.inf, -0.0])
        yield x


def test_exact_statistics():
    for x in arrays():
        check(imghist.count(x), x)


def test_layouts_and_byte_orders():
    for x in arrays():
        counts = imghist.count(x)
        assert imghist.count(x.astype(">f4")) == counts == imghist.count(numpy.asfortranarray(x))
        assert imghist.count(x[::-1, ::-1]) == counts
        assert imghist.count(numpy.ascontiguousarray(x.transpose(2, 0, 1)), layout="CHW") == counts
        if x.shape[2] >= 3:
            bgr = numpy.concatenate([x[..., 2::-1], x[..., 3:]], axis=2)
            assert imghist.count(bgr, order="bgr") == counts
            assert "luma" not in counts.planes


def test_parts_give_the_whole():
    x = numpy.random.default_rng(1).normal(0, 1, (700, 900, 3)).astype("f4")
    whole = imghist.count(x)
    check(whole, x)
    parts = imghist.count(x[:300]) + imghist.count(x[300:, :5]) + imghist.count(x[300:, 5:])
    assert [s.stddev for s in (parts[c] for c in range(3))] == [whole[c].stddev for c in range(3)]
    assert [s.mean for s in (parts[c] for c in range(3))] == [whole[c].mean for c in range(3)]
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert [imghist.count(x, threads=n) for n in (1, 2, 5)] == [whole] * 3


def test_other_floats_are_refused():
    for kind in ("f8", "i4", "u4"):
        with pytest.raises(TypeError, match=r"float32.*astype"):
            imghist.count(numpy.zeros((2, 2), kind))
