"""science.py fits|exr N SEED: writes N random files byte by byte, and expected.json. FITS: types of samples, planes, tables, scales, undefined
pixels, checksums and compressed tiles. OpenEXR: half and float channels, also mixed and others beside the colours, scan lines in both orders, tiles
with and without smaller levels, data windows, parts, no compression and zip.
science.py check NDJSON [first]: compares what imghist wrote about them (--bins=native and, without first, --frames) with the bins
that were computed while writing."""

import gzip
import json
import math
import random
import struct
import sys
import zlib
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


def describe(name, channels, nodata=None):
    """What the record of an image must say: channels is {name: samples}."""
    out = {}
    for channel, samples in channels.items():
        finite = [v for v in samples if math.isfinite(v) and v != nodata]
        out[channel] = {
            "bins": {str(b): n for b, n in sorted(Counter(key(v, name) for v in finite).items())},
            "nodata": samples.count(nodata),
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
    tiles = [across, down, *[1] * (len(axes) - 2)]
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
    kind = r.choice(["plain", "half", "scaled"])
    scale, zero, blank, cards = 1, 0, None, []
    if kind == "half" and bitpix != -32:
        zero = -128 if bitpix == 8 else 32768
        cards = [("BZERO", zero)]
    elif kind == "scaled":
        scale, zero = r.choice([0.1, -2.0, 1.0]), r.choice([0.0, 0.5, -1e3])
        cards = [("BSCALE", scale), ("BZERO", zero)]
    if bitpix != -32 and r.random() < 0.3:
        blank = r.choice([stored[0], 70000])
        cards = [*cards, ("BLANK", blank)]
    data = None
    if len(axes) > 1 and not is_first and r.random() < 0.5:
        data, stored = compressed(r, bitpix, axes, stored, cards)
    if (scale, zero) not in ((1, 0), (1, -128 if bitpix == 8 else 32768)) or bitpix == -32:
        name, values = "float32", [float32(v * scale + zero) for v in stored]
    else:
        name, values = {(8, 0): "uint8", (8, -128): "int8", (16, 0): "int16", (16, 32768): "uint16"}[bitpix, zero], [int(v + zero) for v in stored]
    if data is None:
        start = [("SIMPLE", True)] if is_first else [("XTENSION", "IMAGE")]
        end = [("PCOUNT", 0), ("GCOUNT", 1)] if not is_first else []
        letter = {8: "B", 16: "h", -32: "f"}[bitpix]
        data = unit(r, [*start, *shape_cards("", bitpix, axes), *end, *cards], struct.pack(f">{len(stored)}{letter}", *stored))
    n = math.prod(axes[:2])
    nodata = None if blank is None else float32(blank * scale + zero) if name == "float32" else blank + zero
    return data, [describe(name, {"gray": values[i : i + n]}, nodata) for i in range(0, len(values), n)]


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


# ---- OpenEXR. Source: "OpenEXR File Layout" ----

ZIPS, ZIP, TILED, MULTIPART = 2, 3, 0x200, 0x1000
COLOURS = {"R": "red", "G": "green", "B": "blue", "Y": "gray", "A": "alpha"}


def attribute(name, kind, data):
    return f"{name}\0{kind}\0".encode() + struct.pack("<i", len(data)) + data


def packed(data, compression):
    """Bytes of even places, then those of odd ones; each the difference to the last; deflated, unless that is longer."""
    if not compression:
        return data
    split = data[0::2] + data[1::2]
    small = zlib.compress(bytes((b - (split[i - 1] - 128 if i else 0)) % 256 for i, b in enumerate(split)))
    return small if len(small) < len(data) else data


def part(r, index, flags):
    """The header and the chunks of a part, and what is expected."""
    left, top, width, height = r.randrange(-9, 9), r.randrange(-9, 9), r.randrange(1, 50), r.randrange(1, 50)
    names = [*r.choice(["RGB", "RGBA", "Y", "YA", "", "A"]), *r.sample(["Z", "N.X", "diffuse.R", "Y", "u"], r.choice([0, 0, 1, 2, 4]))]
    names = list(dict.fromkeys(names if names and names != ["u"] else ["G"]))
    kinds = {c: "I" if c == "u" else "f" if c == "Z" else r.choice("ef") for c in names}
    if r.random() < 0.6:
        same = kinds[next(c for c in names if c != "u")]
        kinds = {c: "I" if c == "u" else same for c in names}
    draw = r.choice([lambda: r.gauss(0.5, 0.3), lambda: r.choice([*NOT_FINITE.values(), -0.0, 0.0, 65504.0, 6e-8, 1.5])])
    pixels = {}
    for c in names:
        samples = [r.getrandbits(32) if c == "u" else draw() for _ in range(width * height)]
        pixels[c] = [struct.unpack("<" + kinds[c], struct.pack("<" + kinds[c], v))[0] for v in samples]
    compression, order, tile = r.choice([0, ZIPS, ZIP]), r.choice([0, 1]), (r.randrange(1, 40), r.randrange(1, 40))
    channels = b"".join(f"{c}\0".encode() + struct.pack("<i4x2i", "Ief".index(kinds[c]), 1, 1) for c in sorted(names)) + b"\0"
    window = struct.pack("<4i", left, top, left + width - 1, top + height - 1)
    head = attribute("channels", "chlist", channels) + attribute("compression", "compression", bytes([compression]))
    head += attribute("dataWindow", "box2i", window) + attribute("displayWindow", "box2i", struct.pack("<4i", 0, 0, 9, 9))
    head += attribute("lineOrder", "lineOrder", bytes([order])) + attribute("pixelAspectRatio", "float", struct.pack("<f", 1))
    head += attribute("screenWindowCenter", "v2f", bytes(8)) + attribute("screenWindowWidth", "float", struct.pack("<f", 1))

    def rows(x0, x1, y0, y1):
        return b"".join(struct.pack(f"<{x1 - x0}{kinds[c]}", *pixels[c][y * width + x0 : y * width + x1]) for y in range(y0, y1) for c in sorted(names))

    chunks = []
    if flags & TILED:
        levels = r.random() < 0.3 and (width, height) != (1, 1)
        head += attribute("tiles", "tiledesc", struct.pack("<2IB", *tile, int(levels)))
        for y in range(0, height, tile[1]):
            for x in range(0, width, tile[0]):
                data = packed(rows(x, min(x + tile[0], width), y, min(y + tile[1], height)), compression)
                chunks.append(struct.pack("<4iI", x // tile[0], y // tile[1], 0, 0, len(data)) + data)
        w, h, level = width, height, 0
        while levels and (w, h) != (1, 1):  # smaller copies, here of other samples
            w, h, level = max(w // 2, 1), max(h // 2, 1), level + 1
            for y in range(0, h, tile[1]):
                for x in range(0, w, tile[0]):
                    n = min(tile[0], w - x) * min(tile[1], h - y)
                    data = packed(bytes(n * sum(2 if k == "e" else 4 for k in kinds.values())), compression)
                    chunks.append(struct.pack("<4iI", x // tile[0], y // tile[1], level, level, len(data)) + data)
    else:
        n = 16 if compression == ZIP else 1
        for y in range(0, height, n):
            data = packed(rows(0, width, y, min(y + n, height)), compression)
            chunks.append(struct.pack("<iI", y + top, len(data)) + data)
    if flags & MULTIPART:
        head += attribute("name", "string", f"part {index}".encode()) + attribute("type", "string", b"tiledimage" if flags & TILED else b"scanlineimage")
        head += attribute("chunkCount", "int", struct.pack("<i", len(chunks)))
        chunks = [struct.pack("<i", index) + c for c in chunks]
    colours = [c for c in ("RGB" if {*"RGB"} <= {*names} else "Y") if c in names]
    bands = [c for c in sorted(names) if c not in [*colours, "A", "u"]]
    if names == ["A"] or {*names} == {"A", "u"}:
        bands = ["A"]
    counted = [*colours, *bands, *(["A"] if "A" in names and bands != ["A"] else [])]
    shown = {c: f"band{i + 1}" if c in bands else COLOURS[c] for i, c in enumerate(counted)}
    expected = describe("float16" if all(kinds[c] == "e" for c in counted) else "float32", {shown[c]: pixels[c] for c in counted})
    expected["names"] = {shown[c]: c for c in bands}
    return head + b"\0", chunks, order == 1 and not flags & TILED, expected | {"not_counted": len(names) - len(counted)}


def exr(r, path):
    flags = r.choice([0, TILED, MULTIPART])
    parts = [part(r, i, flags if flags != MULTIPART else flags | r.choice([0, TILED])) for i in range(r.randrange(1, 4) if flags == MULTIPART else 1)]
    start = struct.pack("<2I", 20000630, 2 | flags) + b"".join(p[0] for p in parts) + (b"\0" if flags == MULTIPART else b"")
    at = len(start) + 8 * sum(len(p[1]) for p in parts)
    tables, body = b"", b""
    for _, chunks, is_reversed, _ in parts:
        places = [0] * len(chunks)
        for i in range(len(chunks))[:: -1 if is_reversed else 1]:
            places[i] = at + len(body)
            body += chunks[i]
        tables += struct.pack(f"<{len(places)}Q", *places)
    with open(path, "wb") as f:
        f.write(start + tables + body)
    return [p[3] for p in parts]


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
        got = record.get("samples", f"uint{record['source_depth']}"), list(channels), record.get("not_counted", {}).get("samples", 0)
        if got != (want["samples"], list(want["channels"]), want.get("not_counted", 0)):
            sys.exit(f"{where}: {got}, expected {want['samples']}, {list(want['channels'])}, {want.get('not_counted', 0)}")
        if {c["name"]: c["name_in_file"] for c in record["channels"] if "name_in_file" in c} != want.get("names", {}):
            sys.exit(f"{where}: other names")
        for name, channel in want["channels"].items():
            have = channels[name]
            if bins_of(have) != channel["bins"]:
                sys.exit(f"{where}: {name}: other bins")
            for key in (*NOT_FINITE, "nodata"):
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
    make({"fits": fits, "exr": exr}[sys.argv[1]], sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
