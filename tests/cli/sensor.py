"""sensor.py DEPTH PHASE: writes a.dng, whose sensor has random values of 8 to 16 bits, packed, and expected.json.
sensor.py lossless: the same with two tiles of lossless JPEG of 12 bits, RGGB. sensor.py odd|mono|linear|xtrans|cyan|
levels|wide: others.
sensor.py check NDJSON [LOW HIGH]: compares a record with expected.json: bins, names, levels, and clipped values.
Sources: Adobe's "Digital Negative Specification" 1.4; ITU-T T.81, annex H."""

import json
import random
import struct
import sys
from collections import Counter

from make_dng import directory

COLOURS = {"R": 0, "G": 1, "B": 2, "C": 3}
WIDTH, HEIGHT, AREA = 64, 40, (2, 4, 38, 60)  # top, left, bottom, right


def pack(rows, depth):
    """Rows of samples, most significant bit first, each row from a new byte on; of 16 bits little-endian."""
    if depth == 16:
        return b"".join(struct.pack(f"<{len(row)}H", *row) for row in rows)
    out = b""
    for row in rows:
        bits = "".join(f"{v:0{depth}b}" for v in row)
        bits += "0" * (-len(bits) % 8)
        out += int(bits, 2).to_bytes(len(bits) // 8, "big")
    return out


def lossless_jpeg(rows, depth):
    """Codes of 5 bits for the 17 sizes of differences, predictor 1."""
    bits = []
    for y, row in enumerate(rows):
        for x, v in enumerate(row):
            before = row[x - 1] if x else rows[y - 1][0] if y else 1 << (depth - 1)
            difference = v - before
            size = abs(difference).bit_length()
            bits.append(f"{size:05b}")
            if size:
                bits.append(f"{difference if difference > 0 else difference + (1 << size) - 1:0{size}b}")
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    data = int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\0")
    frame = struct.pack(">BHHB3B", depth, len(rows), len(rows[0]), 1, 1, 0x11, 0)
    table = bytes([0, *[0] * 4, 17, *[0] * 11, *range(17)])
    segments = ((0xC3, frame), (0xC4, table), (0xDA, bytes([1, 1, 0, 1, 0, 0])))
    head = b"".join(struct.pack(">BBH", 255, marker, 2 + len(body)) + body for marker, body in segments)
    return b"\xff\xd8" + head + data + b"\xff\xd9"


def dng(entries, parts, kind):
    """A DNG with one directory; kind: the tag of the places of the parts."""
    camera = [(254, 4, [0]), (271, 2, b"Maker\0"), (272, 2, b"Camera\0"), (50706, 1, [1, 4, 0, 0]), (50708, 2, b"Camera\0"),
              (50721, 10, struct.pack("<18i", *[1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1])),
              (kind + (1 if kind == 324 else 6), 4, [len(p) for p in parts])]
    places = [0] * len(parts)
    for _ in range(2):
        head = struct.pack("<2sHI", b"II", 42, 8) + directory([*camera, *entries, (kind, 4, places)], 8)
        places = [len(head) + sum(map(len, parts[:i])) for i in range(len(parts))]
    return head + b"".join(parts)


def write(depth, phase, kind=""):
    r = random.Random(f"{depth}{phase}{kind}")
    largest = (1 << depth) - 1
    rows = [[r.randint(0, largest) for _ in range(WIDTH)] for _ in range(HEIGHT)]
    top, left, bottom, right = AREA
    if kind == "odd":
        bottom, right = bottom - 1, right - 1
    black, white = [r.randint(0, 40) for _ in range(4)], largest - r.randint(1, 40)
    if kind == "levels":
        black, white = [900] * 4, 700
    entries = [(256, 4, [WIDTH]), (257, 4, [HEIGHT]), (258, 3, [depth]), (50829, 4, [top, left, bottom, right]), (50717, 4, [white])]
    pattern, size = phase, 2
    if kind == "xtrans":
        pattern, size = "GGRGGBGGBGGRBRGRBGGGBGGRGGRGGBRBGBRG", 6
    if kind == "cyan":
        pattern = "RGCB"
    if kind in ("mono", "linear"):
        samples = 3 if kind == "linear" else 1
        entries += [(262, 3, [34892]), (277, 3, [samples]), (50714, 4, black[:1] * samples)]
        entries = [(tag, t, values * samples if tag in (258, 50717) else values) for tag, t, values in entries]
        parts = [pack([[v for v in row for _ in range(samples)] for row in rows], depth)]
        black = black[:1] * 4
    else:
        entries += [(262, 3, [32803]), (277, 3, [1]), (33421, 3, [size, size]), (33422, 1, [COLOURS[c] for c in pattern]),
                    (50713, 3, [2, 2]), (50714, 4, black)]
        parts = [pack(rows, depth)]
    if kind == "cyan":
        entries.append((50710, 1, [0, 1, 2, 3]))
    if kind == "wide":
        parts = [lossless_jpeg([row + [0] * 9 for row in rows], depth)]
        entries += [(259, 3, [7]), (322, 3, [WIDTH + 9]), (323, 3, [HEIGHT])]
    elif kind == "lossless":
        parts = [lossless_jpeg([row[at : at + WIDTH // 2] for row in rows], depth) for at in (0, WIDTH // 2)]
        entries += [(259, 3, [7]), (322, 4, [WIDTH // 2]), (323, 4, [HEIGHT])]
    else:
        entries += [(259, 3, [1]), (278, 4, [HEIGHT])]
    open("a.dng", "wb").write(dng(entries, parts, 324 if kind in ("lossless", "wide") else 273))

    bands, side = {}, 1 if kind == "mono" else 2
    places = {"gray": 0} if kind == "mono" else {"R": phase.index("R"), "B": phase.index("B")}
    if kind != "mono":
        places.update(G1=places["R"] ^ 1, G2=places["B"] ^ 1)
    for name in ["gray"] if kind == "mono" else ["R", "G1", "G2", "B"]:
        y, x = divmod(places[name], 2)
        height, width = (bottom - top) // side, (right - left) // side
        values = [rows[top + side * i + y][left + side * k + x] for i in range(height) for k in range(width)]
        bands[name] = {"black": black[places[name]], "white": white, "values": values}
    json.dump({"depth": depth, "size": [width, height], "bands": bands}, open("expected.json", "w"))


def check(path, limits):
    (record,) = [json.loads(line) for line in open(path)]
    expected = json.load(open("expected.json"))
    bands = expected["bands"]
    levels = min(b["black"] for b in bands.values()), next(iter(bands.values()))["white"]
    low, high = limits or (levels if levels[0] < levels[1] else (0, (1 << expected["depth"]) - 1))
    assert [record["width"], record["height"]] == expected["size"] and record["source_depth"] == expected["depth"], record
    assert record["clip_limits"] == {"low": low, "high": high}, record["clip_limits"]
    assert record.get("bins", 256) == 1 << expected["depth"]
    assert len(record["channels"]) == len(bands) + ("gray" in bands)
    for (name, band), channel in zip(bands.items(), record["channels"]):  # luma follows gray
        bins = Counter()
        for start, *counts in channel.get("ranges", [[0, *channel.get("histogram", [])]]):
            bins.update({start + i: n for i, n in enumerate(counts) if n})
        values = band["values"]
        assert bins == Counter(values), name
        assert channel.get("name_in_file", "gray") == name and channel["black"] == band["black"] and channel["white"] == band["white"], name
        assert channel["crushed"] == sum(v <= low for v in values) and channel["blown"] == sum(v >= high for v in values), name


if sys.argv[1] == "check":
    check(sys.argv[2], [int(v) for v in sys.argv[3:]])
elif sys.argv[1].isdigit():
    write(int(sys.argv[1]), sys.argv[2])
else:
    write(12, "RGGB", sys.argv[1])
