"""Where Spark places shards."""

import pytest

from tidings.spark.placing import keys_of, spark_hash


def test_the_hash_is_that_of_spark():
    """As `SELECT hash(0), hash(1), hash(42)` says in Spark 4.3."""
    assert [spark_hash(key) for key in (0, 1, 42)] == [933211791, -559580957, 29417773]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 100, 1024])
def test_every_shard_has_a_task_of_its_own(n):
    keys = keys_of(n)
    assert [spark_hash(key) % n for key in keys] == list(range(n))
