"""Files of peers.sh: each peer counts the channels of all files of a kind on all cores, as its user would write it.

usage: files.py PROGRAM PHOTOS WORK. Two kinds of each format: photos, and small images cut from them. Every peer's counts of
every file are compared with imghist's first, except where the decoders round differently, which is said.
"""

import csv
import multiprocessing
import os
import subprocess
import sys
import time

import cv2
import ihist
import numpy
import pyvips
from PIL import Image

N_PHOTOS, N_SMALL, ROUNDS = int(os.environ.get("N_PHOTOS", 12)), int(os.environ.get("N_SMALL_FILES", 400)), 3
CORES = len(os.sched_getaffinity(0))


def pillow(path):
    with Image.open(path) as image:
        return image.convert("RGB").histogram()


def pillow_ihist(path):
    with Image.open(path) as image:
        return ihist.histogram(numpy.asarray(image.convert("RGB")), parallel=False).ravel().tolist()


def opencv(path):
    x = cv2.imread(path, cv2.IMREAD_COLOR)
    return [int(n) for c in (2, 1, 0) for n in cv2.calcHist([x], [c], None, [256], [0, 256]).ravel()]


def libvips(path):
    image = pyvips.Image.new_from_file(path, access="sequential", revalidate=True)
    image = image.colourspace("srgb") if image.format == "ushort" else image
    return numpy.frombuffer(image[0:3].hist_find().write_to_memory(), numpy.uint32).reshape(256, 3).T.ravel().tolist()


PEERS = {"Pillow": pillow, "Pillow + ihist": pillow_ihist, "OpenCV": opencv, "libvips": libvips}


def start():
    cv2.setNumThreads(1)
    pyvips.cache_set_max(0)
    os.environ["VIPS_CONCURRENCY"] = "1"


def make(photos, work):
    """{kind: paths}"""
    kinds = {}
    formats = {"jpg": {"quality": 90}, "png": {}, "webp": {"quality": 85}, "tif": {}}
    for size in ("photos", "small"):
        for ending, options in formats.items():
            folder = f"{work}/{size}-{ending}"
            kinds[f"{ending} {size}"] = folder
            if os.path.isdir(folder):
                continue
            made, folder = folder, folder + ".part"  # a run that is cut short leaves no half folder
            os.makedirs(folder, exist_ok=True)
            if size == "photos":
                for i, path in enumerate(photos):
                    Image.open(path).convert("RGB").crop((0, 0, 3000, 2000)).save(f"{folder}/{i:04}.{ending}", **options)
            else:
                images = [Image.open(path).convert("RGB") for path in photos]
                for i in range(N_SMALL):
                    image = images[i % len(images)]
                    left, top = 37 * i % (image.width - 256), 53 * i % (image.height - 256)
                    image.crop((left, top, left + 256, top + 256)).save(f"{folder}/{i:04}.{ending}", **options)
            os.rename(folder, made)
        folder = f"{work}/{size}-png16"
        kinds[f"16-bit png {size}"] = folder
        if not os.path.isdir(folder):
            made, folder = folder, folder + ".part"
            os.makedirs(folder, exist_ok=True)
            for name in sorted(os.listdir(f"{work}/{size}-png")):
                x = cv2.imread(f"{work}/{size}-png/{name}").astype(numpy.uint16) * 257
                cv2.imwrite(f"{folder}/{name}", x ^ numpy.arange(x.shape[1], dtype=numpy.uint16)[None, :, None] % 64)
            os.rename(folder, made)
    return kinds


def ours(program, folder, *options):
    command = [program, folder, "-q", "--luma=none", "--device=cpu", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check(program, folder):
    """The peers whose counts of every file are imghist's."""
    counts = {}
    for row in csv.reader(ours(program, folder, "--csv").splitlines()[1:]):
        counts.setdefault(row[0], []).extend(map(int, row[-256:]))
    return [n for n, peer in PEERS.items() if all(peer(path) == counts[path] for path in counts)]


def main():
    program, photos, work = sys.argv[1:]
    found = subprocess.run(["find", photos, "-name", "*.jpg", "-size", "+300k"], capture_output=True, text=True).stdout
    kinds = make(sorted(found.split("\n")[:-1])[:N_PHOTOS], work)
    start()
    print(f"\nfiles, {CORES} processes of Pillow, OpenCV, libvips and {CORES} threads of imghist --luma=none: seconds, least of {ROUNDS}")
    with multiprocessing.get_context("spawn").Pool(CORES, start) as pool:
        pool.map(len, [()] * 8)
        for kind, folder in kinds.items():
            paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
            same = check(program, folder)
            best = dict.fromkeys(["imghist", *PEERS], float("inf"))
            for _ in range(ROUNDS):
                for name in best:
                    started = time.perf_counter()
                    if name == "imghist":
                        ours(program, folder, "--csv")
                    else:
                        pool.map(PEERS[name], paths, chunksize=1 if len(paths) < 100 else 8)
                    best[name] = min(best[name], time.perf_counter() - started)
            fastest = min(t for name, t in best.items() if name != "imghist")
            texts = "".join(f"  {n} {t:.3f}" + ("" if n in same or n == "imghist" else "*") for n, t in best.items())
            print(f"{len(paths):5} {kind:18}{fastest / best['imghist']:6.2f} x{texts}", flush=True)
    print("* other counts: another decoder, upsampling or reduction to 8 bits")


if __name__ == "__main__":
    main()
