"""Events, tasks, disks and drivers that fail; and what a pipeline says of itself."""

import itertools
import re
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from tests.oracle.semantics import deltas_of
from tests.pipeline.pipelines import (
    append_all,
    assert_same,
    exported,
    lively_log,
    pipeline_of,
    run,
    settings_for,
    wanted,
    with_,
)

from tidings.log.deliveries import open_deliveries
from tidings.model.errors import FileError, Problem, StaleEpochError, TidingsError
from tidings.spark.metrics import Metrics
from tidings.spark.settings import DEFAULT_METHODS
from tidings.testing import crashing_index

EVENTS = 600
_SAMPLE = re.compile(r'tidings_\w+(\{\w+="[^"]+"\})? -?[0-9.e+-]+|# (HELP tidings_\w+ \S.*|TYPE tidings_\w+ \w+)')


def matched(log, after: int) -> int:
    """The position of a message that some region has got, so that the index has seen it."""
    within = {event.get("id") for event in log if event.get("kind") == "within"}
    return next(
        delta["position"]
        for delta in deltas_of(log)
        if delta["position"] > after and log[delta["position"]]["op"] == "publish"
        and delta["op"] == "+" and delta["subscription"] in within
    )  # fmt: skip


def methods_with(within: str) -> dict[str, str]:
    return DEFAULT_METHODS | {"within": within}


@pytest.mark.parametrize("kill", [False, True], ids=["raises", "kills"])
def test_poison_is_set_aside_and_everything_else_goes_on(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int, kill: bool
):
    log = lively_log(seed + 10, EVENTS, "within", subscriptions=30)
    poison = matched(log, 250)
    settings = settings_for(
        tmp_path, shards=2, max_events=60, tries=1, methods=methods_with(crashing_index(poison, kill=kill))
    )
    append_all(Path(settings.log), log, random)
    reports = run(spark, settings, EVENTS)
    assert min(report.events for report in reports) == 1, "the batch was halved until one event was left"
    deliveries = open_deliveries(settings.state_folder)
    (aside,) = deliveries.aside()
    deliveries.close()
    assert aside.position == poison
    assert b'"publish"' in aside.event
    assert ("Crash" in aside.problem.found) != kill
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log, [poison]))


def test_the_next_driver_passes_over_what_was_set_aside_too(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int
):
    log = lively_log(seed + 11, EVENTS, "within", subscriptions=30)
    poison = matched(log, 100)
    settings = settings_for(
        tmp_path, shards=2, max_events=30, tries=1, methods=methods_with(crashing_index(poison)), snapshot_events=10**6
    )
    append_all(Path(settings.log), log, random)
    run(spark, settings, poison + 40)
    for path in Path(settings.local or "").glob("*/*.shard"):
        path.unlink()
    # Made anew from the whole log, with the poison in it.
    reports = run(spark, with_(settings, max_events=200), EVENTS)
    assert len(reports[0].rebuilt) == 2
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log, [poison]))


@pytest.mark.parametrize("times", [2, 5])
def test_a_task_that_fails_and_then_does_not(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int, times: int
):
    """Twice is a matter of Spark's own tries, five times one of the driver's."""
    log = lively_log(seed + 12, EVENTS, "within", subscriptions=30)
    position = matched(log, 200)
    index = crashing_index(position, times=times, folder=tmp_path, kill=times == 2)
    settings = settings_for(tmp_path, shards=2, max_events=100, methods=methods_with(index))
    append_all(Path(settings.log), log, random)
    run(spark, settings, EVENTS)
    assert len(list(tmp_path.glob("crash-*"))) == times
    deliveries = open_deliveries(settings.state_folder)
    assert not deliveries.aside()
    deliveries.close()
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


@pytest.mark.parametrize("store", ["sqlite", "segments"])
def test_a_driver_that_was_replaced_changes_nothing(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int, store: str
):
    log = lively_log(seed + 13, EVENTS, "mixed", subscriptions=30)
    settings = settings_for(tmp_path, shards=2, max_events=100, snapshot_events=100, store=store)
    append_all(Path(settings.log), log, random)
    with pipeline_of(spark, settings) as old:
        old.pipeline.run(until=200)
        with pipeline_of(spark, settings) as new:
            new.pipeline.run(until=300)
            before = open_deliveries(settings.state_folder).stat()
            with pytest.raises(StaleEpochError):
                old.pipeline.run(until=EVENTS)
            # Not even its plan, and its tasks are refused where a newer one has been.
            old_plan = with_(before, pending=None)
            assert with_(open_deliveries(settings.state_folder).stat(), pending=None) == old_plan
            new.pipeline.run(until=EVENTS)
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


def test_tasks_of_a_driver_that_was_replaced_are_refused(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int, monkeypatch: pytest.MonkeyPatch
):
    """The driver has planned, sleeps, and its job runs after another driver has been at the shards."""
    log = lively_log(seed + 14, EVENTS, "mixed", subscriptions=30)
    settings = settings_for(tmp_path, shards=2, max_events=100)
    append_all(Path(settings.log), log, random)
    with pipeline_of(spark, settings) as old:
        old.pipeline.run(until=100)
        plan = old.pipeline.deliveries.plan

        def planned_and_slept(epoch, batch) -> None:
            plan(epoch, batch)
            run(spark, settings, 300)

        monkeypatch.setattr(old.pipeline.deliveries, "plan", planned_and_slept)
        with pytest.raises(StaleEpochError, match="stale-epoch"):
            old.pipeline.run(until=EVENTS)
    run(spark, settings, EVENTS)
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


@pytest.mark.parametrize("what", ["plan", "commit"])
def test_a_full_disk_ends_the_pipeline_and_the_next_one_goes_on(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int, what: str
):
    log = lively_log(seed + 15, EVENTS, "mixed", subscriptions=30)
    settings = settings_for(tmp_path, shards=2, max_events=100)
    append_all(Path(settings.log), log, random)
    with pipeline_of(spark, settings) as made:
        made.pipeline.run(until=200)

        def full(*arguments) -> None:
            raise FileError(Problem("disk-full", settings.state, "no space left", "room to write"))

        setattr(made.pipeline.deliveries, what, full)
        with pytest.raises(FileError, match="disk-full"):
            made.pipeline.run(until=EVENTS)
        assert made.pipeline.driver.done == 200
    reports = run(spark, settings, EVENTS)
    # The shards' files are where the job that was not committed has left them.
    assert reports[0].first == 200
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


def test_a_pipeline_that_cannot_go_on_says_so(spark: SparkSession, tmp_path: Path, random: Random, seed: int):
    """Deliveries that the log does not reach, or of another number of shards."""
    log = lively_log(seed + 16, EVENTS, "mixed", subscriptions=30)
    settings = settings_for(tmp_path, shards=2, max_events=300, snapshot_events=1)
    append_all(Path(settings.log), log, random)
    run(spark, settings, EVENTS)
    with pytest.raises(TidingsError, match="state-spread"), pipeline_of(spark, with_(settings, shards=3)):
        pass
    append_all(tmp_path / "other", log[:100], random)
    with (
        pytest.raises(TidingsError, match="log-behind"),
        pipeline_of(spark, with_(settings, log=str(tmp_path / "other"))),
    ):
        pass


def test_batches_keep_their_bounds_and_the_lag_is_told(spark: SparkSession, tmp_path: Path, random: Random, seed: int):
    events = 4000
    log = lively_log(seed + 17, events, "within", subscriptions=20)
    # Long texts, so that bytes are the bound.
    for event in log[2000:]:
        if "text" in event:
            event["attributes"] = {"padding": "x" * 2000}
    settings = settings_for(tmp_path, shards=2, max_events=700, max_bytes=1 << 19, target_s=60)
    append_all(Path(settings.log), log, random, largest=300)
    metrics, ends = Metrics(), []

    def on_commit(report) -> None:
        ends.append(report.end)
        assert metrics.position == report.end

    with pipeline_of(spark, settings, metrics=metrics, on_commit=on_commit) as made:
        made.pipeline.run(until=events)
    sizes = [len(line) + 1 for line in map(_line, log)]
    for first, end in zip([0, *ends], ends, strict=False):
        assert end - first <= 700
        assert sum(sizes[first:end]) <= 1 << 19 or end - first == 1
    assert max(end - first for first, end in zip([0, *ends], ends, strict=False)) == 700
    assert any(end - first < 650 for first, end in itertools.pairwise(ends)), "bytes bound some"
    assert metrics.lag == 0
    assert metrics.log_end == metrics.position == events
    assert "triggerExecution" in metrics.phases_ms, "the listener has heard of Spark's progress"
    text = metrics.exposition()
    for line in text.splitlines():
        assert _SAMPLE.fullmatch(line), line
    assert f"\ntidings_position {events}\n" in text
    assert "\ntidings_lag_events 0\n" in text
    assert 'tidings_shard_deltas{shard="1"}' in text
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


def _line(event) -> bytes:
    import json

    return json.dumps(event, ensure_ascii=False).encode()
