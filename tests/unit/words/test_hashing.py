"""The hash of words: plain and compiled are one function, and it mixes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.words.arenas import Arena
from tidings.words.hash_kernels import hash_strings
from tidings.words.hashing import FOLD, INSTEAD_OF_ZERO, MULTIPLIER, hash_utf8, hash_word


def test_the_hash_is_part_of_the_formats():
    pinned = {
        "": 16294208416658607535,
        "flood": 17846689309241656132,
        "überschwemmung": 16160400893129101920,
        "0123456701234567": 10663870599507416457,
    }
    assert {word: hash_word(word) for word in pinned} == pinned


@settings(max_examples=500)
@given(st.lists(st.text(max_size=40), max_size=8))
def test_compiled_is_the_same(words):
    arena = Arena.of(words)
    assert hash_strings(arena.offset, arena.data).tolist() == [hash_word(word) for word in words]


def test_compiled_reads_a_slice_and_writable_arrays():
    arena = Arena.of(["x", "ab", "c" * 17])
    hashes = hash_strings(arena.offset[1:].copy(), arena.data.copy())
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == [hash_word("ab"), hash_word("c" * 17)]


def test_zero_is_no_hash():
    """Eight bytes that undo what the length put into the state would hash to 0."""
    state = 9 * MULTIPLIER % 2**64
    data = ((state ^ state >> 32) * pow(FOLD, -1, 2**64) % 2**64).to_bytes(8, "little")
    assert hash_utf8(data) == INSTEAD_OF_ZERO > 0
    assert hash_strings(np.array([0, 8]), np.frombuffer(data, np.uint8)).tolist() == [INSTEAD_OF_ZERO]


def test_no_collisions_and_even_low_bits():
    words = [f"{stem}{number}" for stem in ("", "a", "flood-in-the-city-") for number in range(100_000)]
    words += ["\0" * length for length in range(64)]
    arena = Arena.of(words)
    hashes = hash_strings(arena.offset, arena.data)
    assert len(np.unique(hashes)) == len(words)
    for shift in (0, 16, 32, 48):
        filled = np.bincount(((hashes >> np.uint64(shift)) & np.uint64(255)).astype(np.int64), minlength=256)
        # A 256-cell chi-square of a uniform hash is 255 with deviation 23.
        assert ((filled - len(words) / 256) ** 2 / (len(words) / 256)).sum() < 255 + 6 * 23


def test_each_bit_of_the_input_turns_half_of_the_hash():
    for length in (1, 5, 8, 9, 16, 23):
        base = bytes(range(97, 97 + length))
        for bit in range(8 * length):
            changed = (int.from_bytes(base, "little") ^ 1 << bit).to_bytes(length, "little")
            assert 10 <= (hash_utf8(base) ^ hash_utf8(changed)).bit_count() <= 54
