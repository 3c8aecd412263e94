"""The deltas of one shard and batch as a Parquet file, which everybody can read.

The columns are those of a file of deltas, and `message_position`: where in the log the message was published.
"""

import io
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidings.columns.deltas import DISTANCE, NO_VALUE, SCORE, Deltas
from tidings.log.deltas_file import DELTA_SCHEMA
from tidings.log.pieces import merged_pieces
from tidings.log.segment_layout import corrupt
from tidings.words.arenas import Arena

SCHEMA: Final = DELTA_SCHEMA.append(pa.field("message_position", pa.int64(), nullable=False))


def table_bytes(deltas: Deltas) -> bytes:
    """The deltas as a Parquet file."""
    columns = [
        pa.array(deltas.position),
        _strings(deltas.subscription),
        _strings(deltas.message),
        pc.if_else(pa.array(deltas.sign > 0), "+", "-"),
        pa.array(deltas.value, mask=deltas.measure != SCORE),
        pa.array(deltas.value, mask=deltas.measure != DISTANCE),
        pa.array(deltas.message_position),
    ]
    out = io.BytesIO()
    pq.write_table(pa.table(columns, schema=SCHEMA), out, compression="zstd")
    return out.getvalue()


def deltas_of_tables(files: Sequence[bytes], subscription: str | None, places: Sequence[str]) -> Deltas | None:
    """The deltas of the shards' files of one batch, in the order of the answer; of all or of one subscription."""
    pieces = []
    for data, place in zip(files, places, strict=True):
        try:
            table = pq.read_table(pa.BufferReader(data), schema=SCHEMA)
        except (pa.ArrowException, OSError) as error:
            raise corrupt(place, str(error)) from error
        if subscription is not None:
            table = table.filter(pc.equal(table["subscription"], subscription))
        if len(table):
            pieces.append(_deltas(table))
    return merged_pieces(pieces)


def _deltas(table: Any) -> Deltas:
    score, distance = table["score"], table["distance"]
    measure = np.full(len(table), NO_VALUE, np.uint8)
    measure[score.is_valid().to_numpy()] = SCORE
    measure[distance.is_valid().to_numpy()] = DISTANCE
    return Deltas(
        position=table["position"].to_numpy(),
        subscription=_arena(table["subscription"]),
        message=_arena(table["message"]),
        sign=np.where(pc.equal(table["op"], "+").to_numpy(), 1, -1).astype(np.int8),
        measure=measure,
        value=pc.coalesce(score, distance, pa.scalar(np.nan)).to_numpy(),
        message_position=table["message_position"].to_numpy(),
    )


def _strings(strings: Arena) -> Any:
    n = len(strings.offset) - 1
    values = pa.LargeStringArray.from_buffers(
        n, pa.py_buffer(np.ascontiguousarray(strings.offset)), pa.py_buffer(np.ascontiguousarray(strings.data))
    )
    return values.cast(pa.string())


def _arena(column: Any) -> Arena:
    return Arena.of_arrow(column.combine_chunks())
