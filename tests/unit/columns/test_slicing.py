"""A cut block says the same as the whole one, event by event."""

import numpy as np
import pytest
from tests.contract.replaying import blocks_of
from tests.oracle.logs import PROFILES, random_log

from tidings.columns import block as b
from tidings.columns.slicing import pieces_from


def event_of(block, i):
    """All that a block says about one of its events, without the row numbers."""
    op, row = int(block.op[i]), int(block.row[i])
    said = [int(block.position[i]), op, int(block.time[i])]
    if op == b.PUBLISH:
        m = block.messages
        words = slice(m.word_start[row], m.word_start[row + 1])
        said += [text(m.id, row), m.place[row].tolist(), int(m.expires[row])]
        said += [m.word_hash[words].tolist(), m.word_count[words].tolist()]
    elif op in (b.REGISTER, b.REPLACE):
        s = block.subscriptions
        geometry = slice(s.geometry_start[row], s.geometry_start[row + 1])
        terms = slice(s.term_start[row], s.term_start[row + 1])
        said += [text(s.id, row), int(s.kind[row]), int(s.shape[row]), s.geometry[geometry].tolist()]
        said += [s.term[terms].tolist(), s.word.strings(), s.word_hash.tolist()]
    elif op in (b.RETRACT, b.MOVE, b.REMOVE):
        said += [text(block.names, row), str(block.moved_to[row].tolist())]
    elif op == b.REWEIGH:
        w = block.weights
        words = slice(w.start[row], w.start[row + 1])
        said += [w.word_hash[words].tolist(), w.weight[words].tolist(), float(w.default[row])]
    return said


def text(arena, row):
    return arena.data[arena.offset[row] : arena.offset[row + 1]].tobytes().decode()


@pytest.mark.parametrize("profile", PROFILES)
def test_pieces_say_what_the_block_says(profile, seed):
    generator = np.random.default_rng(seed)
    for number in range(5):
        _, [block] = blocks_of(random_log(seed + number, 150, profile), ())
        whole = [event_of(block, i) for i in range(len(block.op))]
        for n in (1, 4, 40, 400):
            pieces = pieces_from(block, generator.integers(0, len(block.op), n))
            assert [event_of(piece, i) for piece in pieces for i in range(len(piece.op))] == whole
            assert all(len(piece.op) for piece in pieces)


def test_pieces_are_sealed_and_hold_only_their_messages(seed):
    _, [block] = blocks_of(random_log(seed, 100, "mixed"), ())
    for piece in pieces_from(block, range(0, len(block.op), 10)):
        published = int((piece.op == b.PUBLISH).sum())
        assert len(piece.messages.place) == len(piece.messages.expires) == published
        assert len(piece.messages.word_start) == len(piece.messages.id.offset) == published + 1
        assert piece.messages.word_start[0] == 0
        assert piece.messages.word_start[-1] == len(piece.messages.word_hash)
        for part in (piece, piece.messages, piece.subscriptions, piece.names, piece.messages.id):
            for array in part:
                assert not isinstance(array, np.ndarray) or not array.flags.writeable


def test_a_block_without_a_cut_inside_is_itself(seed):
    _, [block] = blocks_of(random_log(seed, 50, "mixed"), ())
    for cuts in ([], [0], [len(block.op)], [0, 0]):
        [piece] = pieces_from(block, cuts)
        assert piece is block
