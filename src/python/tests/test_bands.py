"""bands=: some channels of files and arrays."""

import io

import imghist
import numpy
import pytest


def test_bands_of_files(tmp_path):
    x = numpy.random.default_rng(1).integers(0, 256, (20, 30, 4), numpy.uint8)
    for name in "ab":
        numpy.save(tmp_path / f"{name}.npy", x)
    file = io.BytesIO()
    numpy.save(file, x)
    context = imghist.Context(bands="1-3")
    some = [imghist.count(tmp_path / "a.npy", bands="1-3"), imghist.count(file.getvalue(), bands="3,1-2"), context.count(tmp_path / "a.npy")]
    some += [*imghist.scan(tmp_path, bands="1-3"), *imghist.count_many([tmp_path / "a.npy"], bands="1-3"), *imghist.scan(tmp_path, context=context)]
    assert len(some) == 8
    for counts in some:
        assert counts.planes == ("red", "green", "blue", "luma")
        for c, name in enumerate(counts.planes[:3]):
            assert numpy.array_equal(counts.histogram(name), numpy.bincount(x[..., c].ravel(), minlength=256))
    (alpha,) = imghist.scan(tmp_path / "a.npy", bands="4")
    assert alpha.planes == ("alpha",) and alpha["alpha"].sum == x[..., 3].sum(dtype=int)
    rows = list(imghist.scan(tmp_path, bands="4", fields="file,alpha.max,red.max", sort="file"))
    assert [row["alpha.max"] for row in rows] == [x[..., 3].max()] * 2 and rows[0]["red.max"] is None


def keys(samples):
    """The native bins of finite samples, in the order of their values."""
    if samples.dtype.kind != "f":
        return samples.astype(int) - numpy.iinfo(samples.dtype).min
    samples = samples[numpy.isfinite(samples)] + samples.dtype.type(0)  # no -0
    bits = samples.view(f"u{samples.itemsize}").astype(int) >> 8 * samples.itemsize - 16
    return numpy.where(bits >> 15, bits ^ 0xFFFF, bits | 0x8000)


@pytest.mark.parametrize("kind", ["u1", "i1", "u2", ">u2", "i2", "f2", ">f4"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 40])
def test_bands_of_arrays(kind, n):
    """Any types, strides, threads, masks and alpha, as NumPy counts the bands."""
    chance = numpy.random.default_rng([n, *kind.encode()])
    kind = numpy.dtype(kind)
    names = ("red", "green", "blue", "alpha") if n in (3, 4) else ("gray", "alpha") if n < 3 else [f"band{i + 1}" for i in range(n)]
    for letters, size, threads in (("HWC", (70, 90), 1), ("CHW", (9, 700), 1), ("WCH", (1, 40), 1), ("HWC", (760, 710) if n == 4 else (50, 40), 2)):
        x = chance.integers(0, 256, (*size, n * kind.itemsize), numpy.uint8).view(kind)
        x[..., -1][chance.random(size) < 0.5] = 0  # as alpha
        if kind.kind == "f":  # -0 is 0
            x[..., -1] = numpy.where(chance.random(size) < 0.1, -x[..., -1], x[..., -1])
        bands = [b for b in range(n) if chance.random() < 0.5] or [n - 1]
        if n in (3, 4):
            bands = [3] if n == 4 and chance.random() < 0.5 else [0, 1, 2]
        mask = chance.random(x.shape) < 0.3
        text = ",".join(str(b + 1) for b in bands)
        for alpha, masked in (("count", False), ("skip-transparent", False), ("count", True), ("skip-transparent", True)):
            given = numpy.ma.array(x, mask=mask) if masked else x
            context = imghist.Context(bins="native", bands=text, alpha=alpha)
            axes = ["HWC".index(letter) for letter in letters]
            counts = context.count(given.transpose(axes), layout=letters, threads=threads)
            assert [p for p in counts.planes if p != "luma"] == [names[b] for b in bands]
            is_kept = (x[..., -1] != 0) | (alpha == "count" or n not in (2, 4))
            for b in bands:
                kept = is_kept & ~mask[..., b] if masked else is_kept
                bins = numpy.bincount(keys(x[..., b][kept].astype(kind.newbyteorder("="))), minlength=counts.n_bins)
                assert numpy.array_equal(counts.histogram(names[b]), bins), (letters, alpha, masked, b)
                assert counts[names[b]].nodata == (is_kept & mask[..., b]).sum() * masked


def test_settings_with_bands_of_arrays():
    """Order, range, 256 bins, nodata and labels, as those of an array of the bands, in NumPy's order."""
    x = numpy.random.default_rng(2).integers(0, 5000, (60, 70, 4), numpy.uint16)
    for options in ({"range": (0, 4095)}, {"nodata": 17}, {"bins": "native"}, {"order": "bgr"}, {"luma": "none"}):
        rgb, alpha = imghist.count(x, bands="1-3", **options), imghist.count(x, bands="4", **options)
        assert rgb == imghist.count(numpy.ascontiguousarray(x[..., :3]), **options)
        assert alpha.planes == ("alpha",) and alpha["alpha"] == imghist.count(x, **options)["alpha"]
    y = numpy.concatenate([x, x[..., ::-1]], 2)
    labels = (x[..., 0] % 3).astype(numpy.uint8)
    for label, counts in imghist.count(y, labels=labels, layout="HWC", bands="2,8", bins="native").items():
        assert counts.planes == ("band2", "band8")
        for name, b in (("band2", 1), ("band8", 7)):
            assert numpy.array_equal(counts.histogram(name), numpy.bincount(y[..., b][labels == label], minlength=counts.n_bins))
    assert sum([imghist.count(y, layout="HWC", bands="8", bins="native")] * 2)["band8"].sum == 2 * y[..., 7].sum(dtype=int)


def test_refusals(tmp_path):
    x = numpy.zeros((2, 3, 4), numpy.uint8)
    numpy.save(tmp_path / "x.npy", x)
    for text in ("", "0", "3-1", "1,,2", "1;2", "4097"):
        with pytest.raises(ValueError, match="bands: .*not a list of bands"):
            imghist.count(tmp_path / "x.npy", bands=text)
    with pytest.raises(ValueError, match="bands: has a NUL"):
        imghist.Context(bands="1\0")
    for other in (1, [1, 2]):
        with pytest.raises(TypeError, match="bands"):
            imghist.Context(bands=other)
        with pytest.raises(TypeError, match="bands: a str"):
            imghist.count(tmp_path / "x.npy", bands=other)
    with pytest.raises(imghist.Error, match="no band 5: its pixels have 4 samples"):
        imghist.count(tmp_path / "x.npy", bands="2-5")
    with pytest.raises(imghist.Error, match="red, green and blue"):
        list(imghist.scan(tmp_path, bands="1"))
    for call in (imghist.count, lambda x, **k: list(imghist.count_many([x], **k)), lambda x, **k: imghist.count(x, labels=x[..., 0], **k)):
        with pytest.raises(imghist.Error, match="no band 5: its pixels have 4 samples"):
            call(x, bands="2-5")
        with pytest.raises(imghist.Error, match="red, green and blue"):
            call(x, bands="1")
    with pytest.raises(ValueError, match="bands: they are chosen of files and arrays, not of a batch"):
        imghist.count_batch(x[None], context=imghist.Context(bands="4"))
    with pytest.raises(ValueError, match="bands: a context has its own"):
        imghist.count(tmp_path / "x.npy", bands="4", context=imghist.Context())
