"""Taking in a log: events of a file are checked in order and become blocks; what is wrong is gathered and said at once.

Without a file for rejects, one problem means that nothing of the input is applied: from then on the rest is checked
for more problems, and no more blocks come. With one, the bad events go there and the others are applied as if those
had never been; their positions stay the numbers of their lines.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Final, Generic, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from tidings.log.files import Entry, EventFile, configured_space
from tidings.log.ledger import Ledger
from tidings.log.wire import as_it_stood, encode_event
from tidings.model.errors import MAX_PROBLEMS, InputError, Problem
from tidings.model.events import Configure, Event

BLOCK_EVENTS: Final = 8192
"""The most events of a block."""

_Block_co = TypeVar("_Block_co", covariant=True)


class Builder(Protocol[_Block_co]):
    """What makes blocks of events, `columns.encode.BlockBuilder`."""

    def add(self, position: int, event: Event) -> None:
        """Add an event, or raise an `InputError` and add nothing."""

    def __len__(self) -> int:
        """How many events were added."""

    def build(self) -> _Block_co:
        """The block of the events added, and start anew."""


class Intake(Generic[_Block_co]):
    """The blocks of a log, and after them what was wrong with it.

    `configuration` is known as soon as this is made: it is the first event's, or the default.
    """

    def __init__(
        self,
        events: EventFile | Iterable[Entry],
        builder_of: Callable[[Configure], Builder[_Block_co]],
        *,
        rejects: BinaryIO | None = None,
        block_events: int = BLOCK_EVENTS,
    ) -> None:
        self.problems: Final[list[Problem]] = []
        """The first problems; each names its line."""
        self.n_problems = 0
        self.n_events = 0
        """Events that were read."""
        self.n_rejected = 0
        """Events among them that something is wrong with."""
        self._rejects = rejects
        self._block_events = block_events
        self._ledger = Ledger()
        self._entries = iter(events)
        self._first = next(self._entries, None)
        first = None if self._first is None else self._first.event
        self.configuration: Final = first if isinstance(first, Configure) else Configure()
        self._builder = builder_of(self.configuration)
        if isinstance(events, EventFile) and isinstance(first, InputError) and rejects is None:
            # Nothing will be applied; the rest is judged in the space that was meant.
            raw = self._first.raw if self._first is not None else None
            events.space = configured_space(raw or b"") or events.space

    def __iter__(self) -> Iterator[_Block_co]:
        """The blocks; to be asked for once."""
        for entry in self._all():
            self.n_events += 1
            problems = self._problems_of(entry)
            if problems:
                self._reject(entry, problems)
            if len(self._builder) >= self._block_events:
                yield from self._finished()
        if len(self._builder):
            yield from self._finished()

    @property
    def applies(self) -> bool:
        """Whether what was good is to be applied: nothing was wrong, or there is a file for rejects."""
        return self.n_problems == 0 or self._rejects is not None

    def raise_problems(self) -> None:
        """Raise what was wrong, if anything, as one error."""
        if self.problems:
            raise InputError(self.problems, self.n_problems)

    def _all(self) -> Iterator[Entry]:
        if self._first is not None:
            yield self._first
            yield from self._entries

    def _finished(self) -> Iterator[_Block_co]:
        block = self._builder.build()
        if self.applies:
            yield block

    def _problems_of(self, entry: Entry) -> tuple[Problem, ...] | list[Problem]:
        event = entry.event
        if isinstance(event, InputError):
            return event.problems
        problems = self._ledger.check(entry.position, event)
        if not problems:
            try:
                self._builder.add(entry.position, event)
            except InputError as error:
                return error.problems
            self._ledger.apply(event)
        return problems

    def _reject(self, entry: Entry, problems: tuple[Problem, ...] | list[Problem]) -> None:
        problems = [replace(problem, line=entry.position) for problem in problems]
        self.n_rejected += 1
        total = entry.event.total if isinstance(entry.event, InputError) else len(problems)
        self.n_problems += total
        self.problems.extend(problems[: MAX_PROBLEMS - len(self.problems)])
        if self._rejects is not None:
            event = as_it_stood(entry.raw) if entry.raw is not None else msgspec.Raw(_encoded(entry.event))
            row = {"position": entry.position, "event": event, "problems": problems}
            self._rejects.write(msgspec.json.encode(row) + b"\n")


def _encoded(event: Event | InputError) -> bytes:
    return b"null" if isinstance(event, InputError) else encode_event(event)
