"""Files of events with problems: (bytes, [(line from 0, the codes of which at least one must be reported for it)]).

All other lines are valid, and stay valid when the broken ones are left out.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.oracle.broken_lines import Broken, json_cases
from tests.oracle.logs import PROFILES, random_log
from tests.oracle.state import State

BrokenFile = tuple[bytes, list[tuple[int, frozenset[str]]]]


def broken_file(seed: int, events: int = 60, problems: int = 12) -> BrokenFile:
    """A random valid log with broken lines in between, none before line 1."""
    random = Random(f"broken {seed}")
    log = random_log(seed, events, random.choice(list(PROFILES)))
    places = sorted(random.randrange(1, len(log)) for _ in range(problems))
    state, lines, expected = State(), list[bytes](), list[tuple[int, frozenset[str]]]()
    for position, event in enumerate(log):
        while places and places[0] == position:
            places.pop(0)
            _, line, codes = random.choice(Broken(state, f"free{len(lines)}").all())
            expected.append((len(lines), codes))
            lines.append(line)
        state.apply(position, event)
        lines.append(json.dumps(event, ensure_ascii=random.random() < 0.5).encode())
    return b"\n".join(lines) + b"\n", expected


SUBSCRIPTIONS: list[dict[str, Any]] = [
    {"kind": "within", "where": "everywhere"},
    {"kind": "around", "at": [1, 1], "shape": {"radius_m": 3}},
    {"kind": "best", "at": [1, 1], "words": ["flood"], "k": 1, "alpha": 0.5},
    {"kind": "nearest", "at": [1, 1], "text": "flood", "k": 1},
]


def each_alone(seed: int = 0) -> Iterator[tuple[str, BrokenFile]]:
    """Every case there is, by name, each the one broken line of a small file; on the globe and in a plane."""
    spaces: list[Any] = ["globe", {"plane": [0, 0, 16, 16]}]
    for space in spaces:
        log: list[dict[str, Any]] = [{"op": "configure", "space": space}]
        log += [{"op": "register", "id": f"s-{fields['kind']}"} | fields for fields in SUBSCRIPTIONS]
        log += [{"op": "publish", "id": f"m{i}", "at": [i, 1], "text": "flood"} for i in range(3)]
        state = State()
        for position, event in enumerate(log):
            state.apply(position, event)
        lines = [json.dumps(event).encode() for event in log]
        end = json.dumps({"op": "tick", "ts": seed + 1}).encode()
        for name, line, codes in Broken(state, "free").all():
            content = b"\n".join([*lines, line, end]) + b"\n"
            yield f"{name} ({'globe' if space == 'globe' else 'plane'})", (content, [(len(lines), codes)])
    for name, configuration, fair in CONFIGURATIONS:
        yield name, (json.dumps({"op": "configure"} | configuration).encode() + b"\n", [(0, frozenset(fair))])


CONFIGURATIONS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("unknown space", {"space": "moon"}, {"field-value", "field-type"}),
    ("space is a number", {"space": 5}, {"field-value", "field-type"}),
    ("plane of three", {"space": {"plane": [0, 0, 1]}}, {"field-type", "field-value"}),
    ("plane inside out", {"space": {"plane": [1, 0, 0, 1]}}, {"field-value"}),
    ("plane without an area", {"space": {"plane": [0, 0, 0, 1]}}, {"field-value"}),
    ("negative window", {"window": {"messages": -1}}, {"field-value"}),
    ("half a message", {"window": {"messages": 1.5}}, {"field-type", "field-value"}),
    ("window is a number", {"window": 10}, {"field-type"}),
    ("unknown window", {"window": {"seconds": 10}}, {"field-unknown"}),
    ("negative time window", {"window": {"ms": -1}}, {"field-value"}),
    ("negative max_distance", {"max_distance": -1}, {"field-value"}),
    ("zero max_distance", {"max_distance": 0}, {"field-value"}),
    ("max_distance is a string", {"max_distance": "1"}, {"field-type"}),
    ("unknown language", {"analyser": {"language": "tlh-x"}}, {"field-value", "option-invalid"}),
    ("stemming is a string", {"analyser": {"stemming": "yes"}}, {"field-type"}),
    ("stop word is a number", {"analyser": {"stop_words": [1]}}, {"field-type"}),
    ("unknown analyser field", {"analyser": {"lang": "en"}}, {"field-unknown"}),
    ("negative weight", {"weights": {"idf": {"a": -1}}}, {"field-value"}),
    ("unknown weights field", {"weights": {"df": {}}}, {"field-unknown"}),
    ("unknown field", {"spaces": "globe"}, {"field-unknown"}),
]


def many_problems(seed: int, lines: int = 150) -> BrokenFile:
    """A file with more problems than are reported: every line has one."""
    random = Random(f"many {seed}")
    cases = [case for case in json_cases("free") if len(case[1]) < 1000 and case[1].strip()]
    chosen = [random.choice(cases) for _ in range(lines)]
    return b"\n".join(line for _, line, _ in chosen) + b"\n", [(i, codes) for i, (_, _, codes) in enumerate(chosen)]
