#!/usr/bin/env python3
"""Compares files that NumPy, astropy and OpenEXR write with what these read: science.py IMGHIST npy|fits|exr [SEED].

500 random files must have the reader's counts: bins, NaN, infinities. Of 2,000 damaged ones, each image has them or is refused.
Other damaged files are listed: the reader refuses a header entry that no sample depends on, or leaves out what follows
it, or a damaged header is another image to it. Needs: numpy, astropy for fits, OpenEXR for exr
"""
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import numpy

imghist, kind, seed = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3]) if sys.argv[3:] else 1
NAMES = [["gray"], ["gray", "alpha"], ["red", "green", "blue"], ["red", "green", "blue", "alpha"]]
N_SOUND, N_DAMAGED = 500, 2000


def samples(r, shape, dtype):
    """Of all values, also NaN and infinities, or of a few."""
    dtype = numpy.dtype(dtype)
    n = int(numpy.prod(shape))
    if r.random() < 0.5:
        values = numpy.frombuffer(r.randbytes(n * dtype.itemsize), dtype.newbyteorder("="))
    else:
        values = numpy.array([r.choice([0, 1, 7, 100]) for _ in range(n)], dtype)
    return values.reshape(shape).astype(dtype)


def counts(plane, nodata=None):
    """The bins, in the order of values, and what is in none."""
    if plane.dtype.kind == "b":
        plane = plane.astype("u1") * 255
    plane = plane.astype(plane.dtype.newbyteorder("=")).ravel()
    kept = plane if nodata is None else plane[plane != nodata]
    apart = [plane.size - kept.size, 0, 0, 0]
    if plane.dtype.kind == "f":
        apart[1:] = [int(test(kept).sum()) for test in (numpy.isnan, numpy.isposinf, numpy.isneginf)]
        kept = kept[numpy.isfinite(kept)] + plane.dtype.type(0)  # no -0
        bits = kept.view(f"u{kept.itemsize}") >> (16 if kept.itemsize == 4 else 0)
        kept = numpy.where(bits >> 15, bits ^ 0xFFFF, bits | 0x8000)
    elif plane.dtype.kind == "i":
        kept = kept.astype(int) + (1 << (8 * kept.itemsize - 1))
    return dict(zip(*map(numpy.ndarray.tolist, numpy.unique(kept, return_counts=True)))), apart


def counted(record):
    channels = {}
    for channel in record["channels"]:
        if channel["name"] != "luma":
            parts = channel.get("ranges") or [[0, *channel.get("histogram", [])]]
            apart = [channel.get(name, 0) for name in ("nodata", "nan", "positive_infinity", "negative_infinity")]
            channels[channel["name"]] = {first + i: n for first, *ns in parts for i, n in enumerate(ns) if n}, apart
    return record["width"], record["height"], channels


# ---- one pair of functions for each format: write a file; the images of a file: width, height, {channel: counts} ----


def write_npy(r, path):
    shape = [r.randrange(1, 30), r.randrange(1, 30), *([r.randrange(1, 5)] if r.random() < 0.5 else [])]
    array = samples(r, shape, r.choice(["u1", "i1", "<u2", ">u2", "<i2", ">i2", "<f2", ">f2", "<f4", ">f4"]))
    numpy.save(path, array if r.random() < 0.5 else numpy.asfortranarray(array))


def read_npy(path):
    array = numpy.load(path)
    array = array[..., None] if array.ndim == 2 else array
    return [(array.shape[1], array.shape[0], {name: counts(array[..., c]) for c, name in enumerate(NAMES[array.shape[2] - 1])})]


def write_fits(r, path):
    hdus = [fits.PrimaryHDU()] if r.random() < 0.3 else []
    for _ in range(r.choice([1, 1, 2, 3])):
        shape = [r.randrange(1, 4) for _ in range(r.choice([0, 0, 1, 2]))] + [r.randrange(4, 40) for _ in range(2)]
        data = samples(r, shape, r.choice(["u1", "i1", "i2", "u2", "f4"]))
        if hdus and r.random() < 0.4 and data.dtype.kind != "f" and data.dtype != "i1":
            how = r.choice(["RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1"]) if len(shape) == 2 else r.choice(["RICE_1", "GZIP_1"])
            hdus.append(fits.CompImageHDU(data, compression_type=how, tile_shape=data.shape if how[0] == "H" else None))
        elif hdus and r.random() < 0.4 and data.dtype.kind == "f":
            hdus.append(fits.CompImageHDU(data, compression_type="GZIP_2", quantize_level=0))
        else:
            hdus.append(fits.ImageHDU(data) if hdus else fits.PrimaryHDU(data))
    fits.HDUList(hdus).writeto(path, checksum=r.random() < 0.4)


def read_fits(path):
    images = []
    with fits.open(path, do_not_scale_image_data=True, lazy_load_hdus=False) as hdus:
        for hdu in hdus:
            if isinstance(hdu, (fits.BinTableHDU, fits.TableHDU)) or hdu.data is None or hdu.data.size == 0:
                continue
            data, scale, zero, blank = hdu.data, hdu.header.get("BSCALE", 1), hdu.header.get("BZERO", 0), hdu.header.get("BLANK")
            if data.ndim == 1:
                data = data[None]
            nodata = None if blank is None or data.dtype.kind == "f" else blank * scale + zero
            if (scale, zero) == (1, 32768) and data.dtype.itemsize == 2:
                data = (data.astype(int) + 32768).astype("u2")
            elif (scale, zero) == (1, -128) and data.dtype == "u1":
                data = (data.astype(int) - 128).astype("i1")
            elif (scale, zero) != (1, 0):
                data = (data.astype(float) * scale + zero).astype("f4")
            for image in data.reshape(-1, *data.shape[-2:]):
                images.append((image.shape[1], image.shape[0], {"gray": counts(image, nodata)}))
    return images


def write_exr(r, path):
    parts = []
    for i in range(r.choice([1, 1, 2, 3])):
        shape, dtype = (r.randrange(1, 50), r.randrange(1, 50)), r.choice(["f2", "f4"])
        names = [*r.choice(["RGB", "RGBA", "Y", "YA", "RGB"]), *r.sample(["Z", "N.X", "u"], r.choice([0, 0, 1, 2]))]
        channels = {c: OpenEXR.Channel(samples(r, shape, "u4" if c == "u" else dtype)) for c in names}
        how = r.choice([OpenEXR.NO_COMPRESSION, OpenEXR.RLE_COMPRESSION, OpenEXR.ZIPS_COMPRESSION, OpenEXR.ZIP_COMPRESSION, OpenEXR.PIZ_COMPRESSION])
        window = (numpy.array([0, 0], "i4"), numpy.array([49, 49], "i4"))  # parts share it
        header = {"compression": how, "type": OpenEXR.scanlineimage, "displayWindow": window}
        if r.random() < 0.4:
            tiles = OpenEXR.TileDescription()
            tiles.xSize, tiles.ySize = r.randrange(1, 40), r.randrange(1, 40)
            header |= {"type": OpenEXR.tiledimage, "tiles": tiles}
        parts.append(OpenEXR.Part(header, channels, f"part{i}"))
    OpenEXR.File(parts).write(str(path))


def read_exr(path):
    images = []
    for part in OpenEXR.File(str(path), separate_channels=True).parts:
        planes = {name: c.pixels for name, c in sorted(part.channels.items()) if c.pixels.dtype.kind == "f"}
        colours = "RGB" if {*"RGB"} <= {*planes} else "Y" if "Y" in planes else ""
        bands = [c for c in planes if c not in [*colours, "A"]] or (["A"] if [*planes] == ["A"] else [])
        names = dict(zip(colours, NAMES[2] if len(colours) == 3 else ["gray"]))
        names |= {c: f"band{len(colours) + i + 1}" for i, c in enumerate(bands)} | ({"A": "alpha"} if "A" in planes and bands != ["A"] else {})
        wide = any(p.dtype == "f4" for p in planes.values())
        height, width = next(iter(planes.values())).shape
        images.append((width, height, {name: counts(planes[c].astype("f4") if wide else planes[c]) for c, name in names.items()}))
    return images


# ---- the comparison ----


def compare(paths, are_sound):
    """Lists what differs. Returns numbers: equal, refused, refused by the reader alone, different."""
    command = [imghist, "--device=cpu", "--bins=native", "--frames", "--ndjson", "--files-from=-"]
    out = subprocess.run(command, input="\n".join(map(str, paths)).encode(), capture_output=True, check=False).stdout
    results = {path: [*of] for path, of in itertools.groupby(map(json.loads, out.splitlines()), lambda record: record["file"].split("#")[0])}
    n = [0, 0, 0, 0]
    for path in map(str, paths):
        sound = [counted(record) for record in results[path] if record["status"] == "ok"]
        if not sound or (are_sound and len(sound) < len(results[path])):
            n[1] += 1
            continue
        try:
            expected = read[kind](path)
        except Exception as error:  # pylint: disable=broad-exception-caught
            print(f"{path}: imghist counts it, and the reader says {type(error).__name__}: {str(error)[:120]}")
            n[2] += 1
            continue
        if len(expected) < len(sound) and expected == sound[: len(expected)]:
            print(f"{path}: imghist counts {len(sound)} images, and the reader {len(expected)}")
            n[2] += 1
            continue
        is_equal = sound == expected[: len(sound)] and (len(sound) < len(results[path]) or len(sound) == len(expected))
        n[0 if is_equal else 3] += 1
        if not is_equal:
            print(f"{path}: differs")
    return n


read = {"npy": read_npy, "fits": read_fits, "exr": read_exr}
write = {"npy": write_npy, "fits": write_fits, "exr": write_exr}
if kind == "fits":
    from astropy.io import fits
if kind == "exr":
    import OpenEXR
warnings.simplefilter("ignore")
numpy.seterr(all="ignore")
chance = random.Random(seed)
folder = pathlib.Path(tempfile.mkdtemp(prefix="science-"))
sound_files = [folder / f"{i:04}.{kind}" for i in range(N_SOUND)]
for file in sound_files:
    write[kind](chance, file)
damaged_files = [folder / f"damaged{i:04}.{kind}" for i in range(N_DAMAGED)]
for i, file in enumerate(damaged_files):
    data = bytearray(sound_files[i % N_SOUND].read_bytes())
    if i % 4 == 0:
        del data[chance.randrange(len(data)) :]
    for _ in range(chance.choice([1, 1, 3]) if i % 4 else 0):
        data[chance.randrange(len(data) if i % 4 > 1 else min(len(data), 400))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
n_sound, n_damaged = compare(sound_files, True), compare(damaged_files, False)
print(f"{kind}: of {N_SOUND} files {n_sound[0]} equal; of {N_DAMAGED} damaged ones {n_damaged[0]} equal, {n_damaged[1]} refused, "
      f"{n_damaged[2]} refused by the reader alone, {n_damaged[3]} different; files in {folder}")
sys.exit(n_sound[0] < N_SOUND)
