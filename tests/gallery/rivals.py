#!/usr/bin/env python3
"""rivals.py CHART OUT PHOTO...: the histograms of photos as other programs draw them, beside ours, for viewers to rank.

For each photo, OUT/NAME.png has the photo and four renderings, marked A to D in an order that differs from photo to
photo; OUT/key.txt says which is whose. CHART: a folder with our charts, NAME.png. It needs matplotlib and Pillow;
CONVERT names ImageMagick's convert, without which its place stays empty.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

SIZE = (1024, 640)


def counts(photo):
    pixels = np.asarray(Image.open(photo).convert("RGB"))
    return [np.bincount(pixels[..., c].ravel(), minlength=256) for c in range(3)], pixels


def tutorial(photo, path):
    """What a search for "matplotlib histogram of an image" finds."""
    figure, axes = pyplot.subplots(figsize=(10.24, 6.4), dpi=100)
    _, pixels = counts(photo)
    for c, colour in enumerate(("red", "green", "blue")):
        axes.hist(pixels[..., c].ravel(), bins=256, range=(0, 256), color=colour, alpha=0.5, label=colour)
    axes.set(xlabel="value", ylabel="pixels", title=Path(photo).name)
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)


def raw_developer(photo, path):
    """As RawTherapee and darktable do: lines and light areas that add up, on black, without numbers."""
    figure = pyplot.figure(figsize=(10.24, 6.4), dpi=100, facecolor="#1c1c1c")
    axes = figure.add_axes((0.02, 0.03, 0.96, 0.94), facecolor="#111")
    bins, pixels = counts(photo)
    luma = np.bincount((pixels @ [0.2126, 0.7152, 0.0722] + 0.5).astype(int).ravel(), minlength=256)
    top = np.sort(np.concatenate([b[1:-1] for b in bins]))[-4] * 1.05 + 1
    for values, colour in zip(bins + [luma], ("#f33", "#3d3", "#46f", "#ccc")):
        axes.fill_between(range(256), np.minimum(values, top), color=colour, alpha=0.12 if colour == "#ccc" else 0.3)
        axes.plot(np.minimum(values, top), color=colour, linewidth=1.2)
    for x in (64, 128, 192):
        axes.axvline(x, color="#444", linewidth=0.8)
    axes.set(xlim=(0, 255), ylim=(0, top), xticks=[], yticks=[])
    figure.savefig(path, facecolor=figure.get_facecolor())
    pyplot.close(figure)


def imagemagick(photo, path):
    convert = os.environ.get("CONVERT")
    if convert and subprocess.run([convert, photo, "-resize", "2000x2000>", "histogram:" + str(path)], check=False).returncode == 0:
        Image.open(path).convert("RGB").resize(SIZE, Image.NEAREST).save(path)
    else:
        Image.new("RGB", SIZE, "#777").save(path)


def main():
    charts, out, photos = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    out.mkdir(parents=True, exist_ok=True)
    key = []
    for photo in photos:
        name = Path(photo).name
        drawn = {"imghist": Image.open(charts / (name + ".png")).convert("RGB")}
        for program, draw in (("matplotlib", tutorial), ("ImageMagick", imagemagick), ("RawTherapee-like", raw_developer)):
            draw(photo, out / "one.png")
            drawn[program] = Image.open(out / "one.png").convert("RGB")
        order = sorted(drawn, key=lambda program: hashlib.sha256((name + program).encode()).digest())
        sheet = Image.new("RGB", (2 * SIZE[0] + 3 * 16, 2 * (SIZE[1] + 40) + 420), "#888")
        thumbnail = Image.open(photo).convert("RGB")
        thumbnail.thumbnail((1000, 400))
        sheet.paste(thumbnail, (16, 10))
        for i, program in enumerate(order):
            x, y = 16 + i % 2 * (SIZE[0] + 16), 450 + i // 2 * (SIZE[1] + 40)
            ImageDraw.Draw(sheet).text((x, y - 32), "ABCD"[i], fill="white", font_size=26)
            sheet.paste(drawn[program].resize(SIZE), (x, y))
        sheet.save(out / (name + ".png"))
        key.append(name + ": " + ", ".join(f"{'ABCD'[i]} {program}" for i, program in enumerate(order)))
    (out / "one.png").unlink()
    (out / "key.txt").write_text("\n".join(key) + "\n")


main()
