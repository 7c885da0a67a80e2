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


class Inputs:
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


def pillow(paths):
    """The sum of Pillow's histograms of some files: red, green, blue."""
    total = [0] * 768
    for path in paths:
        with PIL.Image.open(path) as image:
            total = [a + b for a, b in zip(total, image.histogram(), strict=True)]
    return total


def pillow_table(table):
    return pyarrow.table({"total": [pillow(table.column("path").to_pylist())]})


def pillow_batches(batches):
    for batch in batches:
        yield from pillow_table(batch).to_batches()


def pillow_on_engine(name, engine):
    """The same paths in the same portions, through the engine's own call."""
    if name == "ray":
        from imghist import _engines

        portions = [pyarrow.table({"path": paths}) for paths in _engines.slices(Inputs.paths)]
        parts = engine.ray.data.from_arrow(portions).map_batches(pillow_table, batch_size=None, batch_format="pyarrow")
        totals = [row["total"] for row in parts.iter_rows()]
    elif name == "spark":
        frame = engine.images(Inputs, "paths")[0]
        totals = [row.total for row in frame.mapInArrow(pillow_batches, "total array<long>").collect()]
    else:
        import dask
        from imghist import _engines

        totals = dask.compute(*(dask.delayed(pillow)(paths) for paths in _engines.slices(Inputs.paths)))
    return sum(map(sum, totals))


def total_on_engine(engine):
    images, arguments = engine.images(Inputs, "paths")
    total = engine.module.total(images, **arguments)
    return total.pixels * 3


def records_on_engine(engine, folder):
    images, arguments = engine.images(Inputs, "paths")
    engine.save(engine.module.count(images, **arguments), folder)


def command_line(*options):
    program = [os.environ["IMGHIST"], "-q", "--device=cpu", "-j2", *options, "-o", os.devnull, str(PHOTOS)]
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

    def summary(self):
        self.is_over.set()
        n = len(self.samples)
        halves = [max(part, default=0) for part in (self.samples[: n // 2], self.samples[n // 2 :])]
        return f"memory of a worker: at most {halves[0]} MiB in the first half of the total, {halves[1]} MiB in the second"


def measure(name):
    engine = local.ENGINES[name]()
    start_s, _ = timed(engine.open)
    small = type("Small", (), {"paths": Inputs.paths[:4]})
    warm_s, _ = timed(lambda: engine.module.total(engine.images(small, "paths")[0]))
    print(f"{name}: start {start_s:.1f} s, first job {warm_s:.1f} s")
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
        remembered = memory.summary()
        with tempfile.TemporaryDirectory() as folder:
            records_s, _ = timed(records_on_engine, engine, pathlib.Path(folder) / "records")
        pillow_s, n_pillow = timed(pillow_on_engine, name, engine)
        assert n == n_pillow
        rounds.append((cli_s / total_s, cli_records_s / records_s, pillow_s / total_s))
        print(f"  {i + 1}: command line {cli_s:.2f} s (records {cli_records_s:.2f} s), total {total_s:.2f} s, "
              f"records as Parquet {records_s:.2f} s, Pillow {pillow_s:.2f} s")
        print(f"     {remembered}; CPU time: command line {cpu[1] - cpu[0]:.1f} s, total {cpu[3] - cpu[2]:.1f} s", flush=True)
    engine.close()
    cli, records, ratio = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"  total: {cli:.2f} of the command line, {ratio:.2f} times Pillow; records: {records:.2f} of the command line")


if __name__ == "__main__":
    make_photos()
    for NAME in sys.argv[1:] or local.ENGINES:
        measure(NAME)
