"""The logs that pipelines are measured on: all registrations of a workload, then its messages, through `EventLog`.

Beside a log stands how many subscriptions each of its messages matches, as an index says it: a pipeline that delivers
another number of deltas has not been measured.
"""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tidings.lab.lines import configure_line, message_lines, register_lines
from tidings.lab.loading import batches_of, loaded
from tidings.lab.workloads import WithinWorkload, Workload, generate
from tidings.log.store import EventLog

GROUP: Final = 5_000
"""Events that are appended at once."""
DISTINCT: Final = 1_000_000
"""Of more messages than these, each comes again under another id."""


class LogWanted(Struct, frozen=True, kw_only=True):
    """Which log to make, and where."""

    path: str
    workload: WithinWorkload
    """Its number of messages is that of the log."""
    method: str = "pyramid"

    @property
    def base(self) -> WithinWorkload:
        """The workload without what is repeated."""
        return self.workload.of_size(self.workload.subscriptions, min(self.workload.messages, DISTINCT))


class LogMade(Struct, frozen=True, kw_only=True):
    """A log that was made."""

    path: str
    subscriptions: int
    messages: int
    first_message: int
    """The position of the first message."""
    end: int
    register_s: float
    """Time of appending all registrations,"""
    publish_s: float
    """and all messages."""
    file_bytes: int
    matches: int
    """Of all messages."""

    def expected(self, messages: int) -> int:
        """The deltas that the first messages give."""
        return int(matches_of(self.path)[:messages].sum())


def make_log(wanted: LogWanted) -> LogMade:
    """Make a log, or say what is known of the same one that was made before."""
    path, about = Path(wanted.path), Path(f"{wanted.path}.json")
    key = msgspec.json.encode(wanted)
    if about.exists():
        made_for, made = msgspec.json.decode(about.read_bytes(), type=tuple[LogWanted, LogMade])
        if made_for == wanted:
            return made
    for old in path.parent.glob(f"{path.name}*"):
        if old.is_file():
            old.unlink()
    workload = generate(wanted.base)
    counts = _counts(wanted, workload)
    np.save(f"{path}.matches.npy", counts)
    with EventLog.open(path, create=True) as log:
        log.append([configure_line(workload)])
        register_s = _append(log, register_lines(workload))
        first = log.end
        publish_s = _append(log, _messages(workload, wanted.workload.messages))
        made = LogMade(
            path=str(path),
            subscriptions=wanted.workload.subscriptions,
            messages=wanted.workload.messages,
            first_message=first,
            end=log.end,
            register_s=register_s,
            publish_s=publish_s,
            file_bytes=path.stat().st_size,
            matches=int(counts.sum()),
        )
    about.write_bytes(b"[" + key + b"," + msgspec.json.encode(made) + b"]")
    return made


def matches_of(path: str) -> npt.NDArray[np.int32]:
    """How many subscriptions each message of a log matches."""
    counts: npt.NDArray[np.int32] = np.load(f"{path}.matches.npy")
    return counts


def _messages(workload: Workload, n: int) -> Iterator[bytes]:
    distinct = len(workload.messages.expires)
    for first in range(0, n, distinct):
        yield from message_lines(workload, 0, min(distinct, n - first), first)


def _append(log: EventLog, lines: Iterator[bytes]) -> float:
    seconds = 0.0
    while group := list(islice(lines, GROUP)):
        start = time.perf_counter()
        log.append(group)
        seconds += time.perf_counter() - start
    return seconds


def _counts(wanted: LogWanted, workload: Workload) -> npt.NDArray[np.int32]:
    index = loaded(wanted.method, workload.space, workload.subscriptions)
    parts = [np.diff(index.pairs(batch).start) for batch in batches_of(workload.messages)]
    distinct = np.concatenate(parts).astype(np.int32)
    n = wanted.workload.messages
    return np.tile(distinct, -(-n // len(distinct)))[:n]
