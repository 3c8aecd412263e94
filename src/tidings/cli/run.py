"""`tidings run`: replay a log and write its deltas."""

import json
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO

import click

from tidings.cli import options
from tidings.cli.replayed import Replayed
from tidings.cli.terminal import Progress, counted, lasted
from tidings.model.errors import InputError, Problem

if TYPE_CHECKING:
    from tidings.columns.block import Block

STANDARD = "-"
REJECTED = 3
"""The status when some events were bad and went to the file for rejects."""


def replay(
    log: str,
    out: str,
    *,
    methods: dict[str, str],
    with_message: bool = False,
    rejects: str | None = None,
    told: Callable[[str], None] = lambda text: None,
) -> Replayed:
    """Replay a log block by block; the answer is there as a whole, or not at all when something is wrong."""
    from tidings.cli.published import PublishedEvents
    from tidings.columns.encode import BlockBuilder
    from tidings.log.deltas_file import DeltasFile
    from tidings.log.files import open_events
    from tidings.log.intake import Intake
    from tidings.log.output import whole_file
    from tidings.matching.engine import Engine

    _check_files(log, out, rejects)
    start = time.perf_counter()
    with ExitStack() as stack:
        events = stack.enter_context(open_events(log))
        bad: BinaryIO | None = None if rejects is None else stack.enter_context(whole_file(rejects))
        kept = PublishedEvents() if with_message else None
        intake: Intake[Block] = Intake(events, BlockBuilder if kept is None else kept.builder, rejects=bad)
        engine = Engine(intake.configuration, **methods)
        # With rejects nothing will be called back, so what is found may go out at once.
        deltas = stack.enter_context(
            DeltasFile(out, message_events=None if kept is None else kept.at, streaming=rejects is not None)
        )
        for block in intake:
            for part in engine.step(block):
                deltas.write(part)
            if kept is not None:
                kept.forget_all_but(engine.shard.window)
            seconds = time.perf_counter() - start
            told(f"{intake.n_events:,} events, {deltas.n_written:,} deltas, {intake.n_events / seconds:,.0f} events/s")
        if rejects is None:
            intake.raise_problems()
        n_written = deltas.n_written
    seconds = time.perf_counter() - start
    return Replayed(intake.n_events, n_written, intake.n_rejected, intake.n_problems, seconds)


@click.command(
    epilog="""\b
Examples:
  tidings run events.ndjson --out deltas.ndjson
  tidings run events.parquet --out deltas.arrow --quiet
  zcat events.ndjson.gz | tidings run - --out - | grep '"s1"'
  tidings run feed.ndjson --out deltas.ndjson --rejects bad.ndjson
  tidings run events.ndjson --out check.ndjson --within brute
  tidings run events.ndjson --out deltas.ndjson --on spark --master 'local[2]' --shards 4

\b
The suffix of a file says its format: .ndjson or .jsonl (also with .gz or .zst),
.arrow, .arrows, .parquet, and for LOG .geojson. Deltas under any other name are lines, and
so are `-`, standard input and output.
Status: 0 done, 2 something is wrong and nothing was written, 3 bad events are in --rejects."""
)
@click.argument("log")
@click.option("--out", metavar="FILE", default=STANDARD, help="Where the deltas go; standard output when absent.")
@options.methods
@click.option("--with", "extras", type=click.Choice(["message"]), help="With each delta the event of its message.")
@click.option("--on", type=click.Choice(["process", "spark"]), default="process", show_default=True, help="The engine.")
@click.option("--master", default="local[*]", show_default=True, help="On Spark: its master.")
@click.option("--plan", metavar="NAME", default="hash", show_default=True, help="On Spark: how shards are made.")
@click.option("--shards", metavar="N", type=int, help="On Spark: how many; one per core when absent.")
@click.option("--rejects", metavar="FILE", help="Apply the good events; the bad ones go here with their problems.")
@options.quiet
@options.as_json
def command(
    log: str,
    out: str,
    extras: str | None,
    on: str,
    master: str,
    plan: str,
    shards: int | None,
    rejects: str | None,
    quiet: bool,
    as_json: bool,
    **given: str | None,
) -> None:
    """Replay a log of events and write its deltas.

    LOG is a file of events, one a line, row or feature; or `-`. When anything is wrong with it, all problems are told
    and nothing is written, unless there is a file for rejects.
    """
    with Progress(quiet or as_json) as progress:
        methods, with_message = options.chosen(given), extras == "message"
        if on == "spark":
            done = _replay_on_spark(log, out, master, plan, shards, methods, with_message, rejects, progress)
        else:
            done = replay(log, out, methods=methods, with_message=with_message, rejects=rejects, told=progress)
    if as_json:
        # Standard output is the answer's when the answer goes there.
        click.echo(json.dumps(done._asdict() | {"out": out, "rejects": rejects}), err=STANDARD in (out, rejects))
    elif not quiet:
        parts = [counted(done.events, "event"), counted(done.deltas, "delta"), lasted(done.seconds)]
        if done.rejected:
            parts.insert(2, f"{done.rejected:,} rejected to {rejects}")
        click.echo(", ".join(parts), err=True)
    if done.rejected:
        raise click.exceptions.Exit(REJECTED)


def _replay_on_spark(
    log: str,
    out: str,
    master: str,
    plan: str,
    shards: int | None,
    methods: dict[str, str],
    with_message: bool,
    rejects: str | None,
    told: Callable[[str], None],
) -> Replayed:
    from tidings.cli.run_on_spark import replay_on_spark
    from tidings.spark.launch import cores_of

    _check_files(log, out, rejects)
    return replay_on_spark(
        log,
        out,
        methods=methods,
        master=master,
        plan=plan,
        shards=cores_of(master) if shards is None else shards,
        with_message=with_message,
        rejects=rejects,
        told=told,
    )


def _check_files(log: str, out: str, rejects: str | None) -> None:
    """No file in two roles."""
    named = [("--out", out), *([("--rejects", rejects)] if rejects is not None else [])]
    problems = []
    for i, (option, path) in enumerate(named):
        for other, taken in [("the log", log), *named[:i]]:
            if (path != STANDARD and _same(path, taken)) or (path == taken == STANDARD and other != "the log"):
                problems.append(Problem("option-invalid", option, path, f"another file than {other}"))
    if problems:
        raise InputError(problems)


def _same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other) and os.path.isfile(path)
    except OSError:
        return os.path.abspath(path) == os.path.abspath(other)
