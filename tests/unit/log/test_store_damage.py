"""Damaged logs: every flipped bit and every cut is found or does no harm, and what is whole is saved."""

import os
import random
import shutil
import subprocess
import sys
import textwrap

import pytest
from tests.unit.log.logs_on_disk import filled, lines_of, message, sizes_at_random

from tidings.log.salvage import repair
from tidings.log.store import EventLog
from tidings.log.verification import verify
from tidings.log.wal_file import scan_wal
from tidings.model.errors import FileError, TidingsError

SEED = int(os.environ.get("TIDINGS_SEED", random.SystemRandom().randrange(2**32)))
N_FLIPS = int(os.environ.get("TIDINGS_FLIPS", "120"))
SUFFIXES = ("", "-wal")


@pytest.fixture
def chance():
    print(f"TIDINGS_SEED={SEED}")
    return random.Random(SEED)


def remove(path):
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def copied(source, target):
    remove(target)
    for suffix in SUFFIXES:
        if source.with_name(source.name + suffix).exists():
            shutil.copy(source.with_name(source.name + suffix), target.with_name(target.name + suffix))


def flip(path, chance):
    data = bytearray(path.read_bytes())
    at, bit = chance.randrange(len(data)), chance.randrange(8)
    data[at] ^= 1 << bit
    path.write_bytes(data)
    return at, bit


def state_of(path):
    """Everything that a log says, or None when it does not."""
    try:
        with EventLog.open(path, read_only=True) as log:
            return lines_of(log), log.end, log.needs(), log.configuration, log.lost()
    except TidingsError:
        return None


def left_open(path, sizes):
    """A log whose writer was killed: its newest commits are in the write-ahead log only."""
    code = """
        import os, sys
        from pathlib import Path
        from tests.unit.log.logs_on_disk import message
        from tidings.log.store import EventLog
        log, number = EventLog.open(Path(sys.argv[1]), create=True), 0
        for size in map(int, sys.argv[2:]):
            log.append([message(number + i) for i in range(size)])
            number += size
        log.need("spark", 3)
        os._exit(0)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(path), *map(str, sizes)], check=True)
    return sum(sizes)


@pytest.mark.parametrize("where", ["file", "write-ahead log"])
def test_every_flipped_bit_is_found_or_does_no_harm(tmp_path, chance, where):
    source, hurt, saved = tmp_path / "source.log", tmp_path / "hurt.log", tmp_path / "saved.log"
    sizes = sizes_at_random(chance.random(), 40)
    if where == "file":
        n = filled(source, sizes)
        with EventLog.open(source) as log:
            log.need("spark", 3)
    else:
        n = left_open(source, sizes)
    copied(source, hurt)
    assert verify(hurt) == []
    right = state_of(hurt)
    assert right is not None
    assert len(right[0]) == n > 500
    n_found = 0
    for _ in range(N_FLIPS):
        copied(source, hurt)
        victim = hurt if where == "file" else hurt.with_name(hurt.name + "-wal")
        at, bit = flip(victim, chance)
        what = f"byte {at}, bit {bit}"
        problems = verify(hurt)
        assert problems or state_of(hurt) == right, what
        n_found += bool(problems)
        remove(saved)
        done = repair(hurt, saved)
        assert verify(saved) == [], what
        found = state_of(saved)
        assert found is not None
        assert found[1] == n, what
        # At most one frame was touched.
        n_lost = sum(one.end - one.first for one in done.lost)
        assert n_lost <= max(sizes), what
        assert set(found[0]) <= set(right[0]), what
        assert len(found[0]) == n - n_lost, what
    assert n_found > N_FLIPS // 2


def test_a_damaged_line_is_all_that_is_lost_of_its_frame(tmp_path):
    path, saved = tmp_path / "city.log", tmp_path / "saved.log"
    filled(path, [3, 200, 3])
    data = path.read_bytes()
    path.write_bytes(data.replace(message(100), message(100).replace(b"flood", b"blood")))
    (problem,) = verify(path)
    assert problem.code == "file-corrupt"
    assert "positions 3 to 202" in problem.found
    assert "page" in problem.found
    with EventLog.open(path, read_only=True) as log, pytest.raises(FileError, match="position 3"):
        lines_of(log)
    done = repair(path, saved)
    assert [(one.first, one.end) for one in done.lost] == [(100, 101)]
    with EventLog.open(saved) as log:
        assert lines_of(log) == [message(i) for i in range(206) if i != 100]
        assert [frame.first for frame in log.frames(99, 103)] == [99, 101]
        assert log.append([message(100)]).first == 206
    assert verify(saved) == []


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_a_cut_file_is_found_and_what_is_left_is_saved(tmp_path, share):
    path, saved = tmp_path / "city.log", tmp_path / "saved.log"
    n = filled(path, [50] * 40)
    size = path.stat().st_size
    os.truncate(path, int(size * share))
    assert verify(path)
    done = repair(path, saved)
    assert verify(saved) == []
    with EventLog.open(saved, read_only=True) as log:
        lines = lines_of(log)
        assert len(lines) == done.n_events >= n * (share - 0.2)
        assert set(lines) <= {message(i) for i in range(n)}


@pytest.mark.parametrize("n_bytes", [0, 10, 32])
def test_a_file_of_which_nothing_is_left_is_refused(tmp_path, n_bytes):
    path = tmp_path / "city.log"
    filled(path, [5])
    os.truncate(path, n_bytes)
    assert verify(path)
    with pytest.raises(FileError):
        repair(path, tmp_path / "saved.log")
    assert not (tmp_path / "saved.log").exists()


def test_a_log_without_its_first_page_is_saved(tmp_path):
    path, saved = tmp_path / "city.log", tmp_path / "saved.log"
    n = filled(path, [7, 90, 200])
    data = path.read_bytes()
    path.write_bytes(bytes(4096) + data[4096:])
    assert verify(path)
    assert repair(path, saved).lost == []
    with EventLog.open(saved, read_only=True) as log:
        assert lines_of(log) == [message(i) for i in range(n)]


def test_a_damaged_commit_in_the_write_ahead_log_stops_appending(tmp_path):
    path = tmp_path / "city.log"
    n = left_open(path, [20] * 10)
    wal = path.with_name("city.log-wal")
    scan = scan_wal(path)
    assert scan is not None
    assert scan.n_valid == scan.n_committed == len(scan.pages) > 10
    data = bytearray(wal.read_bytes())
    data[len(data) // 2] ^= 4
    wal.write_bytes(data)
    with pytest.raises(FileError) as caught:
        EventLog.open(path)
    assert caught.value.code == "file-corrupt"
    assert verify(path)
    done = repair(path, tmp_path / "saved.log")
    assert done.end == n
    assert sum(one.end - one.first for one in done.lost) <= 20


def test_what_stands_on_something_lost_is_lost_with_it(tmp_path):
    path, saved = tmp_path / "city.log", tmp_path / "saved.log"
    register = b'{"op":"register","id":"s1","kind":"around","when":"flood","at":[1,2],"shape":{"radius_m":500}}'
    move = b'{"op":"move","id":"s1","at":[3,4]}'
    with EventLog.open(path, create=True) as log:
        log.append([message(0), register, message(1)])
        log.append([message(2), move, message(3)])
    data = path.read_bytes()
    assert data.count(register) == 1
    path.write_bytes(data.replace(register, register.replace(b"flood", b"blood")))
    done = repair(path, saved)
    assert [(one.first, one.end, one.why) for one in done.lost] == [
        (1, 2, "damaged"),
        (4, 5, "stands on what was lost"),
    ]
    with EventLog.open(saved) as log:
        assert lines_of(log) == [message(i) for i in range(4)]
        assert log.append([register]).first == 6


def test_a_log_that_forgot_its_beginning_is_repaired_from_a_checkpoint(tmp_path):
    path, saved = tmp_path / "city.log", tmp_path / "saved.log"
    register = b'{"op":"register","id":"s1","kind":"within","when":"flood","where":"everywhere"}'
    with EventLog.open(path, create=True) as log:
        log.append([register], producer="p", sequence=1)
        log.append([message(0)])
        log.retain(max_bytes=0)
        log.append([message(1), b'{"op":"remove","id":"s1"}', message(2)])
    done = repair(path, saved)
    assert (done.start, done.end, done.lost) == (1, 5, [])
    with EventLog.open(saved) as log:
        assert log.append([register]).first == 5
        assert log.append([], producer="p", sequence=1).repeated


def test_a_damaged_checkpoint_falls_back_to_replaying(tmp_path):
    path = tmp_path / "city.log"
    filled(path, [30, 30])
    with EventLog.open(path) as log:
        log.append([message(100)])
        log._writer().checkpoint()
        hurt = "CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB)"
        log._writer().db.execute(f"UPDATE ledger SET data = {hurt}")
    assert [problem.code for problem in verify(path)][:1] == ["file-corrupt"]
    with EventLog.open(path) as log, pytest.raises(TidingsError, match="id-taken"):
        log.append([message(3)])


def test_a_log_that_forgot_its_beginning_and_lost_its_ledger_can_be_appended_to_after_repair(tmp_path):
    path, saved = tmp_path / "city.log", tmp_path / "saved.log"
    with EventLog.open(path, create=True) as log:
        log.append([message(0)])
        log.append([message(1)])
        log.retain(max_bytes=0)
        log._writer().db.execute("DELETE FROM ledger")
    with EventLog.open(path) as log, pytest.raises(FileError, match="checkpoint"):
        log.append([message(2)])
    done = repair(path, saved)
    assert [(one.first, one.end) for one in done.lost] == [(0, 1)]
    assert verify(saved) == []
    with EventLog.open(saved) as log:
        assert log.append([message(2)]).first == 2
        assert lines_of(log) == [message(1), message(2)]
