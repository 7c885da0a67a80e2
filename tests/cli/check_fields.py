"""check_fields.py make DIR, or clipped CSV SIGMA, or shares CSV LIMIT: writes PNM images of one row, and compares chosen
fields of --csv=stats with their samples, by the definitions."""

import csv
import math
import os
import random
import sys


def make(folder):
    """Flat areas, noise and a few far values, 1 to 60 pixels, of 8 and 16 bits."""
    r = random.Random(5)
    os.mkdir(folder)
    for i in range(40):
        top, n = (255, 65535)[i % 2], r.randrange(1, 60)
        middle, spread = r.uniform(0, top), r.choice([0, 2, top / 20, top])
        values = [r.uniform(0, top) if r.random() < 0.1 else r.gauss(middle, spread) for _ in range(n)]
        values = [min(max(round(v), 0), top) for v in values]
        with open(f"{folder}/{i:02}.pgm", "w", encoding="ascii") as f:
            f.write(f"P2 {n} 1 {top} {' '.join(map(str, values))}\n")


def samples(path):
    with open(path, encoding="ascii") as f:
        return sorted(map(int, f.read().split()[4:]))


def clipped(values, sigma):
    """Mean, median and deviation of what sigma_clip of astropy keeps without a limit of steps."""
    while values:
        n = len(values)
        mean, median = math.fsum(values) / n, (values[(n - 1) // 2] + values[n // 2]) / 2
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / n)
        kept = [v for v in values if abs(v - median) <= sigma * deviation]
        if len(kept) == n:
            return [mean, median, deviation]
        values = kept
    return ["", "", ""]


def shares(values, limit):
    return [sum(map(holds, values)) / len(values) for holds in
            (lambda v: v <= limit, lambda v: v < limit, lambda v: v >= limit, lambda v: v > limit)]


def main(what, path, *rest):
    if what == "make":
        return make(path)
    expect = clipped if what == "clipped" else shares
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == 80  # gray, and its luma
    for row in rows:
        wanted = expect(samples(row["file"]), float(rest[0]))
        got = list(row.values())[-len(wanted):]
        assert all(g == w or (g and w != "" and abs(float(g) - w) < 6e-7) for g, w in zip(got, wanted)), (row, wanted)
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
