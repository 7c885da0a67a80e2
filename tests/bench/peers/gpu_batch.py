#!/usr/bin/env python3
"""Histograms of each image and channel of a uint8 tensor on the GPU, with what PyTorch and CuPy offer.

    peers/gpu_batch.py [SIDE [IMAGES]]

Counts the three channels alone, without luma, sums and clip counts. Each way is checked against
numpy on some images, then timed with events: the median of 7 runs. The loop of torch.histc is timed
on few images and scaled.
"""

import statistics
import sys

import numpy
import torch

SIDE = int(sys.argv[1]) if len(sys.argv) > 1 else 224
IMAGES = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
LOOP_IMAGES = 20


def offsets(x, dtype):
    """Values plus 256 times the number of their image and channel. x: [N, C, pixels]"""
    n, c, _ = x.shape
    first = torch.arange(n * c, device=x.device, dtype=dtype).view(n, c, 1) * 256
    return (x.to(dtype) + first).view(-1)


def bincount(x):
    n, c, _ = x.shape
    return torch.bincount(offsets(x, torch.int64), minlength=n * c * 256).view(n, c, 256)


def bincount_int32(x):
    n, c, _ = x.shape
    return torch.bincount(offsets(x, torch.int32), minlength=n * c * 256).view(n, c, 256)


def scatter_add(x):
    n, c, pixels = x.shape
    counts = torch.zeros(n, c, 256, dtype=torch.int32, device=x.device)
    ones = torch.ones(1, 1, 1, dtype=torch.int32, device=x.device).expand(n, c, pixels)
    return counts.scatter_add_(2, x.long(), ones)


def index_add(x):
    n, c, _ = x.shape
    where = offsets(x, torch.int64)
    counts = torch.zeros(n * c * 256, dtype=torch.int32, device=x.device)
    ones = torch.ones(1, dtype=torch.int32, device=x.device).expand(where.numel())
    return counts.index_add_(0, where, ones).view(n, c, 256)


def histc(x):
    return torch.stack([torch.stack([torch.histc(ch.float(), 256, 0, 255) for ch in image]) for image in x])


def cupy_bincount(x):
    import cupy

    n, c, _ = x.shape
    values = cupy.from_dlpack(x)
    first = cupy.arange(n * c, dtype=cupy.int32).reshape(n, c, 1) * 256
    return cupy.bincount((values + first).ravel(), minlength=n * c * 256).reshape(n, c, 256)


def cupy_add_at(x):
    import cupy

    n, c, _ = x.shape
    values = cupy.from_dlpack(x)
    first = cupy.arange(n * c, dtype=cupy.int32).reshape(n, c, 1) * 256
    counts = cupy.zeros(n * c * 256, dtype=cupy.uint32)
    cupy.add.at(counts, (values + first).ravel(), 1)
    return counts.reshape(n, c, 256)


def time_ms(run):
    times = []
    for i in range(9):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        if i >= 2:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def main():
    import cupy

    print(f"PyTorch {torch.__version__}, CuPy {cupy.__version__}; {IMAGES} images of {SIDE} x {SIDE}, NCHW, random")
    torch.manual_seed(1)
    cupy.cuda.Stream.null.use()  # PyTorch's default stream
    x = torch.randint(0, 256, (IMAGES, 3, SIDE * SIDE), dtype=torch.uint8, device="cuda")
    expected = numpy.stack([[numpy.bincount(ch, minlength=256) for ch in im] for im in x[:3].cpu().numpy()])
    ways = [bincount, bincount_int32, scatter_add, index_add, cupy_bincount, cupy_add_at, histc]
    print(f"{'':16} {'ms':>9} {'images/s':>10} {'GB/s':>7}")
    for way in ways:
        n = LOOP_IMAGES if way is histc else IMAGES
        try:
            got = way(x[:3])
            got = got.cpu().numpy() if isinstance(got, torch.Tensor) else cupy.asnumpy(got)
            if (got.astype(numpy.int64) != expected).any():
                raise ValueError("wrong counts")
            ms = time_ms(lambda: way(x[:n])) * IMAGES / n
        except Exception as e:  # a way that this version does not have
            print(f"{way.__name__:16} {str(e).splitlines()[0][:90]}")
            continue
        print(f"{way.__name__:16} {ms:9.3f} {IMAGES / ms * 1e3:10.0f} {IMAGES * 3 * SIDE * SIDE / ms / 1e6:7.1f}")


main()
