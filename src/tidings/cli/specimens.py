"""Logs that have something of everything, in small: every kind of event, region, message and text."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tidings.cli.options import KINDS

WORDS: Final = [f"word{number}" for number in range(400)] + ["straße", "über", "дорога", "道路工事"]
N_EXPLAINED: Final = 12
"""So many subscriptions of each kind are there at the end of a log."""
GLOBE: Final = {
    "op": "configure",
    "window": {"messages": 120, "ms": 900_000},
    "analyser": {"language": "en", "stemming": True},
}
PLANE: Final = {"op": "configure", "space": {"plane": [-180, -90, 180, 90]}, "max_distance": 100}

Fields = dict[str, Any]


def write_lines(path: Path, events: list[Fields]) -> None:
    """Write a log."""
    path.write_text("".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events))


def all_kinds(draw: random.Random, wraps: bool, n_subscriptions: int = 320, n_messages: int = 1500) -> Iterator[Fields]:
    """Events of all kinds, for a globe (where boxes wrap) or a plane with the same bounds."""
    names = [f"{kind}-{number}" for kind in KINDS for number in range(n_subscriptions // 4)]
    for name in names:
        yield {"op": "register", "id": name, **_subscription(draw, name, wraps)}
    for number in range(n_messages):
        yield {"op": "publish", "id": f"m{number}", **_message(draw, number, wraps)}
        name = draw.choice(names)
        if number % 7 == 0:
            yield {"op": "replace", "id": name, **_subscription(draw, name, wraps)}
        elif number % 7 == 3:
            yield {"op": "retract", "id": f"m{draw.randrange(number)}"}
        elif number % 7 == 5:
            yield {"op": "move", "id": f"around-{draw.randrange(10)}", "at": _point(draw)}
        elif number % 100 == 1:
            yield {"op": "weights", "idf": {draw.choice(WORDS): draw.random() for _ in range(9)}, "default": 1.0}
        elif number % 100 == 2:
            yield {"op": "tick", "ts": 1000 * number}
    for name in names:
        # The first ones stay to be explained.
        if int(name.partition("-")[2]) >= N_EXPLAINED:
            yield {"op": "remove", "id": name}
    yield {"op": "publish", "id": "last", **_message(draw, n_messages, wraps)}


def _message(draw: random.Random, number: int, wraps: bool) -> Fields:
    fields: Fields = {"ts": 1000 * number}
    words = [WORDS[int(len(WORDS) * draw.random() ** 3)] for _ in range(draw.randint(1, 9))]
    if number % 3:
        fields["text"] = " the ".join(words)
    else:
        fields["words"] = words
    if number % 4:
        fields["at"] = _point(draw)
    else:
        fields["box"] = _box(draw, wraps and number % 8 == 0)
    if number % 2:
        fields["expires"] = 1000 * number + 10 ** draw.randint(3, 9)
    return fields


def _subscription(draw: random.Random, name: str, wraps: bool) -> Fields:
    kind, _, number = name.partition("-")
    words = [WORDS[int(len(WORDS) * draw.random() ** 2)] for _ in range(4)]
    quoted = [json.dumps(word, ensure_ascii=False) for word in words]
    when = draw.choice(
        ["{0}", "{0} AND {1}", "{0} {1} {2} {3}", "{0} OR {1}", "{0} AND NOT {1}", "({0} OR {1}) AND ({2} OR {3})"]
    ).format(*quoted)
    if kind == "within":
        return {"kind": kind, "where": _region(draw, int(number), wraps)} | (
            {"when": when} if draw.random() < 0.9 else {}
        )
    at = _point(draw)
    if kind == "around":
        shape = draw.choice([{"radius_m": 40.0 if not wraps else 3e6}, {"width": 50.0, "height": 60.0}])
        return {"kind": kind, "when": when, "at": at, "shape": shape}
    return {"kind": kind, "words": words, "at": at, "k": draw.randint(1, 5)} | (
        {"alpha": 0.3} if kind == "best" else {}
    )


def _region(draw: random.Random, number: int, wraps: bool) -> object:
    x, y, size = draw.uniform(-120, 60), draw.uniform(-60, 20), draw.uniform(1, 50)
    outer = [[x, y], [x + size, y], [x + size, y + size], [x, y + size], [x, y]]
    hole = [[x + size * dx, y + size * dy] for dx, dy in ((0.4, 0.4), (0.5, 0.6), (0.6, 0.4), (0.4, 0.4))]
    circle = {"circle": [x, y, 5e6 if wraps else 40.0]}
    forms: list[object] = [
        {"box": _box(draw, wraps and number % 16 == 0)},
        circle,
        {"type": "Polygon", "coordinates": [outer, hole]},
        {"any": [circle, {"box": _box(draw, False)}, {"type": "MultiPolygon", "coordinates": [[outer]]}]},
        "everywhere",
    ]
    return forms[number % 5] if number % 2 else forms[0]


def _point(draw: random.Random) -> list[float]:
    return [draw.uniform(-180, 180), draw.uniform(-90, 90)]


def _box(draw: random.Random, wraps: bool) -> list[float]:
    x0, y0 = draw.uniform(-180, 100), draw.uniform(-90, 50)
    x1, y1 = x0 + draw.uniform(0, 60), y0 + draw.uniform(0, 40)
    return [x1, y0, x0, y1] if wraps else [x0, y0, x1, y1]
