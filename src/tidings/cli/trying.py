"""One `within` against all messages of a file, without a log around them."""

import random
import time
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from tidings.cli.places import region_of
from tidings.columns.block import Block
from tidings.columns.encode import BlockBuilder
from tidings.index.base import Messages, Pairs
from tidings.log.files import open_events
from tidings.matching.engine import Engine
from tidings.model.errors import MAX_PROBLEMS, InputError, Problem, shortened
from tidings.model.events import Configure, Publish, Register
from tidings.model.subscriptions import Within

BATCH: Final = 8192
NAME: Final = "try"


class Match(Struct, frozen=True):
    """A message that matches."""

    id: str
    position: int
    said: str
    """Its text or words, shortened."""


class Tried(Struct, frozen=True):
    """What came of it."""

    messages: int
    matches: int
    candidates: int
    """Entries of the index that messages were compared with."""
    verified: int
    """Candidates whose words and region were read to the last."""
    us_per_message: float
    """In the index; reading the file is not counted."""
    sample: tuple[Match, ...]
    """Matches, drawn from the whole file."""


class Trial:
    """An expression and a region, and what of a file they have matched so far."""

    def __init__(
        self, configuration: Configure, expression: str | None, where: str, n_sample: int, methods: dict[str, str]
    ) -> None:
        self._builder: Final = BlockBuilder(configuration)
        self._engine: Final = Engine(configuration, **methods)
        region = region_of(where, configuration.space)
        try:
            self._builder.add(-1, Register(Within(NAME, region, expression)))
        except InputError as error:
            problems = [replace(problem, place=problem.place.replace("$.when", "EXPR")) for problem in error.problems]
            raise InputError(problems) from None
        self._engine.step(self._builder.build())
        self._matched(self._builder.build())  # loads the kernels, which is not what a message costs
        self._n_sample: Final = n_sample
        self._draw: Final = random.Random(0)
        self._batch: list[tuple[int, Publish]] = []
        self._sample: list[Match] = []
        self._seconds = 0.0
        self.messages = 0
        self.matches = 0

    def add(self, position: int, message: Publish) -> None:
        """Look at a message."""
        self._builder.add(position, message)
        self._batch.append((position, message))
        if len(self._batch) >= BATCH:
            self._match()

    def finish(self) -> Tried:
        """What came of all messages."""
        self._match()
        stats = self._engine.shard.index.stats()
        return Tried(
            self.messages,
            self.matches,
            int(stats.get("entries_scanned", self.messages)),
            int(stats.get("verified", self.messages)),
            1e6 * self._seconds / self.messages if self.messages else 0.0,
            tuple(sorted(self._sample, key=lambda match: match.position)),
        )

    def _match(self) -> None:
        if not self._batch:
            return
        block = self._builder.build()
        start = time.perf_counter()
        pairs = self._matched(block)
        self._seconds += time.perf_counter() - start
        self.messages += len(self._batch)
        self._take(np.flatnonzero(np.diff(pairs.start)))
        self._batch.clear()

    def _matched(self, block: Block) -> Pairs:
        shard, columns = self._engine.shard, block.messages
        words = shard.subscriptions.vocabulary.find(columns.word_hash)
        batch = Messages(block.position, columns.place, columns.word_start, words)
        return shard.index.match(shard.subscriptions, batch, False)

    def _take(self, rows: npt.NDArray[np.int64]) -> None:
        """Count matches and keep each with the same chance."""
        for row in rows.tolist():
            self.matches += 1
            at = len(self._sample) if len(self._sample) < self._n_sample else self._draw.randrange(self.matches)
            if at < self._n_sample:
                position, message = self._batch[row]
                said = message.text if message.text is not None else ", ".join(message.words or ())
                self._sample[at : at + 1] = [Match(message.id, position, shortened(said, 80))]


def try_on(
    file: str,
    expression: str | None,
    where: str,
    n_sample: int,
    methods: dict[str, str],
    told: Callable[[str], None] = lambda text: None,
) -> Tried:
    """Match an expression and a region with all messages of a file; all problems of the file at once."""
    trial: Trial | None = None
    problems: list[Problem] = []
    total = 0
    with open_events(file) as events:
        for entry in events:
            event = entry.event
            if trial is None:
                configuration = event if isinstance(event, Configure) else Configure()
                trial = Trial(configuration, expression, where, n_sample, methods)
            if isinstance(event, InputError):
                total += event.total
                room = MAX_PROBLEMS - len(problems)
                problems += [replace(problem, line=entry.position) for problem in event.problems[:room]]
            elif isinstance(event, Publish) and not problems:
                trial.add(entry.position, event)
                if trial.messages:
                    told(f"{entry.position + 1:,} events, {trial.matches:,} matches")
    if problems:
        raise InputError(problems, total)
    return (trial or Trial(Configure(), expression, where, n_sample, methods)).finish()
