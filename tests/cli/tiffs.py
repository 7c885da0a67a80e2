"""tiffs.py make N SEED: writes N random TIFF files byte by byte, and expected.json: types of samples, strips and tiles, planes, both byte orders,
BigTIFF, Deflate with and without predictors, alpha, bands, NaN, infinities and nodata.
tiffs.py check NDJSON: compares what imghist wrote about them (with 256 bins or --bins=native) with the bins and statistics that were computed
while writing."""

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


def write_tiff(path, r, name, pixels, width, height, n_samples, photometric, extra, nodata):
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


def bin_of(value, name):
    letter, bits, kind = TYPES[name]
    if kind != 3:
        return value + (1 << (bits - 1) if kind == 2 else 0)
    pattern = struct.unpack(">H", struct.pack(">" + letter, value + 0.0)[:2])[0]  # of float32 the upper half
    return 0xFFFF - pattern if pattern >> 15 else pattern | 0x8000


def expect(samples, name, nodata):
    """nodata: the value that is counted apart, or None."""
    n_all = len(samples)
    samples = [v for v in samples if v != nodata]
    finite = [v for v in samples if math.isfinite(v)]
    total = sum(map(Fraction, finite))
    return {
        "bins": dict(Counter(str(bin_of(v, name)) for v in finite)),
        "min": min(finite, default=None),
        "max": max(finite, default=None),
        "mean": float(total / len(finite)) if finite else None,
        "nodata": n_all - len(samples),
        **{k: sum(repr(v) == repr(x) for v in samples) for k, x in NOT_FINITE.items()},
    }


def expect_colours(pixels, name, nodata, bits):
    """Luma (bt709) and joint clip counts of unsigned red, green and blue. A sample without data is not clipped."""
    whole = [p[:3] for p in pixels if nodata not in p[:3]]
    luma = Counter(str((13933 * r + 46871 * g + 4732 * b + 32768) >> 16) for r, g, b in whole)
    high = (1 << bits) - 1
    return {"luma": {"bins": luma, "nodata": len(pixels) - len(whole)}, "clip": {
        f"{word}_{kind}": sum(test(v == end != nodata for v in p[:3]) for p in pixels)
        for word, end in (("crushed", 0), ("blown", high)) for kind, test in (("any", any), ("all", all))
    }}


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
        letter = TYPES[name][0]
        nodata = r.choice([None, None, "-7", "1.5", "1e300", "nan", "0.1", repr(r.choice(r.choice(pixels)))])
        if nodata and r.random() < 0.5 and name[0] == "u":  # many pixels of it
            for pixel in pixels[:: r.randrange(1, 4)]:
                pixel[r.randrange(n_samples)] = pixels[0][0]
            nodata = repr(pixels[0][0])
        write_tiff(path, r, name, pixels, width, height, n_samples, 2 if n_colours == 3 else 1, extra, nodata)
        value = float(nodata or "nan")
        if name == "float32" and abs(value) < 3e38:  # rounded to a sample
            value = struct.unpack("f", struct.pack("f", value))[0]
        elif value != math.floor(value) if math.isfinite(value) and name[:5] != "float" else not math.isfinite(value):
            value = None
        alpha = next((n_colours + k for k, kind in enumerate(extra) if kind), None)
        counted = [k for k in range(n_samples) if k != alpha]
        names = ["red", "green", "blue"] if n_colours == 3 else [] if len(counted) > 1 else ["gray"]
        names += [f"band{k + 1}" for k in range(len(names), len(counted))]
        if alpha:
            names.append("alpha")
            counted.append(alpha)
        expected[path] = {
            "samples": name,
            "channels": {
                title: expect([pixel[k] for pixel in pixels], name, value if k != alpha else None)
                for title, k in zip(names, counted)
            },
        }
        if n_colours == 3 and letter in "BH":
            expected[path] |= expect_colours(pixels, name, value, TYPES[name][1])
        if letter == "H":  # the same with 256 bins
            reduced = [[None if v == value and k != alpha else (v * 255 * 2 + 65535) // (2 * 65535) for k, v in enumerate(p)] for p in pixels]
            expected[path]["reduced"] = {
                title: Counter(str(pixel[k]) for pixel in reduced if pixel[k] is not None)
                for title, k in zip(names, counted)
            }
            if n_colours == 3:
                expected[path]["of_reduced"] = expect_colours(reduced, "uint8", None, 8)
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
        got = (record.get("samples", want["samples"][:1]), record.get("not_counted"), list(channels))
        if got != (want["samples"] if want["samples"][0] != "u" else "u", None, list(want["channels"])):
            sys.exit(f"{where}: {got}, expected {want['samples']}, {list(want['channels'])}")
        is_reduced = "reduced" in want and "bins" not in record
        of_colours = want["of_reduced"] if is_reduced and "of_reduced" in want else want
        if "luma" in of_colours:
            luma = record["channels"][-1]
            if (luma["name"], bins_of(luma), luma.get("nodata", 0)) != ("luma", of_colours["luma"]["bins"], of_colours["luma"]["nodata"]):
                sys.exit(f"{where}: other luma")
            if record["clip"] != of_colours["clip"]:
                sys.exit(f"{where}: {record['clip']}, expected {of_colours['clip']}")
        for name, channel in want["channels"].items():
            have = channels[name]
            if bins_of(have) != (want["reduced"][name] if is_reduced else channel["bins"]):
                sys.exit(f"{where}: {name}: other bins")
            for key in [*NOT_FINITE, "nodata"]:
                if have.get(key, 0) != channel[key]:
                    sys.exit(f"{where}: {name}: {key} is {have.get(key)}, expected {channel[key]}")
            for key in ("min", "max", "mean") if not is_reduced else ():
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
