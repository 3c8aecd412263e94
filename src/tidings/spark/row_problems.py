"""What is wrong with the rows of a DataFrame: gathered over a whole task, then raised at once or told as rows."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import pyarrow as pa
from msgspec.structs import replace

from tidings.model.errors import MAX_PROBLEMS, InputError, Problem, shortened


class RowProblem(NamedTuple):
    """A problem of one row."""

    id: str | None
    """The row's id, as far as it has one."""
    problem: Problem
    """Its place is a path as in JSON, `$.lon`."""


class RowProblems:
    """The problems of the rows that a task sees of one table."""

    def __init__(self, table: str, *, drops: bool) -> None:
        self._table: Final = table
        self._drops: Final = drops
        self._kept: list[Problem] = []
        self._total = 0

    def add(self, problems: Iterable[RowProblem]) -> None:
        """Remember problems, unless rows that have any are dropped."""
        if self._drops:
            return
        for id_, problem in problems:
            self._total += 1
            if len(self._kept) < MAX_PROBLEMS:
                self._kept.append(replace(problem, place=place_of(self._table, id_, problem)))

    def __bool__(self) -> bool:
        return self._total > 0

    def raise_all(self) -> None:
        """Raise them as one error, if there are any."""
        if self._total:
            raise InputError(self._kept, self._total)


def place_of(table: str, id_: str | None, problem: Problem) -> str:
    """Where a problem is: the table, the row by its id, the column."""
    row = "" if id_ is None else f"[{shortened(repr(id_))}]"
    return f"{table}{row}{problem.place.removeprefix('$')}"


def problem_batch(table: str, problems: Iterable[RowProblem]) -> pa.RecordBatch:
    """The problems as rows of `PROBLEM_SCHEMA`."""
    rows = [
        {
            "table": table,
            "id": id_,
            "code": problem.code,
            "place": problem.place.removeprefix("$").removeprefix("."),
            "found": problem.found,
            "expected": problem.expected,
            "hint": problem.hint,
        }
        for id_, problem in problems
    ]
    return pa.RecordBatch.from_pylist(rows, _SCHEMA)


_SCHEMA: Final = pa.schema(
    [(name, pa.string()) for name in ("table", "id", "code", "place", "found", "expected", "hint")]
)
