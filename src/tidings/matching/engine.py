"""The engine: one shard in this process, with events and deltas as plain data."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from tidings.columns.block import NO_TIME, Block
from tidings.columns.deltas import Deltas, deltas_to_list
from tidings.columns.encode import BlockBuilder
from tidings.columns.saved import map_arrays, save_arrays
from tidings.matching.admission import problems_of
from tidings.matching.shard import Shard
from tidings.model.deltas import Delta
from tidings.model.errors import FileError, InputError, Problem
from tidings.model.events import Configure, Event, Publish, Register, Remove, Replace, Retract
from tidings.model.subscriptions import Subscription

LARGEST_BLOCK: Final = 4096
"""Events that `run` gathers before it steps."""


class _About(Struct, frozen=True):
    """What a saved engine remembers beside its arrays."""

    configuration: Configure
    methods: dict[str, str]
    position: int


class Engine:
    """Matches events as they come, in this process.

    >>> from tidings import Box, Engine, Publish, Within
    >>> engine = Engine()
    >>> engine.register(Within("s1", Box((11.0, 48.0, 12.0, 48.5)), when="flood AND (bridge OR road)"))
    []
    >>> [delta.subscription for delta in engine.publish("m1", at=(11.5, 48.1), text="Flood on the river road")]
    ['s1']
    """

    def __init__(
        self,
        configuration: Configure | None = None,
        *,
        within: str = "pyramid",
        around: str = "brute",
        best: str = "brute",
        nearest: str = "brute",
    ) -> None:
        self._start(Shard(configuration or Configure(), within, around, best, nearest), 0)

    def _start(self, shard: Shard, position: int) -> None:
        self._shard = shard
        self._builder = BlockBuilder(shard.configuration)
        self._position = position

    @property
    def shard(self) -> Shard:
        """The state, for those who look at its arrays."""
        return self._shard

    @property
    def position(self) -> int:
        """The position of the next event."""
        return self._position

    def publish(self, id: str, **fields: object) -> list[Delta]:
        """Publish a message; the fields are those of `Publish`."""
        return self.apply(Publish(id, **fields))  # type: ignore[arg-type]

    def retract(self, id: str) -> list[Delta]:
        """Retract a message."""
        return self.apply(Retract(id))

    def register(self, subscription: Subscription) -> list[Delta]:
        """Register a subscription; its first result set."""
        return self.apply(Register(subscription))

    def remove(self, id: str) -> list[Delta]:
        """Remove a subscription."""
        return self.apply(Remove(id))

    def apply(self, event: Event) -> list[Delta]:
        """Apply one event at the next position. One that cannot be raises `InputError` and changes nothing."""
        self._admit(event)
        self._builder.add(self._position, event)
        return self._flush()

    def run(self, events: Iterable[Event]) -> Iterator[Delta]:
        """Apply events in order; their deltas as they come. At an event that cannot be, what stands before it is
        applied and told, and then `InputError` is raised.
        """
        pending: set[str] = set()
        try:
            for event in events:
                name = _id_of(event)
                if name in pending or len(self._builder) >= LARGEST_BLOCK:
                    yield from self._flush()
                    pending.clear()
                if isinstance(event, Publish) and self._shard.window.find(event.id):
                    # Whether it is still live then depends on the time that the events before it bring.
                    yield from self._flush()
                    pending.clear()
                self._admit(event)
                self._builder.add(self._position + len(self._builder), event)
                pending.add(name)
        except InputError:
            yield from self._flush()
            raise
        yield from self._flush()

    def step(self, block: Block) -> list[Deltas]:
        """Replay a block of admitted events whose positions go on where the engine stands."""
        deltas = self._shard.step(block)
        if len(block.position):
            self._position = int(block.position[-1]) + 1
        return deltas

    def save(self, path: str | Path) -> None:
        """Write the whole state to a file, in one step."""
        save_arrays(
            Path(path), _About(self._shard.configuration, self._shard.methods, self._position), self._shard.arrays()
        )

    @classmethod
    def load(cls, path: str | Path) -> "Engine":
        """The engine of a saved state; it answers as if it had never stopped."""
        about, arrays = map_arrays(Path(path))
        try:
            known = msgspec.json.decode(about, type=_About)
        except msgspec.DecodeError as error:
            problem = Problem("file-format", str(path), str(error), "a saved engine")
            raise FileError(problem) from error
        engine = cls.__new__(cls)
        engine._start(Shard.from_arrays(known.configuration, known.methods, arrays), known.position)
        return engine

    def _flush(self) -> list[Delta]:
        if not len(self._builder):
            return []
        position = self._position + len(self._builder)
        deltas = self._shard.step(self._builder.build())
        self._position = position
        return [delta for part in deltas for delta in deltas_to_list(part)]

    def _admit(self, event: Event) -> None:
        if isinstance(event, Configure):
            hint = "give it to Engine(...)"
            raise InputError(Problem("configure-late", "$.op", "configure", "the configuration at the start", hint))
        wrong = problems_of(event, self._shard.configuration.space)
        if wrong:
            raise InputError(wrong)
        problem = None
        if isinstance(event, Publish):
            if self._shard.window.holds(event.id, NO_TIME if event.ts is None else event.ts):
                problem = Problem("id-taken", "$.id", repr(event.id), "an id that no live message has")
        elif not isinstance(event, Retract):
            problem = self._shard.subscriptions.problem_of(event)
        if problem is not None:
            raise InputError(problem)


def _id_of(event: Event) -> str:
    """The id that an event is about, or the empty string."""
    if isinstance(event, Register | Replace):
        return event.subscription.id
    return getattr(event, "id", "")
