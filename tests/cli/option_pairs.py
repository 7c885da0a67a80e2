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
    ("resume", None, {"ndjson": None, "output": "out/r.ndjson"}), ("raw", "2", {}), ("raw-depth", "16le", {"raw": "2"}),
    ("size", "2x2", {"raw": "2"}), ("frames", None, {}), ("raw-preview", None, {}), ("max-pixels", "1k", {}),
    ("lenient", None, {}), ("text", "full", {}), ("csv", None, {}), ("csv", "bins", {}), ("csv", "long", {}),
    ("csv", "stats", {}), ("csv", "images", {}), ("json", None, {}), ("ndjson", None, {}), ("html", "out/p.html", {}),
    ("thumbnails", None, {"html": "out/p.html"}), ("print0", None, {}), ("check", None, {}), ("output", "out/data", {}),
    ("where", "width > 6", {}), ("fail-if", "width > 6", {}), ("color", "always", {}), ("percentiles", "0.1,99.9", {}),
    ("total", None, {}), ("total-only", None, {}), ("by", "folder", {}), ("against", "reference.pgm", {}),
    ("diff", None, {}), ("chart", "out/charts", {}), ("sheet", None, {"chart": "out/c.png"}),
    ("chart-size", "700x500", CHART), ("chart-format", "svg", {"chart": "out/charts"}), ("title", "T", CHART),
    ("theme", "light", CHART), ("scale", "log", CHART), ("scale-y", "percent", CHART), ("luma", "bt601", {}),
    ("alpha", "skip-transparent", {}), ("bins", "native", {}), ("depth", "12", {}), ("range", "9,9000", {}),
    ("region", "2x2+1+1", {}), ("mask", "mask.pgm", {}), ("clip", "9,200", {}), ("device", "cpu", {}),
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

# The first option says what is so beside the second one anyway, or what these inputs cannot show.
SAME = {
    ("text", "total-only"): "full is the view of a single total",
    ("text", "color"): "", ("quiet", "check"): "messages and notes are off; -q also turns progress on a terminal off",
}


def pnm(name, width, height, channels, step, images=1):
    """16-bit samples; in four channels each third pixel is transparent."""
    data = b""
    for k in range(images):
        samples16 = [(i * step + k * 999) % 65536 for i in range(width * height * channels)]
        for i in range(channels - 1, len(samples16), channels) if channels == 4 else []:
            samples16[i] = 0 if i % 3 == 0 else 65535
        head = (f"P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH 4\nMAXVAL 65535\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
                if channels == 4 else f"P5\n{width} {height}\n65535\n")
        data += head.encode() + struct.pack(f">{len(samples16)}H", *samples16)
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(name).write_bytes(data)


def make_inputs():
    pnm("a/1colour.pam", 8, 4, 4, 3001)
    pnm("a/2frames.pgm", 6, 4, 1, 2003, images=2)
    pnm("a/3large.pgm", 40, 30, 1, 53)
    photo = pathlib.Path(samples, "scene.jpg").read_bytes()
    at = photo.index(b"\xff\xda")
    pathlib.Path("a/4irregular.jpg").write_bytes(photo[:-2] + b"\x12\0 extra bytes" + photo[-2:])
    subprocess.run([sys.executable, pathlib.Path(__file__).with_name("make_dng.py"), "a/5raw.dng",
                    pathlib.Path(samples, "scene.jpg")], check=True)
    pathlib.Path("a/6bad.png").write_bytes(pathlib.Path(samples, "palette.png").read_bytes()[:200])
    pnm("a/7last.pgm", 7, 4, 1, 1009)
    pathlib.Path("a/notes.txt").write_text("no image\n")
    os.symlink("nowhere", "a/dangling")
    pnm("b/1.pgm", 9, 4, 1, 5003)
    pnm("b/2.pam", 8, 5, 4, 1501)
    pnm("listed/x.pgm", 5, 5, 1, 2999)
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
