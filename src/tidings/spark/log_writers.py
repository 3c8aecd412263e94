"""Appending the rows of DataFrames to a log.

Tasks make lines of their rows and send them to the driver, which appends those of a batch in one step: all of them or
none, in order of partition. A streaming query is a producer by its id, which its checkpoint keeps, and numbers its
submissions by the batch: a batch that Spark runs again, because it died before it wrote down that the batch was done,
is known to the log and not appended twice. A batch query is as good when it is given `producer` and `sequence`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from tidings.log.store import EventLog
from tidings.model.errors import InputError, Problem
from tidings.spark.event_lines import lines_of

_QUERY: Final = "sql.streaming.queryId"
"""The property of a task that says which query it belongs to."""


class Lines(WriterCommitMessage):
    """What a task sends."""

    def __init__(self, partition: int, query: str, lines: list[bytes]) -> None:
        self.partition = partition
        self.query = query
        self.lines = lines


class LogWriter(DataSourceArrowWriter):
    """`frame.write.format("tidings").mode("append").save(log)`."""

    def __init__(self, path: str, producer: str, sequence: str) -> None:
        self._path = path
        self._producer = producer
        if bool(producer) != sequence.isdecimal():
            expected = "both, or neither: a name, and a number that grows by one from one write to the next"
            raise InputError(Problem("option-invalid", "sequence", f"{producer!r}, {sequence!r}", expected))
        self._sequence = int(sequence) if producer else -1

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Lines:
        """Make lines."""
        return _lines(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Append them."""
        lines, _ = _gathered(messages)
        if lines:
            with EventLog.open(Path(self._path), create=True) as log:
                log.append(lines, producer=self._producer, sequence=self._sequence)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing was appended."""


class LogStreamWriter(DataSourceStreamArrowWriter):
    """`frame.writeStream.format("tidings").start(log)`."""

    def __init__(self, path: str) -> None:
        self._path = path

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Lines:
        """Make lines."""
        return _lines(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Append them, unless they are there already."""
        lines, query = _gathered(messages)
        if not lines:
            return
        with EventLog.open(Path(self._path), create=True) as log:
            append_once(log, lines, f"spark:{query}", batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing was appended."""


def append_once(log: EventLog, lines: list[bytes], producer: str, batch: int) -> None:
    """Append the lines of a batch, the first time that it is given."""
    try:
        log.append(lines, producer=producer, sequence=batch)
    except InputError as error:
        if error.code != "producer-sequence":
            raise
        # Batches without rows leave gaps in the numbers. Such a batch is a producer of its own, each time it comes.
        log.append(lines, producer=f"{producer}:{batch}", sequence=0)


def _lines(batches: Iterator[pa.RecordBatch]) -> Lines:
    context = TaskContext.get()
    assert context is not None
    lines = [line for batch in batches for line in lines_of(batch)]
    return Lines(context.partitionId(), context.getLocalProperty(_QUERY) or "", lines)


def _gathered(messages: list[WriterCommitMessage | None]) -> tuple[list[bytes], str]:
    """The lines of all tasks, in order, and the query that they belong to."""
    sent = sorted((message for message in messages if isinstance(message, Lines)), key=lambda one: one.partition)
    return [line for one in sent for line in one.lines], sent[0].query if sent else ""
