"""Compiling all kernels that the commands need, by doing in small what they do.

A kernel is compiled for the types that it is called with, so nothing but such calls makes the right ones. The logs
here have every kind of event, region, message and text, and more of each than the first arrays have room for.
"""

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tidings.cli import options
from tidings.cli.retelling import retell
from tidings.cli.run import replay
from tidings.cli.specimens import GLOBE, N_EXPLAINED, PLANE, Fields, all_kinds, write_lines
from tidings.cli.trying import try_on

SHORT_WINDOW: Final = {"op": "configure", "window": {"messages": 10}}
LONG: Final = 9000
"""More than one block."""

Step = tuple[str, Callable[[], object]]


def steps() -> Iterator[Step]:
    """What is to be done, each with the command that it is for."""
    with TemporaryDirectory(prefix="tidings-") as folder:
        globe, plane, small, long = (Path(folder, f"{name}.ndjson") for name in ("globe", "plane", "small", "long"))
        events = list(all_kinds(random.Random(1), wraps=True))
        write_lines(globe, [GLOBE, *events])
        write_lines(plane, [PLANE, *all_kinds(random.Random(2), wraps=False)])
        messages = [event for event in events if event["op"] == "publish"]
        write_lines(small, messages[:5])
        write_lines(long, [SHORT_WINDOW, *({**messages[number % 100], **_lasting(number)} for number in range(LONG))])
        known = {kind: sorted(options.registry(kind)) for kind in options.KINDS}
        for turn in range(max(map(len, known.values()))):
            methods = {kind: names[turn % len(names)] for kind, names in known.items()}
            for log in (globe, plane, small):
                yield "run", partial(_run, log, methods)
        yield "run", partial(replay, str(small), f"{folder}/out.arrow", methods={}, with_message=True)
        for configure in (GLOBE, PLANE):
            few = Path(folder, "few.ndjson")
            write_lines(few, [configure, *all_kinds(random.Random(3), configure is GLOBE, 4 * N_EXPLAINED, 40)])
            for kind in options.KINDS:
                yield "explain", partial(_explain, few, kind)
        for where in ("everywhere", "0,0,50", "-170,-80,170,80"):
            for log in (globe, plane):
                yield "try", partial(try_on, str(log), "word1 OR word2", where, 3, {})
        yield "run", partial(_run, long, {})
        for number, log in enumerate((globe, plane)):
            yield "pipeline", partial(_shards, log, Path(folder, f"shards-{number}"))
        yield "bench", _bench
        yield "demo", _demo
        yield "engine", partial(_engine, Path(folder, "saved"))


def _run(log: Path, methods: dict[str, str]) -> object:
    return replay(str(log), str(log.with_suffix(".out.ndjson")), methods=methods)


def _explain(log: Path, kind: str) -> None:
    for number in range(N_EXPLAINED):
        retell(str(log), f"{kind}-{number}", "m39", None, {})


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


def _shards(log: Path, folder: Path) -> None:
    from tidings.cli.warming_shards import run_shards

    folder.mkdir()
    run_shards(log, folder)


def _lasting(number: int) -> Fields:
    """A message that its window drops long before it expires."""
    return {"id": f"m{number}", "ts": number, "expires": 10**9 + number}


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
