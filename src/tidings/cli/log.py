"""`tidings log`: append to a durable log, read it, look after it."""

import json
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from tidings.cli import options
from tidings.cli.run import REJECTED
from tidings.cli.terminal import Progress, counted, lasted
from tidings.model.errors import MAX_PROBLEMS, FileError, InputError, Problem
from tidings.model.limits import MAX_SUBMISSION_EVENTS

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tidings.cli.feeding import Given
    from tidings.log.store import Appended, EventLog

STANDARD: Final = "-"
SHOWN_EVENTS: Final = 10
EVERY_S: Final = 0.1
IN_FLIGHT: Final = 8
"""Groups that are on their way at the same time."""
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "": 1}
_SIZES: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def _amount(units: dict[str, int], shown: str) -> Callable[[click.Context, click.Parameter, str | None], int | None]:
    """A number with a unit, in the smallest one."""

    def read(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
        if value is None:
            return None
        found = re.fullmatch(r"(\d+)([a-z]?)b?", value.lower())
        if found is None or found[2] not in units:
            raise click.BadParameter(f"{value!r} is not {shown}", ctx, param)
        return int(found[1]) * units[found[2]]

    return read


_age: Final = _amount(_UNITS, "an age such as 90s, 12h or 7d")
_size: Final = _amount(_SIZES, "a size such as 500M or 10G")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Append to a durable log of events, read it, look after it.

    A log is one file. Its events have positions 0, 1, 2, … and stay in their order; what was appended is there whatever
    happens to the process or the machine.
    """


@command.command(
    epilog="""\b
Examples:
  tidings log append city.log events.ndjson
  tail -f feed.ndjson | tidings log append city.log -
  tidings log append city.log incidents.parquet --rejects bad.ndjson --json

\b
FILE is of any format that `tidings run` takes. Events are appended in groups, each whole or not
at all; when something is wrong with a group, the groups before it stay, which is told.
Status: 0 done, 2 something is wrong, 3 bad events are in --rejects."""
)
@click.argument("log")
@click.argument("file", default=STANDARD)
@click.option("--group", metavar="N", type=click.IntRange(1, MAX_SUBMISSION_EVENTS), help="Events of one submission.")
@click.option("--rejects", metavar="FILE", help="Append the good events; the bad ones go here with their problems.")
@click.option("--existing", is_flag=True, help="Refuse to make a new log.")
@options.quiet
@options.as_json
def append(
    log: str, file: str, group: int | None, rejects: str | None, existing: bool, quiet: bool, as_json: bool
) -> None:
    """Append events to LOG, which is made when there is none.

    By default a file goes in groups of 65,536 events, and standard input as it comes.
    """
    from tidings.cli.feeding import groups
    from tidings.log.files import open_events
    from tidings.log.output import whole_file
    from tidings.log.store import EventLog

    start = time.perf_counter()
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(quiet or as_json))
        events = stack.enter_context(open_events(file))
        opened = stack.enter_context(EventLog.open(log, create=not existing))
        configuration = opened.configuration
        if configuration is not None:
            events.space = configuration.space
        bad = None if rejects is None else stack.enter_context(whole_file(rejects))
        feed = _Feed(opened, bad)
        try:
            for some in groups(events, group or MAX_SUBMISSION_EVENTS, at_once=file == STANDARD):
                feed.send(some)
                progress(f"{feed.n_events:,} events")
            feed.finish()
        except BaseException:
            if feed.n_events and not quiet:
                click.echo(f"{counted(feed.n_events, 'event')} before this {_were(feed.n_events)} appended", err=True)
            raise
    seconds = time.perf_counter() - start
    if as_json:
        done = {"events": feed.n_events, "first": feed.first, "end": feed.end, "rejected": feed.n_rejected}
        click.echo(json.dumps({**done, "seconds": seconds, "log": log, "rejects": rejects}), err=rejects == STANDARD)
    elif not quiet:
        parts = [counted(feed.n_events, "event"), lasted(seconds)]
        if feed.n_events:
            parts.insert(1, f"positions {feed.first} to {feed.end - 1}")
        if feed.n_rejected:
            parts.append(f"{feed.n_rejected:,} rejected to {rejects}")
        click.echo(", ".join(parts), err=True)
    if feed.n_rejected:
        raise click.exceptions.Exit(REJECTED)


@command.command(
    epilog="""\b
Examples:
  tidings log tail city.log
  tidings log tail city.log --from 0 | tidings run - --out deltas.ndjson
  tidings log tail city.log --follow --positions | jq .position"""
)
@click.argument("log")
@click.option("--from", "first", metavar="N", type=int, help="The first position; -N: that many before the end.")
@click.option("--limit", metavar="N", type=click.IntRange(0), help="So many events at most.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is appended.")
@click.option("--positions", is_flag=True, help="Say the position of each event.")
@options.as_json
def tail(log: str, first: int | None, limit: int | None, follow: bool, positions: bool, as_json: bool) -> None:
    """Print events of LOG, one a line; by default the last 10."""
    from tidings.log.store import EventLog

    out = sys.stdout.buffer
    with EventLog.open(log, read_only=True) as opened:
        end = opened.end
        first = -SHOWN_EVENTS if first is None else first
        position = first if first >= 0 else max(opened.start, end + first)
        left = sys.maxsize if limit is None else limit
        while left > 0:
            for frame in opened.frames(position, min(end, position + left)):
                lines = frame.lines()
                if positions:
                    lines = [b'{"position":%d,"event":%b}' % at for at in enumerate(lines, frame.first)]
                out.write(b"\n".join(lines) + b"\n")
                left -= frame.n
                position = frame.end
            out.flush()
            if not follow or left <= 0:
                return
            while (end := opened.end) <= position:
                time.sleep(EVERY_S)


@command.command()
@click.argument("log")
@options.as_json
def stat(log: str, as_json: bool) -> None:
    """Say what there is to know about LOG: positions, sizes, who needs what."""
    from msgspec import to_builtins

    from tidings.log.store import EventLog

    with EventLog.open(log, read_only=True) as opened:
        told = to_builtins(opened.stat())
    if as_json:
        click.echo(json.dumps(told))
        return
    for name, value in told.items():
        if name.endswith("_ms") and value is not None:
            value = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value / 1000))
            name = {"oldest_ms": "oldest from", "newest_ms": "newest from"}[name]
        elif isinstance(value, int):
            value = f"{value:,}"
        for i, shown in enumerate(_shown(value)):
            click.echo(f"{'' if i else name.replace('_', ' '):12} {shown}")


@command.command(
    epilog="""\b
Examples:
  tidings log compact city.log
  tidings log compact city.log --older-than 30d --larger-than 20G

\b
Events that a consumer still needs are kept, and so is the newest frame."""
)
@click.argument("log")
@click.option(
    "--older-than", metavar="AGE", callback=_age, help="Forget events that were appended before: 90s, 12h, 7d."
)
@click.option(
    "--larger-than", metavar="SIZE", callback=_size, help="Forget the oldest beyond so many bytes: 500M, 10G."
)
@options.quiet
@options.as_json
def compact(log: str, older_than: int | None, larger_than: int | None, quiet: bool, as_json: bool) -> None:
    """Merge the small frames of LOG into large ones and give room back; forget old events when asked to."""
    from tidings.log.store import EventLog

    with Progress(quiet or as_json, steps=True) as progress, EventLog.open(log) as opened:
        gone = None
        if older_than is not None or larger_than is not None:
            progress("forgetting old events")
            max_age_ms = None if older_than is None else older_than * 1000
            gone = opened.retain(max_age_ms=max_age_ms, max_bytes=larger_than)
        progress("merging frames")
        done = opened.compact()
    if as_json:
        click.echo(json.dumps({**done._asdict(), "forgotten": 0 if gone is None else gone.n_events}))
    elif not quiet:
        if gone is not None:
            click.echo(f"{counted(gone.n_events, 'event')} forgotten, the oldest is {gone.start:,}", err=True)
        click.echo(
            f"{done.frames_before:,} frames to {done.frames:,}, {done.bytes_before:,} bytes to {done.bytes:,}", err=True
        )


@command.command()
@click.argument("log")
@options.quiet
@options.as_json
def verify(log: str, quiet: bool, as_json: bool) -> None:
    """Check every byte of LOG that matters, and name what is damaged. Status 2 when something is."""
    from tidings.log.verification import verify as problems_of

    with Progress(quiet or as_json) as progress:
        problems = problems_of(log, progress)
    if as_json:
        from msgspec import to_builtins

        click.echo(json.dumps({"log": log, "whole": not problems, "problems": to_builtins(problems)}))
        if problems:
            raise click.exceptions.Exit(2)
        return
    if problems:
        raise FileError(problems)
    if not quiet:
        click.echo("whole", err=True)


@command.command()
@click.argument("log")
@click.option("--to", "target", metavar="NEW", required=True, help="The new log, which must not exist yet.")
@options.quiet
@options.as_json
def repair(log: str, target: str, quiet: bool, as_json: bool) -> None:
    """Save what is whole of a damaged LOG to a new one; LOG itself is not changed.

    Events keep their positions. What is lost leaves a gap, which the new log remembers. Status 3 when something is.
    """
    from tidings.log.salvage import repair as saved

    with Progress(quiet or as_json) as progress:
        done = saved(log, target, progress)
    if as_json:
        click.echo(json.dumps({**done._asdict(), "lost": [one._asdict() for one in done.lost], "to": target}))
    elif not quiet:
        n_lost = sum(one.end - one.first for one in done.lost)
        click.echo(f"{counted(done.n_events, 'event')} saved to {target}, {n_lost:,} lost", err=True)
        for one in done.lost[:MAX_PROBLEMS]:
            click.echo(f"  positions {one.first} to {one.end - 1}: {one.why}", err=True)
        if len(done.lost) > MAX_PROBLEMS:
            click.echo(f"  and {len(done.lost) - MAX_PROBLEMS:,} more ranges; `tidings log stat` has all", err=True)
    if done.lost:
        raise click.exceptions.Exit(REJECTED)


class _Feed:
    """Groups on their way to a log, several at a time, and what came of them in order."""

    def __init__(self, log: "EventLog", rejects: BinaryIO | None) -> None:
        self.n_events = self.n_rejected = 0
        self.first = self.end = 0
        self._log, self._rejects = log, rejects
        self._sent: deque[tuple[Future[Appended], list[Given], list[Given]]] = deque()

    def send(self, group: "list[Given]") -> None:
        """Send a group, once there is room for one more on the way."""
        good = [given for given in group if not isinstance(given.event, InputError)]
        bad = [given for given in group if isinstance(given.event, InputError)]
        if bad and self._rejects is None:
            self.finish()
            self._raise([(given.position, given.event) for given in bad if isinstance(given.event, InputError)])
        events = [given.event for given in good if not isinstance(given.event, InputError)]
        self._sent.append((self._log.append_later(events, partial=self._rejects is not None), good, bad))
        if len(self._sent) >= IN_FLIGHT:
            self._hear()

    def finish(self) -> None:
        """Hear of all that is on the way."""
        while self._sent:
            self._hear()

    def _hear(self) -> None:
        from msgspec.structs import replace

        future, good, bad = self._sent.popleft()
        try:
            answer = future.result()
        except InputError as error:
            self._take_back()
            problems = [
                problem if problem.line is None else replace(problem, line=good[problem.line].position)
                for problem in error.problems
            ]
            raise InputError(problems, error.total) from None
        if answer.count:
            self.first = self.first if self.n_events else answer.first
            self.end = answer.first + answer.count
        self.n_events += answer.count
        refused = [(good[one.at], one.problems) for one in answer.rejected]
        refused += [(given, given.event.problems) for given in bad if isinstance(given.event, InputError)]
        for given, told in sorted(refused, key=lambda one: one[0].position):
            self._reject(given, told)

    def _take_back(self) -> None:
        """What was sent after a bad group cannot be called back; it is counted."""
        for future, _, _ in self._sent:
            if future.exception() is None:
                self.n_events += future.result().count
        self._sent.clear()

    def _reject(self, given: "Given", problems: tuple[Problem, ...]) -> None:
        import msgspec

        from tidings.log.wire import as_it_stood

        assert self._rejects is not None
        self.n_rejected += 1
        told = [msgspec.structs.replace(problem, line=given.position) for problem in problems]
        row = {"position": given.position, "event": as_it_stood(given.raw), "problems": told}
        self._rejects.write(msgspec.json.encode(row) + b"\n")

    def _raise(self, bad: list[tuple[int, InputError]]) -> None:
        from msgspec.structs import replace

        problems = [replace(problem, line=position) for position, error in bad for problem in error.problems]
        raise InputError(problems, sum(error.total for _, error in bad))


def _shown(value: object) -> list[str]:
    if isinstance(value, dict):
        return [f"{name} needs {position:,}" for name, position in value.items()] or ["nobody"]
    if isinstance(value, list):
        return [f"{first} to {end - 1}: {why}" for first, end, why in value] or ["nothing"]
    return ["none" if value is None else str(value)]


def _were(n: int) -> str:
    return "was" if n == 1 else "were"
