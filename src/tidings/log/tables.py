"""Events as tables: Arrow IPC files and streams, and Parquet, with the fields of the wire format as columns.

`EVENT_SCHEMA` is what is written. What is read may lack columns, may have narrower or wider integers and floats, large
or dictionary-encoded strings, lists of any layout, and timestamps for times; a null is an absent field. Whatever is
nested in JSON is a string of JSON, and is read from structs as well. Reading and writing go record batch by record
batch.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidings.log.event_fields import event_to_fields
from tidings.log.strict_json import json_value
from tidings.model.errors import FileError, InputError, Problem
from tidings.model.events import Event

EVENT_SCHEMA: Final = pa.schema(
    [
        pa.field("op", pa.string(), nullable=False),
        pa.field("id", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("ts", pa.int64()),
        pa.field("at", pa.list_(pa.float64(), 2)),
        pa.field("box", pa.list_(pa.float64(), 4)),
        pa.field("text", pa.string()),
        pa.field("words", pa.list_(pa.string())),
        pa.field("expires", pa.int64()),
        pa.field("when", pa.string()),
        pa.field("where", pa.string()),
        pa.field("shape", pa.string()),
        pa.field("k", pa.int64()),
        pa.field("alpha", pa.float64()),
        pa.field("labels", pa.list_(pa.string())),
        pa.field("attributes", pa.string()),
        pa.field("space", pa.string()),
        pa.field("window", pa.string()),
        pa.field("max_distance", pa.float64()),
        pa.field("analyser", pa.string()),
        pa.field("weights", pa.string()),
        pa.field("idf", pa.string()),
        pa.field("default", pa.float64()),
    ]
)
"""The columns of a table of events, in order."""

JSON_COLUMNS: Final = ("where", "shape", "attributes", "space", "window", "analyser", "weights", "idf")
"""The columns that hold JSON."""

BATCH_ROWS: Final = 8192
"""Rows of a record batch that is written, and of one that is read where the format leaves the choice."""

_TIMES: Final = ("ts", "expires")
_NAMES: Final = {"where": "everywhere", "space": "globe"}
"""Values that are names: without the quotes of JSON they are understood, too."""


class Row(NamedTuple):
    """The fields of one row, and what is wrong with the JSON in it."""

    fields: dict[str, object]
    problems: tuple[Problem, ...] = ()


def read_arrow(file: BinaryIO | pa.NativeFile, name: str, *, stream: bool) -> Iterator[Row]:
    """The rows of an Arrow IPC file or stream; `name` is for messages."""
    try:
        if stream:
            yield from _rows_of(iter(pa.ipc.open_stream(file)), name)
        else:
            reader = pa.ipc.open_file(file)
            yield from _rows_of((reader.get_batch(i) for i in range(reader.num_record_batches)), name, reader.schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        raise _corrupt(name, "an Arrow IPC stream" if stream else "an Arrow IPC file", error) from None


def read_parquet(file: BinaryIO | pa.NativeFile, name: str) -> Iterator[Row]:
    """The rows of a Parquet file."""
    try:
        reader = pq.ParquetFile(file)
        yield from _rows_of(reader.iter_batches(BATCH_ROWS), name, reader.schema_arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        raise _corrupt(name, "a Parquet file", error) from None


def write_arrow(file: BinaryIO, events: Iterable[Event], *, stream: bool) -> int:
    """Write an Arrow IPC file or stream; answers how many events."""
    with pa.ipc.new_stream(file, EVENT_SCHEMA) if stream else pa.ipc.new_file(file, EVENT_SCHEMA) as writer:
        return sum(_written(writer, batch) for batch in _batches(events))


def write_parquet(file: BinaryIO, events: Iterable[Event]) -> int:
    """Write a Parquet file; answers how many events."""
    with pq.ParquetWriter(file, EVENT_SCHEMA, compression="zstd") as writer:
        return sum(_written(writer, batch) for batch in _batches(events))


def _written(writer: Any, batch: pa.RecordBatch) -> int:
    writer.write_batch(batch)
    return int(batch.num_rows)


def _batches(events: Iterable[Event]) -> Iterator[pa.RecordBatch]:
    events = iter(events)
    while rows := [_row_of(event) for event in islice(events, BATCH_ROWS)]:
        columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in EVENT_SCHEMA]
        yield pa.record_batch(columns, schema=EVENT_SCHEMA)


def _row_of(event: Event) -> dict[str, object]:
    fields = event_to_fields(event)
    for name in JSON_COLUMNS:
        if name in fields:
            fields[name] = msgspec.json.encode(fields[name]).decode()
    return fields


def _rows_of(batches: Iterator[pa.RecordBatch], name: str, schema: pa.Schema | None = None) -> Iterator[Row]:
    if schema is not None:
        _check_schema(schema, name)
    for batch in batches:
        if schema is None:
            schema = batch.schema
            _check_schema(schema, name)
        batch.validate(full=True)
        names = batch.schema.names
        columns = [_cast(batch.column(i), names[i], name).to_pylist() for i in range(len(names))]
        for values in zip(*columns, strict=True):
            yield _row(names, values)


def _row(names: list[str], values: tuple[object, ...]) -> Row:
    fields: dict[str, object] = {field: value for field, value in zip(names, values, strict=True) if value is not None}
    problems: list[Problem] = []
    for field in JSON_COLUMNS:
        if field in fields:
            data = str(fields[field]).encode()
            if fields[field] == _NAMES.get(field):
                continue
            try:
                value = json_value(data, f"$.{field}")
                fields[field] = msgspec.Raw(data) if field == "attributes" else value
            except InputError as error:
                problems.extend(error.problems)
    return Row(fields, tuple(problems))


def _check_schema(schema: pa.Schema, name: str) -> None:
    problems = []
    for field in schema:
        known = EVENT_SCHEMA.get_field_index(field.name)
        if known < 0:
            expected = f"the columns {', '.join(EVENT_SCHEMA.names)}"
            hint = "put what else there is into `attributes`, as JSON"
            problems.append(Problem("file-schema", f"{name}: {field.name}", "an unknown column", expected, hint))
        elif schema.names.count(field.name) > 1:
            problems.append(Problem("file-schema", f"{name}: {field.name}", "a column that is there twice"))
        elif not _fits(field.type, EVENT_SCHEMA.field(known).type, field.name):
            expected = str(EVENT_SCHEMA.field(known).type)
            problems.append(Problem("file-schema", f"{name}: {field.name}", str(field.type), expected))
    if "op" not in schema.names:
        problems.append(Problem("file-schema", f"{name}: op", "no such column", "the column `op` of strings"))
    if problems:
        raise FileError(problems)


def _fits(found: pa.DataType, wanted: pa.DataType, name: str) -> bool:
    types = pa.types
    if types.is_dictionary(found):
        found = found.value_type
    if types.is_null(found) or (name in JSON_COLUMNS and types.is_struct(found)):
        return True
    if types.is_list(wanted) or types.is_fixed_size_list(wanted):
        lists = types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found)
        return lists and _fits(found.value_type, wanted.value_type, name)
    if types.is_string(wanted):
        return bool(types.is_string(found) or types.is_large_string(found) or types.is_string_view(found))
    if types.is_int64(wanted):
        return bool(types.is_integer(found) or (name in _TIMES and types.is_timestamp(found)))
    return bool(types.is_floating(found) or types.is_integer(found))


def _cast(column: pa.Array, field: str, name: str) -> pa.Array:
    wanted = EVENT_SCHEMA.field(field).type
    if pa.types.is_fixed_size_list(wanted):
        # A list of another length is a problem of its row, not of the column.
        wanted = pa.list_(wanted.value_type)
    try:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_struct(column.type):
            values = [None if row is None else msgspec.json.encode(_present(row)) for row in column.to_pylist()]
            return pa.array([value and value.decode() for value in values], pa.string())
        if pa.types.is_timestamp(column.type):
            column = pc.cast(column, pa.timestamp("ms", column.type.tz))
        return column if column.type == wanted else pc.cast(column, wanted)
    except pa.ArrowInvalid as error:
        problem = Problem("file-schema", f"{name}: {field}", f"{column.type}: {error}", str(wanted))
        raise FileError(problem) from None


def _present(value: object) -> object:
    """The value of a struct without the fields that are null: a struct has those of all rows."""
    if isinstance(value, dict):
        return {name: _present(inner) for name, inner in value.items() if inner is not None}
    return [_present(inner) for inner in value] if isinstance(value, list) else value


def _corrupt(name: str, expected: str, error: Exception) -> FileError:
    return FileError(Problem("file-corrupt", name, str(error).splitlines()[0], expected))
