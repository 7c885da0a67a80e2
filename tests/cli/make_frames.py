#!/usr/bin/env python3
"""make_frames.py gif|tiff FILE NAME SEED [part]: writes an animation or a file of pages, and prints its frames' histograms as
imghist's "NAME#k,channel,bin,count", without luma and without empty bins. The frames are composed here, by GIF89a's rules.
part: those of the region 50%x67%+50%+33% of each frame.
make_frames.py pillow FILE NAME: prints the same as Pillow shows the frames.
"""
import random
import struct
import sys
import zlib
from collections import Counter

CHANNELS = {1: ["gray"], 3: ["red", "green", "blue"], 4: ["red", "green", "blue", "alpha"]}


def show(name, k, pixels, n_channels, width):
    if sys.argv[5:] == ["part"]:
        height = len(pixels) // width
        pixels = [p for i, p in enumerate(pixels) if i % width >= width // 2 and i // width >= height * 33 // 100]
    for c, channel in enumerate(CHANNELS[n_channels]):
        for value, count in sorted(Counter(p[c] for p in pixels).items()):
            print(f"{name}#{k},{channel},{value},{count}")


def lzw(indices):
    """Codes of 9 bits with a clear code before each 200 pixels, so that the codes do not grow."""
    bits, n = 0, 0
    for i, index in enumerate(indices):
        for code in ([256] if i % 200 == 0 else []) + [index]:
            bits |= code << n
            n += 9
    bits |= 257 << n
    data = bits.to_bytes((n + 9 + 7) // 8, "little")
    return b"\x08" + b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255)) + b"\0"


def gif(file, name, seed):
    """Odd seeds make what Pillow composes alike. It fills with the background colour where nothing is transparent."""
    r = random.Random(seed)
    for_pillow = seed % 2
    width, height = r.randrange(3, 20), r.randrange(3, 20)
    palettes = [bytes([0, 0, 0] + [r.randrange(256) for _ in range(3 * 255)]) for _ in range(3)]
    out = b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF7, 0, 0) + palettes[0]
    shown, n_channels = {}, 3
    for k in range(1, 9):
        covers = for_pillow and k == 1
        x, y = (0, 0) if covers else (r.randrange(width), r.randrange(height))
        w, h = (width, height) if covers else (r.randrange(1, width - x + 1), r.randrange(1, height - y + 1))
        if not for_pillow and k == 5:  # beyond the screen
            x, w = width - 1, 4
        transparent = 0 if for_pillow or r.randrange(2) else None
        disposal, interlaced, local = r.randrange(4), r.randrange(2), r.randrange(3)
        if for_pillow:  # takes 0, no disposal, for that of the frame before
            disposal = max(disposal, 1)
        indices = [r.choice([0, r.randrange(256)]) for _ in range(w * h)]
        out += b"\x21\xF9\x04" + struct.pack("<BHBB", disposal << 2 | (transparent is not None), 10, transparent or 0, 0)
        out += b"\x2C" + struct.pack("<HHHHB", x, y, w, h, (0x87 if local else 0) | (0x40 if interlaced else 0))
        out += palettes[local] if local else b""
        rows = list(range(h))
        if interlaced:
            rows = rows[0::8] + rows[4::8] + rows[2::4] + rows[1::2]
        out += lzw([indices[row * w + i] for row in rows for i in range(w)])
        width, height = max(width, x + w), max(height, y + h)
        before = dict(shown)
        for i, index in enumerate(indices):
            if index != transparent:
                shown[x + i % w, y + i // w] = tuple(palettes[local][3 * index:3 * index + 3]) + (255,)
        pixels = [shown.get((i % width, i // width), (0, 0, 0, 0)) for i in range(width * height)]
        has_alpha = transparent is not None or w * h < width * height if k == 1 else any(p[3] == 0 for p in pixels)
        n_channels = 4 if has_alpha else n_channels
        show(name, k, pixels, n_channels, width)
        if disposal == 2:
            for i in range(w * h):
                shown.pop((x + i % w, y + i // w), None)
        elif disposal == 3:
            shown = before
    open(file, "wb").write(out + b"\x3B")


def tiff(file, name, seed):
    """Pages of one strip, or of tiles of 16 x 16 which are filled with 99; some are deflated."""
    r = random.Random(seed)
    order = "<>"[seed % 2]
    out = bytearray({"<": b"II*\0", ">": b"MM\0*"}[order] + bytes(4))
    link = 4
    for k in range(1, 7):
        w, h, n, planar = r.randrange(1, 40), r.randrange(1, 40), r.choice([1, 3]), r.choice([1, 2])
        tiled, compression = r.randrange(2), r.choice([1, 8])
        pixels = [tuple(r.randrange(256) for _ in range(n)) for _ in range(w * h)]
        blocks = [(0, 0, w, h)]
        if tiled:
            blocks = [(x, y, 16, 16) for y in range(0, h, 16) for x in range(0, w, 16)]
        data = []
        for channels in [[c] for c in range(n)] if planar == 2 else [range(n)]:
            for x0, y0, across, down in blocks:
                data.append(bytes(pixels[y * w + x][c] if x < w and y < h else 99 for y in range(y0, y0 + down)
                                  for x in range(x0, x0 + across) for c in channels))
        data = [zlib.compress(d) if compression == 8 else d for d in data]
        offsets = []
        for d in data:
            offsets.append(len(out))
            out += d
        arrays = len(out) + len(out) % 2
        out += bytes(arrays - len(out)) + struct.pack(f"{order}{n}H", *[8] * n)
        tables = len(out)
        out += struct.pack(f"{order}{2 * len(data)}I", *offsets, *map(len, data))
        many = len(data) > 1
        at = (4, len(data), tables if many else offsets[0])
        sizes = (4, len(data), tables + 4 * len(data) if many else len(data[0]))
        tags = [(254, 4, 1, int(k == 3)), (256, 4, 1, w), (257, 4, 1, h), (258, 3, n, arrays if n > 2 else 8),
                (259, 3, 1, compression), (262, 3, 1, 2 if n == 3 else 1), (277, 3, 1, n), (284, 3, 1, planar)]
        tags += [(322, 4, 1, 16), (323, 4, 1, 16), (324, *at), (325, *sizes)] if tiled else [(273, *at), (278, 4, 1, h),
                                                                                              (279, *sizes)]
        struct.pack_into(f"{order}I", out, link, len(out))
        out += struct.pack(f"{order}H", len(tags))
        for tag, kind, count, value in sorted(tags):
            short = kind == 3 and count == 1
            out += struct.pack(f"{order}HHI", tag, kind, count) + struct.pack(f"{order}{'HH' if short else 'I'}",
                                                                             *([value, 0] if short else [value]))
        link = len(out)
        out += bytes(4)
        show(name, k, pixels, n, w)
    open(file, "wb").write(out)


def pillow(file, name):
    from PIL import Image

    image, n_channels = Image.open(file), 3
    for k in range(image.n_frames):
        image.seek(k)
        pixels = list(image.convert("RGBA").getdata())
        if image.format == "GIF":  # what is cleared has the background's colour in Pillow
            pixels = [p if p[3] else (0, 0, 0, 0) for p in pixels]
        has_alpha = any(p[3] < 255 for p in pixels) or "transparency" in image.info or image.mode == "RGBA"
        n_channels = 4 if has_alpha else n_channels
        show(name, k + 1, pixels, n_channels, image.size[0])


if sys.argv[1] == "pillow":
    pillow(sys.argv[2], sys.argv[3])
else:
    {"gif": gif, "tiff": tiff}[sys.argv[1]](sys.argv[2], sys.argv[3], int(sys.argv[4]))
