"""The pool against a dict of pieces: no two overlap, their contents stay, and room is used again."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from numba import njit

from tidings.columns.pool import (
    LARGEST_EXACT,
    empty_head,
    pool_end,
    pool_give,
    pool_take,
    room_for,
    rounded,
    rounded_total,
)

SIZES = st.one_of(
    st.integers(0, 9), st.sampled_from([LARGEST_EXACT - 1, LARGEST_EXACT, LARGEST_EXACT + 1, 128, 129, 700])
)


class Pieces(RuleBasedStateMachine):
    @initialize(kind=st.sampled_from([np.uint32, np.uint64, np.float64]))
    def begin(self, kind):
        self.head, self.data = empty_head(), np.zeros(1, kind)
        self.pieces = {}
        self.number = 0
        self.most = 0

    @rule(size=SIZES)
    def take(self, size):
        self.number += 1
        self.data = room_for(self.head, self.data, int(rounded(size)))
        start = int(pool_take(self.head, self.data, size))
        self.data[start : start + size] = self.number
        self.pieces[self.number] = (start, size)

    @precondition(lambda self: self.pieces)
    @rule(data=st.data())
    def give(self, data):
        start, size = self.pieces.pop(data.draw(st.sampled_from(sorted(self.pieces))))
        pool_give(self.head, self.data, start, size)

    @rule()
    def give_all_and_take_them_again(self):
        """The same sizes come out of what was given: the pool does not grow."""
        sizes, end = [size for _, size in self.pieces.values()], pool_end(self.head)
        for start, size in self.pieces.values():
            pool_give(self.head, self.data, start, size)
        self.pieces = {}
        for size in sizes:
            self.take(size)
        assert pool_end(self.head) == end

    @invariant()
    def pieces_keep_what_is_theirs(self):
        for number, (start, size) in getattr(self, "pieces", {}).items():
            assert start + size <= pool_end(self.head) <= len(self.data)
            assert (self.data[start : start + size] == number).all()


def test_pieces():
    run_state_machine_as_test(Pieces, settings=settings(max_examples=60, stateful_step_count=40, deadline=None))


def test_rounding():
    assert [int(rounded(size)) for size in (0, 1, 64, 65, 128, 129, 256, 257)] == [0, 1, 64, 128, 128, 256, 256, 512]
    lengths = [0, 1, 5, 8, 300]
    offset = np.cumsum([0, *lengths])
    assert rounded_total(offset, 1) == sum(int(rounded(size)) for size in lengths)
    assert rounded_total(offset, 4) == sum(int(rounded(-(-size // 4))) for size in lengths)


@njit
def _take_three(head, data):  # type: ignore[no-untyped-def]
    first, second = pool_take(head, data, 3), pool_take(head, data, 3)
    pool_give(head, data, first, 3)
    pool_give(head, data, second, 3)
    return first, second, pool_take(head, data, 3), pool_take(head, data, 3), pool_take(head, data, 3)


def test_what_was_given_last_is_taken_first():
    assert _take_three(empty_head(), np.zeros(32, np.uint32)) == (0, 3, 3, 0, 6)
