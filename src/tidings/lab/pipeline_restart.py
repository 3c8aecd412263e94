"""How long it takes from starting `tidings pipeline` to the first delivery of something new: after it was stopped in
order, and after all of its processes were killed.

Stopped in order, the shards' files are sealed and the next start maps them. Killed, they are made anew from the last
snapshot and the log behind it.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct

from tidings.lab.pipeline_log import DISTINCT, matches_of
from tidings.lab.pipeline_throughput import Run, caught_up
from tidings.lab.workloads import WithinWorkload, generate
from tidings.log.deliveries import open_deliveries
from tidings.log.store import EventLog
from tidings.spark.launch import patient
from tidings.spark.session import session

AT_MOST_S: Final = 600.0


class RestartRun(Struct, frozen=True, kw_only=True):
    """A run, and the workload of its log."""

    run: Run
    workload: WithinWorkload


class Restart(Struct, frozen=True, kw_only=True):
    """Seconds from the start of the process to the commit of the first new deltas."""

    subscriptions: int
    sealed_s: float
    """After it was stopped,"""
    killed_s: float
    """and after it was killed,"""
    snapshot: int | None
    """with the last snapshot at this position,"""
    replayed: int
    """and so many events behind it."""
    stop_s: float
    """From SIGTERM to the end, with sealing."""


def restart(given: RestartRun) -> Restart:
    """Start, stop, start, kill, start."""
    run = given.run
    spark = session(patient(run.master), shards=run.shards)
    try:
        caught_up(spark, run)
    finally:
        spark.stop()
    line = _message(given)
    position = _append(run, line)
    with _started(run, position) as (sealed_s, process):
        before = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(AT_MOST_S)
        stop_s = time.monotonic() - before
    position = _append(run, line)
    with _started(run, position) as (_, process):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with closing(open_deliveries(run.settings.state_folder)) as deliveries:
        snapshot = deliveries.snapshot()
    position = _append(run, line)
    with _started(run, position) as (killed_s, _):
        pass
    behind = snapshot.position if snapshot is not None else 0
    return Restart(
        subscriptions=run.log.subscriptions,
        sealed_s=sealed_s,
        killed_s=killed_s,
        snapshot=None if snapshot is None else snapshot.position,
        replayed=position - behind,
        stop_s=stop_s,
    )


def _message(given: RestartRun) -> bytes:
    """A message that somebody gets, with room for its id."""
    counts = matches_of(given.run.log.path)[:DISTINCT]
    row = int(np.argmax(counts))
    assert counts[row] > 0
    workload = generate(given.workload.of_size(1, min(given.workload.messages, DISTINCT)))
    first, end = workload.messages.word_start[row : row + 2]
    text = " ".join(np.array(workload.words.strings(), object)[workload.message_word[first:end]])
    x, y = workload.messages.place[row, :2].tolist()
    return f'{{"op": "publish", "id": "restart-%d", "at": [{x!r}, {y!r}], "text": "{text}"}}'.encode()


def _append(run: Run, line: bytes) -> int:
    with EventLog.open(Path(run.log.path)) as log:
        return log.append([line % log.end]).first


@contextmanager
def _started(run: Run, position: int) -> Iterator[tuple[float, "subprocess.Popen[bytes]"]]:
    """The command, from when an event has been delivered; and how long that took. It is ended afterwards."""
    command = [sys.executable, "-c", "from tidings.cli.main import main; main()", "pipeline", "--log", run.log.path]
    command += ["--state", run.state, "--master", run.master, "--shards", str(run.shards), "--quiet"]
    command += ["--within", run.method]
    with closing(open_deliveries(run.settings.state_folder)) as deliveries:
        start = time.monotonic()
        process = subprocess.Popen(command, start_new_session=True)
        try:
            done = deliveries.done()
            while done <= position:
                if process.poll() is not None:
                    raise AssertionError(f"the pipeline ended with {process.returncode}")
                if time.monotonic() - start > AT_MOST_S:
                    raise AssertionError(f"nothing was delivered within {AT_MOST_S} s")
                done = deliveries.wait(position, 1.0)
            took = time.monotonic() - start
            if not sum(len(deltas.position) for deltas in deliveries.read(position, position + 1)):
                raise AssertionError("nobody got a message that somebody was to get")
            yield took, process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(AT_MOST_S)
