"""What is right, and whether somebody said just that."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from tidings.columns.deltas import deltas_to_list
from tidings.columns.encode import BlockBuilder
from tidings.log.deliveries import open_deliveries
from tidings.log.files import Entry
from tidings.log.intake import Intake
from tidings.log.store import EventLog
from tidings.log.wire import decode_event
from tidings.matching.engine import Engine
from tidings.model.deltas import Delta
from tidings.model.errors import FileError, InputError, Problem
from tidings.model.events import Configure, Event
from tidings.testing.logs import ScriptedLog
from tidings.testing.scripts import Script

SHOWN = 5
"""So many of the deltas that are wrong are shown."""


def expect_deltas(
    events: str | Path | EventLog | ScriptedLog | Script | Iterable[Event | bytes],
    *,
    skip: Collection[int] = (),
    **methods: str,
) -> list[Delta]:
    """The deltas of a log, or of events from position 0 on, as the engine in this process says them.

    `skip` are positions of events that were set aside: the others are answered as if those had never been. `methods`
    are those of `Engine`; the answer is the same with all of them.
    """
    if isinstance(events, str | Path):
        with EventLog.open(events, read_only=True) as log:
            return expect_deltas(log, skip=skip, **methods)
    if isinstance(events, ScriptedLog):
        events = events.log
    if isinstance(events, EventLog):
        events = _events_of(events)
    elif isinstance(events, Script):
        events = events.events
    intake = Intake(_entries(events, skip), BlockBuilder)
    engine = Engine(intake.configuration, **methods)
    deltas = [delta for block in intake for part in engine.step(block) for delta in deltas_to_list(part)]
    intake.raise_problems()
    return deltas


def delivered(state: str | Path, first: int = 0) -> list[Delta]:
    """The deltas that a pipeline has committed, from a position on."""
    deliveries = open_deliveries(state)
    try:
        return [delta for part in deliveries.read(max(first, deliveries.start())) for delta in deltas_to_list(part)]
    finally:
        deliveries.close()


def assert_exactly(got: Sequence[Delta], wanted: Sequence[Delta]) -> None:
    """Raise an `AssertionError` unless these are the deltas, each once, in order; it says what was lost or doubled.

    That nothing was wanted is an error, too: a test whose answer is empty proves nothing.
    """
    assert wanted, "no deltas are expected, so this proves nothing"
    if list(got) == list(wanted):
        return
    here, there = Counter(got), Counter(wanted)
    told = [
        f"{n} {what}: {', '.join(map(str, list(deltas)[:SHOWN]))}{', …' if len(deltas) > SHOWN else ''}"
        for what, deltas in (
            ("lost", there - here),
            ("doubled", Counter({delta: n - 1 for delta, n in here.items() if n > 1 and delta in there})),
            ("unasked for", Counter({delta: n for delta, n in here.items() if delta not in there})),
        )
        if (n := sum(deltas.values()))
    ]
    raise AssertionError("; ".join(told) or "all are there, each once, but not in order")


def _events_of(log: EventLog) -> Iterator[bytes]:
    if log.start > 0:
        expected = "a log from position 0 on, which its retention has kept"
        raise FileError(Problem("file-unreadable", str(log.path), f"a log from {log.start} on", expected))
    for frame in log.frames(0, log.end):
        yield from frame.lines()


def _entries(events: Iterable[Event | bytes], skip: Collection[int]) -> Iterator[Entry]:
    space = Configure().space
    for position, given in enumerate(events):
        event: Event | InputError
        try:
            event = decode_event(given, space) if isinstance(given, bytes) else given
        except InputError as error:
            event = error
        if isinstance(event, Configure):
            space = event.space
        if position not in skip:
            yield Entry(position, event, given if isinstance(given, bytes) else None)
