"""NPY and NPZ files of every type, order and axes, with NumPy as the judge: sound and damaged ones, all images and the first."""

import io
import json
import math
import random
import zipfile

import pytest

import imghist

numpy = pytest.importorskip("numpy")
TYPES = ["?", "|u1", "|i1", "<u2", ">u2", "<i2", ">i2", "<f2", ">f2", "<f4", ">f4"]
AXES = {"auto": ["HW", "HWC"], **{axes: [axes] for axes in ("HWC", "CHW", "NHW", "NHWC", "NCHW")}}


def some_array(chance, letters, n_channels):
    sizes = {"N": chance.choice([1, 1, 2, 3, 7]), "H": chance.randrange(1, 30), "W": chance.randrange(1, 30), "C": n_channels}
    shape = [sizes[letter] for letter in letters]
    kind = numpy.dtype(chance.choice(TYPES))
    raw = numpy.frombuffer(chance.randbytes(int(numpy.prod(shape)) * kind.itemsize), kind.newbyteorder("="))
    array = (raw.view("u1") & 1).view("?") if kind == "?" else raw
    return array.reshape(shape, order="C").astype(kind)


def saved(array, is_fortran):
    """The bytes of numpy.save, with its header of version 1, 2 or 3."""
    out = io.BytesIO()
    numpy.lib.format.write_array(out, numpy.asfortranarray(array) if is_fortran else numpy.ascontiguousarray(array))
    return out.getvalue()


def keys(samples):
    """The bins of samples that are finite, by the order of their values."""
    if samples.dtype.kind == "b":
        return samples.astype(int) * 255
    if samples.dtype.kind == "u":
        return samples.astype(int)
    if samples.dtype.kind == "i":
        return samples.astype(int) + (1 << (8 * samples.dtype.itemsize - 1))
    samples = samples[numpy.isfinite(samples)]
    samples = samples.astype(samples.dtype.newbyteorder("=")) + samples.dtype.type(0)  # no -0
    bits = samples.view(f"u{samples.dtype.itemsize}").astype("u8") >> (16 if samples.dtype.itemsize == 4 else 0)
    return numpy.where(bits >> 15 & 1, bits ^ 0xFFFF, bits | 0x8000).astype(int)


def expected(array, letters):
    """For each image its size and the bins of its channels."""
    if "C" not in letters:
        array, letters = array[..., None], letters + "C"
    if "N" not in letters:
        array, letters = array[None], "N" + letters
    images = array.transpose([letters.index(axis) for axis in "NHWC"])
    n = images.shape[3]
    names = [["gray"], ["gray", "alpha"], ["red", "green", "blue"], ["red", "green", "blue", "alpha"]]
    names = names[n - 1] if n <= 4 else [f"band{c + 1}" for c in range(n)]
    return [(image.shape[1], image.shape[0],
             {name: {int(k): int(m) for k, m in zip(*numpy.unique(keys(image[..., c]), return_counts=True))}
              for c, name in enumerate(names)}) for image in images]


def counted(record):
    channels = {}
    for channel in record["channels"]:
        if channel["name"] != "luma":
            bins = channel.get("histogram")
            parts = [(0, *bins)] if bins else channel["ranges"]
            channels[channel["name"]] = {first + i: n for first, *counts in parts for i, n in enumerate(counts) if n}
    return record["width"], record["height"], channels


def records(program, *arguments, **others):
    out = program("--device=cpu", "--bins=native", "--ndjson", *arguments, **others)
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("way", ["frames", "isolate", "pipe", "first", "npz"])
def test_arrays(program, tmp_path, axes, way):
    chance = random.Random(f"{axes} {way}")
    images = {}
    for i in range(20):
        letters = chance.choice(AXES[axes])
        array = some_array(chance, letters, chance.choice([1, 2, 3, 4] if axes == "auto" else [1, 2, 3, 4, 5, 9, 40]))
        images[f"{i:02}.npy"] = expected(array, letters)
        (tmp_path / f"{i:02}.npy").write_bytes(saved(array, chance.random() < 0.5))
    options = [f"--axes={axes}"] + (["--frames"] if way != "first" else []) + (["--isolate"] if way == "isolate" else [])
    where = tmp_path
    if way == "npz":
        where = tmp_path / "all.npz"
        with zipfile.ZipFile(where, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in images:
                archive.write(tmp_path / name, name)
    if way == "pipe":
        got = [record for name in images for record in records(program, *options, f"--name={name}", "-", input=(tmp_path / name).read_bytes())]
    else:
        got = records(program, *options, where)
    want = {}
    for name, of in images.items():
        for i, image in enumerate(of):
            if i == 0 or way != "first":
                want[f"{name}#{i + 1}" if len(of) > 1 and way != "first" else name] = image
    assert [record["status"] for record in got] == ["ok"] * len(want)
    got = {record["file"].removeprefix(f"{where}/"): record for record in got}
    assert {name: counted(record) for name, record in got.items()} == want
    for name, record in got.items():
        n = len(images[name.split("#")[0]])
        assert record.get("frames", 1) == n and ("not_counted" in record) == (way == "first" and n > 1)


def test_limits(program, tmp_path):
    """4,096 channels, and shapes that do not fit."""
    array = numpy.arange(4096 * 6, dtype="<u2").reshape(2, 3, 4096)
    for axes, it in (("HWC", array), ("CHW", array.transpose(2, 0, 1))):
        numpy.save(tmp_path / "a.npy", it)
        (record,) = records(program, f"--axes={axes}", tmp_path / "a.npy")
        assert counted(record) == expected(array, "HWC")[0]
    for shape, axes, why in [
        ((2, 3, 4097), "HWC", "an array of shape (2, 3, 4097) does not fit the axes HWC, with up to 4096 channels"),
        ((2, 3), "HWC", "an array of shape (2, 3) does not fit the axes HWC"),
        ((2, 3, 4), "NHWC", "an array of shape (2, 3, 4) does not fit the axes NHWC"),
        ((2, 3, 4, 5, 6), "NHWC", "an array of shape (2, 3, 4, 5, ...) does not fit the axes NHWC"),
        ((0, 3, 4), "NHW", "an array of shape (0, 3, 4) has no pixels"),
        ((3, 4, 5), "auto", "an array of shape (3, 4, 5) is no image: it is not (height, width) or (height, width, 1 to 4 channels) (--axes=HWC, CHW"),
        ((2, 3, 4, 3), "auto", "an array of shape (2, 3, 4, 3) is no image"),
        ((5,), "auto", "an array of shape (5) is no image: it is not (height, width) or (height, width, 1 to 4 channels)\n"),
    ]:
        numpy.save(tmp_path / "a.npy", numpy.zeros(shape, "u1"))
        assert why in program.errors(f"--axes={axes}", tmp_path / "a.npy", "--csv")


def test_damage(program, tmp_path):
    """What NumPy refuses is refused; what it reads has its counts, or is refused by name."""
    chance = random.Random(2000)
    n_read = 0
    arrays = {}
    for i in range(400):
        axes = chance.choice([a for a in AXES if a != "auto"])
        data = bytearray(saved(some_array(chance, axes, chance.choice([1, 3, 6])), chance.random() < 0.5))
        if i % 3 == 0:
            del data[chance.randrange(len(data)) :]
        elif i % 3 == 1:
            data[chance.randrange(10, 128)] = chance.randrange(256)
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        arrays.setdefault(axes, []).append(tmp_path / f"{i}.npy")
        arrays[axes][-1].write_bytes(data)
    for axes, paths in arrays.items():
        got = {}
        for record in records(program, f"--axes={axes}", "--frames", *paths):
            got.setdefault(record["file"].split("#")[0], []).append(record)
        for path in paths:
            if all(record["status"] == "ok" for record in got[str(path)]):
                array = numpy.load(path)
                assert [counted(record) for record in got[str(path)]] == expected(array, axes), path
                n_read += 1
    assert n_read > 50


@pytest.mark.parametrize("axes", ["NHW", "NHWC", "NCHW"])
def test_images_before_a_cut_are_counted(program, tmp_path, axes):
    """From a file as from a pipe. Those of Fortran's order lie in each other, and none is whole."""
    chance = random.Random(axes)
    shape = [{"N": 5, "H": 6, "W": 7, "C": 9}[letter] for letter in axes]
    array = numpy.frombuffer(chance.randbytes(2 * math.prod(shape)), "<u2").reshape(shape)
    for is_fortran in (False, True):
        data = saved(array, is_fortran)
        image_bytes = array[0].nbytes
        for cut in (1, image_bytes, image_bytes + 1, 4 * image_bytes, 5 * image_bytes - 1, 5 * image_bytes):
            path = tmp_path / "a.npy"
            path.write_bytes(data[: len(data) - cut])
            n = 0 if is_fortran else 5 - -(-cut // image_bytes)
            for options, others in (([path], {}), (["--isolate", path], {}), (["--name", path, "-"], {"input": path.read_bytes()})):
                got = records(program, f"--axes={axes}", "--frames", *options, **others)
                assert [record["status"] for record in got] == ["ok"] * n + ["error"]
                assert [counted(record) for record in got[:-1]] == expected(array, axes)[:n]
                assert "the file ends before the image does" in got[-1]["error"]
                assert got[-1]["file"] == (f"{path}#{n + 1}" if n else str(path))
            assert "the file ends before the image does" in records(program, f"--axes={axes}", path)[0]["error"]


def test_context(tmp_path):
    """Context(axes=) of the package."""
    array = numpy.arange(60, dtype="u1").reshape(5, 3, 4)
    numpy.save(tmp_path / "a.npy", array)
    counts = imghist.Context(axes="CHW").count(tmp_path / "a.npy")
    assert (counts.width, counts.height) == (4, 3)
    assert numpy.array_equal(counts.bins, imghist.count(array, layout="CHW").bins)
    with pytest.raises(imghist.Error, match=r"an array of shape \(5, 3, 5\) is no image.*\(axes, as 'HWC' or 'CHW'\)"):
        numpy.save(tmp_path / "a.npy", numpy.zeros((5, 3, 5), "u1"))
        imghist.count(tmp_path / "a.npy")
    with pytest.raises(ValueError, match="axes: 'WH' is not one of auto, HWC, CHW, NHW, NHWC, NCHW"):
        imghist.Context(axes="WH")
