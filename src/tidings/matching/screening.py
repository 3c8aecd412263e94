"""Stepping over events that nobody has admitted, as they come from Kafka: what cannot be is left out, and said.

The answer is the one of a log from which those events had been rejected: neither they nor the time that they bring
count. Time, messages and subscriptions are the same in every shard as far as it sees them, so all shards reject the
same messages, and each the events of its own subscriptions.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from tidings.columns import block as b
from tidings.columns.block import Block, sealed
from tidings.columns.deltas import Deltas
from tidings.columns.suspects import CANNOT_MOVE, LIVE, TAKEN, judged
from tidings.matching.shard import Shard
from tidings.model.errors import Problem, shortened
from tidings.words.arenas import Arena

_KINDS: Final = {b.WITHIN: "within", b.AROUND: "around", b.BEST: "best", b.NEAREST: "nearest"}


def step_screened(shard: Shard, block: Block) -> tuple[list[Deltas], list[tuple[int, Problem]]]:
    """What `Shard.step` says of a sealed block without the events that cannot be, and those, by position."""
    reasons = judged(block, shard.subscriptions.table, shard.window.table)
    if not reasons.any():
        return shard.step(block), []
    events = np.flatnonzero(reasons)
    problems = [(int(block.position[event]), _problem(block, int(event), int(reasons[event]))) for event in events]
    return shard.step(without(block, events)), problems


def without(block: Block, events: npt.NDArray[np.int64]) -> Block:
    """A sealed block without some of its events. Messages go with theirs, since each row of them is one event; what
    else an event brought stays behind, and nothing names it.
    """
    kept = np.ones(len(block.op), bool)
    kept[events] = False
    row = block.row.copy()
    publishes = block.op == b.PUBLISH
    messages = block.messages
    rows = row[publishes & kept]
    row[publishes & kept] = np.arange(len(rows))
    word_start, words = _parts(messages.word_start, rows)
    id_offset, id_bytes = _parts(messages.id.offset, rows)
    return sealed(
        block._replace(
            position=block.position[kept],
            op=block.op[kept],
            time=block.time[kept],
            row=row[kept],
            messages=messages._replace(
                id=Arena(id_offset, messages.id.data[id_bytes]),
                place=messages.place[rows],
                expires=messages.expires[rows],
                word_start=word_start,
                word_hash=messages.word_hash[words],
                word_count=messages.word_count[words],
            ),
        )
    )


def _parts(
    start: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of what n + 1 offsets divide: the offsets of these rows alone, and where all that they hold stands."""
    length = start[rows + 1] - start[rows]
    offset = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(length, out=offset[1:])
    return offset, np.arange(offset[-1]) + np.repeat(start[rows] - offset[:-1], length)


def _problem(block: Block, event: int, reason: int) -> Problem:
    op, row, position = int(block.op[event]), int(block.row[event]), int(block.position[event])
    ids = block.messages.id if op == b.PUBLISH else block.subscriptions.id if op <= b.REPLACE else block.names
    name = f'"{shortened(ids.data[ids.offset[row] : ids.offset[row + 1]].tobytes().decode())}"'
    if reason == LIVE:
        hint = "retract the message first, or choose another id"
        return Problem("id-taken", "$.id", f"{name}, a message that is live", "a free id", hint, position)
    if reason == TAKEN:
        hint = "`replace` puts another in its place"
        return Problem("id-taken", "$.id", f"{name}, a subscription in force", "a free id", hint, position)
    if reason >= CANNOT_MOVE:
        found = f"{name}, which is `{_KINDS[reason - CANNOT_MOVE]}`"
        hint = "`replace` puts a subscription at another place in its place"
        return Problem("move-kind", "$.id", found, "a subscription of kind `around`", hint, position)
    hint = "`register` makes a new subscription" if op == b.REPLACE else ""
    return Problem("id-unknown", "$.id", name, "the id of a subscription in force", hint, position)
