"""kill.py ENGINE N: runs with a worker killed at a random moment, until N have been killed.

Each run must give the total and the records of the run without a kill, or raise. Prints how each ended.
"""

import json
import pathlib
import random
import sys
import tempfile
import threading
import time

import data
import local
import psutil

import imghist


class Killer(threading.Thread):
    """Kills one worker after delay_s, or as soon as there is one, unless the run has ended."""

    def __init__(self, engine, delay_s, chance):
        super().__init__(daemon=True)
        self.engine, self.delay_s, self.chance = engine, delay_s, chance
        self.has_killed, self.is_over = False, threading.Event()

    def run(self):
        self.is_over.wait(self.delay_s)
        while not self.is_over.is_set() and not self.has_killed:
            workers = self.engine.workers()
            if workers:
                try:
                    self.chance.choice(workers).kill()
                    self.has_killed = True
                except psutil.Error:
                    pass


def run(engine, inputs, folder):
    """The total and the records, from two runs of the engine."""
    engine.save(engine.module.count(engine.images(inputs, "tars")[0]), folder)
    return engine.module.total(engine.images(inputs, "tars")[0])


def kills(name, n, n_files=1200, seed=None):
    """Returns the numbers of (right runs with a kill, loud failures, runs that ended before the kill)."""
    chance = random.Random(seed)
    engine = local.ENGINES[name]()
    right = loud = missed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        inputs = data.Inputs(folder, n_files, n_parts=24)
        lines, total_line = inputs.expected("tars")
        engine.open()
        run(engine, inputs, folder / "warm")
        start = time.monotonic()
        run(engine, inputs, folder / "measured")
        took_s = time.monotonic() - start
        for i in range(2 * n):
            if right + loud == n:
                break
            killer = Killer(engine, chance.uniform(0, 0.8 * took_s), chance)
            killer.start()
            try:
                total = run(engine, inputs, folder / str(i))
            except Exception as e:
                how = f"failed: {type(e).__name__}"
                assert killer.has_killed, e
                loud += 1
                engine.close()  # it may have lost its workers
                engine.open()
            else:
                how = "right"
                assert data.comparable(local.read_records(folder / str(i))) == lines
                assert (total.images, total.failed) == counts_of(total_line)
                assert next(imghist.ndjson([total], folder=folder_of(total_line))) == total_line
                right += killer.has_killed
            killer.is_over.set()
            killer.join()
            missed += not killer.has_killed
            print(f"{name} {i + 1}: {'killed' if killer.has_killed else 'not killed'}, {how}", flush=True)
        engine.close()
    return right, loud, missed


def counts_of(total_line):
    record = json.loads(total_line)
    return record["n_images"], record["n_failed"]


def folder_of(total_line):
    return json.loads(total_line).get("folder", "")


if __name__ == "__main__":
    RIGHT, LOUD, MISSED = kills(sys.argv[1], int(sys.argv[2]))
    print(f"{sys.argv[1]}: {RIGHT} right, {LOUD} failed loudly, {MISSED} more ended before the kill")
    sys.exit(RIGHT + LOUD < int(sys.argv[2]))
