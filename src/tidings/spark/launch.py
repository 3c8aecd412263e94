"""From what a user says to a pipeline that can run: the configuration of its events, its feed, where state goes."""

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from tidings.log.deliveries import Batch, Deliveries, SnapshotParts
from tidings.log.store import EventLog
from tidings.model.errors import FileError, InputError, Problem
from tidings.model.events import Configure
from tidings.spark.feeds import Feed, LogFeed
from tidings.spark.metrics import BatchReport, Metrics
from tidings.spark.pipeline import Pipeline
from tidings.spark.settings import PipelineSettings
from tidings.spark.shard_files import snapshots_uri
from tidings.spark.snapshots import SnapshotStore
from tidings.spark.work import Origin, Spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL: Final = re.compile(r"local(?:\[(\*|\d+)(?:,\s*(\d+))?\])?")
TASK_TRIES: Final = 3
EMPTY_LOG_POLL_S: Final = 0.1


def cores_of(master: str) -> int:
    """How many tasks run at once, as far as the master's name says it."""
    match = _LOCAL.fullmatch(master)
    if match:
        number = match.group(1)
        return (os.cpu_count() or 1) if number == "*" else int(number or 1)
    match = re.fullmatch(r"local-cluster\[(\d+),\s*(\d+),\s*\d+\]", master)
    return int(match.group(1)) * int(match.group(2)) if match else 2


def patient(master: str) -> str:
    """The same master, where a local one tries a task again as a cluster would; by itself it tries once."""
    match = _LOCAL.fullmatch(master)
    if match is None or match.group(2) is not None:
        return master
    return f"local[{match.group(1) or 1},{TASK_TRIES}]"


def settled(settings: PipelineSettings, master: str) -> PipelineSettings:
    """The settings with what follows from the master: on a cluster, files that all machines reach and no SQLite."""
    settings = replace(settings.checked(), state=settings.state_folder)
    if "://" not in settings.state:
        # Executors have working directories of their own.
        settings = replace(settings, state=str(Path(settings.state).absolute()))
    if settings.local is not None:
        settings = replace(settings, local=str(Path(settings.local).absolute()))
    if _LOCAL.fullmatch(master) is None:
        return replace(settings, store="segments" if settings.store == "sqlite" else settings.store)
    if settings.local is None and "://" not in settings.state:
        settings = replace(settings, local=str(Path(settings.state, "shards")))
    if settings.local is not None:
        settings = replace(settings, exchange=str(Path(settings.local, "exchange").resolve()))
    return settings


def wait_for_first_event(
    configuration_of: Callable[[], Configure | None], is_over: Callable[[], bool]
) -> Configure | None:
    """The configuration of a log, which its first event settles."""
    while (configuration := configuration_of()) is None:
        if is_over():
            return None
        time.sleep(EMPTY_LOG_POLL_S)
    return configuration


class LogPipeline:
    """A pipeline over an embedded log, which is told what the pipeline may still need."""

    def __init__(
        self,
        spark: "SparkSession",
        settings: PipelineSettings,
        configuration: Configure,
        *,
        cores: int,
        stop: int | None = None,
        metrics: Metrics | None = None,
        on_commit: Callable[[BatchReport], None] = lambda report: None,
    ) -> None:
        self._log: Final = EventLog.open(Path(settings.log))
        self._consumer: Final = f"pipeline {Path(settings.state_folder).resolve()}"
        self._snapshots: Final = SnapshotStore(snapshots_uri(settings.state_folder))
        spread = Spread(settings.plan, settings.shards, settings.methods, settings.exchange)
        origin = Origin(str(Path(settings.log).resolve()), configuration)

        def feed(deliveries: Deliveries) -> Feed:
            if deliveries.done() > self._log.end:
                hint = "the log has lost events, or is another one than these deliveries were made from"
                found, expected = f"{self._log.end} events", f"at least {deliveries.done()}"
                raise InputError(Problem("log-behind", settings.log, found, expected, hint))
            return LogFeed(origin, spread, settings, cores, stop)

        self.pipeline: Final = Pipeline(
            spark, feed, settings, metrics=metrics, on_commit=on_commit, on_snapshot=self._snapshot_taken
        )
        snapshot = self.pipeline.deliveries.snapshot()
        self._log.need(self._consumer, snapshot.position if snapshot else 0)
        with suppress(FileError):  # one that is lost is told by whoever needs it
            self._snapshots.remove_unnamed(snapshot.parts if snapshot else (), self.pipeline.epoch)

    def end(self) -> int:
        """The end that the log has now."""
        return self._log.end

    def _snapshot_taken(self, snapshot: SnapshotParts) -> None:
        """The log may forget what lies before it, and so may the folder of snapshots."""
        self._log.need(self._consumer, snapshot.position)
        self._snapshots.remove_unnamed(snapshot.parts, self.pipeline.epoch)

    def close(self) -> None:
        """End in order."""
        try:
            self.pipeline.close()
        finally:
            self._log.close()


class TopicPipeline:
    """A pipeline over a topic of Kafka, whose retention is the broker's matter."""

    def __init__(
        self,
        spark: "SparkSession",
        settings: PipelineSettings,
        configuration: Configure,
        *,
        metrics: Metrics | None = None,
        on_commit: Callable[[BatchReport], None] = lambda report: None,
    ) -> None:
        from tidings.spark.kafka_feed import KafkaFeed

        self._snapshots: Final = SnapshotStore(snapshots_uri(settings.state_folder))
        spread = Spread(settings.plan, settings.shards, settings.methods, settings.exchange)
        origin = Origin(settings.log, configuration)

        def feed(deliveries: Deliveries) -> Feed:
            self._feed = KafkaFeed(origin, spread, settings, _last(deliveries))
            return self._feed

        self.pipeline: Final = Pipeline(
            spark, feed, settings, metrics=metrics, on_commit=on_commit, on_snapshot=self._snapshot_taken
        )
        snapshot = self.pipeline.deliveries.snapshot()
        with suppress(FileError):  # one that is lost is told by whoever needs it
            self._snapshots.remove_unnamed(snapshot.parts if snapshot else (), self.pipeline.epoch)

    def end(self) -> int:
        """The end that the topic has now, as a position."""
        return self.pipeline.deliveries.done() + self._feed.waiting()

    def _snapshot_taken(self, snapshot: SnapshotParts) -> None:
        self._snapshots.remove_unnamed(snapshot.parts, self.pipeline.epoch)

    def close(self) -> None:
        """End in order."""
        self.pipeline.close()


def _last(deliveries: Deliveries) -> Batch | None:
    """The last batch that was committed: it says which offsets are taken."""
    return next(iter(deliveries.batches(max(deliveries.done() - 1, 0))), None)
