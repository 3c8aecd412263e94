"""What every store of deliveries must do. A new one gets all of this by being registered."""

import os
import random
import threading
import time

import pyarrow.fs as fs
import pyarrow.parquet as pq
import pytest
from tests.unit.log.deltas_at_random import Row, columns, merged, plain, rows_at_random

from tidings.columns.deltas import NO_VALUE
from tidings.log import deliveries as d
from tidings.log import manifests
from tidings.log.deliveries import (
    STORES,
    Answer,
    Batch,
    SnapshotPart,
    SnapshotParts,
    open_deliveries,
    write_segment,
)
from tidings.log.deliveries_manifest import ManifestDeliveries, answer_in
from tidings.log.durable_files import DistantFolder
from tidings.log.segments import segment_bytes
from tidings.model.errors import FileError, InputError, LimitError, Problem, StaleEpochError

SHARDS = 3

stores = pytest.mark.parametrize("store", [*STORES, "distant"])


class Place:
    """A store at a place, and what tasks do there."""

    def __init__(self, store, folder):
        self.store, self.state = store, folder / "state"
        self.folder = None
        if store == "distant":
            # The code for file systems elsewhere, on one that the tests have.
            self.folder = DistantFolder(fs.LocalFileSystem(), str(self.state), f"far://{self.state}")

    def open(self, create=False):
        if self.folder is not None:
            return ManifestDeliveries.in_folder(self.folder, "segments", create=create)
        return open_deliveries(self.state, store=self.store, create=create)

    def answer(self, epoch, shard, batch, rows):
        data = segment_bytes(shard, epoch, batch.first, batch.end, [columns(rows)])
        if self.folder is not None:
            return answer_in(self.folder, "segments", epoch, shard, batch.first, batch.end, data)
        return write_segment(self.state, epoch, shard, batch.first, batch.end, data)

    def run(self, deliveries, epoch, batch, shards, snapshot=None):
        deliveries.plan(epoch, batch)
        answers = [self.answer(epoch, shard, batch, rows) for shard, rows in enumerate(shards)]
        deliveries.commit(epoch, batch, answers, snapshot)
        return answers

    def files(self):
        """The files of segments, half written ones too."""
        return sorted(
            name
            for folder in ("segments", "deltas")
            if (self.state / folder).exists()
            for name in os.listdir(self.state / folder)
        )


@pytest.fixture
def place(store, tmp_path):
    return Place(store, tmp_path)


def filled(place, seed, n_batches=6, size=20):
    """Deliveries with some batches, and the rows of all."""
    draw = random.Random(f"{seed}filled")
    deliveries = place.open(create=True)
    epoch, rows = deliveries.claim(), []
    styles = ["mixed", "within", "empty", "sparse"]
    for number in range(n_batches):
        batch = Batch(number * size, (number + 1) * size)
        shards = rows_at_random(draw, batch.first, batch.end, SHARDS, styles[number % 4])
        place.run(deliveries, epoch, batch, shards)
        rows += merged(shards)
    assert len(rows) > 50
    return deliveries, epoch, rows


def everything(deliveries, *arguments, **named):
    return [row for deltas in deliveries.read(*arguments, **named) for row in plain(deltas)]


@stores
def test_what_is_committed_is_read_in_order(place, seed):
    deliveries, _, rows = filled(place, seed)
    assert everything(deliveries, 0) == rows
    assert everything(place.open(), 0) == rows
    assert deliveries.verify() == []
    assert deliveries.done() == 120
    draw = random.Random(seed)
    for _ in range(20):
        first, end = sorted(draw.choices(range(121), k=2))
        assert everything(deliveries, first, end) == [row for row in rows if first <= row.position < end]
    assert everything(deliveries, 100, 5000) == [row for row in rows if row.position >= 100]


@stores
def test_one_subscription(place, seed):
    deliveries, _, rows = filled(place, seed)
    subscriptions = {row.subscription for row in rows}
    assert len(subscriptions) > 20
    for subscription in [*subscriptions][:30]:
        wanted = [row for row in rows if row.subscription == subscription]
        assert everything(deliveries, 0, subscription=subscription) == wanted
        assert everything(deliveries, 30, 90, subscription) == [row for row in wanted if 30 <= row.position < 90]
    assert everything(deliveries, 0, subscription="nobody of this name") == []


@stores
def test_large_segments_are_files(place):
    deliveries = place.open(create=True)
    epoch, batch = deliveries.claim(), Batch(0, 2)
    rows = [Row(0, f"{i:06d}" * 3, 1, "m", NO_VALUE, None, 0) for i in range(20_000)]
    (answer,) = place.run(deliveries, epoch, batch, [rows])
    assert answer.n_bytes > d.INLINE_BYTES or place.store == "parquet"
    assert place.files() == ([answer.file] if answer.file else [])
    assert answer.file is not None or place.store == "parquet"
    assert everything(deliveries, 0) == rows
    assert everything(deliveries, 0, subscription=rows[77].subscription) == [rows[77]]
    assert everything(deliveries, 0, subscription="stranger") == []


@stores
def test_nothing_is_read_before_the_commit(place, seed):
    deliveries, epoch, rows = filled(place, seed)
    batch = Batch(120, 140, {"events-0": ((5, 9),), "events-1": ((0, 3), (7, 8))}, (125,))
    deliveries.plan(epoch, batch)
    for shard, part in enumerate(rows_at_random(random.Random(seed), 120, 140, SHARDS, "mixed")):
        place.answer(epoch, shard, batch, part)
    assert place.open().pending() == batch
    assert (deliveries.done(), everything(deliveries, 0)) == (120, rows)
    assert everything(deliveries, 120) == []


@stores
def test_the_same_batch_again_changes_nothing(place, seed):
    deliveries, epoch, rows = filled(place, seed)
    before = deliveries.stat()
    draw = random.Random(f"{seed}filled")
    again = rows_at_random(draw, 0, 20, SHARDS, "mixed")
    batch = Batch(0, 20)
    for _ in range(2):
        deliveries.commit(epoch, batch, [place.answer(epoch, shard, batch, part) for shard, part in enumerate(again)])
    assert deliveries.stat() == before
    assert everything(deliveries, 0) == rows
    newer = place.open()
    epoch = newer.claim()
    newer.commit(epoch, Batch(100, 120), [])
    assert everything(newer, 0) == rows


@stores
@pytest.mark.parametrize(("first", "end"), [(0, 21), (40, 60), (119, 140), (121, 140), (120, 120), (120, 7)])
def test_a_batch_that_is_not_the_next_is_refused(place, seed, first, end):
    deliveries, epoch, rows = filled(place, seed)
    before = deliveries.stat()
    # 40..60 was committed, but not with this one skipped.
    batch = Batch(first, end, skipped=(41,) if first == 40 else ())
    with pytest.raises(InputError) as caught:
        deliveries.commit(epoch, batch, [])
    assert "120" in str(caught.value)
    with pytest.raises(InputError):
        deliveries.plan(epoch, batch)
    assert deliveries.stat() == before
    assert everything(deliveries, 0) == rows


@stores
def test_answers_that_cannot_be(place, seed):
    deliveries, epoch, rows = filled(place, seed)
    batch = Batch(120, 140)
    answer = place.answer(epoch, 0, batch, [Row(121, "s", 1, "m", NO_VALUE, None, 121)])
    for answers in ([answer, answer], [Answer(0, 5, 100, 1)]):
        with pytest.raises(InputError):
            deliveries.commit(epoch, batch, answers)
    with pytest.raises(InputError):
        deliveries.commit(epoch, batch, [answer], SnapshotParts(141, "hash", 1, ()))
    assert (deliveries.done(), everything(deliveries, 0)) == (120, rows)


@stores
def test_a_stale_driver_changes_nothing(place, seed):
    old, epoch, rows = filled(place, seed)
    batch = Batch(120, 140)
    shards = rows_at_random(random.Random(seed), 120, 140, SHARDS, "mixed")
    answers = [place.answer(epoch, shard, batch, part) for shard, part in enumerate(shards)]
    new = place.open()
    newer = new.claim()
    assert newer > epoch
    before = new.stat()
    problem = Problem("poison", "$", "boom")
    for change in (
        lambda: old.commit(epoch, batch, answers),
        lambda: old.commit(epoch, Batch(0, 20), []),
        lambda: old.plan(epoch, batch),
        lambda: old.set_aside(epoch, 120, b"{}", problem, 3),
        lambda: new.commit(epoch, batch, answers),
    ):
        with pytest.raises(StaleEpochError) as caught:
            change()
        assert caught.value.code == "stale-epoch"
        assert new.stat() == before
    place.run(new, newer, batch, shards)
    with pytest.raises(StaleEpochError):
        old.commit(epoch, Batch(140, 150), [])
    assert everything(old, 0) == rows + merged(shards)


@stores
def test_a_driver_that_is_replaced_in_the_middle_of_its_commit(place, seed, monkeypatch):
    """It has looked at the epoch and sleeps; when it wakes up another driver has claimed and committed."""
    old, epoch, rows = filled(place, seed)
    batch, other = Batch(120, 140), Batch(120, 130)
    shards = rows_at_random(random.Random(seed), 120, 140, SHARDS, "mixed")
    first_half = [[row for row in part if row.position < 130] for part in shards]
    answers = [place.answer(epoch, shard, batch, part) for shard, part in enumerate(shards)]
    new = place.open()
    entered, checked = threading.Event(), d.check_commit

    def replaced(*arguments):
        checked(*arguments)
        if threading.current_thread() is sleeper:
            entered.set()
            # SQLite holds its lock meanwhile, so there the other driver comes after the commit, not into it.
            taken.wait(1.0)

    module = "deliveries_sqlite" if place.store == "sqlite" else "deliveries_manifest"
    monkeypatch.setattr(f"tidings.log.{module}.check_commit", replaced)
    taken, failed = threading.Event(), []

    def commit():
        try:
            old.commit(epoch, batch, answers)
        except StaleEpochError as error:
            failed.append(error)

    sleeper = threading.Thread(target=commit)
    sleeper.start()
    assert entered.wait(10)
    newer = new.claim()
    if place.store != "sqlite":
        place.run(new, newer, other, first_half)
    taken.set()
    sleeper.join()
    if place.store == "sqlite":
        assert not failed
        assert (new.done(), everything(new, 0)) == (140, rows + merged(shards))
    else:
        assert failed
        assert (new.done(), everything(new, 0)) == (130, rows + merged(first_half))
    assert new.verify() == []


@stores
def test_claims_at_once_are_all_different(place):
    place.open(create=True)
    epochs, n = [], 8

    def claim():
        deliveries = place.open()
        epochs.extend(deliveries.claim() for _ in range(4))

    if place.store == "distant":
        n = 1  # such a file system cannot tell who was first
    threads = [threading.Thread(target=claim) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(epochs) == list(range(1, 4 * n + 1))


@stores
def test_a_claim_sweeps_what_no_commit_names(place, seed):
    deliveries, epoch, rows = filled(place, seed)
    named = place.files()
    large = [Row(120, f"{i:06d}" * 3, 1, "m", NO_VALUE, None, 120) for i in range(20_000)]
    for _ in range(2):
        assert place.answer(epoch, 0, Batch(120, 140), large).n_deltas == 20_000
    assert len(place.files()) == len(named) + 2
    place.open().claim()
    assert place.files() == named
    assert everything(deliveries, 0) == rows


@stores
def test_snapshots_and_plans_survive(place, seed):
    deliveries, epoch, _ = filled(place, seed)
    assert (deliveries.snapshot(), deliveries.pending()) == (None, None)
    parts = SnapshotParts(140, "hash", 2, (SnapshotPart("a", 10, 1), SnapshotPart("b", 20, 2)))
    place.run(deliveries, epoch, Batch(120, 140), [], parts)
    place.run(deliveries, epoch, Batch(140, 150), [])
    deliveries.plan(epoch, Batch(150, 170))
    deliveries.plan(epoch, Batch(150, 160))
    again = place.open()
    assert (again.snapshot(), again.pending(), again.done()) == (parts, Batch(150, 160), 150)
    epoch = again.claim()
    assert again.pending() == Batch(150, 160)
    again.commit(epoch, Batch(150, 160), [])
    assert deliveries.pending() is None


@stores
def test_what_is_set_aside(place, seed):
    deliveries, epoch, _ = filled(place, seed)
    problem = Problem("poison", "$.at", "boom", "a place", "look at it", 7)
    for position in (125, 7, 125):
        deliveries.set_aside(epoch, position, b'{"id": "\xc3\xa9"}', problem, 4)
    found = place.open().aside()
    assert [(one.position, one.event, one.problem, one.tries, one.redriven) for one in found] == [
        (7, b'{"id": "\xc3\xa9"}', problem, 4, False),
        (125, b'{"id": "\xc3\xa9"}', problem, 4, False),
    ]
    deliveries.redriven(7)
    assert [one.redriven for one in place.open().aside()] == [True, False]
    with pytest.raises(InputError):
        deliveries.redriven(8)
    assert deliveries.stat().n_aside == 2


@stores
def test_cursors(place, seed, monkeypatch):
    deliveries, _, _ = filled(place, seed)
    assert deliveries.cursor("mail") is None
    deliveries.advance("mail", 40)
    deliveries.advance("a/b: c?é", 120)
    assert place.open().cursor("mail") == 40
    deliveries.advance("mail", 30)
    assert place.open().stat().cursors == {"a/b: c?é": 120, "mail": 30}
    for name in ("", "x" * 129, "a\nb"):
        with pytest.raises(InputError):
            deliveries.advance(name, 3)
    with pytest.raises(InputError):
        deliveries.advance("mail", 121)
    for module in ("sqlite", "manifest"):
        monkeypatch.setattr(f"tidings.log.deliveries_{module}.MAX_CURSORS", 2)
    with pytest.raises(LimitError):
        deliveries.advance("third", 3)
    deliveries.advance("mail", 31)
    deliveries.drop_cursor("mail")
    deliveries.advance("third", 3)
    assert deliveries.stat().cursors == {"a/b: c?é": 120, "third": 3}


@stores
def test_retention_waits_for_the_slowest(place, seed):
    deliveries, epoch, rows = filled(place, seed)
    assert deliveries.retain().n_batches == 0
    assert deliveries.retain(max_age_ms=60_000, max_bytes=1 << 40).n_batches == 0
    deliveries.advance("fast", 100)
    deliveries.advance("slow", 50)
    kept = deliveries.retain(max_bytes=0)
    assert (kept.start, kept.n_batches, deliveries.start()) == (40, 2, 40)
    assert kept.n_bytes > 0
    assert everything(deliveries, 40) == [row for row in rows if row.position >= 40]
    with pytest.raises(FileError) as caught:
        deliveries.read(39)
    assert caught.value.code == "position-gone"
    with pytest.raises(FileError):
        deliveries.advance("slow", 39)
    time.sleep(0.005)
    assert deliveries.retain(max_age_ms=0, force=True).start == 120
    stat = deliveries.stat()
    assert (stat.start, stat.done, stat.n_batches, stat.n_deltas, stat.n_bytes) == (120, 120, 0, 0, 0)
    assert place.files() == []
    place.run(deliveries, epoch, Batch(120, 130), [])
    assert place.open().verify() == []
    assert place.open().done() == 130


@stores
def test_retention_by_size(place, seed):
    deliveries, _, rows = filled(place, seed)
    total = deliveries.stat().n_bytes
    deliveries.retain(max_bytes=total - 1)
    left = deliveries.stat()
    assert left.start == 20
    assert left.n_bytes < total
    assert everything(deliveries, 20) == [row for row in rows if row.position >= 20]


@stores
def test_damage_is_named(place, seed):
    deliveries, epoch, rows = filled(place, seed, 2)
    large = [Row(40, f"{i:06d}" * 3, 1, "m", NO_VALUE, None, 40) for i in range(20_000)]
    (answer,) = place.run(deliveries, epoch, Batch(40, 60), [large])
    path = place.state / ("segments" if place.store == "sqlite" else "deltas") / answer.file
    whole = path.read_bytes()
    middle = len(whole) // 2
    for damage in (whole[:middle], whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :], None):
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
        assert [problem.code for problem in deliveries.verify()] == ["file-corrupt"]
        assert answer.file in deliveries.verify()[0].place
        assert everything(deliveries, 0, 40) == rows
        with pytest.raises(FileError) as caught:
            everything(deliveries, 0)
        assert caught.value.code == "file-corrupt"
        assert answer.file in str(caught.value)
        path.write_bytes(whole)
    assert deliveries.verify() == []


@stores
def test_a_segment_in_the_place_of_another_is_found(place, seed):
    deliveries, epoch, _ = filled(place, seed, 2)
    large = [Row(40, f"{i:06d}" * 3, 1, "m", NO_VALUE, None, 40) for i in range(20_000)]
    other = [row._replace(subscription=row.subscription + "x") for row in large]
    names = [answer.file for answer in place.run(deliveries, epoch, Batch(40, 60), [large, other])]
    one, two = (place.state / ("segments" if place.store == "sqlite" else "deltas") / name for name in names)
    one.write_bytes(two.read_bytes())
    assert len(deliveries.verify()) == 1
    with pytest.raises(FileError):
        everything(deliveries, 40, subscription=large[5].subscription)


@stores
def test_waiting(place, seed):
    deliveries, epoch, _ = filled(place, seed)
    assert deliveries.wait(50, 5) == 120
    begun = time.monotonic()
    assert deliveries.wait(120, 0.1) == 120
    assert 0.09 < time.monotonic() - begun < 2
    reader, found = place.open(), []
    thread = threading.Thread(target=lambda: found.append(reader.wait(120, 20)))
    thread.start()
    place.run(deliveries, epoch, Batch(120, 121), [])
    thread.join()
    assert found == [121]


@stores
def test_many_batches(place, seed, monkeypatch):
    """More than a checkpoint and a page hold; a reader that slept, one that is new, and retention in between."""
    monkeypatch.setattr(manifests, "CHECKPOINT_EVERY", 8)
    monkeypatch.setattr(manifests, "PAGE_COMMITS", 5)
    draw = random.Random(seed)
    deliveries = place.open(create=True)
    sleeper, reader = place.open(), place.open()
    epoch, rows = deliveries.claim(), []
    for number in range(60):
        shards = rows_at_random(draw, number, number + 1, 2, "mixed")
        place.run(deliveries, epoch, Batch(number, number + 1), shards)
        rows += merged(shards)
        if number % 7 == 0:
            assert everything(reader, reader.start()) == [row for row in rows if row.position >= reader.start()]
        if number in (20, 44):
            deliveries.advance("one", number - 7)
            deliveries.retain(max_bytes=0)
            assert deliveries.start() == number - 7
    for one in (deliveries, sleeper, place.open()):
        assert (one.done(), one.start()) == (60, 37)
        assert everything(one, 37) == [row for row in rows if row.position >= 37]
        assert one.verify() == []
        assert one.stat() == deliveries.stat()
    assert deliveries.stat().n_batches == 23
    if place.store != "sqlite":
        assert len(os.listdir(place.state / "manifests")) < 30
    with pytest.raises(InputError):
        deliveries.commit(epoch, Batch(3, 4), [])


@stores
def test_another_store_is_refused(place):
    place.open(create=True)
    if place.store == "distant":
        return
    assert open_deliveries(place.state).stat().store == place.store
    assert open_deliveries(f"file://{place.state}" if place.store != "sqlite" else str(place.state)).done() == 0
    other = "parquet" if place.store == "sqlite" else "sqlite"
    with pytest.raises(InputError):
        open_deliveries(place.state, store=other, create=True)
    with pytest.raises(InputError):
        open_deliveries(place.state, store="cloud")


def test_there_is_nothing(tmp_path):
    with pytest.raises(FileError) as caught:
        open_deliveries(tmp_path / "nowhere")
    assert "nowhere" in str(caught.value)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("store", ["parquet"])
def test_everybody_can_read_parquet(place, seed):
    deliveries, _, rows = filled(place, seed)
    tables = [pq.read_table(place.state / "deltas" / name) for name in place.files()]
    assert sum(len(table) for table in tables) == len(rows)
    assert tables[0].column_names[:6] == ["position", "subscription", "message", "op", "score", "distance"]
    assert deliveries.stat().store == "parquet"
