"""auto.py: compares --device=auto with --device=cpu on a machine with a GPU, from runs that are over
in a moment to long ones. Starting and ending a GPU takes time, so auto must know which runs are
long enough: it may take 1.03 times the CPU's time at most. The CPU runs twice a round, and the
ratio of its two medians is what chance alone does. The last lines name the worst run.

  IMGHIST   the program (./imghist)
  PHOTOS    a directory with base/ (baseline JPEG files) and prog/ (progressive ones)
  ROUNDS    how often each side runs, in turn; the medians count (3). Runs of less than a second,
            which differ most, three times as often
  SECONDS   the longest run on the CPU, about (10); 60 takes 6 minutes a kind and round
  KINDS     which kinds of files, by their names, separated by commas (all)

Needs Pillow. A list names the same files many times, so all are in the page cache. Times are from
the start of the process to its end."""

import datetime
import glob
import itertools
import os
import shlex
import statistics
import subprocess
import tempfile
import time

from PIL import Image

IMGHIST = os.environ.get("IMGHIST", "./imghist")
PHOTOS = os.environ["PHOTOS"]
ROUNDS, SECONDS = int(os.environ.get("ROUNDS", 3)), float(os.environ.get("SECONDS", 10))
KINDS = os.environ.get("KINDS")
BAR = 1.03
DURATIONS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.1, 1.5, 2, 3, 4.5, 6, 10, 15, 20, 30, 60)


def run(device, files, count):
    with tempfile.NamedTemporaryFile("w") as names:
        names.writelines(f"{f}\n" for f in itertools.islice(itertools.cycle(files), count))
        names.flush()
        command = [IMGHIST, "-q", "--csv=stats", f"--device={device}", f"--files-from={names.name}"]
        start = time.perf_counter()
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        return time.perf_counter() - start, output


def measure(kind, files):
    """Prints a row for each duration. Returns (largest ratio of auto, its run), and that of the CPU again."""
    worst, chance = (0, ""), 0
    n_pace = 4 * len(files)
    while (pace := run("cpu", files, n_pace)[0]) < 0.5:
        n_pace *= 2
    for wanted in (d for d in DURATIONS if d <= SECONDS):
        count = max(1, round(n_pace * wanted / pace))
        sides = ("cpu", "auto", "cpu")
        times = [], [], []
        outputs = set()
        for _ in range(ROUNDS if wanted >= 1 else 3 * ROUNDS):
            for device, seconds in zip(sides, times):
                taken, output = run(device, files, count)
                seconds.append(taken)
                outputs.add(output)
        assert len(outputs) == 1, "the counts of two runs differ"
        cpu, auto, again = (statistics.median(seconds) for seconds in times)
        worst = max(worst, (auto / cpu, f"{kind}, {count} files, {cpu:.2f} s on the CPU"))
        chance = max(chance, again / cpu, cpu / again)
        print(f"{kind:<20} {count:>7} {cpu:>8.2f} {auto:>8.2f} {auto / cpu:>8.3f} {again / cpu:>10.3f}", flush=True)
    return worst, chance


def main():
    base, prog = (sorted(glob.glob(f"{PHOTOS}/{d}/*.jpg")) for d in ("base", "prog"))
    pairs = itertools.islice(itertools.cycle(base), 2 * len(prog))
    mixed = [f for p in prog for f in (p, *itertools.islice(pairs, 2))]
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    print(subprocess.run(query, stdout=subprocess.PIPE, text=True).stdout.strip() or "no GPU")
    settings = f"ROUNDS={ROUNDS} SECONDS={SECONDS:g}" + (f" KINDS={shlex.quote(KINDS)}" if KINDS else "")
    print(f"date       {datetime.date.today()}, {os.cpu_count()} cores")
    print(f"command    {settings} python3 tests/bench/auto.py")
    print(f"\n{'':<20} {'files':>7} {'cpu, s':>8} {'auto, s':>8} {'ratio':>8} {'cpu again':>10}")
    with tempfile.TemporaryDirectory() as folder:
        maker = ["python3", "tests/bench/small_jpegs.py", f"{PHOTOS}/base"]
        os.makedirs(f"{folder}/none")
        for made, side in (("crops", ()), ("squares", ("224",))):
            os.makedirs(f"{folder}/{made}")
            subprocess.run([*maker, f"{folder}/{made}", "1000", f"{folder}/none", "0", *side], check=True)
        for i, name in enumerate(base[:4]):
            Image.open(name).convert("RGB").resize((2400, 1600)).save(f"{folder}/{i}.png")
        kinds = {
            "baseline photos": base,
            "a third progressive": mixed,
            "progressive photos": prog,
            "crops 500x375": sorted(glob.glob(f"{folder}/crops/*.jpg")),
            "crops 224x224": sorted(glob.glob(f"{folder}/squares/*.jpg")),
            "PNG": sorted(glob.glob(f"{folder}/*.png")),
        }
        wanted = KINDS.split(",") if KINDS else kinds
        worst, chance = map(max, zip(*(measure(kind, kinds[kind]) for kind in wanted)))
    verdict = "met" if worst[0] <= BAR else "within chance" if worst[0] <= chance else "MISSED"
    print(f"\nworst ratio {worst[0]:.3f}: {worst[1]}")
    print(f"of the CPU to itself {chance:.3f}; at most {BAR}: {verdict}")


if __name__ == "__main__":
    main()
