"""The random logs: valid, rich, and never empty of matches; the broken files: broken where they say."""

import json
import os
import time
from collections import Counter

import pytest

from tests.oracle.broken import broken_file, each_alone, many_problems
from tests.oracle.logs import PROFILES, as_ndjson, random_log
from tests.oracle.semantics import Oracle, deltas_of
from tests.oracle.state import State

SEED = int(os.environ.get("TIDINGS_SEED", "1"))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_a_third_of_the_messages_match(profile, seed):
    oracle, last, published, matched = Oracle(), {}, 0, set()
    for position, event in enumerate(random_log(seed, 300, profile)):
        deltas = oracle.apply(position, event)
        if oracle.state.arrived is not None:
            published += 1
            last[oracle.state.arrived.id] = position
        matched |= {last[delta["message"]] for delta in deltas if delta["op"] == "+"}
    assert published >= 80
    assert 3 * len(matched) >= published


def test_the_logs_cover_the_language():
    seen, doubles = Counter(), 0
    for profile in PROFILES:
        for seed in range(SEED, SEED + 6):
            log = random_log(seed, 250, profile)
            for event in log:
                seen.update([event["op"], *(f"{event['op']}.{name}" for name in event), f"kind {event.get('kind')}"])
                written = json.dumps(event)
                seen.update(
                    part for part in ("Polygon", "MultiPolygon", "circle", '"any"', "everywhere") if part in written
                )
            keys = Counter((d["position"], d["subscription"], d["message"]) for d in deltas_of(log))
            doubles += sum(count > 1 for count in keys.values())
    for name in (
        "configure.window", "configure.max_distance", "configure.analyser", "configure.weights", "publish.at",
        "publish.box", "publish.text", "publish.words", "publish.ts", "publish.expires", "publish.attributes",
        "retract", "replace", "move", "remove", "tick", "weights.default", "kind within",
        "kind around", "kind best", "kind nearest",
        "register.labels", "Polygon", "MultiPolygon", "circle", '"any"', "everywhere",
    ):  # fmt: skip
        assert seen[name] >= 5, name
    assert doubles >= 5, "the same id left and came at one position"


def places_of(event):
    """All positions that an event names: of places, boxes and regions."""
    if isinstance(event, dict):
        for name, value in event.items():
            if name in ("at", "box", "circle"):
                yield from [value[:2], value[2:4]] if name == "box" else [value[:2]]
            elif name in ("where", "any", "coordinates"):
                yield from places_of(value)
    elif isinstance(event, list) and event and isinstance(event[0], int | float):
        yield event
    elif isinstance(event, list):
        for part in event:
            yield from places_of(part)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_place_lies_in_the_space(profile):
    for seed in range(SEED, SEED + 10):
        state = State()
        for position, event in enumerate(random_log(seed, 200, profile)):
            state.apply(position, event)
            min_x, min_y, max_x, max_y = state.space or (-180, -90, 180, 90)
            assert all(min_x <= x <= max_x and min_y <= y <= max_y for x, y in places_of(event)), (seed, event)


def test_a_log_depends_on_nothing_but_its_seed():
    assert random_log(SEED, 200) == random_log(SEED, 200)
    assert random_log(SEED, 200) != random_log(SEED + 1, 200)


def test_a_log_survives_its_file():
    log = random_log(SEED, 200, "churn")
    assert [json.loads(line) for line in as_ndjson(log).split(b"\n")[:-1]] == log


def test_deltas_are_in_the_order_of_the_file():
    deltas = deltas_of(random_log(SEED, 300, "burst"))
    keys = [(d["position"], d["subscription"], "-+".index(d["op"]), d["message"]) for d in deltas]
    assert keys == sorted(set(keys))
    assert keys


def test_results_do_not_depend_on_what_the_oracle_remembers():
    for profile in PROFILES:
        log, remembering, forgetful = random_log(SEED, 120, profile), Oracle(), Oracle()
        for position, event in enumerate(log):
            forgetful._memory = {id_: {} for id_ in forgetful._memory}
            assert remembering.apply(position, event) == forgetful.apply(position, event)


def test_two_thousand_events_take_less_than_twenty_seconds():
    log = random_log(SEED, 2000, subscriptions=100, window={"messages": 100})
    start = time.perf_counter()
    assert len(deltas_of(log)) > 2000
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize("seed", range(SEED, SEED + 5))
def test_broken_files_are_valid_without_their_broken_lines(seed):
    content, expected = broken_file(seed)
    assert len(expected) == 12
    broken = {line for line, codes in expected if codes}
    state, position = State(), 0
    for number, line in enumerate(content.split(b"\n")[:-1]):
        if number not in broken:
            state.apply(position, json.loads(line))
            position += 1
    assert position >= 60


def test_the_cases_name_every_code_of_events():
    cases = dict(each_alone(SEED))
    codes = set().union(*(codes for _, expected in cases.values() for _, codes in expected))
    assert len(cases) > 300
    assert codes >= {
        "json-invalid", "json-duplicate-key", "json-encoding", "line-too-long", "line-empty", "op-unknown",
        "kind-unknown", "field-unknown", "field-missing", "field-type", "field-value", "field-conflict",
        "id-invalid", "id-taken", "id-unknown", "place-outside", "region-invalid", "polygon-invalid",
        "move-kind", "configure-late", "expression-syntax", "expression-limit", "expression-no-positive",
        "words-empty",
    }  # fmt: skip
    for content, [(number, _)] in cases.values():
        assert len(content.split(b"\n")) > number + 1
    assert len(many_problems(SEED)[1]) == 150
