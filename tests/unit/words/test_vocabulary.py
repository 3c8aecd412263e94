"""The vocabulary against a dict, under random use, with hashes that crowd."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tidings.model.errors import InputError, LimitError
from tidings.words.arenas import Arena
from tidings.words.hashing import hash_word
from tidings.words.vocabulary import Vocabulary, VocabularyArrays, find_word

# Four homes at the end of any table, so that probes are long and run around.
CROWDED = {f"w{i}" * (i % 7 + 1): (i << 40) | (2**40 - 1 - i % 4) for i in range(1, 120)}
HASHES = CROWDED | {word: hash_word(word) for word in ("", "ä", "long " * 30, *map(str, range(200)))}
words = st.lists(st.sampled_from(sorted(HASHES)), max_size=30)


def acquire(vocabulary, strings, hashes=HASHES):
    arena = Arena.of(strings)
    return vocabulary.acquire(np.array([hashes[word] for word in strings], np.uint64), arena.offset, arena.data)


def ids(numbers):
    return np.array(numbers, np.uint32)


def find(vocabulary, strings):
    return vocabulary.find(np.array([HASHES[word] for word in strings], np.uint64)).tolist()


class VocabularyMachine(RuleBasedStateMachine):
    """The model: how often each word is in use, and the id of each."""

    @initialize()
    def start(self):
        self.vocabulary = Vocabulary(limit=200)
        self.uses = Counter()
        self.id = {}

    @rule(strings=words)
    def acquire(self, strings):
        if len(self.uses | Counter(strings)) > 200:
            with pytest.raises(LimitError):
                acquire(self.vocabulary, strings)
            return
        given = acquire(self.vocabulary, strings).tolist()
        for word, number in zip(strings, given, strict=True):
            assert number > 0
            assert self.id.setdefault(word, number) == number
        self.uses.update(strings)
        assert len(set(self.id.values())) == len(self.id)

    @rule(data=st.data())
    def release(self, data):
        in_use = sorted(self.uses.elements())
        if in_use:
            # Words that crowd come and go often.
            gone = data.draw(st.lists(st.integers(0, len(in_use) - 1), unique=True, max_size=len(in_use)))
            strings = [in_use[i] for i in gone]
            self.vocabulary.release(ids([0] + [self.id[word] for word in strings]))
            self.uses.subtract(strings)
            self.uses = +self.uses
            self.id = {word: self.id[word] for word in self.uses}

    @rule(strings=words, intruder=st.sampled_from(sorted(HASHES)))
    def collide(self, strings, intruder):
        before = [array.copy() for array in self.vocabulary.arrays()]
        taken = {**HASHES, "intruder": HASHES[intruder]}
        with pytest.raises((InputError, LimitError)):
            acquire(self.vocabulary, [*strings, intruder, "intruder"], taken)
        self.unchanged(before)

    @rule(word=st.sampled_from(sorted(HASHES)))
    def release_too_often(self, word):
        before = [array.copy() for array in self.vocabulary.arrays()]
        number = self.id.get(word, 4_000_000_000)
        with pytest.raises(ValueError, match="more often"):
            self.vocabulary.release(ids([number] * (self.uses[word] + 1) + list(self.id.values())))
        self.unchanged(before)

    @rule()
    def save(self):
        saved = VocabularyArrays(*map(np.copy, self.vocabulary.arrays()))
        for array in saved:
            array.flags.writeable = False
        self.vocabulary = Vocabulary.from_arrays(saved, limit=200)

    def unchanged(self, before):
        """References stay; the rest may have moved by growth, which the invariants see."""
        now = self.vocabulary.arrays().references
        assert now[: len(before[5])].tolist() == before[5].tolist()
        assert not now[len(before[5]) :].any()

    @invariant()
    def agrees(self):
        assert len(self.vocabulary) == len(self.uses)
        assert find(self.vocabulary, HASHES) == [self.id.get(word, 0) for word in HASHES]
        assert {word: self.vocabulary.word(number) for word, number in self.id.items()} == {w: w for w in self.id}
        references = self.vocabulary.arrays().references
        assert {word: references[number] for word, number in self.id.items()} == dict(self.uses)
        assert references.sum() == sum(self.uses.values())


VocabularyMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestVocabulary = VocabularyMachine.TestCase


def test_a_collision_names_both_words():
    vocabulary = Vocabulary()
    acquire(vocabulary, ["flood"], {"flood": 7})
    with pytest.raises(InputError, match="word-collision") as caught:
        acquire(vocabulary, ["fire", "storm"], {"fire": 8, "storm": 7})
    assert "flood" in str(caught.value)
    assert "storm" in str(caught.value)
    assert len(vocabulary) == 1
    assert vocabulary.find(np.array([8], np.uint64)).tolist() == [0]
    with pytest.raises(InputError, match="word-collision"):
        acquire(vocabulary, ["fire", "storm"], {"fire": 8, "storm": 8})
    assert len(vocabulary) == 1


def test_the_limit_is_a_bound_on_words_in_use():
    vocabulary = Vocabulary(limit=2)
    first = acquire(vocabulary, ["1", "2", "1"])
    with pytest.raises(LimitError):
        acquire(vocabulary, ["1", "3"])
    vocabulary.release(first)
    assert acquire(vocabulary, ["3", "4"]).tolist() == first[:2].tolist()


@given(words, words)
def test_a_failed_acquire_leaves_the_ids_to_come_as_they_were(first, second):
    plain, disturbed = Vocabulary(), Vocabulary()
    acquire(plain, first)
    acquire(disturbed, first)
    with pytest.raises(InputError):
        acquire(disturbed, ["a", *second, "b"], {**HASHES, "a": 5, "b": 5})
    assert acquire(plain, second).tolist() == acquire(disturbed, second).tolist()


def test_words_that_come_and_go_take_no_room():
    vocabulary = Vocabulary()
    kept = acquire(vocabulary, ["stays"], {"stays": 1})
    for number in range(0, 60_000, 300):
        passing = [f"passing-{number + i}" for i in range(300)]
        vocabulary.release(acquire(vocabulary, passing, {word: hash_word(word) for word in passing})[::2])
        vocabulary.release(vocabulary.find(np.array([hash_word(word) for word in passing[1::2]], np.uint64)))
    arrays = vocabulary.arrays()
    assert len(vocabulary) == 1
    assert vocabulary.word(int(kept[0])) == "stays"
    assert len(arrays.slot_hash) <= 1024
    assert len(arrays.hash) <= 512
    assert len(arrays.data) <= 4 * 300 * len("passing-12345")
    assert np.count_nonzero(arrays.slot_hash) == 1


def test_zero_is_no_hash_and_finds_nothing():
    vocabulary = Vocabulary()
    acquire(vocabulary, ["1"])
    assert vocabulary.find(np.zeros(1, np.uint64)).tolist() == [0]
    with pytest.raises(ValueError, match="hash 0"):
        acquire(vocabulary, ["x"], {"x": 0})
    arrays = vocabulary.arrays()
    assert find_word(arrays.slot_hash, arrays.slot_id, np.uint64(HASHES["1"])) == 1
    for number in (0, 2, -1, 10**9):
        with pytest.raises(KeyError):
            vocabulary.word(number)
