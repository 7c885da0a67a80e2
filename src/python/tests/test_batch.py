"""count_batch in host memory, against numpy.bincount and count."""

import mmap
import sys
import types

import pytest

import imghist

numpy = pytest.importorskip("numpy")


def noise(*shape, seed=2):
    return numpy.random.default_rng(seed).integers(0, 256, shape, numpy.uint8)


def expected(batch, luma=True):
    """Bins [N, planes, 256] of an NHWC batch."""
    found = []
    for image in batch:
        planes = [image[..., c] for c in range(image.shape[2])]
        if len(planes) >= 3 and luma:
            r, g, b = (p.astype(numpy.uint32) for p in planes[:3])
            planes.append((13933 * r + 46871 * g + 4732 * b + 32768) >> 16)
        found.append([numpy.bincount(p.ravel(), minlength=256) for p in planes])
    n_planes = batch.shape[3] + (luma and batch.shape[3] >= 3)
    return numpy.array(found).reshape(len(batch), n_planes, 256)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_layouts(channels):
    x = noise(5, 17, 19, channels)
    judge = expected(x)
    for view, layout in (
        (x, "NHWC"),
        (x.transpose(0, 3, 1, 2), "NCHW"),
        (numpy.ascontiguousarray(x.transpose(0, 3, 1, 2)), "NCHW"),
        (x.transpose(3, 1, 2, 0), "CHWN"),
        (x[:, ::-1, ::-1], "NHWC"),
    ):
        bins = imghist.count_batch(view, layout)
        assert bins.dtype == numpy.uint32 and bins.shape == judge.shape
        assert numpy.array_equal(bins, judge)
    if channels == 1:
        assert numpy.array_equal(imghist.count_batch(x[..., 0], "NHW"), judge)
    if channels >= 3:
        bgr = x[..., [2, 1, 0, 3][:channels]]
        assert numpy.array_equal(imghist.count_batch(bgr, order="bgr"), judge)
        assert numpy.array_equal(imghist.count_batch(x, luma=False), expected(x, luma=False))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("bins", ["native", 4096, 1000])
def test_native(channels, bins):
    """uint16 samples against numpy.bincount, with sums, clip counts and labels. Some samples are in no bin."""
    n_bins = 65536 if bins == "native" else bins
    rng = numpy.random.default_rng(channels)
    x = rng.integers(0, min(n_bins + 100, 65536), (3, 19, 21, channels)).astype(numpy.uint16)
    x[0, :5] = rng.choice([0, n_bins - 1], (5, 21, channels))
    labels = rng.integers(0, 3, (19, 21)).astype(numpy.uint8)
    planes = [x[..., c].astype(numpy.uint64) for c in range(channels)]
    colours = x[..., :3] if channels >= 3 else x[..., :1]
    if channels >= 3:
        planes.append((13933 * planes[0] + 46871 * planes[1] + 4732 * planes[2] + 32768) >> 16)

    def judge(chosen):
        counts = [[numpy.bincount(p[i][chosen][p[i][chosen] < n_bins], minlength=n_bins) for p in planes] for i in range(3)]
        low, high = colours <= 0, colours >= n_bins - 1
        clips = [[m[i][chosen].sum() for m in (low.any(-1), high.any(-1), low.all(-1), high.all(-1))] for i in range(3)]
        counts = numpy.array(counts).reshape(3, len(planes), n_bins)
        return counts, numpy.concatenate([counts @ numpy.arange(n_bins), numpy.array(clips)], 1)

    expected_bins, expected_sums = judge(numpy.ones((19, 21), bool))
    for view, layout in ((x, "NHWC"), (numpy.ascontiguousarray(x.transpose(0, 3, 1, 2)), "NCHW"), (x[:, ::-1, ::-1], "NHWC")):
        counted, sums = imghist.count_batch(view, layout, bins=bins, sums=True)
        assert numpy.array_equal(counted, expected_bins) and numpy.array_equal(sums, expected_sums)
    if channels >= 3:
        flat = imghist.count_batch(x, bins=bins, luma=False)
        assert numpy.array_equal(flat, expected_bins[:, :channels])
        bgr = numpy.ascontiguousarray(x[..., [2, 1, 0, 3][:channels]])
        assert numpy.array_equal(imghist.count_batch(bgr, bins=bins, order="bgr"), expected_bins)
    counted, sums = imghist.count_batch(x, "NHWC", labels, n_labels=2, bins=bins, sums=True)
    for label in range(2):
        of_label, sums_of_label = judge(labels == label)
        assert numpy.array_equal(counted[:, label], of_label) and numpy.array_equal(sums[:, label], sums_of_label)


def test_native_arguments():
    x = numpy.zeros((2, 3, 4, 3), numpy.uint16)
    for bins in (1, 255, 65537):
        with pytest.raises(ValueError, match="n_bins"):
            imghist.count_batch(x, bins=bins)
    with pytest.raises(TypeError, match="unsigned integers of 8 bits: must be"):
        imghist.count_batch(x.astype(numpy.uint8), bins="native")
    with pytest.raises(TypeError, match="unsigned integers of 16 bits: must be uint8"):
        imghist.count_batch(x)


def test_parts_of_images():
    x = noise(6, 40, 50, 3)
    for view in (x[::2], x[:, 3:20], x[:, :, 5:40], x[..., 1:2], x[:0], x[:, :0], x[:, ::3, ::2]):
        assert numpy.array_equal(imghist.count_batch(view), expected(view))


def test_sums_are_those_of_count():
    x = noise(4, 30, 20, 3) // 200 * 85  # many clipped pixels
    context = imghist.Context(clip=(0, 85), luma="bt601")
    bins, sums = imghist.count_batch(x, sums=True, context=context)
    assert sums.shape == (4, 8) and sums.dtype == numpy.uint64
    for i, image in enumerate(x):
        counts = context.count(image)
        assert numpy.array_equal(bins[i], numpy.asarray(counts.bins))
        assert sums[i].tolist() == [counts[p].sum for p in counts.planes] + [
            counts.crushed_any, counts.blown_any, counts.crushed_all, counts.blown_all]


def test_labels():
    x, labels = noise(3, 20, 30, 3), noise(3, 20, 30, seed=3) % 5
    bins = imghist.count_batch(x, labels=labels, n_labels=4)
    assert bins.shape == (3, 4, 4, 256)
    for i in range(3):
        for label in range(4):
            chosen = x[i][labels[i] == label][None, None]
            assert numpy.array_equal(bins[i, label], expected(chosen)[0])
    one = imghist.count_batch(x, labels=labels[0], n_labels=1)  # a mask for all images
    for i in range(3):
        assert numpy.array_equal(one[i, 0], expected(x[i][labels[0] == 0][None, None])[0])
    for wrong in (labels[:2], labels[:, :5], labels[0, 0], labels.astype(numpy.int32), labels[:, :, ::2]):
        with pytest.raises((ValueError, TypeError), match="labels"):
            imghist.count_batch(x, labels=wrong, n_labels=4)
    with pytest.raises(ValueError, match="n_labels"):
        imghist.count_batch(x, labels=labels)
    with pytest.raises(ValueError):
        imghist.count_batch(x, labels=labels, n_labels=1000)
    for n in (-1, 2**32, 2**32 + 3, 2**70):
        with pytest.raises(OverflowError):
            imghist.count_batch(x, labels=labels, n_labels=n)


def test_given_outputs():
    x = noise(3, 8, 9, 3)
    judge = expected(x)
    for kind in (numpy.uint32, numpy.int32):
        out, sums = numpy.full((3, 4, 256), 7, kind), numpy.full((3, 8), 7, numpy.int64)
        result = imghist.count_batch(x, out=out, sums=sums)
        assert result[0] is out and result[1] is sums
        assert numpy.array_equal(out, judge) and sums[0, 0] == x[0, ..., 0].sum()
    fixed = numpy.zeros((3, 4, 256), numpy.uint32)
    fixed.flags.writeable = False
    for wrong in (
        numpy.zeros((3, 4, 255), numpy.uint32),
        numpy.zeros((3, 4, 256), numpy.uint64),
        numpy.zeros((3, 4, 256), numpy.float32),
        numpy.zeros((3, 4, 512), numpy.uint32)[..., ::2],
        numpy.zeros((4, 3, 256), numpy.uint32),
        fixed,
        5,
    ):
        with pytest.raises((ValueError, TypeError, BufferError)):
            imghist.count_batch(x, out=wrong)


def test_sums_are_none_allocated_or_given():
    x = noise(2, 4, 5, 3)
    for none in (None, False):
        assert numpy.array_equal(imghist.count_batch(x, sums=none), expected(x))
    for wrong in (0, 1, numpy.False_, numpy.True_, "x", numpy.zeros((2, 8), numpy.uint32)):
        with pytest.raises((TypeError, ValueError, BufferError), match="^sums: "):
            imghist.count_batch(x, sums=wrong)
    for wrong in (5, (1, 2), b"x"):
        with pytest.raises((TypeError, ValueError, BufferError), match="^out: "):
            imghist.count_batch(x, out=wrong)


def test_outputs_that_share_memory_are_refused():
    memory = numpy.zeros(1 << 16, numpy.uint8)
    x, labels = memory[:3000].reshape(2, 20, 25, 3), memory[8000:8500].reshape(20, 25)
    bins = memory[3000 : 3000 + 8192].view(numpy.uint32).reshape(2, 4, 256)  # just after the batch
    sums = memory[16384 : 16384 + 128].view(numpy.uint64).reshape(2, 8)
    imghist.count_batch(x, out=bins, sums=sums)
    imghist.count_batch(x[:0], out=bins[:0], sums=sums[:0])
    for view in (x, x[:, ::-1], x[::-1]):
        with pytest.raises(ValueError, match="out: shares memory"):
            imghist.count_batch(view, out=memory[2996 : 2996 + 8192].view(numpy.uint32).reshape(2, 4, 256))
    with pytest.raises(ValueError, match="out: shares memory"):
        imghist.count_batch(x, labels=labels, n_labels=1, out=bins[:, None])
    for at in (2992, 3008):
        with pytest.raises(ValueError, match="sums: shares memory"):
            imghist.count_batch(x, out=bins, sums=memory[at : at + 128].view(numpy.uint64).reshape(2, 8))


def test_batches_without_numpy():
    data = bytes(range(240))
    bins = imghist.count_batch(memoryview(data).cast("B", (2, 4, 10, 3)))
    assert (bins.format, bins.shape) == ("I", (2, 4, 256))
    x = numpy.frombuffer(data, numpy.uint8).reshape(2, 4, 10, 3)
    assert numpy.array_equal(numpy.asarray(bins), expected(x))


def test_an_empty_batch_of_dlpack():
    class Plain:
        """In host memory, of no library that allocates."""

        def __init__(self, array):
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    bins, sums = imghist.count_batch(Plain(noise(0, 4, 5, 3)), sums=True)
    assert (bins.shape, sums.shape) == ((0, 4, 256), (0, 8))
    assert numpy.asarray(bins).dtype == numpy.uint32 and numpy.asarray(sums).dtype == numpy.uint64
    x = noise(2, 4, 5, 3)
    assert numpy.array_equal(imghist.count_batch(Plain(x)), expected(x))


def test_wrong_batches():
    x = noise(2, 4, 5, 3)
    for layout in ("NHW", "NHWCC", "NHWX", "HHWC", "", "nhwc", "NHHC"):
        with pytest.raises(ValueError, match="layout"):
            imghist.count_batch(x, layout)
    for layout in ("NHWNN", "NHWXX", "NHWCC"):
        with pytest.raises(ValueError, match=f"layout: '{layout}' does not fit a batch of 5 dimensions"):
            imghist.count_batch(noise(2, 4, 5, 2, 2), layout)
    with pytest.raises(ValueError, match="5 channels in layout NHWC.*is the layout NCHW"):
        imghist.count_batch(noise(2, 3, 4, 5))
    with pytest.raises(ValueError, match="order"):
        imghist.count_batch(x, order="rbg")
    for wrong in (x.astype(numpy.uint16), x.astype(numpy.int8), x.astype(float)):
        with pytest.raises(TypeError, match="uint8"):
            imghist.count_batch(wrong)
    for wrong in (5, "a.png", [x]):
        with pytest.raises(TypeError):
            imghist.count_batch(wrong)
    with pytest.raises((ValueError, TypeError)):
        imghist.count_batch(noise(2, 2, 2, 2, 2, 2))


def test_a_capsule_is_used_up():
    x = noise(2, 4, 5, 3)
    capsule = x.__dlpack__()
    bins = numpy.zeros((2, 4, 256), numpy.uint32)
    assert imghist.count_batch(capsule, out=bins) is bins and numpy.array_equal(bins, expected(x))
    with pytest.raises(ValueError, match="DLPack: the capsule is used up"):
        imghist.count_batch(capsule, out=bins)
    with pytest.raises(TypeError):
        imghist.count(x[0].__dlpack__())


@pytest.fixture
def torch(monkeypatch):
    """What torch does, with arrays: __dlpack__ is its slow way."""
    fake = types.ModuleType("torch")
    slow = []

    class Tensor:
        __module__ = "torch"
        is_cuda, is_cpu, device = False, True, "cpu"

        def __init__(self, array):
            self.array, self.dtype, self.shape = array, array.dtype.type, array.shape
            self.data_ptr, self.element_size = lambda: array.ctypes.data, lambda: array.itemsize

        def stride(self):
            return tuple(step // self.array.itemsize for step in self.array.strides)

        def get_device(self):
            return 3

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __dlpack__(self, stream=None):
            slow.append(stream)
            return self.array.__dlpack__()

    def to_dlpack(x):
        slow.append("to_dlpack")
        return x.array.__dlpack__()

    fake.Tensor, fake.slow = Tensor, slow
    fake.uint8, fake.int32, fake.int64 = numpy.uint8, numpy.int32, numpy.int64
    fake.empty = lambda shape, dtype, device: Tensor(numpy.empty(shape, dtype))
    fake.utils = types.SimpleNamespace(dlpack=types.SimpleNamespace(to_dlpack=to_dlpack))
    fake.cuda = types.SimpleNamespace(current_stream=lambda index: types.SimpleNamespace(cuda_stream=index + 4))
    fake._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda index: index + 2)
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


def test_torch_is_asked_in_its_shortest_way(torch):
    x, labels = noise(3, 20, 30, 3), noise(3, 20, 30) % 5
    bins, sums = imghist.count_batch(torch.Tensor(x), sums=True)
    assert isinstance(bins, torch.Tensor) and numpy.array_equal(bins.array, expected(x))
    assert numpy.array_equal(sums.array, imghist.count_batch(x, sums=True)[1])
    given = torch.Tensor(numpy.zeros((3, 4, 4, 256), numpy.int32))
    judge = imghist.count_batch(x, labels=labels, n_labels=4)
    for kind in (torch.Tensor, numpy.asarray):
        assert imghist.count_batch(torch.Tensor(x), labels=kind(labels), n_labels=4, out=given) is given
        assert numpy.array_equal(given.array, judge)
    for view, layout in ((x[::-2, 3:, ::3], "NHWC"), (x[..., 1], "NHW"), (x.transpose(0, 3, 1, 2), "NCHW")):
        bins = imghist.count_batch(torch.Tensor(view), layout)
        assert numpy.array_equal(bins.array, imghist.count_batch(view, layout))
    assert torch.slow == []
    image = type("Image", (torch.Tensor,), {"__module__": "elsewhere"})
    assert numpy.array_equal(imghist.count_batch(image(x)).array, expected(x))
    assert torch.slow == []
    assert numpy.array_equal(imghist.count_batch(torch.Tensor(x), stream=7).array, expected(x))
    assert torch.slow == [None, None]  # a tensor in host memory has no stream


def test_wrong_tensors_of_torch(torch):
    x = noise(3, 8, 9, 3)
    for wrong in (numpy.zeros((3, 4, 255), numpy.int32), numpy.zeros((3, 4, 256), numpy.int64),
                  numpy.zeros((3, 4, 256), numpy.float32), numpy.zeros((4, 3, 256), numpy.int32),
                  numpy.zeros((3, 4, 512), numpy.int32)[..., ::2], numpy.zeros((3, 4, 256, 1, 1, 1), numpy.int32)):
        with pytest.raises(ValueError):
            imghist.count_batch(torch.Tensor(x), out=torch.Tensor(wrong))
    for wrong in (x.astype(bool), x.astype(numpy.int32), x.astype(numpy.uint16)):
        with pytest.raises(TypeError, match="uint8"):
            imghist.count_batch(torch.Tensor(wrong))
    description = (x.ctypes.data, x.shape, (216, 27, 3, 1), True, 8, False)
    for arguments in ({"tensor": description}, {"tensor": x, "out": description},
                      {"tensor": x, "labels": description, "n_labels": 1}):
        with pytest.raises(TypeError, match="tuple"):
            imghist.count_batch(**arguments)


def test_the_current_stream_of_torch(torch):
    from imghist import _batch

    x = torch.Tensor(noise(1, 2, 2))
    x.is_cuda = True
    assert _batch._stream("torch", torch, x, None) == (5, -1)
    del torch._C._cuda_getCurrentRawStream
    assert _batch._stream("torch", torch, x, None) == (7, -1)
    assert _batch._stream("torch", torch, x, types.SimpleNamespace(cuda_stream=9)) == (9, 9)


def test_arrays_of_jax(monkeypatch):
    """JAX has no array that others can fill."""
    monkeypatch.setitem(sys.modules, "jaxlib", types.ModuleType("jaxlib"))

    class ArrayImpl:
        __module__ = "jaxlib._jax"

        def __init__(self, array):
            self.array = array

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __dlpack__(self):
            return self.array.__dlpack__()

    x = noise(3, 8, 9, 3)
    bins, sums = imghist.count_batch(ArrayImpl(x), sums=True)
    assert isinstance(bins, numpy.ndarray) and numpy.array_equal(bins, expected(x))
    assert isinstance(sums, numpy.ndarray) and numpy.array_equal(sums, imghist.count_batch(x, sums=True)[1])
    labels = ArrayImpl(noise(3, 8, 9))
    assert imghist.count_batch(ArrayImpl(x), labels=labels, n_labels=2).shape == (3, 2, 4, 256)
    for outputs in ({"out": ArrayImpl(bins)}, {"sums": ArrayImpl(sums)}):
        with pytest.raises(ValueError, match="a JAX array never changes: pass one of"):
            imghist.count_batch(ArrayImpl(x), **outputs)
    on_gpu = ArrayImpl(x)
    on_gpu.__cuda_array_interface__ = {}
    with pytest.raises(ValueError, match="of CuPy or torch; jax.dlpack.from_dlpack makes them JAX's"):
        imghist.count_batch(on_gpu)


def test_an_array_on_a_gpu_is_not_asked_for_its_buffer():
    """As CuPy's, it has the buffer protocol and refuses."""

    class OnGpu(mmap.mmap):
        def __new__(cls, shape, typestr):
            self = super().__new__(cls, -1, 4096)
            self.close()  # from now on its buffer raises
            self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (4096, False), "version": 3}
            return self

    x = OnGpu((1, 2, 2, 3), "|u1")
    with pytest.raises(ValueError, match="mmap closed"):
        memoryview(x)
    with pytest.raises(ValueError, match="in GPU memory: use imghist.count_batch"):
        imghist.count(x)
    with pytest.raises(ValueError, match="cannot allocate for a OnGpu"):
        imghist.count_batch(x)
    with pytest.raises((imghist.Error, ValueError)) as caught:  # no GPU, or no memory of one
        imghist.count_batch(x, out=OnGpu((1, 4, 256), "<i4"))
    assert "mmap" not in str(caught.value)


def keys(x):
    """Bins of signed and float samples of 16 bits, by integer arithmetic."""
    v = numpy.ascontiguousarray(x).view("u2").astype(int)
    if x.dtype.kind == "i":
        return v ^ 0x8000
    return numpy.where(v == 0x8000, 0x8000, numpy.where(v >> 15, v ^ 0xFFFF, v | 0x8000))


class Bfloat:
    """A tensor of bfloat16 in host memory: NumPy's DLPack of its bits, with another type."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self):
        import ctypes

        capsule = self.x.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + 20).value = 4  # kDLBfloat, after device and ndim
        return capsule


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["int16", "float16", "bfloat16"])
def test_signed_and_float_samples(channels, dtype):
    chance = numpy.random.default_rng(channels)
    bits = chance.integers(0, 65536, (3, 19, 21, channels)).astype("u2")
    bits[:, :4] = chance.choice([0, 0x8000, 0x7C00, 0xFC00, 0x7F80, 1], (3, 4, 21, channels))
    x = bits.view("float16" if dtype == "bfloat16" else dtype)  # only its bits matter
    made = (lambda v: Bfloat(v.view("u2"))) if dtype == "bfloat16" else (lambda v: v)
    planes = [keys(x[..., c]) for c in range(channels)]
    if channels >= 3 and dtype == "int16":
        r, g, b = (x[..., c].astype(int) for c in range(3))
        planes.append(((13933 * r + 46871 * g + 4732 * b + 32768) >> 16) + 32768)
    labels = chance.integers(0, 3, (19, 21)).astype("u1")

    def judge(chosen):
        bins = [[numpy.bincount(p[i][chosen], minlength=65536) for p in planes] for i in range(3)]
        return numpy.array(bins).reshape(3, len(planes), 65536)

    expected_bins = judge(numpy.ones((19, 21), bool))
    sums = expected_bins @ (numpy.arange(65536) - 32768) * (dtype == "int16")
    sums = numpy.concatenate([sums, numpy.zeros((3, 4), int)], 1)
    planar = numpy.ascontiguousarray(x.transpose(0, 3, 1, 2))
    for view, layout in ((x, "NHWC"), (planar, "NCHW"), (x[:, ::-1, ::-1], "NHWC")):
        counted, got = imghist.count_batch(made(view), layout, bins="native", sums=True)
        got = numpy.asarray(got)
        assert numpy.array_equal(numpy.asarray(counted), expected_bins) and numpy.array_equal(got, sums)
        assert got.dtype.kind == ("i" if dtype == "int16" else "u")
    counted = imghist.count_batch(made(x), "NHWC", labels, n_labels=2, bins="native")
    for label in range(2):
        assert numpy.array_equal(numpy.asarray(counted)[:, label], judge(labels == label))


def test_types_that_a_batch_refuses():
    x = numpy.zeros((2, 3, 4, 3))
    for dtype, bins in (("float32", "native"), ("float64", "native"), ("int8", "native"), ("int32", 256), ("int16", 256),
                        ("int16", 4096), ("float16", 1000), ("float16", 256)):  # fmt: skip
        with pytest.raises(TypeError, match=f"(floats|signed integers) of {numpy.dtype(dtype).itemsize * 8} bits.*astype"):
            imghist.count_batch(x.astype(dtype), bins=bins)
    with pytest.raises(imghist.Error, match="clip limits are for unsigned"):
        imghist.count_batch(x.astype("int16"), bins="native", context=imghist.Context(clip=(1, 200)))
