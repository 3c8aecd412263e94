"""Digits become the float64 that `float` makes of them, bit by bit."""

import struct
from decimal import Decimal
from random import Random

import numpy as np
import pytest
from numba import njit

from tidings.columns.floats import MAX_DIGITS, MAX_EXPONENT, nearest_float


@njit
def _all(digits, exponent, out):
    for i in range(len(out)):
        out[i] = nearest_float(digits[i], exponent[i])


def halfway(random: Random) -> int:
    """A number of at most 19 digits that lies between two floats at the same distance from both."""
    return (2 * random.randrange(2**52, 2**53) + 1) << random.randrange(8)


def near_halfway(random: Random) -> list[str]:
    number, power = halfway(random), random.randrange(1, 5)
    down = (2 * random.randrange(2**52, 2**53) + 1) * 5**power
    exact = [(n, 0) for n in (number - 1, number, number + 1)] + [(n, -power) for n in (down - 1, down, down + 1)]
    return [f"{n}e{exponent}" for n, exponent in exact if len(str(n)) <= MAX_DIGITS]


def any_float(random: Random) -> str:
    while True:
        value = abs(struct.unpack("<d", random.randbytes(8))[0])
        if 1e-230 < value < 1e230:
            return repr(value)


KINDS = {
    "coordinates": lambda random: [repr(random.uniform(0.0, 180.0))],
    "rounded coordinates": lambda random: [f"{random.uniform(0.0, 180.0):.{random.randrange(9)}f}"],
    "any float": lambda random: [any_float(random)],
    "any digits": lambda random: [
        f"{random.randrange(10 ** random.randint(1, MAX_DIGITS))}e{random.randint(-MAX_EXPONENT, MAX_EXPONENT)}"
    ],
    "near halfway": near_halfway,
    "short": lambda random: [f"{random.randrange(1000)}e{random.randint(-30, 30)}"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_as_float_reads_them(kind, seed):
    random = Random(f"{seed} {kind}")
    texts = [text for _ in range(20_000) for text in KINDS[kind](random)]
    parts = [Decimal(text).as_tuple() for text in texts]
    digits = np.array([int("".join(map(str, part.digits))) for part in parts], np.uint64)
    exponent = np.array([part.exponent for part in parts], np.int64)
    kept = np.abs(exponent) <= MAX_EXPONENT
    found = np.empty(int(kept.sum()))
    _all(digits[kept], exponent[kept], found)
    wanted = np.array([float(text) for text in texts])[kept]
    wrong = np.flatnonzero(found.view(np.uint64) != wanted.view(np.uint64))
    assert len(wanted) > 10_000
    assert not len(wrong), [(texts[np.flatnonzero(kept)[i]], found[i]) for i in wrong[:5]]
