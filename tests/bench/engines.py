"""Timing and memory of imghist on Ray, Spark and Dask. Started by engines.sh, which explains the settings."""

import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import local
import PIL.Image
import psutil
import pyarrow

N_FILES, ROUNDS = int(os.environ["N_FILES"]), int(os.environ["ROUNDS"])
PHOTOS = pathlib.Path("build/bench-engines")
LIST = PHOTOS / "list.txt"


BARS = {"command line / total": 0.85, "Pillow / total": 1.8}  # at least
GROWTH_MAX = 1.1  # of a worker's memory, from the first half of a run to the second


class Inputs:
    paths = []


class WarmUp:
    """A tenth of the files: each worker starts and imports what it needs."""

    paths = []


def make_photos():
    """Crops of a sample, each with its own place and quality."""
    PHOTOS.mkdir(parents=True, exist_ok=True)
    chance, scene = random.Random(1), PIL.Image.open("samples/scene.jpg").resize((1000, 750))
    for i in range(N_FILES):
        x, y, quality = chance.randrange(500), chance.randrange(375), chance.randrange(70, 95)
        path = PHOTOS.resolve() / f"{i:06}.jpg"
        if not path.exists():
            scene.crop((x, y, x + 500, y + 375)).save(path, quality=quality)
        Inputs.paths.append(str(path))
    LIST.write_text("".join(path + "\n" for path in Inputs.paths))
    WarmUp.paths = Inputs.paths[: max(8, N_FILES // 10)]


def pillow(paths):
    """The sum of Pillow's histograms of some files: red, green, blue."""
    total = [0] * 768
    for path in paths:
        with PIL.Image.open(path) as image:
            total = [a + b for a, b in zip(total, image.histogram(), strict=True)]
    return total


def pillow_batches(batches):
    for batch in batches:
        yield pyarrow.RecordBatch.from_pydict({"total": [pillow(batch.column("path").to_pylist())]})


def pillow_on_engine(name, engine, inputs=Inputs):
    """The same paths in the same portions, through the engine's own call."""
    from imghist import _engines

    portions = list(_engines.slices(inputs.paths, local.N_WORKERS))
    if name == "ray":
        task = engine.ray.remote(pillow)
        totals = engine.ray.get([task.remote(paths) for paths in portions])
    elif name == "spark":
        frame = engine.module._frame(inputs.paths, "path")
        totals = [row.total for row in frame.mapInArrow(pillow_batches, "total array<long>").collect()]
    else:
        import dask

        totals = dask.compute(*(dask.delayed(pillow)(paths) for paths in portions))
    return sum(map(sum, totals))


def total_on_engine(engine, inputs=Inputs):
    images, arguments = engine.images(inputs, "paths")
    total = engine.module.total(images, **arguments)
    return total.pixels * 3


def records_on_engine(engine, folder):
    images, arguments = engine.images(Inputs, "paths")
    engine.save(engine.module.count(images, **arguments), folder)


def command_line(*options):
    program = [os.environ["IMGHIST"], "-q", "--device=cpu", "-j2", *options, "-o", os.devnull, "--files-from", str(LIST)]
    subprocess.run(program, check=True)


def timed(function, *arguments):
    start = time.monotonic()
    result = function(*arguments)
    return time.monotonic() - start, result


def cpu_s():
    """CPU time of this process, of the processes below it, and of those that have ended."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
            total += times.user + times.system
        except psutil.Error:
            pass
    return total


class Memory(threading.Thread):
    """Samples the resident memory of the largest worker, in MiB."""

    def __init__(self, engine):
        super().__init__(daemon=True)
        self.engine, self.samples, self.is_over = engine, [], threading.Event()

    def run(self):
        while not self.is_over.wait(0.5):
            sizes = []
            for process in self.engine.workers():
                try:
                    sizes.append(process.memory_info().rss >> 20)
                except psutil.Error:
                    pass
            if sizes:
                self.samples.append(max(sizes))

    def halves(self):
        """The largest in the first half of the time and in the second."""
        self.is_over.set()
        n = len(self.samples)
        return [max(part, default=0) for part in (self.samples[: n // 2], self.samples[n // 2 :])]


def measure(name):
    """Prints the rounds of an engine. Returns the number of bars that it missed."""
    engine = local.ENGINES[name]()
    start_s, _ = timed(engine.open)
    warm_s, _ = timed(total_on_engine, engine, WarmUp)
    pillow_on_engine(name, engine, WarmUp)
    print(f"{name}: start {start_s:.1f} s, first job ({len(WarmUp.paths)} files) {warm_s:.1f} s")
    rounds = []
    for i in range(ROUNDS):
        cpu = [cpu_s()]
        cli_s, _ = timed(command_line, "--total-only", "--ndjson")
        cpu.append(cpu_s())
        cli_records_s, _ = timed(command_line, "--ndjson")
        memory = Memory(engine)
        memory.start()
        cpu.append(cpu_s())
        total_s, n = timed(total_on_engine, engine)
        cpu.append(cpu_s())
        halves = memory.halves()
        with tempfile.TemporaryDirectory() as folder:
            records_s, _ = timed(records_on_engine, engine, pathlib.Path(folder) / "records")
        pillow_s, n_pillow = timed(pillow_on_engine, name, engine)
        assert n == n_pillow
        rounds.append((cli_s / total_s, pillow_s / total_s, cli_records_s / records_s, halves[1] / max(1, halves[0])))
        print(f"  {i + 1}: command line {cli_s:.2f} s (records {cli_records_s:.2f} s), total {total_s:.2f} s, "
              f"records as Parquet {records_s:.2f} s, Pillow {pillow_s:.2f} s")
        print(f"     memory of a worker: at most {halves[0]} MiB in the first half of the total, {halves[1]} MiB in "
              f"the second; CPU time: command line {cpu[1] - cpu[0]:.1f} s, total {cpu[3] - cpu[2]:.1f} s", flush=True)
    engine.close()
    cli, pillows, records, growth = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"  total: {cli:.2f} of the command line, {pillows:.2f} times Pillow; records: {records:.2f} of the command line")
    missed = [f"{bar} is {v:.2f}, not at least {BARS[bar]}" for bar, v in zip(BARS, (cli, pillows)) if v < BARS[bar]]
    if not 0 < growth <= GROWTH_MAX:
        missed.append(f"memory grew by a factor of {growth:.2f}, not at most {GROWTH_MAX}")
    print("  bars:", "; ".join(missed) or "met", flush=True)
    return len(missed)


if __name__ == "__main__":
    make_photos()
    sys.exit(sum(measure(NAME) for NAME in sys.argv[1:] or local.ENGINES) > 0)
