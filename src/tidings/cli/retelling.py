"""Replaying a log up to the moments that matter to one subscription and one message."""

from collections.abc import Callable
from typing import Final

import numpy as np

from tidings.columns.block import Block
from tidings.columns.encode import BlockBuilder
from tidings.columns.messages import PUBLISHED
from tidings.columns.slicing import pieces_from
from tidings.log.files import open_events
from tidings.log.intake import Intake
from tidings.matching.engine import Engine
from tidings.matching.explain import Explanation, Published, explain
from tidings.model.events import Configure, Event, Publish, Register, Remove, Replace, Retract


class Story:
    """What a log says about one subscription and one message, as far as it has been replayed."""

    def __init__(self, subscription: str, message: str) -> None:
        self.subscription: Final = subscription
        self.message: Final = message
        self.published: Published | None = None
        """The last publication so far."""
        self.registered: int | None = None
        self.removed: int | None = None
        self.explanation: Explanation | None = None
        """Of the last moment at which both were there."""

    def concerns(self, event: Event) -> bool:
        """Whether an event is one that the story tells."""
        if isinstance(event, Publish | Retract):
            return event.id == self.message
        if isinstance(event, Register | Replace):
            return event.subscription.id == self.subscription
        return isinstance(event, Remove) and event.id == self.subscription

    def tell(self, engine: Engine, position: int, event: Event) -> bool:
        """Take note of an event that was applied just now; whether the two have met in it."""
        if isinstance(event, Publish):
            now = engine.shard.window.now
            number = int(engine.shard.window.table.state[PUBLISHED]) - 1
            self.published = Published(event, position, number, now if event.ts is None else event.ts)
        elif isinstance(event, Retract):
            if self.published is not None and self.published.retracted is None:
                self.published = self.published._replace(retracted=position)
            return False
        elif isinstance(event, Remove):
            self.removed = position
            return False
        else:
            self.registered, self.removed = position, None
        return self.published is not None

    def explain(self, engine: Engine, position: int) -> None:
        """Explain the state after a position. What a `within` said at a publication stands."""
        if self.published is None:
            return
        met = self.explanation
        found = explain(engine.shard, self.subscription, self.published, position)
        if found is None:
            return
        settled = met is not None and met.published == self.published.position and not met.too_early
        if found.kind != "within" or not settled:
            self.explanation = found


def retell(
    log: str,
    subscription: str,
    message: str,
    last: int | None,
    methods: dict[str, str],
    told: Callable[[str], None] = lambda text: None,
) -> Story:
    """Replay a log to its end, or up to a position, and explain the last moment, or the one after the position."""
    story = Story(subscription, message)
    marked: dict[int, Event] = {}

    def builder(configuration: Configure) -> _Marking:
        return _Marking(configuration, story, marked)

    with open_events(log) as events:
        intake: Intake[Block] = Intake(events, builder)
        engine = Engine(intake.configuration, **methods)
        for block in intake:
            told(f"{intake.n_events:,} events")
            ends = [] if last is None else [int(np.searchsorted(block.position, last, "right"))]
            cuts = 1 + np.flatnonzero(np.isin(block.position, list(marked)))
            for piece in pieces_from(block, [*cuts.tolist(), *ends]):
                position = int(piece.position[-1])
                if last is not None and position > last:
                    break
                engine.step(piece)
                event = marked.get(position)
                if event is not None and story.tell(engine, position, event) and last is None:
                    story.explain(engine, position)
            marked.clear()
            if last is not None and int(block.position[-1]) >= last:
                break
        else:
            intake.raise_problems()
    if last is not None:
        story.explain(engine, last)
    return story


class _Marking:
    """A builder of blocks that puts the events of a story aside, too."""

    def __init__(self, configuration: Configure, story: Story, marked: dict[int, Event]) -> None:
        self._builder: Final = BlockBuilder(configuration)
        self._story: Final = story
        self._marked: Final = marked

    def add(self, position: int, event: Event) -> None:
        self._builder.add(position, event)
        if self._story.concerns(event):
            self._marked[position] = event

    def __len__(self) -> int:
        return len(self._builder)

    def build(self) -> Block:
        return self._builder.build()
