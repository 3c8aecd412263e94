"""Where records of Kafka stand in the log: a batch's ranges of offsets, written down before it runs, fix the order.

A batch takes its ranges one after the other, each from its first offset to its end, and every offset of them is a
position, whether a record stands there or not: what a transaction left behind (its markers, a record that was rolled
back) is a gap, as a rejected line is.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from tidings.model.errors import InputError, Problem

Sources = dict[str, tuple[tuple[int, int], ...]]
"""How a plan writes ranges down: by `topic-partition`, in order, the ranges of offsets."""


class KafkaRange(Struct, frozen=True):
    """The records of one partition at first <= offset < end."""

    topic: str
    partition: int
    first: int
    end: int


def n_positions(ranges: Iterable[KafkaRange]) -> int:
    """How many positions a batch of these ranges takes."""
    return sum(one.end - one.first for one in ranges)


def shifts(ranges: Sequence[KafkaRange], base: int) -> dict[int, int]:
    """By partition: what makes an offset a position, by addition, in a batch that begins at `base`."""
    found: dict[int, int] = {}
    for one in ranges:
        if one.partition in found or one.topic != ranges[0].topic or not 0 <= one.first <= one.end:
            raise InputError(Problem("option-invalid", "ranges", repr(one), "one range per partition of one topic"))
        found[one.partition] = base - one.first
        base += one.end - one.first
    return found


def position_of(ranges: Sequence[KafkaRange], base: int, partition: int, offset: int) -> int:
    """The position of a record."""
    for one in ranges:
        if one.partition == partition and one.first <= offset < one.end:
            return base + offset - one.first
        base += one.end - one.first
    raise InputError(Problem("option-invalid", "ranges", f"offset {offset} of partition {partition}", "one in a range"))


def record_at(ranges: Sequence[KafkaRange], base: int, position: int) -> tuple[int, int]:
    """The partition and offset that stand at a position."""
    for one in ranges:
        if base <= position < base + one.end - one.first:
            return one.partition, one.first + position - base
        base += one.end - one.first
    raise InputError(Problem("option-invalid", "ranges", f"position {position}", "one in the batch"))


def next_ranges(topic: str, taken: Mapping[int, int], ends: Mapping[int, int], most: int) -> tuple[KafkaRange, ...]:
    """The ranges of the next batch: what is there and not taken yet, at most so much, of each partition its share.

    Partitions come in their order. One that has less than an equal share leaves the rest to the others.
    """
    waiting = {one: end - taken.get(one, 0) for one, end in sorted(ends.items()) if end > taken.get(one, 0)}
    shares: dict[int, int] = {}
    for i, one in enumerate(sorted(waiting, key=lambda one: waiting[one])):
        shares[one] = min(waiting[one], -(-most // (len(waiting) - i)))
        most -= shares[one]
    return tuple(
        KafkaRange(topic, one, taken.get(one, 0), taken.get(one, 0) + shares[one]) for one in waiting if shares[one]
    )


def offsets_json(ranges: Iterable[KafkaRange]) -> tuple[str, str]:
    """The ranges as `startingOffsets` and `endingOffsets` of Spark's connector."""
    first: dict[str, dict[str, int]] = {}
    end: dict[str, dict[str, int]] = {}
    for one in ranges:
        first.setdefault(one.topic, {})[str(one.partition)] = one.first
        end.setdefault(one.topic, {})[str(one.partition)] = one.end
    return json.dumps(first), json.dumps(end)


def sources_of(ranges: Iterable[KafkaRange]) -> Sources:
    """The ranges as a plan keeps them."""
    return {f"{one.topic}-{one.partition}": ((one.first, one.end),) for one in ranges}


def ranges_of(sources: Mapping[str, Iterable[tuple[int, int]]]) -> tuple[KafkaRange, ...]:
    """The ranges that a plan kept."""
    found = []
    for name, parts in sources.items():
        topic, _, partition = name.rpartition("-")
        found += [KafkaRange(topic, int(partition), first, end) for first, end in parts]
    return tuple(found)


def halves(ranges: Sequence[KafkaRange]) -> tuple[tuple[KafkaRange, ...], tuple[KafkaRange, ...]]:
    """A batch of several positions as two, which come one after the other."""
    left = n_positions(ranges) // 2
    first, second = [], []
    for one in ranges:
        cut = one.first + min(left, one.end - one.first)
        left -= cut - one.first
        first.append(KafkaRange(one.topic, one.partition, one.first, cut))
        second.append(KafkaRange(one.topic, one.partition, cut, one.end))
    return _filled(first), _filled(second)


def _filled(ranges: Iterable[KafkaRange]) -> tuple[KafkaRange, ...]:
    return tuple(one for one in ranges if one.end > one.first)
