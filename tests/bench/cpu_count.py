"""OpenCV's calcHist and numpy.bincount against the fast method, in one process.

    cpu_count.py LIBRARY [REPEATS]

LIBRARY is cpu_count.c as a shared library; cpu_count.sh builds it. Each way gives a histogram of
256 bins for each channel. Ours includes luma and joint clip counts, theirs do not; "cv+luma" adds
OpenCV's conversion to gray and its histogram, which rounds differently. Counts are compared before
they are timed, the ways alternate, and medians are printed. OpenCV uses one thread. A package that
is not installed is left out.
"""
import ctypes
import statistics
import sys
import time

try:
    import numpy as np
except ImportError:
    print("numpy is not installed here: no comparison")
    sys.exit(0)
try:
    import cv2
    cv2.setNumThreads(1)
except ImportError:
    cv2 = None

LIBRARY = ctypes.CDLL(sys.argv[1])
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 21
HEIGHT, WIDTH = 1000, 2000
LIBRARY.ih_bench_count.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_void_p]


def count_ours(image):
    bins = np.empty((5, 256), np.uint64)
    if LIBRARY.ih_bench_count(image.ctypes.data, HEIGHT * WIDTH, image.shape[2], bins.ctypes.data):
        raise MemoryError
    return bins[:image.shape[2]]


def count_opencv(image):
    return [cv2.calcHist([image], [c], None, [256], [0, 256]).ravel()
            for c in range(image.shape[2])]


def count_opencv_luma(image):
    channels = count_opencv(image)
    if image.shape[2] >= 3:
        code = cv2.COLOR_RGB2GRAY if image.shape[2] == 3 else cv2.COLOR_RGBA2GRAY
        cv2.calcHist([cv2.cvtColor(image, code)], [0], None, [256], [0, 256])
    return channels


def count_numpy(image):
    return [np.bincount(image[:, :, c].ravel(), minlength=256) for c in range(image.shape[2])]


def make(kind, n_channels):
    rng = np.random.default_rng(1)
    shape = (HEIGHT, WIDTH, n_channels)
    if kind == "random":
        return rng.integers(0, 256, shape, np.uint8)
    if kind == "constant":
        return np.full(shape, 77, np.uint8)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = 108 + 60 * np.sin(x / 170 + y / 300) + 50 * np.sin(y / 90 - x / 400)
    image = waves[:, :, None] + 20 * np.arange(n_channels) + rng.normal(0, 2, shape)
    return np.ascontiguousarray(image.clip(0, 255).astype(np.uint8))


def main():
    ways = [("ours", count_ours), ("numpy", count_numpy)]
    if cv2:
        ways += [("OpenCV", count_opencv), ("cv+luma", count_opencv_luma)]
    print("One core, GB/s, median of %d, %d x %d pixels; numpy %s, OpenCV %s\n" % (
        REPEATS, WIDTH, HEIGHT, np.__version__, cv2.__version__ if cv2 else "not installed"))
    print("%-11s %-9s" % ("pixels", "data") + "".join("%9s" % name for name, _ in ways) +
          "".join("%11s" % ("/ " + name) for name, _ in ways[1:]))
    for n_channels, layout in enumerate(("gray", "gray+alpha", "RGB", "RGBA"), 1):
        for kind in ("random", "constant", "smooth"):
            image = make(kind, n_channels)
            expected = count_ours(image)
            for name, way in ways:
                if not np.array_equal(np.asarray(way(image)).astype(np.uint64), expected):
                    sys.exit("cpu_count.py: %s: wrong counts" % name)
            times = {name: [] for name, _ in ways}
            for _ in range(REPEATS):
                for name, way in ways:
                    start = time.perf_counter()
                    way(image)
                    times[name].append(time.perf_counter() - start)
            median = [statistics.median(times[name]) for name, _ in ways]
            print("%-11s %-9s" % (layout, kind) +
                  "".join("%9.2f" % (image.nbytes * 1e-9 / m) for m in median) +
                  "".join("%11.1f" % (m / median[0]) for m in median[1:]), flush=True)


main()
