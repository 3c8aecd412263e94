"""The subscriptions of a shard: the table, the vocabulary of their words, and how a block changes both."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from numba import njit

from tidings.columns import block as b
from tidings.columns.block import Block
from tidings.columns.subscriptions import (
    COUNT,
    SubscriptionTable,
    empty_table,
    find_slot,
    free_slot,
    ids_of,
    leave,
    put,
    take_slot,
    term_size,
    with_room,
)
from tidings.model.errors import InputError, Problem
from tidings.model.events import Event, Move, Register, Remove, Replace
from tidings.words.arenas import read_only
from tidings.words.vocabulary import Vocabulary

_TAKEN: Final = 1
_UNKNOWN: Final = 2
_CANNOT_MOVE: Final = 3
_PROBLEMS: Final = {
    _TAKEN: Problem("id-taken", "$.id", expected="an id that no subscription in force has"),
    _UNKNOWN: Problem("id-unknown", "$.id", expected="the id of a subscription in force"),
    _CANNOT_MOVE: Problem("move-kind", "$.id", expected="a subscription of kind around"),
}


class Changes(NamedTuple):
    """Which versions a block begins and ends."""

    began: npt.NDArray[np.int32]
    """By event: the slot of the version that a `register` or `replace` begins, or 0."""
    ended: npt.NDArray[np.int32]
    """By event: the slot of the version that a `replace` or `remove` ends; of a `move`, the slot that moves."""


@njit(nogil=True, cache=True)
def _apply(
    table: SubscriptionTable,
    block: Block,
    word_id: npt.NDArray[np.uint32],
    references: npt.NDArray[np.int64],
    began: npt.NDArray[np.int32],
    ended: npt.NDArray[np.int32],
) -> tuple[int, int]:
    """Begin and end the versions of a block. An event that cannot be is named with its reason, and those before it
    are done.
    """
    for event in range(len(block.op)):
        op = block.op[event]
        if op == b.REGISTER or op == b.REPLACE:
            row = block.row[event]
            ids = block.subscriptions.id
        elif op == b.REMOVE or op == b.MOVE:
            row = block.row[event]
            ids = block.names
        else:
            continue
        slot = find_slot(table, ids.data, ids.offset[row], ids.offset[row + 1])
        if op == b.REGISTER:
            if slot:
                return event, _TAKEN
        elif slot == 0:
            return event, _UNKNOWN
        elif op == b.MOVE and table.kind[slot] != b.AROUND:
            return event, _CANNOT_MOVE
        ended[event] = slot
        if op == b.REPLACE or op == b.REMOVE:
            table.dead[slot] = block.position[event]
            leave(table, slot)
        if op == b.REGISTER or op == b.REPLACE:
            slot = take_slot(table)
            put(table, slot, block.position[event], block.subscriptions, row, word_id, references)
            began[event] = slot
    return -1, 0


@njit(nogil=True, cache=True)
def _words_of(table: SubscriptionTable, slots: npt.NDArray[np.int32]) -> npt.NDArray[np.uint32]:
    """The ids of all words in the terms of slots, as often as they stand there."""
    total = 0
    for slot in slots:
        total += term_size(table, slot)
    words = np.empty(total, np.uint32)
    n = 0
    for slot in slots:
        place = np.int64(table.term_start[slot])
        end = place + term_size(table, slot)
        if table.kind[slot] == b.BEST or table.kind[slot] == b.NEAREST:
            for i in range(place + 1, end, 2):
                words[n] = table.term[i]
                n += 1
            continue
        while place < end:
            header = np.int64(table.term[place])
            place += 1
            for _ in range((header & 0xFFFF) + ((header >> b.EXCLUDED_SHIFT) & 0x7FFF)):
                words[n] = table.term[place]
                n += 1
                place += 1
    return words[:n].copy()


@njit(nogil=True, cache=True)
def _free(table: SubscriptionTable, slots: npt.NDArray[np.int32]) -> None:
    for slot in slots:
        free_slot(table, slot)


class Subscriptions:
    """The subscriptions of a shard."""

    def __init__(self, table: SubscriptionTable | None = None, vocabulary: Vocabulary | None = None) -> None:
        self.table: SubscriptionTable = table or empty_table()
        self.vocabulary: Final = vocabulary or Vocabulary()

    def __len__(self) -> int:
        return int(self.table.state[COUNT])

    def apply(self, block: Block) -> Changes:
        """Begin and end versions as a sealed block says; ended ones stay readable until `settle`."""
        columns = block.subscriptions
        if not len(columns.kind) and len(block.names.offset) == 1:
            # Nothing but messages: the usual block, and a small one is to be quick.
            nothing = np.zeros(len(block.op), np.int32)
            return Changes(nothing, nothing)
        word_id = self.vocabulary.acquire(columns.word_hash, columns.word.offset, columns.word.data)
        self.table = with_room(self.table, columns)
        began, ended = np.zeros(len(block.op), np.int32), np.zeros(len(block.op), np.int32)
        references = self.vocabulary.arrays().references
        event, reason = _apply(self.table, block, word_id, references, began, ended)
        # Each use of a word in the terms counts for itself; what held the words until then is given back.
        self.vocabulary.release(word_id)
        if reason:
            raise InputError(_problem(block, event, reason))
        return Changes(began, ended)

    def settle(self, changes: Changes, block: Block) -> None:
        """Give back what the versions that a block ended held."""
        ended = changes.ended[(changes.ended > 0) & (block.op != b.MOVE)]
        if len(ended):
            self.vocabulary.release(_words_of(self.table, ended))
            _free(self.table, ended)

    def find(self, subscription: str) -> int:
        """The slot of the version in force with this id, or 0."""
        data = read_only(np.frombuffer(subscription.encode(), np.uint8))
        return int(find_slot(self.table, data, 0, len(data)))

    def problem_of(self, event: Event) -> Problem | None:
        """Why an event about a subscription cannot be, if so."""
        if isinstance(event, Register | Replace):
            name = event.subscription.id
        elif isinstance(event, Move | Remove):
            name = event.id
        else:
            return None
        slot, reason = self.find(name), 0
        if isinstance(event, Register):
            reason = _TAKEN if slot else 0
        elif not slot:
            reason = _UNKNOWN
        elif isinstance(event, Move) and self.table.kind[slot] != b.AROUND:
            reason = _CANNOT_MOVE
        return replace(_PROBLEMS[reason], found=repr(name)) if reason else None

    def of_kind(self, kind: int) -> npt.NDArray[np.int64]:
        """The slots of the versions in force of one kind."""
        return np.flatnonzero((self.table.kind == kind) & (self.table.dead == b.NEVER))

    def id(self, slot: int) -> str:
        """The id of a slot."""
        return ids_of(self.table, np.array([slot], np.int32)).strings()[0]


def _problem(block: Block, event: int, reason: int) -> Problem:
    position, row = int(block.position[event]), int(block.row[event])
    op = int(block.op[event])
    ids = block.subscriptions.id if op in (b.REGISTER, b.REPLACE) else block.names
    name = ids.data[ids.offset[row] : ids.offset[row + 1]].tobytes().decode()
    return replace(_PROBLEMS[reason], found=repr(name), line=position)
