"""count_batch in GPU memory with torch and CuPy: skipped without a GPU. Judge: host memory."""

import time

import pytest

import imghist

numpy = pytest.importorskip("numpy")


@pytest.fixture
def torch():
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return module


@pytest.fixture
def cupy():
    module = pytest.importorskip("cupy")
    try:
        if module.cuda.runtime.getDeviceCount() == 0:
            pytest.skip("CuPy sees no GPU")
    except module.cuda.runtime.CUDARuntimeError as e:
        pytest.skip(f"CuPy: {e}")
    return module


def noise(*shape):
    return numpy.random.default_rng(3).integers(0, 256, shape, numpy.uint8)


CASES = [((8, 64, 64, 3), "NHWC"), ((8, 3, 50, 70), "NCHW"), ((3, 33, 31, 4), "NHWC"), ((5, 40, 41), "NHW")]


@pytest.mark.parametrize("shape,layout", CASES)
def test_torch_gives_the_counts_of_the_host(torch, shape, layout):
    x = noise(*shape)
    judge, judge_sums = imghist.count_batch(x, layout, sums=True)
    on_gpu = torch.from_numpy(x).cuda()
    bins, sums = imghist.count_batch(on_gpu, layout, sums=True)
    assert bins.is_cuda and bins.dtype == torch.int32
    assert numpy.array_equal(bins.cpu().numpy(), judge)
    assert numpy.array_equal(sums.cpu().numpy(), judge_sums)


@pytest.mark.parametrize("shape,layout", [*CASES, ((300, 7, 9, 1), "NHWC"), ((2, 700, 500, 3), "NHWC")])
@pytest.mark.parametrize("bins", ["native", 4096])
def test_native_samples_give_the_counts_of_the_host(torch, shape, layout, bins):
    x = numpy.random.default_rng(4).integers(0, 5000 if bins == 4096 else 65536, shape).astype(numpy.uint16)
    x[0] = x[0] // 2000 * 2000  # few values, some of them clipped
    is_planar = layout == "NCHW"
    for luma in (False, True)[: 1 + (not is_planar)]:
        judge, judge_sums = imghist.count_batch(x, layout, bins=bins, sums=True, luma=luma)
        bins_only = imghist.count_batch(torch.from_numpy(x).cuda(), layout, bins=bins, luma=luma)
        assert numpy.array_equal(bins_only.cpu().numpy(), judge)
        if is_planar and shape[1] >= 3:
            with pytest.raises(ValueError, match="neither luma nor"):
                imghist.count_batch(torch.from_numpy(x).cuda(), layout, bins=bins, luma=luma, sums=True)
            continue
        counted, sums = imghist.count_batch(torch.from_numpy(x).cuda(), layout, bins=bins, luma=luma, sums=True)
        assert numpy.array_equal(counted.cpu().numpy(), judge) and numpy.array_equal(sums.cpu().numpy(), judge_sums)
    if layout == "NHWC" and shape[3] >= 3:
        counted = imghist.count_batch(torch.from_numpy(x).cuda(), order="bgr", bins=bins)
        assert numpy.array_equal(counted.cpu().numpy(), imghist.count_batch(x, order="bgr", bins=bins))


@pytest.mark.parametrize("shape,layout", [*CASES, ((300, 7, 9, 1), "NHWC"), ((2, 3, 700, 500), "NCHW")])
@pytest.mark.parametrize("dtype", ["int16", "float16", "bfloat16"])
def test_signed_and_float_samples_give_the_counts_of_numpy(torch, shape, layout, dtype):
    bits = numpy.random.default_rng(6).integers(0, 65536, shape).astype(numpy.uint16)
    bits[0] = bits[0] & 0x8000  # 0 and -0
    v = bits.astype(int)
    keys = numpy.where(v == 0x8000, v, numpy.where(v >> 15, v ^ 0xFFFF, v | 0x8000)) if dtype != "int16" else v ^ 0x8000
    keys = keys if layout == "NCHW" else keys if layout == "NHW" else keys.transpose(0, 3, 1, 2)
    keys = keys.reshape(shape[0], -1, keys.shape[-1] * keys.shape[-2])
    judge = numpy.array([[numpy.bincount(plane, minlength=65536) for plane in image] for image in keys])
    x = torch.from_numpy(bits.view(numpy.int16)).cuda().view(getattr(torch, dtype))
    counted, sums = imghist.count_batch(x, layout, bins="native", luma=False, sums=True)
    assert numpy.array_equal(counted.cpu().numpy(), judge)
    expected = judge @ (numpy.arange(65536) - 32768) * (dtype == "int16")
    n_planes = judge.shape[1]
    assert numpy.array_equal(sums.cpu().numpy()[:, :n_planes], expected) and not sums[:, n_planes:].any()


def test_native_samples_that_a_gpu_refuses(torch):
    x = torch.from_numpy(numpy.zeros((2, 8, 8, 3), numpy.uint16)).cuda()
    with pytest.raises(ValueError, match="packed"):
        imghist.count_batch(x[:, :, ::2], bins="native")
    with pytest.raises(ValueError, match="label maps"):
        imghist.count_batch(x, labels=torch.zeros((8, 8), dtype=torch.uint8).cuda(), n_labels=1, bins="native")


@pytest.mark.parametrize("shape,layout", CASES)
def test_cupy_gives_the_counts_of_the_host(cupy, shape, layout):
    x = noise(*shape)
    bins = imghist.count_batch(cupy.asarray(x), layout)
    assert numpy.array_equal(cupy.asnumpy(bins), imghist.count_batch(x, layout))
    with cupy.cuda.Stream(non_blocking=True):
        bins = imghist.count_batch(cupy.asarray(x), layout)
        assert numpy.array_equal(cupy.asnumpy(bins), imghist.count_batch(x, layout))


def test_jax_with_the_memory_of_torch(torch):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    x = noise(8, 64, 64, 3)
    out = torch.empty((8, 4, 256), dtype=torch.int32, device="cuda")
    sums = torch.empty((8, 8), dtype=torch.int64, device="cuda")
    imghist.count_batch(jax.numpy.asarray(x) + 0, out=out, sums=sums)  # + 0: work before the count
    judge, judge_sums = imghist.count_batch(x, sums=True)
    assert numpy.array_equal(jax.dlpack.from_dlpack(out), judge)
    assert numpy.array_equal(sums.cpu().numpy(), judge_sums)


def test_slices_bgr_and_labels(torch):
    x, labels = noise(6, 60, 80, 3), noise(6, 60, 80) % 4
    on_gpu, labels_on_gpu = torch.from_numpy(x).cuda(), torch.from_numpy(labels).cuda()
    for part in (slice(None), slice(1, 5), slice(0, 6, 2)):
        made = imghist.count_batch(on_gpu[part, 3:50, 5:70], order="bgr")
        judge = imghist.count_batch(x[part, 3:50, 5:70], order="bgr")
        assert numpy.array_equal(made.cpu().numpy(), judge)
    made = imghist.count_batch(on_gpu, labels=labels_on_gpu, n_labels=3)
    judge = imghist.count_batch(x, labels=labels, n_labels=3)
    assert numpy.array_equal(made.cpu().numpy(), judge)


def test_other_streams(torch):
    """Pixels that slow work on the stream writes are counted after it, without a synchronisation."""
    judge = imghist.count_batch(numpy.full((16, 64, 64, 3), 200, numpy.uint8))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.zeros((16, 64, 64, 3), dtype=torch.uint8, device="cuda")
        torch.cuda._sleep(100_000_000)
        x.fill_(200)
        bins = imghist.count_batch(x)
        assert not stream.query()  # the call has not waited
        assert numpy.array_equal(bins.cpu().numpy(), judge)


def test_a_stream_by_argument(torch):
    x = torch.from_numpy(noise(4, 32, 32, 3)).cuda()
    judge = imghist.count_batch(x.cpu().numpy())
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for given in (stream, stream.cuda_stream):
        bins = imghist.count_batch(x, stream=given)
        stream.synchronize()
        assert numpy.array_equal(bins.cpu().numpy(), judge)


def test_cuda_graphs(torch):
    x = torch.from_numpy(noise(4, 32, 32, 3)).cuda()
    out = torch.zeros((4, 4, 256), dtype=torch.int32, device="cuda")
    imghist.count_batch(x, out=out)  # loads the kernel
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        imghist.count_batch(x, out=out)
    for value in (7, 200):
        x.fill_(value)
        graph.replay()
        assert numpy.array_equal(out.cpu().numpy(), imghist.count_batch(x.cpu().numpy()))


@pytest.mark.parametrize("case", ["out", "bins", "sums"])
def test_host_time_of_a_call(torch, case):
    x = torch.zeros((1, 8, 8, 3), dtype=torch.uint8, device="cuda")
    out = torch.zeros((1, 4, 256), dtype=torch.int32, device="cuda") if case == "out" else None
    best = 1.0
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(100):
            imghist.count_batch(x, sums=case == "sums", out=out)
        best = min(best, (time.perf_counter() - start) / 100)
    print(f"{case}: {best * 1e6:.1f} us of host time for each call")
    assert best < 20e-6


def test_memory_of_100000_batches(torch):
    x = torch.zeros((2, 8, 8, 3), dtype=torch.uint8, device="cuda")
    imghist.count_batch(x)
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0], torch.cuda.memory_allocated()
    for _ in range(100_000):
        imghist.count_batch(x)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() <= before[1]
    assert torch.cuda.mem_get_info()[0] >= before[0] - (8 << 20)


def test_the_wrong_side(torch):
    x = torch.zeros((2, 8, 8, 3), dtype=torch.uint8)
    with pytest.raises(ValueError, match="where the batch is"):
        imghist.count_batch(x.cuda(), out=torch.zeros((2, 4, 256), dtype=torch.int32))
    with pytest.raises(ValueError, match="count_batch"):
        imghist.count(x[0].cuda())
    assert imghist.count(x[0]).pixels == 64  # a CPU tensor
