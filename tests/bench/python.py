"""Measures for python.sh. Wall time and CPU time, because another load on the machine moves the first."""

import concurrent.futures
import ctypes
import os
import random
import resource
import statistics
import subprocess
import time

import cv2
import fastpercentile
import numpy
from PIL import Image, features
from PIL import __version__ as PIL_VERSION

import imghist

ROUNDS, N_FILES, WORK = int(os.environ["ROUNDS"]), int(os.environ["N_FILES"]), os.environ["WORK"]
PROGRAM = os.environ["PROGRAM"]


def cpu():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def compare(ways):
    """Runs the ways in turn: {name: (median wall seconds, median CPU seconds)}."""
    times = {name: [] for name in ways}
    for i in range(ROUNDS + 1):
        for name, way in ways.items():
            wall, used = time.perf_counter(), cpu()
            way()
            if i > 0:  # the first round warms up
                times[name].append((time.perf_counter() - wall, cpu() - used))
    return {name: tuple(statistics.median(t) for t in zip(*all)) for name, all in times.items()}


def table(title, times, base, unit, n):
    print(f"\n{title}\n{'':34}{'wall':>9}{'CPU':>9}{unit:>12}{'speed / ' + base:>36}{'by CPU time':>13}")
    for name, (wall, used) in times.items():
        ratio, by_cpu = times[base][0] / wall, times[base][1] / used
        print(f"{name:34}{wall:8.3f}s{used:8.3f}s{n / wall:12.0f}{ratio:36.2f}{by_cpu:13.2f}")


# ---- files ----


def make_files():
    scene = Image.open(os.environ["SAMPLE"]).convert("RGB")
    chance = random.Random(1)
    paths = []
    for i in range(N_FILES):
        x, y = chance.randrange(100), chance.randrange(60)
        made = scene.crop((x, y, x + 370, y + 250)).resize((500, 375), Image.BICUBIC)
        paths.append(f"{WORK}/{i:05}.jpg")
        made.save(paths[-1], quality=85)
    return paths


def pillow(path):
    with Image.open(path) as image:
        return image.histogram()


def files():
    paths = make_files()
    pool = concurrent.futures.ProcessPoolExecutor()
    list(pool.map(pillow, paths[:100]))
    ways = {
        "imghist --csv=stats": lambda: subprocess.run(
            [PROGRAM, "--device=cpu", "--csv=stats", WORK], stdout=subprocess.DEVNULL, check=True),
        "count_many": lambda: [c.file for c in imghist.count_many(paths)],
        "scan and statistics": lambda: [c["luma"] for c in imghist.scan(WORK)],
        "loop of count": lambda: [imghist.count(p).file for p in paths],
    }
    table(f"{N_FILES} JPEG files of 500 x 375", compare(ways), "imghist --csv=stats", "files/s", N_FILES)

    def in_pool():
        for _ in pool.map(pillow, paths, chunksize=50):
            pass

    decode = [os.environ["DECODE_ONLY"], "-j", str(os.cpu_count()), *paths]
    times = compare({
        "Pillow in a process pool": in_pool,
        "count_many": ways["count_many"],
        "decode only, a process per core": lambda: subprocess.run(decode, stdout=subprocess.DEVNULL, check=True),
    })
    times = {name: (wall, wall) for name, (wall, _) in times.items()}  # the pool's CPU time is not ours
    turbo = features.version("libjpeg_turbo")
    table(f"The same (wall only), Pillow {PIL_VERSION} with libjpeg-turbo {turbo}", times, "Pillow in a process pool", "files/s", N_FILES)
    pool.shutdown()


# ---- arrays ----


class Pixels(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("width", ctypes.c_uint64), ("height", ctypes.c_uint64),
                ("stride", ctypes.c_ssize_t), ("n_channels", ctypes.c_uint)]


def library_way(x, n):
    library = ctypes.CDLL(os.environ["LIBRARY"])
    device = ctypes.c_char_p(b"cpu")  # the first field of ih_settings is all that is set
    context, counts = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.ih_context_open(ctypes.byref(device), ctypes.c_size_t(8), ctypes.byref(context), None) == 0
    assert library.ih_counts_open(ctypes.byref(counts), None) == 0
    pixels = Pixels(x.ctypes.data, x.shape[1], x.shape[0], 0, x.shape[2])
    call, p = library.ih_count_pixels, ctypes.byref(pixels)

    def way():
        for _ in range(n):
            call(context, p, counts, None)

    return way


def bincount(x):
    return [numpy.bincount(x[..., c].ravel(), minlength=256) for c in range(3)]


def calc_hist(x):
    return [cv2.calcHist([x], [c], None, [256], [0, 256]) for c in range(3)]


def arrays():
    scene = numpy.asarray(Image.open(os.environ["SAMPLE"]).convert("RGB"))
    noise = numpy.random.default_rng(1).integers(0, 256, (2000, 3000, 3), numpy.uint8)
    photo = numpy.tile(scene, (2000 // scene.shape[0] + 1, 3000 // scene.shape[1] + 1, 1))[:2000, :3000].copy()
    small = scene[:224, :224].copy()
    cv2.setNumThreads(1)
    for title, x, n in (("noise, 6 MP RGB", noise, 5), ("a photo, 6 MP RGB", photo, 5), ("224 x 224 RGB", small, 500)):
        def times_n(call):
            return lambda: [call(x) for _ in range(n)]

        ways = {"C library": library_way(x, n), "count": times_n(imghist.count),
                "count, BGR": times_n(lambda x: imghist.count(x, order="bgr")),
                "count_many, all cores": lambda: list(imghist.count_many([x] * n)),
                "numpy.bincount, no luma": times_n(bincount), "cv2.calcHist, no luma": times_n(calc_hist)}
        table(f"Arrays: {title}", compare(ways), "C library", "arrays/s", n)


# ---- samples of other types ----


def other_samples():
    photo = numpy.asarray(Image.open(os.environ["SAMPLE"]).convert("L").resize((3000, 2000), Image.BICUBIC), "f4")
    noise = numpy.random.default_rng(1).normal(0, 1, photo.shape)
    linear = (numpy.clip(photo + noise, 0, 255) / 255) ** 2.2
    samples = {"float32": linear.astype("f4"), "int16": (linear * 4000).astype("i2"), "uint16": (photo * 200).astype("u2")}
    fastpercentile.warmup()
    for title, x in samples.items():
        ways = {"count": lambda: imghist.count(x, bins="native", luma="none"),
                "numpy.histogram, 65,536 bins": lambda: numpy.histogram(x, 65536),
                "numpy.mean, std": lambda: (x.mean(dtype="f8"), x.std(dtype="f8")),
                "numpy.percentile, three": lambda: numpy.percentile(x, [2, 50, 98]),
                "fastpercentile.percentile, three": lambda: fastpercentile.percentile(x, [2, 50, 98])}
        table(f"Arrays of {title}, 6 MP gray; imghist's percentiles of floats are those of bins", compare(ways), "count", "arrays/s", 1)


# ---- memory ----


def rss():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth():
    x = numpy.zeros((4, 4, 3), numpy.uint8)
    image = b"P5 1 1 255 x"

    def calls(n):
        for _ in range(n // 2):
            imghist.count(x)
            imghist.count(image)

    calls(20_000)
    before, start = rss(), time.perf_counter()
    calls(1_000_000)
    print(f"\n10^6 calls: {(time.perf_counter() - start):.2f} us each, memory grew by {(rss() - before) / 1024:.0f} KiB")
    before = rss()
    for _ in range(100_000):
        imghist.count_batch(x[None], sums=True)
    print(f"10^5 batches: memory grew by {(rss() - before) / 1024:.0f} KiB")
    before = rss()
    n = sum(1 for _ in imghist.count_many(image for _ in range(300_000)))
    print(f"count_many of {n} images: memory grew by {(rss() - before) / 1024:.0f} KiB")
    before = rss()
    n = sum(1 for _ in imghist.scan(os.environ["SAMPLE"] for _ in range(2000)))
    print(f"scan of {n} images: memory grew by {(rss() - before) / 1024:.0f} KiB")
    before = rss()
    kept = [imghist.count(x) for _ in range(20_000)]
    print(f"{len(kept)} Counts: {(rss() - before) / len(kept) / 1000:.1f} kB each")


files()
arrays()
other_samples()
growth()
