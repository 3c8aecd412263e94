"""Subscriptions of a DataFrame: rows become `register` events, exactly as those of a table of events do."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from tidings.log.event_fields import event_from_fields
from tidings.log.strict_json import json_value
from tidings.model.errors import InputError, Problem
from tidings.model.events import Register, Space
from tidings.spark.row_problems import RowProblem

_JSON: Final = {"where": "everywhere", "shape": ""}
"""Columns of JSON, and what is understood in them without its quotes."""


def registrations(batch: pa.RecordBatch, space: Space, kind: str | None) -> Iterator[Register | list[RowProblem]]:
    """The event of each row, or what is wrong with it. `kind` is that of all rows when there is no such column."""
    for row in batch.to_pylist():
        fields = {name: value for name, value in row.items() if value is not None}
        try:
            event = event_from_fields(_fields_of(fields, kind), space)
        except InputError as error:
            id_ = fields.get("id")
            yield [RowProblem(id_, problem) for problem in error.problems]
        else:
            assert isinstance(event, Register)
            yield event


def _fields_of(fields: dict[str, Any], kind: str | None) -> Mapping[str, object]:
    """The fields of the event that a row is."""
    fields["op"] = "register"
    if kind is not None:
        fields["kind"] = kind
    for name, plain in _JSON.items():
        value = fields.get(name)
        if isinstance(value, str) and value != plain:
            fields[name] = json_value(value.encode(), f"$.{name}")
        elif isinstance(value, dict):
            fields[name] = _present(value)
    if "lon" in fields or "lat" in fields:
        if "lon" not in fields or "lat" not in fields:
            raise InputError(Problem("field-missing", "$.lon", "only one of `lon` and `lat`", "both, or neither"))
        fields["at"] = [fields.pop("lon"), fields.pop("lat")]
    parts = {name: fields.pop(name) for name in ("radius_m", "width", "height") if name in fields}
    if parts:
        fields["shape"] = parts
    return fields


def _present(value: object) -> object:
    """The value of a struct without the fields that are null: a struct has those of all rows."""
    if isinstance(value, dict):
        return {name: _present(inner) for name, inner in value.items() if inner is not None}
    return [_present(inner) for inner in value] if isinstance(value, list) else value
