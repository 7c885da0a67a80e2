"""opencv_histograms.py [--counts] N LIST: the per-channel histograms of the files that LIST names,
one a line, with OpenCV, in N threads. With --counts, prints PATH,CHANNEL,BIN_0,...,BIN_255 for each
file and channel.

imread gives the channels as stored; calcHist counts them, faster than numpy's bincount (tried), and
exactly up to 2^24 pixels a bin, where its floats end. Of 16-bit samples the upper 8 bits are counted.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import cv2

CHANNELS = {1: ("gray",), 2: ("gray", "alpha"), 3: ("blue", "green", "red"), 4: ("blue", "green", "red", "alpha")}


def count(path):
    """Returns the path and one array of 256 counts for each channel."""
    image = cv2.imread(path, cv2.IMREAD_UNCHANGED)
    if image is None:
        raise OSError(f"{path}: OpenCV does not read it")
    if image.itemsize == 2:
        image = (image >> 8).astype("uint8")
    n_channels = 1 if image.ndim == 2 else image.shape[2]
    return path, [cv2.calcHist([image], [c], None, [256], [0, 256]) for c in range(n_channels)]


def main():
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(cv2.__version__)
        return
    with_counts = arguments[0] == "--counts"
    workers, name = arguments[with_counts:]
    cv2.setNumThreads(1)  # the files are shared out, not the rows
    with open(name, encoding="utf-8") as file:
        paths = file.read().splitlines()
    with ThreadPoolExecutor(int(workers)) as executor:
        for path, histograms in executor.map(count, paths):
            for c, bins in enumerate(histograms if with_counts else ()):
                row = (str(int(n)) for n in bins.ravel())
                print(",".join([path, CHANNELS[len(histograms)][c], *row]))


if __name__ == "__main__":
    main()
