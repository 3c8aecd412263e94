"""Shard files: whoever steps, and whatever happened to a file before, the answers are those of a shard in memory."""

import multiprocessing
import os
import resource
import signal
import threading
import time
from random import Random

import msgspec
import numpy as np
import pytest
from tests.unit.spark.shards import BRUTE, PYRAMID, batches, told

from tidings.columns.mapped import HEADER_BYTES
from tidings.matching.shard import Shard
from tidings.model.errors import FileError, StaleEpochError
from tidings.model.events import Configure, Window
from tidings.spark import shard_store
from tidings.spark.shard_store import ShardStore

METHODS = [BRUTE, PYRAMID]


@pytest.fixture(autouse=True)
def nothing_kept():
    """Every test begins and ends as a process that has stepped nothing."""
    yield
    forget()


def forget():
    while shard_store._kept:
        shard_store._kept.popitem()[1].mapped.close()


@pytest.fixture
def store(tmp_path):
    return ShardStore(tmp_path / "shards", "session", "boot")


class Stepping:
    """Steps a shard over batches, one at a time."""

    def __init__(self, store, work, methods, epoch=1):
        self.store, self.work, self.methods, self.epoch = store, work, methods, epoch
        self.key = work.key(methods)
        self.path = store.path_of(3)
        self.calls = []
        self.reasons = []
        self.given = []

    def opened(self, i, **fields):
        asked = {"position": self.work.edges[i], "rebuild": self.work.rebuild(self.methods, self.calls), **fields}
        return self.store.opened(self.key, self.epoch, **{"batch": b"batch %d" % i, **asked})

    def step(self, i):
        with self.opened(i) as handle:
            self.reasons.append(handle.rebuilt)
            self.given.append(handle.answered)
            if handle.answered:
                return handle.extra
            assert handle.position == self.work.edges[i]
            answer = told(handle.step(self.work.blocks[i]))
            handle.advance(self.work.edges[i + 1], b"answer %d" % i)
            assert handle.position == self.work.edges[i + 1]
            return answer

    def fail_in(self, i):
        """A step that begins and does not end."""
        with pytest.raises(ZeroDivisionError), self.opened(i) as handle:
            raise ZeroDivisionError(handle.step(self.work.blocks[i]))

    def steps(self, numbers):
        for i in numbers:
            assert self.step(i) == self.work.answers[i], f"batch {i}"


def state_of(arrays):
    """All but the index of `within`, whose tuning may be at another place."""
    return {
        name: (array.dtype, array.shape, array.tobytes())
        for name, array in arrays.items()
        if not name.startswith("within.")
    }


@pytest.mark.parametrize("methods", METHODS)
@pytest.mark.parametrize("profile", ["mixed", "churn", "best"])
def test_steps_through_a_file_answer_as_steps_in_memory(store, seed, methods, profile):
    stepping = Stepping(store, batches(seed, profile), methods)
    random = Random(seed)
    for i in range(12):
        stepping.steps([i])
        if random.random() < 0.5:
            forget()
    assert stepping.calls == [0]
    assert stepping.reasons == ["missing or damaged"] + [""] * 11


@pytest.mark.parametrize("methods", METHODS)
def test_a_file_grows_with_its_subscriptions(store, seed, methods):
    work = batches(seed, "churn", events=2500, n=8, subscriptions=700)
    stepping = Stepping(store, work, methods)
    plain, sizes = Shard(work.configuration, **methods), set()
    for i, block in enumerate(work.blocks):
        stepping.steps([i])
        plain.step(block)
        with stepping.opened(i + 1) as handle:
            assert handle.arrays().keys() == plain.arrays().keys()
            if i % 2:
                assert state_of(handle.arrays()) == state_of(plain.arrays())
        sizes.add(stepping.path.stat().st_size)
    assert len(sizes) > 1
    assert len(plain.subscriptions) > 200
    assert stepping.calls == [0]


def test_the_process_that_stepped_last_does_not_open_again(store, seed):
    stepping = Stepping(store, batches(seed), PYRAMID)
    stepping.steps(range(3))
    with stepping.opened(3, batch=b"") as handle:
        first = handle.shard
        handle.advance(stepping.work.edges[3])
    with stepping.opened(3, batch=b"") as handle:
        assert handle.shard is first
        handle.advance(stepping.work.edges[3])
    forget()
    with stepping.opened(3, batch=b"") as handle:
        assert handle.shard is not first


def test_what_another_opened_since_is_not_kept(store, seed, tmp_path):
    stepping = Stepping(store, batches(seed), BRUTE)
    stepping.steps([0])
    kept = dict(shard_store._kept)
    shard_store._kept.clear()
    stepping.steps([1])
    shard_store._kept.clear()
    shard_store._kept.update(kept)
    stepping.steps(range(2, 5))
    assert stepping.calls == [0]

    other = Stepping(ShardStore(tmp_path / "others", "session", "boot"), stepping.work, BRUTE)
    other.path.parent.mkdir(parents=True)
    stepping.path.unlink()
    other.steps([0])
    assert list(shard_store._kept) == [other.path], "a file without a name takes up its disk until it is let go"


def test_a_batch_that_was_answered_is_not_stepped_again(store, seed):
    stepping = Stepping(store, batches(seed), BRUTE)
    stepping.steps(range(3))
    for _ in range(2):
        assert stepping.step(2) == b"answer 2"
        forget()
    assert stepping.given == [False] * 3 + [True] * 2
    with stepping.opened(2) as handle, pytest.raises(ValueError, match="answered"):
        handle.step(stepping.work.blocks[2])
    stepping.steps([3])
    assert stepping.calls == [0]


def test_another_batch_from_the_same_position_is_stepped_anew(store, seed):
    stepping = Stepping(store, batches(seed), BRUTE)
    stepping.steps(range(3))
    with stepping.opened(2, batch=b"a half of it") as handle:
        assert not handle.answered
        assert handle.rebuilt.startswith("at position")
    with stepping.opened(2, batch=b"") as handle:
        assert not handle.answered
    stepping.steps(range(2, 5))


@pytest.mark.parametrize("i", [1, 5])
def test_a_file_that_is_behind_or_ahead_is_made_anew(store, seed, i):
    stepping = Stepping(store, batches(seed), PYRAMID)
    stepping.steps(range(3))
    stepping.steps([i])
    assert stepping.calls == [0, stepping.work.edges[i]]
    assert stepping.reasons[-1].startswith("at position")


@pytest.mark.parametrize(
    "fields",
    [
        {"n_shards": 9},
        {"plan": "location"},
        {"methods": PYRAMID},
        {"configuration": Configure(window=Window(messages=3))},
    ],
)
def test_a_file_of_another_key_is_made_anew(store, seed, fields):
    stepping = Stepping(store, batches(seed), BRUTE, epoch=5)
    stepping.steps(range(3))
    key = msgspec.structs.replace(stepping.key, **fields)
    calls = []

    def rebuild(position):
        calls.append(position)
        return Shard(key.configuration, **key.methods)

    with store.opened(key, 5, position=stepping.work.edges[3], rebuild=rebuild) as handle:
        assert handle.rebuilt.startswith("of another plan")
    assert calls == [stepping.work.edges[3]]


def test_what_is_of_another_origin_does_not_meet(store, seed):
    mine, other = (Stepping(store, batches(seed), BRUTE, epoch) for epoch in (7, 1))
    other.key = msgspec.structs.replace(other.key, origin="another log")
    for i in range(4):
        mine.steps([i])
        other.steps([i])
    assert mine.calls == other.calls == [0]
    store.discard_from(0, "another log")
    assert mine.path.exists()
    other.steps([4])
    assert other.calls == [0, other.work.edges[4]]


def test_an_older_epoch_is_refused_and_changes_nothing(store, seed):
    stepping = Stepping(store, batches(seed), BRUTE, epoch=7)
    stepping.steps(range(2))
    stepping.epoch = 6
    for _ in range(2):
        with pytest.raises(StaleEpochError) as caught, stepping.opened(2):
            pass
        assert caught.value.code == "stale-epoch"
        forget()
    stepping.epoch = 8
    with stepping.opened(2):
        pass
    stepping.epoch = 7
    with pytest.raises(StaleEpochError), stepping.opened(2):
        pass
    stepping.epoch = 8
    stepping.fail_in(2)
    stepping.epoch = 7
    with pytest.raises(StaleEpochError), stepping.opened(2):
        pass
    stepping.epoch = 9
    stepping.steps(range(2, 4))
    assert stepping.calls == [0, stepping.work.edges[2]]


def test_a_step_that_fails_leaves_a_file_that_is_made_anew(store, seed):
    stepping = Stepping(store, batches(seed), PYRAMID)
    stepping.steps(range(2))
    stepping.fail_in(2)
    stepping.steps(range(2, 5))
    assert stepping.reasons[2] == "left in the middle of a step"
    assert stepping.calls == [0, stepping.work.edges[2]]


def test_a_task_that_fails_before_it_steps_leaves_the_file(store, seed):
    stepping = Stepping(store, batches(seed), PYRAMID)
    stepping.steps(range(2))
    with pytest.raises(ZeroDivisionError), stepping.opened(2):
        raise ZeroDivisionError
    stepping.steps(range(2, 5))
    assert stepping.calls == [0]


def damage(kind, path, random):
    data = bytearray(path.read_bytes())
    if kind == "header":
        data[random.randrange(40, 300)] ^= 1 << random.randrange(8)
    elif kind == "cut":
        del data[random.randrange(len(data)) :]
    elif kind == "empty":
        data = bytearray()
    elif kind == "other":
        data = bytearray(b"something else\n" * 10_000)
    path.write_bytes(data)
    if kind == "missing":
        path.unlink()


@pytest.mark.parametrize("kind", ["header", "cut", "empty", "other", "missing"])
def test_a_broken_file_is_made_anew(store, seed, kind):
    stepping = Stepping(store, batches(seed), BRUTE)
    stepping.steps(range(3))
    forget()
    damage(kind, stepping.path, Random(f"{seed} {kind}"))
    stepping.steps(range(3, 6))
    assert stepping.reasons[3] == "missing or damaged"
    assert stepping.calls == [0, stepping.work.edges[3]]


def test_a_directory_in_the_way_is_an_error_that_names_it(store, seed):
    stepping = Stepping(store, batches(seed), BRUTE)
    stepping.path.mkdir(parents=True)
    with pytest.raises(FileError) as caught, stepping.opened(0):
        pass
    assert str(stepping.path) in str(caught.value)


SESSIONS = [("session", "next boot"), ("next session", "boot"), ("next session", "next boot")]


@pytest.mark.parametrize(("session", "boot"), SESSIONS)
def test_a_file_of_another_session_or_boot_counts_only_with_its_seal(store, seed, tmp_path, session, boot):
    stepping = Stepping(store, batches(seed), PYRAMID)
    stepping.steps(range(3))
    forget()
    stepping.store = ShardStore(tmp_path / "shards", session, boot)
    stepping.steps([3])
    assert stepping.reasons[3] == "of another session, and not sealed"
    assert stepping.store.seal_all() == 1
    stepping.steps([4])
    assert stepping.store.seal_all() == 1
    forget()

    stepping.store = ShardStore(tmp_path / "shards", "the one after", "the boot after")
    assert stepping.store.seal_all() == 0, "nobody vouches for another session's file"
    assert stepping.step(4) == b"answer 4"
    stepping.steps(range(5, 7))
    assert stepping.calls == [0, stepping.work.edges[3]]
    forget()
    stepping.store = store
    stepping.steps([7])
    assert stepping.reasons[-1] == "of another session, and not sealed", "it is the new one's file"


@pytest.mark.parametrize("number", range(6))
def test_a_sealed_file_that_was_changed_is_made_anew(store, seed, tmp_path, number):
    random = Random(f"{seed} {number}")
    stepping = Stepping(store, batches(seed), PYRAMID)
    stepping.steps(range(3))
    assert store.seal_all() == 1
    with stepping.opened(3) as handle:
        used = handle._mapped._regions
        region = random.choice([region for region in used.values() if region.room])
        place = region.offset + random.randrange(int(np.prod(region.shape)) * np.dtype(region.dtype).itemsize)
        assert place >= HEADER_BYTES
    forget()
    data = bytearray(stepping.path.read_bytes())
    data[place] ^= 1 << random.randrange(8)
    stepping.path.write_bytes(data)
    stepping.store = ShardStore(tmp_path / "shards", "next session", "boot")
    stepping.steps([3, 4])
    assert stepping.reasons[3] == "of another session, and not as it was sealed"


def test_what_is_in_the_middle_of_a_step_is_not_sealed(store, seed):
    stepping = Stepping(store, batches(seed), BRUTE)
    stepping.steps([0])
    with stepping.opened(1) as handle:
        assert handle.arrays()
        assert handle.shard
        with pytest.raises(ValueError, match="middle"):
            handle.arrays()
    assert store.seal_all() == 0


def test_the_lock_is_waited_for_and_the_holder_is_named(tmp_path, seed):
    store = ShardStore(tmp_path, "session", "boot", wait_s=0.2)
    stepping = Stepping(store, batches(seed), BRUTE)
    with stepping.opened(0):
        began = time.monotonic()
        with pytest.raises(FileError) as caught, stepping.opened(0):
            pass
        assert 0.2 <= time.monotonic() - began < 5
    assert caught.value.code == "log-busy"
    assert f"process {os.getpid()}" in str(caught.value)
    stepping.steps([0])


def test_threads_take_turns(tmp_path, seed):
    work = batches(seed)
    store, answers, errors = ShardStore(tmp_path, "session", "boot"), {}, []

    def run(shard):
        try:
            for i in range(6):
                with store.opened(
                    work.key(BRUTE, shard=shard),
                    1,
                    position=work.edges[i],
                    rebuild=work.rebuild(BRUTE),
                    batch=b"%d" % i,
                ) as handle:
                    if not handle.answered:
                        answers[shard, i] = told(handle.step(work.blocks[i]))
                        handle.advance(work.edges[i + 1])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(shard,)) for shard in (0, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert answers == {(shard, i): work.answers[i] for shard in range(3) for i in range(6)}


def test_a_full_disk_is_told_and_when_there_is_room_again_it_goes_on(store, seed):
    work = batches(seed, "churn", events=2500, n=8, subscriptions=700)
    stepping = Stepping(store, work, BRUTE)
    stepping.steps([0])
    size, limits = stepping.path.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        with pytest.raises(FileError) as caught:
            stepping.steps(range(1, 8))
        done = len(stepping.reasons) - 1
        for _ in range(2):
            with pytest.raises(FileError) as again:
                stepping.step(7)
            assert again.value.code == "disk-full"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.code == "disk-full"
    assert str(stepping.path) in str(caught.value)
    stepping.steps(range(done, 8))


def test_the_name_of_the_subscriptions_changes_with_them(store, seed):
    stepping = Stepping(store, batches(seed, "mixed", events=400, n=120), PYRAMID)
    names, changing = set(), 0
    for i, block in enumerate(stepping.work.blocks):
        with stepping.opened(i) as handle:
            before = (
                handle.standing,
                handle.arrays()["table.state"].tobytes(),
                handle.arrays()["table.geometry"].tobytes(),
            )
            handle.step(block)
            handle.advance(stepping.work.edges[i + 1])
            after = (
                handle.standing,
                handle.arrays()["table.state"].tobytes(),
                handle.arrays()["table.geometry"].tobytes(),
            )
        assert (before[0] == after[0]) <= (before[1:] == after[1:])
        assert (before[0] == after[0]) == (not np.isin(block.op, (3, 4, 5, 6)).any())
        changing += before[0] != after[0]
        names.add(after[0])
        if i % 10 == 0:
            forget()
    assert 10 < changing < 115
    with stepping.opened(0) as handle:
        assert handle.standing not in names
    with stepping.opened(0) as handle:
        before = handle.standing
        assert handle.shard
        handle.advance(0)
        assert handle.standing != before, "whoever has the shard may have changed anything"


def test_files_of_shards_that_are_no_more_are_removed(store, seed):
    work = batches(seed)
    for shard in (0, 1, 2, 11):
        with store.opened(work.key(BRUTE, shard=shard), 1, position=0, rebuild=work.rebuild(BRUTE)):
            pass
    store.discard_from(2)
    assert [store.path_of(shard).exists() for shard in (0, 1, 2, 11)] == [True, True, False, False]


def serve(pipe, folder, seed, methods):
    """A process that steps when it is told to, and hangs in the middle when it is told that."""
    stepping = Stepping(ShardStore(folder, "session", "boot"), batches(seed, "churn"), methods)
    while True:
        i, hang = pipe.recv()
        if hang:
            with stepping.opened(i) as handle:
                handle.step(stepping.work.blocks[i])
                pipe.send("in the middle")
                time.sleep(60)
        pipe.send((stepping.step(i), stepping.reasons[-1]))


@pytest.mark.parametrize("methods", METHODS)
def test_processes_step_by_turns_and_are_killed(tmp_path, seed, methods):
    work, random = batches(seed, "churn"), Random(seed)
    context = multiprocessing.get_context("spawn")
    processes, pipes = [], []

    def start():
        mine, other = context.Pipe()
        process = context.Process(target=serve, args=(other, tmp_path, seed, methods), daemon=True)
        process.start()
        return process, mine

    def asked(pipe, i, hang):
        pipe.send((i, hang))
        assert pipe.poll(120), "no answer"
        return pipe.recv()

    for _ in range(3):
        process, pipe = start()
        processes.append(process)
        pipes.append(pipe)
    try:
        for i in range(12):
            if i in (4, 8):
                killed = pipes.pop()
                assert asked(killed, i, True) == "in the middle"
                os.kill(processes[len(pipes)].pid, signal.SIGKILL)
                processes[len(pipes)].join()
            answer, reason = asked(random.choice(pipes), i, False)
            assert answer == work.answers[i]
            expected = {0: "missing or damaged", 4: "left in the middle of a step", 8: "left in the middle of a step"}
            assert reason == expected.get(i, "")
    finally:
        for process in processes:
            process.kill()
            process.join()
