"""Which rows of a DataFrame can be messages, and what is wrong with the others; looked at column by column."""

import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.model.errors import MAX_PROBLEMS, Problem, shortened
from tidings.model.events import Space
from tidings.model.limits import MAX_ID_CHARACTERS, MAX_TIME_MS
from tidings.space.extent import extent_of, is_globe
from tidings.spark.message_columns import places, whole_numbers
from tidings.spark.row_problems import RowProblem

Mask: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
_Fault: TypeAlias = tuple[Mask, Callable[[int], Problem]]

_AXES: Final = (("x", "y"), ("lon", "lat"))


class Checked(NamedTuple):
    """What was seen of a batch."""

    good: pa.RecordBatch
    """The rows without problems, their ids in normal form."""
    problems: list[RowProblem]
    """Of the others; when they are very many, not of all."""


def checked(batch: pa.RecordBatch, space: Space) -> Checked:
    """The rows of a batch that can be messages, and what is wrong with the others."""
    batch = _with_normal_ids(batch)
    bad = np.zeros(batch.num_rows, np.bool_)
    found: list[tuple[int, Problem]] = []
    for faults in _faults(batch, space):
        seen = np.zeros(batch.num_rows, np.bool_)
        for mask, problem_of in faults:
            if mask.any():
                found += [(int(row), problem_of(int(row))) for row in np.flatnonzero(mask & ~seen)[:MAX_PROBLEMS]]
                seen |= mask
        bad |= seen
    if not found:
        return Checked(batch, [])
    ids = batch.column("id")
    problems = [RowProblem(ids[row].as_py(), problem) for row, problem in sorted(found, key=lambda one: one[0])]
    return Checked(batch.filter(pa.array(~bad)), problems)


def _with_normal_ids(batch: pa.RecordBatch) -> pa.RecordBatch:
    at = batch.schema.get_field_index("id")
    ids = batch.column(at)
    plain = pc.fill_null(pc.string_is_ascii(ids), True)
    if pc.all(plain, min_count=0).as_py():
        return batch
    odd = pc.invert(plain)
    normal = [unicodedata.normalize("NFKC", value) for value in ids.filter(odd).to_pylist()]
    return batch.set_column(at, "id", pc.replace_with_mask(ids, odd, pa.array(normal, ids.type)))


def _faults(batch: pa.RecordBatch, space: Space) -> Iterator[Iterator[_Fault]]:
    """Per field what can be wrong with it: the rows where it is so, and what to say about one of them.

    What comes later for the same field is only said of rows that nothing was said of yet.
    """
    names = batch.schema.names
    yield _id_faults(batch.column("id"))
    yield _place_faults(batch, space)
    yield _term_faults(batch)
    for name in ("ts", "expires"):
        if name in names:
            yield _time_faults(batch, name)
    if "position" in names:
        yield _position_faults(batch.column("position"))


def _id_faults(ids: pa.Array) -> Iterator[_Fault]:
    expected = f"a string of 1 to {MAX_ID_CHARACTERS} characters"
    yield _mask(pc.is_null(ids)), lambda _: Problem("field-missing", "$.id", "null", expected)
    length = pc.utf8_length(ids)
    yield (
        _mask(pc.or_(pc.equal(length, 0), pc.greater(length, MAX_ID_CHARACTERS))),
        lambda row: Problem("id-invalid", "$.id", f"{length[row]} characters", expected),
    )


def _place_faults(batch: pa.RecordBatch, space: Space) -> Iterator[_Fault]:
    names = batch.schema.names
    given = np.zeros(batch.num_rows, np.int64)
    if "lon" in names:
        lon, lat = batch.column("lon").is_valid(), batch.column("lat").is_valid()
        half = _mask(pc.xor(lon, lat))
        yield half, lambda _: Problem("field-missing", "$.lon", "only one of `lon` and `lat`", "both, or neither")
        given += _mask(pc.and_(lon, lat)) | half
    for name, length in (("at", 2), ("box", 4)):
        if name in names:
            column = batch.column(name)
            sizes = pc.list_value_length(column)
            given += _mask(column.is_valid())
            yield _mask(pc.not_equal(sizes, length)), _length_problem(name, sizes, length)
    columns = " and ".join(f"`{name}`" for name in ("lon", "at", "box") if name in names)
    yield given == 0, lambda _: Problem("field-missing", "$.at", "no place", "a place")
    yield given > 1, lambda _: Problem("field-conflict", "$.at", f"more than one of {columns}", "one place")
    place = places(batch)
    low, high = extent_of(space)[:2], extent_of(space)[2:]
    axes = _AXES[is_globe(space)]
    for i in range(4):
        values = place[:, i]
        yield ~np.isfinite(values), _number_problem(batch, values, i)
        outside = (values < low[i % 2]) | (values > high[i % 2])
        hint = "the order is lon, lat" if is_globe(space) and i % 2 else ""
        yield (
            outside,
            _outside_problem(batch, values, i, f"a {axes[i % 2]} from {low[i % 2]:g} to {high[i % 2]:g}", hint),
        )
    upside = (place[:, 1] > place[:, 3]) | ((place[:, 0] > place[:, 2]) & (not is_globe(space)))
    yield (
        upside,
        lambda row: Problem("region-invalid", "$.box", shortened(place[row].tolist()), "the lower corner first"),
    )


def _term_faults(batch: pa.RecordBatch) -> Iterator[_Fault]:
    names = batch.schema.names
    text = _valid(batch, "text")
    words = _valid(batch, "words")
    yield (
        ~text & ~words,
        lambda _: Problem("field-missing", "$.text", "neither `text` nor `words`", "one of both, if only empty"),
    )
    yield text & words, lambda _: Problem("field-conflict", "$.words", "`text` and `words`", "one of both")
    if "words" in names:
        column = batch.column("words")
        flat = column.flatten()
        odd = _mask(pc.or_kleene(pc.is_null(flat), pc.equal(pc.utf8_length(flat), 0)))
        rows = np.zeros(batch.num_rows, np.bool_)
        if odd.any():
            rows[pc.list_parent_indices(column).filter(pa.array(odd)).to_numpy()] = True
        yield rows, lambda _: Problem("field-value", "$.words", "a word that is null or empty", "words")


def _time_faults(batch: pa.RecordBatch, name: str) -> Iterator[_Fault]:
    values = whole_numbers(batch, name, 0)
    yield (
        np.abs(values) > MAX_TIME_MS,
        lambda row: Problem("field-value", f"$.{name}", str(values[row]), f"{-MAX_TIME_MS} to {MAX_TIME_MS}"),
    )


def _position_faults(column: pa.Array) -> Iterator[_Fault]:
    yield _mask(pc.is_null(column)), lambda _: Problem("field-missing", "$.position", "null", "a position")
    yield (
        _mask(pc.less(column, 0)),
        lambda row: Problem("field-value", "$.position", str(column[row]), "a position from 0 on"),
    )


def _length_problem(name: str, sizes: pa.Array, length: int) -> Callable[[int], Problem]:
    return lambda row: Problem("field-type", f"$.{name}", f"{sizes[row]} numbers", f"{length} numbers")


def _number_problem(batch: pa.RecordBatch, values: Floats, i: int) -> Callable[[int], Problem]:
    return lambda row: Problem("field-type", _corner(batch, row, i), f"{values[row]}", "a finite number")


def _outside_problem(
    batch: pa.RecordBatch, values: Floats, i: int, expected: str, hint: str
) -> Callable[[int], Problem]:
    return lambda row: Problem("place-outside", _corner(batch, row, i), f"{values[row]:.15g}", expected, hint)


def _corner(batch: pa.RecordBatch, row: int, i: int) -> str:
    """The column that a number of the place is in."""
    for name in ("at", "box"):
        if name in batch.schema.names and batch.column(name)[row].is_valid:
            return f"$.{name}[{i}]"
    return ("$.lon", "$.lat")[i % 2]


def _valid(batch: pa.RecordBatch, name: str) -> Mask:
    if name not in batch.schema.names:
        return np.zeros(batch.num_rows, np.bool_)
    return _mask(batch.column(name).is_valid())


def _mask(values: Any) -> Mask:
    return np.asarray(pc.fill_null(values, False).to_numpy(zero_copy_only=False), np.bool_)
