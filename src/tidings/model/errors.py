"""Errors: one base, stable codes, the place, what was expected, and a hint.

Every error that a user can cause carries one or more `Problem`s. A problem is plain data, so that the command line,
the HTTP bodies and the rejects file say the same thing. The codes below are the whole list; the reference page of
the documentation is generated from it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

CODES: Final[dict[str, str]] = {
    "json-invalid": "The line is not one JSON value (NaN, Infinity and numbers out of range are not JSON).",
    "json-duplicate-key": "An object names the same key twice.",
    "json-encoding": "The bytes are not UTF-8.",
    "line-too-long": "A line is longer than 64 KiB.",
    "line-empty": "A line between others is empty; a position is a line number, so none may be skipped.",
    "op-unknown": "The operation is not one of those that exist.",
    "kind-unknown": "The kind of subscription is not one of those that exist.",
    "field-unknown": "A field that this operation or kind does not have.",
    "field-missing": "A field that this operation or kind needs is not there.",
    "field-type": "A field has a value of the wrong type.",
    "field-value": "A field has a value of the right type that is out of its range.",
    "field-conflict": "Two fields that exclude each other are both there.",
    "id-invalid": "An id is not a string of 1 to 128 characters.",
    "id-taken": "The id belongs to a subscription in force, or to a message that is live.",
    "id-unknown": "No subscription with this id is in force.",
    "place-outside": "A coordinate lies off the globe or off the plane.",
    "region-invalid": "A region is not one of the forms that exist.",
    "polygon-invalid": "A polygon is empty, crosses itself, is not closed or has too many vertices.",
    "move-kind": "Only subscriptions of kind `around` can move.",
    "configure-late": "`configure` is only allowed at position 0.",
    "expression-syntax": "An expression does not parse.",
    "expression-limit": "An expression passes one of the caps (clauses, leaves, depth).",
    "expression-no-positive": "A clause of an expression has no positive word.",
    "words-empty": "A text or a list of words leaves no word to match.",
    "limit-reached": "A bound of the system is reached.",
    "file-unreadable": "A file cannot be opened, read or written.",
    "file-format": "A file is not of the format that its name or header claims.",
    "file-schema": "A column of a table is missing, unknown or of the wrong type.",
    "file-corrupt": "A saved file is cut, or its checksum does not fit its content.",
    "method-unknown": "No index, matcher or workload of this name is registered.",
    "option-invalid": "An option of a command or a call has a value that it cannot take.",
    "word-collision": "Two different words have the same 64-bit hash.",
    "disk-full": "There is no room left to write; nothing was written, and writing goes on when there is room again.",
    "log-behind": "The log ends before a position that was already used: it is an older copy, or another log.",
    "log-busy": "Another process has held the lock of a file for too long.",
    "log-closed": "The log was closed, or opened for reading only.",
    "position-gone": "A position is no longer kept, or was lost when the log was repaired.",
    "producer-sequence": "A producer's submission does not follow the one before it.",
    "stale-epoch": "Another driver has taken over; what this one wants to write is refused.",
    "job-failed": "Spark cannot run a batch; what is done stays done.",
    "state-spread": "The state of a pipeline was made with another plan or another number of shards.",
    "poison": "The matcher fails at an event, which is set aside after its bounded tries.",
    "java-missing": "There is no Java to run Spark with, or it is too old.",
    "package-missing": "A package that this needs is not installed.",
    "kafka-unreachable": "No broker of Kafka answers, or it refuses.",
}
"""Every stable code with its meaning."""

MAX_PROBLEMS: Final = 100
"""So many problems of one submission are reported; the rest are counted."""


class Problem(Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong, said so that it can be put right."""

    code: str
    """One of `CODES`."""
    place: str
    """A JSON path (`$.at[0]`), a position in an expression (`$.when:1:7`), a file or an option."""
    found: str = ""
    """What stood there, shortened."""
    expected: str = ""
    """What would have been right."""
    hint: str = ""
    """What to do about it; may span lines (an expression with its caret)."""
    line: int | None = None
    """The line or row from 0 (the event's position), when the problem is in a file of events."""

    def __str__(self) -> str:
        where = self.place if self.line is None else f"line {self.line + 1} (position {self.line}), {self.place}"
        parts = [f"{where}: {self.code}"]
        if self.found:
            parts.append(f"found {self.found}")
        if self.expected:
            parts.append(f"expected {self.expected}")
        text = "; ".join(parts)
        if self.hint:
            text += "\n  " + self.hint.replace("\n", "\n  ")
        return text


class TidingsError(Exception):
    """The base of all errors that Tidings raises on purpose: one or more problems of one submission."""

    def __init__(self, problems: Problem | Iterable[Problem], total: int | None = None) -> None:
        found: Sequence[Problem] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.problems: Final[tuple[Problem, ...]] = tuple(found[:MAX_PROBLEMS])
        self.total: Final = max(total or 0, len(found))
        """How many there are; more than `problems` when there are over `MAX_PROBLEMS`."""
        super().__init__(str(self))

    @property
    def code(self) -> str:
        """The code of the first problem."""
        return self.problems[0].code

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        if self.total > len(self.problems):
            lines.append(f"and {self.total - len(self.problems)} more problems")
        return "\n".join(lines)


class InputError(TidingsError):
    """What was given is wrong: an event, an expression, an option, a field of a table."""


class FileError(TidingsError):
    """A file cannot be used: unreadable, of another format, cut or corrupt."""


class LimitError(TidingsError):
    """A bound of the system is reached."""


class StaleEpochError(TidingsError):
    """Another driver has taken over; this one may write nothing more."""


def shortened(value: object, length: int = 60) -> str:
    """What stood there, as it is shown in a problem."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= length else text[: length - 1] + "…"
