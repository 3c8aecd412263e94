"""`tidings explain`: why a message is or is not in the result set of a subscription."""

import sys
from typing import TYPE_CHECKING

import click

from tidings.cli import options
from tidings.cli.terminal import Paint, Progress
from tidings.model.errors import InputError, Problem

if TYPE_CHECKING:
    from tidings.cli.retelling import Story


@click.command(
    epilog="""\b
Examples:
  tidings explain events.ndjson --subscription s1 --message m7
  tidings explain events.ndjson --subscription courier-3 --message m7 --at 120
  tidings explain events.parquet --subscription s1 --message m7 --json | jq .clauses

\b
What is told is the state after the event in which the two last met: the publication of the
message, or for a kind that looks at earlier messages the registration of the subscription.
With --at it is the state after that position (a line number from 0)."""
)
@click.argument("log")
@click.option("--subscription", metavar="ID", required=True, help="Of the subscription.")
@click.option("--message", metavar="ID", required=True, help="Of the message.")
@click.option("--at", "position", metavar="POSITION", type=click.IntRange(0), help="Look after this position.")
@options.methods
@options.as_json
def command(
    log: str, subscription: str, message: str, position: int | None, as_json: bool, **given: str | None
) -> None:
    """Say why a message is or is not in the result set of a subscription.

    Replays LOG and reads the arrays that the matchers run on: which clause lacks which word, how far the place is,
    under which word and in which cells the index keeps the subscription, what the last message in the set has.
    """
    from tidings.cli.retelling import retell

    with Progress(as_json) as progress:
        story = retell(log, subscription, message, position, options.chosen(given), progress)
    if story.explanation is None:
        raise InputError(_nothing_to_explain(story, position))
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(story.explanation).decode())
        return
    from tidings.cli.explaining import lines_of

    click.echo("\n".join(lines_of(story.explanation, Paint(sys.stdout))))


def _nothing_to_explain(story: "Story", position: int | None) -> Problem:
    until = "in this log" if position is None else f"up to position {position}"
    if story.published is None:
        return Problem("id-unknown", "--message", story.message, f"the id of a message that is published {until}")
    if story.registered is None:
        expected = f"the id of a subscription that is registered {until}"
        return Problem("id-unknown", "--subscription", story.subscription, expected)
    found = f"{story.subscription}, registered at position {story.registered}"
    if story.removed is not None:
        found += f" and removed at position {story.removed}"
    hint = f"{story.message} is published at position {story.published.position}; --at looks after another position"
    return Problem("id-unknown", "--subscription", found, "a subscription that is in force then", hint)
