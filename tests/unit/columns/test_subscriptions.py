"""The table of subscriptions against a dict: what is in force, found by id, with its geometry and its words."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from tests.unit.columns.making import block_of, random_subscription

from tidings.columns import block as b
from tidings.columns.pool import pool_end
from tidings.columns.standing import Subscriptions
from tidings.columns.subscriptions import COUNT, OF_KIND, USED, geometry_size, term_size
from tidings.model.errors import InputError
from tidings.model.events import Move, Publish, Register, Remove, Replace
from tidings.model.regions import Everywhere
from tidings.model.subscriptions import Around, Best, Nearest, Within

KINDS = {Within: b.WITHIN, Around: b.AROUND, Best: b.BEST, Nearest: b.NEAREST}


def names():
    """Short ones, long ones, and ones that are the start of others; never two that are equal."""
    return [f"s{i}" for i in range(60)] + ["x" * n for n in range(1, 129)] + [f"é{i}" for i in range(40)] + ["🌊", "\0"]


def geometry_of(subscription):
    if isinstance(subscription, Within):
        columns = block_of([Register(subscription)]).subscriptions
        return columns.geometry.tolist()
    if isinstance(subscription, Around):
        shape = subscription.shape
        return [
            *subscription.at,
            *([shape.radius_m, 0.0] if hasattr(shape, "radius_m") else [shape.width, shape.height]),
        ]
    return [*subscription.at, subscription.k, *([subscription.alpha] if isinstance(subscription, Best) else [])]


def terms_of(subscription):
    """The terms with words in place of their numbers."""
    columns = block_of([Register(subscription)]).subscriptions
    words, scored = columns.word.strings(), isinstance(subscription, Best | Nearest)
    return with_words(columns.term.tolist(), lambda number: words[number], scored)


def with_words(term, word, scored):
    found, i = [], 0
    if scored:
        return [term[0]] + [(word(term[i]), term[i + 1]) for i in range(1, 1 + 2 * term[0], 2)]
    while i < len(term):
        header = term[i]
        size = (header & 0xFFFF) + ((header >> b.EXCLUDED_SHIFT) & 0x7FFF)
        found += [header, *map(word, term[i + 1 : i + 1 + size])]
        i += 1 + size
        if not header & b.MORE_CLAUSES:
            break
    return found


def assert_is(subscriptions, model):
    """The table holds exactly what the model has."""
    table = subscriptions.table
    assert len(subscriptions) == len(model)
    references: Counter[str] = Counter()
    seen = set()
    for name, (subscription, position) in model.items():
        slot = subscriptions.find(name)
        assert slot, name
        seen.add(slot)
        assert subscriptions.id(slot) == name
        assert table.kind[slot] == KINDS[type(subscription)]
        assert (table.born[slot], table.dead[slot]) == (position, b.NEVER)
        start, size = int(table.geometry_start[slot]), int(geometry_size(table, slot))
        assert table.geometry[start : start + size].tolist() == geometry_of(subscription)
        start, size = int(table.term_start[slot]), int(term_size(table, slot))
        scored = isinstance(subscription, Best | Nearest)
        terms = with_words(table.term[start : start + size].tolist(), subscriptions.vocabulary.word, scored)
        assert terms == terms_of(subscription)
        references.update(item if isinstance(item, str) else item[0] for item in terms if not isinstance(item, int))
    assert len(seen) == len(model)
    kinds = Counter(KINDS[type(subscription)] for subscription, _ in model.values())
    assert [int(table.state[OF_KIND + kind]) for kind in (1, 2, 3, 4)] == [kinds[kind] for kind in (1, 2, 3, 4)]
    for kind in (1, 2, 3, 4):
        assert len(subscriptions.of_kind(kind)) == kinds[kind]
    vocabulary = subscriptions.vocabulary
    used = np.flatnonzero(vocabulary.arrays().references)
    assert {vocabulary.word(int(i)): int(vocabulary.arrays().references[i]) for i in used} == references
    entered = table.slot_of[table.slot_of != 0]
    assert sorted(entered.tolist()) == sorted(seen), "the index of ids holds those in force, each once"


def changed(subscriptions, events, position):
    block = block_of(events, position=position)
    changes = subscriptions.apply(block)
    subscriptions.settle(changes, block)


@pytest.mark.parametrize("size", [1, 5, 60])
def test_against_a_dict(size, seed):
    random = Random(f"{seed} {size}")
    subscriptions, model, position, most = Subscriptions(), {}, 0, 0
    for _ in range(240 // size):
        events, growing = [], 0.85 if position % 120 < 60 else 0.2
        for at in range(position, position + size):
            free = [name for name in names() if name not in model]
            choice = random.random()
            if choice < 0.25 and model:
                name = random.choice(sorted(model))
                model[name] = (random_subscription(random, name), at)
                events.append(Replace(model[name][0]))
            elif free and (not model or random.random() < growing):
                name = random.choice(free)
                model[name] = (random_subscription(random, name), at)
                events.append(Register(model[name][0]))
            else:
                name = random.choice(sorted(model))
                del model[name]
                events.append(Remove(name))
        changed(subscriptions, events, position)
        position += size
        assert_is(subscriptions, model)
        most = max(most, len(model))
        for name in names():
            assert (subscriptions.find(name) != 0) == (name in model)
    assert most >= 15
    changed(subscriptions, [Remove(name) for name in model], position)
    assert_is(subscriptions, {})
    assert subscriptions.table.state[COUNT] == 0


def test_what_is_given_back_is_used_again(seed):
    random = Random(seed)
    subscriptions, ends = Subscriptions(), []
    made = [random_subscription(random, f"s{i}") for i in range(200)]
    for round_ in range(5):
        changed(subscriptions, [Register(subscription) for subscription in made], 400 * round_)
        random.shuffle(made)
        changed(subscriptions, [Remove(subscription.id) for subscription in made], 400 * round_ + 200)
        table = subscriptions.table
        heads = (table.geometry_head, table.term_head, table.id_head)
        ends.append([int(table.state[USED]), *(pool_end(head) for head in heads)])
    assert all(end == ends[0] for end in ends)


def test_versions_stay_readable_until_the_block_is_over():
    subscriptions = Subscriptions()
    events = [
        Register(Within("s", Everywhere(), "a")),
        Replace(Within("s", Everywhere(), "b")),
        Remove("s"),
        Register(Around("s", (0.0, 0.0), REGION_DISC, "c")),
        Move("s", (1.0, 1.0)),
    ]
    block = block_of(events, position=10)
    changes = subscriptions.apply(block)
    table = subscriptions.table
    first, second, third = changes.began[[0, 1, 3]]
    assert len({0, first, second, third}) == 4
    assert changes.ended.tolist() == [0, first, second, 0, third]
    assert [(table.born[slot], table.dead[slot]) for slot in (first, second, third)] == [
        (10, 11),
        (11, 12),
        (13, b.NEVER),
    ]
    assert [subscriptions.id(slot) for slot in (first, second, third)] == ["s", "s", "s"]
    assert subscriptions.find("s") == third
    subscriptions.settle(changes, block)
    assert len(subscriptions) == 1
    assert subscriptions.table.kind[[first, second]].tolist() == [b.FREE, b.FREE]
    assert subscriptions.table.kind[third] == b.AROUND


REGION_DISC = next(s.shape for s in (random_subscription(Random(i), "s") for i in range(99)) if isinstance(s, Around))


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (Register(Within("s", Everywhere())), "id-taken"),
        (Replace(Within("t", Everywhere())), "id-unknown"),
        (Remove("t"), "id-unknown"),
        (Move("t", (0.0, 0.0)), "id-unknown"),
        (Move("s", (0.0, 0.0)), "move-kind"),
    ],
)
def test_what_cannot_be_is_named_with_its_position(event, code):
    subscriptions = Subscriptions()
    changed(subscriptions, [Register(Within("s", Everywhere()))], 0)
    assert subscriptions.problem_of(event).code == code
    with pytest.raises(InputError) as caught:
        changed(subscriptions, [Publish("m", at=(0.0, 0.0), words=()), event], 7)
    assert caught.value.code == code
    assert caught.value.problems[0].line == 8
    assert subscriptions.problem_of(Publish("s", at=(0.0, 0.0), words=())) is None
