#!/usr/bin/env python3
"""Writes saved counts (ih_counts_save), from the layout in src/histogram/saved.h and without imghist.

The files are committed. usage: make.py FOLDER
"""
import struct
import sys


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def text_of(text):
    return bytes([len(text)]) + text.encode()


def saved(body, version=2):
    data = b"ihcounts" + struct.pack("<II", version, 16 + len(body) + 8) + body
    return data + struct.pack("<Q", fnv1a(data))


def runs_of(plane):
    """Runs of values that occur: where each begins, its length and its numbers."""
    starts = [v for v in sorted(plane) if v - 1 not in plane]
    data = struct.pack("<I", len(starts))
    for start in starts:
        end = next(v for v in range(start, 65537) if v not in plane)
        data += struct.pack("<II", start, end - start)
        data += struct.pack(f"<{end - start}Q", *(plane[v] for v in range(start, end)))
    return data


def result(kind, bins, head, words, numbers, texts, ranges=(0, 0, 0, 0), native=None):
    body = bytes([kind, *head]) + struct.pack("<4I", *words) + struct.pack("<9Q", *numbers)
    if native:
        body += struct.pack("<IHH", *native)
    for plane in bins:
        body += runs_of(plane) if native else struct.pack("<256Q", *(plane.get(v, 0) for v in range(256)))
    body += b"".join(text_of(text) for text in texts) + struct.pack("<2H2I", *ranges)
    return saved(body, 3 if native else 2)


# Pixels 0, 10, 10, 255 of a gray PNG with an ICC profile, counted with bt601 and the limits 5 and 250.
gray = {0: 1, 10: 2, 255: 1}
image = result(1, [gray, gray], [1, 1, 0, 5, 250, 0, 1], [8, 0, 1, 3], [2, 2, 1, 0, 4, 1, 1, 1, 1],
               ["png", "libpng 1.6.39", "0.1.0", "", ""])
# The sum of an RGBA image, 10 20 30 with alpha 5, and of a gray one, 255; skip-transparent.
planes = [{10: 1, 255: 1}, {20: 1, 255: 1}, {30: 1, 255: 1}, {5: 1}, {19: 1, 255: 1}]
total = result(2, planes, [4, 0, 1, 0, 255, 0, 0], [0, 0, 8, 0], [0, 0, 2, 1, 2, 0, 1, 0, 1], [""] * 5)
# The same gray, of 12-bit samples, of a region with a mask.
part = result(1, [gray, gray], [1, 0, 0, 0, 255, 0, 1], [16, 0, 0, 3], [3, 2, 1, 0, 4, 1, 1, 1, 1],
              ["png", "libpng 1.6.39", "0.1.0", "2x2+1+0", "masks/a.png"], (64, 940, 64, 941))
# The first without luma.
no_luma = result(1, [gray], [1, 2, 0, 5, 250, 0, 1], [8, 0, 1, 3], [2, 2, 1, 0, 4, 1, 1, 1, 1],
                 ["png", "libpng 1.6.39", "0.1.0", "", ""])
# Native: pixels 0, 1, 1, 4000, 4095 of a gray PGM of 12 bits, with the limits 0 and 4095.
deep = {0: 1, 1: 2, 4000: 1, 4095: 1}
native = result(1, [deep, deep], [1, 0, 0, 0, 0, 0, 1], [12, 0, 0, 0], [5, 1, 1, 0, 5, 1, 1, 1, 1],
                ["pnm", "imghist 0.1.0", "0.1.0", "", ""], (0, 0, 0, 4096), (4096, 0, 4095))
for name, data in ("no_luma", no_luma), ("image", image), ("sum", total), ("part", part), ("native", native), ("empty", saved(b"\0")):
    with open(f"{sys.argv[1]}/{name}.ihcounts", "wb") as f:
        f.write(data)
