"""check_float.py make: writes float32 samples, *.le and *.be for --raw=2, *.pfm and *.npy.
check_float.py check NDJSON: compares what imghist wrote about such files with the samples, in exact fractions."""

import json
import math
import random
import struct
import sys
from fractions import Fraction

PERCENTILES = {"p01": 1, "p05": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99}


def to_float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def make():
    r = random.Random(52)
    kinds = {
        "uniform": r.random,
        "normal": lambda: r.gauss(1e5, 1e-1),
        "wide": lambda: math.copysign(2.0 ** r.uniform(-149, 127.9), r.random() - 0.5),
        "holes": lambda: r.choice([math.nan, math.inf, -math.inf, -9999.0, -0.0, 0.0, r.random()]),
        "constant": lambda: 0.1,
        "negative": lambda: -abs(r.gauss(0, 1)),
        "only_nan": lambda: math.nan,
    }
    for name, sample in kinds.items():
        samples = [to_float32(sample()) for _ in range(2 * r.randrange(150, 900))]
        for order in "<>":
            with open(f"{name}.{'le' if order == '<' else 'be'}", "wb") as f:
                f.write(struct.pack(f"{order}{len(samples)}f", *samples))
    rows = [[to_float32(r.gauss(0, 1)) for _ in range(30)] for _ in range(20)]
    for name, scale, order in (("a.pfm", b"-1.0", "<"), ("b.pfm", b"1e+0", ">")):
        with open(name, "wb") as f:
            f.write(b"Pf\n30 20\n" + scale + b"\n" + b"".join(struct.pack(f"{order}30f", *row) for row in rows))
    flat = [x for row in rows for x in row]
    for name, order, fortran in (("c", "<", False), ("d", ">", False), ("e", "<", True), ("f", ">", True)):
        head = f"{{'descr': '{order}f4', 'fortran_order': {fortran}, 'shape': (20, 10, 3), }}\n".encode()
        with open(f"{name}.npy", "wb") as f:
            f.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"{order}600f", *flat))


def read(path):
    """The samples of each channel."""
    data = open(path, "rb").read()
    if path.endswith(".pfm"):
        _, _, scale, body = data.split(b"\n", 3)
        return [struct.unpack(f"{'<' if scale[0] == 45 else '>'}{len(body) // 4}f", body)]
    if path.endswith(".npy"):
        head, body = data.split(b"\n", 1)
        samples = struct.unpack(f"{'<' if b'<f4' in head else '>'}600f", body)
        return [samples[200 * c : 200 * c + 200] if b"True" in head else samples[c::3] for c in range(3)]
    samples = struct.unpack(f"{'<' if path.endswith('le') else '>'}{len(data) // 4}f", data)
    return [samples[0::2], samples[1::2]]


def exact(text):
    digits, power = text.split("p")
    return Fraction(int(digits, 16)) * Fraction(2) ** int(power)


def root(x):
    """The square root, to more digits than a double has."""
    return Fraction(math.isqrt((x.numerator << 4800) // x.denominator), 1 << 2400)


def least_of_bin(x):
    """Bins are the upper 16 bits of the order of the values."""
    b = bits(x + 0.0)
    return struct.unpack("<f", struct.pack("<I", b | 0xFFFF if b >> 31 else b & 0xFFFF0000))[0]


def check_channel(channel, samples, where):
    def same(key, expected):
        if channel[key] != expected:
            sys.exit(f"{where}: {key} is {channel[key]}, expected {expected}")

    counted = sorted(x for x in samples if math.isfinite(x))
    same("count", len(counted))
    for key, value in (("nan", math.nan), ("positive_infinity", math.inf), ("negative_infinity", -math.inf)):
        n = sum(x == value or (x != x and value != value) for x in samples)
        if channel.get(key, 0) != n:
            sys.exit(f"{where}: {key} is {channel.get(key)}, expected {n}")
    if not counted:
        for key in ("mean", "stddev", "min", "max", *PERCENTILES):
            same(key, None)
        if "exact" in channel:
            sys.exit(f"{where}: exact without samples")
        return
    fractions, n = [Fraction(x) for x in counted], len(counted)
    total, squares = sum(fractions), sum(x * x for x in fractions)
    same("mean", float(f"{float(total / n):.9g}"))
    same("stddev", float(f"{float(root(squares / n - (total / n) ** 2)):.9g}"))
    for key, value in (("sum", total), ("squares", squares), ("min", fractions[0]), ("max", fractions[-1])):
        if exact(channel["exact"][key]) != value:
            sys.exit(f"{where}: exact {key}")
    for key, value in (("min", counted[0]), ("max", counted[-1])):
        if to_float32(channel[key]) != value:
            sys.exit(f"{where}: {key} is {channel[key]}, expected {value}")
    for key, percent in PERCENTILES.items():
        value = max(counted[0], least_of_bin(counted[max(0, -(-percent * n // 100) - 1)]))
        if to_float32(channel[key]) != value:
            sys.exit(f"{where}: {key} is {channel[key]}, expected {value}")
    for key in ("skewness", "kurtosis"):
        same(key, None)


def check(path):
    n = 0
    for line in open(path):
        record = json.loads(line)
        if record.get("total"):
            continue
        channels = read(record["file"])
        if record["samples"] != "float32" or len(channels) != len(record["channels"]):
            sys.exit(f"{record['file']}: other samples or channels")
        for channel, samples in zip(record["channels"], channels):
            check_channel(channel, samples, f"{record['file']}: {channel['name']}")
        n += 1
    print(n)


if sys.argv[1] == "make":
    make()
else:
    check(sys.argv[2])
