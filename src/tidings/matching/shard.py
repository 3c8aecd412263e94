"""A shard: the four matchers over one part of the subscriptions, and the live window they look at.

`step` is the function that everything else calls: (state, block) to (state, deltas), deterministic, and the same
however the log is cut into blocks.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tidings.columns import block as b
from tidings.columns.block import Block
from tidings.columns.deltas import Deltas
from tidings.columns.encode import weight_columns
from tidings.columns.messages import MessageTable, Weighting, empty_window
from tidings.columns.slicing import pieces_from
from tidings.columns.standing import Changes, Subscriptions
from tidings.columns.subscriptions import SubscriptionTable
from tidings.columns.window import LiveWindow, Timeline
from tidings.index.base import INDEXES, Index, Messages, load
from tidings.matching.base import AROUND, BEST, NEAREST, Found, Matcher
from tidings.matching.merging import deltas_of, gathered, without_exchanges
from tidings.model.events import Configure
from tidings.model.limits import DEFAULT_WINDOW_MESSAGES
from tidings.words.vocabulary import Vocabulary, VocabularyArrays

_REGISTRIES: Final = {"around": AROUND, "best": BEST, "nearest": NEAREST}


class Shard:
    """The matchers over one part of the subscriptions."""

    def __init__(self, configuration: Configure, within: str, around: str, best: str, nearest: str) -> None:
        window = configuration.window
        limit = DEFAULT_WINDOW_MESSAGES if window.messages is None and window.ms is None else window.messages
        self.configuration: Final = configuration
        self.methods: Final = {"within": within, "around": around, "best": best, "nearest": nearest}
        self.subscriptions = Subscriptions()
        self.window = LiveWindow(empty_window(limit, window.ms))
        self.weighting = _weighting(weight_columns([configuration.weights]), 0)
        self.index: Index = load(INDEXES, within, "within")(configuration.space)
        self.matchers: dict[str, Matcher] = {
            kind: load(registry, self.methods[kind], kind)(configuration) for kind, registry in _REGISTRIES.items()
        }

    def step(self, block: Block) -> list[Deltas]:
        """Replay a sealed block; the deltas, one after the other."""
        return [self._step(piece) for piece in self._pieces(block)]

    def advance(self, block: Block) -> None:
        """Replay a sealed block for the state alone: what `step` would leave behind, without its deltas.

        No message is searched for. Only counts of that work stay behind, which no answer depends on.
        """
        for piece in self._pieces(block):
            changes, timeline = self._begin(piece)
            _, ended, messages = self._index_changes(piece, changes)
            self.index.observe(self.subscriptions, messages)
            if len(ended):
                self.index.delete(self.subscriptions, ended)
            self._step_matchers(piece, changes, timeline)
            self._end(piece, changes, timeline)

    @staticmethod
    def _pieces(block: Block) -> list[Block]:
        """A new version of the weights begins a piece of its own, so that no matcher sees two versions."""
        return pieces_from(block, np.flatnonzero(block.op == b.REWEIGH))

    def _step(self, block: Block) -> Deltas:
        changes, timeline = self._begin(block)
        found = [self._step_within(block, changes), *self._step_matchers(block, changes, timeline)]
        table = self.subscriptions.table
        rows = without_exchanges(gathered(found), block, changes, table)
        deltas = deltas_of(rows, block, table, self.window.table)
        self._end(block, changes, timeline)
        return deltas

    def _begin(self, block: Block) -> tuple[Changes, Timeline]:
        """Let subscriptions, weights and messages change; what a block ends stays readable until its `_end`."""
        changes = self.subscriptions.apply(block)
        if len(block.op) and block.op[0] == b.REWEIGH:
            self.weighting = _weighting(block.weights, int(block.row[0]))
            self.window.weigh_anew(self.weighting)
        return changes, self.window.replay(self.weighting, block)

    def _end(self, block: Block, changes: Changes, timeline: Timeline) -> None:
        self.subscriptions.settle(changes, block)
        self.window.bury(timeline)

    def _step_matchers(self, block: Block, changes: Changes, timeline: Timeline) -> list[Found]:
        return [
            matcher.step(block, self.subscriptions, changes, self.window.table, timeline, self.weighting)
            for matcher in self.matchers.values()
        ]

    def _index_changes(
        self, block: Block, changes: Changes
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Messages]:
        """Index the versions that a block begins; those, the ones to forget after it, and its messages."""
        kind = self.subscriptions.table.kind
        began = changes.began[kind[changes.began] == b.WITHIN]
        ended = changes.ended[kind[changes.ended] == b.WITHIN]
        if len(began):
            self.index.insert(self.subscriptions, began)
        messages = Messages(
            block.position[block.op == b.PUBLISH],
            block.messages.place,
            block.messages.word_start,
            self.subscriptions.vocabulary.find(block.messages.word_hash),
        )
        return began, ended, messages

    def _step_within(self, block: Block, changes: Changes) -> Found:
        """`within` asks for no order: all versions of the block are indexed, and each match is checked for its time."""
        began, ended, messages = self._index_changes(block, changes)
        pairs = self.index.match(self.subscriptions, messages, bool(len(began) or len(ended)))
        if len(ended):
            self.index.delete(self.subscriptions, ended)
        events = np.flatnonzero(block.op == b.PUBLISH).astype(np.int32)
        row = np.repeat(np.arange(len(events), dtype=np.int32), np.diff(pairs.start))
        n = len(row)
        return Found(events[row], pairs.slot, -1 - row, np.ones(n, np.int8), np.full(n, np.nan))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All state, by name; what a snapshot keeps."""
        parts: dict[str, dict[str, npt.NDArray[Any]]] = {
            "table": dict(self.subscriptions.table._asdict()),
            "vocabulary": dict(self.subscriptions.vocabulary.arrays()._asdict()),
            "window": dict(self.window.table._asdict()),
            "weighting": dict(self.weighting._asdict()),
            "within": self.index.arrays(),
            **{kind: matcher.arrays() for kind, matcher in self.matchers.items()},
        }
        return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    @classmethod
    def from_arrays(
        cls, configuration: Configure, methods: dict[str, str], arrays: dict[str, npt.NDArray[Any]]
    ) -> "Shard":
        """The shard of these arrays, which it goes on changing."""
        parts: dict[str, dict[str, npt.NDArray[Any]]] = {}
        for name, array in arrays.items():
            part, _, field = name.partition(".")
            parts.setdefault(part, {})[field] = array
        shard = cls(configuration, **methods)
        shard.subscriptions = Subscriptions(
            SubscriptionTable(**parts["table"]), Vocabulary.from_arrays(VocabularyArrays(**parts["vocabulary"]))
        )
        shard.window = LiveWindow(MessageTable(**parts["window"]))
        shard.weighting = Weighting(**parts["weighting"])
        shard.index = type(shard.index).from_arrays(configuration.space, parts.get("within", {}))
        shard.matchers = {
            kind: type(matcher).from_arrays(configuration, parts.get(kind, {}))
            for kind, matcher in shard.matchers.items()
        }
        return shard


def _weighting(columns: Any, version: int) -> Weighting:
    first, last = columns.start[version], columns.start[version + 1]
    return Weighting(
        columns.word_hash[first:last].copy(),
        columns.weight[first:last].copy(),
        columns.default[version : version + 1].copy(),
    )
