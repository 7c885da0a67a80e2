"""small_jpegs.py PHOTOS MADE N ALL NAMES [SIDE]: makes N small JPEG files of crops of the photos in the
folder MADE, and NAMES hard links to them in folders of ALL. Crops are SIDE x SIDE, or 500x375 for the
most part. The same arguments make the same files."""

import glob
import os
import random
import sys
from multiprocessing import Pool

from PIL import Image

photos, made, n, everything, names, *side = sys.argv[1:]
n, names = int(n), int(names)
sources = sorted(glob.glob(f"{photos}/*.jp*g"))
SIZES = [(int(side[0]),) * 2] if side else [(500, 375)] * 6 + [(500, 333), (375, 500), (480, 360), (500, 400)]


def make(index):
    rng = random.Random(index)
    image = Image.open(sources[index]).convert("RGB")
    for i in range(index, n, len(sources)):
        width = rng.randint(500, min(image.width, image.height * 4 // 3))
        width, height = (width * 3 // 4,) * 2 if side else (width, width * 3 // 4)
        x, y = rng.randint(0, image.width - width), rng.randint(0, image.height - height)
        box = (x, y, x + width, y + height)
        small = image.resize(rng.choice(SIZES), Image.BICUBIC, box, reducing_gap=2.0)
        small.save(f"{made}/{i:06}.jpg", quality=rng.randint(75, 92))


def link(folder):
    os.mkdir(f"{everything}/{folder:04}")
    for i in range(folder * 1000, min(folder * 1000 + 1000, names)):
        os.link(f"{made}/{i % n:06}.jpg", f"{everything}/{folder:04}/{i:06}.jpg")


if __name__ == "__main__":
    with Pool() as pool:
        pool.map(make, range(len(sources)), 1)
        pool.map(link, range((names + 999) // 1000), 1)
