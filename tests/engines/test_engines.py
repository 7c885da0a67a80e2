"""Records and totals of each engine are those of the command line, in every form of input."""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import data
import local
import pyarrow.compute
import pyarrow.parquet
import pytest

import imghist
from imghist import _engines

FORMS = sorted({form for engine in local.ENGINES.values() for form in engine.forms})


def folder_of(total_line):
    return json.loads(total_line).get("folder", "")


def assert_total(total, total_line):
    lines = imghist.ndjson([total], folder=folder_of(total_line))
    assert data.same(data.comparable(lines), data.comparable([total_line]))


def count(engine, inputs, form, **settings):
    if form not in engine.forms:
        pytest.skip("the engine does not read this form")
    images, arguments = engine.images(inputs, form)
    return images, arguments | settings


@pytest.mark.parametrize("form", FORMS)
def test_records_and_total_are_those_of_the_command_line(engine, inputs, form, tmp_path):
    images, arguments = count(engine, inputs, form)
    lines, total_line = inputs.expected(form)
    assert len(lines) >= 140 and sum(b'"status":"error"' in line for line in lines) > 15
    engine.save(engine.module.count(images, **arguments), tmp_path / "records")
    assert data.same(local.read_records(tmp_path / "records"), lines)
    assert_total(engine.module.total(images, **arguments), total_line)
    assert_total(engine.module.total(engine.read(tmp_path / "records")), total_line)


def test_the_command_line_merges_what_engines_give(engine, inputs, tmp_path):
    """Records of one half and the total of the other half are the total of one run."""
    total_line = inputs.expected("tars")[1]
    engine.save(engine.module.count(inputs_of(engine, inputs.tars[:4])), tmp_path / "records")
    (tmp_path / "records.ndjson").write_bytes(b"".join(local.read_records(tmp_path / "records")))
    total = engine.module.total(inputs_of(engine, inputs.tars[4:]))
    (tmp_path / "total.ndjson").write_bytes(b"".join(imghist.ndjson([total], folder=folder_of(total_line))))
    merged = data.run_program("--ndjson", "--total-only", tmp_path / "records.ndjson", tmp_path / "total.ndjson")
    assert data.same([merged], [total_line])


def inputs_of(engine, paths):
    class Some:
        pass

    Some.paths = paths
    return engine.images(Some, "paths")[0]


def test_settings_reach_the_tasks(engine, inputs):
    images, arguments = count(engine, inputs, "paths", clip=(5, 250), luma="bt601")
    total_line = inputs.expected("paths", "--clip=5,250", "--luma=bt601")[1]
    assert_total(engine.module.total(images, **arguments), total_line)


def test_records_are_rows_for_parquet(engine, inputs, tmp_path):
    """The columns of imghist.Table; a failure is a row with its status, and its text says why."""
    paths = [str(data.ROOT / "samples/scene.jpg"), str(tmp_path / "missing.png")]
    engine.save(engine.module.count(inputs_of(engine, paths)), tmp_path / "records")
    table = pyarrow.concat_tables(
        pyarrow.parquet.ParquetFile(p).read() for p in sorted((tmp_path / "records").glob("*.parquet"))
        if pyarrow.parquet.ParquetFile(p).metadata.num_rows
    )
    rows = {(row["file"], row["channel"]): row for row in table.to_pylist()}
    counts = imghist.count(paths[0])
    assert table.column_names[: len(table.column_names) - 1] == pyarrow.table(imghist.Table([])).column_names
    assert len(rows) == table.num_rows == 5
    red = rows[paths[0], "red"]
    assert red["histogram"] == counts.histogram("red").tolist() and red["p99"] == counts["red"].p99
    assert (red["status"], red["error"]) == ("ok", None)
    failed = rows[paths[1], None]
    assert failed["status"] == "io" and "No such file" in failed["error"] and failed["histogram"] is None


def test_ray_totals_of_groups(engine, inputs):
    """Total is an aggregation of Ray, which gives it the column counts alone."""
    if not hasattr(engine.module, "Total"):
        pytest.skip("only Ray has aggregations")
    engine.ray.data.DataContext.get_current().default_hash_shuffle_parallelism = 2  # 200 by default
    record = json.loads(inputs.expected("tars")[1])
    groups = engine.module.count(inputs.tars).groupby("status").aggregate(engine.module.Total()).take_all()
    totals = {group["status"]: imghist.Counts.from_bytes(group["total"]) for group in groups}
    assert (totals["ok"].images, totals["ok"].failed) == (record["n_images"], 0)
    assert totals["ok"]["luma"].sum == record["channels"][-1]["sum"]
    assert sum(total.failed for total in totals.values()) == record["n_failed"]
    with pytest.raises(Exception, match="so a total needs all rows"):
        engine.module.count(inputs.tars).groupby("channel").aggregate(engine.module.Total()).take_all()


def test_ray_totals_of_folders(engine, tmp_path):
    """The expression in docs/engines.md, on records that were written."""
    if not hasattr(engine.module, "Total"):
        pytest.skip("only Ray has aggregations")
    page = (data.ROOT / "docs/engines.md").read_text(encoding="utf-8")
    expression = re.search(r"`(records\.add_column\(.*?)`", page, re.S)[1]
    function = re.search(r"`folder_of = (.*?)`", page, re.S)[1]
    for folder, names in {"a": ["scene.jpg", "scene.png"], "b": ["scene.jpg"]}.items():
        (tmp_path / folder).mkdir()
        for name in names:
            shutil.copy(data.ROOT / "samples" / name, tmp_path / folder)
    paths = sorted(str(path) for path in tmp_path.glob("?/*"))
    engine.module.count(paths).write_parquet(str(tmp_path / "records"))
    scope = {"records": engine.ray.data.read_parquet(str(tmp_path / "records")), "imghist": imghist}
    scope |= {"folder_of": eval(function, {"pyarrow": pyarrow})}
    totals = {row["folder"]: imghist.Counts.from_bytes(row["total"]) for row in eval(expression, scope).take_all()}
    assert totals == {f"{tmp_path}/{f}/": sum(map(imghist.count, tmp_path.glob(f"{f}/*"))) for f in "ab"}


def test_no_images(engine, tmp_path):
    total = engine.module.total(inputs_of(engine, []))
    assert (total.images, total.failed) == (0, 0)
    total = engine.module.total(engine.module.count(inputs_of(engine, [])))
    assert (total.images, total.failed) == (0, 0)
    engine.save(engine.module.count(inputs_of(engine, [])), tmp_path / "records")
    assert local.read_records(tmp_path / "records") == []


def test_wrong_arguments_raise_before_any_task(engine, inputs):
    for function in (engine.module.count, engine.module.total):
        with pytest.raises(ValueError, match="luma"):
            function(inputs.paths, luma="bt2020")
        with pytest.raises(TypeError, match="colour"):
            function(inputs.paths, colour=1)
        with pytest.raises(ValueError, match="threads: 0 is not 1 to 1024"):
            function(inputs.paths, threads=0)
        if not hasattr(engine, "client"):  # Dask reads the Parquet files at the paths
            with pytest.raises(TypeError, match="paths have no column 'bytes'"):
                function(inputs.paths, image="bytes")


def test_records_take_no_settings(engine, inputs, tmp_path):
    """They would have no effect."""
    engine.save(engine.module.count(inputs.paths[:3]), tmp_path / "records")
    error = Exception if hasattr(engine, "ray") else TypeError  # Ray knows the columns in the task
    with pytest.raises(error, match="records have been counted already, so they take no luma"):
        engine.module.total(engine.read(tmp_path / "records"), luma="bt601")


def test_a_total_needs_all_rows_of_records(engine, inputs, tmp_path):
    """Their order does not matter. The rows with counts are enough, but of others none may be missing."""
    total_line = inputs.expected("paths")[1]
    rows = pyarrow.table(imghist.Table(imghist.scan(inputs.paths, on_error="record"), saved=True))
    shuffled = rows.take(random.Random(1).sample(range(rows.num_rows), rows.num_rows))
    with_counts = rows.filter(pyarrow.compute.is_valid(rows["counts"]))
    for i, table in enumerate([shuffled, with_counts, shuffled.select(["counts"])]):
        assert_total(engine.module.total(engine.read(parts(table, tmp_path / str(i)))), total_line)
    luma = rows.filter(pyarrow.compute.equal(rows["channel"], "luma"))
    bright = shuffled.filter(pyarrow.compute.greater(shuffled["mean"], 127))
    assert with_counts.num_rows == len(inputs.paths)
    assert rows["channel"][0].as_py() == "red"
    for i, table in enumerate([luma, bright, rows.slice(1)]):
        with pytest.raises(Exception, match="so a total needs all rows"):
            engine.module.total(engine.read(parts(table, tmp_path / f"some{i}")))


def parts(table, folder):
    """Writes a table as files that end within images."""
    folder.mkdir()
    for i in range(0, table.num_rows, 101):
        pyarrow.parquet.write_table(table.slice(i, 101), folder / f"{i:05}.parquet")
    return folder


def test_a_column_named_counts_hides_no_images(engine, inputs, tmp_path):
    if hasattr(engine, "client"):
        pytest.skip("Dask gets paths or records")
    total_line = inputs.expected("paths")[1]
    nothing = [None] * len(inputs.paths)
    for i, type in enumerate([pyarrow.null(), pyarrow.binary(), pyarrow.int64()]):
        table = pyarrow.table({"path": inputs.paths, "counts": pyarrow.array(nothing, type)})
        assert_total(engine.module.total(engine.read(parts(table, tmp_path / str(i)))), total_line)


def test_names_that_are_no_text(engine, inputs, tmp_path):
    """A name may be any bytes. A null is an empty name, which no file has."""
    strange = os.fsencode(tmp_path) + b"/\xff\xe9.png"
    pathlib.Path(os.fsdecode(strange)).write_bytes((data.ROOT / "samples/scene.png").read_bytes())
    paths = [strange, pathlib.Path(os.fsdecode(strange)), "", None]
    total = engine.module.total(inputs_of(engine, paths))
    assert (total.images, total.failed) == (2, 2)
    engine.save(engine.module.count(inputs_of(engine, paths)), tmp_path / "records")
    lines = [json.loads(line) for line in local.read_records(tmp_path / "records")]
    assert [line["status"] for line in lines] == ["error"] * 2 + ["ok"] * 2
    assert lines[3]["file"] == f"{tmp_path}/??.png"


def test_nulls_and_wrong_types_in_columns(engine, tmp_path):
    """A null is a failure or an image without a name; of a column of another type the error names the type."""
    image = (data.ROOT / "samples/scene.png").read_bytes()
    table = pyarrow.table({"path": ["a", None, "b"], "bytes": [image, image, None], "n": [1, 2, 3]})
    pyarrow.parquet.write_table(table, tmp_path / "images.parquet")
    images = [tmp_path / "images.parquet"] if hasattr(engine, "client") else engine.read(tmp_path)
    total = engine.module.total(images, image="bytes")
    assert (total.images, total.failed) == (2, 1)
    with pytest.raises(Exception, match="image: a column of int64 holds no files"):
        engine.module.total(images, image="n")
    with pytest.raises(Exception, match="expected str, bytes or os.PathLike object, not int"):
        engine.module.total(images, name="n", image="bytes")


def test_result_files_are_refused(engine, tmp_path):
    """A task that has one of them cannot tell what is in the others."""
    path = str(data.ROOT / "samples/scene.png")
    (tmp_path / "records.ndjson").write_bytes(b"".join(imghist.ndjson([imghist.count(path)])))
    with pytest.raises(Exception, match="records.ndjson: a result file is no image: a scan reads its records"):
        engine.module.total(inputs_of(engine, [path, str(tmp_path / "records.ndjson")]))
    assert engine.module.total(inputs_of(engine, [str(tmp_path)])).failed == 1  # in a directory it is left out


def test_ray_starts_without_init():
    """Ray's own functions do, but not those that tell how many CPUs there are."""
    pytest.importorskip("ray")
    code = "import sys; from imghist.ray import *; print(total(sys.argv[1]).images, count(sys.argv[1]).count())"
    command = [sys.executable, "-c", code, str(data.ROOT / "samples/scene.png")]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.split() == ["1", "4"], done.stderr[-3000:]


def test_ray_refuses_tasks_that_no_node_can_run(engine, inputs):
    if not hasattr(engine, "ray"):
        pytest.skip("only Ray reserves CPUs for a task")
    for function in (engine.module.count, engine.module.total):
        with pytest.raises(ValueError, match=f"threads: no node has {local.N_WORKERS + 1} CPUs"):
            function(inputs.paths, threads=local.N_WORKERS + 1)
    assert engine.module.total(inputs.paths[:1], threads=local.N_WORKERS).images == 1


def test_ray_cancels_only_tasks_that_have_not_ended(engine, tmp_path, monkeypatch):
    """Ray can abort the driver otherwise. The first task fails; the second one reads a pipe that has no writer yet."""
    if not hasattr(engine, "ray"):
        pytest.skip("only Ray has plain tasks")
    image, pipe, cancelled = data.ROOT / "samples/scene.png", tmp_path / "pipe", []
    os.mkfifo(pipe)
    monkeypatch.setattr(engine.ray, "cancel", cancelled.append)
    with pytest.raises(ValueError, match="embedded null byte"):
        engine.module.total(["\0.tar", str(pipe)])  # each is a task: an archive ends a portion
    pipe.write_bytes(image.read_bytes())  # after the failure, so that the second task has not ended before
    (left,) = cancelled
    assert _engines.finish([engine.ray.get(left)]).images == 1


def test_spark_has_a_task_for_each_portion(engine, inputs):
    """By default Spark makes one task for each core of a small table."""
    if not hasattr(engine, "session"):
        pytest.skip("only Spark makes tables of paths")
    key = "spark.sql.execution.arrow.localRelationThreshold"
    before = engine.session.conf.get(key)
    frame = engine.module.count(inputs.paths + inputs.tars)
    portions = list(_engines.slices(inputs.paths + inputs.tars, local.N_WORKERS, is_costly=True))
    assert frame.rdd.getNumPartitions() == len(portions) > 8
    assert engine.session.conf.get(key) == before != "0"


def test_a_damaged_archive_is_a_failure(engine, inputs, tmp_path):
    """Its members before the damage are counted."""
    whole = open(inputs.tars[0], "rb").read()
    (tmp_path / "cut.tar").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "none.tar").write_bytes(b"no archive" * 100)
    paths = [str(tmp_path / "cut.tar"), str(tmp_path / "none.tar"), inputs.tars[1]]
    total = engine.module.total(inputs_of(engine, paths))
    alone = engine.module.total(inputs_of(engine, paths[2:]))
    assert total.images > alone.images > 0
    assert total.failed >= alone.failed + 2


MANY_TASKS = """
import psutil, sys
from imghist import _engines
for i in range(60):
    _engines.total_bytes(sys.argv[1:], 1, {})
    if i in (9, 59):
        print(psutil.Process().memory_info().rss)
"""


def test_memory_of_a_worker_is_flat(inputs):
    """A leak of a result for each image would be 75 MiB: 50 tasks of 150 images with 10 KiB each."""
    command = [sys.executable, "-c", MANY_TASKS, *inputs.paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, last = map(int, done.stdout.split())
    assert last - first < 8 << 20


@pytest.mark.parametrize("n, n_workers", [(0, 2), (31, 2), (2000, 2), (20000, 2), (20000, 64), (100, 0.5)])
def test_portions_of_tasks(n, n_workers):
    """Every worker has two at least and ends with a small one, and none has more than 1,024 paths."""
    paths = [pathlib.Path(f"/photos/{i}.jpg") for i in range(n)]
    portions = list(_engines.slices(paths, n_workers))
    sizes = [len(portion) for portion in portions]
    assert [path for portion in portions for path in portion] == [str(path) for path in paths]
    assert all(0 < size <= 1024 for size in sizes) and all(size >= 32 for size in sizes[:-1])
    assert n < 64 * n_workers or len(sizes) > 2 * n_workers
    assert sizes == sorted(sizes, reverse=True) and sizes[-1:] <= [32]


@pytest.mark.parametrize("n, n_workers", [(0, 2), (31, 2), (20000, 2), (20000, 64), (10**6, 64)])
def test_portions_of_costly_tasks(n, n_workers):
    """At most 8 for a worker, or of 4,096 paths; the last ones are a 16th of what a worker counts, or 32 paths."""
    paths = [f"/photos/{i}.jpg" for i in range(n)]
    portions = list(_engines.slices(paths, n_workers, is_costly=True))
    sizes = [len(portion) for portion in portions]
    assert [path for portion in portions for path in portion] == paths
    assert all(0 < size <= 4096 for size in sizes)
    assert len(sizes) <= n_workers * (8 + n // n_workers // 4096)
    assert sizes == sorted(sizes, reverse=True) and sizes[-1:] <= [max(32, n // n_workers // 16)]


def test_each_archive_is_one_task():
    paths = ["a.png", "b.tar", "c.tar.gz", "d.png", "e.png"]
    assert list(_engines.slices(paths, 2)) == [paths[:2], paths[2:3], paths[3:]]


def test_memory_is_freed_by_the_task():
    """The number of contexts in a process does not grow with its tasks."""
    path = str(data.ROOT / "samples/palette.png")
    _engines._context.cache_clear()
    for _ in range(3):
        assert len(list(_engines.results([path], 1, {"clip": (1, 254)}))) == 1
    assert _engines._context.cache_info().misses == 1
    assert _engines._context.cache_info().hits == 2


def test_a_task_has_one_thread():
    path, n_before = str(data.ROOT / "samples/scene.jpg"), len(os.listdir("/proc/self/task"))
    pairs = [("a", pathlib.Path(path).read_bytes())] * 3
    for _ in _engines.results(pairs, 1, {}):
        assert len(os.listdir("/proc/self/task")) <= n_before + 1
    for _ in _engines.results([path] * 3, 1, {}):
        assert len(os.listdir("/proc/self/task")) <= n_before + 2  # scan walks on a thread of its own


@pytest.mark.skipif(not shutil.which("java"), reason="Spark needs Java: run third_party/install.sh engines")
def test_spark_bounds_the_bytes_of_a_batch():
    """300 rows of 1 MiB come in batches of at most 64 MiB; by default all would be one batch."""
    spark = local.Spark()
    spark.open()
    frame = spark.session.range(0, 300, 1, 1).selectExpr("cast(id as string) path", "repeat('x', 1048576) bytes")

    def sizes(batches):
        for batch in batches:
            yield pyarrow.RecordBatch.from_pydict({"n": [batch.num_rows], "bytes": [batch.nbytes]})

    imghist_spark = spark.module
    imghist_spark.count(frame, image="bytes")
    rows = frame.mapInArrow(sizes, "n long, bytes long").collect()
    assert sum(row.n for row in rows) == 300
    assert max(row.bytes for row in rows) <= 66 << 20
    spark.close()


def test_dask_bounds_the_bytes_of_a_batch(tmp_path, monkeypatch):
    import imghist.dask
    table = pyarrow.table({"path": [str(i) for i in range(64)], "bytes": [bytes(1 << 20)] * 64})
    pyarrow.parquet.write_table(table, tmp_path / "photos.parquet", compression="none", use_dictionary=False)
    sizes, items = [], _engines.items
    monkeypatch.setattr(_engines, "BATCH_BYTES", 8 << 20)
    monkeypatch.setattr(_engines, "items", lambda batch, *columns: sizes.append(batch.nbytes) or items(batch, *columns))
    (part,) = imghist.dask._row_groups([tmp_path / "photos.parquet"])
    assert [name for name, _ in imghist.dask._items(part, "path", "bytes")] == table.column("path").to_pylist()
    assert len(sizes) >= 8 and max(sizes) < 9 << 20


def test_dask_keeps_records_of_two_runs_apart(tmp_path):
    dask, parquet = pytest.importorskip("imghist.dask"), pytest.importorskip("pyarrow.parquet")
    path = str(data.ROOT / "samples/scene.png")
    many, few = dask.count([path] * 80), dask.count([path])
    assert many.npartitions > few.npartitions
    dask.to_parquet(many, tmp_path)
    for other in (few, many):  # a run with as many partitions may have other images
        with pytest.raises(FileExistsError, match="has files of another run, such as part-"):
            dask.to_parquet(other, tmp_path)
    assert imghist.total(imghist.read_table(parquet.read_table(tmp_path))).images == 80


def test_records_come_in_small_batches(inputs):
    batches = list(_engines.tables(inputs.paths, 1, {}))
    assert sum(batch.num_rows for batch in batches) > 450
    assert max(batch.nbytes for batch in batches) < 2 << 20
    assert max(len(set(batch.column("file").to_pylist())) for batch in batches) <= _engines.BATCH_IMAGES


def test_missing_engine_names_the_extra(tmp_path):
    """Importing a module without its engine fails with the name of the package, not later."""
    code = "import sys; sys.modules['ray'] = None; import imghist.ray"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "ray" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("kind", [str, os.fsencode, pathlib.Path, lambda p: f"file://{p}"])
def test_one_path_is_one_path(engine, inputs, kind):
    """A str is an iterable of letters, and its "/" would be the whole disk."""
    path = data.ROOT / "samples/scene.jpg"
    for images in (kind(path), [kind(path)]):
        total = engine.module.total(images)
        assert (total.images, total.failed) == (1, 0)
