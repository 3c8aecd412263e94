"""Whole integers at any byte of an array."""

import numpy as np
from numba import njit

from tidings.columns.unaligned import SLACK, eight_at, put_eight


@njit
def moved(source, target, places):
    for i in range(len(places)):
        put_eight(target, places[i], eight_at(source, i))


def test_any_byte_is_a_place(seed):
    random = np.random.default_rng(seed)
    source = random.integers(0, 256, 40, np.uint8)
    source.flags.writeable = False
    places = random.permutation(33)
    target = np.zeros(33 + SLACK, np.uint8)
    moved(source, target, places)
    wanted = np.zeros(33 + SLACK, np.uint8)
    for i, place in enumerate(places):
        wanted[place : place + 8] = source[i : i + 8]
    assert target.tolist() == wanted.tolist()
    assert target.any()
