"""pillow_histograms.py [--counts] threads|processes N LIST: the per-channel histograms of the files
that LIST names, one a line, with Pillow, in N threads or processes. With --counts, prints
PATH,CHANNEL,BIN_0,...,BIN_255 for each file and channel.

What its users do: Image.histogram(), after a palette is turned into colours. Threads run side by
side while Pillow decodes and counts, for it lets go of the interpreter's lock there.
"""

import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import PIL
from PIL import Image, features

Image.MAX_IMAGE_PIXELS = None
CHANNELS = {"L": "gray", "1": "gray", "R": "red", "G": "green", "B": "blue", "A": "alpha"}


def count(path):
    """Returns the path, the names of the channels, and their bins one after the other."""
    with Image.open(path) as image:
        if image.mode == "P":
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        return path, image.getbands(), image.histogram()


def main():
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"{PIL.__version__}, libjpeg-turbo {features.version('libjpeg_turbo')}, zlib {features.version('zlib')}")
        return
    with_counts = arguments[0] == "--counts"
    kind, workers, name = arguments[with_counts:]
    with open(name, encoding="utf-8") as file:
        paths = file.read().splitlines()
    pool = ThreadPoolExecutor if kind == "threads" else ProcessPoolExecutor
    with pool(int(workers)) as executor:
        for path, bands, bins in executor.map(count, paths):
            for c, band in enumerate(bands if with_counts else ()):
                row = bins[256 * c : 256 * (c + 1)]
                print(",".join([path, CHANNELS.get(band, band), *map(str, row)]))


if __name__ == "__main__":
    main()
