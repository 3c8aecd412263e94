"""Snapshots: a shard that is read back goes on as if nothing had been, and nothing is written that is there already."""

import os

import msgspec
import numpy as np
import pytest
from tests.contract.replaying import decoded
from tests.oracle.logs import random_log
from tests.unit.spark.shards import BRUTE, PYRAMID, batches, told

from tidings.columns import block as b
from tidings.columns.encode import BlockBuilder
from tidings.log.deliveries import SnapshotPart
from tidings.matching.shard import Shard
from tidings.model.errors import FileError, InputError
from tidings.model.events import Move, Register, Remove, Replace
from tidings.spark.shard_store import ShardStore
from tidings.spark.snapshots import SnapshotStore, read_shard, write_shard

ARRAYS = {
    "numbers": np.arange(7, dtype=np.int64),
    "matrix": np.arange(6, dtype=np.float64).reshape(2, 3),
    "nothing": np.zeros((0, 4), np.float64),
}


@pytest.fixture(params=["path", "file", "mock"])
def store(request, tmp_path):
    """The same on this machine, by path and by URI, and on a file system that only pyarrow knows."""
    where = {
        "path": tmp_path / "a" / "snapshots",
        "file": f"file://{tmp_path}/a/snapshots",
        "mock": "mock:///a/snapshots",
    }
    return SnapshotStore(where[request.param])


def names_in(store):
    from pyarrow.fs import FileSelector

    selector = FileSelector(store._folder, allow_not_found=True)
    return sorted(found.base_name for found in store._files.get_file_info(selector))


def assert_equal(got, wanted):
    assert got.keys() == wanted.keys()
    for name, array in wanted.items():
        assert got[name].dtype == array.dtype
        assert got[name].shape == array.shape
        assert got[name].tobytes() == array.tobytes(), name


def without_index(arrays):
    """All but the index of `within`, whose tuning may be an older one."""
    return {name: array for name, array in arrays.items() if not name.startswith("within.")}


def test_a_part_comes_back_and_can_be_changed(store):
    part = store.write_part("part", {"a": [1, None]}, ARRAYS)
    assert part.name.startswith("part-")
    assert names_in(store) == [part.name]
    assert store.holds(part)
    for _ in range(2):
        about, arrays = store.read_part(part)
        assert msgspec.json.decode(about) == msgspec.json.decode(store.about(part)) == {"a": [1, None]}
        assert_equal(arrays, ARRAYS)
        arrays["numbers"][:] = 0


def test_equal_content_is_one_file(store):
    parts = {store.write_part("part", None, ARRAYS) for _ in range(3)}
    assert len(parts) == 1
    other = store.write_part("part", None, {**ARRAYS, "numbers": ARRAYS["numbers"] + 1})
    assert len(names_in(store)) == 2
    assert other not in parts


def changed(store, part, change):
    path = store._path(part.name)
    with store._files.open_input_file(path) as file:
        data = bytearray(file.read())
    with store._files.open_output_stream(path) as file:
        file.write(bytes(change(data)))


def flipped(place):
    def change(data):
        data[place] ^= 1
        return data

    return change


@pytest.mark.parametrize(
    "change",
    [flipped(3), flipped(40), flipped(-70), lambda data: data[:-1], lambda data: b"", lambda data: data + b"\0"],
)
def test_a_part_that_is_not_as_it_was_written_is_refused(store, change):
    part = store.write_part("part", None, ARRAYS)
    changed(store, part, change)
    with pytest.raises(FileError) as caught:
        store.read_part(part)
    assert part.name in str(caught.value)
    assert caught.value.code in ("file-corrupt", "file-format", "file-unreadable")


def test_a_part_that_is_another_one_or_none_is_refused(store):
    part = store.write_part("part", None, ARRAYS)
    other = store.write_part("part", "other", ARRAYS)
    for wrong in (SnapshotPart(part.name, part.n_bytes, other.checksum), SnapshotPart("none", 1, 1)):
        with pytest.raises(FileError):
            store.read_part(wrong)
        with pytest.raises(FileError):
            store.about(wrong)
    assert not store.holds(SnapshotPart("none", 1, 1))
    with pytest.raises(FileError):
        read_shard(store, part)


def test_a_place_that_cannot_be_is_said(tmp_path):
    with pytest.raises(InputError) as caught:
        SnapshotStore("nowhere://at/all")
    assert caught.value.code == "option-invalid"
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError):
        SnapshotStore(tmp_path / "file" / "folder").write_part("part", None, ARRAYS)


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    store = SnapshotStore(tmp_path / "snapshots")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / "snapshots").mkdir()
    with pytest.raises(FileError) as caught:
        store.write_part("part", None, ARRAYS)
    assert caught.value.code == "disk-full"
    assert names_in(store) == []


@pytest.mark.parametrize("methods", [BRUTE, PYRAMID])
def test_a_shard_that_is_read_goes_on_as_if_nothing_had_been(store, seed, methods):
    work = batches(seed)
    shard, part = Shard(work.configuration, **methods), None
    for i, block in enumerate(work.blocks):
        assert told(shard.step(block)) == work.answers[i]
        if i % 3 == 1:
            part = write_shard(store, 3, work.edges[i + 1], shard.arrays(), f"at {i}", part)
            position, arrays = read_shard(store, part)
            assert position == work.edges[i + 1]
            assert_equal(arrays, shard.arrays())
            shard = Shard.from_arrays(work.configuration, methods, arrays)


@pytest.mark.parametrize("methods", [BRUTE, PYRAMID])
def test_subscriptions_that_did_not_change_are_not_written_again(tmp_path, seed, methods):
    """With the file of a shard: its name for the subscriptions says when an older file of them serves."""
    work = batches(seed, "mixed", events=400, n=120)
    files, snapshots = ShardStore(tmp_path / "local", "session", "boot"), SnapshotStore(tmp_path / "snapshots")
    part, served, written = None, 0, 0
    for i, block in enumerate(work.blocks):
        with files.opened(work.key(methods), 1, position=work.edges[i], rebuild=work.rebuild(methods)) as handle:
            handle.step(block)
            handle.advance(work.edges[i + 1])
            before = set(names_in(snapshots))
            part = write_shard(snapshots, 3, handle.position, handle.arrays(), handle.standing, part)
            stored = read_shard(snapshots, part).arrays
            assert_equal(without_index(stored), without_index(handle.arrays()))
        new = set(names_in(snapshots)) - before
        stood = not any(name.startswith("standing") for name in new)
        assert any(name.startswith("moving") for name in new)
        served += stood
        written += not stood
        if i and not np.isin(block.op, (b.REGISTER, b.REPLACE, b.MOVE, b.REMOVE)).any():
            assert stood
        if i % 10 == 9:
            restored = Shard.from_arrays(work.configuration, methods, read_shard(snapshots, part).arrays)
            for j in range(i + 1, min(i + 13, len(work.blocks))):
                assert told(restored.step(work.blocks[j])) == work.answers[j], (i, j)
        snapshots.remove_unnamed([part])
        assert len(names_in(snapshots)) == 3
    assert served > 0
    assert written > 5


def test_a_file_that_was_made_anew_does_not_use_older_subscriptions(tmp_path, seed):
    """The same subscriptions may lie in other slots then."""
    work = batches(seed)
    files, snapshots = ShardStore(tmp_path / "local", "session", "boot"), SnapshotStore(tmp_path / "snapshots")
    parts = []
    for _ in range(2):
        with files.opened(work.key(BRUTE), 1, position=work.edges[4], rebuild=work.rebuild(BRUTE)) as handle:
            previous = parts[-1] if parts else None
            parts.append(write_shard(snapshots, 3, handle.position, handle.arrays(), handle.standing, previous))
        files.path_of(3).unlink()
    about = [msgspec.json.decode(snapshots.about(part)) for part in parts]
    assert about[0]["standing"] != about[1]["standing"]


@pytest.mark.parametrize("methods", [BRUTE, PYRAMID])
def test_shards_that_saw_the_same_blocks_share_their_window(tmp_path, seed, methods):
    """Each shard has the events of its own subscriptions and every other one, as the plan `hash` gives them."""
    configuration, events = decoded(random_log(seed, 500, "churn", subscriptions=60, window={"messages": 100}))
    store, shards = SnapshotStore(tmp_path), []
    for number in range(3):
        shard, builder = Shard(configuration, **methods), BlockBuilder(configuration)
        for position, event in events:
            name = event.subscription.id if isinstance(event, Register | Replace) else getattr(event, "id", "")
            of_subscription = isinstance(event, Register | Replace | Move | Remove)
            if not of_subscription or sum(name.encode()) % 3 == number:
                builder.add(position, event)
            if position % 25 == 24:
                shard.step(builder.build())
        shards.append(shard)
    assert min(len(shard.subscriptions) for shard in shards) > 3
    assert shards[0].window.n_live > 3
    parts = [write_shard(store, i, 500, shard.arrays(), "x") for i, shard in enumerate(shards)]
    assert sorted(name[:6] for name in names_in(store)) == ["moving"] * 3 + ["standi"] * 3 + ["window"]
    for shard, part in zip(shards, parts, strict=True):
        assert_equal(read_shard(store, part).arrays, shard.arrays())
    assert store.remove_unnamed(parts[:1]) == 4
    assert_equal(read_shard(store, parts[0]).arrays, shards[0].arrays())


def test_what_no_snapshot_names_is_removed(store, seed):
    work = batches(seed)
    shard = Shard(work.configuration, **BRUTE)
    parts = []
    for i, block in enumerate(work.blocks[:4]):
        shard.step(block)
        parts.append(write_shard(store, 0, work.edges[i + 1], shard.arrays(), "the same", parts[-1] if parts else None))
    store.write_part("left behind", None, ARRAYS)
    kept = parts[2:]
    removed = store.remove_unnamed(kept)
    assert removed >= 3
    assert store.remove_unnamed(kept) == 0
    for part in kept:
        assert read_shard(store, part).arrays
    with pytest.raises(FileError):
        store.read_part(parts[0])
    with pytest.raises(FileError):
        store.remove_unnamed([parts[0]])
    assert read_shard(store, parts[3]).position == work.edges[4], "whoever cannot be read removes nothing"


def test_a_snapshot_that_cannot_be_read_is_no_reason_not_to_write_one(store, seed):
    work = batches(seed)
    shard = work.rebuild(BRUTE)(work.edges[3])
    part = write_shard(store, 0, 1, shard.arrays(), "x")
    for name in names_in(store):
        store._files.delete_file(store._path(name))
    again = write_shard(store, 0, 1, shard.arrays(), "x", part)
    assert_equal(read_shard(store, again).arrays, shard.arrays())
    for name in names_in(store):
        if name.startswith("standing"):
            store._files.delete_file(store._path(name))
    assert_equal(read_shard(store, write_shard(store, 0, 2, shard.arrays(), "x", again)).arrays, shard.arrays())
