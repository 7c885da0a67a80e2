#!/usr/bin/env python3
"""Writes the expected counts of the sample images, computed without imghist.

usage: make_expected.py            writes samples.sha256 beside this script: the SHA-256 of the output of
                                   `imghist --csv=long PATH`, for samples/ and each image in it
       make_expected.py --check    only compares it with what would be written

pypng reads PNG; it shares no code with libpng. Pillow reads JPEG with its defaults, the accurate integer
DCT and fancy upsampling of libjpeg-turbo, because imghist promises those pixels. The counts of the test
card are also checked against its definition. Needs python3-png and python3-pil.
"""
import hashlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = HERE.parent.parent / "samples"
HEADER = "file,channel,bin,count\n"
CHANNELS = {
    1: ("gray",),
    2: ("gray", "alpha"),
    3: ("red", "green", "blue"),
    4: ("red", "green", "blue", "alpha"),
}


def png_pixels(path):
    """Yields a tuple of 8-bit values for each pixel. Expands palettes and rounds 16 bits to 8."""
    import png

    with open(path, "rb") as file:
        _, _, rows, info = png.Reader(file=file).read()
        if "transparent" in info:
            raise ValueError(f"{path}: transparent colours are not supported")
        planes, full = info["planes"], (1 << info["bitdepth"]) - 1
        for row in rows:
            for i in range(0, len(row), planes):
                if "palette" in info:
                    yield info["palette"][row[i]]
                else:  # v * 255 / full, rounded to nearest; full is odd, so there are no ties
                    yield tuple((v * 255 + full // 2) // full for v in row[i : i + planes])


def jpeg_pixels(path):
    from PIL import Image

    with Image.open(path) as image:
        if image.mode != "RGB":
            raise ValueError(f"{path}: mode {image.mode} is not supported")
        yield from image.getdata()


def luma(red, green, blue):
    """BT.709 in 16 fractional bits."""
    return (13933 * red + 46871 * green + 4732 * blue + 32768) >> 16


def count(path):
    """Returns {channel: [256 counts]} in imghist's order of channels."""
    pixels = list((png_pixels if path.suffix == ".png" else jpeg_pixels)(path))
    names = CHANNELS[len(pixels[0])]
    bins = {name: [0] * 256 for name in (*names, "luma")}
    for pixel in pixels:
        for name, value in zip(names, pixel):
            bins[name][value] += 1
        bins["luma"][luma(*pixel[:3]) if len(names) >= 3 else pixel[0]] += 1
    return bins


def testcard_counts():
    """The counts of the test card, derived by hand in samples/make_samples.c."""
    expected = {}
    for name, dark, bright in (("red", 30, 200), ("green", 60, 100), ("blue", 90, 50)):
        bins = [128] * 256
        for value in range(17, 255, 17):
            bins[value] = 640
        bins[0] = bins[255] = 8832
        bins[dark] = bins[bright] = 4224
        expected[name] = bins
    bins = [128] * 256
    for value in range(17, 255, 17):
        bins[value] = 640
    bins[0] = bins[255] = 2688
    for value in (237, 201, 182, 73, 54, 18):  # yellow cyan green magenta red blue
        bins[value] = 2176
    bins[118] = bins[56] = 4224
    expected["luma"] = bins
    for name, bins in expected.items():
        assert sum(bins) == 256 * 256, name
    return expected


def digests():
    """Returns the text of samples.sha256."""
    rows = {}
    paths = [p for p in SAMPLES.iterdir() if p.suffix in (".png", ".jpg")]
    for path in sorted(paths, key=lambda p: p.name.encode()):
        counts = count(path)
        if path.name == "testcard.png":
            assert counts == testcard_counts(), "the test card differs from its definition"
        name = f"samples/{path.name}"
        rows[name] = [f"{name},{c},{b},{n}\n" for c, bins in counts.items() for b, n in enumerate(bins)]
    outputs = {"samples": "".join(row for image in rows.values() for row in image)}
    outputs.update((name, "".join(image)) for name, image in rows.items())
    return "".join(
        f"{hashlib.sha256((HEADER + text).encode()).hexdigest()}  {name}\n" for name, text in outputs.items()
    )


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    path = HERE / "samples.sha256"
    if not sys.argv[1:]:
        path.write_text(digests())
    elif path.read_text() != digests():
        sys.exit("samples.sha256 does not match the samples: run make_expected.py")


if __name__ == "__main__":
    main()
