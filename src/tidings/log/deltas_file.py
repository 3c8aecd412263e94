"""Deltas as files: NDJSON, Arrow IPC or Parquet by suffix, whole or not there at all.

A line is what `json.dumps(…, ensure_ascii=False)` makes of the delta's fields in order. The lines of a block are put
together column by column, so that a delta costs some hundred nanoseconds; only the shortest form of a score or a
distance, and ids with characters that JSON escapes, are made one by one.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidings.columns.deltas import DISTANCE, NO_VALUE, SCORE, Deltas
from tidings.log.output import STANDARD, suffix_of, whole_file
from tidings.model.errors import FileError, Problem
from tidings.words.arenas import Arena

MessageEvents = Callable[[list[int]], list[bytes | str]]
"""Positions -> the JSON of the `publish` events there."""

DELTA_SCHEMA: Final = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("subscription", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
        pa.field("op", pa.string(), nullable=False),
        pa.field("score", pa.float64()),
        pa.field("distance", pa.float64()),
    ]
)
"""The columns of a table of deltas; `message_event` (a string of JSON) follows where it was asked for."""
MESSAGE_EVENT: Final = "message_event"
"""The key, or column, of the event that published the message."""

_TABLES: Final = (".arrow", ".feather", ".arrows", ".parquet")
"""Any other name is one of lines,"""
_FOREIGN: Final = (".csv", ".tsv", ".xlsx", ".geojson", ".avro", ".orc")
"""but for those that say another format."""
_ESCAPED: Final = r'["\\\x00-\x1f]'


class DeltasFile:
    """A file that deltas are written to, block by block; a context manager.

    The file takes its name when the context ends well; `-` is standard output, which gets everything at the end, or
    block by block with `streaming`. With `message_events` every delta also carries the event that published its
    message.
    """

    def __init__(
        self, path: str | Path, *, message_events: MessageEvents | None = None, streaming: bool = False
    ) -> None:
        self._suffix, compression = ("", None) if str(path) == STANDARD else suffix_of(path)
        if self._suffix in _FOREIGN:
            raise FileError(Problem("file-format", str(path), self._suffix, f"lines, or one of {', '.join(_TABLES)}"))
        if compression is not None and self._suffix in _TABLES:
            hint = "a table is compressed inside"
            raise FileError(Problem("file-format", str(path), "a compressed table", "no second suffix", hint))
        self._path = path
        self._streaming = streaming
        self._message_events = message_events
        self._closing = ExitStack()
        self.n_written = 0
        """Deltas so far."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._file: BinaryIO = stack.enter_context(whole_file(self._path, streaming=self._streaming))
            self._table: Any = None
            if self._suffix in _TABLES:
                self._table = stack.enter_context(self._table_writer())
            self._closing = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.__exit__(kind, error, trace)

    def write(self, deltas: Deltas) -> None:
        """Write the deltas of a block."""
        n = len(deltas.position)
        if n == 0:
            return
        events: pa.Array | None = None
        if self._message_events is not None:
            events = _message_events(deltas, self._message_events)
        if self._table is not None:
            self._table.write_batch(_batch_of(deltas, events))
        else:
            self._file.write(lines_of(deltas, events))
            if self._streaming:
                self._file.flush()
        self.n_written += n

    def _table_writer(self) -> Any:
        schema = DELTA_SCHEMA
        if self._message_events is not None:
            schema = schema.append(pa.field(MESSAGE_EVENT, pa.string()))
        if self._suffix == ".parquet":
            return pq.ParquetWriter(self._file, schema, compression="zstd")
        if self._suffix == ".arrows":
            return pa.ipc.new_stream(self._file, schema)
        return pa.ipc.new_file(self._file, schema)


def lines_of(deltas: Deltas, message_events: pa.Array | None = None) -> bytes:
    """The lines of a file of deltas."""
    n = len(deltas.position)
    if n == 0:
        return b""
    op = pc.if_else(pa.array(deltas.sign > 0), _text('", "op": "+"'), _text('", "op": "-"'))
    parts = [
        _text('{"position": '),
        pc.cast(pa.array(deltas.position), pa.large_string()),
        _text(', "subscription": "'),
        _escaped(deltas.subscription),
        _text('", "message": "'),
        _escaped(deltas.message),
        op,
    ]
    if bool((deltas.measure != NO_VALUE).any()):
        parts.append(_measures(deltas))
    if message_events is not None:
        parts += [_text(f', "{MESSAGE_EVENT}": '), pc.cast(message_events, pa.large_string())]
    lines = pc.binary_join_element_wise(*parts, _text("}\n"), _text(""))
    _, ends, text = lines.buffers()
    return memoryview(text)[: int(np.frombuffer(ends, np.int64)[n])].tobytes()


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, pa.large_string())


def _arrow(strings: Arena) -> pa.LargeStringArray:
    """The strings as an Arrow array that shares their memory."""
    n = len(strings.offset) - 1
    return pa.LargeStringArray.from_buffers(n, pa.py_buffer(strings.offset), pa.py_buffer(strings.data))


def _escaped(strings: Arena) -> pa.Array:
    values = _arrow(strings)
    data = strings.data
    if not bool(((data < 0x20) | (data == 0x22) | (data == 0x5C)).any()):
        return values
    mask = pc.match_substring_regex(values, _ESCAPED)
    odd = [json.dumps(value, ensure_ascii=False)[1:-1] for value in values.filter(mask).to_pylist()]
    return pc.replace_with_mask(values, mask, pa.array(odd, pa.large_string()))


def _measures(deltas: Deltas) -> pa.Array:
    measured = deltas.measure != NO_VALUE
    values = pa.array([repr(value) for value in deltas.value[measured].tolist()], pa.large_string())
    names = pc.if_else(pa.array(deltas.measure[measured] == SCORE), _text(', "score": '), _text(', "distance": '))
    said = pc.binary_join_element_wise(names, values, _text(""))
    nothing = pa.array([""], pa.large_string()).take(pa.array(np.zeros(len(measured), np.int64)))
    return pc.replace_with_mask(nothing, pa.array(measured), said)


def _batch_of(deltas: Deltas, message_events: pa.Array | None) -> pa.RecordBatch:
    columns = [
        pa.array(deltas.position),
        pc.cast(_arrow(deltas.subscription), pa.string()),
        pc.cast(_arrow(deltas.message), pa.string()),
        pc.if_else(pa.array(deltas.sign > 0), "+", "-"),
        pa.array(deltas.value, mask=deltas.measure != SCORE),
        pa.array(deltas.value, mask=deltas.measure != DISTANCE),
    ]
    schema = DELTA_SCHEMA
    if message_events is not None:
        schema = schema.append(pa.field(MESSAGE_EVENT, pa.string()))
        columns.append(message_events)
    return pa.record_batch(columns, schema=schema)


def _message_events(deltas: Deltas, events_at: MessageEvents) -> pa.Array:
    """The published event of each delta; each message is asked for once."""
    positions, which = np.unique(deltas.message_position, return_inverse=True)
    events = pa.array([_string(event) for event in events_at(positions.tolist())], pa.string())
    return events.take(pa.array(which))


def _string(event: bytes | str) -> str:
    return event if isinstance(event, str) else event.decode()
