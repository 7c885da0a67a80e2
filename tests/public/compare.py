#!/usr/bin/env python3
"""compare.py IMGHIST PATH...: compares the counts of every file with those of the readers at hand: Pillow, OpenCV,
imagecodecs, tifffile and pillow-heif. compare.sh installs them.

A reader's pixels become 8 bits by the rules of docs/formats.md, and then histograms. A file agrees if the histograms
of one reader are equal in every bin; it is near if the mean of each channel of one reader is less than 2 away, as with
another upsampling of chroma. Prints

- a table of agreement by format,
- counted files of which two readers have the same other counts,
- refused files that two readers read alike, and
- files called damaged that a reader reads,

but for those of known.tsv, and at the end `N passed, N failed, N skipped`. Fails if two readers contradict a count or a
refusal. Readers run in a process of their own, because damaged files crash some of them.
"""
import collections
import json
import os
import subprocess
import sys

LIMIT_S = 60  # a reader's time for a file


# ---- readers: each returns an array [height][width] or [height][width][channels], and the largest sample ----

def by_pillow(path):
    from PIL import Image
    with Image.open(path) as image:
        if image.mode in ("P", "PA"):
            image = image.convert("RGBA" if image.mode == "PA" or "transparency" in image.info else "RGB")
        elif image.mode in ("1", "YCbCr", "LAB"):
            image = image.convert("L" if image.mode == "1" else "RGB")
        elif image.mode in ("I", "F"):
            raise ValueError("mode " + image.mode)
        array = numpy.asarray(image)
        return (from_ink(array) if image.mode == "CMYK" else array), 65535 if image.mode.startswith("I;16") else 255


def by_opencv(path):
    array = cv2.imread(path, cv2.IMREAD_UNCHANGED)
    if array is None:
        raise ValueError("not read")
    if array.ndim == 3 and array.shape[2] >= 3:
        array = array[..., [2, 1, 0] + list(range(3, array.shape[2]))]
    return array, numpy.iinfo(array.dtype).max


def by_imagecodecs(path):
    array = imagecodecs.imread(path)
    return array, numpy.iinfo(array.dtype).max


def by_tifffile(path):
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        array, high = page.asarray(), 2 ** page.bitspersample - 1
        photometric = page.photometric.name
        if page.planarconfig == 2 and page.samplesperpixel > 1:
            array = numpy.moveaxis(array, 0, -1)
        if photometric == "PALETTE":
            colours = numpy.moveaxis(page.colormap[:, array], 0, -1)
            return colours, 65535
        if photometric == "MINISWHITE":
            array = (high - array.astype("int64")).astype(array.dtype)
        if photometric == "SEPARATED":
            array, high = from_ink(to_bytes(array, high)[..., :4]), 255
        if photometric == "YCBCR" and page.compression.name != "JPEG":
            raise ValueError("YCbCr")
        extra = [int(kind) for kind in page.extrasamples or ()]
        if array.ndim == 3 and photometric != "SEPARATED":
            n = 3 if photometric in ("RGB", "YCBCR") else 1
            alpha = [n + i for i, kind in enumerate(extra) if kind in (1, 2)][:1]
            array = array[..., list(range(n)) + alpha]
        return array, high


def by_pillow_heif(path):
    image = pillow_heif.open_heif(path, convert_hdr_to_8bit=False)
    if image.info.get("bit_depth", 8) > 8:
        raise ValueError("more than 8 bits")
    return numpy.asarray(image), 255


def from_ink(ink):
    ink = ink.astype("uint32")
    return ((2 * (255 - ink[..., :3]) * (255 - ink[..., 3:4]) + 255) // 510).astype("uint8")


def to_bytes(array, high):
    if array.dtype == bool:
        array, high = array.astype("uint8"), 1
    if array.dtype.kind != "u":
        raise ValueError("samples of type " + array.dtype.name)
    return array if high == 255 else ((array.astype("uint64") * 510 + high) // (2 * high)).astype("uint8")


def histograms(path, read):
    array, high = read(path)
    if array.ndim not in (2, 3) or array.size == 0:
        raise ValueError("an array of %d dimensions" % array.ndim)
    array = to_bytes(array, high)
    planes = [array] if array.ndim == 2 else [array[..., c] for c in range(min(array.shape[2], 4))]
    return [numpy.bincount(plane.ravel(), minlength=256).tolist() for plane in planes]


READERS = {"Pillow": by_pillow, "OpenCV": by_opencv, "imagecodecs": by_imagecodecs, "tifffile": by_tifffile,
           "pillow-heif": by_pillow_heif}


def serve():
    """Reads a path a line, and writes a line of JSON: the histograms of each reader that reads it."""
    global numpy, cv2, imagecodecs, tifffile, pillow_heif
    import logging
    import warnings
    answers = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    import numpy, cv2, imagecodecs, tifffile, pillow_heif
    from PIL import Image
    Image.MAX_IMAGE_PIXELS = None
    while path := sys.stdin.readline():
        found = {}
        for name, read in READERS.items():
            try:
                found[name] = histograms(path.rstrip("\n"), read)
            except Exception:
                pass
        print(json.dumps(found), file=answers, flush=True)


class Server:
    """The readers' process, started again after a crash."""
    process = None

    def ask(self, path):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__, "--serve"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(path + "\n")
        self.process.stdin.flush()
        killer = subprocess.Popen(["sh", "-c", "sleep %d; kill -9 %d" % (LIMIT_S, self.process.pid)])
        line = self.process.stdout.readline()
        killer.kill()
        killer.wait()
        if line:
            return json.loads(line)
        self.process.wait()
        self.process = None
        return {}


# ---- comparison ----

def colours(planes):
    """Without alpha, and gray as one channel: readers differ in both."""
    planes = planes[:1] if len(planes) < 3 else planes[:3]
    return planes[:1] if len(planes) == 3 and planes[0] == planes[1] == planes[2] else planes


def is_near(a, b):
    def mean(plane):
        return sum(v * n for v, n in enumerate(plane)) / max(1, sum(plane))
    return len(a) == len(b) and all(sum(x) == sum(y) and abs(mean(x) - mean(y)) < 2 for x, y in zip(a, b))


def main(imghist, paths):
    files = []
    for path in paths:
        walk = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names] if os.path.isdir(path) else [path]
        files += sorted(name for name in walk if "\n" not in name and os.path.isfile(name))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "known.tsv")) as lines:
        known = {line.split("\t")[0] for line in lines if "\t" in line}
    listed = subprocess.run([imghist, "--ndjson", "--device=cpu", "-q", "--files0-from=-"], text=True, errors="replace",
                            input="\0".join(files), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    records = {}
    for line in listed.splitlines():
        record = json.loads(line)
        records.setdefault(record["file"], record)
    server = Server()
    table = collections.defaultdict(collections.Counter)
    contradicted, refused, words, n_passed, n_skipped = [], [], [], 0, 0
    for path in files:
        record = records.get(path)
        if record is None or "histogram" not in record.get("channels", [{"histogram": 0}])[0]:
            n_skipped += 1  # an archive, a result file, or samples that are signed or floats: readers here give 8 bits
            continue
        found = {name: colours(planes) for name, planes in server.ask(path).items()}
        same = [(a, b) for a in found for b in found if a < b and found[a] == found[b]]
        is_known = os.path.basename(path) in known
        failed = False
        if record["status"] == "ok":
            mine = colours([c["histogram"] for c in record["channels"] if c["name"] != "luma"])
            kind = ("equal" if mine in found.values() else "near" if any(is_near(mine, f) for f in found.values())
                    else "differs" if found else "no reader")
            table[record["format"]][kind] += 1
            if kind not in ("equal", "no reader") and same and not is_known:
                failed = kind == "differs"
                contradicted.append("%s: %s: %s" % (path, kind, ", ".join(sorted({n for pair in same for n in pair}))))
        else:
            table["refused"]["read by one" if len(found) == 1 else "read by more" if found else "read by none"] += 1
            if same and not is_known:
                failed = True
                refused.append("%s: %s: %s" % (path, record["error"], ", ".join(sorted({n for p in same for n in p}))))
            if found and "damaged" in record["error"] and not is_known:
                words.append("%s: %s: %s" % (path, record["error"], ", ".join(sorted(found))))
        n_passed += not failed
    for name in sorted(table):
        print("%-10s %6d files: %s" % (name, sum(table[name].values()), ", ".join("%d %s" % (n, k) for k, n in table[name].most_common())))
    for title, lines in (("counted, but two readers agree on other counts:", contradicted),
                         ("refused, but two readers agree:", refused), ("called damaged, but a reader reads it:", words)):
        print("\n%s %d" % (title, len(lines)))
        for line in lines:
            print("  " + line)
    n_failed = len(files) - n_skipped - n_passed
    print("\n%d passed, %d failed, %d skipped" % (n_passed, n_failed, n_skipped))
    return n_failed > 0 or n_passed == 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    elif len(sys.argv) < 3:
        sys.exit("usage: compare.py IMGHIST PATH...")
    else:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
