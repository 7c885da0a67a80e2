"""bands=: some channels of files."""

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
    for call in (imghist.count, lambda x, **k: list(imghist.count_many([x], **k))):
        with pytest.raises(ValueError, match="bands: they are chosen of files"):
            call(x, bands="4")
    with pytest.raises(ValueError, match="bands: they are chosen of files"):
        imghist.count_batch(x[None], context=imghist.Context(bands="4"))
    with pytest.raises(ValueError, match="bands: a context has its own"):
        imghist.count(tmp_path / "x.npy", bands="4", context=imghist.Context())
    with pytest.raises(ValueError, match="bands: a reader gives arrays"):
        imghist.scan(tmp_path, reader=numpy.load, bands="4")
