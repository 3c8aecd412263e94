"""The pipeline: a streaming query whose batches the driver runs and commits.

Spark's checkpoint is a scratch folder of one run. Where to go on is known by the deliveries alone: the query starts
there, and a batch that was planned but not committed is run first, just as it was planned. So whatever Spark forgets,
or remembers wrongly, changes nothing.
"""

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidings.log.deliveries import Deliveries, SnapshotParts, open_deliveries
from tidings.model.errors import FileError, Problem, StaleEpochError, TidingsError
from tidings.spark.driver import Driver
from tidings.spark.failures import PipelineError, is_stale, reason_of
from tidings.spark.feeds import Feed
from tidings.spark.listening import PipelineListener
from tidings.spark.metrics import BatchReport, Metrics
from tidings.spark.settings import PipelineSettings
from tidings.spark.shard_files import origin_name
from tidings.spark.shard_store import ShardStore
from tidings.spark.work import Spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

POLL_S: Final = 0.02
RESTARTS: Final = 5
"""So often in a row the query is started again without a batch in between."""


class Pipeline:
    """Reads events, matches them in shards, delivers: until it is stopped, or up to a position."""

    def __init__(
        self,
        spark: "SparkSession",
        feed_of: Callable[[Deliveries], Feed],
        settings: PipelineSettings,
        *,
        metrics: Metrics | None = None,
        on_commit: Callable[[BatchReport], None] = lambda report: None,
        on_snapshot: Callable[[SnapshotParts], None] = lambda snapshot: None,
    ) -> None:
        self._spark: Final = spark
        self._settings: Final = settings.checked()
        self.metrics: Final = metrics or Metrics()
        self.deliveries: Final[Deliveries] = open_deliveries(settings.state_folder, store=settings.store, create=True)
        self._stopping: Final = threading.Event()
        self._failure: BaseException | None = None
        self._closing = False
        self._busy: Final = threading.Lock()
        spread = Spread(settings.plan, settings.shards, settings.methods, settings.exchange)
        self._spread: Final = spread
        self._check_snapshot()
        epoch = self.deliveries.claim()
        self.metrics.epoch = epoch
        self.metrics.position = self.deliveries.done()
        self._feed: Final = feed_of(self.deliveries)
        self.epoch: Final = epoch
        if epoch == 1 and settings.local is not None:
            # The state is new: files of shards that are here are of one that is gone, and their epochs mean nothing.
            ShardStore(Path(settings.local), "").discard_from(0, origin_name(self._feed.origin, settings.state_folder))
        self.driver: Final = Driver(
            spark,
            self._feed,
            spread,
            settings,
            self.deliveries,
            epoch=epoch,
            metrics=self.metrics,
            on_commit=on_commit,
            on_snapshot=on_snapshot,
        )

    def _check_snapshot(self) -> None:
        """State of another spread cannot be gone on with; it can be made anew from the whole log."""
        snapshot, spread = self.deliveries.snapshot(), self._spread
        if snapshot is None or (snapshot.plan, snapshot.shards) == (spread.plan, spread.shards):
            return
        raise FileError(
            Problem(
                "state-spread",
                self._settings.state_folder,
                f"state of --plan {snapshot.plan} --shards {snapshot.shards}",
                f"state of --plan {spread.plan} --shards {spread.shards}",
                "go on with the plan and the shards that it has, or begin with another --state",
            )
        )

    def run(self, *, until: int | None = None, seconds: float | None = None) -> None:
        """Run until `stop`, until all before a position is done, or for so many seconds."""
        listener = PipelineListener(self.metrics)
        self._spark.streams.addListener(listener)
        deadline = None if seconds is None else time.monotonic() + seconds
        restarts, position = 0, self.driver.done
        try:
            while True:
                self._attempt(self._finish_pending)
                if self._failure is None and self._is_over(until, deadline):
                    return
                if self._failure is None:
                    self._attempt(lambda: self._run_query(until, deadline))
                if self._failure is None:
                    continue
                restarts = restarts + 1 if self.driver.done == position else 1
                position = self.driver.done
                failure, self._failure = self._failure, None
                if not self._may_go_on(failure) or restarts > RESTARTS:
                    raise self._explained(failure)
                self.metrics.restarts += 1
        finally:
            # Where Java is gone, so is the listener.
            with suppress(Exception):
                self._spark.streams.removeListener(listener)

    def stop(self) -> None:
        """Let the batch that is running finish, and begin no other."""
        self._stopping.set()

    def close(self) -> None:
        """Seal the shards' files, so that the next start need not make them anew, and close the deliveries."""
        try:
            # A file without its seal is made anew by the next start, and an error that is on its way says more.
            with suppress(TidingsError):
                if self._settings.local is not None:
                    ShardStore(Path(self._settings.local), self.driver.session).seal_all()
        finally:
            self.deliveries.close()

    def _is_over(self, until: int | None, deadline: float | None) -> bool:
        return (
            self._stopping.is_set()
            or (until is not None and self.driver.done >= until)
            or (deadline is not None and time.monotonic() >= deadline)
        )

    def _attempt(self, action: Callable[[], None]) -> None:
        """What goes wrong outside of the query's batches is a failure like any other; the first one tells most."""
        try:
            action()
        except Exception as failure:
            self._failure = self._failure or failure

    def _finish_pending(self) -> None:
        """Run what was planned and not committed, just as it was planned."""
        pending = self.deliveries.pending()
        if pending is not None:
            self.driver.run(pending)

    def _run_query(self, until: int | None, deadline: float | None) -> None:
        """One run of the query: until it is over or fails."""
        checkpoint = tempfile.mkdtemp(prefix="tidings-checkpoint-")
        rows = self._feed.stream(self._spark, self.driver.done, self.driver.aside)

        def each(chunks: "DataFrame", number: int) -> None:
            with self._busy:
                if not self._closing and not self._is_over(until, deadline):
                    self._run_batch(chunks, Path(checkpoint, "offsets", str(number)))

        query = rows.writeStream.foreachBatch(each).option("checkpointLocation", checkpoint).start()
        try:
            while query.isActive and self._failure is None and not self._is_over(until, deadline):
                self._stopping.wait(POLL_S)
            with self._busy:
                # No batch of ours runs now, and none will. Spark may be calling `each` this moment, and stopping waits
                # for that, so the lock has to be free by then.
                self._closing = True
            if self._failure is None and not self._is_over(until, deadline):
                self._failure = query.exception() or RuntimeError("the query has ended")
            _stop(query)
        finally:
            self._closing = False
            shutil.rmtree(checkpoint, ignore_errors=True)

    def _run_batch(self, chunks: "DataFrame", offsets: Path) -> None:
        try:
            # Version, metadata, and one line per source: what Spark itself wrote down before it began the batch.
            offset = offsets.read_text().splitlines()[2]
            self.driver.run(self._feed.batch(self.driver.done, offset), chunks)
        except BaseException as failure:
            # Told to whoever runs the pipeline; to Spark the batch has failed.
            self._failure = failure
            raise

    def _may_go_on(self, failure: BaseException) -> bool:
        """Whether starting the query again may help: not when what is wrong will be just as wrong then."""
        return not isinstance(failure, FileError | StaleEpochError) and not is_stale(failure)

    def _explained(self, failure: BaseException) -> BaseException:
        if isinstance(failure, FileError | StaleEpochError):
            return failure
        if is_stale(failure):
            return _stale(self._settings.state_folder, self.epoch)
        hint = "nothing is lost: what is done stays done, and the pipeline goes on from there when it is started again"
        problem = Problem("job-failed", self._settings.log, reason_of(failure), "a batch that Spark can run", hint)
        return PipelineError(problem).with_traceback(failure.__traceback__)


def _stale(state: str, epoch: int) -> StaleEpochError:
    hint = "another driver has claimed this state since; nothing was changed, and this one has to stop"
    return StaleEpochError(Problem("stale-epoch", state, f"epoch {epoch}", "the newest epoch", hint))


def _stop(query: "StreamingQuery") -> None:
    # A query that failed while it was stopped is stopped.
    with suppress(Exception):
        query.stop()
