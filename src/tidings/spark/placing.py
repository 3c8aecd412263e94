"""Keys by which Spark sends every shard to a task of its own.

Spark places rows by a hash of their key, and by the shards' own numbers several would share a task while others had
none: of two shards, both are in the second of two tasks; of eight, in five. So each shard is given a number that Spark
places where it belongs.
"""

from itertools import count
from typing import Final

_SEED: Final = 42
_WORD: Final = 0xFFFFFFFF


def keys_of(n: int) -> list[int]:
    """For each of n tasks the least whole number that Spark places there."""
    found: dict[int, int] = {}
    for key in count():
        found.setdefault(spark_hash(key) % n, key)
        if len(found) == n:
            return [found[task] for task in range(n)]
    raise AssertionError


def spark_hash(key: int) -> int:
    """What Spark's SQL function `hash` says of an int that is not negative: MurmurHash3."""
    mixed = _turned(key * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    value = _turned(_SEED ^ mixed, 13) * 5 + 0xE6546B64 & _WORD
    value ^= 4  # bytes
    value = (value ^ value >> 16) * 0x85EBCA6B & _WORD
    value = (value ^ value >> 13) * 0xC2B2AE35 & _WORD
    value ^= value >> 16
    return value - (1 << 32) if value >> 31 else value


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _WORD
