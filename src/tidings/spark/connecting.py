"""What differs between a classic session and one of Spark Connect, which has no context."""

from itertools import chain
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def is_connect(session: SparkSession) -> bool:
    """Whether this is a session of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect.")


def cores_of(session: SparkSession) -> int:
    """How many tasks run at a time."""
    if not is_connect(session):
        return int(session.sparkContext.defaultParallelism)
    # A Connect session does not say; a range has as many partitions when nobody asks for a number.
    return session.range(1 << 16).select(f.spark_partition_id()).distinct().count()


def send_file(session: SparkSession, path: Path) -> None:
    """Give a file to all executors, where `sent_file` finds it by its name."""
    if is_connect(session):
        session.addArtifacts(str(path), file=True)
    else:
        session.sparkContext.addFile(str(path))


def sent_file(name: str) -> Path:
    """Where a file is that was sent to this executor.

    A streaming query of Spark Connect runs in a copy of the session that the file was sent to, and finds the files of
    sessions in folders beside its own.
    """
    root = Path(SparkFiles.getRootDirectory())
    found = root / name
    if not found.exists():
        found = next(chain(root.glob(f"*/{name}"), root.parent.glob(f"*/{name}")), found)
    return found
