"""From events to columns: what each kind becomes, and that a refused event leaves no trace."""

import numpy as np
import pytest
from tests.unit.columns.making import block_of

from tidings.columns import block as b
from tidings.columns.deltas import DISTANCE, NO_VALUE, SCORE, Deltas, deltas_to_list
from tidings.columns.encode import BlockBuilder, weight_columns
from tidings.model.deltas import Delta
from tidings.model.errors import InputError
from tidings.model.events import Configure, Move, Publish, Register, Remove, Retract, Reweigh, Tick, Weights
from tidings.model.regions import Box, Everywhere
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Within
from tidings.words.arenas import Arena
from tidings.words.hashing import hash_word


def test_messages():
    block = block_of(
        [
            Publish("m1", at=(1.0, 2.0), text="b a, A!", ts=5, expires=9),
            Publish("m2", box=(1.0, 2.0, 3.0, 4.0), words=("z", "a", "z")),
            Publish("é", at=(0.0, 0.0), words=()),
        ],
        position=3,
    )
    assert block.position.tolist() == [3, 4, 5]
    assert block.op.tolist() == [b.PUBLISH] * 3
    assert block.time.tolist() == [5, b.NO_TIME, b.NO_TIME]
    messages = block.messages
    assert messages.id.strings() == ["m1", "m2", "é"]
    assert messages.place.tolist() == [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [0.0] * 4]
    assert messages.expires.tolist() == [9, b.NEVER, b.NEVER]
    assert messages.word_start.tolist() == [0, 2, 4, 4]
    assert messages.word_hash.tolist() == [hash_word(word) for word in "abaz"]
    assert messages.word_count.tolist() == [2, 1, 1, 1]


def test_words_stand_in_code_point_order_whatever_they_are():
    words = ("\U0001f30a", "\uffee", "z", "é", "a", "Z")
    block = block_of([Publish("m", at=(0.0, 0.0), words=words)])
    assert block.messages.word_hash.tolist() == [hash_word(word) for word in sorted(words)]
    block = block_of([Register(Nearest("s", (0.0, 0.0), 1, words=words))])
    columns = block.subscriptions
    strings = columns.word.strings()
    assert [strings[i] for i in columns.term[1::2]] == sorted(words)


def test_clauses():
    block = block_of(
        [
            Register(Within("s", Box((1.0, 2.0, 3.0, 4.0)), "b a AND NOT c OR d")),
            Register(Within("t", Everywhere())),
            Register(Within("n", Everywhere(), "a AND NOT a")),
        ]
    )
    columns = block.subscriptions
    words = columns.word.strings()
    assert columns.kind.tolist() == [b.WITHIN] * 3
    assert columns.geometry.tolist() == [1.0, 2.0, 3.0, 4.0]
    term = columns.term.tolist()
    assert term[0] == 2 | 1 << b.EXCLUDED_SHIFT | b.MORE_CLAUSES
    assert [words[i] for i in term[1:4]] == ["a", "b", "c"]
    assert (term[4], words[term[5]]) == (1, "d")
    assert term[columns.term_start[1] : columns.term_start[2]] == [0]
    assert [words[i] for i in term[columns.term_start[2] + 1 :]] == [""], "what never matches asks for the empty word"
    assert columns.word_hash.tolist() == [hash_word(word) for word in words]


def test_the_other_kinds():
    block = block_of(
        [
            Register(Around("a", (1.0, 2.0), Disc(3.0), "x")),
            Register(Best("b", (1.0, 2.0), 4, 0.5, text="y x y")),
            Register(Nearest("n", (1.0, 2.0), 7, words=("y", "y"))),
            Move("a", (5.0, 6.0)),
            Retract("m"),
            Remove("b"),
            Tick(8),
            Reweigh(Weights({"x": 2.0}, 0.5)),
        ]
    )
    columns = block.subscriptions
    assert columns.kind.tolist() == [b.AROUND, b.BEST, b.NEAREST]
    assert columns.geometry.tolist() == [1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 4.0, 0.5, 1.0, 2.0, 7.0]
    words = columns.word.strings()
    terms = [columns.term[i:j].tolist() for i, j in zip(columns.term_start, columns.term_start[1:], strict=False)]
    assert terms == [[1, words.index("x")], [2, words.index("x"), 1, words.index("y"), 2], [1, words.index("y"), 1]]
    assert block.names.strings() == ["a", "m", "b"]
    assert block.moved_to[0].tolist() == [5.0, 6.0]
    assert block.time.tolist()[-2:] == [8, b.NO_TIME]
    assert block.weights.word_hash.tolist() == [hash_word("x")]
    assert (block.weights.weight.tolist(), block.weights.default.tolist()) == ([2.0], [0.5])


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (Register(Within("s", Everywhere(), "a AND")), "expression-syntax"),
        (Register(Around("s", (0.0, 0.0), Disc(1.0), "NOT a")), "expression-no-positive"),
        (Register(Best("s", (0.0, 0.0), 1, 0.5, text="!!")), "words-empty"),
        (Register(Nearest("s", (0.0, 0.0), 1, words=())), "words-empty"),
        (Configure(), "configure-late"),
    ],
)
def test_a_refused_event_leaves_no_trace(event, code):
    builder, plain = BlockBuilder(Configure()), BlockBuilder(Configure())
    around = [Register(Within("r", Everywhere(), "a")), Publish("m", at=(0.0, 0.0), words=("a",))]
    builder.add(1, around[0])
    with pytest.raises(InputError) as caught:
        builder.add(2, event)
    assert caught.value.code == code
    assert len(builder) == 1
    builder.add(2, around[1])
    for position, good in enumerate(around, 1):
        plain.add(position, good)
    assert_equal(builder.build(), plain.build())
    assert len(builder) == 0


def assert_equal(one, other):
    for a, c in zip(one, other, strict=True):
        if isinstance(a, tuple):
            assert_equal(a, c)
        else:
            np.testing.assert_array_equal(a, c)


def test_weights_stand_in_order_of_hash():
    columns = weight_columns([Weights({word: float(i) for i, word in enumerate("qwertz")}, 1.0), Weights({}, 2.0)])
    assert columns.start.tolist() == [0, 6, 6]
    assert (np.diff(columns.word_hash.astype(object)) > 0).all()
    assert columns.weight[columns.word_hash.tolist().index(hash_word("e"))] == 2.0
    assert columns.default.tolist() == [1.0, 2.0]


def test_deltas_as_plain_data():
    deltas = Deltas(
        np.array([1, 1, 2]),
        Arena.of(["s", "é", "s"]),
        Arena.of(["m", "n", ""]),
        np.array([1, -1, 1], np.int8),
        np.array([NO_VALUE, SCORE, DISTANCE], np.uint8),
        np.array([np.nan, 0.5, 0.0]),
        np.array([1, 0, 2]),
    )
    assert deltas_to_list(deltas) == [
        Delta(1, "s", "m", "+"),
        Delta(1, "é", "n", "-", score=0.5),
        Delta(2, "s", "", "+", distance=0.0),
    ]
