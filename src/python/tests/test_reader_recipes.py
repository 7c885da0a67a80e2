"""The recipes of docs/readers.md count small files that the libraries write, as NumPy counts them."""

import csv
import json
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy")
PAGE = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "readers.md").read_text(encoding="utf-8")
RECIPES = {name: (code, command) for name, code, command in
           re.findall(r"^```python (\w+)\n(.*?)^```\n\n    (python -m imghist .*?)\n", PAGE, re.M | re.S)}
NOISE = numpy.random.default_rng(54)


def dicom(folder):
    pydicom = pytest.importorskip("pydicom")
    (folder / "series").mkdir()
    pixels = NOISE.integers(0, 4096, (3, 20, 30), numpy.uint16)
    for i, image in enumerate(pixels):
        meta = pydicom.dataset.FileMetaDataset()
        meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
        meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7"
        meta.MediaStorageSOPInstanceUID = f"1.2.3.{i + 1}"
        d = pydicom.dataset.FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
        d.Rows, d.Columns = image.shape
        d.SamplesPerPixel, d.PhotometricInterpretation, d.PixelRepresentation = 1, "MONOCHROME2", 0
        d.BitsAllocated, d.BitsStored, d.HighBit = 16, 12, 11
        d.PixelData = image.tobytes()
        d.save_as(folder / "series" / f"{i}.dcm", enforce_file_format=True)
    return [pixels]


def nifti(folder):
    nibabel = pytest.importorskip("nibabel")
    pixels = NOISE.integers(0, 256, (12, 10, 4), numpy.uint8)
    nibabel.save(nibabel.Nifti1Image(pixels, numpy.eye(4), dtype=numpy.uint8), folder / "brain.nii.gz")
    return list(pixels.transpose(2, 0, 1))


def chunks(folder):
    zarr = pytest.importorskip("zarr", minversion="3")
    pixels = NOISE.integers(0, 256, (3, 50, 70), numpy.uint8)
    group = zarr.open_group(folder / "plate.zarr", mode="w")
    group.create_array("0", data=pixels, chunks=(1, 16, 32))
    group.create_array("1", data=pixels[:, ::2, ::2], chunks=(1, 16, 32))
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"datasets": [{"path": "0"}, {"path": "1"}]}]}
    return [pixels]


def hdf5(folder):
    h5py = pytest.importorskip("h5py")
    pixels = NOISE.integers(0, 256, (5, 8, 9), numpy.uint8)
    with h5py.File(folder / "train.h5", "w") as file:
        file["images"] = pixels
    return list(pixels)


def raster(folder):
    rasterio = pytest.importorskip("rasterio")
    pixels = NOISE.integers(0, 4096, (12, 30, 20), numpy.uint16)
    pixels[:, :4] = 0
    (folder / "scenes").mkdir()
    with rasterio.open(folder / "scenes" / "a.tif", "w", driver="GTiff", height=30, width=20, count=12, dtype="uint16", nodata=0) as file:
        file.write(pixels)
    return [pixels[0][pixels[0] > 0]]


def pages(folder):
    tifffile = pytest.importorskip("tifffile")
    pixels = NOISE.integers(0, 65536, (4, 30, 40), numpy.uint16)
    tifffile.imwrite(folder / "stack.tif", pixels, photometric="minisblack")
    return list(pixels)


def sensor(folder):
    pytest.importorskip("rawpy")
    tifffile = pytest.importorskip("tifffile")
    pixels = NOISE.integers(0, 4096, (64, 96), numpy.uint16)
    matrix = [1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1]
    tags = [(50706, 1, 4, bytes([1, 4, 0, 0]), False), (50707, 1, 4, bytes([1, 1, 0, 0]), False),
            (50708, 2, 0, "imghist", False), (33421, 3, 2, (2, 2), False), (33422, 1, 4, bytes([0, 1, 1, 2]), False),
            (50717, 4, 1, 4095, False), (50721, 10, 9, matrix, False), (50778, 3, 1, 21, False),
            (271, 2, 0, "imghist", False), (272, 2, 0, "imghist", False)]
    tifffile.imwrite(folder / "photo.dng", pixels, photometric=32803, extratags=tags, metadata=None)
    return [pixels]


def video(folder):
    av = pytest.importorskip("av")
    pixels = NOISE.integers(0, 256, (25, 48, 64, 3), numpy.uint8)
    with av.open(folder / "clip.mp4", "w", format="matroska") as file:  # told by its content; lossless
        stream = file.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "bgr0"
        for image in pixels:
            file.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format="bgr0")))
        file.mux(stream.encode())
    return list(pixels[::10])


def urls(folder):
    pytest.importorskip("fsspec")
    pixels = NOISE.integers(0, 256, (2, 9, 7), numpy.uint8)
    for i, image in enumerate(pixels):
        (folder / f"{i}.pgm").write_bytes(b"P5 7 9 255\n" + image.tobytes())
    (folder / "urls.list").write_text("".join(f"file://{folder}/{i}.pgm\n" for i in range(2)))
    return list(pixels)


def hugging(folder):
    datasets = pytest.importorskip("datasets")
    image = pytest.importorskip("PIL.Image")
    pixels = NOISE.integers(0, 256, (3, 8, 6), numpy.uint8)
    images = datasets.Dataset.from_dict(
        {"image": [image.fromarray(p) for p in pixels]}, datasets.Features({"image": datasets.Image()}))
    images.save_to_disk(folder / "images.hf")
    return [pixels]


def test_there_are_all():
    assert list(RECIPES) == ["dicom", "nifti", "chunks", "hdf5", "raster", "pages", "sensor", "video", "urls", "hugging"]


def counted(path):
    """The number, sum, smallest and largest values of the first channel of each record."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        if "channel" in rows[0]:
            return [(int(r["count"]), int(r["sum"]), int(r["min"]), int(r["max"])) for r in rows if r["channel"] == "gray"]
        return [(int(r["pixels"]), round(float(r["mean_luma"]), 3)) for r in rows]
    with path.open(encoding="utf-8") as file:
        records = [json.load(file)["total"]] if path.suffix == ".json" else [json.loads(line) for line in file]
    channels = [record["channels"][0] for record in records if record["status"] == "ok"]
    return [(c["count"], c["sum"], c["min"], c["max"]) for c in channels]


def expected(pixels, has_sums):
    if has_sums:
        return pixels.size, int(pixels.sum(dtype=numpy.uint64)), int(pixels.min()), int(pixels.max())
    if pixels.shape[-1] != 3:
        return pixels.size, round(float(pixels.mean()), 3)
    luma = (pixels.astype(numpy.int64) @ [13933, 46871, 4732] + 32768) >> 16
    return luma.size, round(float(luma.mean()), 3)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.usefixtures("program")
def test_recipe(name, tmp_path):
    code, command = RECIPES[name]
    images = globals()[name](tmp_path)
    (tmp_path / f"{name}.py").write_text(code)
    arguments = shlex.split(command)[3:]
    done = subprocess.run([sys.executable, "-m", "imghist", "-q", *arguments], cwd=tmp_path, stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    found = counted(tmp_path / arguments[-1])
    if name == "chunks":
        found = found[-1:]  # the total of the store; the records of its chunks come before
    assert found == [expected(pixels, len(found[0]) == 4) for pixels in images]


def test_fsspec_in_memory():
    fsspec = pytest.importorskip("fsspec")
    import imghist

    with fsspec.open("memory://bucket/a.pgm", "wb") as file:
        file.write(b"P5 2 1 255\n\7\11")

    def read(url):
        with fsspec.open(url) as file:
            return file.read()

    (c,) = imghist.scan(["memory://bucket/a.pgm"], reader=read)
    assert (c.file, c["gray"].min, c["gray"].max) == ("memory://bucket/a.pgm", 7, 9)
