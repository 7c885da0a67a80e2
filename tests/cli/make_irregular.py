#!/usr/bin/env python3
"""Makes irregular JPEG files from sound ones that cjpeg writes: make_irregular.py DIRECTORY.

The names begin with the verdict of the table in docs/formats.md: accepted-, lenient-, smoothed- (if lenient) or
refused-. The sound file of accepted-KIND-NAME.jpg and lenient-KIND-NAME.jpg is sound-NAME.jpg.
"""
import pathlib
import random
import subprocess
import sys

LAYOUTS = {
    "gray": ["-grayscale"],
    "444": ["-sample", "1x1"],
    "422": ["-sample", "2x1"],
    "420": ["-sample", "2x2"],
    "420-restarts": ["-sample", "2x2", "-restart", "1B"],
    "444-rows": ["-sample", "1x1", "-restart", "1"],
}
SIZES = [(8, 8), (61, 47), (640, 480)]
EXTRA = b"\x12\x00\xff\x00 bytes of a drone that the image does not need"


def picture(width, height):
    noise = random.Random(width)
    pixels = bytes((x * 3 // 2 + y + c * 50 + noise.randrange(16)) % 256
                   for y in range(height) for x in range(width) for c in range(3))
    return b"P6\n%d %d\n255\n" % (width, height) + pixels


def markers(data, *codes):
    return [i for i in range(len(data) - 1) if data[i] == 0xFF and data[i + 1] in codes]


def insert(data, at):
    return data[:at] + EXTRA + data[at:]


def variants(data, is_progressive):
    end, scans = len(data) - 2, markers(data, 0xDA)
    yield "accepted-end", insert(data, end)
    yield "accepted-header", insert(data, markers(data, 0xC4)[0])
    if not is_progressive:
        for name, parameters in (("samsung", b"\0\0\0"), ("bits", b"\1\x3f\x21")):
            at = scans[0] + 5 + 2 * data[scans[0] + 4]
            yield "accepted-" + name, data[:at] + parameters + data[at + 3:]
    restarts = markers(data, *range(0xD0, 0xD8))
    if restarts:
        yield "lenient-restart", insert(data, restarts[-1])
        yield "refused-restart", data[: restarts[0]] + data[restarts[0] + 2:]
    if is_progressive:
        table = max(i for i in markers(data, 0xC4) if i < scans[1])
        yield "lenient-scan", insert(data, table)
        yield "smoothed-scan", data[: markers(data, 0xC4)[-1]] + b"\xff\xd9"
        yield "refused-scan", data[:table] + data[scans[2]:]
    yield "refused-cut", data[: end]
    yield "refused-early", data[: (scans[0] + end) // 2 + 10] + b"\xff\xd9"


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir()
    for size in SIZES:
        pixels = picture(*size)
        for layout, options in LAYOUTS.items():
            for coding in ("baseline", "progressive"):
                command = ["cjpeg", "-quality", "92", *options] + ["-progressive"] * (coding == "progressive")
                data = subprocess.run(command, input=pixels, stdout=subprocess.PIPE, check=True).stdout
                name = "%s-%s-%dx%d.jpg" % (layout, coding, *size)
                (directory / ("sound-" + name)).write_bytes(data)
                for kind, variant in variants(data, coding == "progressive"):
                    (directory / (kind + "-" + name)).write_bytes(variant)


main()
