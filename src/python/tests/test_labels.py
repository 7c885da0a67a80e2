"""scan(labels=): each label of a label image apart, against NumPy and the command line."""

import json
import pickle

import pytest

import imghist

numpy = pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """40 images of several types as NPY, and their labels of 8 or 16 bits: {name: (samples, labels)}."""
    root = tmp_path_factory.mktemp("labels")
    rng = numpy.random.default_rng(53)
    arrays = {}
    (root / "images" / "deep").mkdir(parents=True)
    (root / "labels" / "deep").mkdir(parents=True)
    for i in range(40):
        height, width = rng.integers(1, 60, 2)
        n_channels = [1, 3, 4][i % 3]
        shape = (height, width) if n_channels == 1 else (height, width, n_channels)
        kind = numpy.uint16 if i % 4 == 3 else numpy.uint8
        samples = rng.integers(0, numpy.iinfo(kind).max, shape, kind, endpoint=True)
        wide = i % 5 == 4
        labels = rng.integers(0, 70000 if wide else 4, (height, width)) % (65536 if wide else 256)
        labels = labels.astype(numpy.uint16 if wide else numpy.uint8)
        labels[rng.random((height, width)) < 0.2] = 255
        labels[0, 0] = 1
        name = f"deep/{i:02}.npy" if i % 2 else f"{i:02}.npy"
        numpy.save(root / "images" / name, samples)
        numpy.save(root / "labels" / name, labels)
        arrays[name] = samples, labels
    return root, arrays


def expected_bins(samples, label_of, label):
    """[channels, 65536 or 256] of the pixels of a label."""
    chosen = samples.reshape(*label_of.shape, -1)[label_of == label]
    n = int(numpy.iinfo(samples.dtype).max) + 1
    return numpy.stack([numpy.bincount(channel, minlength=n) for channel in chosen.T])


@pytest.mark.parametrize("threads", [1, 3])
def test_each_label_of_each_image(folders, threads):
    root, arrays = folders
    images = root / "images"
    given = iter(imghist.scan(images, labels=root / "labels", bins="native", luma="none", threads=threads))
    for name in sorted(arrays, key=str.encode):
        samples, labels = arrays[name]
        for label in numpy.unique(labels):
            c = next(given)
            assert (c.file, c.label) == (f"{images / name}#{label}", label)
            assert (c.height, c.width) == labels.shape
            assert c.mask == str(root / "labels")
            assert c.pixels == (labels == label).sum()
            assert numpy.array_equal(c.bins, expected_bins(samples, labels, label))
    assert next(given, None) is None


def test_an_ignored_label_and_totals_of_labels(folders):
    root, arrays = folders
    zones = list(imghist.scan(root / "images", labels=root / "labels", ignore_label=255, bins="native", luma="none"))
    assert 255 not in {c.label for c in zones}
    assert sum(c.pixels for c in zones) == sum(int((labels != 255).sum()) for _, labels in arrays.values())
    deep = [c for c in zones if c.planes == ("gray",) and c.n_bins == 256]
    total = imghist.total(deep, by=lambda c: c.label)[1]
    gray = [(s, m) for s, m in arrays.values() if s.ndim == 2 and s.dtype == numpy.uint8]
    assert numpy.array_equal(total.bins[0], sum(expected_bins(s, m, 1)[0] for s, m in gray))
    assert total.label is None and total.images == len(gray)


def test_the_command_line_gives_the_same_records(folders, program, tmp_path):
    root, _ = folders
    given = list(imghist.scan(root / "images", labels=root / "labels"))
    lines = program(root / "images", "--labels", root / "labels", "--ndjson", "-q").splitlines()
    assert len(lines) == len(given)
    for mine, theirs in zip(imghist.ndjson(given), map(json.loads, lines)):
        mine = json.loads(mine)
        for record in (mine, theirs):
            for key in ("input", "position", "ns", "library"):
                record.pop(key, None)
        assert mine == theirs
    (tmp_path / "zones.ndjson").write_bytes(b"".join(imghist.ndjson(given)))
    again = list(imghist.scan(tmp_path / "zones.ndjson"))
    assert again == given and [c.label for c in again] == [c.label for c in given]
    names = program(tmp_path / "zones.ndjson", "--by=label", "--csv=stats", "--fields=file", "-q")
    assert b"\n1\n" in names


def test_one_label_image_for_all(tmp_path):
    labels = numpy.array([[7, 7, 0], [0, 300, 7]], numpy.uint16)
    numpy.save(tmp_path / "labels.npy", labels)
    paths = []
    for i in range(3):
        paths.append(tmp_path / f"{i}.npy")
        numpy.save(paths[-1], numpy.arange(6, dtype=numpy.uint8).reshape(2, 3) + i)
    given = list(imghist.scan(iter(paths), labels=str(tmp_path / "labels.npy")))
    assert [(c.label, c["gray"].sum) for c in given[:3]] == [(0, 2 + 3), (7, 0 + 1 + 5), (300, 4)]
    assert [c["gray"].sum for c in given[3:6]] == [7, 9, 5]
    kept = given[4]
    copies = [kept, 0 + kept, pickle.loads(pickle.dumps(kept))]
    for c in copies:
        assert (c.label, c.mask) == (7, str(tmp_path / "labels.npy"))
    assert (given[0] + given[3]).label is None
    assert (given[0] + given[3]).mask == kept.mask
    rows = imghist.scan(paths, labels=tmp_path / "labels.npy", ignore_label=0, fields="file,label,gray.mean", sort="-label", top=2)
    assert list(rows) == [{"file": f"{paths[i]}#300", "label": 300, "gray.mean": 4 + i} for i in range(2)]


def test_what_is_refused(tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.zeros((2, 3), numpy.uint8))
    numpy.save(tmp_path / "small.npy", numpy.zeros((2, 2), numpy.uint8))
    numpy.save(tmp_path / "real.npy", numpy.zeros((2, 3), numpy.float32))
    with pytest.raises(imghist.Error, match="real.npy: labels are unsigned integers of 16 bits or fewer"):
        imghist.scan(tmp_path / "a.npy", labels=tmp_path / "real.npy")
    with pytest.raises(imghist.Error, match="nothing.png"):
        imghist.scan(tmp_path / "a.npy", labels=tmp_path / "nothing.png")
    (error,) = imghist.scan(tmp_path / "a.npy", labels=tmp_path / "small.npy", on_error="record")
    assert error.status == "limit" and "the label image has 2 x 2 pixels, and the image 3 x 2" in str(error)
    with pytest.raises(ValueError, match="ignore_label: needs labels"):
        imghist.scan(tmp_path, ignore_label=3)
    with pytest.raises(ValueError, match="ignore_label: needs labels, and is one of 0 to 65535 .65536."):
        imghist.scan(tmp_path, labels=tmp_path / "a.npy", ignore_label=65536)
    with pytest.raises(ValueError, match="labels: not with a reader"):
        imghist.scan(tmp_path, labels=tmp_path, reader=lambda path: None)
    (error,) = imghist.scan(tmp_path / "a.npy", labels=tmp_path / "a.npy", ignore_label=0, on_error="record")
    assert "all its pixels have the label 0, which is ignored" in str(error)
    with pytest.raises(ValueError, match="labels: not with raw_channels"):
        imghist.Context(raw_channels=1).scan(tmp_path / "a.npy", labels=tmp_path / "a.npy")


@pytest.mark.parametrize("kind", ["uint8", "uint16", "int16", "float32"])
@pytest.mark.parametrize("n_channels", [1, 3, 5])
def test_labels_of_an_array(kind, n_channels):
    rng = numpy.random.default_rng([len(kind), n_channels])
    for trial in range(6):
        height, width = rng.integers(1, 50, 2)
        wide = trial % 2 == 1
        labels = (rng.integers(0, 66000, (height, width)) % (65536 if wide else 5)).astype("uint16" if wide else "uint8")
        samples = rng.integers(0, 256, (height, width, n_channels)).astype(kind)
        if trial == 2:  # strides and another layout
            samples, labels, layout = samples[::-1, ::2].transpose(2, 0, 1), labels[::-1, ::2], "CHW"
            pixels = samples.transpose(1, 2, 0)
        else:
            pixels, layout = samples, "HWC"
        ignored = int(labels[0, 0]) if trial == 3 else None
        given = imghist.count(samples, labels=labels, ignore_label=ignored, layout=layout, bins="native", luma="none")
        assert list(given) == [i for i in numpy.unique(labels) if i != ignored]
        for label, c in given.items():
            alone = imghist.count(pixels[labels == label][None], layout="HWC", bins="native", luma="none")
            assert numpy.array_equal(c.bins, alone.bins)
            assert (c.label, c.mask, c.width, c.height) == (label, "labels", pixels.shape[1], pixels.shape[0])
            chosen = pixels[labels == label].astype(float)
            assert numpy.allclose([c[i].mean for i in range(n_channels)], chosen.mean(0))
            assert [c[i].max for i in range(n_channels)] == list(chosen.max(0))
            assert c.pixels == len(chosen)
    assert sum(given.values()).pixels == labels.size
    assert imghist.Counts.from_bytes(given[max(given)].to_bytes()) == given[max(given)]


def test_settings_hold_for_labels_of_an_array():
    rng = numpy.random.default_rng(1)
    labels = rng.integers(0, 3, (20, 30)).astype(numpy.uint8)
    rgb = rng.integers(0, 256, (20, 30, 3)).astype(numpy.uint8)
    bgr = imghist.count(rgb[:, :, ::-1], labels=labels, order="bgr")
    assert bgr == imghist.count(rgb, labels=labels)
    assert bgr[1].planes == ("red", "green", "blue", "luma")
    deep = rng.integers(0, 4096, (20, 30)).astype(numpy.uint16)
    for label, c in imghist.count(deep, labels=labels, range=(64, 940)).items():
        assert c.reduction == "round((v-64)*255/876)"
        assert numpy.array_equal(c.bins, imghist.count(deep[labels == label][None], range=(64, 940)).bins)
    masked = numpy.ma.masked_greater(rgb, 200)
    for label, c in imghist.count(masked, labels=labels, nodata=7).items():
        chosen = rgb[labels == label]
        for i, plane in enumerate(("red", "green", "blue")):
            assert c[plane].nodata == ((chosen[:, i] > 200) | (chosen[:, i] == 7)).sum()
    rgba = numpy.dstack([rgb, rng.integers(0, 2, (20, 30)).astype(numpy.uint8)])
    context = imghist.Context(alpha="skip-transparent")
    assert imghist.count(rgba, labels=labels, context=context)[2].pixels == ((labels == 2) & (rgba[:, :, 3] > 0)).sum()
    assert imghist.count(numpy.zeros((0, 3), numpy.uint8), labels=numpy.zeros((0, 3), numpy.uint8)) == {}


def test_labels_that_do_not_fit_an_array(samples):
    gray = numpy.zeros((4, 5), numpy.uint8)
    for wrong in (numpy.zeros((5, 4), numpy.uint8), numpy.zeros((4, 5, 1), numpy.uint8), numpy.zeros(20, numpy.uint8)):
        with pytest.raises(ValueError, match=r"labels: must be an array of \[4, 5\]"):
            imghist.count(gray, labels=wrong)
    for kind in ("int64", "float32", "int8", ">u2"):
        with pytest.raises(TypeError, match="labels: .* must be uint8 or uint16"):
            imghist.count(gray, labels=numpy.zeros((4, 5), kind))
    with pytest.raises(ValueError, match="labels: for arrays; of files, scan takes label images"):
        imghist.count(samples / "scene.png", labels=gray)
    for keywords, why in (({"ignore_label": 65536}, "ignored 65536"), ({"threads": 2}, "threads: labels")):
        with pytest.raises(ValueError, match=why):
            imghist.count(gray, labels=gray, **keywords)
    with pytest.raises(ValueError, match="ignore_label: needs labels"):
        imghist.count(gray, ignore_label=1)
    assert imghist.count(gray, labels=gray, ignore_label=0) == {}
