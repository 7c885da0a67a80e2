#!/usr/bin/python3
"""Counts zones (--labels) of random images with imghist, and compares every bin with NumPy's bincount.

usage: zones.py IMGHIST

Images and label images are written here, byte by byte: gray, RGB, RGBA, bands and float32, of 8, 16 and 32 bits, in several orders of
pixels; labels of 1 to 16 bits. Prints the number of images and of zones.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

IMGHIST = sys.argv[1]
NAMES = {1: ["gray"], 2: ["gray", "alpha"], 3: ["red", "green", "blue"], 4: ["red", "green", "blue", "alpha"]}
WEIGHTS = 13933, 46871, 4732  # BT.709 in 1/65536
rng = np.random.default_rng(53)


# ---- files ----

def png(a, bits=8, interlaced=False, palette=False):
    """a: [height][width][channels]."""
    height, width, n = a.shape
    passes = [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2)]
    raw = b""
    for x, dx, y, dy in passes if interlaced else [(0, 1, 0, 1)]:
        for row in a[y::dy, x::dx] if a[y::dy, x::dx].size else []:
            if bits == 16:
                raw += b"\0" + row.astype(">u2").tobytes()
            elif bits == 8:
                raw += b"\0" + row.astype("u1").tobytes()
            else:
                raw += b"\0" + np.packbits((row[:, 0, None] >> np.arange(bits)[::-1]) & 1).tobytes()
    out = b"\x89PNG\r\n\x1a\n"
    colour = 3 if palette else {1: 0, 2: 4, 3: 2, 4: 6}[n]
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
    colours = rng.integers(0, 256, 3 << bits, dtype=np.uint8).tobytes() if palette else b""
    chunks = [(b"IHDR", head)] + [(b"PLTE", colours)] * palette + [(b"IDAT", zlib.compress(raw, 1)), (b"IEND", b"")]
    for kind, data in chunks:
        out += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return out


def bmp(a):
    """24 bits, bottom up."""
    height, width, _ = a.shape
    body = b"".join(row[:, ::-1].tobytes() + b"\0" * (-3 * width % 4) for row in a[::-1])
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return struct.pack("<2sIHHI", b"BM", 54 + len(body), 0, 0, 54) + head + body


def pnm(a, maxval=255):
    height, width, n = a.shape
    kind = {1: 5, 3: 6}[n]
    return b"P%d %d %d %d\n" % (kind, width, height, maxval) + a.astype("u1" if maxval < 256 else ">u2").tobytes()


def npy(a):
    with tempfile.TemporaryFile() as f:
        np.save(f, a[:, :, 0] if a.shape[2] == 1 else a)
        f.seek(0)
        return f.read()


def tiff(a, nodata=None):
    """One strip of integers, gray or bands."""
    height, width, n = a.shape
    body = a.astype(a.dtype.newbyteorder("<")).tobytes()
    body += b"\0" * (len(body) % 2)
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [8 * a.itemsize] * n), (259, 3, [1]), (262, 3, [1]),
            (273, 4, [8]), (277, 3, [n]), (278, 4, [height]), (279, 4, [len(body)]), (284, 3, [1])]
    if n > 1:
        tags.append((338, 3, [0] * (n - 1)))
    if a.dtype.kind == "i":
        tags.append((339, 3, [2] * n))
    if nodata is not None:
        tags.append((42113, 2, b"%d\0" % nodata))
    entries, extra, extra_at = b"", b"", 8 + len(body) + 2 + 12 * len(tags) + 4
    for tag, kind, values in tags:
        data = values if kind == 2 else struct.pack("<%d%s" % (len(values), "I" if kind == 4 else "H"), *values)
        field = data.ljust(4, b"\0")
        if len(data) > 4:
            field = struct.pack("<I", extra_at + len(extra))
            extra += data + b"\0" * (len(data) % 2)
        entries += struct.pack("<HHI", tag, kind, len(values)) + field
    return struct.pack("<2sHI", b"II", 42, 8 + len(body)) + body + struct.pack("<H", len(tags)) + entries + b"\0" * 4 + extra


# ---- expectations ----

def float_bins(v):
    """The upper halves of the keys: all bits inverted of negative values, else the sign bit set."""
    bits = (v + np.float32(0)).view(np.uint32)
    return (np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)) >> 16).astype(np.int64)


def expected(pixels, n_bins, names, skips=False, nodata=None):
    """The bins of each channel of these pixels, [n][channels]; and the number of pixels."""
    if skips:
        pixels = pixels[pixels[:, -1] != 0]
    bins = {}
    for c, name in enumerate(names):
        v = pixels[:, c]
        v = v if nodata is None else v[v != nodata]
        if pixels.dtype == np.float32:
            bins[name] = np.bincount(float_bins(v[np.isfinite(v)]), minlength=65536)
        else:
            bins[name] = np.bincount(v.astype(np.int64), minlength=n_bins)
    if names[0] == "gray":
        bins["luma"] = bins["gray"]
    elif names[0] == "red" and pixels.dtype != np.float32:
        luma = (pixels[:, :3].astype(np.int64) @ WEIGHTS + 32768) >> 16
        bins["luma"] = np.bincount(luma, minlength=n_bins)
    return bins, len(pixels)


def bins_of(record, n_bins):
    out = {}
    for channel in record["channels"]:
        if "histogram" in channel:
            out[channel["name"]] = np.array(channel["histogram"])
        else:
            out[channel["name"]] = np.zeros(n_bins, int)
            for first, *counts in channel["ranges"]:
                out[channel["name"]][first:first + len(counts)] = counts
    return out


def check(record, pixels, n_bins, names, **how):
    bins, n = expected(pixels, n_bins, names, **how)
    got = bins_of(record, n_bins)
    assert record["pixels"] == n, (record["file"], record["pixels"], n)
    if names[0] == "band1" or pixels.dtype == np.float32:
        bins.pop("luma", None)
    assert got.keys() == bins.keys(), (got.keys(), bins.keys())
    for name in bins:
        assert np.array_equal(got[name], bins[name]), (record["file"], name)
    if n_bins == 256 and names[0] in ("gray", "red") and "clip" in record:
        kept = pixels[pixels[:, -1] != 0] if how.get("skips") else pixels
        colours = kept[:, :3 if names[0] == "red" else 1]
        for key, hit in (("blown", colours >= 255), ("crushed", colours <= 0)):
            assert record["clip"][key + "_any"] == np.count_nonzero(hit.any(1)), key
            assert record["clip"][key + "_all"] == np.count_nonzero(hit.all(1)), key
    if pixels.dtype == np.float32:
        for c, channel in enumerate(record["channels"]):
            v = pixels[:, c][np.isfinite(pixels[:, c])].astype(np.float64)
            assert channel.get("nan", 0) == np.count_nonzero(np.isnan(pixels[:, c]))
            assert channel.get("positive_infinity", 0) == np.count_nonzero(np.isposinf(pixels[:, c]))
            if len(v):
                assert np.isclose(channel["mean"], v.mean(), rtol=1e-8), (channel["mean"], v.mean())
                assert np.isclose(channel["stddev"], v.std(), rtol=1e-6, atol=1e-12)
                assert (np.float32(channel["min"]), np.float32(channel["max"])) == (v.min(), v.max())
    if how.get("nodata") is not None:
        for c, channel in enumerate(record["channels"][:len(names)]):
            assert channel.get("nodata", 0) == np.count_nonzero(pixels[:, c] == how["nodata"])


def labels_of(shape, n_labels, blocks):
    """Areas or noise."""
    height, width = shape
    if not blocks:
        return rng.integers(0, n_labels, shape)
    small = rng.integers(0, n_labels, (-(-height // blocks), -(-width // blocks)))
    return small.repeat(blocks, 0).repeat(blocks, 1)[:height, :width]


def run(*args, status=0):
    done = subprocess.run([IMGHIST, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == status, (args, done.returncode, done.stderr)
    return done


def records(*args):
    return [json.loads(line) for line in run(*args, "--ndjson").stdout.splitlines()]


def random_image(dtype, n):
    shape = int(rng.integers(1, 60)), int(rng.integers(1, 90)), n
    if dtype == np.float32:
        a = rng.normal(0, 10 ** rng.uniform(-5, 5), shape).astype(np.float32)
        a[rng.random(shape) < 0.05] = np.nan
        a[rng.random(shape) < 0.05] = np.inf
        return a
    top = np.iinfo(dtype).max + 1
    a = rng.integers(np.iinfo(dtype).min, top, shape).astype(dtype)
    if rng.random() < 0.5:
        a[rng.random(shape[:2]) < 0.3] = 0
    return a


# ending, writer, type, channels
KINDS = [("png", png, np.uint8, 1), ("png", png, np.uint8, 2), ("png", png, np.uint8, 3), ("png", png, np.uint8, 4),
         ("png", lambda a: png(a, interlaced=True), np.uint8, 3), ("bmp", bmp, np.uint8, 3), ("ppm", pnm, np.uint8, 3),
         ("png", lambda a: png(a, 16), np.uint16, 1), ("png", lambda a: png(a, 16), np.uint16, 3),
         ("tif", tiff, np.int16, 1), ("tif", tiff, np.int8, 1), ("npy", npy, np.float32, 1), ("npy", npy, np.float32, 3),
         ("tif", tiff, np.uint8, 6), ("tif", tiff, np.uint16, 5)]
# ending, writer, largest label
LABELS = [("png", lambda a: png(a, 1), 1), ("png", lambda a: png(a, 2), 3), ("png", lambda a: png(a, 4), 15), ("png", png, 255),
          ("png", lambda a: png(a, 16), 65535), ("pgm", lambda a: pnm(a, 9), 9), ("pgm", lambda a: pnm(a, 200), 200),
          ("pgm", lambda a: pnm(a, 1000), 1000), ("tif", lambda a: tiff(a.astype("u1")), 255),
          ("tif", lambda a: tiff(a.astype("u2")), 65535), ("npy", lambda a: npy(a.astype("u1")), 255),
          ("npy", lambda a: npy(a.astype("u2")), 65535), ("png", lambda a: png(a, interlaced=True), 255),
          ("png", lambda a: png(a, palette=True), 255), ("png", lambda a: png(a, 4, palette=True), 15),
          ("png", lambda a: png(a, interlaced=True, palette=True), 255)]


def one_by_one(folder):
    n_images = n_zones = 0
    for i, (ending, write, dtype, n) in enumerate(KINDS * 9):
        a = random_image(dtype, n)
        label_ending, write_labels, largest = LABELS[i % len(LABELS)]
        labels = labels_of(a.shape[:2], int(rng.integers(1, min(largest + 1, 300) + 1)), int(rng.choice([0, 3, 20])))
        if largest > 1000:
            labels = labels * (largest // labels.max() if labels.max() else 1)
        image, label_image = folder / f"a.{ending}", folder / f"l.{label_ending}"
        image.write_bytes(write(a))
        label_image.write_bytes(write_labels(labels[:, :, None]))
        names = NAMES[n] if n < 5 else [f"band{k + 1}" for k in range(n)]
        options, how, flat = ["--bins=native"], {}, a.reshape(-1, n)
        n_bins = 256 if a.itemsize == 1 else 65536
        if dtype in (np.int8, np.int16):
            flat = (flat.astype(np.int64) - np.iinfo(dtype).min).astype(np.uint16)
        if dtype == np.uint16 and i % 2:
            options, n_bins = [], 256
            flat = ((flat.astype(np.int64) * 510 + 65535) // 131070).astype(np.uint8)
        if n > 4 and i % 2:
            options.append("--bands=2,4-5")
            names, flat = ["band2", "band4", "band5"], flat[:, [1, 3, 4]]
        if n in (2, 4) and i % 3 == 0:
            options.append("--alpha=skip-transparent")
            how["skips"] = True
        ignored = int(rng.choice(labels.ravel())) if i % 4 == 1 else None
        if ignored is not None:
            options.append(f"--ignore-label={ignored}")
        wanted = [k for k in np.unique(labels) if k != ignored]
        if not wanted:
            run(image, f"--labels={label_image}", "--csv=stats", *options, status=1)
            continue
        if i % 5 == 0:
            options.append("--isolate")
        got = records(image, f"--labels={label_image}", *options)
        assert [r["label"] for r in got] == wanted, (label_ending, largest, [r["label"] for r in got], wanted)
        assert [r["file"] for r in got] == [f"{image}#{k}" for k in wanted]
        for r in got:
            check(r, flat[labels.ravel() == r["label"]], n_bins, names, **how)
        n_images += 1
        n_zones += len(got)
        image.unlink()
        label_image.unlink()
    return n_images, n_zones


def nodata(folder):
    """The value of the file, and of float32 that of the run."""
    n_zones = 0
    for dtype, options in ((np.uint8, []), (np.uint16, []), (np.uint16, ["--bins=native"]), (np.float32, ["--nodata=7"])):
        a = rng.integers(0, 9, (40, 50, 1)).astype(dtype)
        labels = labels_of(a.shape[:2], 5, 4)
        image = folder / ("n.npy" if dtype == np.float32 else "n.tif")
        image.write_bytes(npy(a) if dtype == np.float32 else tiff(a, nodata=7))
        (folder / "l.pgm").write_bytes(pnm(labels[:, :, None]))
        for r in records(image, f"--labels={folder / 'l.pgm'}", *options):
            pixels = a.reshape(-1, 1)[labels.ravel() == r["label"]]
            if dtype == np.float32:
                assert r["channels"][0].get("nodata", 0) == np.count_nonzero(pixels == 7) and r["channels"][0].get("nan", 0) == 0
            elif not options and dtype == np.uint16: # 0 to 8 of 65535 are all 0
                assert r["channels"][0].get("nodata", 0) == np.count_nonzero(pixels == 7)
                assert r["channels"][0]["histogram"][0] == np.count_nonzero(pixels != 7)
            else:
                check(r, pixels, 65536 if options else 256, ["gray"], nodata=7)
            n_zones += 1
        image.unlink()
    (folder / "l.pgm").unlink()
    return 4, n_zones


def a_set(folder):
    """A set with a folder of labels: groups, totals, threads, result files, shards."""
    images, labels, sums = folder / "set", folder / "labels", {}
    n_zones = 0
    for i in range(12):
        a = rng.integers(0, 256, (int(rng.integers(9, 40)), 30, 3), dtype=np.uint8)
        of = labels_of(a.shape[:2], 13, 5 if i % 2 else 0)
        where = pathlib.Path(f"day{i % 3}/a{i}")
        for root in (images, labels):
            (root / where).parent.mkdir(parents=True, exist_ok=True)
        images.joinpath(f"{where}.ppm").write_bytes(pnm(a))
        ending, write, _ = LABELS[(3, 4, 9, 11)[i % 4]]
        labels.joinpath(f"{where}.{ending}").write_bytes(write(of[:, :, None]))
        for k in np.unique(of):
            sums.setdefault(int(k), []).append(a.reshape(-1, 3)[of.ravel() == k])
            n_zones += 1
    option = f"--labels={labels}"
    groups = json.loads(run(images, option, "--by=label", "--total", "--json").stdout)
    assert [g["group"] for g in groups["groups"]] == [str(k) for k in sorted(sums)]
    for g in groups["groups"]:
        assert g["label"] == int(g["group"]) and g["n_images"] == len(sums[g["label"]])
        check({**g, "file": g["group"]}, np.concatenate(sums[g["label"]]), 256, NAMES[3])
    whole = np.concatenate([p for parts in sums.values() for p in parts])
    check({**groups["total"], "file": "total"}, whole, 256, NAMES[3])
    first = run(images, option, "--ndjson", "-j1").stdout
    for n in (2, 3, 7):
        assert run(images, option, "--ndjson", f"-j{n}").stdout == first
    file = folder / "zones.ndjson"
    file.write_text(first)
    assert run(file, "--ndjson").stdout == first
    assert json.loads(run(file, "--by=label", "--total", "--json").stdout) == groups
    for n in (1, 2, 3):
        run(images, option, "--ndjson", f"--shard={n}/3", "-o", folder / f"part{n}.ndjson")
    parts = [folder / f"part{n}.ndjson" for n in (3, 1, 2)]
    assert run(*parts, "--ndjson").stdout == first
    assert json.loads(run(*parts, "--by=label", "--total", "--json").stdout) == groups
    run(images, option, "--by=label", "--ndjson", "-o", folder / "groups.ndjson")
    twice = records(folder / "groups.ndjson", folder / "groups.ndjson")
    assert [g["group"] for g in twice] == [str(k) for k in sorted(sums)]
    assert [g["pixels"] for g in twice] == [2 * sum(map(len, sums[k])) for k in sorted(sums)]
    assert sorted({r["label"] for r in records(images, option, "--where", "label >= 5")}) == list(range(5, 13))
    resumed = folder / "resumed.ndjson"
    run(images, option, "--ndjson", "--resume", "-o", resumed)
    full = resumed.read_bytes()
    for cut in (len(full) // 3, len(full) // 2, len(full) - 5):
        resumed.write_bytes(full[:cut])
        run(images, option, "--ndjson", "--resume", "-o", resumed)
        assert resumed.read_bytes() == full
    return 12, n_zones


def many_labels(folder):
    """All 65,536 labels, four pixels each."""
    a = rng.integers(0, 256, (512, 512, 1), dtype=np.uint8)
    labels = rng.permutation(np.arange(65536).repeat(4)).reshape(512, 512)
    (folder / "m.pgm").write_bytes(pnm(a))
    (folder / "m.png").write_bytes(png(labels[:, :, None], 16))
    got = run(folder / "m.pgm", f"--labels={folder / 'm.png'}", "--memory=2G", "-j1", "--csv=images",
              "--fields=label,pixels,mean_luma").stdout.splitlines()[1:]
    n = np.bincount(labels.ravel(), minlength=65536)
    mean = np.bincount(labels.ravel(), weights=a.ravel(), minlength=65536) / n
    assert len(got) == 65536
    for k, line in enumerate(got):
        label, pixels, value = line.split(",")
        assert (int(label), int(pixels)) == (k, n[k]) and abs(float(value) - mean[k]) < 1e-6
    refused = run(folder / "m.pgm", f"--labels={folder / 'm.png'}", "--memory=16M", "-j2", "--csv=stats", status=1).stderr
    assert "labels" in refused and "--memory" in refused, refused
    return 1, 65536


with tempfile.TemporaryDirectory() as name:
    parts = [part(pathlib.Path(name)) for part in (one_by_one, nodata, a_set, many_labels)]
print("%d images, %d zones" % tuple(map(sum, zip(*parts))))
