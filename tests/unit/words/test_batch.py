"""Bags of words in batch against the analyser, text by text."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.model.errors import InputError
from tidings.model.events import AnalyserConfiguration
from tidings.words.analyser import Analyser
from tidings.words.arenas import Arena
from tidings.words.batch import analyse_batch, bags_of_arrow_lists, bags_of_lists
from tidings.words.hashing import hash_word

PLAIN = Analyser()
STOPPING = Analyser(AnalyserConfiguration(stop_words=("a", "b.b", "é", "The", "1,1")))
STEMMING = Analyser(AnalyserConfiguration("en", stemming=True))
ANALYSERS = pytest.mark.parametrize("analyser", [PLAIN, STOPPING, STEMMING], ids=["plain", "stopping", "stemming"])

dense = st.text(st.sampled_from("abBZ17__  ..,,::;;''\"-"), max_size=24)
ascii_texts = dense | st.text(st.characters(max_codepoint=127), max_size=24)
mixed_texts = ascii_texts | st.text(st.sampled_from("ab1. 'éÉ漢字かß\u0301\u05d0"), max_size=16)


def check(bags, lists, *, once=False):
    """The bags are those of these lists of words, entry by entry and byte by byte."""
    expected = [sorted(Counter(set(words) if once else words).items()) for words in lists]
    assert bags.words() == expected
    entries = [entry for bag in expected for entry in bag]
    assert bags.hash.tolist() == [hash_word(word) for word, _ in entries]
    assert [array.dtype for array in bags] == [np.int64, np.uint64, np.uint32, np.int64, np.uint8]
    assert len(bags.hash) == len(bags.occurrences) == len(bags.offset) - 1 == bags.start[-1]


@ANALYSERS
@settings(max_examples=400, deadline=None)
@given(texts=st.lists(ascii_texts, max_size=6))
def test_ascii(analyser, texts):
    check(analyse_batch(analyser, Arena.of(texts)), [analyser.words(text) for text in texts])


@ANALYSERS
@settings(max_examples=400, deadline=None)
@given(texts=st.lists(mixed_texts, max_size=6))
def test_mixed(analyser, texts):
    check(analyse_batch(analyser, Arena.of(texts)), [analyser.words(text) for text in texts])


def test_every_pair_of_ascii_characters_between_every_pair_of_classes():
    texts = [
        f"{before}{chr(first)}{chr(second)}{after}"
        for before in "a1_"
        for first in range(128)
        for second in range(128)
        for after in "a1_"
    ]
    bags = analyse_batch(PLAIN, Arena.of(texts))
    check(bags, [PLAIN.words(text) for text in texts])
    assert len(bags.hash) > len(texts)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(0, 400), letters=st.integers(1, 4), length=st.integers(1, 20))
def test_long_rows_are_sorted_too(seed, n, letters, length):
    random = np.random.default_rng(seed)
    words = ["".join(random.choice(list("a\0éb")[:letters], random.integers(1, length + 1))) for _ in range(n)]
    check(bags_of_lists([words, words[: n // 3]]), [words, words[: n // 3]], once=True)


def test_a_slice_of_an_arena():
    arena = Arena.of(["zero", "One two", "drei é", "four"])
    check(analyse_batch(PLAIN, Arena(arena.offset[1:4], arena.data)), [["one", "two"], ["drei", "é"]])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.text(max_size=12), max_size=5), max_size=6))
def test_lists_are_taken_as_they_are(lists):
    check(bags_of_lists(lists), lists, once=True)


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.large_string())])
@settings(max_examples=100, deadline=None)
@given(lists=st.lists(st.none() | st.lists(st.text(max_size=12), max_size=5), max_size=6), cut=st.integers(0, 6))
def test_arrow_lists(kind, lists, cut):
    check(bags_of_arrow_lists(pa.array(lists, kind)[cut:]), [words or [] for words in lists[cut:]], once=True)


def test_arrow_texts():
    texts = ["One", "", "zwei ZWEI", "drei é"]
    for kind in (pa.string(), pa.large_string()):
        bags = analyse_batch(PLAIN, Arena.of_arrow(pa.array(texts, kind)[1:]))
        assert bags.words() == [[], [("zwei", 2)], [("drei", 1), ("é", 1)]]


def test_a_null_word_is_an_error():
    with pytest.raises(InputError, match="null"):
        bags_of_arrow_lists(pa.array([["a", None]], pa.list_(pa.string())))
