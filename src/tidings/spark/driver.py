"""The driver's part of a batch: write down the plan, run the job, commit; and what to do when it fails.

    plan     the batch is durable before it runs, so that whoever comes after a crash runs just the same
    job      one Spark job: chunks meet the shards' handles, every shard answers
    commit   all answers and the position, in one step

A job that fails runs again, a bounded number of times; tasks see to it that this changes nothing. When the matcher
itself goes on failing, its events are suspected: the batch is halved until one event is left, and that one is set
aside with its error. Everything else (a full disk, a damaged log, an epoch that is over) ends the pipeline with that
error; nothing is lost, and it can be started again.
"""

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from tidings.log.deliveries import Batch, Deliveries, SnapshotParts
from tidings.model.errors import LimitError, Problem
from tidings.spark.exchange import cleared
from tidings.spark.failures import PipelineError, blames_events, is_stale, reason_of
from tidings.spark.feeds import Feed
from tidings.spark.metrics import BatchReport, Metrics
from tidings.spark.placing import keys_of
from tidings.spark.settings import PipelineSettings
from tidings.spark.shard_task import step_of
from tidings.spark.snapshot_policy import SnapshotPolicy
from tidings.spark.work import ANSWER_SCHEMA, ShardAnswer, Spread, Work, unpacked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAUSE_S: Final = 0.2
"""Before a batch is tried again; twice as long each time."""


class JobFailed(Exception):  # noqa: N818
    """A batch went on failing."""

    def __init__(self, batch: Batch, error: BaseException) -> None:
        super().__init__(reason_of(error))
        self.batch = batch
        self.error = error


class Driver:
    """Runs and commits batches, one after the other."""

    def __init__(
        self,
        spark: "SparkSession",
        feed: Feed,
        spread: Spread,
        settings: PipelineSettings,
        deliveries: Deliveries,
        *,
        epoch: int,
        metrics: Metrics,
        on_commit: Callable[[BatchReport], None] = lambda report: None,
        on_snapshot: Callable[[SnapshotParts], None] = lambda snapshot: None,
    ) -> None:
        self._spark: Final = spark
        self._feed: Final = feed
        self._spread: Final = spread
        self._settings: Final = settings
        self._deliveries: Final = deliveries
        self._epoch: Final = epoch
        self.session = uuid.uuid4().hex
        """Names the state of shards that this driver trusts."""
        self._metrics: Final = metrics
        self._on_commit: Final = on_commit
        self._on_snapshot: Final = on_snapshot
        self._aside = tuple(sorted(event.position for event in deliveries.aside()))
        cleared(settings.exchange)
        self._snapshot = deliveries.snapshot()
        self.done = deliveries.done()
        self._policy: Final = SnapshotPolicy(
            self._snapshot.position if self._snapshot else 0,
            events=settings.snapshot_events,
            seconds=settings.snapshot_s,
            share=settings.snapshot_share,
        )
        # One row per shard, partitioned as the chunks will be: where its cached partition lies, the shard's task runs.
        keys = ", ".join(map(str, keys_of(spread.shards)))
        self._placed: Final = f"element_at(array({keys}), shard + 1)"
        handles = spark.range(0, spread.shards, 1, spread.shards).selectExpr("cast(id as int) as shard")
        handles = handles.selectExpr("shard", f"{self._placed} as place")
        self._handles: Final = handles.repartition(spread.shards, "place").cache()
        self._handles.count()

    @property
    def aside(self) -> tuple[int, ...]:
        """The positions that nobody applies."""
        return self._aside

    def run(self, batch: Batch, rows: "DataFrame | None" = None) -> None:
        """Run a batch until it is done. A part of it that is done already is not run again."""
        if batch.end <= self.done:
            return
        try:
            self._run(batch, rows)
        except JobFailed as failed:
            if not blames_events(failed.error):
                raise failed.error from None
            self._run_suspected(batch)

    def _run_suspected(self, batch: Batch) -> None:
        """One of these events is to blame: halve, and set aside what is left."""
        suspected = [batch]
        while suspected:
            part = suspected.pop()
            try:
                self._run(part, None)
            except JobFailed as failed:
                if not blames_events(failed.error):
                    raise failed.error from None
                if part.end - part.first > 1:
                    first, second = self._feed.halves(part)
                    suspected += [second, first]
                else:
                    self._set_aside(part, failed)
                    suspected.append(msgspec.structs.replace(part, skipped=(part.first,)))

    def _set_aside(self, batch: Batch, failed: JobFailed) -> None:
        position = batch.first
        hint = "`tidings pipeline redrive` gives it to the log again once the cause is gone"
        problem = Problem("poison", "$", str(failed), "an event that the matcher can take", hint, line=position)
        self._deliveries.set_aside(
            self._epoch, position, self._feed.event(position, batch), problem, self._settings.tries
        )
        self._aside = tuple(sorted({*self._aside, position}))
        # A task that was given up may still be at work, or a shard lie on another machine too: stepped over the whole
        # batch, with this event, and so at a position where a later batch begins. No such file is trusted any more.
        self.session = uuid.uuid4().hex
        self._metrics.set_aside += 1

    def _run(self, batch: Batch, rows: "DataFrame | None") -> None:
        start = time.monotonic()
        if self._aside:
            batch = msgspec.structs.replace(
                batch, skipped=tuple(position for position in self._aside if batch.first <= position < batch.end)
            )
        self._deliveries.plan(self._epoch, batch)
        takes_snapshot = self._policy.due(batch.end)
        tries = 0
        while True:
            tries += 1
            try:
                answers = self._job(batch, rows if tries == 1 else None, takes_snapshot)
                break
            except Exception as error:
                if is_stale(error) or tries >= self._settings.tries:
                    raise JobFailed(batch, error) from error
                time.sleep(PAUSE_S * 2 ** (tries - 1))
        finished = time.monotonic()
        self._commit(batch, answers, start, finished, tries, takes_snapshot)

    def _job(self, batch: Batch, rows: "DataFrame | None", takes_snapshot: bool) -> list[ShardAnswer]:
        feed, settings = self._feed, self._settings
        work = Work(
            origin=feed.origin,
            spread=self._spread,
            state=settings.state_folder,
            local=settings.local,
            session=self.session,
            epoch=self._epoch,
            batch=batch,
            snapshot=self._snapshot,
            takes_snapshot=takes_snapshot,
            aside=self._aside,
        )
        chunks = feed.chunks(self._spark, batch, self._aside, rows)
        placed = chunks.selectExpr("*", f"{self._placed} as place")
        answered = (
            self._handles.groupBy("place").cogroup(placed.groupBy("place")).applyInArrow(step_of(work), ANSWER_SCHEMA)
        )
        answers = [unpacked(answer.as_buffer(), ShardAnswer) for answer in answered.toArrow()["answer"]]
        answers.sort(key=lambda answer: answer.answer.shard)
        told = [answer.answer.shard for answer in answers]
        if told != list(range(self._spread.shards)):
            # Spark said the job was done, so this is a fault of ours and no reason to try again.
            raise PipelineError(
                Problem("job-failed", settings.state_folder, f"answers of shards {told}", "one of each")
            )
        return answers

    def _commit(
        self, batch: Batch, answers: list[ShardAnswer], start: float, finished: float, tries: int, takes_snapshot: bool
    ) -> None:
        snapshot = None
        if takes_snapshot:
            parts = tuple(answer.part for answer in answers if answer.part is not None)
            snapshot = SnapshotParts(batch.end, self._spread.plan, self._spread.shards, parts)
        refused = {event.position: event for answer in answers for event in answer.refused}
        for position, event in sorted(refused.items()):
            # When too many are kept already, the topic still has them, and the metrics count them.
            with suppress(LimitError):
                line = self._feed.event(position, batch)
                self._deliveries.set_aside(self._epoch, position, line, event.problem, 0)
        self._deliveries.commit(self._epoch, batch, [answer.answer for answer in answers], snapshot)
        self.done = batch.end
        self._feed.committed(batch)
        cleared(self._settings.exchange)
        end = time.monotonic()
        snapshot_s = max((answer.timing.snapshot_us for answer in answers), default=0) / 1e6
        if snapshot is not None:
            self._snapshot = snapshot
            self._policy.taken(batch.end, snapshot_s)
            self._on_snapshot(snapshot)
        report = BatchReport(
            first=batch.first,
            end=batch.end,
            deltas=sum(answer.answer.n_deltas for answer in answers),
            seconds=end - start,
            job_s=finished - start,
            commit_s=end - finished,
            tries=tries,
            shard_events=tuple(answer.n_events for answer in answers),
            shard_deltas=tuple(answer.answer.n_deltas for answer in answers),
            shard_timings=tuple(answer.timing for answer in answers),
            shard_subscriptions=tuple(answer.n_subscriptions for answer in answers),
            rebuilt=tuple(f"{answer.answer.shard}: {answer.rebuilt}" for answer in answers if answer.rebuilt),
            snapshot=snapshot is not None,
            snapshot_s=snapshot_s,
            refused=len(refused),
        )
        self._metrics.committed(report)
        self._on_commit(report)
