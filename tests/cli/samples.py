#!/usr/bin/python3
"""Counts raw samples that are signed or floats with imghist, and compares statistics and counts with exact fractions.

usage: samples.py IMGHIST

Uses the standard library alone: struct decodes the samples, Fraction computes. Prints the number of comparisons.
"""
import collections
import csv
import io
import json
import math
import random
import struct
import subprocess
import sys
from fractions import Fraction

IMGHIST = sys.argv[1]
random.seed(52)
KINDS = {"8s": (1, "b"), "16sle": (2, "<h"), "16sbe": (2, ">h"), "f16le": (2, "<e"), "f16be": (2, ">e"), "bf16le": (2, "<"), "bf16be": (2, ">")}
PERCENTILES = {"p01": 1, "p05": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99}
n_compared = 0


def decode(sample, code):
    if code[-1] in "<>":  # bfloat16: the upper half of a float
        bits = int.from_bytes(sample, "little" if code == "<" else "big")
        return struct.unpack(">f", struct.pack(">I", bits << 16))[0]
    return struct.unpack(code, sample)[0]


def codes(kind, n):
    """Random samples, at times of few values, with those at the ends, NaN, infinities and -0."""
    size, code = KINDS[kind]
    order = "big" if code[0] == ">" else "little"
    style = random.randrange(3)
    if style == 0:
        bits = [random.getrandbits(8 * size) for _ in range(n)]
    elif style == 1:
        some = [random.getrandbits(8 * size) for _ in range(1 + random.randrange(3))]
        bits = [random.choice(some) for _ in range(n)]
    else:
        middle = random.getrandbits(8 * size)
        bits = [(middle + int(random.gauss(0, 40))) % (1 << 8 * size) for _ in range(n)]
    ends = [0, (1 << 8 * size) - 1, 1 << 8 * size - 1, (1 << 8 * size - 1) - 1, 0x7C00, 0xFC00, 0x7F80, 0xFF80, 0x7C01, 0xFFC1]
    bits = [random.choice(ends) % (1 << 8 * size) if random.random() < 0.05 else b for b in bits]
    return [b.to_bytes(size, order) for b in bits]


def imghist(*arguments, status=0):
    run = subprocess.run([IMGHIST, *arguments], capture_output=True, text=True)
    assert run.returncode == status, (arguments, run.stderr)
    return run.stdout


def same(value, text, digits):
    """Whether a text has the decimals, or the significant digits, of an exact fraction."""
    global n_compared
    n_compared += 1
    if digits is None:
        assert Fraction(text) == value, (value, text)
    elif digits < 0:
        assert abs(Fraction(text) - value) <= Fraction(51, 10 ** (2 - digits)), (float(value), text)
    else:
        assert abs(Fraction(text) - value) <= abs(value) * Fraction(51, 10 ** (1 + digits)) + Fraction(1, 10 ** 300), (float(value), text)


def check_plane(row, values, is_float):
    apart = {"nan": [math.isnan(v) for v in values], "positive_infinity": [v == math.inf for v in values],
             "negative_infinity": [v == -math.inf for v in values]}
    exact = sorted(Fraction(v) for v in values if math.isfinite(v))
    same(len(exact), row["count"], None)
    for name in apart if row.get("nan", "") != "" else ():
        same(sum(apart[name]), row[name], None)
    assert row["crushed"] == row["blown"] == ""
    if not exact:
        assert row["mean"] == row["min"] == row["median"] == ""
        return
    mean = sum(exact) / len(exact)
    variance = sum((v - mean) ** 2 for v in exact) / len(exact)
    digits = 9 if is_float else -6
    same(mean, row["mean"], digits)
    root = Fraction(math.isqrt(int(variance * 10**80))) / 10**40
    same(root, row["stddev"], digits)
    counts = collections.Counter(exact)
    samples = {name: exact[max(0, -(-percent * len(exact) // 100) - 1)] for name, percent in PERCENTILES.items()}
    samples |= {"min": exact[0], "max": exact[-1], "mode": min(v for v in counts if counts[v] == max(counts.values()))}
    for name, value in samples.items():  # a float: the digits give the same one
        same(value, str(Fraction(struct.unpack("f", struct.pack("f", float(row[name])))[0])) if is_float else row[name], None)
    same(len(counts), row["distinct"], None)
    if is_float:
        assert row["sum"] == row["step"] == ""
    else:
        same(sum(exact), row["sum"], None)


def check(kind):
    size, code = KINDS[kind]
    n_channels, width, height = random.randint(1, 4), random.randint(1, 30), random.randint(1, 30)
    samples = codes(kind, n_channels * width * height)
    data = b"".join(samples)
    with open("a.raw", "wb") as f:
        f.write(data)
    options = [f"--raw={n_channels}", f"--raw-depth={kind}", f"--size={width}x{height}"]
    rows = list(csv.DictReader(io.StringIO(imghist("a.raw", *options, "--csv=stats"))))
    is_float = "f" in kind
    names = [["gray"], ["gray", "alpha"], ["red", "green", "blue"], ["red", "green", "blue", "alpha"]][n_channels - 1]
    has_luma = not is_float
    assert [r["channel"] for r in rows] == names + ["luma"] * has_luma
    values = [decode(s, code) for s in samples]
    for c, row in enumerate(rows[:n_channels]):
        check_plane(row, values[c::n_channels], is_float)
    if has_luma and n_channels >= 3:
        luma = [(13933 * r + 46871 * g + 4732 * b + 32768) >> 16 for r, g, b in zip(values[::n_channels], values[1::n_channels], values[2::n_channels])]
        check_plane(rows[-1], luma, False)
    # Each value with its count, from the record that is read again, and of halves that are added.
    record = imghist("a.raw", *options, "--ndjson")
    with open("a.ndjson", "w") as f:
        f.write(record)
    assert imghist("a.ndjson", "--ndjson") == record
    long = imghist("a.raw", *options, "--csv=long")
    assert imghist("a.ndjson", "--csv=long") == long
    counts = collections.Counter()
    for row in csv.DictReader(io.StringIO(long)):
        if row["channel"] == names[0] and row["count"] != "0":
            counts[Fraction(struct.unpack("f", struct.pack("f", float(row["bin"])))[0])] += int(row["count"])
    assert counts == collections.Counter(Fraction(v) for v in values[::n_channels] if math.isfinite(v))
    pixel = n_channels * size
    for part, piece in (("b", data[: width * height // 2 * pixel]), ("c", data[width * height // 2 * pixel :])):
        with open(f"{part}.raw", "wb") as f:
            f.write(piece)
    if width * height > 1:
        total = imghist("b.raw", "c.raw", *options[:2], "--csv=long", "--total-only").replace("(total)", "a.raw")
        assert total == long
    channel = json.loads(record.splitlines()[0])["channels"][0]
    assert channel.get("nan", 0) == sum(math.isnan(v) for v in values[::n_channels])


for i in range(140):
    check(list(KINDS)[i % len(KINDS)])
print(f"{n_compared} comparisons")
