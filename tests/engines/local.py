"""Ray, Spark and Dask with two workers on this machine, each behind the same four calls.

    open()               starts the engine
    images(inputs, form) the images, and the arguments of count and total
    read(folder)         a dataset of records from Parquet
    workers()            the processes that run tasks
"""

import os
import pathlib
import sys
import tempfile

import psutil
from data import comparable

MODULES = {"ray": "imghist.ray", "spark": "imghist.spark", "dask": "imghist.dask"}
N_WORKERS = 2


def _below(*words):
    """The processes below this one whose command line has all the words."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if all(word in line for word in words):
            found.append(process)
    return found


class Ray:
    forms = ("paths", "tars", "parquet", "webdataset")

    def open(self):
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        import imghist.ray
        import ray

        self.module, self.ray = imghist.ray, ray
        self.folder = tempfile.TemporaryDirectory(prefix="ray")
        ray.init(num_cpus=N_WORKERS, include_dashboard=False, object_store_memory=256 << 20,
                 _temp_dir=self.folder.name, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False

    def close(self):
        self.ray.shutdown()
        self.folder.cleanup()

    def images(self, inputs, form):
        if form == "webdataset":
            return self.ray.data.read_webdataset(inputs.tars, decoder=None, include_paths=True), {}
        if form == "parquet":
            return self.ray.data.read_parquet(str(inputs.parquet)), {"image": "bytes"}
        return getattr(inputs, form), {}

    def save(self, records, folder):
        records.write_parquet(str(folder))

    def read(self, folder):
        return self.ray.data.read_parquet(str(folder))

    def workers(self):
        return _below("ray::MapBatches(_") + _below("ray::total_bytes")


class Spark:
    forms = ("paths", "tars", "parquet", "binaryFile")

    def open(self):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        import imghist.spark
        from pyspark.sql import SparkSession

        self.module = imghist.spark
        # A task may fail twice: local mode gives up at the first failure otherwise.
        self.session = (
            SparkSession.builder.master(f"local[{N_WORKERS},3]").config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "1g").config("spark.sql.files.maxPartitionBytes", "64k")
            .config("spark.sql.files.openCostInBytes", "1k").getOrCreate()
        )
        self.session.sparkContext.setLogLevel("OFF")

    def close(self):
        self.session.stop()

    def images(self, inputs, form):
        if form == "binaryFile":
            reader = self.session.read.format("binaryFile").option("recursiveFileLookup", "true")
            return reader.load(str(inputs.loose)), {}
        if form == "parquet":
            return self.session.read.parquet(str(inputs.parquet)), {"image": "bytes"}
        return getattr(inputs, form), {}

    def save(self, records, folder):
        records.write.parquet(str(folder))

    def read(self, folder):
        return self.session.read.parquet(str(folder))

    def workers(self):
        daemons = {process.pid for process in _below("pyspark.daemon")}
        return [process for process in _below("pyspark.daemon") if process.ppid() in daemons]


class Dask:
    forms = ("paths", "tars", "parquet")

    def open(self):
        import dask
        import dask.distributed
        import imghist.dask

        self.module = imghist.dask
        self.folder = tempfile.TemporaryDirectory()
        # By default a job whose last worker has died waits for ever.
        dask.config.set({"temporary-directory": self.folder.name, "distributed.scheduler.no-workers-timeout": "30s"})
        self.client = dask.distributed.Client(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=None)

    def close(self):
        self.client.close()
        self.client.cluster.close()
        self.folder.cleanup()

    def images(self, inputs, form):
        if form == "parquet":
            return sorted(inputs.parquet.glob("*")), {"image": "bytes"}
        return getattr(inputs, form), {}

    def save(self, records, folder):
        self.module.to_parquet(records, folder)

    def read(self, folder):
        import dask.bag
        import pyarrow.parquet

        return dask.bag.from_sequence(sorted(folder.glob("*.parquet"))).map(pyarrow.parquet.read_table)

    def workers(self):
        return _below("spawn_main")


ENGINES = {"ray": Ray, "spark": Spark, "dask": Dask}


def read_records(folder):
    """The lines of the records in Parquet files, sorted."""
    import pyarrow.parquet

    import imghist

    lines = []
    for path in sorted(pathlib.Path(folder).glob("*.parquet")):
        lines.extend(imghist.ndjson(imghist.read_table(pyarrow.parquet.ParquetFile(path).read())))
    return comparable(lines)
