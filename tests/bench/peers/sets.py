"""Data sets of peers.sh: a folder of small JPEG files, as users of imgeda, CleanVision and pixel-patrol look at it.

usage: sets.py PROGRAM PHOTOS WORK N. Each tool runs as a command of its own, with its defaults and all cores, once.
"""

import os
import shutil
import subprocess
import sys
import time

from PIL import Image


def make(photos, folder, n):
    if os.path.isdir(folder) and len(os.listdir(folder)) == n:
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    images = [Image.open(path).convert("RGB").resize((1200, 800)) for path in photos]
    for i in range(n):
        image = images[i % len(images)]
        left, top = 37 * i % (image.width - 224), 53 * i % (image.height - 224)
        image.crop((left, top, left + 224, top + 224)).save(f"{folder}/{i:06}.jpg", quality=85)


CLEANVISION = """
from cleanvision import Imagelab
lab = Imagelab(data_path={!r})
lab.find_issues(verbose=False)
assert len(lab.issues) == {}
"""


def main():
    program, photos, work, n = *sys.argv[1:4], int(sys.argv[4])
    os.makedirs(work, exist_ok=True)
    found = subprocess.run(["find", photos, "-name", "*.jpg", "-size", "+300k"], capture_output=True, text=True).stdout
    folder, out, here = f"{work}/images", f"{work}/out", os.path.dirname(sys.executable)
    make(sorted(found.split("\n")[:-1])[:16], folder, n)
    tools = {
        "imghist --csv=images": [program, folder, "-q", "--csv=images", "-o", f"{out}/images.csv"],
        "imghist --html": [program, folder, "-q", f"--html={out}/images.html"],
        "imgeda scan": [f"{here}/imgeda", "scan", folder, "-o", f"{out}/manifest.jsonl"],
        "CleanVision find_issues": [sys.executable, "-c", CLEANVISION.format(folder, n)],
        "pixel-patrol": [f"{here}/pixel-patrol", "process", folder, "--loader", "bioio", "-o", f"{out}/pixels.parquet"],
    }
    print(f"\n{n} JPEG files of 224 x 224, each tool once, as its user runs it: seconds, times of imghist --csv=images")
    base = None
    for name, command in tools.items():
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        if not shutil.which(command[0]):
            print(f"{name:26} not installed")
            continue
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        took = time.perf_counter() - started
        base = base or took
        why = "" if done.returncode == 0 else f"  exit status {done.returncode}: {done.stderr.strip()[-200:]}"
        print(f"{name:26}{took:8.2f}{took / base:8.1f}{why}", flush=True)


if __name__ == "__main__":
    main()
