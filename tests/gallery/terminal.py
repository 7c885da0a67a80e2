#!/usr/bin/env python3
"""terminal.py COLUMNS: draws terminal output (standard input) as SVG (standard output).

It supports what imghist writes: text, the SGR sequences for bold, the eight colours and some of xterm, and block
elements. Block elements are drawn as shapes, because fonts leave gaps between them.
"""

import re
import sys
from xml.sax.saxutils import escape

CELL_W, CELL_H, FONT, PAD = 9, 19, 15, 14
GROUND, INK = "#14171c", "#d7dae0"
COLOURS = ["#3b4048", "#e5534b", "#3fb950", "#d8b93b", "#4f8ff7", "#c678dd", "#39c5cf", INK]


XTERM = {160: "#d70000", 28: "#008700", 136: "#af8700", 63: "#5f5fff", 163: "#d700af", 31: "#0087af",
         243: "#767676", 131: "#af5f5f", 29: "#00875f"}  # those of text_parts.c


class Style:
    ink, ground, bold = INK, None, False

    def take(self, codes):
        codes = [int(c or 0) for c in codes.split(";")]
        while codes:
            code = codes.pop(0)
            if code in (38, 48) and codes[:1] == [5] and codes[1] in XTERM:
                setattr(self, "ink" if code == 38 else "ground", XTERM[codes[1]])
                del codes[:2]
            elif code == 0:
                self.ink, self.ground, self.bold = INK, None, False
            elif code == 1:
                self.bold = True
            elif 30 <= code <= 37:
                self.ink = COLOURS[code - 30]
            elif 40 <= code <= 47:
                self.ground = COLOURS[code - 40]
            else:
                sys.exit(f"terminal.py: SGR {code} is not supported")


def main():
    columns = int(sys.argv[1])
    text = sys.stdin.buffer.read().decode().replace("\r\n", "\n").rstrip("\n")
    grounds, inks, texts = {}, {}, []  # path data by colour; text elements
    style, row = Style(), 0

    for line in text.split("\n"):
        column, word, start = 0, "", 0

        def flush():
            # Each word has its place: viewers differ in what they do with blanks.
            for part in re.finditer("[^ ]+", word):
                x, y = PAD + (start + part.start()) * CELL_W, PAD + row * CELL_H + 14
                bold = ' font-weight="bold"' if style.bold else ""
                texts.append(f'<text x="{x}" y="{y}" fill="{style.ink}"{bold} '
                             f'textLength="{len(part[0]) * CELL_W}">{escape(part[0])}</text>')

        for part in re.findall(r"\x1b\[[0-9;]*m|[^\x1b]|\x1b", line):
            if part[0] == "\x1b":
                if len(part) == 1:
                    sys.exit("terminal.py: an escape sequence is not supported")
                flush()
                word, start = "", column
                style.take(part[2:-1])
                continue
            x, y = PAD + column * CELL_W, PAD + row * CELL_H
            if style.ground:
                grounds.setdefault(style.ground, []).append(f"M{x} {y}h{CELL_W}v{CELL_H}h-{CELL_W}z")
            level = ord(part) - 0x2580
            if 1 <= level <= 8:
                height = CELL_H * level / 8
                data = f"M{x} {y + CELL_H}v-{height:g}h{CELL_W}v{height:g}z"
                inks.setdefault(style.ink, []).append(data)
            elif part == "\u25b2":
                data = f"M{x} {y + CELL_H - 4}l{CELL_W / 2:g} -9l{CELL_W / 2:g} 9z"
                inks.setdefault(style.ink, []).append(data)
            if 1 <= level <= 8 or part == "\u25b2":
                flush()
                word, start = "", column + 1
            else:
                word += part
            column += 1
        flush()
        if column > columns:
            sys.exit(f"terminal.py: a line of {column} columns")
        row += 1

    width, height = 2 * PAD + columns * CELL_W, 2 * PAD + row * CELL_H
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
          f'viewBox="0 0 {width} {height}">')
    print(f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>')
    print('<g shape-rendering="crispEdges">')
    for layer in grounds, inks:
        for colour, data in layer.items():
            print(f'<path fill="{colour}" d="{"".join(data)}"/>')
    print("</g>")
    print(f'<g font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="{FONT}">')
    print("\n".join(texts))
    print("</g>\n</svg>")


main()
