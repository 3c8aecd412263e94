"""What every matcher must do: exactly what the oracle says. A new one gets all of this by being registered."""

from functools import cache

import pytest
from tests.contract.replaying import (
    answer_of,
    as_answer,
    assert_same,
    blocks_of,
    decoded,
    random_cuts,
    stepped,
    workload,
)
from tests.contract.worlds import generator
from tests.oracle.logs import PROFILES, random_log
from tests.oracle.semantics import deltas_of

from tidings.index.base import INDEXES
from tidings.matching.base import AROUND, BEST, NEAREST
from tidings.matching.engine import Engine

REGISTRIES = {"within": INDEXES, "around": AROUND, "best": BEST, "nearest": NEAREST}
METHODS = [{kind: name} for kind, registry in REGISTRIES.items() for name in registry]

methods = pytest.mark.parametrize("methods", METHODS, ids=lambda chosen: "-".join(*chosen.items()))


@methods
@pytest.mark.parametrize("profile", PROFILES)
def test_every_delta_is_the_oracles(methods, profile, seed):
    for number in range(3):
        log, wanted = workload(seed + number, profile, 250)
        cuts = random_cuts(generator(seed, profile, number), log, (0, 10, 100)[number])
        assert_same(answer_of(log, cuts, **methods), wanted)


@methods
@pytest.mark.parametrize("profile", PROFILES)
def test_event_by_event_and_by_run(methods, profile, seed):
    log, wanted = workload(seed, profile, 250)
    for apply_all in (
        lambda engine, events: engine.run(events),
        lambda engine, events: [delta for event in events for delta in engine.apply(event)],
    ):
        configuration, events = decoded(log)
        engine = Engine(configuration, **methods)
        got = as_answer(apply_all(engine, [event for _, event in events]))
        for delta in got:
            delta["position"] += len(log) - len(events)  # the engine got its configuration beforehand
        assert_same(got, wanted)


@methods
@pytest.mark.parametrize("kind", ["mixed", "around", "best", "nearest"])
@pytest.mark.parametrize("window", [{"messages": 1}, {"messages": 2, "ms": 3}, {"ms": 1}, {"messages": 400}])
def test_windows_small_and_large(methods, kind, window, seed):
    log = random_log(seed, 120, kind, window=window)
    wanted = deltas_of(log)
    assert wanted
    assert_same(answer_of(log, random_cuts(generator(seed, kind), log, 6), **methods), wanted)


@methods
def test_many_subscriptions_in_one_block(methods, seed):
    """More than the room that any matcher begins with."""
    for profile in ("mixed", *methods):
        log, wanted = large(seed, profile)
        assert len(wanted) >= 1200
        assert_same(answer_of(log, **methods), wanted)


@cache
def large(seed, profile):
    log = random_log(seed, 500, profile, subscriptions=50, window={"messages": 120})
    return log, deltas_of(log)


@methods
def test_a_snapshot_anywhere_goes_on(methods, seed, tmp_path):
    """Saved and loaded twice in the middle of a log, each time by its arrays alone."""
    for number, profile in enumerate(PROFILES):
        log, wanted = workload(seed, profile, 250)
        cuts = sorted(random_cuts(generator(seed, profile, "snapshot"), log, 2))
        configuration, blocks = blocks_of(log, cuts)
        engine, got = Engine(configuration, **methods), []
        for block in blocks:
            got += stepped(engine, [block])
            engine.save(tmp_path / f"{number}.tidings")
            engine = Engine.load(tmp_path / f"{number}.tidings")
        assert_same(got, wanted)
