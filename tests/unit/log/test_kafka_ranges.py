"""Positions of records: fixed by the ranges of a batch, whatever the partitions hold."""

import json
from random import Random

import pytest

from tidings.log import kafka_ranges
from tidings.log.kafka_ranges import KafkaRange, next_ranges, offsets_json, position_of, ranges_of, record_at, shifts
from tidings.model.errors import InputError

RANGES = (KafkaRange("e-1", 2, 5, 8), KafkaRange("e-1", 0, 0, 4))


def test_partition_by_partition():
    assert [position_of(RANGES, 100, 2, offset) for offset in (5, 6, 7)] == [100, 101, 102]
    assert [position_of(RANGES, 100, 0, offset) for offset in range(4)] == [103, 104, 105, 106]
    assert shifts(RANGES, 100) == {2: 95, 0: 103}
    assert [record_at(RANGES, 100, position) for position in (100, 102, 103, 106)] == [(2, 5), (2, 7), (0, 0), (0, 3)]


@pytest.mark.parametrize(("partition", "offset"), [(2, 4), (2, 8), (0, 4), (1, 5)])
def test_what_is_in_no_range_has_no_position(partition, offset):
    with pytest.raises(InputError):
        position_of(RANGES, 100, partition, offset)


@pytest.mark.parametrize("position", [99, 107])
def test_what_is_not_in_the_batch_has_no_record(position):
    with pytest.raises(InputError):
        record_at(RANGES, 100, position)


def test_a_partition_comes_once_in_a_batch():
    with pytest.raises(InputError, match="one range per partition"):
        shifts([KafkaRange("e", 0, 0, 4), KafkaRange("e", 0, 4, 5)], 0)


def test_a_plan_keeps_ranges_and_their_order():
    kept = json.loads(json.dumps(kafka_ranges.sources_of(RANGES)))
    assert kept == {"e-1-2": [[5, 8]], "e-1-0": [[0, 4]]}
    assert ranges_of(kept) == RANGES


def test_ranges_as_the_connector_takes_them():
    first, end = offsets_json(RANGES)
    assert json.loads(first) == {"e-1": {"2": 5, "0": 0}}
    assert json.loads(end) == {"e-1": {"2": 8, "0": 4}}


def test_everything_is_taken_once_and_no_batch_is_too_large(seed):
    random = Random(seed)
    ends, taken = dict.fromkeys(range(5), 0), dict.fromkeys(range(5), 0)
    seen: set[tuple[int, int]] = set()
    for _ in range(200):
        for one in ends:
            ends[one] += random.choice([0, 0, 1, 10])
        most = random.choice([1, 7, 20])
        batch = next_ranges("e", taken, ends, most)
        waiting = sum(ends.values()) - sum(taken.values())
        assert kafka_ranges.n_positions(batch) == min(most, waiting)
        assert [one.partition for one in batch] == sorted(one.partition for one in batch)
        for one in batch:
            assert one.first == taken[one.partition]
            seen.update((one.partition, offset) for offset in range(one.first, one.end))
            taken[one.partition] = one.end
    assert len(seen) == sum(taken.values()) > 1000


def test_no_partition_waits_for_a_busy_one():
    batch = next_ranges("e", {0: 0, 1: 0}, {0: 1_000_000, 1: 3}, 10)
    assert [one.end for one in batch] == [7, 3]


@pytest.mark.parametrize("n", range(2, 8))
def test_halves_are_the_batch(n):
    ranges = (KafkaRange("e", 0, 3, 4), KafkaRange("e", 1, 0, n - 1))
    first, second = kafka_ranges.halves(ranges)
    base = kafka_ranges.n_positions(first)
    assert base == n // 2
    assert [record_at(ranges, 0, position) for position in range(n)] == [
        *(record_at(first, 0, position) for position in range(base)),
        *(record_at(second, base, position) for position in range(base, n)),
    ]
