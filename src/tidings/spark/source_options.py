"""The options of `format("tidings")`, read once and checked."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tidings.model.errors import InputError, Problem


class ReadOptions(NamedTuple):
    """How a log or deliveries are read."""

    starting: int | str | None
    """A position, `earliest` or `latest`; None for the default."""
    ending: int | None
    """Batch queries read up to here, this position not included."""
    max_events: int | None
    """Of a micro-batch."""
    max_bytes: int | None
    """Of a micro-batch, as lines."""
    partitions: int | None
    consumer: str | None
    """The name under which retention waits for a streaming query."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "ReadOptions":
        """The options, or an `InputError`."""
        wrong: list[Problem] = []
        starting: int | str | None = options.get("startingPosition")
        if starting is not None and starting not in _NAMED:
            starting = _number(options, "startingPosition", 0, wrong, f"{', '.join(_NAMED)} or a position")
        read = cls(
            starting,
            _number(options, "endingPosition", 0, wrong),
            _number(options, "maxEventsPerTrigger", 1, wrong),
            _number(options, "maxBytesPerTrigger", 1, wrong),
            _number(options, "numPartitions", 1, wrong),
            options.get("consumer"),
        )
        if wrong:
            raise InputError(wrong)
        return read

    def first(self, start: int, end: int, default: int) -> int:
        """Where reading begins, in a table that has [start, end)."""
        if self.starting is None:
            return default
        if isinstance(self.starting, int):
            return max(start, self.starting)
        return start if self.starting == "earliest" else end


_NAMED: Final = ("earliest", "latest")


def path_of(options: Mapping[str, str]) -> str:
    """The path of a log."""
    path = options.get("path")
    if not path:
        hint = "give it to load(…), start(…) or save(…)"
        raise InputError(Problem("option-invalid", "path", "nothing", "the path of a log", hint))
    return path


def _number(options: Mapping[str, str], name: str, least: int, wrong: list[Problem], expected: str = "") -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if text.isdecimal() and int(text) >= least:
        return int(text)
    wrong.append(Problem("option-invalid", name, repr(text), expected or f"a number from {least} on"))
    return None
