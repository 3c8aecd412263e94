"""Rows as events to be appended: a column `event` of JSON, or the fields of events as columns."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql import types as t

from tidings.log.strict_json import json_value
from tidings.log.tables import EVENT_SCHEMA, JSON_COLUMNS
from tidings.model.errors import InputError, Problem
from tidings.spark.message_columns import whole_numbers

EVENT: Final = "event"
_TIMES: Final = ("ts", "expires")
_NAMES: Final = {"where": "everywhere", "space": "globe"}
_KNOWN: Final = (*EVENT_SCHEMA.names, "lon", "lat")


def check_writable(schema: t.StructType) -> None:
    """Raise an `InputError` unless rows of these columns can be events."""
    names = schema.names
    wrong = []
    if EVENT in names:
        if len(names) > 1:
            others = ", ".join(name for name in names if name != EVENT)
            hint = 'select("event"), or drop("event") and what is no field'
            wrong.append(Problem("file-schema", EVENT, f"`event` beside {others}", "`event` alone", hint))
        if not isinstance(schema[EVENT].dataType, t.StringType | t.BinaryType):
            wrong.append(Problem("file-schema", EVENT, schema[EVENT].dataType.simpleString(), "string of JSON"))
    else:
        for name in names:
            if name not in _KNOWN:
                hint = (
                    "a log gives positions itself"
                    if name == "position"
                    else "attributes, as JSON, hold what else there is"
                )
                wrong.append(Problem("file-schema", name, "an unknown column", f"some of {', '.join(_KNOWN)}", hint))
        if "at" in names and ("lon" in names or "lat" in names):
            wrong.append(Problem("file-schema", "at", "`at` beside `lon` or `lat`", "one of both"))
        if ("lon" in names) != ("lat" in names):
            wrong.append(Problem("file-schema", "lon", "only one of `lon` and `lat`", "both"))
    if wrong:
        raise InputError(wrong)


def lines_of(batch: pa.RecordBatch) -> Iterator[bytes]:
    """The line of each row; a row that is no event becomes a line that the log refuses, with all that is wrong."""
    names = batch.schema.names
    if EVENT in names:
        for value in batch.column(EVENT).to_pylist():
            yield b"null" if value is None else value.encode() if isinstance(value, str) else value
        return
    for name in _TIMES:
        if name in names and pa.types.is_timestamp(batch.column(name).type):
            milliseconds = pa.array(whole_numbers(batch, name, 0), mask=batch.column(name).is_null().to_numpy(False))
            batch = batch.set_column(names.index(name), name, milliseconds)
    for row in batch.to_pylist():
        yield msgspec.json.encode(_fields_of(row))


def _fields_of(row: dict[str, Any]) -> dict[str, Any]:
    fields = {name: _present(value) for name, value in row.items() if value is not None}
    fields.setdefault("op", "publish")
    if "lon" in fields or "lat" in fields:
        fields["at"] = [fields.pop("lon", None), fields.pop("lat", None)]
    for name in JSON_COLUMNS:
        value = fields.get(name)
        if isinstance(value, str) and value != _NAMES.get(name):
            fields[name] = _json(value, name)
    return fields


def _json(text: str, name: str) -> Any:
    try:
        value = json_value(text.encode(), f"$.{name}")
    except InputError:
        # As it stands it is of no type that the field has; the log says so, and what it found.
        return text
    return msgspec.Raw(text.encode()) if name == "attributes" else value


def _present(value: object) -> object:
    """The value of a struct without the fields that are null: a struct has those of all rows."""
    if isinstance(value, dict):
        return {name: _present(inner) for name, inner in value.items() if inner is not None}
    return [_present(inner) for inner in value] if isinstance(value, list) else value
