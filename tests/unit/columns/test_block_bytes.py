"""Blocks as bytes, and several as one."""

import struct

import numpy as np
import pyarrow as pa
import pytest
from tests.contract.replaying import blocks_of, random_cuts
from tests.contract.worlds import generator
from tests.oracle.logs import PROFILES, random_log
from tests.unit.columns.comparing import assert_same_block, assert_sealed, leaves

from tidings.columns import block as b
from tidings.columns.block import sealed
from tidings.columns.block_bytes import block_from_bytes, block_to_bytes, joined
from tidings.columns.rows import NO_EVENTS, by_position
from tidings.columns.slicing import pieces_from
from tidings.model.errors import FileError
from tidings.words.arenas import Arena


def whole_block(seed, profile="mixed", n=250):
    _, [block] = blocks_of(random_log(seed, n, profile), ())
    assert {b.PUBLISH, b.REGISTER} <= set(block.op.tolist())
    return block


@pytest.mark.parametrize("profile", PROFILES)
def test_there_and_back(profile, seed):
    for number in range(5):
        block = whole_block(seed + number, profile)
        assert_same_block(block_from_bytes(block_to_bytes(block)), block)
    assert_same_block(block_from_bytes(block_to_bytes(NO_EVENTS)), NO_EVENTS)


def test_without_a_copy_when_the_bytes_are_aligned(seed):
    data = pa.py_buffer(block_to_bytes(whole_block(seed)))
    whole = np.frombuffer(data, np.uint8)
    for _, array in leaves(block_from_bytes(data)):
        assert not array.size or np.shares_memory(array, whole)
        assert not array.size or (array.ctypes.data - whole.ctypes.data) % 64 == 0


@pytest.mark.parametrize("shift", range(1, 9))
def test_bytes_that_begin_anywhere(shift, seed):
    block = whole_block(seed)
    data = block_to_bytes(block)
    assert_same_block(block_from_bytes(memoryview(bytes(shift) + data)[shift:]), block)


def test_other_bytes_and_cut_bytes_are_told(seed):
    data = block_to_bytes(whole_block(seed))
    version = data[:8] + struct.pack("<I", 99) + data[12:]
    size = data[:24] + struct.pack("<Q", 3) + data[32:]
    cases = {b"": "file-format", b"x" * 500: "file-format", data[:100]: "file-format", version: "file-format"}
    cases |= {data[:-1]: "file-corrupt", data + b"\0": "file-corrupt", size: "file-corrupt"}
    for broken, code in cases.items():
        with pytest.raises(FileError) as caught:
            block_from_bytes(broken)
        assert caught.value.code == code


@pytest.mark.parametrize("profile", PROFILES)
def test_joined_pieces_are_the_block(profile, seed):
    random = generator(seed, profile)
    for number in range(5):
        log = random_log(seed + number, 250, profile)
        _, [block] = blocks_of(log, ())
        pieces = pieces_from(block, random_cuts(random, log, random.choice([1, 5, 50])))
        assert len(pieces) > 1
        assert_same_block(joined(pieces), block)
        _, blocks = blocks_of(log, random_cuts(random, log, 7))
        assert_same_block(joined(blocks), block)


def test_what_a_piece_shares_does_not_travel(seed):
    block = whole_block(seed, n=400)
    pieces = pieces_from(block, range(20, len(block.op), 20))
    sizes = [len(block_to_bytes(piece)) for piece in pieces]
    assert sum(sizes) < 2 * len(block_to_bytes(block)) + 1500 * len(pieces)
    assert_same_block(joined([block_from_bytes(block_to_bytes(piece)) for piece in pieces]), block)


def test_joined_of_none_and_of_one(seed):
    block = whole_block(seed)
    assert_same_block(joined([]), NO_EVENTS)
    assert_same_block(joined([block]), block)
    assert_same_block(joined([NO_EVENTS, block, NO_EVENTS]), block)


def test_words_with_one_hash_all_stay(seed):
    """Two different words of one hash are a collision that a dictionary has to find."""
    block = whole_block(seed)
    words = block.subscriptions.word.strings()
    other = Arena.of([word + "x" for word in words])
    changed = sealed(block._replace(subscriptions=block.subscriptions._replace(word=other)))
    both = joined([block, changed]).subscriptions
    assert words
    assert both.word.strings() == words + other.strings()
    first, second = len(block.subscriptions.term), len(both.term)
    assert both.term[first:second].max() >= len(words)


def test_events_in_order_whatever_order_they_came_in(seed):
    log = random_log(seed, 250)
    _, [block] = blocks_of(log, ())
    pieces = pieces_from(block, np.flatnonzero(np.diff((block.op == b.PUBLISH).astype(int))) + 1)
    assert len(pieces) > 20
    messages = [piece for piece in pieces if piece.op[0] == b.PUBLISH]
    others = [piece for piece in pieces if piece.op[0] != b.PUBLISH]
    odd, even = messages[1::2], messages[::2]
    assert_same_block(by_position(joined([*odd, *even, *others])), block)


def test_all_is_sealed(seed):
    for name, array in leaves(joined(pieces_from(whole_block(seed), [10, 20]))):
        assert_sealed(name, array)
