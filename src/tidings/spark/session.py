"""A Spark session as a pipeline wants it: small micro-batches cheap, nothing that grows over days, nothing on show.

Whoever has a session already is served by that one; of the settings here only `NEEDED` then matter, and only for speed.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidings.model.errors import InputError, Problem
from tidings.spark.java import find_java, home_for_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT_JOBS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A pipeline gives Java little to compute and much that is new in every batch, so compiling it well costs more than it
brings: a batch of one event took 116 ms instead of 178, one of 50,000 took 399 instead of 487. Not where somebody says
other options of this kind, since one excludes the other.
"""

_LOCAL: Final = re.compile(r"local(-cluster)?(\[.*\])?")
_LOG4J: Final = Path(__file__).with_name("log4j2.properties")

NEEDED: Final = {
    # One task per shard; adaptive execution would join the small ones into one task.
    "spark.sql.adaptive.enabled": "false",
    # A shard's task starts where its cached handle is. By default it starts where most of its input lies, which is
    # another executor at every second batch.
    "spark.shuffle.reduceLocality.enabled": "false",
    # Two tasks of one shard would wait for each other's lock.
    "spark.speculation": "false",
    # Checkpoints through java.io: 190 -> 80..125 ms for a small micro-batch, together with the next one.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.python.unix.domain.socket.enabled": "true",
    # A plan that is new in every batch is cheaper to run as it is than to compile: 158 -> 141 ms. Neither
    # doing without compiled expressions nor Java's serial collector saves anything more.
    "spark.sql.codegen.wholeStage": "false",
    # Workers that live on keep their kernels.
    "spark.python.worker.reuse": "true",
}
"""What makes a pipeline fast and its shards stay where they are."""

LASTING: Final = {
    # What a driver keeps of the past. The defaults keep a thousand jobs, stages and plans.
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "1000",
    "spark.ui.retainedDeadExecutors": "10",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.streaming.ui.retainedQueries": "5",
    "spark.sql.streaming.ui.retainedProgressUpdates": "10",
    # Shuffle files and broadcasts are removed once Java has found that nobody holds them, so it has to look.
    "spark.cleaner.periodicGC.interval": "5min",
}
"""What keeps memory and disk bounded over days."""

QUIET: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
}

ONE_MACHINE: Final = {
    # Nothing of Spark is reached from another machine.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # What never leaves the machine is not worth compressing.
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.broadcast.compress": "false",
    "spark.driver.memory": "2g",
    # Workers are forked from a process that has imported what they need: 353 -> 232 ms of processor time per batch.
    "spark.python.daemon.module": "tidings.spark.daemon",
}
"""For masters that are this machine. On a cluster, files and Python environments are the operator's matter."""


def session(
    master: str = "local[*]",
    *,
    shards: int = 2,
    app_name: str = "tidings",
    conf: Mapping[str, str] | None = None,
) -> "SparkSession":
    """Start Spark, or take the session that this process has; `conf` goes before everything here."""
    builder = _spark_session().builder.master(master).appName(app_name)
    for key, value in settings_of(master, shards, conf or {}).items():
        builder = builder.config(key, value)
    with _environment(master):
        return builder.getOrCreate()


def is_local(master: str) -> bool:
    """Whether all of Spark is on this machine."""
    return _LOCAL.fullmatch(master) is not None


def settings_of(master: str, shards: int, conf: Mapping[str, str]) -> dict[str, str]:
    """All settings of a session."""
    settings = {
        **NEEDED,
        **LASTING,
        **QUIET,
        **(ONE_MACHINE if is_local(master) else {}),
        "spark.sql.shuffle.partitions": str(shards),
        **conf,
    }
    # Options of Java are added to, not replaced: who sets the heap's collector still wants a quiet terminal.
    given = conf.get("spark.driver.extraJavaOptions", "")
    mine = SHORT_JOBS if is_local(master) and "-XX:" not in given else ""
    java = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"
    settings["spark.driver.extraJavaOptions"] = " ".join(option for option in (java, mine, given) if option)
    return settings


@contextmanager
def _environment(master: str) -> Iterator[None]:
    """The variables that Spark reads when it starts, and never again."""
    before = dict(os.environ)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else somebody has started Java already
        os.environ["JAVA_HOME"] = str(home_for_spark(find_java()))
    if is_local(master):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Java looks for an address of this machine before it reads any setting.
        os.environ.setdefault("SPARK_LOCAL_IP", ONE_MACHINE["spark.driver.bindAddress"])
    try:
        yield
    finally:
        for name in ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP"):
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)


def _spark_session() -> "type[SparkSession]":
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        hint = "Run `python -m pip install 'tidings[spark]'`."
        raise InputError(Problem("package-missing", "pyspark", str(error), "PySpark 4.3", hint)) from error
    return SparkSession
