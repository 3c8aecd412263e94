"""`tidings doctor`: this machine, what is installed, the compiled kernels, and what to fix."""

import sys
import time

import click

from tidings.cli import options
from tidings.cli.terminal import Paint, Progress, lasted


@click.command(
    epilog="""\b
Examples:
  tidings doctor
  tidings doctor --warm
  tidings doctor --json | jq .fix"""
)
@click.option(
    "--warm", is_flag=True, help="Compile all kernels that the commands need, once, so that none waits for it."
)
@options.as_json
def command(warm: bool, as_json: bool) -> None:
    """Look at this machine and say what to fix; compile the kernels.

    Kernels are compiled when they are first needed and kept in a directory that only you can write. With --warm that
    happens now, which takes a minute or two the first time and seconds after that.
    """
    from tidings.cli.examination import examine

    warmed: float | None = None
    if warm:
        warmed = _warm(as_json)
    found = examine()
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({**msgspec.to_builtins(found), "warmed_s": warmed}).decode())
        return
    paint = Paint(sys.stdout)
    for name, facts in found.facts.items():
        first, *others = facts
        click.echo(f"{paint(f'{name:9}', 'faint')} {first}")
        for other in others:
            click.echo(f"{'':9} {other}")
    if warmed is not None:
        click.echo(f"{paint('warmed', 'faint'):9}    in {lasted(warmed)}")
    if not found.fix:
        click.echo(paint("Nothing to fix.", "good"))
    for fix in found.fix:
        click.echo(f"{paint('to fix', 'warn')}    {fix.what}\n          {fix.how}")


def _warm(quiet: bool) -> float:
    """Do in small what the commands do; how long it took."""
    from tidings.cli.examination import n_compiled, n_kernels
    from tidings.cli.warming import steps

    start = time.perf_counter()
    with Progress(quiet, steps=True) as progress:
        for name, step in steps():
            progress(f"compiling: {n_compiled()} of {n_kernels()} kernels, now those of `{name}`")
            step()
    return time.perf_counter() - start
