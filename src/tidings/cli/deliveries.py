"""`tidings deliveries`: look at what a pipeline delivered, and take it out."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tidings.cli import options
from tidings.cli.terminal import Paint, Progress, counted

if TYPE_CHECKING:
    from tidings.log.deliveries import Deliveries

Function = TypeVar("Function", bound=Callable[..., Any])

WAIT_S: Final = 3600.0
"""Whoever follows looks again at the latest after this."""

_state = click.argument("state", metavar="STATE")


def _chosen(function: Function) -> Function:
    """The options that say which deltas."""
    for option in (
        click.option("--subscription", metavar="ID", help="Only those of one subscription."),
        click.option("--until", "end", metavar="POSITION", type=click.IntRange(0), help="Those before this position."),
        click.option("--from", "first", metavar="POSITION", type=click.IntRange(0), help="Begin at this position."),
    ):
        function = option(function)
    return function


@click.group(
    epilog="""\b
Examples:
  tidings deliveries tail city.log.state --follow
  tidings deliveries tail city.log.state --cursor mail --subscription s1
  tidings deliveries export city.log.state deltas.parquet --from 1000000
  tidings deliveries cursor city.log.state mail --at 1000000

STATE is the folder of a pipeline's state (`city.log.state`, or `city.log` for the one beside it), or
the URI of one (`s3://bucket/state`)."""
)
def command() -> None:
    """Read what a pipeline delivered.

    Deltas are delivered batch by batch, in the order of their positions, each batch with its commit or not at all.
    """


@command.command()
@_state
@_chosen
@click.option("--cursor", metavar="NAME", help="Begin where this cursor is, and move it behind what was written.")
@click.option("-f", "--follow", is_flag=True, help="Go on when there is more.")
def tail(
    state: str, first: int | None, end: int | None, subscription: str | None, cursor: str | None, follow: bool
) -> None:
    """Write deltas as lines, from the oldest kept or from where a cursor is.

    A cursor moves after the lines of a batch were written, so after an interruption the last lines may come again and
    none is missing. Give one subscription its own cursor: it passes over everybody else's deltas.
    """
    deliveries = _open(state)
    if first is None:
        first = deliveries.cursor(cursor) if cursor is not None else None
    position = deliveries.start() if first is None else first
    while True:
        done = deliveries.done()
        position = _write(deliveries, position, done if end is None else min(end, done), subscription, cursor)
        if not follow or (end is not None and position >= end):
            return
        deliveries.wait(position, WAIT_S)


def _write(deliveries: "Deliveries", first: int, end: int, subscription: str | None, cursor: str | None) -> int:
    """Write what there is; where it ends."""
    from tidings.log.deltas_file import lines_of

    for deltas in deliveries.read(first, end, subscription):
        sys.stdout.buffer.write(lines_of(deltas))
        sys.stdout.buffer.flush()
        if cursor is not None:
            deliveries.advance(cursor, int(deltas.position[-1]) + 1)
    if cursor is not None and end >= first:
        deliveries.advance(cursor, end)
    return max(first, end)


@command.command()
@_state
@click.argument("target", metavar="OUT")
@_chosen
@options.quiet
def export(state: str, target: str, first: int | None, end: int | None, subscription: str | None, quiet: bool) -> None:
    """Write deltas to a file; its suffix says the format, as with `tidings run --out`."""
    from tidings.log.deltas_file import DeltasFile

    deliveries = _open(state)
    with Progress(quiet) as progress, DeltasFile(target) as file:
        for deltas in deliveries.read(deliveries.start() if first is None else first, end, subscription):
            file.write(deltas)
            progress(f"{counted(file.n_written, 'delta')}")
    if not quiet:
        click.echo(counted(file.n_written, "delta"), err=True)


@command.command()
@_state
@options.as_json
def stat(state: str, as_json: bool) -> None:
    """Say how far deliveries are, what they keep and who reads them."""
    import msgspec

    found = _open(state).stat()
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    paint = Paint(sys.stdout)
    kept = f"{counted(found.n_batches, 'batch').replace('batchs', 'batches')}, {counted(found.n_deltas, 'delta')}"
    pending, snapshot = found.pending, found.snapshot
    rows = {
        "store": f"{found.store}, epoch {found.epoch}",
        "done": f"everything before position {found.done:,}",
        "kept": f"from position {found.start:,}: {kept}, {found.n_bytes:,} bytes",
        "pending": "nothing" if pending is None else f"positions {pending.first:,} to {pending.end - 1:,}",
        "snapshot": "none" if snapshot is None else f"at position {snapshot.position:,}, {snapshot.shards} shards",
        "set aside": counted(found.n_aside, "event"),
        "cursors": "none" if not found.cursors else "",
    }
    for name, text in rows.items():
        click.echo(f"{paint(f'{name:<10}', 'name')} {text}".rstrip())
    for name, position in found.cursors.items():
        click.echo(f"  {name}: {position:,}, {found.done - position:,} behind")


@command.command()
@_state
@click.argument("name", required=False)
@click.option("--at", metavar="POSITION", type=click.IntRange(0), help="Put it there; it is made if there is none.")
@click.option("--drop", is_flag=True, help="Forget it, so that retention does not wait for it.")
def cursor(state: str, name: str | None, at: int | None, drop: bool) -> None:
    """Show cursors, put one somewhere, or drop it.

    A cursor says how far a consumer has read. Retention keeps everything from the slowest one on.
    """
    from tidings.model.errors import InputError, Problem

    deliveries = _open(state)
    if name is None:
        if at is not None or drop:
            raise click.UsageError("which cursor? its NAME is missing")
        for one, position in deliveries.stat().cursors.items():
            click.echo(f"{one}\t{position}")
        return
    if at is not None and drop:
        raise click.UsageError("--at and --drop exclude each other")
    if at is not None:
        deliveries.advance(name, at)
    found = deliveries.cursor(name)
    if found is None:
        raise InputError(Problem("option-invalid", "NAME", name, "a cursor that is there", "`--at` makes one"))
    if drop:
        deliveries.drop_cursor(name)
    else:
        click.echo(found)


@command.command()
@_state
@options.quiet
@options.as_json
def verify(state: str, quiet: bool, as_json: bool) -> None:
    """Read everything that is kept and compare it with its checksums."""
    import msgspec

    from tidings.model.errors import FileError

    deliveries = _open(state)
    problems = deliveries.verify()
    if problems:
        raise FileError(problems)
    found = deliveries.stat()
    if as_json:
        click.echo(msgspec.json.encode({"deltas": found.n_deltas, "bytes": found.n_bytes, "problems": []}))
    elif not quiet:
        click.echo(f"all is whole: {counted(found.n_deltas, 'delta')}, {found.n_bytes:,} bytes")


def _open(state: str) -> "Deliveries":
    """The deliveries of a state, or of the log that a state stands beside."""
    from tidings.log.deliveries import open_deliveries

    if "://" not in state and Path(state).is_file() and Path(f"{state}.state").is_dir():
        state = f"{state}.state"
    return open_deliveries(state)
