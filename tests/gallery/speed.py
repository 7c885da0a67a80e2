#!/usr/bin/env python3
"""speed.py RESULTS OUT: draws the bar chart of README.md, OUT/speed-light.svg and OUT/speed-dark.svg.

All figures are those of batch_cpu.txt and jpeg_kernels_h100.txt in the folder RESULTS: medians, starts included.
"""

import re
import statistics
import sys

results, out = sys.argv[1:]
batch = open(f"{results}/batch_cpu.txt", encoding="utf-8").read()
gpu = open(f"{results}/jpeg_kernels_h100.txt", encoding="utf-8").read()

THEMES = {  # text, weaker text, imghist, others
    "light": ("#1f2328", "#59636e", "#0969da", "#afb8c1"),
    "dark": ("#f0f6fc", "#9198a1", "#4493f8", "#57606a"),
}
WIDTH, PANEL, ROW, TOP, LABEL, BAR = 840, 284, 26, 58, 92, 112


def directory(title):
    """Files a second of imghist and of each peer at its fastest, in a section of batch_cpu.txt."""
    section = batch.split(f"## {title}\n")[1].split("\n## ")[0]
    n_files = int(re.match(r"(\d+) files", section)[1])
    fastest = {}
    for name, seconds in re.findall(r"^(imghist -j2|libvips|Pillow|OpenCV)\b[^\n]*? (\d+\.\d{3}) ", section, re.M):
        name = name.split()[0]
        fastest[name] = max(fastest.get(name, 0), n_files / float(seconds))
    return sorted(fastest.items(), key=lambda x: -x[1])


def with_gpu(command, n_files):
    """Files a second of a line of jpeg_kernels_h100.txt."""
    line = re.search(rf"^imghist {re.escape(command)} +{n_files} photos.* MP  +([0-9. ]+) s", gpu, re.M)
    return int(n_files.replace(",", "")) / statistics.median(float(x) for x in line[1].split())


PANELS = [
    ("69 JPEG photos, 2 cores", directory("JPEG")),
    ("67 PNG photos, 2 cores", directory("PNG")),
    ("imghist, JPEG photos of 5.4 megapixels", [
        ("on an H100", with_gpu("-q --csv=stats --jpeg=gpu", "30,000")),
        ("16 cores", with_gpu("-q --csv=stats --device=cpu", "3,000"))]),
]


def draw(theme):
    text, weak, ours, others = THEMES[theme]
    height = TOP + 4 * ROW + 40
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
           ' font-family="system-ui, -apple-system, \'Segoe UI\', \'DejaVu Sans\', Helvetica, Arial, sans-serif" font-size="13">',
           "<title>Files a second: higher is better</title>",
           f'<text x="0" y="16" fill="{text}" font-size="15" font-weight="600">Files a second <tspan fill="{weak}" font-size="13" font-weight="400">(each panel has its own scale)</tspan></text>']
    for i, (title, bars) in enumerate(PANELS):
        x = i * PANEL
        svg.append(f'<text x="{x}" y="{TOP - 12}" fill="{text}">{title}</text>')
        for k, (name, speed) in enumerate(bars):
            y = TOP + k * ROW
            width = max(2, BAR * speed / bars[0][1])
            label = f"{speed:,.0f}" if speed >= 100 else f"{speed:.1f}"
            svg += [f'<text x="{x + LABEL - 10}" y="{y + 15}" text-anchor="end" fill="{text if k == 0 else weak}">{name}</text>',
                    f'<rect x="{x + LABEL}" y="{y + 2}" width="{width:.1f}" height="18" rx="2" fill="{ours if k == 0 else others}"/>',
                    f'<text x="{x + LABEL + width + 6:.1f}" y="{y + 15}" fill="{text if k == 0 else weak}">{label}</text>']
    notes = ["AMD EPYC, 2026-11-22; libvips 8.14, Pillow 9.4, OpenCV 4.6, each at its fastest", "",
             "NVIDIA H100 80GB, Intel Xeon, 2026-11-27"]
    for i, note in enumerate(notes):
        svg.append(f'<text x="{i * PANEL}" y="{height - 14}" fill="{weak}" font-size="11">{note}</text>')
    return "\n".join([*svg, "</svg>", ""])


for name in THEMES:
    with open(f"{out}/speed-{name}.svg", "w", encoding="utf-8") as f:
        f.write(draw(name))
