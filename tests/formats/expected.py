#!/usr/bin/python3
"""Writes expected.tsv: the counts of each file of files/, computed without imghist, and the readers that agree.

usage: expected.py            writes expected.tsv beside this file
       expected.py --check    fails if expected.tsv is out of date

The counts are those of the pixels that make_files.py wrote into the file. For a lossy file they come from the
first reader in `agree`, which uses the same library as imghist. Each reader then decodes the file to 8-bit RGBA,
in any order of pixels. The column `agree` lists readers with the same pixels, `differ` the others. A reader
that refuses the file or does not know its format is in neither.

needs: python3-pil, python3-numpy, python3-tifffile, imagemagick, netpbm, ffmpeg, libvips-tools
"""
import array
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter

import make_files
import numpy
import tifffile
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
NAMES = {1: ["gray"], 2: ["gray", "alpha"], 3: ["red", "green", "blue"], 4: ["red", "green", "blue", "alpha"]}


def to_rgba(pixel):
    colour, alpha = (pixel[:-1], pixel[-1]) if len(pixel) in (2, 4) else (pixel, 255)
    return (*(colour * 3 if len(colour) == 1 else colour), alpha)


def run(*command):
    """The output of a program, or None if it fails."""
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
    """Reads samples and converts them to pixels here."""
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
    if len(data) > int(field("width")) * int(field("height")) * n:  # 16 bits, aligned to the high end
        bits = int(field("heif-bitdepth"))
        values = array.array("H", data)
        data = [make_files.to8(v >> (16 - bits), (1 << bits) - 1) for v in values]
    return tuples(data, n)


def by_numpy(path):
    samples = numpy.load(path)
    pixels = tuples(samples.ravel().tolist(), samples.size // (samples.shape[0] * samples.shape[1]))
    top = {"bool": 1, "uint8": 255, "uint16": 65535}[samples.dtype.name]
    return [tuple(make_files.to8(s, top) for s in p) for p in pixels]


# The readers of each format. tifffile, netpbm (except for TIFF) and ffmpeg have their own decoders; ffmpeg is not
# used for AVIF, HEIC and JPEG XL. Pillow and ImageMagick have their own for BMP, TGA, GIF, PSD and PNM.
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
    "qoi": {"ffmpeg": by_ffmpeg},
    "npy": {"NumPy": by_numpy},
    "hdr": {},
    "ico": {"Pillow": by_pillow, "ffmpeg": by_ffmpeg},
    "jp2": {"Pillow": by_pillow, "ffmpeg": by_ffmpeg},
}


def shown(value):
    """An integer, or the shortest digits that give the same float32."""
    texts = [str(value)] if isinstance(value, int) else [f"{value:.{n}g}" for n in range(1, 10)]
    return next(t for t in texts if numpy.float32(t) == value)


def read(reader, path):
    try:
        return reader(path)
    except Exception:  # the reader does not support this file
        return None


def line(name):
    path, made = HERE / "files" / name, make_files.PIXELS[name]
    expected, agree, differ = made["pixels"], [], []
    for reader_name, reader in READERS[name.replace(".", "-").split("-")[0]].items():
        pixels = read(reader, path)
        if not pixels:
            continue
        expected = expected or pixels
        same = Counter(map(to_rgba, pixels)) == Counter(map(to_rgba, expected))
        (agree if same else differ).append(reader_name)
    counts = []
    for c, channel in enumerate(NAMES[len(expected[0])]):
        bins = sorted(Counter(p[c] for p in expected).items())
        counts.append(channel + "=" + ",".join(f"{shown(value)}:{n}" for value, n in bins))
    origin = "made" if made["pixels"] else "read"
    return "\t".join((name, made["kind"], origin, " ".join(agree) or "-", " ".join(differ) or "-", " ".join(counts)))


def main():
    make_files.make()
    names = sorted(p.name for p in (HERE / "files").iterdir())
    if names != sorted(make_files.FILES):
        sys.exit("files/ is out of date: run make_files.py")
    text = "file\tkind\tpixels\tagree\tdiffer\tcounts\n" + "".join(line(n) + "\n" for n in names)
    table = HERE / "expected.tsv"
    if sys.argv[1:] == ["--check"]:
        if table.read_text() != text:
            sys.exit(f"{table.name} is out of date: run expected.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        table.write_text(text)


if __name__ == "__main__":
    main()
