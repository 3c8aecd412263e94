"""`tidings plan`: what a pipeline would run, before it does."""

import click

from tidings.cli import options
from tidings.cli.pipeline import placed, settings_of
from tidings.cli.terminal import Paint, Progress, counted


@click.command(
    epilog="""\b
Examples:
  tidings plan --log city.log
  tidings plan --log city.log --shards 8 --json"""
)
@placed
@options.methods
@options.quiet
@options.as_json
def command(
    log: str | None,
    master: str,
    plan: str,
    shards: int | None,
    state: str,
    sink: str,
    quiet: bool,
    as_json: bool,
    **given: str | None,
) -> None:
    """Show what a pipeline would run: its source, its shards and their sizes, where deltas go.

    The log is read through; nothing is changed, and Spark is not started.
    """
    import msgspec

    from tidings.model.errors import InputError, Problem
    from tidings.spark.launch import cores_of
    from tidings.spark.picture import picture_of

    settings = settings_of(log, state, sink, plan, shards, master, given)
    if settings.log.startswith("kafka://"):
        expected = "a log; what is in a topic is known to its broker"
        raise InputError(Problem("option-invalid", "--log", settings.log, expected))
    with Progress(quiet or as_json) as progress:
        found = picture_of(settings, progress)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    strong = Paint(None)
    snapshot = "none yet" if found.snapshot is None else f"at position {found.snapshot:,}"
    told = [
        ("source", f"{found.source}: positions {found.first:,} to {found.end:,}, {counted(found.lag, 'event')} to do"),
        ("engine", f"Spark, master {master}, {counted(cores_of(master), 'task')} at once"),
        ("methods", ", ".join(f"{kind} {name}" for kind, name in found.methods.items())),
        ("plan", f"{found.plan}: {counted(len(found.shards), 'shard')}, each sees every message"),
    ]
    for name, text in told:
        click.echo(f"{strong(name, 'strong'):<9} {text}")
    for one in found.shards:
        size = f"{one.state_bytes / 2**20:,.1f} MiB"
        click.echo(f"  shard {one.shard:<3} {one.subscriptions:>11,} subscriptions  {size:>12} of state")
    told = [
        ("live", f"up to {counted(found.live_messages, 'message')}, in every shard"),
        ("state", f"{found.state}: {found.store}, done before {found.done:,}, snapshot {snapshot}"),
        ("sink", sink if sink != "deliveries" else f"deliveries in {found.state}"),
    ]
    for name, text in told:
        click.echo(f"{strong(name, 'strong'):<9} {text}")
