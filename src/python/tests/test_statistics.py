"""Every statistic against NumPy, SciPy and exact fractions, on 300 images and their totals."""

import fractions
import math
import pickle

import pytest

import imghist

numpy = pytest.importorskip("numpy")


def images():
    """Noise, steps, few values, rare outliers, flat and skewed images; of one to 4,000 pixels."""
    random = numpy.random.default_rng(41)
    for i in range(300):
        shape = tuple(random.integers(1, 64, 2)) + ((3,) if i % 2 else ())
        kind = i // 2 % 6
        x = random.integers(0, 256, shape)
        if kind == 1:
            x = random.integers(0, 9, shape) * random.integers(1, 29)
        elif kind == 2:
            x = random.choice(random.integers(0, 256, 2), shape)
        elif kind == 3:
            x = numpy.where(random.random(shape) < 0.002, x, x.flat[0])
        elif kind == 4:
            x = numpy.clip(random.normal(random.integers(0, 256), 30, shape), 0, 255)
        elif kind == 5:
            x = 255 * random.random(shape) ** random.integers(1, 6)
        yield x.astype(numpy.uint8)


def percentile(ordered, p):
    """The smallest value with a cumulative count of at least p percent; with p = 0 the smallest."""
    rank = math.ceil(fractions.Fraction(str(p)) * ordered.size / 100)
    return ordered[max(rank, 1) - 1]


def otsu(values, counts):
    """By whole numbers: the variance between the classes, without its constant factors."""
    best, threshold = fractions.Fraction(0), values[0]
    count, total, n, moment = sum(counts), sum(v * c for v, c in zip(values, counts)), 0, 0
    for v, c in list(zip(values, counts))[:-1]:
        n += c
        moment += v * c
        between = fractions.Fraction((count * moment - n * total) ** 2, n * (count - n))
        if between > best:
            best, threshold = between, v
    return threshold


def check(stats, x):
    ordered = numpy.sort(x.ravel())
    values, counts = (a.tolist() for a in numpy.unique(ordered, return_counts=True))
    near = lambda expected: pytest.approx(expected, rel=1e-9, abs=1e-9)  # noqa: E731
    share = numpy.array(counts) / ordered.size
    assert (stats.count, stats.sum) == (ordered.size, ordered.sum(dtype=numpy.uint64))
    assert (stats.min, stats.max) == (values[0], values[-1])
    assert stats.mean == near(ordered.mean()) and stats.stddev == near(ordered.std())
    assert stats.entropy == near(-(share * numpy.log2(share)).sum())
    assert stats.crushed == (ordered <= 20).sum() and stats.blown == (ordered >= 230).sum()
    assert stats.mode == values[counts.index(max(counts))] and stats.mode_share == near(share.max())
    assert stats.distinct == len(values) and stats.otsu == otsu(values, counts)
    assert stats.step == numpy.gcd.reduce(numpy.diff(values)) if len(values) > 1 else stats.step == 0
    for name, p in zip("p01 p05 p25 median p75 p95 p99".split(), (1, 5, 25, 50, 75, 95, 99)):
        assert getattr(stats, name) == percentile(ordered, p)
    for p in (0, 0.1, 2.5, 10, 33.333333, 50, 99.9, 99.999999, 100):
        assert stats.percentile(p) == percentile(ordered, p)
    if len(values) == 1:
        assert math.isnan(stats.skewness) and math.isnan(stats.kurtosis)
        return
    d = ordered - ordered.mean(dtype=numpy.longdouble)
    assert stats.skewness == near(float((d**3).mean() / (d**2).mean() ** 1.5))
    assert stats.kurtosis == near(float((d**4).mean() / (d**2).mean() ** 2 - 3))


@pytest.fixture(scope="module")
def counted():
    context = imghist.Context(device="cpu", clip=(20, 230))
    return [(context.count(x), x) for x in images()]


def planes(x):
    return [x] if x.ndim == 2 else list(numpy.moveaxis(x, 2, 0))


def test_images(counted):
    for counts, x in counted:
        for i, plane in enumerate(planes(x)):
            check(counts[i], plane)


def test_totals(counted):
    """In a total with colour, gray counts as red, green and blue."""
    for every in (1, 2, 3, 50):
        some = counted[::every]
        has_colour = any(x.ndim == 3 for _, x in some)
        total = sum(counts for counts, _ in some)
        for i in range(3 if has_colour else 1):
            check(total[i], numpy.concatenate([planes(x)[i if x.ndim == 3 else 0].ravel() for _, x in some]))


def test_percentile():
    stats = imghist.count(numpy.arange(100, dtype=numpy.uint8).reshape(10, 10))["gray"]
    again = pickle.loads(pickle.dumps(stats))
    assert again == stats and again.percentile(99.0001) == stats.percentile(99.0001) == 99
    assert stats.percentile(99) == stats.p99 == 98 and len(stats) == len(imghist.Stats.__match_args__)
    for wrong in (-1, 100.5, 1 / 3, math.nan):
        with pytest.raises(ValueError, match="0 to 100"):
            stats.percentile(wrong)
    with pytest.raises(ValueError, match="no pixels"):
        imghist.count(numpy.zeros((0, 3), dtype=numpy.uint8))["gray"].percentile(50)
    with pytest.raises(TypeError):
        stats.percentile("50")


def test_scipy(counted):
    scipy_stats = pytest.importorskip("scipy.stats")
    for counts, x in counted:
        for i, plane in enumerate(planes(x)):
            if counts[i].distinct > 1:
                values = plane.ravel().astype(float)
                assert counts[i].skewness == pytest.approx(scipy_stats.skew(values), rel=1e-7, abs=1e-7)
                assert counts[i].kurtosis == pytest.approx(scipy_stats.kurtosis(values), rel=1e-7, abs=1e-7)
