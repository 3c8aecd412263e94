"""The command `tidings`: which commands there are, and how a run of one ends.

A command's module is imported when the command is asked for. The help of `tidings` itself imports none of them, nor
anything else that takes time: NumPy, Numba, Arrow and Rich alone would cost several times what the help may.

| status | means |
|---|---|
| 0 | done |
| 1 | something unexpected, with its traceback |
| 2 | what was given is wrong, or a file cannot be used; nothing was applied |
| 3 | the good events were applied, the bad ones are in the file for rejects |
| 130, 143 | interrupted, terminated |
| 141 | whoever was reading stopped |
"""

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NoReturn

import click

import tidings

COMMANDS: Final = {
    "run": "Replay a log of events and write its deltas.",
    "try": "See how many messages of a file an expression and a region would match.",
    "explain": "Say why a message is or is not in the result set of a subscription.",
    "log": "Append to a durable log of events, read it, look after it.",
    "pipeline": "Match the events of a log on Spark and deliver what each subscription gets.",
    "plan": "Show what a pipeline would run: its source, its shards and their sizes, where deltas go.",
    "deliveries": "Read what a pipeline delivered.",
    "convert": "Write a file of events in another format.",
    "bench": "Measure methods against floors, side by side in one run.",
    "demo": "Watch a city's incidents find their subscribers for a minute.",
    "doctor": "Look at this machine and say what to fix; compile the kernels.",
    "completion": "Print the script that completes commands in a shell.",
}
"""Every command with what its help begins with."""

BAD_INPUT: Final = 2
INTERRUPTED: Final = 128 + signal.SIGINT
TERMINATED: Final = 128 + signal.SIGTERM
NOBODY_READS: Final = 128 + signal.SIGPIPE

EXAMPLES: Final = """\b
Examples:
  tidings demo
  tidings run events.ndjson --out deltas.ndjson
  zcat log.gz | tidings run - --out - | head
  tidings try "flood AND (bridge OR road)" --where 11,48,12,48.5 --on events.parquet
  tidings explain events.ndjson --subscription s1 --message m7

`tidings COMMAND --help` says more, with examples."""


class _Commands(click.Group):
    """The commands by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"tidings.cli.{'trial' if cmd_name == 'try' else cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(name, COMMANDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Before click sees it, which would say so and call it an error.
            raise click.exceptions.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise click.exceptions.Exit(_unread()) from None


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXAMPLES,
)
@click.version_option(tidings.__version__, "-V", "--version", message="tidings %(version)s")
def cli() -> None:
    """Standing subscriptions of words and place, matched as messages come."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and end with its status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # An unwinding stack removes what is half written; a bare SIGTERM would leave it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        status = _status_of(given)
        sys.stdout.flush()
    except BrokenPipeError:
        status = _unread()
    sys.exit(status)


def _unread() -> int:
    """The status when nobody reads on; what is still in the buffer goes nowhere, and no flush complains about it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return NOBODY_READS


def _status_of(given: list[str]) -> int:
    from tidings.model.errors import TidingsError

    as_json = "--json" in given
    try:
        status = cli.main(given, prog_name="tidings", standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        from tidings.cli.errors import report_usage

        report_usage(error, as_json)
        return BAD_INPUT
    except TidingsError as error:
        from tidings.cli.errors import report

        report(error, as_json)
        return BAD_INPUT
    return status if isinstance(status, int) else 0
