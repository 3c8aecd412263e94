import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.columns.making import block_of

from tidings.columns.standing import Subscriptions
from tidings.index.clauses import add_word, has_word, satisfies, word_set
from tidings.model.events import Register
from tidings.model.regions import Everywhere
from tidings.model.subscriptions import Within
from tidings.words.hashing import hash_word

LETTERS = "abcdef"


@given(st.sets(st.integers(0, 300)), st.sets(st.integers(0, 300)))
def test_a_set_of_words(inside, asked):
    words = word_set(301)
    for word in inside:
        add_word(words, word)
    for word in inside | asked:
        assert has_word(words, word) == (word in inside)
    assert int(sum(int(part).bit_count() for part in words)) == len(inside)


clause = st.tuples(st.sets(st.sampled_from(LETTERS), min_size=1), st.sets(st.sampled_from(LETTERS)))


@given(st.lists(clause, min_size=1, max_size=5), st.sets(st.sampled_from(LETTERS)))
def test_clauses_hold_when_one_does(clauses, said):
    parts = [" AND ".join([*sorted(asked), *(f"NOT {word}" for word in sorted(no))]) for asked, no in clauses]
    subscriptions = Subscriptions()
    block = block_of([Register(Within("s", Everywhere(), " OR ".join(f"({part})" for part in parts)))])
    [slot] = subscriptions.apply(block).began
    ids = subscriptions.vocabulary.find(np.array([hash_word(word) for word in sorted(said)], np.uint64))
    words = word_set(len(subscriptions.vocabulary.arrays().references))
    for word in ids[ids > 0]:
        add_word(words, word)
    wanted = any(asked <= said and not no & said for asked, no in clauses)
    assert satisfies(subscriptions.table.term, int(subscriptions.table.term_start[slot]), words) == wanted


def test_no_words_are_asked_for():
    subscriptions = Subscriptions()
    [slot] = subscriptions.apply(block_of([Register(Within("s", Everywhere()))])).began
    assert satisfies(subscriptions.table.term, int(subscriptions.table.term_start[slot]), word_set(8))
