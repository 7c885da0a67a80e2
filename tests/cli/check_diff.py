"""check_diff.py IMGHIST N [scipy]: makes N pairs of random images and compares the distances of --diff
with the definitions in exact fractions, and with scipy, if it is asked for."""

import csv
import json
import random
import subprocess
import sys
from fractions import Fraction

IMGHIST = sys.argv[1]
N_PAIRS = int(sys.argv[2])
WITH_SCIPY = "scipy" in sys.argv[3:]
if WITH_SCIPY:
    import numpy
    import scipy.stats


def image(rng, path):
    """Writes a gray or colour image whose values are in a random range. Returns its channels as lists."""
    n_channels = rng.choice([1, 3])
    width, height = rng.randint(1, 30), rng.randint(1, 20)
    samples = bytearray(width * height * n_channels)
    for c in range(n_channels):
        low = rng.randint(0, 255)
        high = rng.randint(low, 255)
        samples[c::n_channels] = bytes(rng.randint(low, high) for _ in range(width * height))
    with open(path, "wb") as f:
        f.write(b"P%d\n%d %d\n255\n" % (6 if n_channels == 3 else 5, width, height) + samples)
    return [samples[c::n_channels] for c in range(n_channels)]


def shares(values):
    """F(v) for v from 0 to 255."""
    counts = [0] * 256
    for v in values:
        counts[v] += 1
    return [Fraction(sum(counts[: v + 1]), len(values)) for v in range(256)]


def near(written, exact, what):
    # six decimals
    if abs(Fraction(written) - exact) > Fraction(51, 10**8):
        sys.exit(f"{what}: {written}, expected {float(exact)}")


def check(pair, a, b):
    run = subprocess.run([IMGHIST, "--diff", *pair, "--csv", "-o", "d.csv", "--json"],
                         check=True, capture_output=True, text=True)
    document = json.loads(run.stdout)
    rows = {row["channel"]: row for row in csv.DictReader(open("d.csv", newline=""))}
    names = ["gray"] if len(a) == len(b) == 1 else ["red", "green", "blue"]
    if list(rows) != [*names, "luma"] or [c["name"] for c in document["channels"]] != list(rows):
        sys.exit(f"{pair}: channels {list(rows)}")
    for i, name in enumerate(names):
        values_a, values_b = a[i if len(a) > 1 else 0], b[i if len(b) > 1 else 0]
        gaps = [abs(x - y) for x, y in zip(shares(values_a), shares(values_b))]
        near(rows[name]["ks"], max(gaps), f"{pair} {name} ks")
        near(rows[name]["emd"], sum(gaps), f"{pair} {name} emd")
        if WITH_SCIPY:
            x, y = numpy.frombuffer(bytes(values_a), "u1"), numpy.frombuffer(bytes(values_b), "u1")
            # the distance alone; a p-value of values with ties has no meaning
            near(rows[name]["ks"], Fraction(scipy.stats.ks_2samp(x, y, mode="asymp").statistic), "scipy ks")
            near(rows[name]["emd"], Fraction(scipy.stats.wasserstein_distance(x, y)), "scipy emd")
            near(rows[name]["mean_a"], Fraction(x.mean()), "mean")
            near(rows[name]["stddev_b"], Fraction(y.std()), "stddev")
    for channel in document["channels"]:
        row = rows[channel["name"]]
        for key in ("ks", "emd"):
            if f"{channel[key]:.6f}" != row[key]:
                sys.exit(f"{pair}: {key} of JSON and CSV")
        for side in "ab":
            for key, value in channel[side].items():
                if (float(row[f"{key}_{side}"]) if row[f"{key}_{side}"] else None) != value:
                    sys.exit(f"{pair}: {key} of JSON and CSV")
    for key in ("ks", "emd"):
        if document[key] != max(channel[key] for channel in document["channels"]):
            sys.exit(f"{pair}: the largest {key}")


def main():
    rng = random.Random(1)
    for _ in range(N_PAIRS):
        pair = ("a.pnm", "b.pnm")
        check(pair, *(image(rng, path) for path in pair))
    print(f"{N_PAIRS} pairs")


main()
