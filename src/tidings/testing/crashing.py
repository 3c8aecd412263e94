"""Things that fail where a test says, as often as it says: for retries, for poison, for what a kill leaves behind."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import new_class
from typing import Any, Final, Generic, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from tidings.columns.standing import Subscriptions
from tidings.index.base import INDEXES, Index, Messages, Pairs, load
from tidings.model.events import Space

P = ParamSpec("P")
R = TypeVar("R")


class Crash(Exception):  # noqa: N818 - it is no error, it is what was asked for
    """Raised on purpose."""


class Crashing(Generic[P, R]):
    """A function that raises at chosen calls, and is itself at all others.

    >>> read = Crashing(str.upper, at=2)
    >>> read("a")
    'A'
    >>> read("b")
    Traceback (most recent call last):
    tidings.testing.crashing.Crash: call 2
    >>> read("b")
    'B'

    """

    def __init__(
        self, function: Callable[P, R], *, at: int = 1, times: int = 1, error: type[BaseException] = Crash
    ) -> None:
        self._function: Final = function
        self._first: Final = at
        self._end: Final = at + times
        self._error: Final = error
        self.calls = 0
        """How often it was called."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, or raise."""
        self.calls += 1
        if self._first <= self.calls < self._end:
            raise self._error(f"call {self.calls}")
        return self._function(*args, **kwargs)


def crashing_index(
    position: int,
    *,
    times: int | None = None,
    folder: str | Path | None = None,
    kill: bool = False,
    of: str = "pyramid",
) -> str:
    """The name of an index of `within` that fails at the message at a position.

    It is given wherever an index is named, as `within=…` or `--within`, and works in every process that gets the name.
    Without `times` it fails whenever it comes there: the event is poison. With `times` it fails so often over all
    processes, counted by files in `folder`, and then is the index `of`: what a retry gets over. With `kill` it does not
    raise but kills its process with SIGKILL.
    """
    if times is not None and folder is None:
        raise ValueError("`times` are counted in files: give a `folder`")
    made = f"{position}|{'' if times is None else times}|{'kill' if kill else 'raise'}|{of}|{folder or ''}"
    return f"{__name__}:CrashingIndex|{made}"


class CrashingIndex:
    """An index that fails; `crashing_index` names one."""

    position = -1
    times: int | None = None
    kill = False
    of = "pyramid"
    folder = ""

    def __init__(self, space: Space) -> None:
        self._inner: Index = load(INDEXES, self.of, "within")(space)

    def insert(self, subscriptions: Subscriptions, slots: npt.NDArray[np.int32]) -> None:
        """What the index does."""
        self._inner.insert(subscriptions, slots)

    def delete(self, subscriptions: Subscriptions, slots: npt.NDArray[np.int32]) -> None:
        """What the index does."""
        self._inner.delete(subscriptions, slots)

    def match(self, subscriptions: Subscriptions, messages: Messages, versions: bool) -> Pairs:
        """What the index does, unless the message is among these."""
        if self.position in messages.position and self._is_due():
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise Crash(f"position {self.position}")
        return self._inner.match(subscriptions, messages, versions)

    def observe(self, subscriptions: Subscriptions, messages: Messages) -> None:
        """What the index does."""
        self._inner.observe(subscriptions, messages)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What the index keeps."""
        return self._inner.arrays()

    @classmethod
    def from_arrays(cls, space: Space, arrays: dict[str, npt.NDArray[Any]]) -> "CrashingIndex":
        """The index of these arrays."""
        index = cls(space)
        index._inner = type(index._inner).from_arrays(space, arrays)
        return index

    def stats(self) -> dict[str, float]:
        """What the index says."""
        return self._inner.stats()

    def _is_due(self) -> bool:
        """Whether it fails once more; each failure takes a file that nobody else can take."""
        return self.times is None or any(self._taken())

    def _taken(self) -> Iterator[bool]:
        for number in range(self.times or 0):
            try:
                Path(self.folder, f"crash-{self.position}-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            yield True


def __getattr__(name: str) -> Any:
    """The class that a name of `crashing_index` means."""
    kind, _, made = name.partition("|")
    if kind != "CrashingIndex" or made.count("|") < 4:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    position, times, how, of, folder = made.split("|", 4)
    chosen = {
        "position": int(position),
        "times": int(times) if times else None,
        "kill": how == "kill",
        "of": of,
        "folder": folder,
    }
    return new_class("CrashingIndex", (CrashingIndex,), exec_body=lambda body: body.update(chosen))
