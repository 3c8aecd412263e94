"""An index filled with the subscriptions of a workload, and batches of messages answered with ids as strings.

Times are seconds of one core that this process used, so that what else the machine does falls out of the ratios.
"""

from collections.abc import Iterator
from time import process_time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.columns.block import MessageColumns, SubscriptionColumns
from tidings.columns.rows import names_at
from tidings.columns.standing import Subscriptions
from tidings.columns.subscriptions import ids_of
from tidings.index.base import Index, Messages, Pairs, index_of
from tidings.lab.blocks import messages_between, register_block, remove_block
from tidings.model.events import Space

if TYPE_CHECKING:
    import pyarrow as pa

BATCH: Final = 10_000


class Loaded:
    """The subscriptions and an index over them, and how long it took to change either."""

    def __init__(self, method: str, space: Space) -> None:
        self.subscriptions: Final = Subscriptions()
        self.index: Final[Index] = index_of(method, space)
        self.position = 0
        self.table_s = 0.0
        self.index_s = 0.0

    def register(self, columns: SubscriptionColumns) -> float:
        """Register subscriptions in one block; how long that took."""
        block = register_block(columns, self.position)
        start = process_time()
        changes = self.subscriptions.apply(block)
        applied = process_time()
        self.index.insert(self.subscriptions, changes.began)
        end = process_time()
        self.position += len(block.op)
        self.table_s += applied - start
        self.index_s += end - applied
        return end - start

    def remove(self, columns: SubscriptionColumns, rows: npt.NDArray[np.int64]) -> float:
        """Remove the subscriptions with the ids of these rows in one block; how long that took."""
        block = remove_block(names_at(columns.id, rows), self.position)
        start = process_time()
        changes = self.subscriptions.apply(block)
        self.index.delete(self.subscriptions, changes.ended)
        self.subscriptions.settle(changes, block)
        end = process_time()
        self.position += len(block.op)
        return end - start

    @property
    def nbytes(self) -> int:
        """All arrays that are needed to answer."""
        return (
            _nbytes(self.subscriptions.table._asdict())
            + _nbytes(self.subscriptions.vocabulary.arrays()._asdict())
            + _nbytes(self.index.arrays())
        )

    def pairs(self, batch: MessageColumns) -> Pairs:
        """The slots that each message of a batch matches."""
        n = len(batch.expires)
        position = np.arange(self.position, self.position + n)
        words = self.subscriptions.vocabulary.find(batch.word_hash)
        return self.index.match(self.subscriptions, Messages(position, batch.place, batch.word_start, words), False)

    def answer(self, batch: MessageColumns) -> "pa.LargeListArray":
        """For each message of a batch the ids of the subscriptions that it matches."""
        import pyarrow as pa

        pairs = self.pairs(batch)
        ids = ids_of(self.subscriptions.table, pairs.slot)
        strings = pa.LargeStringArray.from_buffers(len(pairs.slot), pa.py_buffer(ids.offset), pa.py_buffer(ids.data))
        return pa.LargeListArray.from_arrays(pa.array(pairs.start), strings)


def _nbytes(arrays: dict[str, npt.NDArray[Any]]) -> int:
    return sum(array.nbytes for array in arrays.values())


def loaded(method: str, space: Space, columns: SubscriptionColumns) -> Loaded:
    """An index of all these subscriptions."""
    result = Loaded(method, space)
    result.register(columns)
    return result


def batches_of(messages: MessageColumns, size: int = BATCH) -> list[MessageColumns]:
    """The messages in batches."""
    return [messages_between(messages, first, end) for first, end in ranges(len(messages.expires), size)]


def ranges(n: int, size: int) -> Iterator[tuple[int, int]]:
    """0..n in ranges of a size."""
    for first in range(0, n, size):
        yield first, min(first + size, n)


class Speed(NamedTuple):
    """How fast messages were answered."""

    messages: int
    matches: int
    seconds: float
    """Of one pass; the median of several."""

    @property
    def messages_per_s(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds


def speed_of(index: Loaded, batches: list[MessageColumns], repetitions: int, budget_s: float) -> Speed:
    """Answer all batches several times, once before to warm up; a slow index answers as many as the budget allows."""
    first = messages_between(batches[0], 0, min(100, len(batches[0].expires)))
    index.answer(first)
    start = process_time()
    index.answer(first)
    per_message = (process_time() - start) / len(first.expires)
    affordable = int(budget_s / max(per_message, 1e-9))
    if affordable < sum(len(batch.expires) for batch in batches):
        end = max(min(affordable, len(batches[0].expires)), 1)
        batches = [messages_between(batches[0], 0, end)]
        repetitions = 1
    else:
        for batch in batches:
            index.answer(batch)
    return median_speed(index, batches, repetitions)


def median_speed(index: Loaded, batches: list[MessageColumns], repetitions: int) -> Speed:
    """Answer all batches several times."""
    times, matches = [], 0
    for _ in range(repetitions):
        start = process_time()
        matches = sum(len(index.answer(batch).values) for batch in batches)
        times.append(process_time() - start)
    return Speed(sum(len(batch.expires) for batch in batches), matches, float(np.median(times)))
