"""`tidings convert`: write a file of events in another format."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from tidings.cli import options
from tidings.cli.terminal import Progress, counted, lasted
from tidings.model.errors import MAX_PROBLEMS, InputError, Problem

if TYPE_CHECKING:
    from tidings.log.files import EventFile
    from tidings.model.events import Event


@click.command(
    epilog="""\b
Examples:
  tidings convert events.ndjson events.parquet
  tidings convert incidents.geojson events.ndjson
  tidings convert events.parquet - | head
  zcat old.gz | tidings convert - new.arrow

\b
.ndjson .jsonl (also with .gz or .zst)   one JSON object a line; `-` too
.parquet .arrow .feather .arrows         a table, one row an event
.geojson                                 a FeatureCollection; foreign Points become messages"""
)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@options.quiet
@options.as_json
def command(source: str, target: str, quiet: bool, as_json: bool) -> None:
    """Write a file of events in another format; the suffix says which.

    Every event is read and checked. When something is wrong with one, all problems are told and OUT is not written.
    """
    import json

    from tidings.log.files import open_events, write_events

    start = time.perf_counter()
    with Progress(quiet or as_json) as progress, open_events(source) as events:
        n_events = write_events(target, _good(events, progress))
    seconds = time.perf_counter() - start
    if as_json:
        done = {"events": n_events, "seconds": seconds, "in": source, "out": target}
        click.echo(json.dumps(done), err=target == "-")
    elif not quiet:
        click.echo(f"{counted(n_events, 'event')}, {lasted(seconds)}", err=True)


def _good(events: "EventFile", told: Callable[[str], None]) -> Iterator["Event"]:
    """The events; at the end all problems at once, and from the first one on no more events."""
    from msgspec.structs import replace

    problems: list[Problem] = []
    total = 0
    for entry in events:
        if isinstance(entry.event, InputError):
            total += entry.event.total
            room = MAX_PROBLEMS - len(problems)
            problems += [replace(problem, line=entry.position) for problem in entry.event.problems[:room]]
        elif not problems:
            yield entry.event
        if not entry.position & 0xFFF:
            told(f"{entry.position:,} events")
    if problems:
        raise InputError(problems, total)
