#!/usr/bin/env python3
"""Compares the robust statistics of random images with those of NumPy and astropy: robust.py IMGHIST [SEED].

Needs: numpy, astropy
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
from astropy.stats import sigma_clip

imghist, seed = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if sys.argv[2:] else 1
NAMES = "mad,iqr,clipped_mean,clipped_median,clipped_stddev"


def image(r, k):
    """Flat areas, steps, noise, a few far values; few pixels and many, even and odd numbers; 8 bits and 16."""
    top, n = (255 if k % 2 else 65535), int(r.integers(1, 60 if k % 3 else 5000))
    pixels = r.normal(r.uniform(0, top), r.choice([0, 2, top / 20, top]), n)
    far = r.random(n) < r.choice([0, 0.001, 0.05])
    return numpy.where(far, r.uniform(0, top, n), pixels).clip(0, top).astype("u1" if k % 2 else ">u2")


def expected(pixels):
    v = numpy.sort(pixels.astype(float))
    at = lambda p: v[max(0, -(-len(v) * p // 100) - 1)]  # the least value with a cumulative share of p %
    distances = numpy.sort(abs(v - at(50)))
    kept = sigma_clip(v, sigma=3, maxiters=None, masked=False)
    return distances[-(-len(v) // 2) - 1], at(75) - at(25), kept.mean(), numpy.median(kept), kept.std()


with tempfile.TemporaryDirectory() as folder:
    images = [image(numpy.random.default_rng(seed * 1000 + k), k) for k in range(300)]
    for k, pixels in enumerate(images):
        head = f"P5 {len(pixels)} 1 {255 if k % 2 else 65535}\n".encode()
        pathlib.Path(folder, f"{k:03}.pgm").write_bytes(head + pixels.tobytes())
    command = [imghist, folder, "--bins=native", "--csv=stats", f"--fields=channel,{NAMES}", "-q"]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
rows = [[float(v) for v in row.split(",")[1:]] for row in rows if row.startswith("gray,")]
assert len(rows) == len(images)
wrong = [k for k, row in enumerate(rows) if not numpy.allclose(row, expected(images[k]), rtol=1e-9, atol=6e-7)]
for k in wrong[:5]:
    print(k, len(images[k]), rows[k], expected(images[k]))
sys.exit(f"{len(rows)} images, {len(wrong)} differ" if wrong else print(f"{len(rows)} images, 0 differ"))
