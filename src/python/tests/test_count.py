"""count: paths, bytes, file objects; errors; settings."""

import io
import json
import pathlib
import subprocess
import sys

import pytest

import imghist


def test_every_way_to_give_a_file(samples):
    for path in sorted(samples.glob("*.png")) + [samples / "scene.jpg"]:
        data = path.read_bytes()
        counted = imghist.count(str(path))
        assert counted.file == str(path) and counted.pixels == counted.width * counted.height
        ways = [path, data, bytearray(data), memoryview(data), io.BytesIO(data), open(path, "rb")]
        for way in ways:
            other = imghist.count(way)
            assert other == counted, (path, way)
            assert (other.format, other.decoder) == (counted.format, counted.decoder)
        assert imghist.count(data).file is None


def test_a_file_object_gets_small_reads(samples):
    data = (samples / "scene.jpg").read_bytes()

    class Trickle(io.RawIOBase):
        def __init__(self):
            self.at = 0

        def read(self, n=-1):
            assert n > 0
            self.at += 7
            return data[self.at - 7 : self.at]

    assert imghist.count(Trickle()) == imghist.count(data)


def test_exceptions_of_a_file_object_come_through():
    class Broken:
        def read(self, n):
            raise ZeroDivisionError("in read")

    class Greedy:
        def read(self, n):
            return bytes(n + 1)

    with pytest.raises(ZeroDivisionError, match="in read"):
        imghist.count(Broken())
    with pytest.raises(ValueError, match="more bytes"):
        imghist.count(Greedy())
    with pytest.raises(TypeError, match="binary mode"):
        imghist.count(io.StringIO("text"))


def test_errors_name_the_file_and_the_reason(tmp_path, samples):
    cut = tmp_path / "cut.png"
    cut.write_bytes((samples / "scene.png").read_bytes()[:5000])
    text = tmp_path / "text.txt"
    text.write_text("no image")
    cases = {tmp_path / "missing": "io", cut: "corrupt", text: "unknown", tmp_path: "io"}
    for path, status in cases.items():
        with pytest.raises(imghist.Error) as raised:
            imghist.count(path)
        assert raised.value.status == status
        assert raised.value.source == str(path)
        assert str(raised.value).startswith(f"{path}: ")
    with pytest.raises(imghist.Error, match="max_pixels") as raised:
        imghist.Context(max_pixels=10).count(samples / "scene.png")
    assert raised.value.status == "limit"
    with pytest.raises(imghist.Error) as raised:
        imghist.count(b"")
    assert raised.value.source is None


def test_other_types_are_refused():
    for wrong in (None, 5, 2.5, object(), [1, 2], {"a": 1}):
        with pytest.raises(TypeError, match="cannot count"):
            imghist.count(wrong)
    with pytest.raises(ValueError, match="null"):
        imghist.count("a\0b")


def test_settings(samples):
    path = samples / "cutout.png"
    plain = imghist.count(path)
    assert (plain.luma, plain.alpha, plain.clip) == ("bt709", "count", (0, 255))
    other = imghist.Context(luma="bt601", alpha="skip-transparent", clip=(16, 235)).count(path)
    assert (other.luma, other.alpha, other.clip) == ("bt601", "skip-transparent", (16, 235))
    assert other.pixels == plain.pixels - plain.histogram("alpha")[0]
    assert other["red"].crushed == sum(other.histogram("red")[:17])
    raw = imghist.Context(raw_channels=3).count(bytes(range(30)))
    assert raw.pixels == 10 and raw.planes == ("red", "green", "blue", "luma")
    assert imghist.count(path, context=imghist.Context(luma="bt601")).luma == "bt601"


def test_previews_of_camera_raw_files(samples, tmp_path):
    raw = tmp_path / "camera.dng"
    maker = pathlib.Path(__file__).parents[3] / "tests/cli/make_dng.py"
    subprocess.run([sys.executable, maker, raw, samples / "scene.jpg"], check=True)
    with pytest.raises(imghist.Error, match="raw_preview counts its preview, raw_sensor its values"):
        imghist.count(raw)
    (preview,) = imghist.Context(raw_preview=True).count_many([raw], on_error="record")
    if getattr(preview, "status", "") == "unsupported":
        pytest.skip(str(preview))  # no LibRaw
    jpeg = imghist.count(samples / "scene.jpg")
    assert preview.format == "preview" and preview.bins.tolist() == jpeg.bins.tolist()


def test_values_of_a_sensor(tmp_path):
    maker = pathlib.Path(__file__).parents[3] / "tests/cli/sensor.py"
    subprocess.run([sys.executable, maker, "12", "GRBG"], check=True, cwd=tmp_path)
    (counts,) = imghist.Context(raw_sensor=True).count_many([tmp_path / "a.dng"], on_error="record")
    if getattr(counts, "status", "") == "unsupported":
        pytest.skip(str(counts))  # no LibRaw
    bands = json.loads((tmp_path / "expected.json").read_text())["bands"]
    assert counts.format == "sensor" and counts.bins.shape == (4, 4096)
    for row, band in zip(counts.bins.tolist(), bands.values(), strict=True):
        assert row == [band["values"].count(v) for v in range(4096)]
    assert counts.clip == (min(b["black"] for b in bands.values()), bands["R"]["white"])


def test_settings_may_be_integers_of_numpy(samples, tmp_path):
    numpy = pytest.importorskip("numpy")
    n = numpy.uint8
    context = imghist.Context(clip=(n(5), n(250)), max_pixels=numpy.int64(1 << 32), max_memory=numpy.uint64(1 << 30),
                              timeout=n(60), raw_channels=n(0))
    counts = context.count(samples / "scene.png")
    assert counts.clip == (5, 250)
    counts.chart(tmp_path / "chart.svg", size=(numpy.int32(640), numpy.int32(400)))
    x = numpy.zeros((1, 4, 5, 3), n)
    assert imghist.count_batch(x, labels=numpy.zeros((4, 5), n), n_labels=n(2)).shape == (1, 2, 4, 256)
    assert len(list(imghist.count_many([x[0]], threads=n(1)))) == 1
    with pytest.raises(TypeError, match="integer"):
        imghist.Context(timeout=1.5)


def test_wrong_settings():
    for wrong in (
        {"luma": "bt2020"},
        {"alpha": "no"},
        {"clip": (9, 9)},
        {"clip": (0, 0)},
        {"clip": (0, 256)},
        {"raw_channels": 5},
        {"device": "abacus"},
        {"device": "x" * 100},
        {"kernel": "none"},
    ):
        with pytest.raises(ValueError):
            imghist.Context(**wrong)
    for wrong in ({"max_pixels": -1}, {"timeout": 1 << 40}, {"clip": (-1, 5)}):
        with pytest.raises(OverflowError):
            imghist.Context(**wrong)
    with pytest.raises(TypeError):
        imghist.Context("cpu")
    with pytest.raises(imghist.Error) as raised:
        imghist.Context(device="cuda:999").count(bytes(9))
    assert raised.value.status in ("unavailable", "usage", "unknown")


def test_the_device_has_a_name():
    assert imghist.Context().device == "cpu"
    assert pathlib.Path(imghist.__file__).name == "__init__.py"
