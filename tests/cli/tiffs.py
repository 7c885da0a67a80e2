"""tiffs.py make N SEED: writes N random TIFF files byte by byte, and expected.json: types of samples, strips and tiles, planes, both byte orders,
BigTIFF, Deflate with and without predictors, alpha, further samples, NaN and infinities.
tiffs.py check NDJSON: compares what imghist wrote about them (--bins=native) with the bins and statistics that were computed while writing."""

import json
import math
import random
import struct
import sys
import zlib
from collections import Counter
from fractions import Fraction

# name: letter of struct, bits, SampleFormat
TYPES = {
    "uint8": ("B", 8, 1),
    "uint16": ("H", 16, 1),
    "int8": ("b", 8, 2),
    "int16": ("h", 16, 2),
    "float16": ("e", 16, 3),
    "float32": ("f", 32, 3),
}
NOT_FINITE = {"nan": math.nan, "positive_infinity": math.inf, "negative_infinity": -math.inf}


def make_sample(r, name):
    """A function that gives random samples."""
    letter, bits, kind = TYPES[name]
    if kind == 3:
        wide = 15 if bits == 16 else 126
        choices = (
            lambda: r.choice([math.nan, math.inf, -math.inf, -7.0, -0.0, 0.0, 1.5, r.random()]),
            lambda: r.gauss(100, 30),
            lambda: math.copysign(2.0 ** r.uniform(-wide - 12, wide), r.random() - 0.5),
        )
    else:
        low = -(1 << (bits - 1)) if kind == 2 else 0
        middle = r.randrange(low, low + (1 << bits))
        choices = (
            lambda: r.randrange(low, low + (1 << bits)),
            lambda: min(max(int(r.gauss(middle, 5)), low), low + (1 << bits) - 1),
            lambda: r.choice([low, low + (1 << bits) - 1, middle]),
        )
    choice = r.choice(choices)
    return lambda: struct.unpack("<" + letter, struct.pack("<" + letter, choice()))[0]


def encode(row, letter, order, bits, step, predictor):
    """The bytes of a row of samples."""
    if predictor == 2:
        values = struct.unpack(f"<{len(row)}{letter.upper()}", struct.pack(f"<{len(row)}{letter}", *row))
        row = [(v - (values[i - step] if i >= step else 0)) % (1 << bits) for i, v in enumerate(values)]
        letter = letter.upper()
    if predictor != 3:
        return struct.pack(f"{order}{len(row)}{letter}", *row)
    size = bits // 8
    data = struct.pack(f">{len(row)}{letter}", *row)
    data = b"".join(data[i::size] for i in range(size))  # the first bytes of all samples, the second ones...
    return bytes((v - (data[i - step] if i >= step else 0)) % 256 for i, v in enumerate(data))


def write_tiff(path, r, name, pixels, width, height, n_samples, photometric, extra):
    letter, bits, kind = TYPES[name]
    order, big = r.choice("<>"), r.random() < 0.3
    planar = n_samples > 1 and r.random() < 0.5
    tile = (16 * r.randrange(1, 4), 16 * r.randrange(1, 3)) if r.random() < 0.5 else None
    rows = r.randrange(1, height + 3)
    deflate = r.random() < 0.6
    predictor = r.choice((1, 3) if kind == 3 else (1, 2)) if deflate else 1
    across, down = tile or (width, min(rows, height))
    blocks = []
    for group in [[i] for i in range(n_samples)] if planar else [list(range(n_samples))]:
        for top in range(0, height, down):
            for left in range(0, width, across):
                data = b""
                for y in range(top, top + down if tile else min(top + down, height)):
                    row = []
                    for x in range(left, left + across):  # a tile's edge repeats the last pixel
                        pixel = pixels[min(y, height - 1) * width + min(x, width - 1)]
                        row += [pixel[i] for i in group]
                    data += encode(row, letter, order, bits, len(group), predictor)
                blocks.append(zlib.compress(data) if deflate else data)
    word, count_letter, head = ("Q", "Q", 16) if big else ("I", "H", 8)
    body, places = b"", []
    for block in blocks:
        places.append(head + len(body))
        body += block + b"\0" * (len(block) % 2)
    tags = [(256, "I", [width]), (257, "I", [height]), (258, "H", [bits] * n_samples), (259, "H", [8 if deflate else 1])]
    tags += [(262, "H", [photometric]), (277, "H", [n_samples]), (284, "H", [2 if planar else 1]), (317, "H", [predictor])]
    tags += [(339, "H", [kind] * n_samples)] + ([(338, "H", extra)] if extra else [])
    sizes = [len(block) for block in blocks]
    if tile:
        tags += [(322, "I", [across]), (323, "I", [down]), (324, word, places), (325, word, sizes)]
    else:
        tags += [(273, word, places), (278, "I", [rows]), (279, word, sizes)]
    nodata = r.choice([None, "-7", "1.5", "1e300"])
    if nodata:
        tags.append((42113, "s", nodata.encode() + b"\0"))
    directory = b""
    room = 8 if big else 4
    for tag, code, values in sorted(tags):
        data = values if code == "s" else struct.pack(f"{order}{len(values)}{code}", *values)
        number = {"s": 2, "H": 3, "I": 4, "Q": 16}[code]
        if len(data) <= room:
            value = data.ljust(room, b"\0")
        else:
            value = struct.pack(order + word, head + len(body))
            body += data + b"\0" * (len(data) % 2)
        directory += struct.pack(f"{order}HH{word}", tag, number, len(values)) + value
    start = struct.pack(order + ("HHHQ" if big else "HI"), *((43, 8, 0) if big else (42,)), head + len(body))
    end = struct.pack(order + count_letter, len(tags)) + directory + b"\0" * room
    with open(path, "wb") as f:
        f.write((b"II" if order == "<" else b"MM") + start + body + end)
    return nodata


def bin_of(value, name):
    letter, bits, kind = TYPES[name]
    if kind != 3:
        return value + (1 << (bits - 1) if kind == 2 else 0)
    pattern = struct.unpack(">H", struct.pack(">" + letter, value + 0.0)[:2])[0]  # of float32 the upper half
    return 0xFFFF - pattern if pattern >> 15 else pattern | 0x8000


def expect(samples, name):
    finite = [v for v in samples if math.isfinite(v)]
    total = sum(map(Fraction, finite))
    return {
        "bins": dict(Counter(str(bin_of(v, name)) for v in finite)),
        "min": min(finite, default=None),
        "max": max(finite, default=None),
        "mean": float(total / len(finite)) if finite else None,
        **{k: sum(repr(v) == repr(x) for v in samples) for k, x in NOT_FINITE.items()},
    }


def make(n, seed):
    r = random.Random(seed)
    expected = {}
    for i in range(n):
        name = r.choice(list(TYPES))
        n_colours = r.choice((1, 3))
        extra = [r.choice((0, 1, 2)) for _ in range(r.choice((0, 0, 1, 1, 2, r.randrange(38))))]
        n_samples = n_colours + len(extra)
        width, height = r.randrange(1, 40), r.randrange(1, 40)
        sources = [make_sample(r, name) for _ in range(n_samples)]
        pixels = [[source() for source in sources] for _ in range(width * height)]
        path = f"{i:04}.tif"
        nodata = write_tiff(path, r, name, pixels, width, height, n_samples, 2 if n_colours == 3 else 1, extra)
        alpha = next((n_colours + k for k, kind in enumerate(extra) if kind), None)
        counted = list(range(n_colours)) + ([alpha] if alpha else [])
        names = ["gray"] if n_colours == 1 else ["red", "green", "blue"]
        can_be = nodata == "-7" and name[0] != "u" or nodata == "1.5" and name[0] == "f"
        expected[path] = {
            "samples": name,
            "not_counted": n_samples - len(counted),
            "nodata": can_be,
            "channels": {
                title: expect([pixel[k] for pixel in pixels], name)
                for title, k in zip(names + ["alpha"], counted)
            },
        }
    with open("expected.json", "w") as f:
        json.dump(expected, f)


def bins_of(channel):
    return {str(first + i): c for first, *counts in channel.get("ranges") or [[0, *channel.get("histogram", [])]] for i, c in enumerate(counts) if c}


def check(path):
    with open("expected.json") as f:
        expected = json.load(f)
    n = 0
    with open(path) as f:
        records = [json.loads(line) for line in f]
    for record in (x for x in records if not x.get("total")):
        where = record["file"].removeprefix("./")
        want = expected.pop(where)
        if record["status"] != "ok":
            sys.exit(f"{where}: {record['error']}")
        channels = {c["name"]: c for c in record["channels"] if c["name"] != "luma"}
        got = (record.get("samples", "uint8"), record.get("not_counted", {}).get("samples", 0), list(channels))
        if want["samples"][0] == "u":
            got = (want["samples"], *got[1:])
        if got != (want["samples"], want["not_counted"], list(want["channels"])):
            sys.exit(f"{where}: {got}, expected {want['samples']}, {want['not_counted']}, {list(want['channels'])}")
        if any("GDAL_NODATA" in w for w in record.get("warnings", [])) != want["nodata"]:
            sys.exit(f"{where}: warnings {record.get('warnings')}")
        for name, channel in want["channels"].items():
            have = channels[name]
            if bins_of(have) != channel["bins"]:
                sys.exit(f"{where}: {name}: other bins")
            for key in NOT_FINITE:
                if have.get(key, 0) != channel[key]:
                    sys.exit(f"{where}: {name}: {key} is {have.get(key)}, expected {channel[key]}")
            for key in ("min", "max", "mean"):
                a, b = have[key], channel[key]
                if a is not None and key != "mean":
                    a = struct.unpack("f", struct.pack("f", a))[0]
                if a != b and (None in (a, b) or key != "mean" or not math.isclose(a, b, rel_tol=6e-9, abs_tol=1e-6)):
                    sys.exit(f"{where}: {name}: {key} is {a}, expected {b}")
        n += 1
    if expected:
        sys.exit(f"no records of {list(expected)[:5]}")
    print(n)


if sys.argv[1] == "make":
    make(int(sys.argv[2]), int(sys.argv[3]))
else:
    check(sys.argv[2])
