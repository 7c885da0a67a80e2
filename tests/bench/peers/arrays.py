"""Arrays of peers.sh: uint8 and uint16 pixels in memory, imghist.count against ihist, OpenCV, Pillow, libvips and NumPy.

usage: arrays.py PHOTO [MEGAPIXELS_MAX]. Counts are compared first. A peer that has no layout of its own for an array counts
what its user would give it. One thread: CPU time, which another load on the machine changes least. All cores: time.
Each figure is the least of several rounds, and in a round the ways run in random order.
"""

import os
import random
import sys
import time

import cv2
import ihist
import numpy
import pyvips
from PIL import Image

import imghist

SECONDS = float(os.environ.get("SECONDS_EACH", "0.1"))
KINDS = ("gray", "rgb", "rgba", "planar", "crop", "step")
SIZES = {"8 x 8": (8, 8), "64 x 64": (64, 64), "256 x 256": (256, 256), "1 MP": (1000, 1000), "6 MP": (2000, 3000)}
SIZES["100 MP"] = (10000, 10000)
CROP = 8  # pixels that are left out on each side


def make(data, kind, height, width, photo):
    """A uint8 array [H, W(, C)], which may have strides, and its layout."""
    n = {"gray": 1, "rgba": 4}.get(kind, 3)
    h, w = height, width
    if kind == "crop":
        h, w = h + 2 * CROP, w + 2 * CROP
    if kind == "step":
        h, w = 2 * h, 2 * w
    if data == "noise":
        x = numpy.random.default_rng(1).integers(0, 256, (h, w, n), numpy.uint8)
    elif data == "constant":
        x = numpy.full((h, w, n), (77, 130, 200, 255)[:n], numpy.uint8)
    else:
        rows, columns = -(-h // photo.shape[0]), -(-w // photo.shape[1])
        x = numpy.tile(photo, (rows, columns, 1))[:h, :w]
        alpha = numpy.full((h, w, 1), 255, numpy.uint8)
        x = x[..., 1:2] if n == 1 else x if n == 3 else numpy.concatenate([x, alpha], 2)
    x = numpy.ascontiguousarray(x)
    if kind == "gray":
        return x[..., 0], "HW"
    if kind == "planar":
        return numpy.ascontiguousarray(x.transpose(2, 0, 1)), "CHW"
    if kind == "crop":
        return x[CROP:-CROP, CROP:-CROP], "HWC"
    return (x[::2, ::2] if kind == "step" else x), "HWC"


def cv2_planes(planes):
    return [cv2.calcHist([p], [c], None, [256], [0, 256]) for p, c in planes]


def channels_of(x, layout):
    """What cv2.calcHist takes: for each channel an array and the channel's number in it."""
    if layout == "HW":
        return [(x, 0)]
    if layout == "CHW":
        return [(p, 0) for p in x]
    return [(x, c) for c in range(x.shape[2])]


def ihist_planes(x, layout, parallel):
    if layout == "CHW":
        return [ihist.histogram(p, parallel=parallel) for p in x]
    return ihist.histogram(x, parallel=parallel)


def cv2_luma(x, layout):
    return cv2.cvtColor(x if layout == "HWC" else cv2.merge(list(x)), cv2.COLOR_RGB2GRAY)


def ways(x, layout, threads):
    """{name: function}: the channels alone, and the channels and luma."""
    parallel = threads != 1
    flat = {"imghist --luma=none": lambda: imghist.count(x, layout=layout, luma="none", threads=threads)}
    flat["ihist"] = lambda: ihist_planes(x, layout, parallel)
    if x.shape[-1] <= 4 or layout != "HWC":
        planes = channels_of(x, layout)
        flat["cv2"] = lambda: cv2_planes(planes)
    if layout == "HW" or (layout == "HWC" and x.flags.c_contiguous):
        mode = {"HW": "L"}.get(layout) or {3: "RGB", 4: "RGBA"}[x.shape[2]]
        image = Image.fromarray(numpy.ascontiguousarray(x), mode) if x.size < 1 << 27 else None
        if image and not parallel:
            flat["Pillow"] = image.histogram
        vips = pyvips.Image.new_from_array(x)
        flat["libvips"] = lambda: vips.hist_find().write_to_memory()
    luma = {}
    if layout != "HW":
        luma["imghist"] = lambda: imghist.count(x, layout=layout, threads=threads)
        luma["ihist + cv2 luma"] = lambda: (ihist_planes(x, layout, parallel), ihist.histogram(cv2_luma(x, layout), parallel=parallel))
    return flat, luma


def check(x, layout):
    """Every way counts the same channels as NumPy."""
    planes = [x] if layout == "HW" else list(x) if layout == "CHW" else [x[..., c] for c in range(x.shape[2])]
    expected = numpy.array([numpy.bincount(p.ravel(), minlength=256) for p in planes])
    for threads in (1, None):
        ours = numpy.asarray(imghist.count(x, layout=layout, luma="none", threads=threads).bins)
        with_luma = numpy.asarray(imghist.count(x, layout=layout, threads=threads).bins)
        theirs = numpy.array(ihist_planes(x, layout, threads is None)).reshape(-1, 256)
        for counted in (ours, with_luma[:-1], theirs):
            assert numpy.array_equal(counted, expected)
    assert numpy.array_equal(numpy.array(cv2_planes(channels_of(x, layout))).reshape(-1, 256), expected)


def least(functions, clock):
    """{name: least seconds a call}, in rounds of all functions. After a function that moves much memory others are slower, so
    each round has an order of its own."""
    repeats = {}
    for name, function in functions.items():
        function()
        start, n = time.perf_counter(), 0
        while time.perf_counter() - start < SECONDS / 20 or n < 1:
            function()
            n += 1
        repeats[name] = n
    best = dict.fromkeys(functions, float("inf"))
    end, rounds = time.perf_counter() + SECONDS * len(functions), 0
    while time.perf_counter() < end or rounds < 3:
        for name, function in random.sample(list(functions.items()), len(functions)):
            start = clock()
            for _ in range(repeats[name]):
                function()
            best[name] = min(best[name], (clock() - start) / repeats[name])
        rounds += 1
    return best


def row(title, best):
    ours, others = next(iter(best.items())), list(best.items())[1:]
    fastest = min(t for _, t in others)
    texts = "".join(f"  {name} {1e6 * t:.1f}" for name, t in [ours, *others])
    print(f"{title:34}{fastest / ours[1]:6.2f} x  {texts}", flush=True)
    return fastest / ours[1]


def wide(photo):
    """uint16 arrays with a bin for each of 65,536 values, one thread."""
    rng = numpy.random.default_rng(1)
    print("\nuint16, 65,536 bins, one thread, CPU time, microseconds a call, least; fastest peer / imghist --bins=native")
    for size in ("256 x 256", "6 MP"):
        h, w = SIZES[size]
        tile = numpy.tile(photo, (-(-h // photo.shape[0]), -(-w // photo.shape[1]), 1))[:h, :w].astype(numpy.uint16)
        deep = tile * 256 + rng.integers(0, 256, tile.shape, numpy.uint16)
        arrays = {"gray photo of 12 bits": deep[..., 1] >> 4, "gray photo": deep[..., 1], "rgb photo": deep}
        arrays["gray noise"] = rng.integers(0, 65536, (h, w), numpy.uint16)
        for name, x in arrays.items():
            x = numpy.ascontiguousarray(x)
            planes = channels_of(x, "HW" if x.ndim == 2 else "HWC")
            flat = {"imghist --luma=none": lambda x=x: imghist.count(x, bins="native", luma="none", threads=1)}
            flat["ihist"] = lambda x=x: ihist.histogram(x, parallel=False)
            flat["cv2"] = lambda planes=planes: [cv2.calcHist([p], [c], None, [65536], [0, 65536]) for p, c in planes]
            expected = [numpy.bincount(x.reshape(h * w, -1)[:, c], minlength=65536) for _, c in planes]
            for counted in (flat["imghist --luma=none"]().bins, flat["ihist"](), flat["cv2"]()):
                assert numpy.array_equal(numpy.asarray(counted).reshape(len(planes), -1), expected)
            row(f"{size} {name}", least(flat, time.process_time))
            types(f"{size} {name}", x)


def types(title, x):
    """The time of uint16 by that of other samples: int16 of the same values less 32,768, float16 of all bits but infinities and NaN."""
    half = (x >> 1) % 0x7C00 | x << 15
    arrays = {"uint16": x, "int16": (x ^ 0x8000).view(numpy.int16), "float16": half.astype(numpy.uint16).view(numpy.float16)}
    for luma in ("none", "bt709")[: 1 + (x.ndim == 3)]:
        ways = {name: lambda x=x: imghist.count(x, bins="native", luma=luma, threads=1) for name, x in arrays.items()}
        best = least(ways, time.process_time)
        texts = (f"{name} {best['uint16'] / best[name]:.2f}" for name in ("int16", "float16")[: 1 + (luma == "none")])
        print(f"{title + ('' if luma == 'none' else ' with luma'):34}" + "  ".join(texts), flush=True)


def main():
    photo = numpy.asarray(Image.open(sys.argv[1]).convert("RGB"))
    most = float(sys.argv[2]) if len(sys.argv) > 2 else 100
    kinds = os.environ.get("KINDS", " ".join(KINDS)).split()
    datas = os.environ.get("DATA", "photo noise constant").split()
    sizes = os.environ.get("SIZES", ",".join(SIZES)).split(",")
    pyvips.cache_set_max(0)
    cv2.setNumThreads(1)
    parts = os.environ.get("ARRAYS", "wide one all").split()
    if "wide" in parts:
        wide(photo)
    for part, threads, clock in (("one", 1, time.process_time), ("all", None, time.perf_counter)):
        cv2.setNumThreads(threads or os.cpu_count())
        if part not in parts:
            continue
        print(f"\n{'one thread, CPU time' if threads else 'all cores, time'}, microseconds a call, least; fastest peer / imghist")
        ratios = []
        for size in sizes:
            height, width = SIZES[size]
            if height * width > most * 1e6 or (not threads and height * width < 1e6):
                continue
            for kind in kinds:
                if kind not in ("gray", "rgb") and height * width > 1e7:
                    continue
                for data in datas:
                    x, layout = make(data, kind, height, width, photo)
                    if threads:
                        check(x, layout)
                    for which in ways(x, layout, threads):
                        if which:
                            ratios.append(row(f"{size} {kind} {data}", least(which, clock)))
        print(f"least ratio {min(ratios):.2f}; below 0.95: {sum(r < 0.95 for r in ratios)} of {len(ratios)}")


if __name__ == "__main__":
    main()
