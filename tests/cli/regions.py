#!/usr/bin/python3
"""Counts regions and masks of generated images with imghist, and compares every bin with NumPy's.

usage: regions.py IMGHIST [DEVICE [KIND...]]

The pixels are made here. BMP, TGA, GIF, TIFF and interlaced PNG are written byte by byte, because their pixels may be stored in
several orders; Pillow writes the others, and reads JPEG. Prints the number of images and of comparisons. KIND... limits the images
to some kinds, for a build without all libraries.
"""
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import zlib

import numpy as np
from PIL import Image, features

IMGHIST, DEVICE, KINDS = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cpu", sys.argv[3:]
NAMES = {1: ["gray"], 2: ["gray", "alpha"], 3: ["red", "green", "blue"], 4: ["red", "green", "blue", "alpha"]}
ISOLATE = [] if "QEMU_LD_PREFIX" in os.environ else ["--isolate"]  # qemu-user has no sandbox
rng = np.random.default_rng(23)
random.seed(23)


# ---- files, from pixels [height][width][channels] ----

def png(a, interlaced):
    height, width, n = a.shape
    passes = [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2)]
    raw = b""
    for x, dx, y, dy in passes if interlaced else [(0, 1, 0, 1)]:
        part = a[y::dy, x::dx]
        if part.size:
            raw += b"".join(b"\0" + row.tobytes() for row in part)
    out = b"\x89PNG\r\n\x1a\n"
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[n], 0, 0, interlaced)
    for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(raw, 1)), (b"IEND", b"")):
        out += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return out


def bmp(a, top_down):
    height, width, _ = a.shape
    rows = a if top_down else a[::-1]
    body = b"".join(row[:, ::-1].tobytes() + b"\0" * (-3 * width % 4) for row in rows)
    head = struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, 24, 0, 0, 0, 0, 0, 0)
    return struct.pack("<2sIHHI", b"BM", 54 + len(body), 0, 0, 54) + head + body


def bmp_runs(indices, palette):
    """8 bits, run-length coded, bottom up: every second row ends early, as a gap of colour 0."""
    height, width = indices.shape
    body = b""
    for i, row in enumerate(indices[::-1]):
        last = width
        if i % 2:
            while last and row[last - 1] == 0:
                last -= 1
        body += b"".join(bytes([1, v]) for v in row[:last]) + b"\0\0"
    body += b"\0\1"
    colours = b"".join(bytes([b, g, r, 0]) for r, g, b in palette)
    offset = 54 + len(colours)
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, len(body), 0, 0, len(palette), 0)
    return struct.pack("<2sIHHI", b"BM", offset + len(body), 0, 0, offset) + head + colours + body


def tga(a, corner, runs):
    """corner: bits 4 and 5 of the descriptor, from the right and from the top."""
    height, width, n = a.shape
    rows = a if corner & 2 else a[::-1]
    rows = rows[:, ::-1] if corner & 1 else rows
    pixels = rows.reshape(-1, n)
    stored = pixels if n == 1 else pixels[:, [2, 1, 0] + [3] * (n == 4)]
    body = b"".join(b"\0" + p.tobytes() for p in stored) if runs else stored.tobytes()
    kind = (3 if n == 1 else 2) + (8 if runs else 0)
    return struct.pack("<BBBHHBHHHHBB", 0, 0, kind, 0, 0, 0, 0, 0, width, height, 8 * n, corner << 4 | 8 * (n == 4)) + body


def tiff(a, tile=None, rows=0, planar=False):
    """Tiles of this size, or strips of this many rows."""
    height, width, n = a.shape
    blocks = []
    for plane in (a[:, :, [c]] for c in range(n)) if planar else (a,):
        if tile:
            for y in range(0, height, tile[1]):
                for x in range(0, width, tile[0]):
                    block = rng.integers(0, 256, (tile[1], tile[0], plane.shape[2]), dtype=np.uint8)
                    part = plane[y:y + tile[1], x:x + tile[0]]
                    block[:part.shape[0], :part.shape[1]] = part
                    blocks.append(block.tobytes())
        else:
            blocks += [plane[y:y + rows].tobytes() for y in range(0, height, rows)]
    offsets, at = [], 8
    for block in blocks:
        offsets.append(at)
        at += len(block)
    sizes = [len(b) for b in blocks]
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [8] * n), (259, 3, [1]), (262, 3, [1 if n < 3 else 2]),
            (277, 3, [n]), (284, 3, [2 if planar else 1])]
    if n in (2, 4):
        tags.append((338, 3, [2]))
    if tile:
        tags += [(322, 4, [tile[0]]), (323, 4, [tile[1]]), (324, 4, offsets), (325, 4, sizes)]
    else:
        tags += [(273, 4, offsets), (278, 4, [rows]), (279, 4, sizes)]
    at += at % 2
    tags.sort()
    entries, extra, extra_at = b"", b"", at + 2 + 12 * len(tags) + 4
    for tag, kind, values in tags:
        data = struct.pack("<%d%s" % (len(values), "I" if kind == 4 else "H"), *values)
        if len(data) > 4:
            field = struct.pack("<I", extra_at + len(extra))
            extra += data
        else:
            field = data.ljust(4, b"\0")
        entries += struct.pack("<HHI", tag, kind, len(values)) + field
    body = b"".join(blocks).ljust(at - 8, b"\0")
    return struct.pack("<2sHI", b"II", 42, at) + body + struct.pack("<H", len(tags)) + entries + b"\0" * 4 + extra


def gif(indices, palette, screen, left, top, interlaced):
    """Codes of 9 bits, with a clear code before the table can grow."""
    height, width = indices.shape
    order = [y for start, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(start, height, step)]
    values = indices[order if interlaced else range(height)].ravel().tolist()
    codes = []
    for i, v in enumerate(values):
        if i % 100 == 0:
            codes.append(256)
        codes.append(v)
    codes.append(257)
    bits = sum(code << 9 * i for i, code in enumerate(codes))
    data = bits.to_bytes((9 * len(codes) + 7) // 8, "little")
    out = b"GIF89a" + struct.pack("<HHBBB", *screen, 0xF7, 0, 0) + bytes(v for c in palette for v in c).ljust(768, b"\0")
    out += struct.pack("<BHHHHB", 0x2C, left, top, width, height, 0x40 if interlaced else 0) + b"\x08"
    for i in range(0, len(data), 255):
        out += bytes([len(data[i:i + 255])]) + data[i:i + 255]
    return out + b"\0;"


def pillow(a, kind, **options):
    out = io.BytesIO()
    Image.fromarray(a[:, :, 0] if a.shape[2] == 1 else a).save(out, kind, **options)
    return out.getvalue()


def make(i):
    """Returns the name of an image, its bytes and its pixels."""
    height, width = random.choice([(random.randint(1, 40), random.randint(1, 40)), (random.randint(1, 150), random.randint(1, 150))])
    kinds = ["png", "adam7", "bmp", "bmp-top", "bmp-runs", "tga", "tiff-tiles", "tiff-strips", "gif", "ico", "pnm", "jpeg"]
    kinds += [k for k, has in (("webp", features.check("webp")), ("jp2", features.check("jpg_2000"))) if has]
    kinds = KINDS or kinds
    kind = kinds[i % len(kinds)]

    def noise(*channels):
        a = rng.integers(0, 256, (height, width, random.choice(channels)), dtype=np.uint8)
        if a.shape[2] in (2, 4):
            a[..., -1] *= rng.integers(0, 2, (height, width), dtype=np.uint8) # many pixels are transparent
        return a

    palette = rng.integers(0, 256, (256, 3), dtype=np.uint8)
    indices = rng.integers(0, 256, (height, width), dtype=np.uint8) * rng.integers(0, 2, (height, width), dtype=np.uint8)
    colours = [tuple(c) for c in palette.tolist()]
    if kind in ("png", "adam7"):
        a = noise(1, 2, 3, 4)
        return f"{i}.png", png(a, kind == "adam7"), a
    if kind in ("bmp", "bmp-top"):
        a = noise(3)
        return f"{i}.bmp", bmp(a, kind == "bmp-top"), a
    if kind == "bmp-runs":
        return f"{i}.bmp", bmp_runs(indices, colours), palette[indices]
    if kind == "tga":
        a = noise(1, 3, 4)
        stored = a if a.shape[2] > 1 else np.repeat(a, 3, 2)
        return f"{i}.tga", tga(stored, random.randrange(4), random.randrange(2)), stored
    if kind == "tiff-tiles":
        a = noise(1, 2, 3, 4)
        return f"{i}.tif", tiff(a, (16 * random.randint(1, 4), 16 * random.randint(1, 4)), planar=random.random() < 0.3), a
    if kind == "tiff-strips":
        a = noise(1, 2, 3, 4)
        return f"{i}.tif", tiff(a, rows=random.randint(1, height), planar=random.random() < 0.3), a
    if kind == "gif":
        left, top, right, below = (random.choice([0, random.randint(0, 9)]) for _ in range(4))
        a = palette[indices]
        if left + top + right + below:
            a = np.zeros((top + height + below, left + width + right, 4), np.uint8)
            a[top:top + height, left:left + width, :3] = palette[indices]
            a[top:top + height, left:left + width, 3] = 255
        return f"{i}.gif", gif(indices, colours, (a.shape[1], a.shape[0]), left, top, random.random() < 0.6), a
    if kind == "ico":
        a = noise(4)
        return f"{i}.ico", pillow(a, "ICO", sizes=[(width, height)], bitmap_format=random.choice(["bmp", "png"])), a
    if kind == "pnm":
        a = noise(1, 3)
        return f"{i}.pnm", pillow(a, "PPM"), a
    if kind == "jpeg":
        data = pillow(noise(1, 3), "JPEG", quality=90, progressive=random.random() < 0.5, subsampling=random.choice([0, 1, 2]))
        a = np.asarray(Image.open(io.BytesIO(data)))
        return f"{i}.jpg", data, a.reshape(height, width, -1)
    if kind == "webp":
        a = noise(3)
        return f"{i}.webp", pillow(a, "WEBP", lossless=True), a
    a = noise(1, 3)
    return f"{i}.jp2", pillow(a, "JPEG2000", irreversible=False), a


# ---- what the documentation says ----

def region_of(width, height):
    """A region in the image: the text, and the slices that the manual page says it means."""
    text, slices = [], []
    for n in (width, height):
        size_percent, start_percent = random.random() < 0.5, random.random() < 0.5
        start = random.randint(0, 99) if start_percent else random.randrange(n)
        first = start * n // 100 if start_percent else start
        if size_percent and start_percent:
            size = random.randint(1, 100 - start)
            last = (start + size) * n // 100
        elif size_percent:
            size = random.randint(1, 100)
            last = first + size * n // 100
        else:
            size = random.randint(1, n - first)
            last = first + size
        if last > n or last <= first:
            return region_of(width, height)
        text.append((f"{size}{'%' * size_percent}", f"{start}{'%' * start_percent}"))
        slices.append(slice(first, last))
    return "%sx%s+%s+%s" % (text[0][0], text[1][0], text[0][1], text[1][1]), slices


def compare(record, pixels, what):
    n = pixels.shape[1]
    wide = pixels.astype(np.int64)
    planes = dict(zip(NAMES[n], pixels.T))
    planes["luma"] = pixels[:, 0] if n < 3 else (13933 * wide[:, 0] + 46871 * wide[:, 1] + 4732 * wide[:, 2] + 32768) >> 16
    assert record["status"] == "ok", (what, record)
    assert record["pixels"] == len(pixels), (what, record["pixels"], len(pixels))
    assert [c["name"] for c in record["channels"]] == list(planes), what
    for channel in record["channels"]:
        expected = np.bincount(planes[channel["name"]], minlength=256).tolist()
        assert channel["histogram"] == expected, (what, channel["name"])
    colours = pixels[:, :1 if n < 3 else 3]
    assert record["clip"]["blown_any"] == int((colours == 255).any(axis=1).sum()), what
    assert record["clip"]["crushed_all"] == int((colours == 0).all(axis=1).sum()), what


def run(*arguments, code=0):
    done = subprocess.run([IMGHIST, "--ndjson", "-q", f"--device={DEVICE}", *arguments], capture_output=True, text=True)
    assert done.returncode == code, (arguments, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    images, n_compared = {}, 0
    for folder in ("images", "masks"):
        pathlib.Path(folder).mkdir()
    for i in range(220):
        name, data, pixels = make(i)
        mask = rng.integers(0, 3, pixels.shape[:2], dtype=np.uint8) * 100
        if i == 50:
            mask[:] = 0
        write = random.choice([lambda m: png(m, False), lambda m: png(m, True)])
        pathlib.Path("images", name).write_bytes(data)
        pathlib.Path("masks", random.choice([name, name.split(".")[0] + ".png"])).write_bytes(write(mask[:, :, None]))
        images[name] = (pixels, mask)
    # More than one stripe, and no whole number of rows in a stripe or a piece of a decoder process.
    big = rng.integers(0, 256, (1201, 1501, 3), dtype=np.uint8)
    mask = rng.integers(0, 2, big.shape[:2], dtype=np.uint8)
    for name, data in (("big-adam7.png", png(big, True)), ("big-tiles.tif", tiff(big, (256, 128))), ("big.bmp", bmp(big, False)),
                       ("big.tga", tga(big, 3, False))):
        if KINDS and name.endswith("tif") and "tiff-tiles" not in KINDS:
            continue
        pathlib.Path("images", name).write_bytes(data)
        pathlib.Path("masks", name).write_bytes(png(mask[:, :, None], name == "big.bmp"))
        images[name] = (big, mask)
    for extra in ([], ISOLATE):
        for record in run("--mask=masks", "images", *extra, code=1):
            pixels, mask = images[pathlib.Path(record["file"]).name]
            if not mask.any():
                assert record["error"] == "the mask selects no pixel of the image", record
                n_compared += 1
                continue
            assert record["mask"] == "masks" and "region" not in record
            compare(record, pixels[mask != 0], ("mask", record["file"], extra))
            n_compared += 1
        # Images of one column have no pixels there, and fail.
        for record in run("--mask=masks", "--region=50%x100%+33%+0", "--alpha=skip-transparent", "images", *extra, code=1):
            pixels, mask = images[pathlib.Path(record["file"]).name]
            width = pixels.shape[1]
            columns = slice(width * 33 // 100, width * 83 // 100)
            if columns.stop == columns.start:
                assert record["status"] == "error" and "does not lie in the image of 1 x" in record["error"], record
                continue
            pixels, mask = pixels[:, columns], mask[:, columns]
            if not mask.any():
                assert record["error"] == "the mask selects no pixel of the region", record
                n_compared += 1
                continue
            visible = pixels[..., -1] != 0 if pixels.shape[2] in (2, 4) else True
            compare(record, pixels[(mask != 0) & visible], ("both", record["file"], extra))
            n_compared += 1
    # One run for each image; not all of them where a run starts a GPU.
    for name, (pixels, mask) in list(images.items())[::1 if DEVICE == "cpu" else 8]:
        text, (columns, rows) = region_of(pixels.shape[1], pixels.shape[0])
        record, = run(f"--region={text}", f"images/{name}", *random.choice([[], ISOLATE]))
        assert record["region"] == text and (record["width"], record["height"]) == (pixels.shape[1], pixels.shape[0])
        compare(record, pixels[rows, columns].reshape(-1, pixels.shape[2]), (name, text))
        n_compared += 1
    print(f"{len(images)} images, {n_compared} comparisons")


main()
