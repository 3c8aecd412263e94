"""What a pipeline says of itself: numbers for a live view, and the same as Prometheus text."""

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from tidings.spark.work import Timing

RECENT: Final = 256
"""So many batches are remembered for quantiles."""


class BatchReport(Struct, frozen=True):
    """What one committed batch was."""

    first: int
    end: int
    deltas: int
    seconds: float
    """From its plan to its commit."""
    job_s: float
    commit_s: float
    tries: int
    shard_events: tuple[int, ...] = ()
    shard_deltas: tuple[int, ...] = ()
    shard_timings: tuple[Timing, ...] = ()
    """How long each shard's task worked, and at what."""
    shard_subscriptions: tuple[int, ...] = ()
    rebuilt: tuple[str, ...] = ()
    """Which shards were made anew, and why."""
    snapshot: bool = False
    snapshot_s: float = 0.0
    refused: int = 0

    @property
    def events(self) -> int:
        """Positions that the batch has."""
        return self.end - self.first

    @property
    def shard_us(self) -> tuple[int, ...]:
        """How long each shard's task worked."""
        return tuple(timing.total_us for timing in self.shard_timings)

    @property
    def balance(self) -> float:
        """The work of the busiest shard, over the mean: 1 when all have the same."""
        worked = self.shard_us
        total = sum(worked)
        return max(worked) * len(worked) / total if total else 1.0


class Metrics:
    """Sums and recent values; safe to read from other threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[BatchReport] = deque(maxlen=RECENT)
        self.started = time.time()
        self.epoch = 0
        self.position = 0
        self.log_end = 0
        self.events = 0
        self.deltas = 0
        self.batches = 0
        self.retries = 0
        self.restarts = 0
        self.rebuilds = 0
        self.snapshots = 0
        self.snapshot_position = 0
        self.snapshot_s = 0.0
        self.batch_s = 0.0
        self.set_aside = 0
        self.refused = 0
        self.phases_ms: dict[str, int] = {}
        """Of the last batch: Spark's own phases."""

    def committed(self, report: BatchReport) -> None:
        """A batch is done."""
        with self._lock:
            self._recent.append(report)
            self.position = report.end
            self.log_end = max(self.log_end, report.end)
            self.events += report.events
            self.deltas += report.deltas
            self.batches += 1
            self.retries += report.tries - 1
            self.rebuilds += len(report.rebuilt)
            self.refused += report.refused
            self.batch_s += report.seconds
            if report.snapshot:
                self.snapshots += 1
                self.snapshot_position = report.end
                self.snapshot_s += report.snapshot_s

    @property
    def lag(self) -> int:
        """Events that are in the log and not done."""
        return max(0, self.log_end - self.position)

    def recent(self) -> list[BatchReport]:
        """The last batches, the oldest first."""
        with self._lock:
            return list(self._recent)

    def quantiles_s(self, shares: Iterable[float] = (0.5, 0.99)) -> dict[float, float]:
        """Batch times of the recent batches."""
        times = sorted(report.seconds for report in self.recent())
        return {share: times[min(len(times) - 1, int(share * len(times)))] for share in shares} if times else {}

    def exposition(self) -> str:
        """All of it in Prometheus' text format."""
        lines: list[str] = []

        def tell(name: str, kind: str, what: str, *samples: tuple[str, float]) -> None:
            lines.append(f"# HELP tidings_{name} {what}")
            lines.append(f"# TYPE tidings_{name} {kind}")
            lines.extend(f"tidings_{name}{labels} {value:.12g}" for labels, value in samples)

        recent = self.recent()
        last = recent[-1] if recent else None
        tell("epoch", "gauge", "The epoch of this driver.", ("", self.epoch))
        tell("position", "gauge", "All events before this position are delivered.", ("", self.position))
        tell("log_end", "gauge", "The next position of the log.", ("", self.log_end))
        tell("lag_events", "gauge", "Events in the log that are not delivered.", ("", self.lag))
        tell("events_total", "counter", "Events delivered since the start.", ("", self.events))
        tell("deltas_total", "counter", "Deltas delivered since the start.", ("", self.deltas))
        tell("batches_total", "counter", "Batches committed since the start.", ("", self.batches))
        tell("batch_retries_total", "counter", "Batches run again because a job failed.", ("", self.retries))
        tell("query_restarts_total", "counter", "Times the query was started again.", ("", self.restarts))
        tell("shard_rebuilds_total", "counter", "Shards made anew from a snapshot and the log.", ("", self.rebuilds))
        tell("set_aside_total", "counter", "Events set aside because the matcher failed.", ("", self.set_aside))
        tell("refused_total", "counter", "Events of a topic that could not be applied.", ("", self.refused))
        tell("snapshots_total", "counter", "Snapshots since the start.", ("", self.snapshots))
        tell("snapshot_position", "gauge", "The position of the last snapshot.", ("", self.snapshot_position))
        tell("snapshot_seconds_total", "counter", "Time spent on snapshots.", ("", self.snapshot_s))
        tell(
            "batch_seconds",
            "summary",
            "Time of a batch, from its plan to its commit.",
            *((f'{{quantile="{share}"}}', value) for share, value in self.quantiles_s().items()),
        )
        lines.append(f"tidings_batch_seconds_sum {self.batch_s:.12g}")
        lines.append(f"tidings_batch_seconds_count {self.batches}")
        if last is not None:
            for name, what, values in (
                ("shard_deltas", "Deltas of a shard in the last batch.", last.shard_deltas),
                ("shard_subscriptions", "Subscriptions of a shard.", last.shard_subscriptions),
                ("shard_microseconds", "Work of a shard in the last batch.", last.shard_us),
            ):
                tell(name, "gauge", what, *((f'{{shard="{i}"}}', value) for i, value in enumerate(values)))
            tell("shard_balance", "gauge", "The busiest shard's work over the mean.", ("", last.balance))
        if self.phases_ms:
            tell(
                "spark_phase_milliseconds",
                "gauge",
                "Spark's phases of the last batch.",
                *((f'{{phase="{phase}"}}', value) for phase, value in sorted(self.phases_ms.items())),
            )
        return "\n".join(lines) + "\n"
