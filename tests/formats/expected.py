#!/usr/bin/python3
"""Writes expected.tsv: what each file of files/ counts to, without imghist, and which readers agree.

usage: expected.py            writes expected.tsv beside this file
       expected.py --check    only says whether expected.tsv is what would be written

The counts are those of the pixels that make_files.py put into the file. Of a lossy file they are those of
the reader named first in `agree`, which goes through the same library. Every reader at hand is then asked
for its pixels, as RGBA of 8 bits, in any order; who gives the same is in `agree`, who gives others in
`differ`. A reader that refuses a file, or is not made for its format, is in neither.

needs: python3-pil, python3-tifffile, imagemagick, netpbm, ffmpeg, libvips-tools
"""
import array
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter

import make_files
import tifffile
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
NAMES = {1: ["gray"], 2: ["gray", "alpha"], 3: ["red", "green", "blue"], 4: ["red", "green", "blue", "alpha"]}


def to_rgba(pixel):
    colour, alpha = (pixel[:-1], pixel[-1]) if len(pixel) in (2, 4) else (pixel, 255)
    return (*(colour * 3 if len(colour) == 1 else colour), alpha)


def run(*command):
    """What a program writes, or None where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout if done.returncode == 0 else None


def tuples(data, n):
    return [tuple(data[i : i + n]) for i in range(0, len(data), n)]


def by_pillow(path):
    with Image.open(path) as image:
        if image.mode.startswith("I;16") or image.mode == "I":
            return [(make_files.to8(v, 65535),) for v in image.getdata()]
        if image.mode in ("L", "1"):
            return [(v,) for v in image.getdata()]
        return list((image if image.mode in ("LA", "RGB", "RGBA") else image.convert("RGBA")).getdata())


def by_tifffile(path):
    """The samples, made into pixels here."""
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        samples, bits, photometric = page.asarray(), page.bitspersample, int(page.photometric)
        top = (1 << bits) - 1
        if page.planarconfig == 2:
            samples = samples.transpose(1, 2, 0)
        samples = [tuple(int(s) for s in p) for p in samples.reshape(-1, page.samplesperpixel)]
        if photometric == 3:
            return [tuple(make_files.to8(int(c), 65535) for c in page.colormap[:, p[0]]) for p in samples]
        if photometric == 5:
            return make_files.ink(samples, top)
        if photometric == 6:
            return samples
        kept = {0: 1, 1: 1, 2: 3}[photometric] + any(int(e) in (1, 2) for e in page.extrasamples)
        pixels = make_files.scaled([p[:kept] for p in samples], top)
        return [(255 - p[0], *p[1:]) for p in pixels] if photometric == 0 else pixels


def by_imagemagick(path):
    data = run("convert-im6", f"{path}[0]", "-depth", "8", "rgba:-")
    return data and tuples(data, 4)


def by_ffmpeg(path):
    data = run("ffmpeg", "-v", "error", "-i", path, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgba", "-")
    return data and tuples(data, 4)


def by_netpbm(path):
    program = {".bmp": "bmptopnm", ".tga": "tgatoppm", ".gif": "giftopnm"}.get(path.suffix)
    command = [program, path] if program else ["pnmtopnm", path] if path.name.startswith("pnm-") else None
    data = command and run(*command)
    if not data or data[:2] not in (b"P5", b"P6"):
        return None
    fields = data.split(maxsplit=4)
    top, n = int(fields[3]), 1 if data[:2] == b"P5" else 3
    size = int(fields[1]) * int(fields[2]) * n
    if top != 255:
        return None
    return tuples(data[len(data) - size :], n)


def by_vips(path):
    with tempfile.NamedTemporaryFile() as file:
        if run("vips", "rawsave", path, file.name) is None:
            return None
        data = pathlib.Path(file.name).read_bytes()
    field = lambda name: run("vipsheader", "-f", name, path).decode().strip()
    n = int(field("bands"))
    if len(data) > int(field("width")) * int(field("height")) * n:  # the bits are the high ones of 16
        bits = int(field("heif-bitdepth"))
        values = array.array("H", data)
        data = [make_files.to8(v >> (16 - bits), (1 << bits) - 1) for v in values]
    return tuples(data, n)


# Who reads what. tifffile, netpbm (but for TIFF) and ffmpeg (but for AVIF, HEIC and JPEG XL, which it is not
# asked) have decoders of their own; Pillow and ImageMagick have for BMP, TGA, GIF, PSD and PNM.
READERS = {
    "bmp": {"Pillow": by_pillow, "ImageMagick": by_imagemagick, "netpbm": by_netpbm, "ffmpeg": by_ffmpeg},
    "tga": {"Pillow": by_pillow, "ImageMagick": by_imagemagick, "netpbm": by_netpbm, "ffmpeg": by_ffmpeg},
    "psd": {"Pillow": by_pillow, "ImageMagick": by_imagemagick, "ffmpeg": by_ffmpeg},
    "pnm": {"Pillow": by_pillow, "ImageMagick": by_imagemagick, "netpbm": by_netpbm, "ffmpeg": by_ffmpeg},
    "gif": {"Pillow": by_pillow, "ImageMagick": by_imagemagick, "netpbm": by_netpbm, "ffmpeg": by_ffmpeg},
    "tiff": {"tifffile": by_tifffile, "Pillow": by_pillow, "ImageMagick": by_imagemagick, "ffmpeg": by_ffmpeg},
    "webp": {"Pillow": by_pillow, "ffmpeg": by_ffmpeg, "vips": by_vips},
    "heic": {"vips": by_vips},
    "avif": {"vips": by_vips},
    "jxl": {"vips": by_vips},
}


def read(reader, path):
    try:
        return reader(path)
    except Exception:  # a reader that cannot is no reader of this file
        return None


def line(name):
    path, made = HERE / "files" / name, make_files.PIXELS[name]
    wanted, agree, differ = made["pixels"], [], []
    for who, reader in READERS[name.replace(".", "-").split("-")[0]].items():
        pixels = read(reader, path)
        if not pixels:
            continue
        wanted = wanted or pixels
        same = Counter(map(to_rgba, pixels)) == Counter(map(to_rgba, wanted))
        (agree if same else differ).append(who)
    counts = []
    for c, channel in enumerate(NAMES[len(wanted[0])]):
        bins = sorted(Counter(p[c] for p in wanted).items())
        counts.append(channel + "=" + ",".join(f"{value}:{n}" for value, n in bins))
    origin = "made" if made["pixels"] else "read"
    return "\t".join((name, made["kind"], origin, " ".join(agree) or "-", " ".join(differ) or "-", " ".join(counts)))


def main():
    make_files.make()
    names = sorted(p.name for p in (HERE / "files").iterdir())
    if names != sorted(make_files.FILES):
        sys.exit("files/ is not what make_files.py makes: run it")
    text = "file\tkind\tpixels\tagree\tdiffer\tcounts\n" + "".join(line(n) + "\n" for n in names)
    table = HERE / "expected.tsv"
    if sys.argv[1:] == ["--check"]:
        if table.read_text() != text:
            sys.exit(f"{table.name} is not what the files count to: run expected.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        table.write_text(text)


if __name__ == "__main__":
    main()
