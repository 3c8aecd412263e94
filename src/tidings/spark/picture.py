"""The physical picture of a pipeline before it runs: where events come from, which shard has what, where deltas go."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from tidings.columns import block as b
from tidings.log.deliveries import Stat, open_deliveries
from tidings.log.store import EventLog
from tidings.model.errors import FileError
from tidings.model.events import Configure
from tidings.model.limits import DEFAULT_WINDOW_MESSAGES
from tidings.spark.reading import BlockReader
from tidings.spark.settings import PipelineSettings
from tidings.spark.work import Origin
from tidings.spread.base import plan_of

SUBSCRIPTION_BYTES: Final = 140
"""Of a plain `within` with all that its index has (measured: 133 at a million, 154 at a hundred thousand)."""
MESSAGE_BYTES: Final = 200
"""Of a live message of eight words (measured)."""


class ShardPicture(Struct, frozen=True):
    """What one shard will have."""

    shard: int
    subscriptions: int
    state_bytes: int
    """About: what its subscriptions and the live messages take."""


class Picture(Struct, frozen=True):
    """What will run."""

    source: str
    first: int
    end: int
    """Positions that the log has."""
    done: int
    """All before it is delivered."""
    configuration: Configure | None
    plan: str
    shards: list[ShardPicture]
    live_messages: int
    """At most; every shard holds them."""
    methods: dict[str, str]
    store: str
    state: str
    snapshot: int | None
    """Where the last snapshot stands."""

    @property
    def lag(self) -> int:
        """Events to be matched."""
        return self.end - self.done


def picture_of(settings: PipelineSettings, told: Callable[[str], None] = lambda text: None) -> Picture:
    """The picture of a pipeline over an embedded log."""
    stat = _stat(settings)
    with EventLog.open(Path(settings.log), read_only=True) as log:
        configuration, start, end = log.configuration, log.start, log.end
    counts = np.zeros(settings.shards, np.int64)
    published = 0
    if configuration is not None:
        reader = BlockReader(Origin(settings.log, configuration))
        plan = plan_of(settings.plan, settings.shards)
        position = start
        for block in reader.blocks(start, end):
            published += int((block.op == b.PUBLISH).sum())
            for shard, part in enumerate(plan.split(block)):
                counts[shard] += int((part.op == b.REGISTER).sum()) - int((part.op == b.REMOVE).sum())
            position += len(block.op)
            told(f"{position:,} of {end:,} events")
    live = min(published, _window(configuration))
    return Picture(
        source=settings.log,
        first=start,
        end=end,
        done=0 if stat is None else stat.done,
        configuration=configuration,
        plan=settings.plan,
        shards=[
            ShardPicture(shard, int(n), int(n) * SUBSCRIPTION_BYTES + live * MESSAGE_BYTES)
            for shard, n in enumerate(counts)
        ],
        live_messages=live,
        methods=settings.methods,
        store=settings.store if stat is None else stat.store,
        state=settings.state_folder,
        snapshot=None if stat is None or stat.snapshot is None else stat.snapshot.position,
    )


def _window(configuration: Configure | None) -> Any:
    window = None if configuration is None else configuration.window
    if window is None or (window.messages is None and window.ms is None):
        return DEFAULT_WINDOW_MESSAGES
    return float("inf") if window.messages is None else window.messages


def _stat(settings: PipelineSettings) -> Stat | None:
    try:
        deliveries = open_deliveries(settings.state_folder)
    except FileError:
        return None
    try:
        return deliveries.stat()
    finally:
        deliveries.close()
