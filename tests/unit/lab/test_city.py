"""The city stream: the same from the same seed, valid, lively, and with something in it for everybody."""

from collections import Counter
from itertools import pairwise

from tidings.lab.city import city_configuration, city_events, city_subscriptions
from tidings.matching.engine import Engine
from tidings.model.events import Move, Publish, Retract
from tidings.model.regions import Polygon
from tidings.model.subscriptions import Around, Best, Nearest, Within
from tidings.space.validity import polygon_problem


def test_a_seed_is_an_evening(seed):
    events = list(city_events(seed))
    assert events == list(city_events(seed))
    assert events != list(city_events(seed + 1))
    assert 600 <= len(events) <= 1_500
    kinds = Counter(type(event) for event in events)
    assert kinds[Publish] > 500
    assert kinds[Move] > 100
    assert kinds[Retract] > 3


def test_time_goes_on_and_ids_are_new(seed):
    published = [event for event in city_events(seed) if isinstance(event, Publish)]
    assert all(a.ts <= b.ts for a, b in pairwise(published))
    assert len({event.id for event in published}) == len(published)
    assert all(event.expires > event.ts and event.text for event in published)


def test_everybody_is_told_something(seed):
    engine = Engine(city_configuration())
    subscriptions = city_subscriptions()
    assert {type(subscription) for subscription in subscriptions} == {Within, Around, Best, Nearest}
    for subscription in subscriptions:
        assert engine.register(subscription) == []
    told = Counter(delta.subscription for delta in engine.run(city_events(seed)) if delta.op == "+")
    assert {subscription.id for subscription in subscriptions} == set(told)
    assert min(told.values()) >= 5


def test_regions_are_valid():
    regions = [subscription.where for subscription in city_subscriptions() if isinstance(subscription, Within)]
    polygons = [region for region in regions if isinstance(region, Polygon)]
    assert polygons
    assert all(polygon_problem(polygon.rings) is None for polygon in polygons)
