"""Deliveries when things go wrong: killed drivers, power cuts, full disks."""

import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings

import pytest
from tests.unit.log.deltas_at_random import Row, columns, merged, plain, rows_at_random

from tidings.columns.deltas import NO_VALUE
from tidings.log import deliveries_sqlite, manifests
from tidings.log.deliveries import STORES, Batch, open_deliveries, write_segment
from tidings.log.segments import segment_bytes
from tidings.model.errors import FileError

SHARDS = 2
KILLED_FOR_S = 4.0

stores = pytest.mark.parametrize("store", STORES)


def shards_of(seed, batch):
    """What the shards answer, whoever asks them."""
    shards = [[] for _ in range(SHARDS)]
    for position in range(batch.first, batch.end):
        draw = random.Random(f"{seed} {position}")
        for rows, more in zip(shards, rows_at_random(draw, position, position + 1, SHARDS, "mixed"), strict=True):
            rows += more
    return shards


def run(state, deliveries, epoch, batch, shards):
    answers = [
        write_segment(
            state, epoch, shard, batch.first, batch.end, segment_bytes(shard, epoch, *_span(batch), [columns(rows)])
        )
        for shard, rows in enumerate(shards)
    ]
    deliveries.commit(epoch, batch, answers)
    return answers


def _span(batch):
    return batch.first, batch.end


def everything(deliveries):
    return [row for deltas in deliveries.read(0) for row in plain(deltas)]


def drive(state, seed, said):
    """A driver that never stops; it says what is committed."""
    draw = random.Random(f"{seed} {os.getpid()}")
    deliveries = open_deliveries(state)
    epoch = deliveries.claim()
    while True:
        first = deliveries.done()
        batch = deliveries.pending() or Batch(first, first + draw.randrange(1, 9))
        deliveries.plan(epoch, batch)
        run(state, deliveries, epoch, batch, shards_of(seed, batch))
        os.write(said, b"%d\n" % batch.end)


@pytest.mark.parametrize("store", ["sqlite", "segments"])
def test_a_driver_that_is_killed(store, tmp_path, seed, monkeypatch):
    monkeypatch.setattr(deliveries_sqlite, "INLINE_BYTES", 700)
    monkeypatch.setattr(manifests, "CHECKPOINT_EVERY", 8)
    monkeypatch.setattr(manifests, "PAGE_COMMITS", 4)
    draw = random.Random(seed)
    open_deliveries(tmp_path / "state", store=store, create=True).close()
    state, rows, done, kills = tmp_path / "state", [], 0, 0
    until = time.monotonic() + KILLED_FOR_S
    while time.monotonic() < until or kills < 5:
        listen, said = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                drive(state, seed, said)
            finally:
                os._exit(1)
        os.close(said)
        with os.fdopen(listen, "rb") as heard:
            if kills % 3:
                heard.readline()
            time.sleep(draw.uniform(0, 0.06))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            acknowledged = [int(line) for line in heard.read().split()]
        deliveries = open_deliveries(state)
        reached = deliveries.done()
        assert reached >= max([done, *acknowledged])
        rows += merged(shards_of(seed, Batch(done, reached)))
        done, kills = reached, kills + 1
        assert everything(deliveries) == rows
        assert deliveries.verify() == []
        deliveries.close()
    assert done > 50
    assert len(rows) > 200
    deliveries = open_deliveries(state)
    deliveries.claim()
    folder = state / ("segments" if store == "sqlite" else "deltas")
    assert not [name for name in os.listdir(folder) if name.endswith(".part")]
    assert any(name.endswith(".segment") for name in os.listdir(folder))


TRACED = """
import os, sys
from pathlib import Path
from tests.unit.log.test_deliveries_faults import Batch, large_rows, run, open_deliveries
state, store = Path(sys.argv[1]), sys.argv[2]
deliveries = open_deliveries(state, store=store, create=True)
epoch = deliveries.claim()
batch = Batch(0, 5)
deliveries.plan(epoch, batch)
os.path.exists("/begin")
run(state, deliveries, epoch, batch, [large_rows()])
os.path.exists("/committed")
"""


def large_rows():
    return [Row(0, f"{i:06d}" * 3, 1, "m", NO_VALUE, None, 0) for i in range(20_000)]


@stores
def test_what_is_durable_before_what(store, tmp_path):
    """A power cut never leaves a commit that names data which is not there."""
    if shutil.which("strace") is None:
        warnings.warn("strace is not there: the order of fsyncs was NOT tested", stacklevel=1)
        pytest.skip("strace is not there: the order of fsyncs was NOT tested")
    trace, state = tmp_path / "trace", tmp_path / "state"
    calls = "fsync,fdatasync,rename,renameat,renameat2,link,linkat,pwrite64,stat,newfstatat,access"
    command = ["strace", "-f", "-y", "-s", "500", "-e", f"trace={calls}", "-o", str(trace)]
    done = subprocess.run([*command, sys.executable, "-c", TRACED, str(state), store], capture_output=True, text=True)
    if "ptrace" in done.stderr and not trace.read_text():
        warnings.warn("strace may not trace here: the order of fsyncs was NOT tested", stacklevel=1)
        pytest.skip("strace may not trace here: the order of fsyncs was NOT tested")
    assert done.returncode == 0, done.stderr
    text = trace.read_text()
    between = text[text.index('"/begin"') : text.index('"/committed"')].splitlines()
    folder = state / ("segments" if store == "sqlite" else "deltas")
    suffix = r"\.parquet" if store == "parquet" else r"\.segment"
    expected = [
        rf"fsync\(\d+<{folder}/\..*{suffix}.*\.part>",
        rf"rename.*{folder}/.*\.part.*{folder}/\d.*{suffix}\"",
        rf"fsync\(\d+<{folder}>",
    ]
    if store == "sqlite":
        expected += [
            rf"pwrite64\(\d+<{state}/deliveries\.db-wal>",
            rf"f(data)?sync\(\d+<{state}/deliveries\.db-wal>",
        ]
    else:
        expected += [
            rf"fsync\(\d+<{state}/manifests/\..*\.part>",
            rf"link.*{state}/manifests/.*\.part.*{state}/manifests/\d+\.json\"",
            rf"fsync\(\d+<{state}/manifests>",
        ]
    at = -1
    for pattern in expected:
        found = [i for i, line in enumerate(between) if re.search(pattern, line)]
        assert found, (pattern, between)
        assert found[0] > at, (pattern, between)
        at = found[0]
    if store == "sqlite":
        # Behind the last write to the log of changes it is made durable once more.
        writes = [i for i, line in enumerate(between) if "deliveries.db-wal>" in line and "pwrite64" in line]
        syncs = [i for i, line in enumerate(between) if "deliveries.db-wal>" in line and "sync(" in line]
        assert max(syncs) > max(writes)


class Full:
    """A disk that is full from the n-th durable write on."""

    def __init__(self, monkeypatch, at):
        self.left = at
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, descriptor):
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._fsync(descriptor)


@pytest.mark.parametrize("store", ["segments", "parquet"])
def test_a_full_disk_under_manifests(store, tmp_path, seed, monkeypatch):
    monkeypatch.setattr(manifests, "CHECKPOINT_EVERY", 2)
    state = tmp_path / "state"
    deliveries = open_deliveries(state, store=store, create=True)
    epoch, rows = deliveries.claim(), []
    failures = 0
    for number in range(12):
        batch = Batch(number * 3, number * 3 + 3)
        shards = shards_of(seed, batch)
        before = deliveries.done()
        with monkeypatch.context() as patched:
            Full(patched, number)
            codes = []
            try:
                run(state, deliveries, epoch, batch, shards)
            except FileError as error:
                codes.append(error.code)
        assert set(codes) <= {"disk-full"}
        failures += len(codes)
        if codes:
            # A name that could not be made durable may be there; then it is whole, and the batch is done.
            assert open_deliveries(state).done() in (before, batch.end)
            assert everything(open_deliveries(state)) in (rows, rows + merged(shards))
        run(state, deliveries, epoch, batch, shards)
        rows += merged(shards)
        assert everything(deliveries) == everything(open_deliveries(state)) == rows
    assert failures > 3
    assert len(rows) > 30
    assert not [name for _, _, names in os.walk(state) for name in names if name.endswith(".part")]


def test_a_full_disk_under_sqlite(tmp_path, seed, monkeypatch):
    state = tmp_path / "state"
    deliveries = open_deliveries(state, store="sqlite", create=True)
    epoch, batch = deliveries.claim(), Batch(0, 3)
    shards = shards_of(seed, batch)
    run(state, deliveries, epoch, batch, shards)
    rows = merged(shards)
    (pages,) = deliveries._db.execute("PRAGMA page_count").fetchone()
    deliveries._db.execute(f"PRAGMA max_page_count={pages}")
    more = Batch(3, 6)
    many = [[row._replace(position=4) for row in large_rows()[:7000]]]
    with pytest.raises(FileError) as caught:
        run(state, deliveries, epoch, more, many)
    assert caught.value.code == "disk-full"
    assert "deliveries.db" in str(caught.value)
    for one in (deliveries, open_deliveries(state)):
        assert (one.done(), everything(one), one.verify()) == (3, rows, [])
    deliveries._db.execute("PRAGMA max_page_count=1000000")
    run(state, deliveries, epoch, more, many)
    assert everything(deliveries) == rows + many[0]


def test_no_room_for_a_segment_file(tmp_path, monkeypatch):
    state = tmp_path / "state"
    deliveries = open_deliveries(state, store="sqlite", create=True)
    epoch = deliveries.claim()
    data = segment_bytes(0, epoch, 0, 5, [columns(large_rows())])
    with monkeypatch.context() as patched:
        Full(patched, 0)
        with pytest.raises(FileError) as caught:
            write_segment(state, epoch, 0, 0, 5, data)
    assert caught.value.code == "disk-full"
    assert os.listdir(state / "segments") == []


def test_a_commit_of_a_file_that_is_gone(tmp_path):
    state = tmp_path / "state"
    deliveries = open_deliveries(state, store="sqlite", create=True)
    epoch = deliveries.claim()
    answer = write_segment(state, epoch, 0, 0, 5, segment_bytes(0, epoch, 0, 5, [columns(large_rows())]))
    (state / "segments" / answer.file).unlink()
    with pytest.raises(FileError) as caught:
        deliveries.commit(epoch, Batch(0, 5), [answer])
    assert answer.file in str(caught.value)
    assert deliveries.done() == 0


@pytest.mark.parametrize("store", ["sqlite", "segments"])
def test_no_byte_of_the_books_changes_unseen(store, tmp_path, seed):
    """Each flipped byte of what is not a segment is found, or changes nothing that can be read."""
    state = tmp_path / "state"
    deliveries = open_deliveries(state, store=store, create=True)
    epoch, rows = deliveries.claim(), []
    for first in range(0, 12, 3):
        batch = Batch(first, first + 3)
        run(state, deliveries, epoch, batch, shards_of(seed, batch))
        rows += merged(shards_of(seed, batch))
    deliveries.close()
    draw, found = random.Random(seed), 0
    files = [state / "deliveries.db"] if store == "sqlite" else sorted((state / "manifests").iterdir())
    for path in files:
        whole = path.read_bytes()
        n = 150 if store == "sqlite" else 20
        for at in (draw.randrange(len(whole)) for _ in range(n)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :])
            try:
                assert everything(open_deliveries(state)) == rows
            except FileError:
                found += 1
            path.write_bytes(whole)
            for left in ("deliveries.db-wal", "deliveries.db-shm"):
                (state / left).unlink(missing_ok=True)
    assert found > 10
