"""Deltas and matches as record batches of the answer's columns."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.columns.block import NEVER, Block
from tidings.columns.deltas import DISTANCE, SCORE, Deltas
from tidings.columns.subscriptions import ids_of
from tidings.index.base import Messages
from tidings.matching.shard import Shard
from tidings.words.arenas import Arena

ROWS_AT_ONCE: Final = 100_000
"""Of a batch that goes to Spark."""

SCHEMA: Final = pa.schema(
    [
        ("position", pa.int64()),
        ("subscription", pa.string()),
        ("message", pa.string()),
        ("op", pa.string()),
        ("score", pa.float64()),
        ("distance", pa.float64()),
    ]
)


def deltas_batch(deltas: Deltas, position: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """Deltas at these positions."""
    columns = [
        pa.array(position),
        _text(deltas.subscription),
        _text(deltas.message),
        pc.if_else(pa.array(deltas.sign > 0), "+", "-"),
        pa.array(deltas.value, mask=deltas.measure != SCORE),
        pa.array(deltas.value, mask=deltas.measure != DISTANCE),
    ]
    return pa.record_batch(columns, SCHEMA)


def matched_batches(shard: Shard, block: Block, positioned: bool) -> Iterator[pa.RecordBatch]:
    """What the messages of a block match, in a shard that has only `within` subscriptions and no window."""
    subscriptions = shard.subscriptions
    messages = Messages(
        np.full(len(block.op), _AFTER_ALL, np.int64),
        block.messages.place,
        block.messages.word_start,
        subscriptions.vocabulary.find(block.messages.word_hash),
    )
    pairs = shard.index.match(subscriptions, messages, False)
    row = np.repeat(np.arange(len(block.op)), np.diff(pairs.start))
    ids = _text(block.messages.id)
    for first in range(0, len(row), ROWS_AT_ONCE):
        some = row[first : first + ROWS_AT_ONCE]
        n = len(some)
        columns = [
            pa.array(block.position[some]) if positioned else pa.nulls(n, pa.int64()),
            _text(ids_of(subscriptions.table, pairs.slot[first : first + ROWS_AT_ONCE])),
            ids.take(pa.array(some)),
            _PLUS.take(pa.array(np.zeros(n, np.int64))),
            pa.nulls(n, pa.float64()),
            pa.nulls(n, pa.float64()),
        ]
        yield pa.record_batch(columns, SCHEMA)


_AFTER_ALL: Final = NEVER - 1
"""A position at which all that were registered are in force."""
_PLUS: Final = pa.array(["+"])


def _text(strings: Arena) -> pa.Array:
    n = len(strings.offset) - 1
    large = pa.LargeStringArray.from_buffers(n, pa.py_buffer(strings.offset), pa.py_buffer(strings.data))
    return pc.cast(large, pa.string())
