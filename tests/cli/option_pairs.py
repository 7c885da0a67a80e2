#!/usr/bin/env python3
"""Tries all pairs of options: option_pairs.py IMGHIST SAMPLES.

Of each pair, either both options change what the run gives (standard output, files, exit status, standard error), or
the run is refused with exit status 2 and a message that names both. Prints each pair that does neither.
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

imghist, samples = (os.path.abspath(p) for p in sys.argv[1:3])
CHART = {"chart": "out/c.png", "total": None}

# Option, value, and the options without which it has no meaning. "name" reads standard input instead of b.
OPTIONS = [
    ("files-from", "list", {}), ("files0-from", "list0", {}), ("name", "x/y", {}), ("shard", "1/2", {}),
    ("resume", None, {"ndjson": None, "output": "out/r.ndjson"}), ("raw", "4", {}), ("raw-depth", "16le", {"raw": "4"}),
    ("size", "8x4", {"raw": "4"}), ("frames", None, {}), ("axes", "NHW", {}), ("raw-preview", None, {}), ("raw-sensor", None, {}), ("max-pixels", "30", {}),
    ("lenient", None, {}), ("text", "full", {}), ("csv", None, {}), ("csv", "bins", {}), ("csv", "long", {}),
    ("csv", "stats", {}), ("csv", "images", {}), ("json", None, {}), ("ndjson", None, {}), ("html", "out/p.html", {}),
    ("thumbnails", None, {"html": "out/p.html"}), ("print", None, {}), ("print0", None, {}), ("check", None, {}), ("output", "out/data", {}),
    ("where", "width > 7", {}), ("fail-if", "mean_luma > 1", {}), ("color", "always", {}), ("percentiles", "0.1,99.9", {}),
    ("share", "<=100", {}), ("sigma-clip", "0.3", {"ndjson": None, "fields": "file,luma.clipped_mean,luma.clipped_stddev"}),
    ("sort", "-mean_luma", {"csv": "images"}), ("top", "1", {"csv": "images", "sort": "width"}),
    ("fields", "file,mean_luma,blown_any", {"csv": "images"}),
    ("copies", None, {"csv": "images"}), ("total", None, {}), ("total-only", None, {}), ("by", "folder", {}), ("against", "reference.pgm", {}),
    ("diff", None, {}), ("chart", "out/charts", {}), ("sheet", None, {"chart": "out/c.png"}),
    ("chart-size", "700x500", CHART), ("chart-format", "svg", {"chart": "out/charts"}), ("title", "T", CHART),
    ("theme", "light", CHART), ("scale", "log", CHART), ("scale-y", "percent", CHART), ("luma", "none", {}),
    ("alpha", "skip-transparent", {}), ("bins", "native", {}), ("depth", "12", {}), ("range", "9,9000", {}),
    ("region", "1x2+0+2", {}), ("mask", "mask.pgm", {}), ("bands", "1-3", {}),
    ("labels", "mask.pgm", {}), ("ignore-label", "0", {"labels": "mask.pgm"}), ("nodata", "0", {}), ("clip", "9,200", {}), ("device", "cpu", {}),
    ("kernel", "reference", {}), ("jpeg", "cpu", {}), ("threads", "2", {}), ("memory", "64M", {}), ("timeout", "60", {}),
    ("isolate", None, {}), ("list-skipped", None, {}), ("fail-fast", None, {}), ("progress", "always", {}),
    ("quiet", None, {}), ("verbose", None, {}), ("list", None, {}), ("completion", "bash", {}),
]

# Options that must not change what a run gives. The suites named here show that they work.
UNSEEN = {
    "device": "every device gives the same counts: device.bats", "kernel": "so does every kernel: device.bats",
    "jpeg": "so does every decoder: options.bats", "threads": "so does every number of threads: run.bats",
    "memory": "a limit that these inputs do not reach: run.bats", "timeout": "the same: timeout.bats",
    "isolate": "sandboxed decoders give the same pixels: isolate.bats",
    "resume": "the file becomes that of a whole run: resume.bats",
}

# Pairs in which the first option asks for what the second one does anyway.
SAME = {
    ("csv", "fields"): "it is CSV anyway",
    ("text", "total-only"): "full is the view of a single total",
    ("total", "html"): "the page always has the total", ("total", "thumbnails"): "the same",
    ("ndjson", "resume"): "the name of its file tells the format",
    ("quiet", "check"): "no message is left; on a terminal, -q also turns progress off",
    ("files-from", "fail-fast"): "the run stops before the list", ("files0-from", "fail-fast"): "the same",
    ("raw-depth", "fail-fast"): "the run stops at a file that is not of samples",
    ("size", "fail-fast"): "the same", ("lenient", "mask"): "its file has another size than the mask",
    ("sigma-clip", "depth"): "most samples become 255", ("sigma-clip", "range"): "the same",
    ("alpha", "top"): "the first record has no alpha", ("alpha", "copies"): "nor has a copy",
    ("nodata", "region"): "no pixel of the region has the value", ("nodata", "mask"): "the same",
    ("bands", "raw"): "a line of text does not show the alpha that is left out", ("bands", "raw-depth"): "the same",
    ("bands", "size"): "the same", ("frames", "bands"): "images of several frames are gray", ("lenient", "bands"): "so is the irregular one",
    ("lenient", "labels"): "its file has another size than the label image", ("lenient", "ignore-label"): "the same",
    ("ignore-label", "max-pixels"): "images of the size of the label image are too large",
    ("ignore-label", "against"): "the reference has another size than the label image",
    ("ignore-label", "check"): "no image has this label alone",
    ("nodata", "ignore-label"): "no pixel of the other labels has the value",
    ("name", "fail-fast"): "the run stops before standard input",
    ("raw-sensor", "check"): "both sensors are whole",
}


def pnm(name, width, height, channels, step, images=1):
    """16-bit samples, in a file of a multiple of 4 bytes; in four channels some pixels are transparent."""
    data = b""
    for k in range(images):
        wide = [(i * step + k * 999) % 65536 for i in range(width * height * channels)]
        if channels == 4:
            wide[3::12] = [0] * len(wide[3::12])
        head = (f"P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH 4\nMAXVAL 65535\nTUPLTYPE RGB_ALPHA\n%sENDHDR\n"
                if channels == 4 else f"P5\n%s{width} {height}\n65535\n")
        bytes16 = struct.pack(f">{len(wide)}H", *wide)
        n_missing = -(len(head) - 2 + len(bytes16)) % 4 + 4
        data += (head % ("#" * (n_missing - 1) + "\n")).encode() + bytes16
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(name).write_bytes(data)


def raw_file(name, preview):
    """A camera raw file of which imghist reads the preview."""
    subprocess.run([sys.executable, pathlib.Path(__file__).with_name("make_dng.py"), name, preview], check=True)


def make_inputs():
    photo, picture = pathlib.Path(samples, "scene.jpg"), pathlib.Path(samples, "palette.png").read_bytes()
    pathlib.Path("a").mkdir()
    bare = bytes(i * 29 % 256 if i % 16 != 3 else 0 for i in range(128))
    pathlib.Path("a/0one.bin").write_bytes(bare)
    pathlib.Path("a/0two.bin").write_bytes(bare + bare[::-1])
    pathlib.Path("b/").mkdir()
    pathlib.Path("b/0one.bin").write_bytes(bare[64:] + bare[:64])
    for name, n in (("a/0axes.npy", 4), ("a/0axis.npy", 3), ("a/9bands.npy", 5)):
        head = b"\x93NUMPY\1\0\x76\0{'descr': '>u2', 'fortran_order': False, 'shape': (4, 8, %d)}" % n
        array = [i * 2503 % 65536 if i % 12 != 3 else 0 for i in range(32 * n)]
        pathlib.Path(name).write_bytes(head.ljust(128) + struct.pack(f">{32 * n}H", *array))
    pnm("a/1frames.pgm", 8, 4, 1, 2003, images=2)
    pnm("a/2colour.pam", 8, 4, 4, 3001)
    pnm("a/4torn.pgm", 8, 4, 1, 1501, images=2)
    torn = pathlib.Path("a/4torn.pgm").read_bytes()
    pathlib.Path("a/4torn.pgm").write_bytes(torn[:-8])
    irregular = subprocess.run(["cjpeg", "-restart", "1"], input=b"P5 1 16 255\n" + bytes(range(16)),
                               capture_output=True, check=True).stdout
    at = irregular.index(b"\xff\xd0")
    pathlib.Path("a/3irregular.jpg").write_bytes(irregular[:at] + b"\x12\0 more bytes" + irregular[at:])
    raw_file("a/0raw.dng", photo)
    raw_file("a/5torn.dng", photo)
    whole = pathlib.Path("a/5torn.dng").read_bytes()
    at = len(whole) - 9000
    pathlib.Path("a/5torn.dng").write_bytes(whole[:at] + bytes(9000))
    pathlib.Path("a/6bad.png").write_bytes(picture[:200])
    pnm("a/7last.pgm", 7, 4, 1, 1009)
    pathlib.Path("a/8copy.pgm").write_bytes(pathlib.Path("a/7last.pgm").read_bytes())
    pathlib.Path("a/0notes.txt").write_text("no image\n")
    os.symlink("nowhere", "a/dangling")
    pnm("b/1.pgm", 9, 3, 1, 5003, images=2)
    pnm("b/2.pam", 7, 4, 4, 1501)
    pnm("b/3.pam", 7, 4, 4, 1733)
    for name in ("x", "y"):
        pnm(f"listed/{name}.pgm", 5, 5, 1, 2999)
        pathlib.Path(f"listed/{name}bad.png").write_bytes(picture[:200])
    pnm("reference.pgm", 8, 8, 1, 997)
    pathlib.Path("mask.pgm").write_bytes(b"P5\n8 4\n255\n" + bytes([0, 255] * 16))
    pathlib.Path("list").write_text("listed\n")
    pathlib.Path("list0").write_bytes(b"listed\0")


def run(options):
    """options: name -> value. Returns the exit status, standard error, and all that the run gives."""
    arguments = [f"--{name}" if value is None else f"--{name}={value}" for name, value in options]
    names = {name for name, _ in options}
    paths = [] if names & {"list", "completion"} else ["a", "-" if "name" in names else "b"]
    shutil.rmtree("out", ignore_errors=True)
    done = subprocess.run([imghist, *paths, *arguments], input=b"P5\n2 2\n255\n1", capture_output=True, check=False)
    errors = re.sub(r"\d+\.\d+|(?<=  )\d+", "N", done.stderr.decode())
    files = {str(p): p.read_bytes() for p in pathlib.Path("out").rglob("*") if p.is_file()}
    return done.returncode, errors, (done.returncode, errors, done.stdout, files)


class Runs:
    def __init__(self):
        self.kept = {}

    def __call__(self, *parts):
        """The run of options with what they need, each once, and whose order is that of the parts."""
        options = list(dict.fromkeys(parts))
        if tuple(options) not in self.kept:
            self.kept[tuple(options)] = run(options)
        return self.kept[tuple(options)]


def named(option, text):
    name, _, context = option
    words = {name, *context}
    return any(re.search(rf"--{re.escape(word)}\b(?!-)", text) for word in words) or (
        name == "output" and re.search(r"(^|\s)-o\b", text)) or ("text" in words and "--text" in text)


def main():
    make_inputs()
    runs, problems, n_pairs, n_refused = Runs(), [], 0, 0
    help_text = subprocess.run([imghist, "--help=all"], capture_output=True, check=True).stdout.decode()
    known = {m for m in re.findall(r"^  (?:-\w, )?--([\w-]+)", help_text, re.M)} - {"help", "version"}
    known.discard("records")  # an input like a path: results.bats
    missing = known ^ {name for name, _, _ in OPTIONS}
    if missing:
        problems.append(f"not the options of --help=all: {', '.join(sorted(missing))}")
    for i, a in enumerate(OPTIONS):
        for b in OPTIONS[:i]:
            pair = [(o[0], o[1]) for o in (a, b)]
            context = [part for o in (a, b) for part in o[2].items() if part[0] not in (a[0], b[0])]
            shown = " ".join(f"--{n}" if v is None else f"--{n}={v}" for n, v in pair)
            code, errors, both = runs(*context, *pair)
            n_pairs += 1
            if code not in (0, 1, 2, 4):
                problems.append(f"{shown}: exit status {code}: {errors.strip()}")
            elif code == 2:
                n_refused += 1
                if not (named(a, errors) and named(b, errors)):
                    problems.append(f"{shown}: not both are named: {errors.strip()}")
            else:
                for one, other in ((a, b), (b, a)):
                    if one[0] in UNSEEN or (one[0], other[0]) in SAME:
                        continue
                    if runs(*context, *(p for p in pair if p[0] != one[0]))[2] == both:
                        problems.append(f"{shown}: --{one[0]} has no effect")
    print("\n".join(problems))
    print(f"{n_pairs} pairs, {n_refused} refused", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
