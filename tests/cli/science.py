"""science.py fits N SEED: writes N random files byte by byte, and expected.json: types of samples, planes, tables, scales, undefined pixels,
checksums and compressed tiles of FITS.
science.py check NDJSON [first]: compares what imghist wrote about them (--bins=native and, without first, --frames) with the bins
that were computed while writing."""

import gzip
import json
import math
import random
import struct
import sys
from collections import Counter

NOT_FINITE = {"nan": math.nan, "positive_infinity": math.inf, "negative_infinity": -math.inf}


def float32(x):
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def key(value, name):
    """The bin of a finite value."""
    if name[0] == "u":
        return value
    if name[0] == "i":
        return value + (1 << (int(name[3:]) - 1))
    bits = struct.unpack("<H", struct.pack("<e", value + 0.0))[0] if name == "float16" else struct.unpack("<I", struct.pack("<f", value + 0.0))[0] >> 16
    return bits ^ 0xFFFF if bits >> 15 else bits | 0x8000


def describe(name, channels):
    """What the record of an image must say: channels is {name: samples}."""
    out = {}
    for channel, samples in channels.items():
        finite = [v for v in samples if math.isfinite(v)]
        out[channel] = {
            "bins": {str(b): n for b, n in sorted(Counter(key(v, name) for v in finite).items())},
            "nan": sum(math.isnan(v) for v in samples),
            "positive_infinity": samples.count(math.inf),
            "negative_infinity": samples.count(-math.inf),
            "min": min(finite, default=None),
            "max": max(finite, default=None),
            "mean": math.fsum(finite) / len(finite) if finite else None,
        }
    return {"samples": name, "channels": out}


# ---- FITS. Source: the FITS Standard 4.0 ----


def header(cards):
    def show(v):
        return f"'{v:8}'" if isinstance(v, str) else f"{'T' if v is True else v:>20}"

    text = "".join(f"{k:8}= {show(v)}".ljust(80) for k, v in cards) + "END".ljust(80)
    return text.encode().ljust(-(-len(text) // 2880) * 2880)


def data_sum(data):
    """The sum of 32-bit words, with the carries added."""
    total = sum(struct.unpack(f">{len(data) // 4}I", data))
    while total >> 32:
        total = (total & 0xFFFFFFFF) + (total >> 32)
    return total


def unit(r, cards, data):
    data = data.ljust(-(-len(data) // 2880) * 2880, b"\0")
    if r.random() < 0.4:
        cards = [*cards, ("DATASUM", str(data_sum(data)))]
    return header(cards) + data


def shape_cards(prefix, bitpix, axes):
    return [(prefix + "BITPIX", bitpix), (prefix + "NAXIS", len(axes)), *((f"{prefix}NAXIS{i + 1}", n) for i, n in enumerate(axes))]


def table(r, columns, rows, heap, cards):
    """A binary table with columns of 8 bytes: [(name, form)]."""
    more = [(f"{key}{i + 1}", v) for i, c in enumerate(columns) for key, v in zip(("TTYPE", "TFORM"), c)]
    sizes = [("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 8 * len(columns)), ("NAXIS2", len(rows) // (8 * len(columns)) if columns else 0)]
    return unit(r, [("XTENSION", "BINTABLE"), *sizes, ("PCOUNT", len(heap)), ("GCOUNT", 1), ("TFIELDS", len(columns)), *more, *cards], rows + heap)


def compressed(r, bitpix, axes, stored, cards):
    """Tiles of whole rows, or of a part of a row, with gzip. Floats may be of integers, without dither."""
    letter = {8: "B", 16: "h", -32: "f"}[bitpix]
    across, down = (axes[0], r.randrange(1, axes[1] + 1)) if r.random() < 0.5 else (r.randrange(1, axes[0] + 1), 1)
    scale = r.choice([None, 0.25]) if bitpix == -32 else None
    rows, heap, out = b"", b"", list(stored)
    planes = len(stored) // (axes[0] * axes[1])
    for plane in range(planes):
        for top in range(0, axes[1], down):
            for left in range(0, axes[0], across):
                at = [(plane * axes[1] + y) * axes[0] + x for y in range(top, min(top + down, axes[1])) for x in range(left, min(left + across, axes[0]))]
                tile = [stored[i] for i in at]
                if scale:
                    tile = [-99 if not math.isfinite(v) else max(min(int(v / scale), 10**6), -(10**6)) for v in tile]
                    for i, v in zip(at, tile):
                        out[i] = math.nan if v == -99 else float32(v * scale + 3)
                data = gzip.compress(struct.pack(f">{len(tile)}{'i' if scale else letter}", *tile), mtime=0)
                rows += struct.pack(">2I", len(data), len(heap)) + (struct.pack(">2d", scale, 3) if scale else b"")
                heap += data
    columns = [("COMPRESSED_DATA", "1PB")] + ([("ZSCALE", "1D"), ("ZZERO", "1D")] if scale else [])
    tiles = [across, down, 1][: len(axes)]
    cards = [("ZIMAGE", True), ("ZCMPTYPE", "GZIP_1"), *shape_cards("Z", bitpix, axes), *((f"ZTILE{i + 1}", n) for i, n in enumerate(tiles)), *cards]
    cards += [("ZQUANTIZ", "NO_DITHER"), ("ZBLANK", -99)] if scale else [("ZQUANTIZ", "NONE")] if bitpix == -32 else []
    return table(r, columns, rows, heap, cards), out


def image(r, is_first):
    """An image, and what is expected of its planes."""
    bitpix = r.choice([8, 16, -32])
    axes = [r.randrange(1, 40) for _ in range(r.choice([1, 2, 2, 2]))]
    axes += [r.randrange(1, 4) for _ in range(r.choice([0, 0, 1, 2]) if len(axes) == 2 else 0)]
    low, high = {8: (0, 255), 16: (-32768, 32767), -32: (-1000, 1000)}[bitpix]
    draw = r.choice([lambda: r.randint(low, high), lambda: r.choice([low, high, 7])])
    stored = [draw() for _ in range(math.prod(axes))]
    if bitpix == -32:
        stored = [r.choice([float32(r.gauss(v, 1)), v, -0.0, 1e-41, *NOT_FINITE.values()]) for v in stored]
    kind = r.choice(["plain", "half", "scaled", "blank"])
    scale, zero, blank, cards = 1, 0, None, []
    if kind == "half" and bitpix != -32:
        zero = -128 if bitpix == 8 else 32768
        cards = [("BZERO", zero)]
    elif kind == "scaled":
        scale, zero = r.choice([0.1, -2.0, 1.0]), r.choice([0.0, 0.5, -1e3])
        cards = [("BSCALE", scale), ("BZERO", zero)]
    elif kind == "blank" and bitpix != -32:
        blank = stored[0]
        cards = [("BLANK", blank)]
    data = None
    if len(axes) > 1 and len(axes) < 4 and not is_first and r.random() < 0.5:
        data, stored = compressed(r, bitpix, axes, stored, cards)
    if blank is not None or (scale, zero) not in ((1, 0), (1, -128 if bitpix == 8 else 32768)) or bitpix == -32:
        name, values = "float32", [math.nan if v == blank else float32(v * scale + zero) for v in stored]
    else:
        name, values = {(8, 0): "uint8", (8, -128): "int8", (16, 0): "int16", (16, 32768): "uint16"}[bitpix, zero], [int(v + zero) for v in stored]
    if data is None:
        start = [("SIMPLE", True)] if is_first else [("XTENSION", "IMAGE")]
        end = [("PCOUNT", 0), ("GCOUNT", 1)] if not is_first else []
        letter = {8: "B", 16: "h", -32: "f"}[bitpix]
        data = unit(r, [*start, *shape_cards("", bitpix, axes), *end, *cards], struct.pack(f">{len(stored)}{letter}", *stored))
    n = math.prod(axes[:2])
    return data, [describe(name, {"gray": values[i : i + n]}) for i in range(0, len(values), n)]


def fits(r, path):
    data, expected = b"", []
    if r.random() < 0.3:
        data = header([("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0)])
        if r.random() < 0.5:
            data += table(r, [("X", "1D")], bytes(8 * 3), b"", [])
    for _ in range(r.choice([1, 1, 1, 2, 3])):
        more, planes = image(r, not data)
        data += more
        expected += planes
    with open(path, "wb") as f:
        f.write(data)
    return expected


def make(write, ending, n, seed):
    r = random.Random(seed)
    expected = {}
    for i in range(n):
        path = f"{i:04}.{ending}"
        frames = write(r, path)
        expected |= {f"{path}#{k + 1}" if len(frames) > 1 else path: frame for k, frame in enumerate(frames)}
    with open("expected.json", "w") as f:
        json.dump(expected, f)


def bins_of(channel):
    """The bins of a record, empty ones left out."""
    if "histogram" in channel:
        return {str(b): n for b, n in enumerate(channel["histogram"]) if n}
    return {str(first + i): n for first, *counts in channel["ranges"] for i, n in enumerate(counts) if n}


def check(path, is_first):
    with open("expected.json") as f:
        expected = json.load(f)
    if is_first:
        expected = {k.removesuffix("#1"): v for k, v in expected.items() if "#" not in k or k.endswith("#1")}
    n = 0
    for record in (json.loads(line) for line in open(path)):
        where = record["file"].removeprefix("./")
        want = expected.pop(where)
        if record["status"] != "ok":
            sys.exit(f"{where}: {record['error']}")
        channels = {c["name"]: c for c in record["channels"] if c["name"] != "luma"}
        got = record.get("samples", f"uint{record['source_depth']}"), list(channels)
        if got != (want["samples"], list(want["channels"])):
            sys.exit(f"{where}: {got}, expected {want['samples']}, {list(want['channels'])}")
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
                    a = float32(a)
                if a != b and (None in (a, b) or key != "mean" or not math.isclose(a, b, rel_tol=6e-9, abs_tol=1e-6)):
                    sys.exit(f"{where}: {name}: {key} is {a}, expected {b}")
        n += 1
    if expected:
        sys.exit(f"no records of {list(expected)[:5]}")
    print(n)


if sys.argv[1] == "check":
    check(sys.argv[2], "first" in sys.argv)
else:
    make({"fits": fits}[sys.argv[1]], sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
