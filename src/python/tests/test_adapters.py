"""Groups, distances, tables of images and adapters, against NumPy on the pixels themselves."""

import fractions
import math

import imghist
import numpy as np
import pytest
from imghist import adapters


def images(seed=3, n=24):
    """Random images of gray and colour, each with values in a range of its own."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        low = int(rng.integers(0, 200))
        shape = (int(rng.integers(1, 30)), int(rng.integers(1, 30)), 3)[: 2 + i % 2]
        yield rng.integers(low, low + 56, shape, dtype=np.uint8)


def channels_of(arrays):
    """The values of red, green and blue of all images; gray counts in all three."""
    return [np.concatenate([(a if a.ndim == 2 else a[..., c]).ravel() for a in arrays]) for c in range(3)]


def test_groups(tmp_path):
    by_folder = {}
    for i, a in enumerate(images()):
        folder = tmp_path / "abc"[i % 3]
        folder.mkdir(exist_ok=True)
        kind = b"P6" if a.ndim == 3 else b"P5"
        path = folder / f"{i}.pnm"
        path.write_bytes(b"%s %d %d 255\n" % (kind, a.shape[1], a.shape[0]) + a.tobytes())
        by_folder.setdefault(str(folder), []).append(a)
    (tmp_path / "b/bad.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    results = list(imghist.scan(tmp_path, on_error="record"))
    groups = imghist.total(results, by="folder")
    assert list(groups) == sorted(by_folder)
    for name, arrays in by_folder.items():
        assert groups[name].images == len(arrays)
        for plane, values in zip(("red", "green", "blue"), channels_of(arrays)):
            assert groups[name].histogram(plane).tolist() == np.bincount(values, minlength=256).tolist()
    assert [g.failed for g in groups.values()] == [0, 1, 0]
    names = {r.file: "even" if r.images else "" for r in results if isinstance(r, imghist.Counts)}
    assert imghist.total(results[:3], by=names)["even"] == imghist.total(results[:3])
    assert set(imghist.total(results, by=lambda r: "bad" if isinstance(r, Exception) else "good")) == {"bad", "good"}
    with pytest.raises(KeyError):
        imghist.total(results, by={})
    with pytest.raises(ValueError, match="must be 'folder'"):
        imghist.total(results, by="folders")
    with pytest.raises(ValueError, match="in no folder"):
        imghist.total([ValueError()], by="folder")


def distances(x, y):
    """ks and emd in exact fractions, from sorted values."""
    both = np.arange(256)
    f = [np.searchsorted(np.sort(v), both, side="right") for v in (x, y)]
    gaps = [abs(fractions.Fraction(int(a), len(x)) - fractions.Fraction(int(b), len(y))) for a, b in zip(*f)]
    return float(max(gaps)), float(sum(gaps))


def test_compare():
    arrays = list(images(5))
    for a, b in zip(arrays, arrays[5:]):
        d = imghist.count(a).compare(imghist.count(b))
        if a.ndim == b.ndim == 2:
            assert set(d.channels) == {"gray", "luma"} and d.channels["gray"] == distances(a.ravel(), b.ravel())
        else:
            assert set(d.channels) == {"red", "green", "blue", "luma"}
            for plane, x, y in zip(d.channels, channels_of([a]), channels_of([b])):
                assert d.channels[plane] == distances(x, y)
        assert d.ks == max(c.ks for c in d.channels.values()) and d.emd == max(c.emd for c in d.channels.values())
    a = imghist.count(arrays[0])
    assert a.compare(a)[:2] == (0, 0)
    with pytest.raises(TypeError):
        a.compare(3)
    with pytest.raises(ValueError):
        a.compare(imghist.count(arrays[1], context=imghist.Context(clip=(3, 200))))


def test_normalization():
    arrays = list(images(7))
    mean, std = adapters.normalization(sum(map(imghist.count, arrays)))
    for m, s, values in zip(mean, std, channels_of(arrays)):
        assert math.isclose(m, np.mean(values / 255.0)) and math.isclose(s, np.std(values / 255.0))
    assert adapters.normalization(imghist.count(arrays[0]))[0][0] == adapters.normalization(imghist.count(arrays[0]))[0][2]


def test_lerobot():
    """The shape and keys of an entry for a camera in meta/stats.json; quantiles as numpy.quantile gives them."""
    episodes = [list(images(seed, 6)) for seed in (1, 2, 3)]
    counts = sum(sum(map(imghist.count, e)) for e in episodes)
    entry = adapters.lerobot_stats(counts)
    assert set(entry) == {"min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"}
    assert entry["count"] == [18]
    values = [v / 255.0 for v in channels_of([a for e in episodes for a in e])]
    for key, of in (("min", np.min), ("max", np.max), ("mean", np.mean), ("std", np.std)):
        assert np.shape(entry[key]) == (3, 1, 1)
        np.testing.assert_allclose(np.ravel(entry[key]), [of(v) for v in values], rtol=1e-12)
    for percent in (1, 10, 50, 90, 99):
        np.testing.assert_allclose(np.ravel(entry[f"q{percent:02}"]), [np.quantile(v, percent / 100) for v in values], rtol=1e-12)


def test_nnunet():
    arrays = list(images(9))
    properties = adapters.nnunet_intensities(sum(map(imghist.count, arrays)))
    assert list(properties) == ["0", "1", "2"]
    for entry, v in zip(properties.values(), channels_of(arrays)):
        expected = {"max": v.max(), "mean": v.mean(), "median": np.median(v), "min": v.min(), "std": v.std(),
                    "percentile_00_5": np.percentile(v, 0.5), "percentile_99_5": np.percentile(v, 99.5)}
        assert set(entry) == set(expected)
        for key, value in expected.items():
            assert math.isclose(entry[key], value, rel_tol=1e-12), key


def test_stac():
    a = next(images(11))
    entry = adapters.stac_band(imghist.count(a))
    h = entry["histogram"]
    buckets, edges = np.histogram(a, bins=h["count"], range=(h["min"], h["max"]))
    assert h["buckets"] == buckets.tolist() and edges[0] == -0.5
    assert entry["statistics"]["maximum"] == a.max() and math.isclose(entry["statistics"]["stddev"], a.std())


def test_no_pixels():
    for adapter in (adapters.normalization, adapters.lerobot_stats, adapters.nnunet_intensities, adapters.stac_band):
        with pytest.raises((ValueError, IndexError, KeyError)):
            adapter(imghist.total([]))


def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    arrays = list(images(13, 10))
    results = [*map(imghist.count, arrays), imghist.Error("damaged")]
    adapters.write_parquet(iter(results), tmp_path / "all.parquet", batch_images=4)
    table = parquet.read_table(tmp_path / "all.parquet")
    assert table.num_rows == 11 and table["status"].to_pylist()[:10] == ["ok"] * 10
    assert table["error"].to_pylist()[10] == "damaged" and table["pixels"].to_pylist()[10] is None
    for row, a in zip(table.to_pylist(), arrays):
        plane = a if a.ndim == 2 else a[..., 0]
        name = "gray" if a.ndim == 2 else "red"
        assert row["pixels"] == plane.size and math.isclose(row[f"{name}_mean"], plane.mean())
        assert row["blown_any"] == np.count_nonzero((a == 255) if a.ndim == 2 else (a == 255).any(axis=2))
        assert row["green_mean" if a.ndim == 2 else "gray_mean"] is None and row["luma_median"] is not None
