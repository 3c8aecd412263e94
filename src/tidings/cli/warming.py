"""Compiling all kernels that the commands need, by doing in small what they do.

A kernel is compiled for the types that it is called with, so nothing but such calls makes the right ones. The logs
here have every kind of event, region, message and text, and more of each than the first arrays have room for.
"""

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tidings.cli import options
from tidings.cli.retelling import retell
from tidings.cli.run import replay
from tidings.cli.trying import try_on

WORDS: Final = [f"word{number}" for number in range(400)] + ["straße", "über", "дорога", "道路工事"]
N_SUBSCRIPTIONS: Final = 320
N_MESSAGES: Final = 1500
GLOBE: Final = {
    "op": "configure",
    "window": {"messages": 120, "ms": 900_000},
    "analyser": {"language": "en", "stemming": True},
}
SHORT_WINDOW: Final = {"op": "configure", "window": {"messages": 10}}
LONG: Final = 9000
"""More than one block."""
PLANE: Final = {"op": "configure", "space": {"plane": [-180, -90, 180, 90]}, "max_distance": 100}

Fields = dict[str, Any]
Step = tuple[str, Callable[[], object]]


def steps() -> Iterator[Step]:
    """What is to be done, each with the command that it is for."""
    with TemporaryDirectory(prefix="tidings-") as folder:
        globe, plane, small, long = (Path(folder, f"{name}.ndjson") for name in ("globe", "plane", "small", "long"))
        events = list(_events(random.Random(1), wraps=True))
        _write(globe, [GLOBE, *events])
        _write(plane, [PLANE, *_events(random.Random(2), wraps=False)])
        messages = [event for event in events if event["op"] == "publish"]
        _write(small, messages[:5])
        _write(long, [SHORT_WINDOW, *({**messages[number % 100], **_lasting(number)} for number in range(LONG))])
        known = {kind: sorted(options.registry(kind)) for kind in options.KINDS}
        for turn in range(max(map(len, known.values()))):
            methods = {kind: names[turn % len(names)] for kind, names in known.items()}
            for log in (globe, plane, small):
                yield "run", partial(_run, log, methods)
        yield "run", partial(replay, str(small), f"{folder}/out.arrow", methods={}, with_message=True)
        for kind in options.KINDS:
            for log in (globe, plane):
                yield "explain", partial(_explain, log, kind)
        for where in ("everywhere", "0,0,50", "-170,-80,170,80"):
            for log in (globe, plane):
                yield "try", partial(try_on, str(log), "word1 OR word2", where, 3, {})
        yield "run", partial(_run, long, {})
        yield "bench", _bench
        yield "demo", _demo
        yield "engine", partial(_engine, Path(folder, "saved"))


def _run(log: Path, methods: dict[str, str]) -> object:
    return replay(str(log), str(log.with_suffix(".out.ndjson")), methods=methods)


def _explain(log: Path, kind: str) -> None:
    for number in range(12):
        retell(str(log), f"{kind}-{number}", f"m{N_MESSAGES - 1}", None, {})


def _bench() -> None:
    from tidings.lab.bench_within import WithinBench, bench_within
    from tidings.lab.workloads import WithinWorkload

    workload = WithinWorkload(
        subscriptions=600, messages=300, or_share=0.5, not_share=0.5, polygons=0.5, boxes=0.5, scale=4.0
    )
    bench = WithinBench(workload=workload, floors=(), churn=True, memory=False, repetitions=1, singles=20)
    bench_within(bench, sorted(options.registry("within")))


def _demo() -> None:
    from tidings.cli.evening import Evening

    for _ in Evening(0):
        pass


def _lasting(number: int) -> Fields:
    """A message that its window drops long before it expires."""
    return {"id": f"m{number}", "ts": number, "expires": 10**9 + number}


def _write(path: Path, events: list[Fields]) -> None:
    path.write_text("".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events))


def _events(draw: random.Random, wraps: bool) -> Iterator[Fields]:
    names = [f"{kind}-{number}" for kind in options.KINDS for number in range(N_SUBSCRIPTIONS // 4)]
    for name in names:
        yield {"op": "register", "id": name, **_subscription(draw, name, wraps)}
    for number in range(N_MESSAGES):
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
        if int(name.partition("-")[2]) >= 12:
            yield {"op": "remove", "id": name}
    yield {"op": "publish", "id": "last", **_message(draw, N_MESSAGES, wraps)}


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


def _engine(saved: Path) -> None:
    """What a program does that has an engine of its own."""
    from tidings.matching.engine import Engine
    from tidings.model.errors import InputError
    from tidings.model.events import Move, Publish, Register
    from tidings.model.regions import Box
    from tidings.model.subscriptions import Around, Disc, Within

    engine = Engine()
    engine.register(Within("s", Box((0.0, 0.0, 1.0, 1.0)), when="flood"))
    engine.register(Around("a", (0.0, 0.0), Disc(1000.0)))
    engine.apply(Move("a", (1.0, 1.0)))
    engine.publish("m", at=(0.5, 0.5), text="flood")
    list(engine.run([Publish("n", at=(0.5, 0.5), words=("flood",)), Publish("m2", at=(0.5, 0.5), text="über")]))
    try:
        engine.apply(Register(Within("s", Box((0.0, 0.0, 1.0, 1.0)))))
    except InputError:
        engine.retract("m")
    engine.save(saved)
    loaded = Engine.load(saved)
    loaded.publish("k", at=(0.5, 0.5), text="flood")
    loaded.remove("s")
