import math

import numpy as np
import pytest
from tests.unit.columns.making import block_of

from tidings.columns.encode import weight_columns
from tidings.columns.messages import Weighting, empty_window
from tidings.columns.standing import Subscriptions
from tidings.columns.window import LiveWindow
from tidings.matching.scores import Measure, similar, unit_words
from tidings.model.events import Configure, Globe, Plane, Publish, Register, Weights
from tidings.model.subscriptions import Best

WEIGHTS = Weights({"a": 3.0, "b": 0.1, "é": 0.7}, 1.3)


def similarity(asked, said, weights=WEIGHTS):
    columns = weight_columns([weights])
    weighting = Weighting(columns.word_hash.copy(), columns.weight.copy(), columns.default.copy())
    block = block_of([Register(Best("s", (0.0, 0.0), 1, 0.5, text=asked)), Publish("m", at=(0.0, 0.0), text=said)])
    subscriptions, window = Subscriptions(), LiveWindow(empty_window(1, None))
    [slot, _] = subscriptions.apply(block).began
    window.replay(weighting, block)
    words = unit_words(subscriptions.table, subscriptions.vocabulary.arrays().hash, weighting, int(slot))
    return similar(words, window.table, window.find("m"))


def by_the_book(asked, said):
    def unit(text):
        counts = {word: text.split().count(word) for word in sorted(set(text.split()))}
        weights = {word: count * WEIGHTS.idf.get(word, WEIGHTS.default) for word, count in counts.items()}
        squares = 0.0
        for weight in weights.values():
            squares += weight * weight
        return {word: weight / math.sqrt(squares) for word, weight in weights.items()}

    total, one, other = 0.0, unit(asked), unit(said)
    for word in one:
        total += one[word] * other[word] if word in other else 0.0
    return bool(one.keys() & other.keys()), total


@pytest.mark.parametrize(
    ("asked", "said"),
    [("a", "a"), ("a b", "b"), ("a a b é", "é b b x"), ("x", "y"), ("z y x a", "a x y z z"), ("b é", "a b c d é")],
)
def test_similar_is_as_it_is_defined(asked, said):
    assert similarity(asked, said) == by_the_book(asked, said)


def test_words_without_weight_are_shared_all_the_same():
    assert similarity("a", "a b", Weights({"a": 0.0}, 1.0)) == (True, 0.0)
    assert similarity("a", "a", Weights({}, 0.0)) == (True, 0.0)
    assert similarity("a", "b", Weights({}, 0.0)) == (False, 0.0)


def test_how_far_is_far():
    assert Measure.of(Configure()) == (True, 6371008.8 * math.pi)
    assert Measure.of(Configure(space=Globe(), max_distance=5.0)) == (True, 5.0)
    assert Measure.of(Configure(space=Plane((1.0, 1.0, 4.0, 5.0)))) == (False, 5.0)
    assert np.isfinite(Measure.of(Configure(space=Plane((0.0, 0.0, 1e-3, 1e3)))).max_distance)
