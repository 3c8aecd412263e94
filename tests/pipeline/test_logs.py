"""Random logs of every kind through a pipeline: the oracle's file, however they are cut and spread."""

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from tests.oracle.logs import PROFILES
from tests.pipeline.pipelines import (
    append_all,
    appending,
    assert_same,
    engine_file,
    exported,
    lively_log,
    pipeline_of,
    run,
    settings_for,
    wanted,
)

SHARDS = (1, 2, 3, 16)


@pytest.mark.parametrize(("n", "profile"), list(enumerate(PROFILES)))
def test_a_log_that_grows_while_the_pipeline_runs_and_is_stopped(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int, n: int, profile: str
):
    shards, events = SHARDS[n % len(SHARDS)], 500
    log = lively_log(seed + n, events, profile, subscriptions=40)
    right = wanted(log)
    assert_same(engine_file(log), right)
    settings = settings_for(tmp_path, shards=shards, max_events=random.choice([80, 200, 5000]), snapshot_s=0.5)
    begun = random.randint(1, 200)
    append_all(Path(settings.log), log[:begun], random)
    with pipeline_of(spark, settings) as first:
        with appending(Path(settings.log), log[begun:], random):
            first.pipeline.run(until=begun + 80)
        stopped = first.pipeline.driver.done
    assert stopped >= begun + 80
    reports = run(spark, settings, events)
    assert not any(report.rebuilt for report in reports), "what was sealed serves again"
    assert_same(exported(settings, tmp_path / "out.ndjson"), right)


@pytest.mark.parametrize("largest", [1, 2, 7])
def test_batches_of_hardly_any_events(spark: SparkSession, tmp_path: Path, random: Random, seed: int, largest: int):
    events = 12 * largest + 12
    log = lively_log(seed + largest, events, "mixed", subscriptions=3)
    settings = settings_for(tmp_path, shards=random.choice(SHARDS[:3]), max_events=largest)
    append_all(Path(settings.log), log, random, largest=5)
    reports = run(spark, settings, events)
    assert {report.events for report in reports} <= set(range(1, largest + 1))
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


@pytest.mark.parametrize("store", ["sqlite", "segments", "parquet"])
def test_every_store_and_batches_of_any_size(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int, store: str
):
    events = 1600
    log = lively_log(seed, events, random.choice(list(PROFILES)), subscriptions=60)
    settings = settings_for(tmp_path, shards=random.choice(SHARDS), store=store, snapshot_events=200)
    append_all(Path(settings.log), log, random, largest=400)
    at = 0
    while at < events:
        # Every run takes up what another one left, and cuts as it likes.
        size = random.choice([83, 400, 1100])
        at = min(events, at + 2 * size)
        cut = settings_for(tmp_path, shards=settings.shards, store=store, snapshot_events=200, max_events=size)
        run(spark, cut, at)
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))
