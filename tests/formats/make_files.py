#!/usr/bin/python3
"""Writes files/: a tiny file of each kind of each format. expected.py uses the pixels that are defined here.

usage: make_files.py

BMP, TGA, PSD, PNM, QOI, NPY, HDR, ICO, GIF and most TIFFs are written byte by byte, according to the documents that
the decoders' sources name. Pillow writes WebP, JPEG 2000 and compressed TIFF, vips writes HEIC, AVIF and JPEG XL (packages python3-pil and
libvips-tools). A lossy file has no pixels here, because they depend on the decoding library.
"""
import io
import pathlib
import struct
import subprocess
import tempfile
import zlib

from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
W, H = 9, 5
FILES, PIXELS = {}, {}


def add(name, kind, data, pixels=None):
    """pixels: a list of tuples in any order, or None for a lossy file."""
    FILES[name] = data
    PIXELS[name] = {"kind": kind, "pixels": pixels}


def v(i, c, top=255):
    return (i * 7 + i // 5 * 31 + c * 85) % (top + 1)


def image(channels, top=255):
    return [tuple(v(i, c, top) for c in range(channels)) for i in range(W * H)]


def to8(value, top):
    return (value * 510 + top) // (2 * top)


def scaled(pixels, top):
    return [tuple(to8(s, top) for s in p) for p in pixels]


def packed(values, bits, unit=8):
    """Packs values into bits, the first one highest, and pads to full units."""
    number = n = 0
    for value in values:
        number, n = number << bits | value, n + bits
    padding = -n % unit
    return (number << padding).to_bytes((n + padding) // 8, "big")


def rows(values):
    return [values[y * W : (y + 1) * W] for y in range(H)]


PALETTE = [((37 * i) % 256, (91 * i + 5) % 256, (11 * i + 130) % 256) for i in range(256)]


def indices(n):
    return [(i * 3 + i // 4) % n for i in range(W * H)]


def looked_up(index_list, palette=None):
    return [(palette or PALETTE)[i] for i in index_list]


# ---- BMP ----


def bmp(bits, body, header=40, compression=0, palette=(), masks=(), height=H, said=0):
    entry = (lambda c: bytes(c[::-1])) if header == 12 else (lambda c: bytes(c[::-1]) + b"\0")
    if header == 12:
        info = struct.pack("<IHHHH", 12, W, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, W, height, 1, bits, compression, len(body), 0, 0, said, 0)
        info += struct.pack(f"<{len(masks)}I", *masks) if header > 40 else b""
        info = info.ljust(header, b"\0")
        info += struct.pack(f"<{len(masks)}I", *masks) if header == 40 else b""
    info += b"".join(entry(c) for c in palette)
    return struct.pack("<2sIII", b"BM", 14 + len(info) + len(body), 0, 14 + len(info)) + info + body


def bmps():
    bgr = b"".join(b"".join(bytes(p[::-1]) for p in row).ljust(28, b"\0") for row in rows(image(3)))
    for header, system in ((12, "os2-1"), (40, "windows"), (64, "os2-2"), (108, "v4"), (124, "v5")):
        add(f"bmp-24-{system}.bmp", "24 bits", bmp(24, bgr, header), image(3))
    add("bmp-24-top-down.bmp", "24 bits, from the top", bmp(24, bgr, height=-H), image(3))
    for bits in (1, 2, 4, 8):
        n = 1 << bits
        body = b"".join(packed(row, bits, 32) for row in rows(indices(n)))
        for header, system in ((12, "os2-1"), (40, "windows")):
            add(f"bmp-{bits}-{system}.bmp", f"palette, {bits} bits", bmp(bits, body, header, palette=PALETTE[:n]),
                looked_up(indices(n)))
    body = b"".join(packed(row, 8, 32) for row in rows(indices(7)))
    add("bmp-8-short.bmp", "palette of 7", bmp(8, body, palette=PALETTE[:7], said=7), looked_up(indices(7)))
    five = image(3, 31)
    word = lambda p, g: struct.pack("<H", p[0] << (5 + g) | p[1] << 5 | p[2])
    body = b"".join(b"".join(word(p, 5) for p in row).ljust(20, b"\0") for row in rows(five))
    add("bmp-16-555.bmp", "16 bits, 5 each", bmp(16, body), scaled(five, 31))
    mixed = [(r, v(i, 7, 63), b) for i, (r, _, b) in enumerate(five)]
    body = b"".join(b"".join(word(p, 6) for p in row).ljust(20, b"\0") for row in rows(mixed))
    add("bmp-16-565.bmp", "16 bits, masks 5 6 5", bmp(16, body, 40, 3, masks=(0xF800, 0x7E0, 0x1F)),
        [(to8(r, 31), to8(g, 63), to8(b, 31)) for r, g, b in mixed])
    body = b"".join(bytes((p[2], p[1], p[0], 77)) for p in image(3))
    add("bmp-32.bmp", "32 bits, the fourth byte reserved", bmp(32, body), image(3))
    body = b"".join(bytes((p[2], p[1], p[0], p[3])) for p in image(4))
    masks = (0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    for header in (56, 108, 124):
        add(f"bmp-32-alpha-{header}.bmp", "32 bits, masks with alpha", bmp(32, body, header, 3, masks=masks), image(4))
    runs = b"".join(bytes((4, y + 1, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0)) for y in range(H)) + b"\0\1"
    add("bmp-rle8.bmp", "run lengths, 8 bits", bmp(8, runs, 40, 1, palette=PALETTE[:16], said=16),
        looked_up([i for y in range(H) for i in [y + 1] * 4 + [1, 2, 3, 4, 5]]))
    runs = b"".join(bytes((4, 0x12, 0, 5, 0x34, 0x56, 0x70, 0, 0, 0)) for y in range(H)) + b"\0\1"
    add("bmp-rle4.bmp", "run lengths, 4 bits", bmp(4, runs, 40, 2, palette=PALETTE[:16]),
        looked_up([1, 2, 1, 2, 3, 4, 5, 6, 7] * H))
    runs = bytes((3, 5, 0, 2, 4, 2, 2, 6, 0, 0, 0, 1))
    add("bmp-rle8-gaps.bmp", "run lengths with gaps: colour 0", bmp(8, runs, 40, 1, palette=PALETTE[:16], said=16),
        looked_up([5] * 3 + [6] * 2 + [0] * (W * H - 5)))
    runs = b"".join(bytes((12, y + 1, 0, 0)) for y in range(H)) + b"\0\1"
    add("bmp-rle8-padding.bmp", "run lengths that include the padding of each row",
        bmp(8, runs, 40, 1, palette=PALETTE[:16], said=16), looked_up([y + 1 for y in range(H) for _ in range(W)]))


# ---- TGA ----


def tga(kind, bits, body, palette=b"", first=0, n_entries=0, entry_bits=0, descriptor=0x20):
    return struct.pack("<BBBHHBHHHHBB", 0, int(n_entries > 0), kind, first, n_entries, entry_bits, 0, 0, W, H, bits,
                       descriptor) + palette + body


def tgas():
    five = image(3, 31)
    colour = {
        15: (b"".join(struct.pack("<H", p[0] << 10 | p[1] << 5 | p[2]) for p in five), scaled(five, 31)),
        16: (b"".join(struct.pack("<H", p[0] << 10 | p[1] << 5 | p[2]) for p in five), scaled(five, 31)),
        24: (b"".join(bytes(p[::-1]) for p in image(3)), image(3)),
        32: (b"".join(bytes((p[2], p[1], p[0], p[3])) for p in image(4)), image(4)),
    }
    for bits, (body, pixels) in colour.items():
        add(f"tga-{bits}.tga", f"colour, {bits} bits", tga(2, bits, body, descriptor=0x28 if bits == 32 else 0x20), pixels)
        size = (bits + 7) // 8
        runs = b"".join(b"\x82" + body[y * W * size : y * W * size + size] + b"\x05" +
                        body[(y * W + 3) * size : (y + 1) * W * size] for y in range(H))
        repeated = [p for row in rows(pixels) for p in [row[0]] * 3 + row[3:]]
        add(f"tga-{bits}-runs.tga", f"colour, {bits} bits, run lengths",
            tga(10, bits, runs, descriptor=0x28 if bits == 32 else 0x20), repeated)
    gray = [p[0] for p in image(1)]
    add("tga-gray.tga", "gray", tga(3, 8, bytes(gray)), image(1))
    bits = indices(2)
    add("tga-1.tga", "1 bit", tga(3, 1, b"".join(packed(r, 1) for r in rows(bits))), [(b * 255,) for b in bits])
    add("tga-gray-runs.tga", "gray, run lengths", tga(11, 8, b"".join(b"\x08" + bytes(r) for r in rows(gray))), image(1))
    add("tga-gray-alpha.tga", "gray and alpha", tga(3, 16, b"".join(bytes(p) for p in image(2)), descriptor=0x28), image(2))
    index = indices(20)
    bgr = b"".join(bytes(c[::-1]) for c in PALETTE[:20])
    add("tga-palette.tga", "palette", tga(1, 8, bytes(index), bgr, 0, 20, 24), looked_up(index))
    add("tga-palette-first.tga", "palette from entry 3 on",
        tga(1, 8, bytes(i + 3 for i in index), bgr, 3, 20, 24), looked_up(index))
    add("tga-palette-runs.tga", "palette, run lengths",
        tga(9, 8, b"".join(b"\x08" + bytes(r) for r in rows(index)), bgr, 0, 20, 24), looked_up(index))


# ---- PSD ----


def psd(mode, channels, depth, planes, compression=0, palette=b""):
    head = struct.pack(">4sH6xHIIHH", b"8BPS", 1, channels, H, W, depth, mode)
    return head + struct.pack(">I", len(palette)) + palette + bytes(8) + struct.pack(">H", compression) + planes


def psds():
    planes = b"".join(bytes(p[c] for p in image(3)) for c in range(3))
    add("psd-rgb.psd", "RGB", psd(3, 3, 8, planes), image(3))
    packed_rows = [b"\x08" + planes[i : i + W] for i in range(0, len(planes), W)]
    add("psd-rgb-runs.psd", "RGB, run lengths",
        psd(3, 3, 8, b"".join(struct.pack(">H", len(r)) for r in packed_rows) + b"".join(packed_rows), 1), image(3))
    in_planes = lambda pixels: b"".join(bytes(p[c] for p in pixels) for c in range(len(pixels[0])))
    add("psd-gray.psd", "gray", psd(1, 1, 8, in_planes(image(1))), image(1))
    bits = indices(2)
    add("psd-bitmap.psd", "bitmap", psd(0, 1, 1, b"".join(packed(r, 1) for r in rows(bits))),
        [((1 - b) * 255,) for b in bits])
    palette = b"".join(bytes(c[i] for c in PALETTE) for i in range(3))
    add("psd-palette.psd", "palette", psd(2, 1, 8, bytes(indices(256)), palette=palette), looked_up(indices(256)))
    add("psd-rgba.psd", "RGB and alpha: as stored", psd(3, 4, 8, in_planes(image(4))), image(4))
    add("psd-cmyk.psd", "CMYK", psd(4, 4, 8, in_planes([tuple(255 - s for s in p) for p in image(4)])), ink(image(4)))
    deep = [tuple(s * 257 - 100 if s else 0 for s in p) for p in image(3)]
    add("psd-rgb-16.psd", "RGB, 16 bits",
        psd(3, 3, 16, b"".join(struct.pack(">H", p[c]) for c in range(3) for p in deep)), scaled(deep, 65535))


# ---- PNM ----


def pnms():
    gray, rgb = image(1), image(3)
    bits = [p[0] & 1 for p in gray]
    text = lambda values: " ".join(map(str, values)).encode() + b"\n"
    flat = lambda pixels: [s for p in pixels for s in p]
    black = [((1 - b) * 255,) for b in bits]
    add("pnm-p1.pbm", "plain bitmap", b"P1\n# a comment\n9 5\n" + text(bits), black)
    add("pnm-p2.pgm", "plain gray, maximum 200", b"P2\n9 5\n200\n" + text(p[0] % 201 for p in gray),
        [(to8(p[0] % 201, 200),) for p in gray])
    add("pnm-p3.ppm", "plain colour", b"P3\n9 5\n255\n" + text(flat(rgb)), rgb)
    add("pnm-p3-no-newline.ppm", "plain colour that ends with its last digit", b"P3\n9 5\n255\n" + text(flat(rgb))[:-1], rgb)
    add("pnm-p4.pbm", "bitmap", b"P4\n9 5\n" + b"".join(packed(r, 1) for r in rows(bits)), black)
    add("pnm-p5.pgm", "gray", b"P5\n9 5\n255\n" + bytes(flat(gray)), gray)
    deep = [tuple((s * 4099 + 7) % 65536 for s in p) for p in rgb]
    add("pnm-p6-16.ppm", "colour, 16 bits", b"P6\n9 5\n65535\n" + struct.pack(f">{3 * W * H}H", *flat(deep)),
        scaled(deep, 65535))
    pam = lambda depth, kind: f"P7\nWIDTH 9\nHEIGHT 5\nDEPTH {depth}\nMAXVAL 255\nTUPLTYPE {kind}\nENDHDR\n".encode()
    add("pnm-p7-ga.pam", "PAM, gray and alpha", pam(2, "GRAYSCALE_ALPHA") + bytes(flat(image(2))), image(2))
    add("pnm-p7-rgba.pam", "PAM, colour and alpha", pam(4, "RGB_ALPHA") + bytes(flat(image(4))), image(4))


# ---- GIF ----


def gif_codes(index_list):
    """LZW without a table: 9 bits an index, and a clear code before the table would grow to 10."""
    codes = []
    for i, index in enumerate(index_list):
        codes += [256, index] if i % 200 == 0 else [index]
    number = 0
    for i, code in enumerate([*codes, 257]):
        number |= code << (9 * i)
    data = number.to_bytes((9 * (len(codes) + 1) + 7) // 8, "little")
    blocks = b"".join(bytes((len(data[i : i + 255]),)) + data[i : i + 255] for i in range(0, len(data), 255))
    return b"\x08" + blocks + b"\0"


def gif(index_list, screen=(W, H), at=(0, 0), transparent=None, interlaced=False, local=False, frames=1):
    palette = b"".join(bytes(c) for c in PALETTE)
    data = b"GIF89a" + struct.pack("<HHBBB", *screen, 0x77 if local else 0xF7, 2, 0) + (b"" if local else palette)
    for frame in range(frames):
        if transparent is not None:
            data += b"\x21\xF9\x04\x01\0\0" + bytes((transparent,)) + b"\0"
        data += b"," + struct.pack("<HHHHB", *at, W, H, (0x87 if local else 0) | (0x40 if interlaced else 0))
        data += (palette if local else b"") + gif_codes(index_list if frame == 0 else [0] * (W * H))
    return data + b";"


def gifs():
    index = indices(256)
    add("gif.gif", "global palette", gif(index), looked_up(index))
    add("gif-local.gif", "local palette", gif(index, local=True), looked_up(index))
    order = [y for start, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(start, H, step)]
    shuffled = [i for y in order for i in rows(index)[y]]
    add("gif-interlaced.gif", "interlaced", gif(shuffled, interlaced=True), looked_up(index))
    add("gif-animated.gif", "animated: the first frame", gif(index, frames=3), looked_up(index))
    with_alpha = [PALETTE[i] + (0 if i == 6 else 255,) for i in index]
    add("gif-transparent.gif", "a transparent colour", gif(index, transparent=6), with_alpha)
    outside = [(0, 0, 0, 0)] * (20 * 11 - W * H)
    add("gif-screen.gif", "a frame smaller than the screen: transparent black",
        gif(index, (20, 11), (3, 2)), outside + [p + (255,) for p in looked_up(index)])
    add("gif-screen-transparent.gif", "a smaller frame and a transparent colour",
        gif(index, (20, 11), (3, 2), transparent=6), outside + with_alpha)


# ---- TIFF ----


def tiff(samples, bits, photometric, extra=(), planar=False, tiled=False, deflate=False, big_endian=False, colormap=(),
         orientation=1):
    """samples: tuples of the file's own samples."""
    order, n = ">" if big_endian else "<", len(samples[0])
    side = 16

    def row_bytes(pixels):
        values = [s for p in pixels for s in p]
        return struct.pack(f"{order}{len(values)}H", *values) if bits == 16 else packed(values, bits)

    planes = [[(p[c],) for p in samples] for c in range(n)] if planar else [samples]
    blocks = []
    for plane in planes:
        padded = rows(plane)
        if tiled:
            zero = tuple([0] * len(plane[0]))
            padded = [r + [zero] * (side - W) for r in padded] + [[zero] * side] * (side - H)
        blocks.append(b"".join(row_bytes(r) for r in padded))
    blocks = [zlib.compress(b) if deflate else b for b in blocks]
    where, data = [], b""
    for block in blocks:
        where.append(8 + len(data))
        data += block + b"\0" * (len(block) % 2)
    short, long_ = 3, 4
    tags = [(256, short, [W]), (257, short, [H]), (258, short, [bits] * n), (259, short, [8 if deflate else 1]),
            (262, short, [photometric]), (274, short, [orientation]), (277, short, [n]), (284, short, [2 if planar else 1])]
    if tiled:
        tags += [(322, short, [side]), (323, short, [side]), (324, long_, where), (325, long_, [len(b) for b in blocks])]
    else:
        tags += [(273, long_, where), (278, short, [H]), (279, long_, [len(b) for b in blocks])]
    if extra:
        tags.append((338, short, list(extra)))
    if colormap:
        tags.append((320, short, [c for channel in zip(*colormap) for c in channel]))
    tags.sort()
    directory = struct.pack(order + "H", len(tags))
    after = 8 + len(data) + 2 + 12 * len(tags) + 4
    values_behind = b""
    for tag, kind, values in tags:
        packed_values = struct.pack(f"{order}{len(values)}{'H' if kind == short else 'I'}", *values)
        if len(packed_values) > 4:
            place = struct.pack(order + "I", after + len(values_behind))
            values_behind += packed_values + b"\0" * (len(packed_values) % 2)
        else:
            place = packed_values.ljust(4, b"\0")
        directory += struct.pack(order + "HHI", tag, kind, len(values)) + place
    head = (b"MM" if big_endian else b"II") + struct.pack(order + "HI", 42, 8 + len(data))
    return head + data + directory + bytes(4) + values_behind


def ink(pixels, top=255):
    eight = scaled(pixels, top)
    return [tuple(to8((255 - c) * (255 - p[3]), 255 * 255) for c in p[:3]) + p[4:] for p in eight]


def tiffs():
    for bits in (1, 2, 4, 8, 12, 16):
        top = (1 << bits) - 1
        gray = [(p[0] * 263 % (top + 1),) for p in image(1)]
        add(f"tiff-gray-{bits}.tif", f"gray, {bits} bits", tiff(gray, bits, 1), scaled(gray, top))
        white = [(255 - p[0],) for p in scaled(gray, top)]
        add(f"tiff-white-{bits}.tif", f"gray, {bits} bits, 0 is white", tiff(gray, bits, 0), white)
    rgb, rgba = image(3), image(4)
    deep = [tuple(s * 263 % 65536 for s in p) for p in rgb]
    add("tiff-rgb.tif", "RGB", tiff(rgb, 8, 2), rgb)
    add("tiff-rgb-planes.tif", "RGB in planes", tiff(rgb, 8, 2, planar=True), rgb)
    add("tiff-rgb-tiles.tif", "RGB in tiles", tiff(rgb, 8, 2, tiled=True), rgb)
    add("tiff-rgb-tiles-planes.tif", "RGB in tiles of planes", tiff(rgb, 8, 2, tiled=True, planar=True), rgb)
    add("tiff-rgb-deflate.tif", "RGB, deflate", tiff(rgb, 8, 2, deflate=True), rgb)
    add("tiff-rgb-16.tif", "RGB, 16 bits", tiff(deep, 16, 2), scaled(deep, 65535))
    add("tiff-rgb-16-big-endian.tif", "RGB, 16 bits, big-endian", tiff(deep, 16, 2, big_endian=True), scaled(deep, 65535))
    add("tiff-rotated.tif", "an orientation, not applied", tiff(rgb, 8, 2, orientation=6), rgb)
    add("tiff-rgba.tif", "RGB and alpha", tiff(rgba, 8, 2, extra=(2,)), rgba)
    add("tiff-rgba-associated.tif", "RGB multiplied by alpha: as stored", tiff(rgba, 8, 2, extra=(1,)), rgba)
    add("tiff-rgbx.tif", "RGB and a sample of no stated meaning", tiff(rgba, 8, 2, extra=(0,)), rgb)
    add("tiff-gray-alpha.tif", "gray and alpha", tiff(image(2), 8, 1, extra=(2,)), image(2))
    add("tiff-cmyk.tif", "CMYK", tiff(rgba, 8, 5), ink(rgba))
    for bits in (1, 4, 8):
        n = 1 << bits
        colormap = [tuple(s * 257 for s in c) for c in PALETTE[:n]]
        add(f"tiff-palette-{bits}.tif", f"palette, {bits} bits",
            tiff([(i,) for i in indices(n)], bits, 3, colormap=colormap), looked_up(indices(n)))
    picture = Image.new("RGB", (W, H))
    picture.putdata(rgb)
    for name, compression in (("lzw", "tiff_lzw"), ("packbits", "packbits")):
        file = io.BytesIO()
        picture.save(file, "TIFF", compression=compression)
        add(f"tiff-rgb-{name}.tif", f"RGB, {compression}", file.getvalue(), rgb)
    bits = Image.new("1", (W, H))
    bits.putdata([p[0] & 255 for p in [((v(i, 0) & 1) * 255,) for i in range(W * H)]])
    file = io.BytesIO()
    bits.save(file, "TIFF", compression="group4")
    add("tiff-fax4.tif", "fax, group 4", file.getvalue(), [((v(i, 0) & 1) * 255,) for i in range(W * H)])
    file = io.BytesIO()
    picture.save(file, "TIFF", compression="jpeg", quality=90)
    add("tiff-jpeg.tif", "YCbCr in JPEG", file.getvalue())


# ---- QOI, Radiance HDR, ICO, JPEG 2000 ----


def qoi(pixels):
    """A full colour for each pixel that differs from the last one, and runs."""
    n = len(pixels[0])
    body, last, run = b"", (0, 0, 0, 255)[:n], 0
    for pixel in pixels:
        if pixel == last and run < 62:
            run += 1
            continue
        body += bytes([0xBF + run]) if run else b""
        run = 1 if pixel == last else 0
        if pixel != last:
            body += (b"\xFF" if n == 4 else b"\xFE") + bytes(pixel)
        last = pixel
    body += bytes([0xBF + run]) if run else b""
    return b"qoif" + struct.pack(">IIBB", W, H, n, 0) + body + bytes(7) + b"\1"


def npy(descr, pixels, is_fortran=False):
    """Samples of one byte, or of two in the byte order of descr. In Fortran's order, the first index changes fastest."""
    n = len(pixels[0])
    shape = f"({H}, {W})" if n == 1 else f"({H}, {W}, {n})"
    head = f"{{'descr': '{descr}', 'fortran_order': {is_fortran}, 'shape': {shape}, }}"
    head = head.ljust(-(-(len(head) + 11) // 64) * 64 - 11) + "\n"
    order = [(i, c) for i in range(W * H) for c in range(n)]
    if is_fortran:
        order = [(y * W + x, c) for c in range(n) for x in range(W) for y in range(H)]
    size, end = int(descr[2:]), "little" if descr[0] == "<" else "big"
    body = b"".join(pixels[i][c].to_bytes(size, end) for i, c in order)
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + body


def hdr(pixels):
    head = f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {H} +X {W}\n".encode()
    return head + b"".join(bytes(p) for p in pixels)


def hdr_value(mantissa, exponent):
    return mantissa * 2.0 ** (exponent - 136)


def ico(images, kind=1):
    """images: tuples of width, height, bits and the bytes of an image."""
    at, directory, body = 6 + 16 * len(images), b"", b""
    for width, height, bits, data in images:
        directory += struct.pack("<BBBBHHII", width, height, 0, 0, 1, bits, len(data), at + len(body))
        body += data
    return struct.pack("<HHH", 0, kind, len(images)) + directory + body


def dib(bits, body, palette=(), width=W, height=H):
    return (struct.pack("<IiiHHIIiiII", 40, width, 2 * height, 1, bits, 0, len(body), 0, 0, 0, 0) +
            b"".join(bytes(c[::-1]) + b"\0" for c in palette) + body)


def icos():
    small = (2, 1, 24, dib(24, bytes(8) + bytes(4), width=2, height=1))
    hidden = [v(i, 9) % 3 == 0 for i in range(W * H)]
    mask = b"".join(packed(row, 1, 32) for row in rows([int(h) for h in hidden]))
    with_mask = lambda pixels: [p + (0 if h else 255,) for p, h in zip(pixels, hidden)]
    body = b"".join(packed(row, 4, 32) for row in rows(indices(16))) + mask
    add("ico-4.ico", "icon, 4 bits and a mask", ico([small, (W, H, 4, dib(4, body, PALETTE[:16]))]),
        with_mask(looked_up(indices(16))))
    body = b"".join(b"".join(bytes(p[::-1]) for p in row).ljust(28, b"\0") for row in rows(image(3))) + mask
    add("ico-24.ico", "icon, 24 bits and a mask", ico([small, (W, H, 24, dib(24, body))]), with_mask(image(3)))
    body = b"".join(bytes((p[2], p[1], p[0], p[3])) for p in image(4)) + mask
    add("ico-32.ico", "icon, 32 bits with alpha", ico([(W, H, 32, dib(32, body)), small]), image(4))
    add("ico-cursor.cur", "cursor, 32 bits with alpha", ico([(W, H, 32, dib(32, body)), small], kind=2), image(4))
    picture, file = Image.new("RGBA", (W, H)), io.BytesIO()
    picture.putdata(image(4))
    picture.save(file, "PNG")
    add("ico-png.ico", "icon, PNG", ico([small, (W, H, 32, file.getvalue())]), image(4))


def others():
    for n in (3, 4):
        repeated = [image(n)[i // 2] for i in range(W * H)]
        add(f"qoi-{n}.qoi", f"{n} channels", qoi(repeated), repeated)
    for n, name in enumerate(("gray", "gray-alpha", "rgb", "rgba"), 1):
        add(f"npy-{name}.npy", f"uint8, {n} channels", npy("|u1", image(n)), image(n))
    add("npy-fortran.npy", "uint8 in Fortran's order, 3 channels", npy("|u1", image(3), True), image(3))
    for order, name in (("<", "little"), (">", "big")):
        deep = image(4 if order == "<" else 1, 65535)
        deep = [tuple(s * 977 % 65536 for s in p) for p in deep]
        add(f"npy-16-{name}.npy", f"uint16, {name}-endian, {len(deep[0])} channels", npy(f"{order}u2", deep), scaled(deep, 65535))
        add(f"npy-fortran-16-{name}.npy", f"uint16 in Fortran's order, {name}-endian", npy(f"{order}u2", deep, True), scaled(deep, 65535))
    truths = [(s % 2,) for (s,) in image(1)]
    add("npy-bool.npy", "bool", npy("|b1", truths), [(255 * t,) for (t,) in truths])
    bright = [p + (120 + 2 * (i % 6),) for i, p in enumerate(image(3))]
    bright[0] = (3, 128, 7, 129)  # not the beginning of run lengths
    add("hdr.hdr", "RGBE without run lengths", hdr(bright), [tuple(hdr_value(s, p[3]) for s in p[:3]) for p in bright])
    icos()
    for mode, pixels in (("L", image(1)), ("LA", image(2)), ("RGB", image(3)), ("RGBA", image(4))):
        picture, file = Image.new(mode, (W, H)), io.BytesIO()
        picture.putdata([p[0] for p in pixels] if mode == "L" else pixels)
        picture.save(file, "JPEG2000", irreversible=False, num_resolutions=2)
        add(f"jp2-{mode.lower()}.jp2", f"JPEG 2000, lossless, {len(mode)} components", file.getvalue(), pixels)


# ---- WebP, HEIC, AVIF, JPEG XL ----


def pillow(mode, pixels, **options):
    picture = Image.new(mode, (W, H))
    picture.putdata(pixels)
    file = io.BytesIO()
    picture.save(file, "WEBP", **options)
    return file.getvalue()


def webps():
    add("webp-lossless.webp", "lossless", pillow("RGB", image(3), lossless=True), image(3))
    add("webp-lossless-alpha.webp", "lossless with alpha", pillow("RGBA", image(4), lossless=True, exact=True), image(4))
    add("webp-lossy.webp", "lossy", pillow("RGB", image(3), quality=80))
    add("webp-lossy-alpha.webp", "lossy with alpha", pillow("RGBA", image(4), quality=80, exact=True))
    second = Image.new("RGBA", (W, H), (1, 2, 3, 255))
    add("webp-animated.webp", "animated: the first frame",
        pillow("RGBA", image(4), lossless=True, exact=True, save_all=True, append_images=[second]), image(4))


def vips(pixels, name, *options):
    """Repeats W x H pixels to 72 x 40, because HEIC and AVIF encoders reject tiny images."""
    with tempfile.TemporaryDirectory() as folder:
        big = Image.new("RGBA" if len(pixels[0]) == 4 else "RGB", (W, H))
        big.putdata(pixels)
        big = big.resize((W * 8, H * 8), Image.Resampling.NEAREST)
        source, target = pathlib.Path(folder, "in.png"), pathlib.Path(folder, name)
        big.save(source)
        save = {"jxl": "jxlsave"}.get(name.rsplit(".", 1)[1], "heifsave")
        subprocess.run(["vips", save, source, target, *options, "--strip"], check=True)
        return target.read_bytes(), list(big.getdata())


def modern():
    for name, kind, pixels, options, lossless in (
        ("heic.heic", "HEIC", image(3), ("--compression=hevc", "--Q=80"), False),
        ("heic-10.heic", "HEIC, 10 bits", image(3), ("--compression=hevc", "--Q=80", "--bitdepth=10"), False),
        ("heic-alpha.heic", "HEIC with alpha", image(4), ("--compression=hevc", "--Q=80"), False),
        ("avif.avif", "AVIF", image(3), ("--compression=av1", "--Q=80"), False),
        ("avif-12.avif", "AVIF, 12 bits", image(3), ("--compression=av1", "--Q=80", "--bitdepth=12"), False),
        ("avif-alpha.avif", "AVIF with alpha", image(4), ("--compression=av1", "--Q=80"), False),
        ("jxl-lossless.jxl", "JPEG XL, lossless", image(3), ("--lossless",), True),
        ("jxl-lossless-alpha.jxl", "JPEG XL, lossless with alpha", image(4), ("--lossless",), True),
        ("jxl-lossy.jxl", "JPEG XL, lossy", image(3), ("--Q=80",), False),
    ):
        data, large = vips(pixels, name, *options)
        add(name, kind, data, large if lossless else None)


def make():
    for make_some in (bmps, tgas, psds, pnms, gifs, tiffs, others, webps, modern):
        make_some()


def main():
    make()
    folder = HERE / "files"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
