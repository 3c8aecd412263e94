"""The 64-bit hash of a word: a fixed function of its UTF-8 bytes, here in plain Python for what must start quickly.

Eight bytes at a time (little-endian, the last filled up with zeros) are multiplied, folded and mixed into a state that
begins with the length; every step can be undone, so words of one length of up to eight bytes never collide. A finaliser
spreads each bit of the state over the result. 0 is never a hash: it stands for "no word" in every table.

A word travels and is stored as its hash, so the function is part of the formats and must not change. `hash_kernels` is
the same function compiled.
"""

from typing import Final

MULTIPLIER: Final = 0x9E3779B97F4A7C15
FOLD: Final = 0xBF58476D1CE4E5B9
FINISH: Final = 0x94D049BB133111EB
INSTEAD_OF_ZERO: Final = 0xD6E8FEB86659FD93
_MASK: Final = (1 << 64) - 1


def hash_word(word: str) -> int:
    """The hash of a word, from 1 to 2**64 - 1."""
    return hash_utf8(word.encode())


def hash_utf8(data: bytes) -> int:
    """The hash of a word given as its UTF-8 bytes."""
    state = (len(data) + 1) * MULTIPLIER & _MASK
    for start in range(0, len(data), 8):
        block = int.from_bytes(data[start : start + 8], "little") * FOLD & _MASK
        state = (state ^ block ^ block >> 32) * MULTIPLIER & _MASK
        state ^= state >> 29
    state = (state ^ state >> 30) * FOLD & _MASK
    state = (state ^ state >> 27) * FINISH & _MASK
    return state ^ state >> 31 or INSTEAD_OF_ZERO
