#!/usr/bin/env python3
"""Colours of AVIF and HEIC as a box or the bits of the codec state them: make_colours.py write|check DIRECTORY.

write makes the files. check reads records (--ndjson) of them: the values of ITU-T H.273, or the words of a refusal. The images
have 64 x 64 pixels: four squares of one YCbCr each, which both codecs keep exactly (avifenc 0.11.1 lossless, x265 3.5 with
QP 11; ffmpeg decodes them so). Their bits state the primaries 1, transfer 1, matrix 9 and full range.
"""
import base64
import json
import pathlib
import struct
import sys

from make_boxes import ALPHA, AV1C, AV1C_10, AV1C_GRAY, COLOUR_10, PIXI, Item, box, grid, heif, ispe, limited

YCBCR = ((150, 100, 160), (90, 160, 110), (190, 118, 135), (70, 140, 120))
AV1 = base64.b64decode("EgAKCTgVf/+UBAQkQDI6EAAAkvG4atr5GFYuHC0YHQGVqCiXMiogkDcccliNTpWF/01pgsfdXlMz5XpTnvT1uNOujd62K5FAsA==")
HVCC = base64.b64decode("AQQIAAAAnigAAAAAHvAA/P/4+AAADwOgAAEAF0ABDAH//wQIAAADAJ4oAAADAAAeugJAoQABACpCAQEECAAAAwCeKAAAAwAAHpAEECCy3TyYXNwE"
                        "BCQQAAADABAAAAMBkICiAAEACEQBwXAwYBpI")
HEVC = base64.b64decode("AAAAMSgBrBLA6x1P9a///+BaeQ88Z25v+zt2afdpj/+0DoDt+j36NtTR/2fkuj8yYQBk6f8=")
WEIGHTS = {1: (0.2126, 0.0722), 4: (0.30, 0.11), 7: (0.212, 0.087), 9: (0.2627, 0.0593)}  # Kr and Kb
OF_PRIMARIES = {9: (0.262700, 0.059302), 22: (0.231751, 0.095999)}  # equations 32 to 37 of H.273
NAMES = {0: "identity", 8: "YCgCo", 10: "BT.2020 with constant luminance", 11: "SMPTE ST 2085", 12: "derived from the primaries",
         13: "derived, with constant luminance", 14: "ICtCp", 15: "IPT-C2", 16: "YCgCo-Re", 17: "YCgCo-Ro"}


def restated(data, primaries, matrix, is_full):
    """The same bits with other code points and range. AV1 has the range after them, H.265 two bits before."""
    bits = "".join(f"{byte:08b}" for byte in data)
    old = f"{1:08b}{1:08b}{9:08b}"
    assert bits.count(old) == 1
    at, is_av1 = bits.index(old), data == AV1
    bits = list(bits.replace(old, f"{primaries:08b}{1:08b}{matrix:08b}"))
    bits[at + 24 if is_av1 else at - 2] = str(int(is_full))
    return int("".join(bits), 2).to_bytes(len(data), "big")


def nclx(primaries, matrix, is_full):
    return box(b"colr", b"nclx", struct.pack(">HHHB", primaries, 1, matrix, is_full << 7))


def image(codec, box_of=None, bits_of=(1, 9, True)):
    colours = (nclx(*box_of),) if box_of else ()
    if codec == "avif":
        return Item(restated(AV1, *bits_of), (AV1C, ispe(), PIXI, *colours))
    return Item(HEVC, ((box(b"hvcC", restated(HVCC, *bits_of)), True), ispe(), PIXI, *colours), b"hvc1")


def rgb(ycbcr, primaries, matrix, is_full):
    """8-bit values by H.273, 8.3, not rounded."""
    y, cb, cr = ycbcr
    y, cb, cr = (y / 255, (cb - 128) / 255, (cr - 128) / 255) if is_full else ((y - 16) / 219, (cb - 128) / 224, (cr - 128) / 224)
    if matrix == 0:
        r, g, b = ycbcr[2] / 255, ycbcr[0] / 255, ycbcr[1] / 255
    elif matrix == 8:
        r, g, b = y - cb + cr, y + cb, y - cb - cr
    else:
        kr, kb = OF_PRIMARIES.get(primaries) or WEIGHTS[1] if matrix == 12 else WEIGHTS.get(matrix, (0.299, 0.114))
        r, b = y + 2 * (1 - kr) * cr, y + 2 * (1 - kb) * cb
        g = (y - kr * r - kb * b) / (1 - kr - kb)
    return [255 * min(max(v, 0), 1) for v in (r, g, b)]


def words(primaries, matrix, is_full, is_in_hevc=False):
    """None: libheif converts the colours as H.273 does. is_in_hevc: its bits state them, which libde265 reads."""
    if matrix in (1, 2, 4, 5, 6, 7, 9) or (matrix == 12 and primaries != 2 and not is_in_hevc) or (matrix in (0, 8) and is_full):
        return None
    why = {0: " in limited range", 8: " in limited range",
           12: " in the bits of HEVC" if is_in_hevc else " without known primaries"}.get(matrix, "")
    return f"HEIF with colour matrix {matrix} ({NAMES.get(matrix, 'reserved')}){why} is not supported"


def files():
    """Yields (name, bytes, expected words, or the values of each channel in four quarters)."""
    kinds = [(1, m) for m in (*range(12), *range(13, 19), 200)] + [(2, 12), (9, 12), (22, 12)]
    for codec, brand in (("avif", b"avif"), ("heic", b"heic")):
        for primaries, matrix in kinds:
            for is_full in (True, False):
                told = primaries, matrix, is_full
                values = [list(c) for c in zip(*(rgb(p, *told) for p in YCBCR))]
                name = f"{matrix}-of-{primaries}-{'full' if is_full else 'limited'}.{codec}"
                for where, item in (("box", image(codec, told, (1, 9, is_full))), ("bits", image(codec, None, told))):
                    is_in_hevc = (codec, where) == ("heic", "bits")
                    yield f"{where}-{name}", heif([item], brand=brand), words(*told, is_in_hevc) or values
        plain, bad = (1, 1, True), (1, 10, True)
        values = [list(c) for c in zip(*(rgb(p, *plain) for p in YCBCR))]
        yield f"box-over-bits.{codec}", heif([image(codec, plain, bad)], brand=brand), values
        tiles, of_grid = [image(codec, plain)] * 2, [(b"dimg", 1, 2, 3)]
        yield f"grid.{codec}", heif([grid(2, PIXI, nclx(*plain)), *tiles], of_grid, brand=brand), values
        for name, of_whole, tile in (("grid-box", bad, plain), ("tile-box", plain, bad), ("only-tile-box", None, bad)):
            parts = [grid(2, PIXI, *([nclx(*of_whole)] if of_whole else [])), image(codec, plain), image(codec, tile)]
            yield f"{name}.{codec}", heif(parts, of_grid, brand=brand), words(*bad)
        parts = [grid(2, PIXI), image(codec, None, bad), image(codec, None, bad)]
        yield f"tile-bits.{codec}", heif(parts, of_grid, brand=brand), words(*bad)
        parts = [grid(2, PIXI, nclx(*plain)), image(codec), image(codec)]
        yield (f"tiles-of-other-matrix.{codec}", heif(parts, of_grid, brand=brand),
               "HEIF with another colour matrix (1) than that of its tiles (9) is not supported")
        parts = [grid(2, PIXI, nclx(1, 9, True)), image(codec), image(codec)]
        same = [list(c) for c in zip(*(rgb(p, 1, 9, True) for p in YCBCR))]
        yield f"tiles-of-same-matrix.{codec}", heif(parts, of_grid, brand=brand), same
        other = [image(codec, plain), image(codec, bad)]  # is not counted
        yield f"other.{codec}", heif(other, [(b"thmb", 2, 1)], brand=brand), values
    deep = Item(COLOUR_10, (AV1C_10, ispe(), nclx(1, 8, True)))
    yield "deep.avif", heif([deep]), "HEIF with colour matrix 8 (YCgCo) of more than 8 bits is not supported"
    gray = [[0, 84 * 255 / 219, 255, 255]]  # 16, 100, 235 and 250; a matrix means nothing
    yield "gray-box.avif", heif([Item(ALPHA, (AV1C_GRAY, ispe(), nclx(1, 10, False)))]), gray
    yield "gray-unknown.avif", heif([Item(ALPHA, (AV1C_GRAY, ispe(), nclx(200, 10, False)))]), gray
    yield "gray-bits.avif", heif([Item(limited(ALPHA), (AV1C_GRAY, ispe()))]), gray


def check(record, expected):
    """Returns what is wrong. libheif takes 1.1689 and 1.1429 for the factors of limited range, 255/219 and 255/224."""
    if isinstance(expected, str):
        return record.get("error") != expected and record.get("error", "counted")
    if record["status"] != "ok":
        return record["error"]
    for channel, values in zip(record["channels"], expected):
        counted = [v for v, n in enumerate(channel["histogram"]) for _ in range(4 * n // sum(channel["histogram"]))]
        if len(counted) != 4 or any(abs(a - b) > 1.5 for a, b in zip(counted, sorted(values))):
            return f"{channel['name']} is {counted}, not {sorted(values)}"
    return False


def main():
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "write":
        folder.mkdir(exist_ok=True)
        for name, data, _ in files():
            (folder / name).write_bytes(data)
        return 0
    expected, n_wrong = {name: e for name, _, e in files()}, 0
    for line in sys.stdin:
        record = json.loads(line)
        wrong = check(record, expected.pop(pathlib.Path(record["file"]).name))
        n_wrong += bool(wrong)
        if wrong:
            print(record["file"], wrong)
    return int(n_wrong > 0 or len(expected) > 0)


if __name__ == "__main__":
    sys.exit(main())
