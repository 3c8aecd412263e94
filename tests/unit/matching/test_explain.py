"""An explanation says what the deltas say, and why."""

import random

import pytest

from tidings.columns.messages import PUBLISHED
from tidings.matching.engine import Engine
from tidings.matching.explain import Explanation, Published, explain
from tidings.model.events import (
    Configure,
    Event,
    Move,
    Plane,
    Publish,
    Register,
    Remove,
    Replace,
    Retract,
    Tick,
    Window,
)
from tidings.model.regions import AnyOf, Box, Circle, Everywhere, Polygon, Region
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Rectangle, Subscription, Within

WORDS = [f"w{number}" for number in range(8)]
PLANE = Plane((0.0, 0.0, 10.0, 10.0))


def region(draw: random.Random) -> Region:
    x, y, size = draw.uniform(0, 4), draw.uniform(0, 4), draw.uniform(2, 6)
    box = Box((x, y, x + size, y + size))
    ring = ((x, y), (x + size, y), (x + size, y + size), (x, y))
    return draw.choice(
        [Everywhere(), box, box, Circle((x, y), size), Polygon((ring,)), AnyOf((box, Circle((9.0, 9.0), 1.0)))]
    )


def subscription(draw: random.Random, name: str) -> Subscription:
    a, b, c = draw.sample(WORDS, 3)
    when = draw.choice([None, a, a, f"{a} AND {b}", f"{a} OR {b}", f"({a} OR {b}) AND NOT {c}"])
    at = draw.uniform(0, 10), draw.uniform(0, 10)
    match int(name[1:]) % 4:
        case 0:
            return Within(name, region(draw), when)
        case 1:
            return Around(name, at, draw.choice([Disc(3.0), Rectangle(5.0, 4.0)]), when)
        case 2:
            return Best(name, at, draw.randint(1, 3), draw.random(), words=(a, b))
        case _:
            return Nearest(name, at, draw.randint(1, 3), words=(a, b))


def happenings(draw: random.Random, n: int) -> list[Event]:
    names = [f"s{number}" for number in range(12)]
    events: list[Event] = [Register(subscription(draw, name)) for name in names]
    for number in range(n):
        chosen = draw.random()
        if chosen < 0.7:
            words = tuple(draw.sample(WORDS, draw.randint(1, 4)))
            x, y = draw.uniform(0, 9), draw.uniform(0, 9)
            place = {"box": (x, y, x + 1, y + 1)} if draw.random() < 0.2 else {"at": (x, y)}
            expires = number * 10 + 150 if draw.random() < 0.3 else None
            events.append(Publish(f"m{number}", words=words, ts=number * 10, expires=expires, **place))
        elif chosen < 0.8:
            name = draw.choice(names)
            events.append(Replace(subscription(draw, name)))
        elif chosen < 0.87:
            events.append(Move(f"s{draw.choice([1, 5, 9])}", (draw.uniform(0, 10), draw.uniform(0, 10))))
        elif chosen < 0.94:
            events.append(Retract(f"m{draw.randrange(number + 1)}"))
        else:
            events.append(Tick(number * 10))
    return events


@pytest.mark.parametrize("within", ["pyramid", "brute"])
def test_explanations_agree_with_the_result_sets(seed, within):
    draw = random.Random(seed)
    engine = Engine(Configure(space=PLANE, window=Window(messages=25, ms=400)), within=within)
    sets: dict[str, set[str]] = {}
    published: dict[str, Published] = {}
    checked: dict[tuple[str, bool], int] = {}
    for event in happenings(draw, 200):
        position = engine.position
        deltas = engine.apply(event)
        for delta in deltas:
            members = sets.setdefault(delta.subscription, set())
            members.add(delta.message) if delta.op == "+" else members.remove(delta.message)
        if isinstance(event, Publish):
            number = int(engine.shard.window.table.state[PUBLISHED]) - 1
            published[event.id] = Published(event, position, number, event.ts or 0)
        if isinstance(event, Retract) and event.id in published and published[event.id].retracted is None:
            published[event.id] = published[event.id]._replace(retracted=position)
        for name in [f"s{number}" for number in range(12)]:
            looked_at = draw.sample(sorted(published), min(len(published), 6))
            for message in [*looked_at, *([event.id] if isinstance(event, Publish) else [])]:
                found = explain(engine.shard, name, published[message], position)
                assert found is not None
                if found.kind == "within":
                    if not isinstance(event, Publish) or message != event.id:
                        continue
                    expected = any(d.subscription == name and d.message == message for d in deltas)
                else:
                    expected = message in sets.get(name, set())
                assert found.in_set is expected, (seed, found)
                assert found.in_set or reasons(found), found
                checked[found.kind, expected] = checked.get((found.kind, expected), 0) + 1
    assert len(checked) == 8, checked
    assert min(checked.values()) > 5, checked


def reasons(found: Explanation) -> list[str]:
    """Everything that keeps a message out."""
    said = [found.gone] if found.gone and found.kind != "within" else []
    said += ["too early"] if found.too_early else []
    if found.reach is not None:
        said += ["place"] if not found.reach.meets else []
        said += ["words"] if not found.any_words and not any(clause.holds for clause in found.clauses) else []
    if found.ranking is not None:
        said += ["words"] if not found.ranking.shared else []
        said += ["rank"] if found.ranking.place is not None and found.ranking.place > found.ranking.k else []
    return said


def only(subscription: Subscription, *events: Event, configuration: Configure | None = None) -> Explanation:
    """The explanation of the first message after all events."""
    engine = Engine(configuration)
    published = None
    for event in (Register(subscription), *events):
        position = engine.position
        engine.apply(event)
        if isinstance(event, Publish) and published is None:
            published = Published(event, position, 0, event.ts or 0)
        if isinstance(event, Retract) and published is not None:
            published = published._replace(retracted=position)
    assert published is not None
    found = explain(engine.shard, subscription.id, published, engine.position - 1)
    assert found is not None
    return found


HERE = (11.5, 48.1)


def test_the_words_that_are_missing_and_excluded_are_named():
    said = Publish("m", at=HERE, text="A flood drill on the road")
    found = only(Within("s", Everywhere(), "(flood AND bridge) OR (flood AND road AND NOT drill)"), said)
    assert {(clause.missing, clause.present) for clause in found.clauses} == {(("bridge",), ()), ((), ("drill",))}
    assert not found.in_set
    assert set(found.words) == {"a", "flood", "drill", "on", "the", "road"}


@pytest.mark.parametrize(
    ("where", "metres", "about"),
    [
        (Box((12.0, 48.0, 13.0, 49.0)), 37_130, False),
        (Circle((11.5, 48.2), 1000.0), 10_119, False),
        (Polygon((((11.0, 48.2), (12.0, 48.2), (12.0, 49.0), (11.0, 48.2)),)), 11_119, True),
        (AnyOf((Box((0.0, 0.0, 1.0, 1.0)), Circle((11.5, 48.2), 1000.0))), 10_119, False),
    ],
)
def test_the_distance_to_the_region_is_told(where, metres, about):
    found = only(Within("s", where), Publish("m", at=HERE, words=("w",)))
    assert found.reach is not None
    assert found.any_words
    assert not found.in_set
    assert found.reach.distance == pytest.approx(metres, rel=0.005)
    assert found.reach.about is about


@pytest.mark.parametrize(
    ("configuration", "events", "part"),
    [
        (None, [Retract("m")], "retracted at position 2"),
        (None, [Tick(500)], "expired"),
        (Configure(window=Window(ms=100)), [Tick(110)], "too old: 100 ms"),
        (Configure(window=Window(messages=1)), [Publish("n", at=HERE, words=("w",))], "pushed out: 1 later"),
    ],
)
def test_the_end_of_a_message_is_told(configuration, events, part):
    said = Publish("m", at=HERE, words=("w",), ts=10, expires=500)
    found = only(Around("s", HERE, Disc(10.0)), said, *events, configuration=configuration)
    assert part in found.gone
    assert not found.in_set


def test_a_cell_holds_the_region_and_a_full_one_splits():
    engine = Engine(Configure(space=PLANE))
    for number in range(200):
        x = 0.5 + number % 10
        engine.register(Within(f"s{number}", Box((x, 3.0, x + 0.01, 3.01)), "flood AND road"))
    said = Publish("m", at=(3.505, 3.005), words=("flood", "road"))
    position = engine.position
    assert len(engine.apply(said)) == 20
    found = explain(engine.shard, "s3", Published(said, position, 0, 0), position)
    assert found is not None
    (clause,) = found.clauses
    assert clause.words[0] in ("flood", "road")
    assert clause.cells
    for cell in clause.cells:
        x0, y0, x1, y1 = cell.bounds
        assert cell.level > 0
        assert x0 <= 3.51
        assert x1 >= 3.5
        assert y0 <= 3.01
        assert y1 >= 3.0
        assert 0 < cell.entries < 200


def test_nearest_does_not_look_back_and_nobody_explains_what_is_not_there():
    engine = Engine()
    said = Publish("m", at=HERE, words=("w",))
    engine.apply(said)
    engine.register(Nearest("s", HERE, 1, words=("w",)))
    found = explain(engine.shard, "s", Published(said, 0, 0, 0), 1)
    assert found is not None
    assert found.too_early
    assert not found.in_set
    engine.apply(Remove("s"))
    assert explain(engine.shard, "s", Published(said, 0, 0, 0), 2) is None
