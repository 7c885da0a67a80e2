#!/usr/bin/env python3
"""Writes samples.csv, the counts that `imghist --csv=long samples/...` must give, without imghist.

usage: make_expected.py            writes samples.csv beside this file
       make_expected.py --check    only says whether samples.csv is what would be written

PNG is read by pypng, which shares no code with libpng. JPEG is read by Pillow in its default way (the
accurate integer DCT and fancy upsampling of libjpeg-turbo), because those are the pixels that are
promised. The test card is checked against numbers worked out from its definition, not from its file.
needs: python3-png, python3-pil
"""
import pathlib
import sys

import png
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = HERE.parent.parent / "samples"
CHANNELS = {
    1: ("gray",),
    2: ("gray", "alpha"),
    3: ("red", "green", "blue"),
    4: ("red", "green", "blue", "alpha"),
}


def png_pixels(path):
    """Yields one tuple of 8-bit values a pixel; palettes are expanded, 16 bits rounded to 8."""
    with open(path, "rb") as file:
        _, _, rows, info = png.Reader(file=file).read()
        if "transparent" in info:
            raise ValueError(f"{path}: a transparent colour has no rule here")
        planes, full = info["planes"], (1 << info["bitdepth"]) - 1
        for row in rows:
            for i in range(0, len(row), planes):
                if "palette" in info:
                    yield info["palette"][row[i]]
                else:  # v * 255 / full, rounded to nearest; full is odd, so there are no ties
                    yield tuple((v * 255 + full // 2) // full for v in row[i : i + planes])


def jpeg_pixels(path):
    with Image.open(path) as image:
        if image.mode != "RGB":
            raise ValueError(f"{path}: no rule for mode {image.mode}")
        yield from image.getdata()


def luma(red, green, blue):
    """BT.709 in 16 fractional bits."""
    return (13933 * red + 46871 * green + 4732 * blue + 32768) >> 16


def count(path):
    """Returns {channel: [256 counts]} in the order in which imghist lists the channels."""
    pixels = list((png_pixels if path.suffix == ".png" else jpeg_pixels)(path))
    names = CHANNELS[len(pixels[0])]
    bins = {name: [0] * 256 for name in (*names, "luma")}
    for pixel in pixels:
        for name, value in zip(names, pixel):
            bins[name][value] += 1
        bins["luma"][luma(*pixel[:3]) if len(names) >= 3 else pixel[0]] += 1
    return bins


def testcard_by_hand():
    """The counts at the head of samples/testcard.c."""
    hand = {}
    for name, dark, bright in (("red", 30, 200), ("green", 60, 100), ("blue", 90, 50)):
        bins = [128] * 256
        for value in range(17, 255, 17):
            bins[value] = 640
        bins[0] = bins[255] = 8832
        bins[dark] = bins[bright] = 4224
        hand[name] = bins
    bins = [128] * 256
    for value in range(17, 255, 17):
        bins[value] = 640
    bins[0] = bins[255] = 2688
    for value in (237, 201, 182, 73, 54, 18):  # yellow cyan green magenta red blue
        bins[value] = 2176
    bins[118] = bins[56] = 4224
    hand["luma"] = bins
    for name, bins in hand.items():
        assert sum(bins) == 256 * 256, name
    return hand


def main():
    lines = ["file,channel,bin,count\n"]
    paths = [p for p in SAMPLES.iterdir() if p.suffix in (".png", ".jpg")]
    for path in sorted(paths, key=lambda p: p.name.encode()):
        counts = count(path)
        if path.name == "testcard.png":
            assert counts == testcard_by_hand(), "the test card is not what its definition says"
        for channel, bins in counts.items():
            lines += [f"samples/{path.name},{channel},{b},{n}\n" for b, n in enumerate(bins)]
    text = "".join(lines).encode()
    table = HERE / "samples.csv"
    if sys.argv[1:] == ["--check"]:
        if table.read_bytes() != text:
            sys.exit(f"{table.name} is not what the samples count to: run make_expected.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        table.write_bytes(text)


if __name__ == "__main__":
    main()
