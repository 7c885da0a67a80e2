"""check_groups.py folder CSV, LIST CSV or against REF CSV: compares what imghist wrote about the PNM images below
d/ with their pixels, in exact fractions."""

import csv
import glob
import os
import sys
from fractions import Fraction


def planes(path):
    """The values of red, green, blue and luma (gray counts in all of them), and whether there are colours."""
    kind, samples = read(path)
    if kind == b"P5":
        return [samples] * 4, False
    r, g, b = samples[0::3], samples[1::3], samples[2::3]
    luma = [(13933 * x + 46871 * y + 4732 * z + 32768) >> 16 for x, y, z in zip(r, g, b)]
    return [r, g, b, luma], True


def read(path):
    head, samples = open(path, "rb").read().split(b"\n", 1)
    return head.split()[0], samples


def add_up(paths):
    """The values of each channel of all images."""
    sums, has_colours = [[], [], [], []], False
    for path in paths:
        values, coloured = planes(path)
        has_colours |= coloured
        for to, more in zip(sums, values):
            to.extend(more)
    return dict(zip(("red", "green", "blue", "luma"), sums)) if has_colours else {"gray": sums[0], "luma": sums[0]}


def shares(values):
    return [Fraction(sum(v <= limit for v in values), len(values)) for limit in range(256)]


def near(written, exact, what):
    if abs(Fraction(written) - exact) > Fraction(51, 10**8):
        sys.exit(f"{what}: {written}, expected {float(exact)}")


def check_groups(by, rows):
    paths = sorted(glob.glob("d/**/*.p?m", recursive=True))
    if by == "folder":
        group_of = {path: os.path.dirname(path) for path in paths}
    else:
        group_of = {row["path"]: row["group"] for row in csv.DictReader(open(by, newline=""))}
    groups = {}
    for path in paths:
        if path in group_of:
            groups.setdefault(group_of[path], []).append(path)
    expected = []
    for name in sorted(groups):
        for channel, values in add_up(groups[name]).items():
            expected.append((name, channel, len(values), sum(values), sorted(values)[(len(values) + 1) // 2 - 1]))
    written = [(r["file"], r["channel"], int(r["count"]), int(r["sum"]), int(r["median"])) for r in rows]
    if written != expected:
        sys.exit(f"{written}\nexpected {expected}")


def check_distances(reference, rows):
    reference = {"total": "d/dogs", "cats.ndjson": "d/cats"}.get(reference, reference)
    paths = sorted(glob.glob(f"{reference}/**/*.p?m", recursive=True)) if os.path.isdir(reference) else [reference]
    of_reference = add_up(paths)
    for row in rows:
        values, coloured = planes(row["file"])
        if coloured or "red" in of_reference:
            pairs = [(values[i], of_reference.get(c, of_reference.get("gray"))) for i, c in enumerate(("red", "green", "blue", "luma"))]
        else:
            pairs = [(values[0], of_reference["gray"])]
        gaps = [[abs(x - y) for x, y in zip(shares(a), shares(b))] for a, b in pairs]
        near(row["ks"], max(max(g) for g in gaps), f"{row['file']} ks")
        near(row["emd"], max(sum(g) for g in gaps), f"{row['file']} emd")
    if len(rows) != 12:
        sys.exit(f"{len(rows)} rows")


if __name__ == "__main__":
    table = list(csv.DictReader(open(sys.argv[-1], newline="")))
    if sys.argv[1] == "against":
        check_distances(sys.argv[2], table)
    else:
        check_groups(sys.argv[1], table)
