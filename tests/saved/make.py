#!/usr/bin/env python3
"""Writes saved counts (ih_counts_save) of every version, from the layout in src/histogram/saved.h and without imghist.

The files are committed and stay as they are: later versions must read them. usage: make.py FOLDER
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


def version_1(kind, bins, head, words, numbers, texts, version=1, more=b""):
    body = bytes([kind, *head]) + struct.pack("<4I", *words) + struct.pack("<9Q", *numbers)
    for plane in bins:
        body += struct.pack("<256Q", *(plane.get(v, 0) for v in range(256)))
    body += b"".join(text_of(text) for text in texts) + more
    data = b"ihcounts" + struct.pack("<II", version, 16 + len(body) + 8) + body
    return data + struct.pack("<Q", fnv1a(data))


# Pixels 0, 10, 10, 255 of a gray PNG with an ICC profile, counted with bt601 and the limits 5 and 250.
gray = {0: 1, 10: 2, 255: 1}
image = version_1(1, [gray, gray], [1, 1, 0, 5, 250, 0, 1], [8, 0, 1, 3], [2, 2, 1, 0, 4, 1, 1, 1, 1],
                  ["png", "libpng 1.6.39", "0.1.0"])
# The sum of an RGBA image, 10 20 30 with alpha 5, and of a gray one, 255; skip-transparent.
planes = [{10: 1, 255: 1}, {20: 1, 255: 1}, {30: 1, 255: 1}, {5: 1}, {19: 1, 255: 1}]
total = version_1(2, planes, [4, 0, 1, 0, 255, 0, 0], [0, 0, 8, 0], [0, 0, 2, 1, 2, 0, 1, 0, 1], ["", "", ""])
# The same gray, of 12-bit samples, of a region with a mask.
region = text_of("2x2+1+0") + text_of("masks/a.png") + struct.pack("<2H2I", 64, 940, 64, 941)
part = version_1(1, [gray, gray], [1, 0, 0, 0, 255, 0, 1], [16, 0, 16, 3], [3, 2, 1, 0, 4, 1, 1, 1, 1],
                 ["png", "libpng 1.6.39", "0.1.0"], 2, region)
folder = sys.argv[1]
for name, data in ("image-1", image), ("sum-1", total), ("image-2", part):
    with open(f"{folder}/{name}.ihcounts", "wb") as f:
        f.write(data)
empty = b"ihcounts" + struct.pack("<II", 1, 25) + b"\0"
with open(f"{folder}/empty-1.ihcounts", "wb") as f:
    f.write(empty + struct.pack("<Q", fnv1a(empty)))
