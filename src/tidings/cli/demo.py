"""`tidings demo`: an evening in an invented city, in a minute."""

import os
import sys
import time
from typing import TYPE_CHECKING, Final

import click

from tidings.cli.terminal import Paint, Progress

if TYPE_CHECKING:
    from tidings.cli.evening import Evening

EVENING_SHARE: Final = 0.92
"""So much of the seconds the evening takes; then its last picture stands still."""
PICTURES_PER_S: Final = 12
EVENING_MS: Final = 360 * 60_000


@click.command(
    epilog="""\b
Examples:
  tidings demo
  tidings demo --seed 7 --seconds 20
  tidings demo | grep courier"""
)
@click.option("--seed", metavar="N", type=click.IntRange(0), default=1, show_default=True, help="Another evening.")
@click.option("--seconds", metavar="N", type=click.FloatRange(1, 3600), default=55, show_default=True, help="How long.")
@click.option("--fast", is_flag=True, help="As fast as it can be drawn.")
def command(seed: int, seconds: float, fast: bool) -> None:
    """Watch a city's incidents find their subscribers for a minute.

    Six hours of seeded news, and six people who said what they want to hear of: words in a region, trouble around a
    courier who moves, the five top stories, the sightings of a dog nearest to its home. It ends by itself. Where the
    output is no terminal it is told line by line, at once.
    """
    with Progress(steps=True) as progress:
        progress("loading kernels (the first time they are compiled, which takes a minute)")
        from tidings.cli.evening import Evening

        for _ in zip(range(40), Evening(seed), strict=False):
            pass
        evening = Evening(seed)
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        _show(evening, 0.0 if fast else seconds)
    else:
        _tell(evening)


def _tell(evening: "Evening") -> None:
    """One line for each message that comes to somebody."""
    from tidings.cli.evening import clock, kind_of, wish_of

    for subscription in evening.subscriptions:
        click.echo(f"{subscription.id:10} {kind_of(subscription):8} {wish_of(subscription)}")
    click.echo()
    for moment in evening:
        for delta in moment.deltas:
            if delta.op == "+":
                text = evening.messages[delta.message].text
                click.echo(f"{clock(moment.ms)}  {delta.subscription:10} {delta.message:5} {text}")
    _conclude(evening)


def _show(evening: "Evening", seconds: float) -> None:
    """The picture, drawn anew as the evening goes on."""
    from rich.live import Live

    from tidings.cli.stage import Stage

    stage = Stage(evening)
    start, drawn = time.monotonic(), 0.0
    with Live(stage.picture(), refresh_per_second=PICTURES_PER_S, auto_refresh=False, screen=False) as live:
        for moment in evening:
            stage.take(moment)
            due = start + seconds * EVENING_SHARE * moment.ms / EVENING_MS
            while True:
                now = time.monotonic()
                if now >= drawn + 1 / PICTURES_PER_S:
                    live.update(stage.picture(), refresh=True)
                    drawn = now
                if now >= due:
                    break
                time.sleep(min(due - now, 1 / PICTURES_PER_S))
        live.update(stage.picture(), refresh=True)
        time.sleep(max(0.0, start + seconds - time.monotonic()))
        explained = stage.explains(live.console.size.height)
    _conclude(evening, not explained)


def _conclude(evening: "Evening", explains: bool = True) -> None:
    """Why one message came to somebody, how quick it all was, and where to go from here."""
    from tidings.cli.explaining import lines_of

    paint = Paint(sys.stdout)
    explanation = evening.explanation
    if explanation is not None and explains:
        click.echo(f"\nWhy did {explanation.message} come to {explanation.subscription}? It said:")
        click.echo(f"  {evening.messages[explanation.message].text}\n")
        click.echo("\n".join(lines_of(explanation, paint)))
    click.echo(
        f"\n{len(evening.messages):,} messages, {evening.n_deltas:,} deltas; "
        f"half of the events took less than {evening.median_us:,.0f} µs, one by one in Python."
    )
    click.echo(f"Next: {paint('tidings run --help', 'name')}, {paint('tidings bench within --small', 'name')}")
