"""What an index of `within` subscriptions is, and which there are.

An index finds candidates and verifies them: `match` answers exactly. It keeps no subscription of its own; the table
is passed to every call, and an index holds what it needs to find slots in it.
"""

from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tidings.columns.standing import Subscriptions
from tidings.model.errors import InputError, Problem
from tidings.model.events import Space


class Messages(NamedTuple):
    """A batch of messages, as an index sees them."""

    position: npt.NDArray[np.int64]
    place: npt.NDArray[np.float64]
    """(n, 4) min_lon, min_lat, max_lon, max_lat; a point is a box without extent."""
    word_start: npt.NDArray[np.int64]
    """n + 1 offsets into `word`."""
    word: npt.NDArray[np.uint32]
    """Ids in the vocabulary of the subscriptions; 0 for a word that none of them has."""


class Pairs(NamedTuple):
    """The matches of a batch in CSR form."""

    start: npt.NDArray[np.int64]
    """n + 1 offsets into `slot`."""
    slot: npt.NDArray[np.int32]
    """The subscriptions that each message matches, each once, in no particular order."""


class Index(Protocol):
    """An index of `within` subscriptions."""

    def __init__(self, space: Space) -> None: ...

    def insert(self, subscriptions: Subscriptions, slots: npt.NDArray[np.int32]) -> None:
        """Index the `within` versions in these slots."""

    def delete(self, subscriptions: Subscriptions, slots: npt.NDArray[np.int32]) -> None:
        """Forget these slots; they are still readable."""

    def match(self, subscriptions: Subscriptions, messages: Messages, versions: bool) -> Pairs:
        """The subscriptions that each message matches. `versions`: some of the indexed versions are not in force at
        all positions of the batch, so [born, dead) is to be looked at.
        """

    def observe(self, subscriptions: Subscriptions, messages: Messages) -> None:
        """Learn from a batch what `match` learns from it, without looking for anything: afterwards the index is the
        same, but for counts of work.
        """

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All state, by name; what a snapshot keeps."""

    @classmethod
    def from_arrays(cls, space: Space, arrays: dict[str, npt.NDArray[Any]]) -> "Index":
        """The index of these arrays."""

    def stats(self) -> dict[str, float]:
        """Sizes, and counts of the work done so far."""


INDEXES: Final[dict[str, str]] = {
    "brute": "tidings.index.brute:Brute",
    "pyramid": "tidings.index.pyramid.index:Pyramid",
}
"""By name: where the class is. It is imported when it is asked for."""


def load(registry: dict[str, str], name: str, what: str) -> Any:
    """The class of a name in a registry, or of a name `module:Class`, which is anybody's own."""
    if name not in registry and ":" not in name:
        known = ", ".join(sorted(registry))
        raise InputError(Problem("method-unknown", what, repr(name), f"one of {known}"))
    module, _, attribute = registry.get(name, name).partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        if name in registry:
            raise
        expected = "module:Class, where the class can be imported from"
        raise InputError(Problem("method-unknown", what, repr(name), expected, str(error))) from error


def index_of(name: str, space: Space) -> Index:
    """A new, empty index."""
    index: Index = load(INDEXES, name, "--within")(space)
    return index
