"""Pixels in memory: every way to give them, layouts and strides, against NumPy."""

import array
import ctypes
import io
import json
import os
import pickle
import random

import pytest

import imghist

numpy = pytest.importorskip("numpy")


def expected(rgb):
    """The bins of HxWxC uint8 pixels by numpy.bincount, luma last."""
    planes = [rgb[..., c] for c in range(rgb.shape[2])]
    luma = planes[0]
    if len(planes) >= 3:
        r, g, b = (p.astype(numpy.uint32) for p in planes[:3])
        luma = (13933 * r + 46871 * g + 4732 * b + 32768) >> 16
    return [numpy.bincount(p.ravel(), minlength=256) for p in [*planes, luma]]


def check(x, rgb, **arguments):
    counts = imghist.count(x, **arguments)
    assert numpy.array_equal(numpy.asarray(counts.bins), expected(rgb))
    assert (counts.height, counts.width) == rgb.shape[:2]
    assert counts.file is None and counts.format == ""
    return counts


def noise(*shape, dtype=numpy.uint8, seed=1):
    return numpy.random.default_rng(seed).integers(0, numpy.iinfo(dtype).max + 1, shape, dtype)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_layouts(channels):
    x = noise(37, 53, channels)
    check(x, x)
    check(x.transpose(2, 0, 1), x, layout="CHW")
    check(numpy.ascontiguousarray(x.transpose(2, 0, 1)), x, layout="CHW")
    check(numpy.asfortranarray(x), x)
    check(x.transpose(1, 0, 2), x, layout="WHC")
    if channels == 1:
        check(x[..., 0], x)
        check(x[..., 0].T, x, layout="WH")
    if channels >= 3:
        bgr = x[..., [2, 1, 0, 3][:channels]]
        check(bgr, x, order="bgr")
        check(numpy.ascontiguousarray(bgr.transpose(2, 0, 1)), x, order="bgr", layout="CHW")


@pytest.mark.parametrize("channels", [5, 8, 40])
def test_bands(channels):
    """More channels than colours, if the layout is given."""
    x = noise(37, 53, channels)
    for given, layout in ((x, "HWC"), (x[::-1], "HWC"), (x.transpose(2, 0, 1), "CHW")):
        counts = imghist.count(given, layout=layout)
        bins = [numpy.bincount(x[..., i].ravel(), minlength=256) for i in range(channels)]
        assert numpy.array_equal(numpy.asarray(counts.bins), bins)
        assert all(counts[f"band{i + 1}"].sum == x[..., i].sum() for i in range(channels))
    with pytest.raises(ValueError, match=f"{channels} channels in layout HWC"):
        imghist.count(x)


def test_strides():
    x = noise(40, 60, 3)
    for view in (x[::2], x[:, ::3], x[::-1], x[:, ::-1], x[..., ::-1], x[5:30, 7:50], x[3:3], x[:, :0]):
        check(view, view)
    same = numpy.broadcast_to(numpy.array([1, 2, 3], numpy.uint8), (9, 11, 3))
    check(same, same)
    one = numpy.broadcast_to(numpy.uint8(7), (9, 11, 3))
    check(one, one)
    windows = numpy.lib.stride_tricks.sliding_window_view(noise(50), 8)
    check(windows, windows[..., None])


@pytest.mark.parametrize("width", [511, 512, 543, 544, 545, 1000])
def test_rows_that_are_counted_where_they_lie(width):
    """What a SIMD step leaves of each row is counted, too, with the pixels between rows left out."""
    for channels in (1, 2, 3, 4):
        x = noise(70, width + 9, channels)[:, 4:-5]
        check(x, x)
        planes = noise(channels, 70, width + 9)[:, ::2, 4:-5]
        check(planes, planes.transpose(1, 2, 0), layout="CHW")
    deep = noise(70, width + 9, 3, dtype=numpy.uint16)[:, 4:-5]
    bins = numpy.asarray(imghist.count(deep, bins="native", luma="none").bins)
    assert numpy.array_equal(bins, [numpy.bincount(deep[..., c].ravel(), minlength=65536) for c in range(3)])


@pytest.mark.parametrize("wrong", [{"layuot": "HW"}, {"layout": 3}, {"order": b"rgb"}, {"layout": "HW\0"}])
def test_wrong_arguments(wrong):
    context = imghist.Context()
    with pytest.raises(ValueError if "HW\0" in wrong.values() else TypeError, match=next(iter(wrong))):
        context.count(noise(4, 4), **wrong)
    for positional in ((), (noise(4, 4), "HW")):
        with pytest.raises(TypeError, match="positional"):
            context.count(*positional)


def test_16_bits():
    x = noise(31, 33, 3, dtype=numpy.uint16)
    exact = (x.astype(numpy.uint64) * 510 + 65535) // (2 * 65535)
    check(x, exact.astype(numpy.uint8))
    low, high = 64, 940
    limited = numpy.clip(x % 1024, low, high).astype(numpy.uint64) - low
    exact = (limited * 510 + (high - low)) // (2 * (high - low))
    counts = check(x % 1024, exact.astype(numpy.uint8), range=(low, high))
    assert counts.source_depth == 16
    for wrong in ((5, 5), (9, 3), (0, 65536), (-1, 5), (0, 0)):
        with pytest.raises(ValueError, match="range"):
            imghist.count(x, range=wrong)
    with pytest.raises(ValueError, match="16 bits"):
        imghist.count(noise(4, 4), range=(0, 9))


def test_a_range_stays_with_its_counts(tmp_path, program):
    x = noise(31, 33, dtype=numpy.uint16) % 1024
    plain, ranged = imghist.count(x), imghist.count(x, range=(64, 940))
    assert plain.reduction == "round(v*255/max)" and plain == imghist.count(x, range=(0, 65535))
    (tmp_path / "x.pgm").write_bytes(b"P5 33 31 65535 " + x.astype(">u2").tobytes())
    record = json.loads(program("--ndjson", "--range=64,940", tmp_path / "x.pgm"))
    assert ranged.reduction == record["reduction"] == ranged.to_dict()["reduction"]
    assert ranged["gray"].sum == record["channels"][0]["sum"]
    zero = numpy.zeros((1, 1), numpy.uint16)
    assert imghist.count(zero) != imghist.count(zero, range=(0, 9))
    for other in (plain, imghist.count(x, range=(63, 940)), imghist.count(noise(3, 3))):
        with pytest.raises(ValueError, match=r"reduced by round\(\(v-64\)\*255/876\)"):
            sum([other, ranged])
    for again in (imghist.Counts.from_bytes(ranged.to_bytes()), pickle.loads(pickle.dumps(ranged))):
        assert again == ranged and again.reduction == ranged.reduction
        assert (again + ranged).reduction == ranged.reduction
        assert imghist.Counts.from_bytes((again + ranged).to_bytes()) == ranged + ranged


def test_types_that_are_no_samples():
    for kind in (bool, numpy.int32, numpy.float64, numpy.uint32, ">f8", complex, "S1", "M8[s]"):
        with pytest.raises((TypeError, ValueError)):
            imghist.count(numpy.zeros((4, 4), kind))


def test_shapes_that_are_no_images():
    for shape, hint in (((2, 3, 4, 5), "dimensions"), ((4, 4, 5), "channels"), ((4, 4, 0), "channels"),
                        ((), "dimensions")):
        with pytest.raises(ValueError, match=hint):
            imghist.count(numpy.zeros(shape, numpy.uint8))
    with pytest.raises(ValueError, match="is the layout CHW"):
        imghist.count(noise(3, 40, 50))
    with pytest.raises(ValueError, match="layout"):
        imghist.count(noise(3, 40, 50), layout="NCHW")
    with pytest.raises(ValueError, match="order"):
        imghist.count(noise(4, 4), order="gbr")
    with pytest.raises(ValueError, match="contiguous"):
        imghist.count(noise(40)[::2])
    assert imghist.count(noise(1, 40, 3)).pixels == 40


def test_other_buffers(samples):
    flat = bytes(range(240))
    rgb = numpy.frombuffer(flat, numpy.uint8).reshape(8, 10, 3)
    check(memoryview(flat).cast("B", (8, 10, 3)), rgb)
    wide = array.array("H", [257 * v for v in flat])
    check(memoryview(wide).cast("B").cast("H", (8, 10, 3)), rgb)
    check(((ctypes.c_uint8 * 3) * 10 * 8).from_buffer_copy(flat), rgb)
    data = (samples / "scene.png").read_bytes()
    encoded = numpy.frombuffer(data, numpy.uint8)  # a file in an array
    assert imghist.count(encoded) == imghist.count(data)


def test_pillow():
    image = pytest.importorskip("PIL.Image")
    for channels, mode in ((1, "L"), (2, "LA"), (3, "RGB"), (4, "RGBA")):
        x = noise(20, 30, channels)
        check(image.frombytes(mode, (30, 20), x.tobytes()), x)
    wide = noise(20, 30, 1, dtype=numpy.uint16)
    assert imghist.count(image.frombytes("I;16", (30, 20), wide.tobytes())) == imghist.count(wide)
    for mode in ("P", "1", "CMYK", "YCbCr", "HSV", "LAB", "RGBX", "RGBa", "PA"):
        with pytest.raises(TypeError, match=f"Pillow's mode {mode}: convert it to"):
            imghist.count(image.new(mode, (30, 20)))
    for mode in ("I", "F"):  # convert("L") clips: 40000 would be 255
        deep = image.new(mode, (3, 2), 40000)
        with pytest.raises(TypeError, match=r"numpy.asarray\(image\).astype\('uint16'\)"):
            imghist.count(deep)
        assert imghist.count(numpy.asarray(deep).astype("uint16")).bins[0][156] == 6  # round(40000 * 255 / 65535)


def test_errors_name_the_type():
    x = noise(4, 5, 3)
    for wrong, name in ((x.astype(numpy.float64), "floats of 64"), (x.astype(bool), "booleans of 8"),
                        (x.astype(numpy.int64), "signed integers of 64"), (x.astype(">u4"), "unsigned integers of 32")):
        for view in (wrong, Interface(**wrong.__array_interface__)):
            with pytest.raises(TypeError, match=f"samples are {name} bits: must be uint8, uint16, int8, int16, float16, float32 or bfloat16; array.astype"):
                imghist.count(view)

    class Packed:
        def __init__(self, array):
            self.__dlpack_device__, self.__dlpack__ = array.__dlpack_device__, array.__dlpack__

    for kind, name in ((float, "floats of 64"), (bool, "booleans of 8"), (numpy.int32, "signed integers of 32")):
        with pytest.raises(TypeError, match=f"samples are {name} bits"):
            imghist.count(Packed(x.astype(kind)))


class Interface:
    def __init__(self, **entries):
        self.__array_interface__ = {"version": 3, **entries}


def test_array_interface():
    x = noise(12, 15, 3)
    address = x.__array_interface__["data"]
    check(Interface(typestr="|u1", shape=x.shape, data=address), x)
    check(Interface(typestr="|u1", shape=x.shape, data=x.tobytes()), x)
    check(Interface(typestr="|u1", shape=x.shape, data=address, strides=None), x)
    half = x[::2]
    check(Interface(typestr="|u1", shape=half.shape, data=address, strides=half.strides), half)
    wrong = [
        {},
        {"typestr": "|u1"},
        {"typestr": 5, "shape": (2, 2), "data": address},
        {"typestr": "|u1", "shape": (2, 2)},
        {"typestr": "|u1", "shape": [2, 2], "data": address},
        {"typestr": "|u1", "shape": (-2, 2), "data": address},
        {"typestr": "|u1", "shape": (1 << 62, 1 << 62), "data": address},
        {"typestr": "|u1", "shape": (1 << 70, 1), "data": address},
        {"typestr": "|u1", "shape": (2, 2), "data": b"123"},
        {"typestr": "|u1", "shape": (2, 2), "data": b"1234", "strides": (2, 1)},
        {"typestr": "|u1", "shape": (2, 2), "data": address, "strides": (2,)},
        {"typestr": "|u1", "shape": (2, 2), "data": address, "strides": 5},
        {"typestr": "|u1", "shape": (2, 2), "data": (0, False)},
        {"typestr": "|u1", "shape": (2, 2), "data": ("x", False)},
        {"typestr": "<f8", "shape": (2, 2), "data": address},
        {"typestr": "", "shape": (2, 2), "data": address},
    ]
    for entries in wrong:
        with pytest.raises((TypeError, ValueError, OverflowError, BufferError)):
            imghist.count(Interface(**entries))
    bad = Interface()
    bad.__array_interface__ = "no dict"
    with pytest.raises(TypeError):
        imghist.count(bad)


# ---- DLPack without a library: tensors made by hand ----


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
        ("user", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Producer:
    """Exports memory as DLPack does, and counts the calls of the deleter."""

    def __init__(self, address, shape, strides=None, device=1, name=b"dltensor", **fields):
        n = len(shape)
        self.n_deleted = 0
        self.name, self.device = name, device
        self.kept = (ctypes.c_int64 * n)(*shape), (ctypes.c_int64 * n)(*(strides or [0] * n))
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.delete)
        self.tensor = Tensor(data=address, device_type=device, ndim=n, code=1, bits=8, lanes=1,
                             shape=self.kept[0], deleter=self.deleter)
        if strides:
            self.tensor.strides = self.kept[1]
        for key, value in fields.items():
            setattr(self.tensor, key, value)

    def delete(self, _):
        self.n_deleted += 1

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self):
        return new_capsule(ctypes.addressof(self.tensor), self.name, None)


def test_dlpack():
    x = noise(14, 18, 3)
    address = x.ctypes.data
    for producer, rgb in (
        (Producer(address, x.shape), x),
        (Producer(address, x.shape, [54, 3, 1]), x),
        (Producer(address, (7, 18, 3), [108, 3, 1]), x[::2]),
        (Producer(address, (13, 18, 3), offset=54), x[1:]),
        (Producer(address, x.shape, device=3), x),
    ):
        check(producer, rgb)
        assert producer.n_deleted == 1
    wide = noise(14, 18, dtype=numpy.uint16)
    producer = Producer(wide.ctypes.data, (7, 9), [36, 2], bits=16)
    assert imghist.count(producer) == imghist.count(wide[::2, ::2])


def test_dlpack_that_is_wrong():
    x = noise(14, 18, 3)
    address = x.ctypes.data
    for producer in (
        Producer(address, x.shape, code=2),
        Producer(address, x.shape, bits=32),
        Producer(address, x.shape, lanes=3),
        Producer(address, (2, 2, 2, 2)),
        Producer(address, (14, 18, 3), ndim=0),
        Producer(address, (14, 18, 3), ndim=-5),
        Producer(address, (14, -18, 3)),
        Producer(address, (1 << 62, 1 << 62, 3)),
        Producer(address, x.shape, [1 << 62, 1 << 62, 1]),
        Producer(None, x.shape),
        Producer(address, x.shape, device_type=2),
    ):
        with pytest.raises((ValueError, TypeError)):
            imghist.count(producer)
        assert producer.n_deleted == 1
    with pytest.raises(ValueError, match="count_batch"):
        imghist.count(Producer(address, x.shape, device=2))
    with pytest.raises(ValueError, match="DLPack: the capsule is used up"):
        imghist.count(Producer(address, x.shape, name=b"used_dltensor"))

    class Cuda:
        __cuda_array_interface__: dict = {}

    with pytest.raises(ValueError, match="count_batch"):
        imghist.count(Cuda())


@pytest.mark.parametrize("asked", ["__fspath__", "__array_interface__", "__dlpack__", "__cuda_array_interface__", "read"])
def test_exceptions_of_attributes_come_through(asked):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt if name == asked else AttributeError(name)

    with pytest.raises(KeyboardInterrupt):
        imghist.count(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        list(imghist.count_many([Interrupted()], on_error="record"))
    with pytest.raises(TypeError if asked in ("__fspath__", "read") else KeyboardInterrupt):
        imghist.count_batch(Interrupted())


def test_fuzzed_tensors_and_interfaces():
    """Random descriptions: counts or an exception, and the deleter is called once."""
    memory = numpy.zeros(1 << 16, numpy.uint8)
    middle = memory.ctypes.data + (1 << 15)
    chance = random.Random(5)
    n_counted = 0
    for _ in range(20000):
        n = chance.choice([1, 2, 2, 3, 3, 3, 4])
        shape = [chance.randrange(5) for _ in range(n)]
        if chance.random() < 0.1:  # a shape that no array can have
            shape[chance.randrange(n)] = chance.choice([-1, -(1 << 63)])
        strides = [chance.randrange(-100, 100) for _ in range(n)]
        producer = Producer(middle, shape, strides if chance.random() < 0.7 else None,
                            bits=chance.choice([8, 8, 8, 16, 32, 0]), lanes=chance.choice([1, 1, 1, 0]),
                            code=chance.choice([1, 1, 1, 0, 2]))
        try:
            counts = imghist.count(producer)
        except imghist.Error:
            assert n == 1  # the bytes of a file
        except (ValueError, TypeError):
            pass
        else:
            n_counted += 1
            zero = 0 if counts[0].crushed is not None else counts.n_bins // 2  # of signed samples and floats
            assert counts.histogram(0)[zero] == counts.pixels
        assert producer.n_deleted == 1
    assert n_counted > 1000


def random_view(chance):
    """Slices, steps, mirrored, repeated by stride 0, axes in any order, of any type."""
    n = chance.choice([1, 2, 3, 3, 4, 6])
    x = noise(*(chance.randrange(1, 9) for _ in range(n)), dtype=chance.choice([numpy.uint8, numpy.uint8, numpy.uint16]))
    x = x.transpose(chance.sample(range(n), n))[tuple(slice(None, None, chance.choice([1, 2, -1, -3])) for _ in range(n))]
    if chance.random() < 0.2:
        x = numpy.broadcast_to(x[:1], (chance.randrange(0, 6), *x.shape[1:]))
    return x.astype(chance.choice(["i1", ">u2", "f8", "u4", "?", "c8", "S3"])) if chance.random() < 0.1 else x


def test_fuzzed_views():
    """What can be counted has NumPy's counts through every protocol; all else raises. IMGHIST_FUZZ_ROUNDS: more."""
    chance = random.Random(6)
    n_counted = n_batches = 0
    for _ in range(int(os.environ.get("IMGHIST_FUZZ_ROUNDS", "1500"))):
        x = random_view(chance)
        is_plain = x.dtype in (numpy.uint8, numpy.uint16)
        is_wide = x.dtype in (numpy.int8, numpy.dtype(">u2"))  # test_samples.py has a judge of these
        rgb = x if x.ndim == 3 else x[..., None]
        if is_plain and x.ndim in (2, 3) and 1 <= rgb.shape[2] <= 4:
            eight = rgb if x.dtype == numpy.uint8 else ((rgb.astype(numpy.uint64) * 510 + 65535) // 131070).astype(numpy.uint8)
            for given in (x, Interface(**x.__array_interface__), x if x.size == 0 or not x.flags.writeable else Dlpack(x)):
                check(given, eight)
            n_counted += 1
        elif is_wide and x.ndim in (2, 3) and 1 <= rgb.shape[2] <= 4:
            counts = imghist.count(x)
            assert counts == imghist.count(x.copy()) and counts[0].count == numpy.isfinite(rgb[..., 0]).sum()
        else:
            with pytest.raises((ValueError, TypeError)):
                imghist.count(x, layout="HW")
        layout = chance.choice(["NHWC", "NCHW", "CHWN", "WHNC"])
        if x.dtype == numpy.uint8 and x.ndim == 4 and 1 <= x.shape[layout.index("C")] <= 4 and 0 not in x.strides:
            images = x.transpose([layout.index(letter) for letter in "NHWC"])
            bins = imghist.count_batch(x, layout)
            for image, counted in zip(images, bins, strict=True):
                judge = expected(image)
                assert numpy.array_equal(counted, judge if image.shape[2] >= 3 else judge[:-1])
            n_batches += 1
        elif 0 not in x.strides:
            with pytest.raises((ValueError, TypeError)):
                imghist.count_batch(x, layout)
        wrong = dict(x.__array_interface__)
        wrong[chance.choice(["typestr", "shape", "strides"])] = chance.choice(
            [5, "", "|u", "|u11", "<u16", (), (1,) * 9, (-1,), (1 << 63, 4, 4), ("a",), [1, 2], b""])
        with pytest.raises((ValueError, TypeError, OverflowError)):
            imghist.count(Interface(**wrong), layout="HWC")
    assert n_counted > 300 and n_batches > 30


class Dlpack:
    def __init__(self, x):
        self.__dlpack__, self.__dlpack_device__ = x.__dlpack__, x.__dlpack_device__


def test_an_expensive_interface_is_asked_once():
    """Pillow's __array_interface__ copies all pixels."""
    pixels, asked = noise(8, 9, 3), []

    class Image:
        @property
        def __array_interface__(self):
            asked.append(1)
            return {"shape": pixels.shape, "typestr": "|u1", "data": pixels.tobytes(), "version": 3}

    assert imghist.count(Image()) == imghist.count(pixels)
    assert len(asked) == 1


def test_array_interface_with_an_offset():
    x = noise(4, 5, 3)
    data = b"abc" + x.tobytes() + b"d"
    check(Interface(typestr="|u1", shape=x.shape, data=data, offset=3), x)
    check(Interface(typestr="|u1", shape=x.shape, data=data, offset=4), numpy.frombuffer(data[4:], "u1").reshape(x.shape))
    for offset in (5, -1, 1 << 62, 1 << 70, "x"):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            imghist.count(Interface(typestr="|u1", shape=x.shape, data=data, offset=offset))
    for shape in ((0, 5), (5, 0), (0, 5, 3)):
        assert imghist.count(Interface(typestr="|u1", shape=shape, data=b"")).pixels == 0


def test_other_masks_are_refused():
    x = noise(4, 5)
    with pytest.raises(TypeError, match="masked"):
        imghist.count_batch(numpy.ma.masked_array(x, x > 100)[None], "NHW")
    with pytest.raises(ValueError, match="mask"):
        imghist.count(Interface(typestr="|u1", shape=x.shape, data=x.tobytes(), mask=x))


def test_a_range_and_a_layout_are_not_of_files(samples):
    path = samples / "scene.png"
    data = path.read_bytes()
    for given in (path, data, io.BytesIO(data)):
        with pytest.raises(ValueError, match="range: for arrays of uint16, not for files"):
            imghist.count(given, range=(0, 1023))
        with pytest.raises(ValueError, match="order: for arrays, not for files"):
            imghist.count(given, order="bgr")
        with pytest.raises(ValueError, match="not HWC: pixels have" if given is data else "layout: for arrays"):
            imghist.count(given, layout="HWC")
        with pytest.raises(ValueError, match="not for files"):
            list(imghist.count_many([given], range=(0, 1023)))


def test_a_range_leaves_alpha_alone(tmp_path):
    x = numpy.array([[[5000, 5000], [2000, 2000], [3000, 65535], [2400, 100]]], "u2")
    counts = imghist.count(x, range=(2500, 5000))
    alpha = [round(int(v) * 255 / 65535) for v in x[0, :, 1]]
    assert sorted(numpy.repeat(range(256), counts.histogram("alpha").tolist())) == sorted(alpha)
    visible = imghist.Context(alpha="skip-transparent").count(x, range=(2500, 5000))
    assert visible.pixels == sum(a > 0 for a in alpha) == 3


def test_without_luma(samples):
    x = noise(37, 53, 3)
    counts = imghist.count(x, luma="none")
    assert counts.planes == ("red", "green", "blue") and counts.luma == "none" and len(counts) == 3
    assert numpy.array_equal(numpy.asarray(counts.bins), expected(x)[:3])
    assert counts.crushed_any == (x == 0).any(axis=2).sum() and counts.blown_all == (x == 255).all(axis=2).sum()
    assert imghist.count(x[..., 0], luma="none").planes == ("gray",)
    with pytest.raises(KeyError):
        counts["luma"]
    assert "mean_luma" not in counts.to_dict() and "mean_luma" in imghist.count(x).to_dict()
    assert imghist.Counts.from_bytes(counts.to_bytes()) == counts == pickle.loads(pickle.dumps(counts))
    with pytest.raises(ValueError, match="luma weights"):
        counts + imghist.count(x)
    assert sum(imghist.count_many([x, x], luma="none")) == counts + counts
    assert {c.luma for c in imghist.scan(samples, luma="none")} == {"none"}
    with pytest.raises(ValueError, match="a context has its own"):
        imghist.count(x, luma="none", context=imghist.Context())
    with pytest.raises(ValueError, match="'bt2020' is not one of"):
        imghist.count(x, luma="bt2020")


@pytest.mark.parametrize("luma", ["bt709", "none"])
def test_large_arrays_and_threads(luma):
    """Rows that are counted where they lie, alone and in threads: smooth, flat and random, with narrow runs."""
    smooth = numpy.add.outer(numpy.arange(360), numpy.arange(2200))[..., None] // 9 + numpy.arange(4) * 7
    x = (smooth + noise(360, 2200, 4) % 6).astype(numpy.uint8)
    x[100:200] = noise(100, 2200, 4)
    x[200:250], x[250:280, ::97] = 255, 0
    x[300:, :, 3] = 255
    for channels in (1, 3, 4):
        y = x[..., :channels]
        views = [(numpy.ascontiguousarray(y), "HWC"), (y[:, 3:-5], "HWC"), (y[::-1, ::2], "HWC")]
        views += [(numpy.ascontiguousarray(y.transpose(2, 0, 1)), "CHW")]
        for view, layout in views:
            pixels = view if layout == "HWC" else view.transpose(1, 2, 0)
            colours = pixels[..., : 3 if channels > 1 else 1]
            for threads in (1, 3, None):
                counts = imghist.count(view, layout=layout, threads=threads, luma=luma)
                assert numpy.array_equal(numpy.asarray(counts.bins), expected(pixels)[: None if luma == "bt709" else -1])
                assert counts.blown_all == (colours == 255).all(axis=2).sum()
                assert counts.crushed_any == (colours == 0).any(axis=2).sum()
                assert (counts.height, counts.width) == pixels.shape[:2]
    for threads in (0, 1025, -1):
        with pytest.raises((ValueError, OverflowError)):
            imghist.count(x, threads=threads)
