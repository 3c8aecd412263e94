"""What may be lost or damaged between two runs, and while one goes on: the answer stays the oracle's."""

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession
from tests.pipeline.pipelines import (
    append_all,
    assert_same,
    exported,
    lively_log,
    pipeline_of,
    run,
    settings_for,
    wanted,
)

from tidings.log.store import EventLog
from tidings.spark.snapshots import SnapshotStore

EVENTS = 1200


def shard_files(settings) -> list[Path]:
    found = sorted(Path(settings.local).glob("*/*.shard"))
    assert found
    return found


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def in_the_contents(path: Path) -> None:
    """One bit of an array, where only a checksum of all of it can tell."""
    data = path.read_bytes()
    at = max(i for i in range(1 << 16, len(data)) if data[i])
    flip(path, at)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "empty": lambda path: os.truncate(path, 0),
    "cut in its header": lambda path: os.truncate(path, 1000),
    "cut": lambda path: os.truncate(path, path.stat().st_size - 5000),
    "of another boot": lambda path: flip(path, 60),
    "flipped": in_the_contents,
    "made dirty": lambda path: flip(path, 16),
    "nonsense": lambda path: path.write_bytes(os.urandom(path.stat().st_size)),
}


def test_damaged_shard_files(spark: SparkSession, tmp_path: Path, random: Random, seed: int):
    log = lively_log(seed + 2, EVENTS, "mixed", subscriptions=50)
    settings = settings_for(tmp_path, shards=2, max_events=100, snapshot_events=250, snapshot_s=1e9)
    append_all(Path(settings.log), log, random)
    rebuilt: dict[str, list[str]] = {}
    run(spark, settings, 1)
    for number, (name, damage) in enumerate(DAMAGE.items()):
        damage(shard_files(settings)[number % 2])
        reports = run(spark, settings, 120 * (number + 1))
        rebuilt[name] = [said for report in reports for said in report.rebuilt]
    run(spark, settings, EVENTS)
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))
    for number, said in enumerate(rebuilt.values()):
        assert len(said) == 1, rebuilt
        assert said[0].startswith(f"{number % 2}: "), rebuilt


def test_all_of_the_local_folder_goes_between_runs(spark: SparkSession, tmp_path: Path, random: Random, seed: int):
    log = lively_log(seed + 3, EVENTS, "around", subscriptions=50)
    settings = settings_for(tmp_path, shards=3, max_events=150, snapshot_events=400, snapshot_s=1e9)
    append_all(Path(settings.log), log, random)
    run(spark, settings, 500)
    shutil.rmtree(settings.local)
    reports = run(spark, settings, EVENTS)
    assert len(reports[0].rebuilt) == 3
    assert any(report.snapshot for report in reports)
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


def test_what_goes_while_it_runs(spark: SparkSession, tmp_path: Path, scratch: Path, random: Random, seed: int):
    """The checkpoint, shard files, and parts of them; a shard file is torn between two steps, as a lock has it."""
    log = lively_log(seed + 4, EVENTS, "mixed", subscriptions=50)
    settings = settings_for(tmp_path, shards=2, max_events=60, snapshot_events=200)
    append_all(Path(settings.log), log, random)
    harm: list[str] = []
    removed: list[str] = []

    def on_commit(report) -> None:
        # In the driver, between two batches: nobody steps.
        match len(harm) % 5:
            case 0:
                for checkpoint in scratch.glob("tidings-checkpoint-*"):
                    shutil.rmtree(checkpoint)
                    removed.append(checkpoint.name)
            case 1:
                shard_files(settings)[0].unlink()
            case 2:
                path = shard_files(settings)[-1]
                os.truncate(path, path.stat().st_size - 3)
            case 3:
                os.truncate(random.choice(shard_files(settings)), 70_000)
            case 4:
                path = random.choice(shard_files(settings))
                other = path.with_suffix(".other")
                other.write_bytes(os.urandom(70_000))
                other.replace(path)
        harm.append(str(report.end))

    with pipeline_of(spark, settings, on_commit=on_commit) as made:
        made.pipeline.run(until=EVENTS)
        metrics = made.pipeline.metrics
    assert len(harm) > 15
    assert len(removed) >= 3
    assert metrics.rebuilds >= 9
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


def test_the_head_of_the_log_may_go_once_a_snapshot_is_taken(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int
):
    log = lively_log(seed + 5, EVENTS, "churn", subscriptions=50)
    settings = settings_for(tmp_path, shards=2, max_events=100, snapshot_events=300, snapshot_s=1e9)
    append_all(Path(settings.log), log[:800], random, largest=20)
    run(spark, settings, 800)
    with EventLog.open(Path(settings.log)) as events:
        kept = events.retain(max_age_ms=None, max_bytes=1).start
        assert 0 < kept <= 800
        events.append([])
    append_all(Path(settings.log), log[800:], random)
    shutil.rmtree(settings.local)
    reports = run(spark, settings, EVENTS)
    assert len(reports[0].rebuilt) == 2
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


def test_a_driver_whose_time_is_over_removes_no_snapshot(
    spark: SparkSession, tmp_path: Path, random: Random, seed: int
):
    """One that was asleep since it took a snapshot tidies up after itself, and not after those who came since."""
    log = lively_log(seed + 6, 900, "mixed", subscriptions=50)
    settings = settings_for(tmp_path, shards=2, max_events=100, snapshot_events=100, snapshot_s=1e9)
    append_all(Path(settings.log), log, random)
    with pipeline_of(spark, settings) as old:
        old.pipeline.run(until=300)
        asleep = old.pipeline.deliveries.snapshot()
        assert asleep is not None
        with pipeline_of(spark, settings) as new:
            new.pipeline.run(until=700)
            newest = new.pipeline.deliveries.snapshot()
        assert newest is not None
        assert newest.position > asleep.position
        # It wakes up just here: what is called after the commit of a snapshot.
        try:
            old._snapshot_taken(asleep)
        except Exception as error:
            print("what it heard:", error)
    store = SnapshotStore(Path(settings.state, "snapshots"))
    for part in newest.parts:
        from tidings.spark.snapshots import read_shard

        assert read_shard(store, part).position == newest.position
    shutil.rmtree(settings.local)
    run(spark, settings, 900)
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))


def test_deleted_while_a_batch_runs(spark: SparkSession, tmp_path: Path, random: Random, seed: int):
    log = lively_log(seed + 7, EVENTS, "mixed", subscriptions=50)
    settings = settings_for(tmp_path, shards=3, max_events=50, snapshot_events=200)
    append_all(Path(settings.log), log, random)
    over = threading.Event()
    n = 0

    def harm() -> None:
        nonlocal n
        while not over.wait(random.uniform(0.02, 0.4)):
            if random.random() < 0.2:
                # Locks and all.
                shutil.rmtree(settings.local or "", ignore_errors=True)
                n += 1
            for path in Path(settings.local or "").glob("*/*.shard"):
                if random.random() < 0.5:
                    path.unlink(missing_ok=True)
                    n += 1

    thread = threading.Thread(target=harm)
    thread.start()
    try:
        run(spark, settings, EVENTS)
    finally:
        over.set()
        thread.join()
    assert n > 3
    assert_same(exported(settings, tmp_path / "out.ndjson"), wanted(log))
