"""Floors: what somebody writes in fifteen lines of plain Python, to say how many times faster an index is.

They are kept honest: sets of words are compared by C code, names are bound outside of the loops, the number of cells is
the best of several, everything is warmed up, and the garbage collector finds nothing to walk through. Times are seconds
of one core, as those of an index.
"""

import gc
from collections.abc import Callable
from time import process_time
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tidings.columns.block import WITHIN, SubscriptionColumns
from tidings.lab.blocks import subscriptions_at
from tidings.lab.workloads import Workload
from tidings.model.errors import InputError, Problem
from tidings.model.regions import Bounds
from tidings.space.shapes import BOX

Entry: TypeAlias = tuple[str, float, float, float, float, frozenset[str]]
Message: TypeAlias = tuple[float, float, set[str]]

CELLS: Final = (25, 50, 100, 150, 200, 300)
"""So many cells along each side are tried."""
MOST_FILINGS: Final = 16.0
"""Grids in which a subscription lies in more cells on average are not tried: they need gigabytes and gain nothing."""
TRIED_SUBSCRIPTIONS: Final = 100_000
TRIED_MESSAGES: Final = 2_000


class Floor(Protocol):
    """Boxes with words that must all be there, and point messages."""

    def __init__(self, bounds: Bounds, cells: int) -> None: ...

    def insert(self, subscriptions: list[Entry], rarity: dict[str, int]) -> None:
        """File subscriptions under their rarest word."""

    def match(self, x: float, y: float, words: set[str]) -> list[str]:
        """The ids of the subscriptions that a message matches."""


class PythonDict:
    """Grid cell x rarest word in a dict of lists."""

    def __init__(self, bounds: Bounds, cells: int) -> None:
        self._x, self._y = bounds[0], bounds[1]
        self._per_x, self._per_y = cells / (bounds[2] - bounds[0]), cells / (bounds[3] - bounds[1])
        self._lists: Final[dict[tuple[int, int, str], list[Entry]]] = {}

    def insert(self, subscriptions: list[Entry], rarity: dict[str, int]) -> None:
        """File subscriptions under their rarest word in every cell that they touch."""
        x, y, per_x, per_y, lists = self._x, self._y, self._per_x, self._per_y, self._lists
        for entry in subscriptions:
            _, x0, y0, x1, y1, words = entry
            rarest = min(words, key=rarity.__getitem__)
            for column in range(int((x0 - x) * per_x), int((x1 - x) * per_x) + 1):
                for row in range(int((y0 - y) * per_y), int((y1 - y) * per_y) + 1):
                    lists.setdefault((column, row, rarest), []).append(entry)

    def match(self, x: float, y: float, words: set[str]) -> list[str]:
        """Look into the lists of the message's cell and words."""
        column, row, lists = int((x - self._x) * self._per_x), int((y - self._y) * self._per_y), self._lists
        found = []
        for word in words:
            for id, x0, y0, x1, y1, needed in lists.get((column, row, word), ()):
                if x0 <= x <= x1 and y0 <= y <= y1 and needed <= words:
                    found.append(id)
        return found


class PythonNestedDict:
    """The same with a dict of lists in each cell: the cell is looked up once, and C code finds the words it has."""

    def __init__(self, bounds: Bounds, cells: int) -> None:
        self._x, self._y = bounds[0], bounds[1]
        self._per_x, self._per_y = cells / (bounds[2] - bounds[0]), cells / (bounds[3] - bounds[1])
        self._cells: Final[dict[tuple[int, int], dict[str, list[Entry]]]] = {}

    def insert(self, subscriptions: list[Entry], rarity: dict[str, int]) -> None:
        """File subscriptions under their rarest word in every cell that they touch."""
        x, y, per_x, per_y, cells = self._x, self._y, self._per_x, self._per_y, self._cells
        for entry in subscriptions:
            _, x0, y0, x1, y1, words = entry
            rarest = min(words, key=rarity.__getitem__)
            for column in range(int((x0 - x) * per_x), int((x1 - x) * per_x) + 1):
                for row in range(int((y0 - y) * per_y), int((y1 - y) * per_y) + 1):
                    cells.setdefault((column, row), {}).setdefault(rarest, []).append(entry)

    def match(self, x: float, y: float, words: set[str]) -> list[str]:
        """Look into the lists of those of the message's words that its cell has."""
        cell = self._cells.get((int((x - self._x) * self._per_x), int((y - self._y) * self._per_y)))
        found = []
        if cell is not None:
            for word in cell.keys() & words:
                for id, x0, y0, x1, y1, needed in cell[word]:
                    if x0 <= x <= x1 and y0 <= y <= y1 and needed <= words:
                        found.append(id)
        return found


FLOORS: Final[dict[str, type[Floor]]] = {"python-dict": PythonDict, "python-nested-dict": PythonNestedDict}
"""By name."""


class Filled(NamedTuple):
    """A floor with the subscriptions of a workload in it, and messages as it takes them."""

    floor: Floor
    messages: list[Message]
    build_s: float
    cells: int


def fill(name: str, workload: Workload, messages: int, progress: Callable[[str], None]) -> Filled:
    """A floor with the best number of cells for a workload of boxes, points, and words in AND."""
    if not is_plain(workload):
        raise InputError(Problem("option-invalid", name, expected="boxes, words in AND, point messages"))
    columns, bounds = workload.subscriptions, _bounds(workload)
    used = columns.word.strings()
    rarity = dict(zip(used, _uses(columns, len(used)).tolist(), strict=True))
    points = _messages(workload, messages, workload.words.strings())
    progress(f"{name}: choosing the number of cells")
    cells = _best_cells(FLOORS[name], columns, points, bounds, rarity)
    progress(f"{name}: filling a grid of {cells} x {cells}")
    entries = _entries(columns)
    gc.disable()
    start = process_time()
    floor = FLOORS[name](bounds, cells)
    floor.insert(entries, rarity)
    build_s = process_time() - start
    gc.freeze()
    gc.enable()
    return Filled(floor, points, build_s, cells)


def is_plain(workload: Workload) -> bool:
    """Whether it is of boxes, points, and words in AND, as the floors need it."""
    columns, place = workload.subscriptions, workload.messages.place
    header = columns.term[columns.term_start[:-1]]
    return bool(
        (columns.kind == WITHIN).all()
        and (columns.shape == BOX).all()
        and ((header >= 1) & (header + 1 == np.diff(columns.term_start))).all()
        and (place[:, :2] == place[:, 2:]).all()
    )


def _bounds(workload: Workload) -> Bounds:
    """The box of all regions and messages: a recording fills little of the globe, and cells elsewhere help nobody."""
    boxes = np.concatenate([workload.subscriptions.geometry.reshape(-1, 4), workload.messages.place])
    (x0, y0), (x1, y1) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
    return x0, y0, max(x1, np.nextafter(x0, np.inf)), max(y1, np.nextafter(y0, np.inf))


def time_of(floor: Floor, messages: list[Message]) -> float:
    """How long it takes to answer these messages."""
    match = floor.match
    start = process_time()
    for x, y, words in messages:
        match(x, y, words)
    return process_time() - start


def _uses(columns: SubscriptionColumns, words: int) -> npt.NDArray[np.int64]:
    is_word = np.ones(len(columns.term), bool)
    is_word[columns.term_start[:-1]] = False
    return np.bincount(columns.term[is_word], minlength=words)


def _entries(columns: SubscriptionColumns) -> list[Entry]:
    words = columns.word.strings()
    term, start = columns.term.tolist(), columns.term_start.tolist()
    boxes = columns.geometry.reshape(-1, 4).tolist()
    return [
        (id, x0, y0, x1, y1, frozenset([words[word] for word in term[first + 1 : end]]))
        for id, (x0, y0, x1, y1), first, end in zip(columns.id.strings(), boxes, start, start[1:], strict=False)
    ]


def _messages(workload: Workload, n: int, words: list[str]) -> list[Message]:
    start = workload.messages.word_start[: n + 1].tolist()
    number = workload.message_word[: start[-1]].tolist()
    return [
        (x, y, {words[word] for word in number[first:end]})
        for (x, y, _, _), first, end in zip(workload.messages.place[:n].tolist(), start, start[1:], strict=False)
    ]


def _best_cells(
    kind: type[Floor], columns: SubscriptionColumns, messages: list[Message], bounds: Bounds, rarity: dict[str, int]
) -> int:
    """Try each number of cells on a strip of the space, which is about as dense as the whole."""
    boxes = columns.geometry.reshape(-1, 4)
    share = min(1.0, TRIED_SUBSCRIPTIONS / len(boxes))
    low, high = np.quantile(boxes[:, 0], [0.5 - share / 2, 0.5 + share / 2]).tolist()
    entries = _entries(subscriptions_at(columns, np.flatnonzero((boxes[:, 0] >= low) & (boxes[:, 0] <= high))))
    tried = [message for message in messages if low <= message[0] <= high][:TRIED_MESSAGES] or messages[:1]
    extent = np.array([bounds[2] - bounds[0], bounds[3] - bounds[1]])
    best, least = CELLS[0], float("inf")
    for cells in CELLS:
        sides = (boxes[:, 2:] - boxes[:, :2]) / extent * cells + 1.0
        if cells > CELLS[0] and sides.prod(axis=1).mean() > MOST_FILINGS:
            break
        floor = kind(bounds, cells)
        floor.insert(entries, rarity)
        spent = min(time_of(floor, tried) for _ in range(3))
        if spent < least:
            best, least = cells, spent
    return best
