"""Logs that differ in what must not matter have answers that are the same, or the same but for what was changed."""

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from tests.contract.replaying import (
    Answer,
    Log,
    answer_of,
    assert_a_third_match,
    assert_same,
    blocks_of,
    random_cuts,
    stepped,
    workload,
)
from tests.contract.worlds import generator
from tests.oracle.logs import PROFILES
from tests.oracle.state import identity

from tidings.columns.slicing import pieces_from
from tidings.index.base import INDEXES
from tidings.matching.engine import Engine

profiles = pytest.mark.parametrize("profile", PROFILES)


@profiles
def test_the_index_does_not_matter(profile, seed):
    for number in range(4):
        log, wanted = workload(seed + 10 + number, profile, 250)
        for method in INDEXES:
            assert_same(answer_of(log, random_cuts(generator(seed, number), log, 3), within=method), wanted)


@profiles
def test_cutting_the_log_does_not_matter(profile, seed):
    log, wanted = workload(seed, profile, 250)
    for n in (0, 1, 3, 30, 500):
        assert_same(answer_of(log, random_cuts(generator(seed, profile, n), log, n)), wanted)


@profiles
def test_cutting_a_block_does_not_matter(profile, seed):
    log, wanted = workload(seed, profile, 250)
    configuration, [block] = blocks_of(log, ())
    for n in (1, 2, 10, 100, 1000):
        random = generator(seed, profile, "block", n)
        pieces = pieces_from(block, [random.randrange(len(block.op)) for _ in range(n)])
        assert all(piece.position[-1] < rest.position[0] for piece, rest in pairwise(pieces))
        assert sum(len(piece.op) for piece in pieces) == len(block.op)
        assert_same(stepped(Engine(configuration), pieces), wanted)
        again = [part for piece in pieces for part in pieces_from(piece, [random.randrange(len(piece.op))])]
        assert_same(stepped(Engine(configuration), again), wanted)


@profiles
def test_the_order_of_first_registers_does_not_matter(profile, seed):
    log, _ = workload(seed, profile, 250)
    random = generator(seed, profile, "order")
    start = log[0]["op"] == "configure"
    end = next(i for i in range(start, len(log)) if log[i]["op"] != "register")
    assert end - start >= 5
    log = renamed(log)
    wanted = answer_of(log)
    for _ in range(3):
        registers = log[start:end]
        random.shuffle(registers)
        assert_same(answer_of([*log[:start], *registers, *log[end:]]), wanted)


def names_of(log: Log) -> dict[tuple[bool, str], str]:
    """New names of subscriptions and messages that stand in the same order."""
    ids = {(event["op"] in ("publish", "retract"), identity(event["id"])) for event in log if "id" in event}
    return {key: f"{'ms'[not key[0]]}{number:05}" for number, key in enumerate(sorted(ids))}


def renamed(log: Log) -> Log:
    names = names_of(log)
    return [
        event | {"id": names[event["op"] in ("publish", "retract"), identity(event["id"])]} if "id" in event else event
        for event in log
    ]


@profiles
def test_names_do_not_matter_but_for_their_order(profile, seed):
    log, wanted = workload(seed, profile, 250)
    names = names_of(log)
    got = answer_of(renamed(log))
    assert_same(
        got,
        [
            delta | {"subscription": names[False, delta["subscription"]], "message": names[True, delta["message"]]}
            for delta in wanted
        ],
    )


@profiles
def test_a_twin_of_each_subscription_is_told_the_same(profile, seed):
    log = renamed(workload(seed, profile, 250)[0])
    doubled: Log = []
    position_of: list[int] = []
    for position, event in enumerate(log):
        doubled.append(event)
        position_of.append(position)
        if event["op"] in ("register", "replace", "move", "remove"):
            doubled.append(event | {"id": event["id"] + " twin"})
            position_of.append(position)
    got = answer_of(doubled)
    for delta in got:
        delta["position"] = position_of[delta["position"]]
    twins = [delta for delta in got if delta["subscription"].endswith(" twin")]
    assert_same([delta for delta in got if delta not in twins], answer_of(log))
    assert twins
    for delta in twins:
        delta["subscription"] = delta["subscription"].removesuffix(" twin")
    assert_same(twins, answer_of(log))


@profiles
@pytest.mark.parametrize("form", ["NOT NOT ({})", "({0}) AND ({0})", "({0}) OR ({0})", "NOT NOT NOT NOT ({})"])
def test_other_ways_to_say_it_are_the_same(profile, form, seed):
    log, wanted = workload(seed, profile, 250)
    changed = [event | {"when": form.format(event["when"])} if event.get("when") else event for event in log]
    assert profile in ("best", "nearest") or changed != log
    assert_same(answer_of(changed), wanted)


class Lattice:
    """Logs whose places lie on a lattice of dyadic numbers, so that turning them is free of rounding."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def point(self) -> list[float]:
        lon = self.random.choice([-180.0, 180.0, 0.0, self.random.randint(-1440, 1440) / 8])
        return [lon, self.random.choice([90.0, -90.0, 0.0, self.random.randint(-8, 8) * 5.0])]

    def box(self) -> list[float]:
        (a, c), (d, e) = self.point(), self.point()
        width = self.random.choice([0.0, 11.25, 45.0, 180.0, 300.0])
        d = a + width if a + width <= 180.0 else a + width - 360.0
        if self.random.random() < 0.05:
            a, d = -180.0, 180.0
        return [a, min(c, e), d, max(c, e)]

    def expression(self) -> str | None:
        return self.random.choice([None, "a", "b", "a OR b", "a AND b", "a AND NOT b", "(a OR c) AND (b OR d)"])

    def subscription(self, name: str, op: str = "register") -> dict[str, Any]:
        event = {"op": op, "id": name, "when": self.expression()}
        if self.random.random() < 0.7:
            where = {"box": self.box()} if self.random.random() < 0.7 else {"any": [{"box": self.box()} for _ in "123"]}
            return event | {"kind": "within", "where": where}
        width, height = self.random.choice([0.5, 22.5, 90.0, 359.0, 360.0]), self.random.choice([1.0, 40.0, 180.0])
        return event | {"kind": "around", "at": self.point(), "shape": {"width": width, "height": height}}

    def log(self, n: int = 400) -> Log:
        log: Log = [{"op": "configure", "window": {"messages": 30}}]
        kinds = {}
        for i in range(60):
            log.append(self.subscription(f"s{i}"))
            kinds[f"s{i}"] = log[-1]["kind"]
        for i in range(n):
            choice = self.random.random()
            if choice < 0.1:
                name = self.random.choice(sorted(kinds))
                log.append(self.subscription(name, "replace"))
                kinds[name] = log[-1]["kind"]
            elif choice < 0.2 and "around" in kinds.values():
                name = self.random.choice([name for name in sorted(kinds) if kinds[name] == "around"])
                log.append({"op": "move", "id": name, "at": self.point()})
            else:
                place = {"at": self.point()} if self.random.random() < 0.7 else {"box": self.box()}
                log.append({"op": "publish", "id": f"m{i}", "words": self.random.sample("abcd", 2)} | place)
        return log


def turned(value: Any, turn: Any) -> Any:
    """All longitudes of a log by a rule for points and one for boxes."""
    if isinstance(value, list):
        return [turned(item, turn) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {}
    for name, item in value.items():
        if name == "at":
            changed[name] = [turn(item[0]), item[1]]
        elif name == "box":
            whole = item[0] == -180.0 and item[2] == 180.0
            changed[name] = item if whole else [turn(item[0]), item[1], turn(item[2]), item[3]]
        else:
            changed[name] = turned(item, turn)
    return changed


@pytest.mark.parametrize("method", INDEXES)
@pytest.mark.parametrize("angle", [11.25, 90.0, 180.0, -0.125, -300.0])
def test_turning_the_globe_does_not_matter(method, angle, seed):
    log = Lattice(generator(seed, "turn", angle)).log()
    wanted = answer_of(log, within=method)
    assert_a_third_match(log, wanted)

    def turn(lon: float) -> float:
        lon += angle
        return lon - 360.0 if lon > 180.0 else lon + 360.0 if lon < -180.0 else lon

    assert_same(answer_of(turned(log, turn), within=method), wanted)


@pytest.mark.parametrize("method", INDEXES)
def test_the_two_names_of_the_antimeridian_are_one(method, seed):
    """A point, or a box without width, at 180 is one at -180; a box that starts at 180 is one that starts at -180."""
    log = Lattice(generator(seed, "names")).log(600)
    wanted = answer_of(log, within=method)
    assert_a_third_match(log, wanted)

    def other(event: dict[str, Any]) -> dict[str, Any]:
        at = event.get("at")
        if at and abs(at[0]) == 180.0:
            event = event | {"at": [-at[0], at[1]]}
        box = event.get("box")
        if box and abs(box[0]) == 180.0 and box[0] == box[2]:
            event = event | {"box": [-box[0], box[1], -box[2], box[3]]}
        return event

    changed = [other(event) for event in log]
    assert sum(a != b for a, b in zip(log, changed, strict=True)) >= 50
    got: Answer = answer_of(changed, within=method)
    assert_same(got, wanted)
