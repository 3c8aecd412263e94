"""What every index must do. A new one gets all of this by being registered."""

import numpy as np
import pytest
from tests.contract.worlds import GROUNDS, Churn, Scene, World, assert_a_third_match, generator, words_by_id

from tidings.columns.saved import map_arrays, save_arrays
from tidings.index.base import INDEXES, index_of, load
from tidings.model.errors import InputError
from tidings.model.events import Plane, Publish, Register, Remove
from tidings.model.regions import Box, Circle, Everywhere
from tidings.model.subscriptions import Within

UNIT = Plane((0.0, 0.0, 1.0, 1.0))

indexes = pytest.mark.parametrize("method", INDEXES)
grounds = pytest.mark.parametrize("ground", GROUNDS)


def fill(method, ground, seed, n=250, n_words=12):
    """A world and the brute one, both with the same subscriptions, and their scene."""
    scene = Scene(generator(seed, ground, n, n_words), GROUNDS[ground], n_words)
    world, reference = World(method, scene.space), World("brute", scene.space)
    events = [Register(scene.within(f"s{i}")) for i in range(n)]
    world.run(events)
    reference.run(events)
    return world, reference, scene


@indexes
@grounds
@pytest.mark.parametrize("n_words", [1, 3, 12, 80])
def test_equals_brute_through_churn(method, ground, n_words, seed):
    scene = Scene(generator(seed, ground, n_words), GROUNDS[ground], n_words)
    world, reference, churn = World(method, scene.space), World("brute", scene.space), Churn(scene, 400)
    found = []
    for growth in (1.0, 1.0, 0.9, 0.5, 0.3, 0.8, 0.2):
        changes = churn.events(120, growth)
        assert world.run(changes) == reference.run(changes) == []
        messages = scene.messages(60)
        answer = world.run(messages)
        assert answer == reference.run(messages)
        found += answer
    assert_a_third_match(found)
    world.run(churn.removals())
    world.assert_empty()
    assert not any(world.run(scene.messages(30)))


@indexes
@grounds
def test_versions_inside_a_block_count_by_position(method, ground, seed):
    scene = Scene(generator(seed, ground, "versions"), GROUNDS[ground], 3)
    world, single, churn = World(method, scene.space), World("brute", scene.space), Churn(scene, 60)
    found, number = [], 0
    for _ in range(8):
        events = []
        for _ in range(50):
            if scene.random.random() < 0.5:
                number += 1
                events.append(scene.message(f"m{number}"))
            else:
                events.append(churn.event(0.55))
        answer = world.run(events)
        assert answer == [ids for event in events for ids in single.run([event])]
        found += answer
    assert_a_third_match(found)


@indexes
@grounds
def test_a_batch_is_its_messages(method, ground, seed):
    world, reference, scene = fill(method, ground, seed)
    messages = scene.messages(150)
    together = world.run(messages)
    assert together == [ids for message in messages for ids in world.run([message])]
    assert together == reference.run(messages)
    assert_a_third_match(together)


@indexes
@grounds
def test_the_order_of_insertion_does_not_matter(method, ground, seed):
    scene = Scene(generator(seed, ground, "order"), GROUNDS[ground])
    events = [Register(scene.within(f"s{i}")) for i in range(300)]
    messages = scene.messages(150)
    answers = []
    for size in (300, 300, 7, 1):
        scene.random.shuffle(events)
        world = World(method, scene.space)
        for first in range(0, len(events), size):
            world.run(events[first : first + size])
        answers.append(world.run(messages))
    assert_a_third_match(answers[0])
    assert all(answer == answers[0] for answer in answers)


@indexes
@grounds
def test_a_copy_of_its_arrays_goes_on(method, ground, seed, tmp_path):
    scene = Scene(generator(seed, ground, "copy"), GROUNDS[ground])
    world, churn = World(method, scene.space), Churn(scene, 300)
    world.run(churn.events(250, 0.9))
    world.run(scene.messages(40))
    copy = world.copied()
    save_arrays(tmp_path / "index", method, copy.index.arrays())
    _, arrays = map_arrays(tmp_path / "index")
    copy.index = type(world.index).from_arrays(scene.space, arrays)
    assert copy.index.stats() == world.index.stats()
    found = []
    for growth in (0.9, 0.5, 0.2, 0.8):
        changes, messages = churn.events(80, growth), scene.messages(40)
        assert copy.run(changes) == world.run(changes)
        answer = world.run(messages)
        assert copy.run(messages) == answer
        found += answer
    assert_a_third_match(found)
    assert copy.index.stats() == world.index.stats()
    copy.run(churn.removals())
    copy.assert_empty()


@indexes
def test_filling_and_emptying_takes_no_more_room_each_time(method, seed):
    scene = Scene(generator(seed, "rooms"), GROUNDS["plane"])
    world = World(method, scene.space)
    events = [Register(scene.within(f"s{i}")) for i in range(300)]
    sizes = []
    for _ in range(40):
        scene.random.shuffle(events)
        world.run(events)
        world.run([Remove(event.subscription.id) for event in events])
        world.assert_empty()
        sizes.append(world.index.stats()["bytes"])
    assert sizes[-1] <= 3 * sizes[0]


@indexes
def test_words_that_leave_give_their_ids_to_others(method, seed):
    random = generator(seed, "recycled")
    world = World(method, UNIT)
    for generation in range(5):
        names = [f"g{generation}w{i}" for i in range(120)]
        pairs = [tuple(random.sample(names, 3)) for _ in range(200)]
        world.run([Register(Within(f"s{i}", Everywhere(), " ".join(pair))) for i, pair in enumerate(pairs)])
        now = world.run([Publish(f"m{i}", at=(0.5, 0.5), words=pair) for i, pair in enumerate(pairs)])
        assert all(f"s{i}" in ids for i, ids in enumerate(now))
        old = [name.replace(f"g{generation}", f"g{generation - 1}") for name in names]
        assert not any(world.run([Publish(f"o{i}", at=(0.5, 0.5), words=(word,)) for i, word in enumerate(old)]))
        assert max(words_by_id(world)) <= 2 * 120 + 1
        world.run([Remove(f"s{i}") for i in range(200)])
        world.assert_empty()


@indexes
@pytest.mark.parametrize(
    ("where", "when"),
    [
        (Box((0.25, 0.25, 0.25, 0.25)), "a AND b"),
        (Box((0.25, 0.25, 0.5, 0.5)), "a AND b"),
        (Box((0.2500001, 0.2500001, 0.2500002, 0.2500002)), "a AND b AND NOT c"),
        (Circle((0.25, 0.25), 1e-9), None),
        (Everywhere(), "a"),
        (Everywhere(), None),
    ],
)
def test_many_that_are_the_same(method, where, when, seed):
    world, n = World(method, UNIT), 2000
    names = [f"s{i}" for i in range(n)]
    world.run([Register(Within(name, where, when)) for name in names])
    hit = {"at": (0.25, 0.25)} if not (isinstance(where, Box) and where.bounds[0] > 0.25) else {"at": (0.25000015,) * 2}
    inside = Publish("in", words=("a", "b"), **hit)
    around = Publish("box", words=("a", "b"), box=(0.0, 0.0, 1.0, 1.0))
    outside = Publish("out", words=("a", "b"), at=(0.75, 0.75))
    assert world.run([inside, around]) == [sorted(names), sorted(names)]
    assert world.run([outside]) == [sorted(names) if where == Everywhere() else []]
    generator(seed, "same").shuffle(names)
    gone, left = names[: n // 2], names[n // 2 :]
    world.run([Remove(name) for name in gone])
    assert world.run([inside, around]) == [sorted(left), sorted(left)]
    world.run([Register(Within(name, where, when)) for name in gone])
    assert world.run([inside]) == [sorted(names)]
    world.run([Remove(name) for name in names])
    world.assert_empty()


@indexes
def test_a_long_list_among_small_ones(method, seed):
    scene = Scene(generator(seed, "long"), UNIT, 1)
    world, reference = World(method, UNIT), World("brute", UNIT)
    events = [Register(Within(f"e{i}", Everywhere(), "w0")) for i in range(2000)]
    events += [Register(Within(f"s{i}", Box(scene.bounds()), "w0")) for i in range(500)]
    scene.random.shuffle(events)
    world.run(events)
    reference.run(events)
    messages = scene.messages(40)
    answer = world.run(messages)
    assert answer == reference.run(messages)
    assert_a_third_match(answer)


@indexes
def test_cuts_of_a_quadtree_are_hit_exactly(method, seed):
    """One word, so that its tree is deep; boxes that end where cells do, and points there and beside."""
    random = generator(seed, "cuts")
    world, reference = World(method, UNIT), World("brute", UNIT)

    def dyadic():
        level = random.choice((1, 2, 3, 4, 5, 6, 17, 31, 32))
        return random.randint(0, 1 << level) / (1 << level)

    events, corners = [], []
    for i in range(1500):
        x, y, size = dyadic(), dyadic(), 2.0 ** -random.randint(2, 33)
        x1, y1 = min(1.0, x + size * random.choice((0, 1, 1, 2))), min(1.0, y + size * random.choice((0, 1, 1, 2)))
        events.append(Register(Within(f"s{i}", Box((x, y, x1, y1)), "a" if i % 3 else "a OR b")))
        corners += [(x, y), (x1, y1), (x, y1), (x1, y), ((x + x1) / 2, (y + y1) / 2)]
    world.run(events)
    reference.run(events)
    messages = []
    for i, (x, y) in enumerate(random.sample(corners, 1200)):
        px, py = (np.nextafter(value, random.choice((value, 0.0, 1.0))) for value in (x, y))
        if random.random() < 0.7:
            messages.append(Publish(f"m{i}", at=(float(px), float(py)), words=("a",)))
        else:
            qx, qy = random.choice(corners)
            box = (min(px, qx), min(py, qy), max(px, qx), max(py, qy))
            messages.append(Publish(f"m{i}", box=tuple(map(float, box)), words=("a",)))
    answer = world.run(messages)
    assert answer == reference.run(messages)
    assert_a_third_match(answer)
    random.shuffle(events)
    world.run([Remove(event.subscription.id) for event in events])
    world.assert_empty()


@indexes
def test_more_words_than_sixteen_bits_can_tell_apart(method, seed):
    random = generator(seed, "words")
    world, reference = World(method, UNIT), World("brute", UNIT)
    fillers = [" ".join(f"f{60 * i + j}" for j in range(60)) for i in range(1150)]
    events = [Register(Within(f"f{i}", Everywhere(), when)) for i, when in enumerate(fillers)]
    for each in (world, reference):
        each.run(events)
    words = words_by_id(world)
    assert len(words) > 68_000
    twins = [(words[i], words[i + 65_536]) for i in range(1, 3000)]
    events, messages = [], []
    for i in range(400):
        (low, high), (other_low, other_high), (third, _) = random.sample(twins, 3)
        expressions = (
            f"{low} {other_low}", f"{low} {other_high}", f"{high} {other_low}", f"{high} {other_high}",
            f"{low} {other_low} {third}", f"{low} OR {high}", f"{low} AND NOT {high}", f"{low} {high}",
        )  # fmt: skip
        events.append(Register(Within(f"s{i}", Box((0.0, 0.0, 0.75, 0.75)), random.choice(expressions))))
        asked = [low, high, other_low, other_high, third]
        messages += [
            Publish(f"m{i} {j}", at=(0.5, 0.5), words=tuple(random.sample(asked, random.randint(2, 5))))
            for j in range(4)
        ]
    for each in (world, reference):
        each.run(events)
    answer = world.run(messages)
    assert answer == reference.run(messages)
    assert_a_third_match(answer)


@indexes
def test_long_expressions(method, seed):
    random = generator(seed, "expressions")
    world, reference = World(method, UNIT), World("brute", UNIT)
    words = [f"w{i}" for i in range(64)]
    pairs = [(f"p{i}", f"q{i}") for i in range(8)]
    events = [
        Register(Within("all of 64", Everywhere(), " AND ".join(words))),
        Register(Within("any of 64", Everywhere(), " OR ".join(words))),
        Register(Within("256 clauses", Box((0, 0, 0.5, 0.5)), " AND ".join(f"({p} OR {q})" for p, q in pairs))),
        Register(Within("one but not 63", Everywhere(), f"w0 AND NOT ({' OR '.join(words[1:])})")),
        *(Register(Within(f"s{i}", Everywhere(), " ".join(random.sample(words, 40)))) for i in range(40)),
    ]
    messages = [
        Publish("all", at=(0.1, 0.1), words=tuple(words)),
        Publish("all but one", at=(0.1, 0.1), words=tuple(words[:-1])),
        Publish("one", at=(0.1, 0.1), words=("w0",)),
        Publish("both of each", at=(0.1, 0.1), words=tuple(word for pair in pairs for word in pair)),
        *(Publish(f"some {i}", at=(0.5, 0.1), words=tuple(random.choice(pair) for pair in pairs)) for i in range(20)),
        *(Publish(f"seven {i}", at=(0.5, 0.1), words=tuple(pair[0] for pair in pairs[1:])) for i in range(3)),
        *(Publish(f"most {i}", at=(0.6, 0.1), words=tuple(random.sample(words, 62))) for i in range(20)),
    ]
    world.run(events)
    reference.run(events)
    answer = world.run(messages)
    assert answer == reference.run(messages)
    assert answer[0][:2] == ["all of 64", "any of 64"]
    assert answer[2] == ["any of 64", "one but not 63"]
    assert answer[3] == ["256 clauses"]
    assert_a_third_match(answer)
    world.run([Remove(event.subscription.id) for event in events])
    world.assert_empty()


@indexes
@grounds
def test_nothing_matches_nothing(method, ground):
    world = World(method, GROUNDS[ground])
    assert world.run([]) == []
    x, y = (0.5, 0.2)
    assert world.run([Publish("m", at=(x, y), words=("a",))]) == [[]]
    world.run([Register(Within("s", Everywhere(), "a")), Register(Within("any", Everywhere()))])
    assert world.run([]) == []
    assert world.run([Publish("m", at=(x, y), words=()), Publish("n", at=(x, y), words=("a",))]) == [
        ["any"],
        ["any", "s"],
    ]
    world.run([Remove("s"), Remove("any")])
    world.assert_empty()


def test_an_unknown_name_is_said():
    with pytest.raises(InputError) as caught:
        index_of("no such", UNIT)
    assert caught.value.code == "method-unknown"
    assert all(name in str(caught.value) for name in INDEXES)
    assert all(load(INDEXES, name, "--within").__doc__ for name in INDEXES)
