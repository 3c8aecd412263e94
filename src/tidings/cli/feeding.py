"""Files of events as submissions to a log: groups of events that keep the numbers of their lines."""

import threading
import time
from collections.abc import Iterator
from queue import Empty, Queue
from typing import Final, NamedTuple

from tidings.log.files import LINES, Entry, EventFile
from tidings.log.wire import encode_event
from tidings.model.errors import InputError
from tidings.model.events import Event

GATHER_S: Final = 0.05
"""So long a line of standard input waits for others to come with it."""
QUEUED: Final = 65_536
GROUP_BYTES: Final = 8 << 20


class Given(NamedTuple):
    """One event of the input."""

    position: int
    """The number of its line, row or feature."""
    event: bytes | Event | InputError
    """Its line, to be judged by the log; or itself; or why it is none."""
    raw: bytes


def groups(events: EventFile, n_most: int, *, at_once: bool) -> Iterator[list[Given]]:
    """The events in groups. `at_once`: what has come goes on after a moment, as befits a pipe."""
    group: list[Given] = []
    n_bytes = 0
    for given in _gathered(_given(events)) if at_once else _given(events):
        if given is not None:
            group.append(given)
            n_bytes += len(given.raw)
        if group and (given is None or len(group) >= n_most or n_bytes >= GROUP_BYTES):
            yield group
            group, n_bytes = [], 0
    if group:
        yield group


def _given(events: EventFile) -> Iterator[Given]:
    if events.format == LINES:
        for position, data, problem in events.lines():
            yield Given(position, data if problem is None else InputError(problem), data)
        return
    for entry in events:
        yield Given(entry.position, entry.event, _raw(entry))


def _raw(entry: Entry) -> bytes:
    if entry.raw is not None:
        return entry.raw
    return b"null" if isinstance(entry.event, InputError) else encode_event(entry.event)


def _gathered(source: Iterator[Given]) -> Iterator[Given | None]:
    """What a source gives; None when nothing more has come for a moment."""
    queue: Queue[Given | BaseException | None] = Queue(QUEUED)

    def read() -> None:
        try:
            for given in source:
                queue.put(given)
            queue.put(None)
        except BaseException as error:
            queue.put(error)

    threading.Thread(target=read, daemon=True).start()
    until: float | None = None
    while True:
        try:
            found = queue.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
        except Empty:
            until = None
            yield None
            continue
        if found is None:
            return
        if isinstance(found, BaseException):
            raise found
        until = until or time.monotonic() + GATHER_S
        yield found
