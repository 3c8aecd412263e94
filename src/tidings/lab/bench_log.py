"""The benchmark of appending: a log against what SQLite itself can do with the same lines, in the same run.

The floor inserts bare lines, a row each, in groups that are committed with `synchronous=FULL`; it checks nothing, and
nobody could find a flipped bit in it. The log validates every event and keeps checksums. Passes alternate, since the
time of an fsync changes with whatever else the disk does; the median pass counts.
"""

import gc
import sqlite3
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
from msgspec import Struct

from tidings.lab.report import Report, Row, this_machine
from tidings.log.store import EventLog

IN_FLIGHT: Final = 64
WORDS: Final = 2000

Progress = Callable[[str], None]
_Groups = Sequence[Sequence[bytes]]


class LogBench(Struct, frozen=True, kw_only=True):
    """What to measure."""

    messages: int = 100_000
    """Of one pass."""
    group: int = 200
    repetitions: int = 5
    seed: int = 1
    folder: str | None = None
    """On which disk; a temporary folder when absent."""


def bench_log(options: LogBench, progress: Progress = lambda _: None) -> Report:
    """Measure appends: the floor, one caller that waits for each answer, and one that does not."""
    progress("making the messages")
    passes = [_groups(options, i) for i in range(options.repetitions)]
    spent: dict[str, list[float]] = {"sqlite-rows": [], "log": [], "log (append_later)": []}
    waits: dict[str, list[float]] = {name: [] for name in spent}
    with tempfile.TemporaryDirectory(prefix="tidings-bench-", dir=options.folder) as folder:
        for i, groups in enumerate(passes):
            for name, measure in zip(spent, (_floor, _waiting, _later), strict=True):
                progress(f"pass {i + 1} of {options.repetitions}: {name}")
                gc.collect()
                start = time.perf_counter()
                waits[name] += measure(Path(folder) / f"{name}-{i}.db", groups)
                spent[name].append(time.perf_counter() - start)
    rows = [_row(name, options, spent[name], waits[name]) for name in spent]
    speeds = {row.name: row.messages_per_s for row in rows}
    floor = speeds["sqlite-rows"]
    ratios = {f"{name}/sqlite-rows": speed / floor for name, speed in speeds.items() if name != "sqlite-rows"}
    return Report(options.seed, this_machine(), rows, ratios)


def _groups(options: LogBench, number: int) -> list[list[bytes]]:
    random = np.random.default_rng((options.seed, number))
    words = [f"word{i}" for i in range(WORDS)]
    n = options.messages
    lon, lat = random.uniform(-180, 180, n).round(5).tolist(), random.uniform(-85, 85, n).round(5).tolist()
    chosen = random.zipf(1.3, (n, 8)) % WORDS
    lines = [
        b'{"op":"publish","id":"m%d","ts":%d,"at":[%r,%r],"text":"%b"}'
        % (i, 1_780_000_000_000 + i, lon[i], lat[i], " ".join([words[k] for k in chosen[i]]).encode())
        for i in range(n)
    ]
    return [lines[i : i + options.group] for i in range(0, n, options.group)]


def _floor(path: Path, groups: _Groups) -> list[float]:
    waits = []
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE events (position INTEGER PRIMARY KEY, line BLOB)")
        position = 0
        for group in groups:
            start = time.perf_counter()
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO events VALUES (?, ?)", enumerate(group, position))
            db.execute("COMMIT")
            waits.append(time.perf_counter() - start)
            position += len(group)
    return waits


def _waiting(path: Path, groups: _Groups) -> list[float]:
    waits = []
    with EventLog.open(path, create=True) as log:
        for group in groups:
            start = time.perf_counter()
            log.append(group)
            waits.append(time.perf_counter() - start)
        assert log.end == sum(map(len, groups))
    return waits


def _later(path: Path, groups: _Groups) -> list[float]:
    waits = []
    with EventLog.open(path, create=True) as log:
        sent = deque((time.perf_counter(), log.append_later(group)) for group in groups[:IN_FLIGHT])
        for group in [*groups[IN_FLIGHT:], *[None] * len(sent)]:
            start, future = sent.popleft()
            future.result()
            waits.append(time.perf_counter() - start)
            if group is not None:
                sent.append((time.perf_counter(), log.append_later(group)))
        assert log.end == sum(map(len, groups))
    return waits


def _row(name: str, options: LogBench, spent: list[float], waits: list[float]) -> Row:
    p50, p99 = np.percentile(waits, [50, 99]).tolist()
    return Row(
        name=name,
        role="floor" if name == "sqlite-rows" else "method",
        messages_per_s=options.messages / median(spent),
        p50_us=p50 * 1e6,
        p99_us=p99 * 1e6,
        matches=options.messages,
        messages=options.messages,
        subscriptions=0,
        matches_per_message=1.0,
    )
