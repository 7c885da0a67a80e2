#!/usr/bin/env python3
"""make_frames.py gif|tiff|stack|png FILE NAME SEED [part]: writes an animation or a file of pages, and prints its frames' histograms
as imghist's "NAME#k,channel,bin,count", without luma and without empty bins. The frames are composed here, by the rules of GIF89a;
of an animated PNG only the first image is printed.
part: those of the region 50%x67%+50%+33% of each frame.
make_frames.py pillow FILE NAME: prints the same as Pillow shows the frames.
make_frames.py jpeg FIRST SECOND KIND FILE: a JPEG file with a second picture: a stereo pair, a large thumbnail, or a gain map of
Adobe, ISO or Apple, as CIPA DC-007-2009, Ultra HDR 1.1, ISO 21496-1 and Apple's files have them.
"""
import random
import struct
import sys
import zlib
from collections import Counter

CHANNELS = {1: ["gray"], 2: ["gray", "alpha"], 3: ["red", "green", "blue"], 4: ["red", "green", "blue", "alpha"]}


def show(name, k, pixels, n_channels, width):
    if sys.argv[5:] == ["part"]:
        height = len(pixels) // width
        pixels = [p for i, p in enumerate(pixels) if i % width >= width // 2 and i // width >= height * 33 // 100]
    for c, channel in enumerate(CHANNELS[n_channels]):
        at = 3 if channel == "alpha" else c
        for value, count in sorted(Counter(p[at] for p in pixels).items()):
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
    """Pages of one strip, or of tiles of 16 x 16 which are filled with 99; some are deflated. Some are smaller copies or
    transparency masks, which are no images: by NewSubfileType (254), SubfileType (255) or the colour space 4."""
    r = random.Random(seed)
    order = "<>"[seed % 2]
    out = bytearray({"<": b"II*\0", ">": b"MM\0*"}[order] + bytes(4))
    link, n_images = 4, 0
    for no_image in [{}, {254: 2}, {254: 1}, {254: 4, 262: 4}, {}, {254: 5, 262: 4}, {255: 2}, {262: 4}, {254: 4}, {255: 3}]:
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
        tags = [(256, 4, 1, w), (257, 4, 1, h), (258, 3, n, arrays if n > 2 else 8),
                (259, 3, 1, compression), (262, 3, 1, 2 if n == 3 else 1), (277, 3, 1, n), (284, 3, 1, planar)]
        tags = [t for t in tags if t[0] not in no_image] + [(tag, 4 if tag == 254 else 3, 1, v) for tag, v in no_image.items()]
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
        if no_image in ({}, {254: 2}, {255: 3}):  # 2 and 3: a page of several
            n_images += 1
            show(name, n_images, pixels, n, w)
    open(file, "wb").write(out)


def stack(file, name, seed):
    """As ImageJ writes more than 4 GiB: one directory, then the slices, each of one strip, two strips or three planes."""
    r = random.Random(seed)
    order, wide, kind = "<>"[seed // 2 % 2], seed % 2, ["strip", "strips", "planes"][seed % 3]
    n, planar = (3, 2) if kind == "planes" else (r.choice([1, 3]), 1)
    w, h, n_slices = r.randrange(1, 9), r.randrange(2, 9), r.randrange(2, 7)
    text = f"ImageJ=1.54f\nimages={n_slices}\nslices={n_slices}\nmode=grayscale\n".encode() + b"\0"
    strip_rows = (h + 1) // 2 if kind == "strips" else h
    row_bytes = w * (1 if planar == 2 else n) * (1 + wide)
    sizes = {"strip": [row_bytes * h], "strips": [row_bytes * strip_rows, row_bytes * (h - strip_rows)],
             "planes": [row_bytes * h] * 3}[kind]
    n_strips = len(sizes)
    at = 8 + 2 + 12 * 11 + 4
    bits_at, text_at, tables_at = at, at + 6, at + 6 + len(text) + len(text) % 2
    first = tables_at + 8 * n_strips
    offsets = [first + sum(sizes[:i]) for i in range(n_strips)]
    tags = [(256, 4, 1, w), (257, 4, 1, h), (258, 3, n, bits_at if n > 2 else 8 + 8 * wide), (259, 3, 1, 1),
            (262, 3, 1, 2 if n == 3 else 1), (270, 2, len(text), text_at),
            (273, 4, n_strips, tables_at if n_strips > 1 else first), (277, 3, 1, n), (278, 4, 1, strip_rows),
            (279, 4, n_strips, tables_at + 4 * n_strips if n_strips > 1 else sizes[0]), (284, 3, 1, planar)]
    out = {"<": b"II*\0", ">": b"MM\0*"}[order] + struct.pack(f"{order}IH", 8, len(tags))
    for tag, kind, count, value in tags:
        out += struct.pack(f"{order}HHI", tag, kind, count)
        out += struct.pack(f"{order}HH", value, 0) if kind == 3 and count == 1 else struct.pack(f"{order}I", value)
    out += bytes(4) + struct.pack(f"{order}3H", *[8 + 8 * wide] * 3) + text
    out = out.ljust(tables_at, b"\0") + struct.pack(f"{order}{2 * n_strips}I", *offsets, *sizes)
    high = 65535 if wide else 255
    for k in range(1, n_slices + 1):
        pixels = [tuple(r.randrange(high + 1) for _ in range(n)) for _ in range(w * h)]
        samples = [p[c] for c in range(n) for p in pixels] if planar == 2 else [s for p in pixels for s in p]
        out += struct.pack(f"{order}{len(samples)}{'H' if wide else 'B'}", *samples)
        show(name, k, [tuple((s * 510 + high) // (2 * high) for s in p) for p in pixels], n, w)
    open(file, "wb").write(out)


def png_data(rows, depth, interlaced):
    """A zlib stream of rows of pixels, each a tuple of samples of this depth."""
    passes = [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2)]
    out = b""
    for x, x_step, y, y_step in passes if interlaced else [(0, 1, 0, 1)]:
        for row in rows[y::y_step]:
            samples = [s for pixel in row[x::x_step] for s in pixel]
            bits = "".join(format(s, f"0{depth}b") for s in samples)
            bits += "0" * (-len(bits) % 8)
            if samples:
                out += b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")
    return zlib.compress(out)


def png(file, name, seed):
    """Shows the first image alone, which of some seeds is no frame of the animation."""
    r = random.Random(seed)
    width, height, interlaced = r.randrange(3, 20), r.randrange(3, 20), r.randrange(2)
    colour, depth = r.choice([(0, 1), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 2), (3, 8), (4, 8), (4, 16), (6, 8), (6, 16)])
    is_gray, has_alpha, top = colour in (0, 4), colour in (4, 6), 2**depth - 1
    n_samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    has_key = not has_alpha and r.randrange(2)
    palette = [tuple(r.randrange(256) for _ in range(3)) + (r.randrange(256) if has_key else 255,) for _ in range(2**depth)]
    key = tuple(r.randrange(2) * top for _ in range(n_samples))
    separate = r.randrange(2)
    sequence = 0

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def numbered(kind, data):
        nonlocal sequence
        sequence += 1
        return chunk(kind, struct.pack(">I", sequence - 1) + data)

    def rgba(pixel):
        if colour == 3:
            return palette[pixel[0]]
        eight = [(2 * s * 255 + top) // (2 * top) for s in pixel]
        alpha = eight[-1] if has_alpha else 0 if has_key and pixel == key else 255
        return (eight[0],) * 3 + (alpha,) if is_gray else (*eight[:3], alpha)

    n_frames = 8
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    out += chunk(b"acTL", struct.pack(">II", n_frames, 0)) + chunk(b"tEXt", b"key\0text")
    if colour == 3:
        out += chunk(b"PLTE", b"".join(bytes(p[:3]) for p in palette))
    if has_key:
        out += chunk(b"tRNS", bytes(p[3] for p in palette) if colour == 3 else struct.pack(f">{n_samples}H", *key))
    n_channels = (1 if is_gray else 3) + (has_alpha or has_key)
    for k in range(1, n_frames + separate + 1):
        covers = k == 1
        x, y = (0, 0) if covers else (r.randrange(width), r.randrange(height))
        w, h = (width, height) if covers else (r.randrange(1, width - x + 1), r.randrange(1, height - y + 1))
        if not (covers and separate):
            out += numbered(b"fcTL", struct.pack(">IIIIHHBB", w, h, x, y, 1, 10, r.randrange(3), r.randrange(2)))
        rows = [[tuple(r.choice([0, top, r.randrange(top + 1)]) for _ in range(n_samples)) for _ in range(w)] for _ in range(h)]
        if covers:
            show(name, 1, [rgba(pixel) for row in rows for pixel in row], n_channels, width)
        data = png_data(rows, depth, interlaced)
        cuts = sorted([0, len(data)] + [r.randrange(len(data)) for _ in range(r.randrange(3))])
        for start, end in zip(cuts, cuts[1:]):
            out += chunk(b"IDAT", data[start:end]) if covers else numbered(b"fdAT", data[start:end])
        out += chunk(b"teST", b"between") if k % 3 == 0 else b""
    open(file, "wb").write(out + chunk(b"IEND", b""))


def jpeg(first, second, kind, file):
    """The index of both pictures stands in the first, big-endian for thumbnails and little-endian for others."""
    first, second = open(first, "rb").read(), open(second, "rb").read()
    order = ">" if kind == "thumbnail" else "<"
    kinds = [0x030000, {"stereo": 0x020002, "thumbnail": 0x010001}.get(kind, 0)]
    hdr = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:hdrgm='http://ns.adobe.com/hdr-gain-map/1.0/' hdrgm:Version='1.0'/>"
    apple = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:HDRGainMap='http://ns.apple.com/HDRGainMap/1.0/'/>"
    iso = b"urn:iso:std:iso:ts:21496:-1\0"

    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    marks = {"adobe": segment(0xE1, hdr), "apple": segment(0xE1, apple), "iso": segment(0xE2, iso + bytes(60))}
    second = second[:2] + marks.get(kind, b"") + second[2:]

    def index(first_bytes, second_at):
        entry = struct.Struct(order + "HHII")
        tags = [(0xB000, 7, 4, 0x30303130 if order == ">" else 0x30313030), (0xB001, 4, 1, 2), (0xB002, 7, 32, 50)]
        out = (b"MM\0*" if order == ">" else b"II*\0") + struct.pack(order + "IH", 8, len(tags))
        out += b"".join(entry.pack(*tag) for tag in tags) + struct.pack(order + "I", 0)
        out += struct.pack(order + "IIIHH", kinds[0], first_bytes, 0, 0, 0)
        return b"MPF\0" + out + struct.pack(order + "IIIHH", kinds[1], len(second), second_at, 0, 0)

    front = first[:2] + (segment(0xE1, hdr) + segment(0xE2, iso + bytes(4)) if kind in ("adobe", "iso") else b"")
    n_bytes = len(front) + len(segment(0xE2, index(0, 0))) + len(first) - 2
    front += segment(0xE2, index(n_bytes, n_bytes - len(front) - 8))
    open(file, "wb").write(front + first[2:] + second)


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
elif sys.argv[1] == "jpeg":
    jpeg(*sys.argv[2:])
else:
    {"gif": gif, "tiff": tiff, "stack": stack, "png": png}[sys.argv[1]](sys.argv[2], sys.argv[3], int(sys.argv[4]))
