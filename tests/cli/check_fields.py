"""check_fields.py make DIR, or clipped CSV SIGMA, or shares CSV LIMIT: writes PNM images of one row, and compares chosen
fields of --csv=stats with their samples, by the definitions.

check_fields.py copies DIR: writes images in several formats, some rotated and mirrored, and prints their fingerprints."""

import csv
import math
import os
import random
import struct
import sys
import zlib


def make(folder):
    """Flat areas, noise and a few far values, 1 to 60 pixels, of 8 and 16 bits."""
    r = random.Random(5)
    os.mkdir(folder)
    for i in range(40):
        top, n = (255, 65535)[i % 2], r.randrange(1, 60)
        middle, spread = r.uniform(0, top), r.choice([0, 2, top / 20, top])
        values = [r.uniform(0, top) if r.random() < 0.1 else r.gauss(middle, spread) for _ in range(n)]
        values = [min(max(round(v), 0), top) for v in values]
        with open(f"{folder}/{i:02}.pgm", "w", encoding="ascii") as f:
            f.write(f"P2 {n} 1 {top} {' '.join(map(str, values))}\n")


def samples(path):
    with open(path, encoding="ascii") as f:
        return sorted(map(int, f.read().split()[4:]))


def clipped(values, sigma):
    """Mean, median and deviation of what sigma_clip of astropy keeps without a limit of steps."""
    while values:
        n = len(values)
        mean, median = math.fsum(values) / n, (values[(n - 1) // 2] + values[n // 2]) / 2
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / n)
        kept = [v for v in values if abs(v - median) <= sigma * deviation]
        if len(kept) == n:
            return [mean, median, deviation]
        values = kept
    return ["", "", ""]


def shares(values, limit):
    return [sum(map(holds, values)) / len(values) for holds in
            (lambda v: v <= limit, lambda v: v < limit, lambda v: v >= limit, lambda v: v > limit)]


def fingerprint(pixels, alphas=None):
    """FNV-1a of the name of the type and of 64-bit numbers, as imghist-formats(5) says."""
    planes = [*zip(*pixels)] + ([alphas] if alphas and set(alphas) != {255} else [])
    planes.append([(13933 * r + 46871 * g + 4732 * b + 32768) >> 16 for r, g, b in pixels])
    numbers = [256, len(pixels)]
    for plane in planes:
        for value in sorted(set(plane)):
            numbers += [value, plane.count(value)]
        numbers += [0, 0, 0, 0]
    value = 0xCBF29CE484222325
    for byte in b"uint8\0" + b"".join(struct.pack("<Q", n) for n in numbers):
        value = (value ^ byte) * 0x100000001B3 & 2**64 - 1
    return f"{value:016x}"


def png(width, height, pixels):
    rows = b"".join(b"\0" + bytes(sum(pixels[i * width:(i + 1) * width], ())) for i in range(height))
    chunks = [(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)


def bmp(width, height, pixels):
    rows = [bytes(v for p in pixels[i * width:(i + 1) * width] for v in p[::-1]) for i in reversed(range(height))]
    data = b"".join(row + bytes(-len(row) % 4) for row in rows)
    return struct.pack("<2sI4xI", b"BM", 54 + len(data), 54) + struct.pack("<3I2H6I", 40, width, height, 1, 24, *[0] * 6) + data


def pam(width, height, pixels, alphas):
    head = f"P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH 4\nMAXVAL 255\nENDHDR\n"
    return head.encode() + bytes(v for p, a in zip(pixels, alphas) for v in (*p, a))


def copies(folder):
    """Prints the groups that imghist has to find, in the order of their first images."""
    r = random.Random(3)
    os.mkdir(folder)
    for k in range(3):
        w, h = r.randrange(2, 9), r.randrange(2, 9)
        pixels = [tuple(r.randrange(0, 256, 5) for _ in range(3)) for _ in range(w * h)]
        grays = [(p[0],) * 3 for p in pixels]
        alphas = [r.choice([0, 255, 100]) for _ in range(w * h - 1)] + [9]
        quarter = [pixels[(h - 1 - x) * w + y] for y in range(w) for x in range(h)]  # h x w
        mirrored = [pixels[y * w + w - 1 - x] for y in range(h) for x in range(w)]
        moved = [(p[0], p[1], pixels[i - 1][2]) for i, p in enumerate(pixels)]  # channels alike, another luma
        files = [
            ("colour", fingerprint(pixels), {"a.png": png(w, h, pixels), "b.bmp": bmp(w, h, pixels), "d.bmp": bmp(w, h, mirrored),
             "c.ppm": f"P6 {h} {w} 255\n".encode() + bytes(sum(quarter, ())), "e.pam": pam(w, h, pixels, [255] * w * h)}),
            ("alpha", fingerprint(pixels, alphas), {"a.pam": pam(w, h, pixels, alphas)}),
            ("gray", fingerprint(grays), {"a.pgm": f"P5 {w} {h} 255\n".encode() + bytes(p[0] for p in grays),
             "b.png": png(w, h, grays)}),
            ("moved", fingerprint(moved), {"a.png": png(w, h, moved)}),
        ]
        for name, expected, images in files:
            for ending, data in sorted(images.items()):
                with open(f"{folder}/{k}{name}_{ending}", "wb") as f:
                    f.write(data)
                print(f"{expected},{folder}/{k}{name}_{ending}")


def main(what, path, *rest):
    if what in ("make", "copies"):
        return {"make": make, "copies": copies}[what](path)
    expect = clipped if what == "clipped" else shares
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == 80  # gray, and its luma
    for row in rows:
        wanted = expect(samples(row["file"]), float(rest[0]))
        got = list(row.values())[-len(wanted):]
        assert all(g == w or (g and w != "" and abs(float(g) - w) < 6e-7) for g, w in zip(got, wanted)), (row, wanted)
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
