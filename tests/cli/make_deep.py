#!/usr/bin/env python3
"""make_deep.py files: writes images that hold every 16-bit value once in each colour, in the current directory.
make_deep.py files LOW HIGH: the same with colours from LOW to HIGH; alpha still has every value.
make_deep.py expected FILE LOW HIGH: prints the histogram of such a file as "channel,bin,count", without luma and empty
bins, if LOW to HIGH become 0 to 255, rounded half up. Alpha is 0 to 65535.
"""
import struct
import sys
import zlib
from collections import Counter

N = 65536
CHANNELS = {1: ["gray"], 2: ["gray", "alpha"], 3: ["red", "green", "blue"], 4: ["red", "green", "blue", "alpha"]}
# name: the channels of the file
FILES = {"a.pgm": 1, "rgba.pam": 4, "gray.png": 1, "ga.png": 2, "rgb.png": 3, "rgba.png": 4, "interlaced.png": 3,
         "gray.tif": 1, "rgba.tif": 4, "planes.tif": 3, "gray.psd": 1, "rgba.psd": 4}
FACTORS = [1, 3, 5, 7]  # odd, so that every channel has every value once, in its own order


def samples(n_channels):
    planes = [[i * f % N for i in range(N)] for f in FACTORS[:n_channels]]
    if sys.argv[1] == "files" and len(sys.argv) > 2:
        low, high = int(sys.argv[2]), int(sys.argv[3])
        for plane, channel in zip(planes, CHANNELS[n_channels]):
            if channel != "alpha":
                plane[:] = [low + v % (high - low + 1) for v in plane]
    return planes


def interleaved(n_channels):
    return [v for pixel in zip(*samples(n_channels)) for v in pixel]


def png(name, n):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    planes = samples(n)
    at = lambda x, y: struct.pack(f">{n}H", *[p[256 * y + x] for p in planes])
    adam7 = [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2)]
    passes = adam7 if name.startswith("interlaced") else [(0, 1, 0, 1)]
    rows = b"".join(b"\0" + b"".join(at(x, y) for x in range(x0, 256, dx))
                    for x0, dx, y0, dy in passes for y in range(y0, 256, dy))
    header = struct.pack(">IIBBBBB", 256, 256, 16, {1: 0, 2: 4, 3: 2, 4: 6}[n], 0, 0, len(passes) > 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def tiff(name, n):
    planar = name.startswith("planes")
    data = [struct.pack(f"<{N}H", *p) for p in samples(n)] if planar else [struct.pack(f"<{N * n}H", *interleaved(n))]
    body = b"".join(data)
    offsets = [8 + i * len(data[0]) for i in range(len(data))]
    arrays = 8 + len(body)
    out = b"II*\0" + struct.pack("<I", arrays + 2 * n + 8 * len(data)) + body + struct.pack(f"<{n}H", *[16] * n)
    out += struct.pack(f"<{2 * len(data)}I", *offsets, *map(len, data))
    many = len(data) > 1
    tags = [(256, 4, 1, 256), (257, 4, 1, 256), (258, 3, n, arrays if n > 2 else 16), (259, 3, 1, 1),
            (262, 3, 1, 2 if n > 2 else 1), (273, 4, len(data), arrays + 2 * n if many else 8), (277, 3, 1, n),
            (278, 4, 1, 256), (279, 4, len(data), arrays + 2 * n + 4 * len(data) if many else len(body)),
            (284, 3, 1, 2 if planar else 1)] + ([(338, 3, 1, 2)] if n == 4 else [])
    return out + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags) + bytes(4)


def psd(n):
    header = b"8BPS" + struct.pack(">H6xHIIHH", 1, n, 256, 256, 16, 3 if n > 2 else 1)
    return header + bytes(12) + bytes(2) + b"".join(struct.pack(f">{N}H", *p) for p in samples(n))


def write(name, n):
    kind = name.split(".")[1]
    big = struct.pack(f">{N * n}H", *interleaved(n))
    if kind == "pgm":
        return b"P5 256 256 65535\n" + big
    if kind == "pam":
        return b"P7\nWIDTH 256\nHEIGHT 256\nDEPTH 4\nMAXVAL 65535\nTUPLTYPE RGB_ALPHA\nENDHDR\n" + big
    return png(name, n) if kind == "png" else tiff(name, n) if kind == "tif" else psd(n)


if sys.argv[1] == "files":
    for name, n in FILES.items():
        open(name, "wb").write(write(name, n))
else:
    low, high = int(sys.argv[3]), int(sys.argv[4])
    n = FILES[sys.argv[2].split("/")[-1]]
    for channel, values in zip(CHANNELS[n], samples(n)):
        lo, hi = (0, 65535) if channel == "alpha" else (low, high)
        clamped = [min(max(v, lo), hi) - lo for v in values]
        for value, count in sorted(Counter((2 * 255 * v + hi - lo) // (2 * (hi - lo)) for v in clamped).items()):
            print(f"{channel},{value},{count}")
