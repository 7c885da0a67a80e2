#!/usr/bin/env python3
"""Makes many damaged files from a few sources: make_damaged.py N[:SEED]|every DIRECTORY SOURCE...

N: writes DIRECTORY/00000 and so on. File i is source i mod (number of sources) with one kind of damage: cut,
one byte changed, a block of zeros, or a block of noise. The result depends only on N, SEED (0) and the sources,
which are sorted by name. Without a SEED, small PNGs and a progressive JPEG are made here and added.

every: writes each source, the JPEG and the first PNG, cut at every place as DIRECTORY/cut-NAME-00001 and so on,
and with each byte inverted as DIRECTORY/flip-NAME-00000 and so on.
"""
import pathlib
import random
import struct
import sys
import zlib


def png(width, height, depth, colour, interlaced=False):
    """An image of noise. Each row uses another filter."""
    noise = random.Random(depth * 8 + colour)
    n_samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]

    def rows(w, h):
        n_bytes = (w * n_samples * depth + 7) // 8
        return b"".join(bytes([y % 5]) + noise.randbytes(n_bytes) for y in range(h)) if w and h else b""

    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    if interlaced:
        pixels = b"".join(rows((width - x + dx - 1) // dx, (height - y + dy - 1) // dy) for x, y, dx, dy in passes)
    else:
        pixels = rows(width, height)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    palette = chunk(b"PLTE", bytes(range(3 << depth & 1023))) if colour == 3 and depth < 8 else b""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + palette + chunk(b"IDAT", zlib.compress(pixels)) +
            chunk(b"IEND", b""))


def progressive_jpeg():
    """A gray image of 64 x 64 pixels in two scans. All coefficients are 0."""
    segment = lambda marker, data: struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data
    one_code = lambda table, symbol: segment(0xC4, bytes([table, 1]) + bytes(15) + bytes([symbol]))
    scan = lambda first, last: segment(0xDA, bytes([1, 1, 0, first, last, 0]))
    return (b"\xff\xd8" + segment(0xDB, b"\0" + b"\1" * 64) +
            segment(0xC2, struct.pack(">BHHBBBB", 8, 64, 64, 1, 1, 0x11, 0)) +
            one_code(0, 0) + scan(0, 0) + bytes(8) + one_code(0x10, 0) + scan(1, 63) + bytes(8) + b"\xff\xd9")


def made():
    yield progressive_jpeg()
    for depth, colour in ((1, 0), (8, 0), (16, 0), (8, 2), (16, 2), (4, 3), (8, 4), (8, 6)):
        yield png(21, 13, depth, colour)
    yield png(21, 13, 8, 2, interlaced=True)


def damage(source, chance, kind):
    data = bytearray(source)
    at = chance.randrange(len(data))
    size = chance.randint(1, 64)
    if kind == 0:
        del data[at:]
    elif kind == 1:
        data[at] ^= chance.randint(1, 255)
    else:
        block = bytes(size) if kind == 2 else chance.randbytes(size)
        data[at : at + size] = block[: len(data) - at]
    return data


def make_every(directory, sources):
    few = list(made())
    files = {pathlib.Path(name).name: pathlib.Path(name).read_bytes() for name in sources}
    directory.mkdir()
    for name, data in (files | {"jpeg": few[0], "png": few[1]}).items():
        for i in range(len(data)):
            (directory / f"flip-{name}-{i:05}").write_bytes(data[:i] + bytes([data[i] ^ 255]) + data[i + 1 :])
            if i > 0:
                (directory / f"cut-{name}-{i:05}").write_bytes(data[:i])


def main():
    if sys.argv[1] == "every":
        make_every(pathlib.Path(sys.argv[2]), sys.argv[3:])
        return
    n, _, seed = sys.argv[1].partition(":")
    directory = pathlib.Path(sys.argv[2])
    sources = [pathlib.Path(name).read_bytes() for name in sorted(sys.argv[3:])] + ([] if seed else list(made()))
    directory.mkdir()
    for i in range(int(n)):
        chance = random.Random(int(seed or 0) * 2**32 + i)
        (directory / f"{i:05}").write_bytes(damage(sources[i % len(sources)], chance, i // len(sources) % 4))


if __name__ == "__main__":
    main()
