"""The order of the answer, and what a replacement across kinds does not say."""

from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from tests.unit.columns.making import block_of

from tidings.columns import block as b
from tidings.columns.deltas import deltas_to_list
from tidings.columns.messages import Weighting, empty_window
from tidings.columns.standing import Changes, Subscriptions
from tidings.columns.window import LiveWindow
from tidings.matching.base import Found, empty_found, longer_found
from tidings.matching.merging import deltas_of, gathered, without_exchanges
from tidings.model.events import Publish, Register, Remove, Replace
from tidings.model.regions import Everywhere
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Within

IDS = ["", "a", "aa", "ab", "b", "B", "é", "e\u0301", "z", "\uffee", "\U0001f30a", "a" * 127, "a" * 128, "10", "9"]
"""Where the order of code points differs from others that come to mind; the empty one cannot be, and must not crash."""
IDS += ["a\0", "12345678", "123456789", "12345678-a", "12345678-b", "12345678-longer-a", "12345678-longer-b", "1234567"]
"""Where the first eight bytes are equal, or only seem to be."""


def standing(kinds):
    """A table and window that hold these ids, and their slots."""
    events = []
    for i, name in enumerate(IDS[1:]):
        kind = kinds[i % len(kinds)]
        events.append(
            Register(
                {
                    b.WITHIN: Within(name, Everywhere()),
                    b.AROUND: Around(name, (0.0, 0.0), Disc(1.0)),
                    b.BEST: Best(name, (0.0, 0.0), 1, 0.5, words=("x",)),
                    b.NEAREST: Nearest(name, (0.0, 0.0), 1, words=("x",)),
                }[kind]
            )
        )
    # The slots are taken a second time: what stands behind a short id is left over from a longer one.
    first = block_of([Register(Within(f"zzzzzzzzzz{i}", Everywhere())) for i in range(len(IDS))])
    subscriptions, window = Subscriptions(), LiveWindow(empty_window(100, None))
    subscriptions.apply(first)
    again = block_of([Remove(f"zzzzzzzzzz{i}") for i in range(len(IDS))], position=len(IDS))
    subscriptions.settle(subscriptions.apply(again), again)
    events += [Publish(name, at=(0.0, 0.0), words=("x",)) for name in IDS[1:]]
    block = block_of(events, position=5)
    subscriptions.apply(block)
    window.replay(Weighting(np.empty(0, np.uint64), np.empty(0), np.ones(1)), block)
    return block, subscriptions, window


@pytest.mark.parametrize("n", [0, 1, 2, 60, 300, 2000])
def test_rows_come_in_the_order_of_the_answer(n, seed):
    random = Random(f"{seed} {n}")
    kinds = [b.WITHIN, b.AROUND, b.BEST, b.NEAREST]
    block, subscriptions, window = standing(kinds)
    names = IDS[1:]
    published = np.flatnonzero(block.op == b.PUBLISH)
    keys = set()
    while len(keys) < n:
        keys.add(
            (int(random.choice(published[:5])), random.choice(names), random.choice((-1, 1)), random.choice(names))
        )
    parts = [[] for _ in range(4)]
    for event, subscription, sign, message in keys:
        slot = subscriptions.find(subscription)
        kind = int(subscriptions.table.kind[slot])
        row = -1 - names.index(message) if kind == b.WITHIN else window.find(message)
        value = random.random() if kind in (b.BEST, b.NEAREST) else float("nan")
        parts[kind - 1].append((event, slot, row, sign, value))
    found = []
    for rows in parts:
        rows.sort(key=lambda row: row[0])
        columns = zip(*rows, strict=True) if rows else [[]] * 5
        kinds_of = (np.int32, np.int32, np.int32, np.int8, np.float64)
        found.append(Found(*(np.array(list(c), kind) for c, kind in zip(columns, kinds_of, strict=True))))
    deltas = deltas_to_list(deltas_of(gathered(found), block, subscriptions.table, window.table))
    wanted = sorted((event + 5, subscription, sign, message) for event, subscription, sign, message in keys)
    assert [(d.position, d.subscription, 1 if d.op == "+" else -1, d.message) for d in deltas] == wanted
    values = {
        (event, int(slot), sign, value) for rows in parts for event, slot, _, sign, value in rows if value == value
    }
    for delta in deltas:
        slot = subscriptions.find(delta.subscription)
        kind = subscriptions.table.kind[slot]
        assert (delta.score is not None) == (kind == b.BEST)
        assert (delta.distance is not None) == (kind == b.NEAREST)
        if kind in (b.BEST, b.NEAREST):
            value = delta.score if kind == b.BEST else delta.distance
            assert (delta.position - 5, slot, 1 if delta.op == "+" else -1, value) in values


def rows_of(*rows):
    columns = zip(*rows, strict=True)
    kinds = (np.int32, np.int32, np.int32, np.int8, np.float64)
    return gathered([Found(*(np.array(list(c), kind) for c, kind in zip(columns, kinds, strict=True)))])


def test_an_exchange_between_kinds_is_not_told():
    block = block_of([Replace(Within("s", Everywhere())), Replace(Within("t", Everywhere()))])
    table = SimpleNamespace(kind=np.array([b.FREE, b.AROUND, b.BEST, b.BEST, b.BEST], np.uint8))
    changes = Changes(began=np.array([2, 4]), ended=np.array([1, 3]))
    rows = rows_of(
        (0, 1, 7, -1, np.nan),
        (0, 2, 7, 1, 0.5),
        (0, 1, 8, -1, np.nan),
        (0, 2, 9, 1, 0.1),
        (1, 3, 7, -1, 0.2),
        (1, 4, 7, 1, 0.3),
    )
    left = without_exchanges(rows, block, changes, table)
    assert [(int(e), int(m), int(s)) for e, m, s in zip(left.event, left.message, left.sign, strict=True)] == [
        (0, 8, -1),
        (0, 9, 1),
        (1, 7, -1),
        (1, 7, 1),
    ]


def test_matchers_are_gathered_in_order_of_event():
    one = Found(np.array([1, 3], np.int32), *empty_found(2)[1:])
    other = Found(np.array([0, 1, 2], np.int32), *empty_found(3)[1:])
    rows = gathered([one, empty_found(0), other])
    assert rows.event.tolist() == [0, 1, 1, 2, 3]
    assert rows.subscription.tolist()[1] == int(one.subscription[0]), "equal events stay in the order of the matchers"


def test_room_for_more():
    found = empty_found(4)
    for column in found:
        column[:] = 1
    longer = longer_found(found, 5)
    assert all(len(column) >= 8 and (column[:4] == 1).all() for column in longer)
