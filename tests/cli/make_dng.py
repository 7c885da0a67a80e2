#!/usr/bin/env python3
"""Writes a small DNG with JPEG previews: make_dng.py FILE [PREVIEW.jpg]...

The first directory holds the first preview and the camera's name, as cameras write it. It has subdirectories for the
other previews and for a sensor of 32 x 32 values without colours. The previews end the file. Source: Adobe's "Digital Negative Specification" 1.4.
"""
import pathlib
import struct
import sys

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 10: 8}  # bytes of a value of each type
CODES = {1: "B", 3: "H", 4: "I"}


def directory(entries, at):
    """A directory at this offset, with values that do not fit into it behind it."""
    body, behind = struct.pack("<H", len(entries)), b""
    for tag, kind, values in sorted(entries):
        data = values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{CODES[kind]}", *values)
        place = data.ljust(4, b"\0")
        if len(data) > 4:
            place = struct.pack("<I", at + 2 + 12 * len(entries) + 4 + len(behind))
            behind += data + b"\0" * (len(data) % 2)
        body += struct.pack("<HHI", tag, kind, len(data) // SIZES[kind]) + place
    return body + bytes(4) + behind


def jpeg_size(data):
    """Width and height from the frame header."""
    at = 2
    while data[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    height, width = struct.unpack(">HH", data[at + 5 : at + 9])
    return width, height


def preview_entries(data, at):
    width, height = jpeg_size(data)
    return [(254, 4, [1]), (256, 4, [width]), (257, 4, [height]), (258, 3, [8, 8, 8]), (259, 3, [7]), (262, 3, [6]),
            (273, 4, [at]), (277, 3, [3]), (278, 4, [height]), (279, 4, [len(data)])]


def build(previews, places):
    """The file without the previews, which lie at these places behind it."""
    side = 32
    sensor = bytes((x * 3 + y * 5) % 256 for y in range(side) for x in range(side))
    file, subdirectories = bytearray(8), []

    def append(data):
        at = len(file)
        file.extend(data + b"\0" * (len(data) % 2))
        return at

    sensor_at = append(sensor)
    for data, at in list(zip(previews, places))[1:]:
        subdirectories.append(append(directory(preview_entries(data, at), len(file))))
    subdirectories.append(append(directory(
        [(254, 4, [0]), (256, 4, [side]), (257, 4, [side]), (258, 3, [8]), (259, 3, [1]), (262, 3, [34892]),
         (273, 4, [sensor_at]), (277, 3, [1]), (278, 4, [side]), (279, 4, [len(sensor)]),
         (50714, 4, [0]), (50717, 4, [255])], len(file))))
    matrix = struct.pack("<18i", *[1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1])
    first = preview_entries(previews[0], places[0]) if previews else [(254, 4, [1])]
    at = append(directory(first + [(271, 2, b"Maker\0"), (272, 2, b"Camera\0"), (330, 4, subdirectories),
                                   (50706, 1, [1, 4, 0, 0]), (50708, 2, b"Camera\0"), (50721, 10, matrix)], len(file)))
    file[:8] = struct.pack("<2sHI", b"II", 42, at)
    return bytes(file)


def dng(previews):
    size = len(build(previews, [0] * len(previews)))
    places = [size + sum(map(len, previews[:i])) for i in range(len(previews))]
    return build(previews, places) + b"".join(previews)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_bytes(dng([pathlib.Path(name).read_bytes() for name in sys.argv[2:]]))
