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
NAMES = "mad,iqr,clipped_mean,clipped_median,clipped_stddev,share_le_100,share_gt_100"


def image(r, k):
    """Flat areas, steps, noise, a few far values; few pixels and many, even and odd numbers; 8 bits and 16."""
    top, n = (255 if k % 2 else 65535), int(r.integers(1, 60 if k % 3 else 5000))
    pixels = r.normal(r.uniform(0, top), r.choice([0, 2, top / 20, top]), n)
    far = r.random(n) < r.choice([0, 0.001, 0.05])
    return numpy.where(far, r.uniform(0, top, n), pixels).clip(0, top).astype("u1" if k % 2 else ">u2")


def expected(pixels, sigma):
    v = numpy.sort(pixels.astype(float))
    at = lambda p: v[max(0, -(-len(v) * p // 100) - 1)]  # the least value with a cumulative share of p %
    distances = numpy.sort(abs(v - at(50)))
    kept = sigma_clip(v, sigma=sigma, maxiters=None, masked=False)
    clipped = (kept.mean(), numpy.median(kept), kept.std()) if len(kept) else (numpy.nan,) * 3
    return distances[-(-len(v) // 2) - 1], at(75) - at(25), *clipped, (v <= 100).mean(), (v > 100).mean()


n_wrong = 0
with tempfile.TemporaryDirectory() as folder:
    images = [image(numpy.random.default_rng(seed * 1000 + k), k) for k in range(300)]
    for k, pixels in enumerate(images):
        head = f"P5 {len(pixels)} 1 {255 if k % 2 else 65535}\n".encode()
        pathlib.Path(folder, f"{k:03}.pgm").write_bytes(head + pixels.tobytes())
    for sigma in (3, 2.5, 1.25, 0.6):
        command = [imghist, folder, "--bins=native", "--csv=stats", f"--fields=channel,{NAMES}", "-q", f"--sigma-clip={sigma}"]
        rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        rows = [[float(v or "nan") for v in row.split(",")[1:]] for row in rows if row.startswith("gray,")]
        assert len(rows) == len(images)
        for k, row in enumerate(rows):
            if not numpy.allclose(row, expected(images[k], sigma), rtol=1e-9, atol=6e-7, equal_nan=True):
                print(sigma, k, len(images[k]), row, expected(images[k], sigma))
                n_wrong += 1
        print(f"sigma {sigma}: {len(rows)} images, {sum(r[2] != r[2] for r in rows)} with nothing left, {n_wrong} differ so far")
sys.exit(n_wrong > 0)
