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


def result(kind, bins, head, words, numbers, texts, ranges=(0, 0, 0, 0)):
    body = bytes([kind, *head]) + struct.pack("<4I", *words) + struct.pack("<9Q", *numbers)
    for plane in bins:
        body += struct.pack("<256Q", *(plane.get(v, 0) for v in range(256)))
    return saved(body + b"".join(text_of(text) for text in texts) + struct.pack("<2H2I", *ranges))


def leb128(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + leb128(n >> 7)


def native(plane, n_bins):
    data, next_value = b"", 0
    for value, n in [*sorted(plane.items()), (n_bins, None)]:
        if value > next_value:
            data += b"\0" + leb128(value - next_value)
        if n:
            data += leb128(n)
        next_value = value + 1
    return data


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
# Native bins: 12-bit pixels 0 (200 times), 5, 6, 300, 4000, 4000 with alpha 4095; limits 5 and 4000.
deep = [{0: 200, 5: 1, 6: 1, 300: 1, 4000: 2}, {4095: 205}]
body = bytes([1, 2, 0, 0, 5, 4000 & 255, 0, 1]) + struct.pack("<4I", 12, 0, 0, 1)
body += struct.pack("<9Q", 41, 5, 1, 0, 205, 201, 2, 201, 2) + struct.pack("<BBI", 0, 4000 >> 8, 4096)
body += b"".join(native(plane, 4096) for plane in [*deep, deep[0]])
body += b"".join(text_of(text) for text in ["png", "libpng 1.6.39", "0.1.0", "", ""]) + struct.pack("<2H2I", 0, 0, 0, 4001)
for name, data in ("image", image), ("sum", total), ("part", part), ("empty", saved(b"\0")), ("native", saved(body, 3)):
    with open(f"{sys.argv[1]}/{name}.ihcounts", "wb") as f:
        f.write(data)
