"""The durable log with several processes: who appends, who is killed, and what the disk was told before the answer."""

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import pytest
from tests.unit.log.logs_on_disk import lines_of, message

from tidings.log.store import EventLog
from tidings.log.verification import verify
from tidings.model.errors import InputError

SEED = int(os.environ.get("TIDINGS_SEED", "1"))


def append_many(path, who, n):
    with EventLog.open(path) as log:
        for i in range(n):
            first = log.append([message(10_000 * who + 2 * i), message(10_000 * who + 2 * i + 1)]).first
            assert lines_of(log, first, first + 1) == [message(10_000 * who + 2 * i)]


def test_several_processes_append_to_one_order(tmp_path):
    path, n_processes, n_each = tmp_path / "city.log", 3, 40
    with EventLog.open(path, create=True) as log:
        spawn = multiprocessing.get_context("spawn")
        processes = [spawn.Process(target=append_many, args=(path, who, n_each)) for who in range(1, n_processes + 1)]
        for process in processes:
            process.start()
        for i in range(50):
            log.append([message(i)])
        for process in processes:
            process.join(60)
            assert process.exitcode == 0
        lines = lines_of(log)
        assert len(lines) == log.end == 50 + 2 * n_processes * n_each
        assert len(set(lines)) == len(lines)
        with pytest.raises(InputError, match="id-taken"):
            log.append([message(10_001)])
    assert verify(path) == []


def test_a_log_that_another_process_begins_has_its_configuration(tmp_path):
    path = tmp_path / "city.log"
    with EventLog.open(path, create=True) as one, EventLog.open(path) as other:
        one.append_later([])
        other.append([b'{"op":"configure","space":{"plane":[0,0,10,10]}}'])
        with pytest.raises(InputError, match="place-outside"):
            one.append([message(1)])
        assert one.append([b'{"op":"tick","ts":1}']).first == 1


KILLED = """
    import sys
    from tests.unit.log.logs_on_disk import message
    from tidings.log.store import EventLog
    log = EventLog.open(sys.argv[1])
    from collections import deque
    sent = deque()
    start = int(sys.argv[2])
    for k in range(100_000):
        sent.append(log.append_later([message(start + 5 * k + i) for i in range(5)], producer=f"p{start}", sequence=k))
        if len(sent) >= 8:
            answer = sent.popleft().result()
            print(answer.first, answer.count, flush=True)
"""


def test_what_was_acknowledged_survives_a_kill(tmp_path):
    path = tmp_path / "city.log"
    with EventLog.open(path, create=True):
        pass
    acknowledged = 0
    for trial in range(4):
        start = 1_000_000 * (trial + 1)
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(KILLED), str(path), str(start)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(20)]
        time.sleep(0.02 * trial)
        os.kill(process.pid, signal.SIGKILL)
        told += process.stdout.read().splitlines(keepends=True)
        process.wait()
        answers = [tuple(map(int, line.split())) for line in told if line.endswith("\n")]
        assert len(answers) >= 20
        with EventLog.open(path) as log:
            lines = lines_of(log)
            assert len(lines) == log.end
            for k, (first, count) in enumerate(answers):
                assert lines[first : first + count] == [message(start + 5 * k + i) for i in range(5)]
            # The client does not know whether its next ones came; sending them again does no harm.
            again = log.append([message(start + 5 * len(answers) + i) for i in range(5)], producer=f"p{start}",
                               sequence=len(answers))  # fmt: skip
            assert lines_of(log).count(message(start + 5 * len(answers))) == 1
            assert again.count == 5
        acknowledged += len(answers)
    assert acknowledged >= 80


TRACED = """
    import os, sys
    from tests.unit.log.logs_on_disk import message
    from tidings.log.store import EventLog
    with EventLog.open(sys.argv[1], create=True) as log:
        for i in range(3):
            log.append([message(1000 + i)])
            os.write(1, b"acknowledged %d" % i)
"""


def test_the_disk_is_told_before_the_caller(tmp_path):
    strace = shutil.which("strace")
    if strace is None:
        warnings.warn("no strace here: the order of write and fsync is NOT tested", stacklevel=1)
        pytest.skip("no strace")
    trace, path = tmp_path / "trace", tmp_path / "city.log"
    calls = "trace=write,pwrite64,fsync,fdatasync"
    command = [strace, "-f", "-y", "-s", "200000", "-e", calls, "-o", str(trace)]
    done = subprocess.run(
        [*command, sys.executable, "-c", textwrap.dedent(TRACED), str(path)], capture_output=True, text=True
    )
    if done.returncode and "ptrace" in done.stderr:
        warnings.warn("strace may not trace here: the order of write and fsync is NOT tested", stacklevel=1)
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    calls_made = trace.read_text(errors="replace").splitlines()
    for i in range(3):
        written = next(at for at, call in enumerate(calls_made) if f'm{1000 + i}\\"' in call and "-wal>" in call)
        told = next(at for at, call in enumerate(calls_made) if f"acknowledged {i}" in call)
        synced = [at for at, call in enumerate(calls_made) if re.search(r"f(data)?sync\(.*-wal>", call)]
        assert any(written < at < told for at in synced)
