#!/usr/bin/env python3
"""Writes AVIF files whose boxes differ, around a few coded images: make_boxes.py DIRECTORY.

The images have 64 x 64 pixels and are lossless (avifenc 0.11.1). The colours are 200 30 90 in the left half and 10 220 130 in
the right half. Alpha has four bands of 16 columns: 16, 100, 235 and 250; with 10 bits 64, 500, 940 and 1000.
Sources: ISO/IEC 14496-12 (boxes, iloc), 23008-12 (items and properties).
"""
import base64
import pathlib
import struct
import sys

COLOUR = base64.b64decode("EgAKCTgVf/+UBDQAgDImEAAAkvG5MNFwAtjSzmSva0RZ5Nt/cNZBZy/+xCTYBrOIGB3IjkA=")
ALPHA = base64.b64decode("EgAKBhgVf/+VQDIWEACNtmpsBDyHNscOEdztDozNa0Dv/w==")
COLOUR_10 = base64.b64decode("EgAKCTgVf/+cBDQAgDIpEAAAS6kKYIyC/NMnTXOqZeh3WdF7ecIwatP5y//SV/WphSc5OE1L1jA=")
ALPHA_10 = base64.b64decode("EgAKBhgVf/+dQDIYEABKYOt17I334X4ZDvQfqvMJFBkNuF/+")
ALPHA_OF_SEQUENCE = base64.b64decode("EgAKCgAAAAKv/7//NUAyGBAAgACNtmpsBDyHNscOEdztDozNa0Dv/w==")  # a header with every field


def limited(alpha, at=8):
    """Clears color_range in the sequence header: the same samples have limited range."""
    return alpha[:at] + bytes([alpha[at] ^ 1]) + alpha[at + 1 :]


def box(kind, *content):
    content = b"".join(content)
    return struct.pack(">I4s", 8 + len(content), kind) + content


def full(kind, *content, version=0, flags=0):
    return box(kind, struct.pack(">I", version << 24 | flags), *content)


def ispe(width=64, height=64):
    return full(b"ispe", struct.pack(">II", width, height))


def auxc(name):
    return full(b"auxC", name + b"\0")


def clap(width, height):
    return box(b"clap", struct.pack(">8I", width, 1, height, 1, 0, 1, 0, 1))


AV1C, AV1C_GRAY = box(b"av1C", bytes.fromhex("81200000")), box(b"av1C", bytes.fromhex("81001c00"))
AV1C_10, AV1C_GRAY_10 = box(b"av1C", bytes.fromhex("81204000")), box(b"av1C", bytes.fromhex("81005c00"))
PIXI = full(b"pixi", bytes((3, 8, 8, 8)))
NCLX = box(b"colr", b"nclx", struct.pack(">HHHB", 1, 13, 0, 128))
IS_ALPHA = auxc(b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha")
IS_DEPTH = auxc(b"urn:mpeg:mpegB:cicp:systems:auxiliary:depth")
UNKNOWN = box(b"zzzz", bytes(4))
ROTATED = box(b"irot", b"\1")


class Item:
    """An item. properties: boxes, or pairs of a box and whether it is essential. about: after the name. further: bytes that
    its length says more than there are."""

    def __init__(self, data=COLOUR, properties=(AV1C, ispe(), PIXI, NCLX), kind=b"av01", about=b"", further=0):
        self.data, self.kind, self.about, self.further = data, kind, about, further
        self.properties = [p if isinstance(p, tuple) else (p, p[4:8] in (b"av1C", b"irot", b"clap")) for p in properties]

    def more(self, *properties, first=False):
        other = Item(self.data, properties, self.kind)
        other.properties = other.properties + self.properties if first else self.properties + other.properties
        return other


def alpha_item(data=ALPHA, config=AV1C_GRAY, what=IS_ALPHA):
    return Item(data, (config, ispe(), what))


def grid(columns, *properties):
    return Item(struct.pack(">BBBBHH", 0, 0, 0, columns - 1, 64 * columns, 64), (ispe(64 * columns, 64), *properties), b"grid")


def heif(items, references=(), primary=1, ends_at_file=False, brand=b"avif"):
    """items[0] has the number 1. references: (type, from, to...). The box meta is the last one."""
    ftyp = box(b"ftyp", brand, b"\0\0\0\0", brand, b"mif1miaf")
    mdat = box(b"mdat", *(item.data for item in items))
    at, iloc, infe, ipma, numbers = len(ftyp) + 8, b"", b"", b"", {}
    for i, item in enumerate(items, 1):
        if item.data:
            iloc += struct.pack(">HHHII", i, 0, 1, at, len(item.data) + item.further)
        at += len(item.data)
        infe += full(b"infe", struct.pack(">HH4s", i, 0, item.kind), b"\0", item.about, version=2)
        ipma += struct.pack(">HB", i, len(item.properties))
        for content, essential in item.properties:
            ipma += bytes([numbers.setdefault(content, len(numbers) + 1) | essential << 7])
    iref = b"".join(box(kind, struct.pack(f">HH{len(to)}H", of, len(to), *to)) for kind, of, *to in references)
    meta = full(b"meta", full(b"hdlr", bytes(4), b"pict", bytes(13)), full(b"pitm", struct.pack(">H", primary)),
                full(b"iloc", b"\x44\0", struct.pack(">H", sum(bool(item.data) for item in items)), iloc),
                full(b"iinf", struct.pack(">H", len(items)), infe), full(b"iref", iref) if iref else b"",
                box(b"iprp", box(b"ipco", *numbers), full(b"ipma", struct.pack(">I", len(items)), ipma)))
    return ftyp + mdat + (bytes(4) + meta[4:] if ends_at_file else meta)


def mdat_last(file):
    """The same file with the box mdat at the end, and the places of the items moved with it."""
    ftyp = struct.unpack(">I", file[:4])[0]
    mdat = struct.unpack(">I", file[ftyp : ftyp + 4])[0]
    meta = file[ftyp + mdat :]
    iloc = meta.index(b"iloc") + 4 + 4 + 2
    for i in range(struct.unpack(">H", meta[iloc : iloc + 2])[0]):
        at = iloc + 2 + 14 * i + 6
        meta = meta[:at] + struct.pack(">I", struct.unpack(">I", meta[at : at + 4])[0] + len(meta)) + meta[at + 4 :]
    return file[:ftyp] + meta + file[ftyp : ftyp + mdat]


def layers(number):
    return box(b"lsel", struct.pack(">H", number))


def described():
    """Images with metadata of every kind, and errors in it. Item 3 is an image, too; there is no item 99."""
    image, exif = Item(), Item(b"\0\0\0\0II*\0\x08" + bytes(9), (), b"Exif")
    images = [image, exif, image]
    for name, to in (("1", [1]), ("2", [1, 3]), ("hidden", [3]), ("twice", [1, 1]), ("nothing", []), ("missing", [99]),
                     ("some", [1, 99]), ("many", [1, 3] * 700)):
        yield f"describes-{name}", heif(images, [(b"cdsc", 2, *to), (b"thmb", 3, 1)])
    yield "describes-alone", heif(images[:2], [(b"cdsc", 2, 1, 99)])
    yield "describes-parts", heif([grid(2, PIXI, NCLX), exif, image, image], [(b"cdsc", 2, 1, 3, 4), (b"dimg", 1, 3, 4)])
    yield "describes-two-boxes", heif(images, [(b"cdsc", 2, 1), (b"thmb", 3, 1), (b"cdsc", 2, 3)])
    long = Item(exif.data, (), b"Exif", further=1 << 20)
    yield "describes-outside", heif([image, long], [(b"cdsc", 2, 1)])
    xmp = Item(b"<x:xmpmeta/>", (), b"mime", b"application/rdf+xml\0compress_zlib\0")
    yield "describes-xmp", heif([image, xmp, image], [(b"thmb", 3, 1), (b"cdsc", 2, 1, 3)])
    region = Item(b"\0\0\0\1\0\1\1\0\0\0\0\0", (), b"rgan")
    yield "describes-region", heif([image, region, image], [(b"thmb", 3, 1), (b"cdsc", 2, 1, 99), (b"mask", 2, 98)])
    yield "describes-uri", heif([image, Item(b"\1", (), b"uri ", b"urn:a\0"), image], [(b"thmb", 3, 1), (b"cdsc", 2, 1, 3)])
    yield "describes-cut", mdat_last(heif([image, exif], [(b"cdsc", 2, 1)]))
    yield "describes-itself", heif(images, [(b"cdsc", 2, 2), (b"thmb", 3, 1)])


def files():
    yield from described()
    image, alpha, depth = Item(), alpha_item(), alpha_item(what=IS_DEPTH)
    of_1 = (b"auxl", 2, 1)
    yield "plain", heif([image])
    yield "alpha", heif([image, alpha], [of_1])
    yield "alpha-limited", heif([image, alpha_item(limited(ALPHA))], [of_1])
    yield "alpha-limited-sequence", heif([image, alpha_item(limited(ALPHA_OF_SEQUENCE, 12))], [of_1])
    yield "alpha-limited-10", heif([Item(COLOUR_10, (AV1C_10, ispe(), NCLX)),
                                    alpha_item(limited(ALPHA_10), AV1C_GRAY_10)], [of_1])
    tiles = [image, image]
    of_grids = [(b"dimg", 1, 2, 3), (b"dimg", 4, 5, 6), (b"auxl", 4, 1)]
    yield "alpha-limited-grid", heif([grid(2, PIXI, NCLX), *tiles, grid(2, IS_ALPHA), *[alpha_item(limited(ALPHA))] * 2],
                                     of_grids)
    yield "depth", heif([image, depth], [of_1])
    yield "depth-unknown", heif([image, depth.more((UNKNOWN, True))], [of_1])
    yield "other-unknown", heif([image, image.more((UNKNOWN, True))])
    yield "not-essential", heif([image.more((UNKNOWN, False))])
    yield "descriptions", heif([image.more((box(b"pasp", struct.pack(">II", 1, 1)), True), (layers(0xFFFF), True),
                                           (box(b"a1op", b"\0"), True))])
    yield "layer-0", heif([image.more((layers(0), True))])
    yield "rotated-first", heif([grid(2, PIXI, NCLX).more(ROTATED, first=True), *tiles], of_grids[:1])
    yield "cropped-first", heif([image.more(clap(64, 40), ROTATED, first=True)])
    yield "size-0", heif([image, alpha], [of_1], ends_at_file=True)
    yield "unknown", heif([image.more((UNKNOWN, True))])
    yield "unknown-alpha", heif([image, alpha.more((UNKNOWN, True))], [of_1])
    yield "unknown-tile", heif([grid(2, PIXI), image, image.more((UNKNOWN, True))], of_grids[:1])
    yield "unknown-alpha-tile", heif([grid(2, PIXI, NCLX), *tiles, grid(2, IS_ALPHA), alpha, alpha.more((UNKNOWN, True))],
                                     of_grids)
    yield "required", heif([image.more((full(b"rref", b"\1pred"), True)), image], [(b"pred", 1, 2)])
    yield "scaled", heif([image.more((full(b"iscl", bytes((0, 2, 0, 1, 0, 2, 0, 1))), True))])
    yield "layer-1", heif([image.more((layers(1), True))])
    yield "point-1", heif([image.more((box(b"a1op", b"\1"), True))])
    yield "alpha-of-tiles", heif([grid(2, PIXI), *tiles, alpha, alpha], [of_grids[0], (b"auxl", 4, 2), (b"auxl", 5, 3)])
    pixels = (bytes((200, 30, 90)) * 32 + bytes((10, 220, 130)) * 32) * 64
    yield "uncompressed", heif([Item(pixels, (ispe(), (full(b"uncC", b"rgb3", version=1), True), PIXI), b"unci")])
    yield "unconfigured", heif([Item(pixels, (ispe(), PIXI), b"unci")])
    yield "same", heif([Item(b"", (ispe(),), b"iden"), image], [(b"dimg", 1, 2)])
    yield "no-primary", heif([image], primary=7)
    yield "frames", heif([image, image, depth, Item(b"\0", (ispe(),), b"tmap"), image, image.more(ROTATED)],
                         [(b"thmb", 2, 1), (b"auxl", 3, 1), (b"dimg", 4, 1, 5)])
    n = 60  # 3,840 pixels a side
    yield "large", heif([Item(struct.pack(">BBBBHH", 0, 0, n - 1, n - 1, 64 * n, 64 * n), (ispe(64 * n, 64 * n), PIXI),
                              b"grid"), *[image] * n * n], [(b"dimg", 1, *range(2, n * n + 2))])
    yield "frame-unknown", heif([image, image.more((UNKNOWN, True)), image])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, data in files():
        (folder / f"{name}.avif").write_bytes(data)


if __name__ == "__main__":
    main()
