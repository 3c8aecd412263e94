"""`tidings pipeline`: match a log's events on Spark, and deliver."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec.structs import replace

from tidings.cli import options
from tidings.cli.terminal import counted, lasted
from tidings.model.errors import InputError, Problem

if TYPE_CHECKING:
    from tidings.spark.metrics import BatchReport
    from tidings.spark.settings import PipelineSettings

DEFAULT_MASTER: Final = "local[*]"


def placed(function: options.Function) -> options.Function:
    """The options that say which pipeline is meant."""
    for option in (
        click.option("--to", "sink", metavar="SINK", default="deliveries", show_default=True, help="See below."),
        click.option(
            "--state", metavar="DIR", default="", help="Deliveries and snapshots; beside the log when absent."
        ),
        click.option("--shards", metavar="N", type=int, help="How many; one per core when absent."),
        click.option("--plan", metavar="NAME", default="hash", show_default=True, help="How they are spread."),
        click.option("--master", default=DEFAULT_MASTER, show_default=True, help="Spark's master."),
        click.option("--log", "log", metavar="LOG", help="A log, or kafka://host:port/topic."),
    ):
        function = option(function)
    return function


@click.group(
    invoke_without_command=True,
    epilog="""\b
Examples:
  tidings pipeline --log city.log
  tidings pipeline --log city.log --master 'local[2]' --shards 4 --watch
  tidings pipeline --log city.log --once --json
  tidings pipeline --log city.log --to parquet:out
  tidings pipeline --log kafka://127.0.0.1:9092/events --state state --to kafka

\b
SINK is where deltas go:
  deliveries        the state folder; `tidings deliveries` reads them (this is always done)
  parquet[:DIR]     the deliveries are Parquet files
  kafka[://…/TOPIC] also published to TOPIC-deliveries, each delta once
Stopped by Ctrl-C or SIGTERM it finishes the batch that is running. It goes on where it stopped.""",
)
@placed
@options.methods
@click.option("--once", is_flag=True, help="Stop at the end that the log has now.")
@click.option("--for", "seconds", metavar="SECONDS", type=float, help="Stop after so long.")
@click.option("--batch-events", metavar="N", type=int, default=50_000, show_default=True, help="The most of a batch.")
@click.option("--batch-bytes", metavar="N", type=int, default=64 << 20, show_default=True, help="The most of a batch.")
@click.option("--batch-seconds", metavar="S", type=float, default=1.0, show_default=True, help="What a batch may take.")
@click.option("--tries", metavar="N", type=int, default=3, show_default=True, help="Of a batch that fails.")
@click.option(
    "--snapshot-events", metavar="N", type=int, default=2_000_000, show_default=True, help="Between snapshots."
)
@click.option("--local", metavar="DIR", help="Where shard files are; a fast disk of this machine.")
@click.option("--metrics", "port", metavar="PORT", type=int, help="Answer http://127.0.0.1:PORT/metrics.")
@click.option("--watch", is_flag=True, help="Show a live view.")
@click.option("--conf", "confs", metavar="KEY=VALUE", multiple=True, help="A setting of Spark.")
@options.quiet
@options.as_json
def command(
    log: str | None,
    master: str,
    plan: str,
    shards: int | None,
    state: str,
    sink: str,
    once: bool,
    seconds: float | None,
    batch_events: int,
    batch_bytes: int,
    batch_seconds: float,
    tries: int,
    snapshot_events: int,
    local: str | None,
    port: int | None,
    watch: bool,
    confs: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **given: str | None,
) -> None:
    """Match the events of a log on Spark and deliver what each subscription gets.

    Exactly once, in the order of the log, whatever dies meanwhile: `tidings pipeline --log LOG` again goes on.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    settings = settings_of(
        log,
        state,
        sink,
        plan,
        shards,
        master,
        given,
        max_events=batch_events,
        max_bytes=batch_bytes,
        target_s=batch_seconds,
        tries=tries,
        snapshot_events=snapshot_events,
        local=local,
    )
    _run(settings, master, sink, once, seconds, port, watch, confs, quiet, as_json)


@command.command(
    epilog="""\b
Examples:
  tidings pipeline redrive --log city.log
  tidings pipeline redrive --log city.log 1204 1377"""
)
@click.argument("positions", metavar="[POSITION]…", type=int, nargs=-1)
@click.option("--log", "log", metavar="LOG", required=True, help="The log.")
@click.option("--state", metavar="DIR", default="", help="The state of the pipeline; beside the log when absent.")
@options.as_json
def redrive(positions: tuple[int, ...], log: str, state: str, as_json: bool) -> None:
    """Give events that were set aside to the log again, once what made the matcher fail is gone.

    All that were not given again yet, or those at these positions. Each is appended at most once.
    """
    from tidings.spark.redriving import redriven

    done = redriven(log, state or f"{log}.state", positions)
    if as_json:
        click.echo(json.dumps([one._asdict() for one in done]))
        return
    for one in done:
        click.echo(f"{one.position} -> {one.again}  {one.code}: {one.reason}")
    click.echo(f"{counted(len(done), 'event')} given to the log again", err=True)


def settings_of(
    log: str | None,
    state: str,
    sink: str,
    plan: str,
    shards: int | None,
    master: str,
    given: dict[str, str | None],
    **more: Any,
) -> "PipelineSettings":
    """The settings of the options that say which pipeline is meant."""
    from tidings.spark.launch import cores_of
    from tidings.spark.settings import DEFAULT_METHODS, PipelineSettings
    from tidings.spread.base import plan_of

    if log is None:
        raise InputError(Problem("option-invalid", "--log", expected="a log, or kafka://host:port/topic"))
    if log.startswith("kafka://") and not state:
        raise InputError(Problem("option-invalid", "--state", expected="a folder or a URI, for a topic has none"))
    settings = PipelineSettings(
        log=log,
        state=state,
        plan=plan,
        shards=cores_of(master) if shards is None else shards,
        methods=DEFAULT_METHODS | options.chosen(given),
        **more,
    )
    plan_of(plan, settings.checked().shards)
    return sunk(settings, sink)


def sunk(settings: "PipelineSettings", sink: str) -> "PipelineSettings":
    """The settings with the store that a sink asks for."""
    kind, _, place = sink.partition(":")
    if kind == "parquet":
        return replace(settings, store="parquet", state=place or settings.state)
    if kind not in ("deliveries", "kafka"):
        raise InputError(
            Problem("option-invalid", "--to", sink, "deliveries, parquet[:DIR] or kafka[://host:port/topic]")
        )
    return settings


def _relay_to(log: str, sink: str) -> str | None:
    kind, _, place = sink.partition(":")
    if kind != "kafka":
        return None
    # The address of a topic has colons itself, and may stand alone.
    address = sink if place.startswith("//") else place or log
    if not address.startswith("kafka://"):
        hint = "name the topic: --to kafka://host:port/topic"
        raise InputError(Problem("option-invalid", "--to", sink, "an address of Kafka", hint))
    return address


def _run(
    settings: "PipelineSettings",
    master: str,
    sink: str,
    once: bool,
    seconds: float | None,
    port: int | None,
    watch: bool,
    confs: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> None:
    from tidings.cli.watching import Watch
    from tidings.spark.metrics import Metrics
    from tidings.spark.metrics_server import MetricsServer
    from tidings.spark.running import running

    metrics = Metrics()
    stopping = threading.Event()
    with ExitStack() as stack:
        stack.enter_context(_stops_on_signals(stopping))
        if port is not None:
            server = stack.enter_context(MetricsServer(metrics, port))
            if not quiet:
                click.echo(f"metrics at http://127.0.0.1:{server.port}/metrics", err=True)
        view = stack.enter_context(Watch(metrics, settings)) if watch and not as_json else None
        told = _lines(quiet or as_json or view is not None)
        done = running(
            settings,
            master,
            metrics=metrics,
            stopping=stopping,
            once=once,
            seconds=seconds,
            conf=_conf(confs),
            on_commit=told,
            relay_to=_relay_to(settings.log, sink),
        )
    if as_json:
        click.echo(json.dumps(done))
    elif not quiet:
        parts = [counted(done["events"], "event"), counted(done["deltas"], "delta"), lasted(done["seconds"])]
        click.echo(f"{', '.join(parts)}; all before position {done['position']:,} is delivered", err=True)


def _conf(given: tuple[str, ...]) -> dict[str, str]:
    problems = [Problem("option-invalid", "--conf", text, "KEY=VALUE") for text in given if "=" not in text]
    if problems:
        raise InputError(problems)
    return dict(text.split("=", 1) for text in given)


@contextmanager
def _stops_on_signals(stopping: threading.Event) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM lets the batch finish; the second one ends at once."""

    def stop(number: int, frame: Any) -> None:
        if stopping.is_set():
            os._exit(128 + number)
        stopping.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _lines(quiet: bool):  # type: ignore[no-untyped-def]
    def told(report: "BatchReport") -> None:
        if quiet:
            return
        rate = report.events / report.seconds if report.seconds else 0.0
        more = "".join(f"; rebuilt shard {reason}" for reason in report.rebuilt)
        click.echo(
            f"{report.end:>12,}  {report.events:>8,} events  {report.deltas:>10,} deltas  "
            f"{report.seconds:6.2f} s  {rate:>10,.0f} events/s{more}",
            err=True,
        )

    return told
