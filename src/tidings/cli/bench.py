"""`tidings bench`: measure methods, the log and the pipeline against floors."""

import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from tidings.cli import options
from tidings.cli.terminal import Progress

SMALL: Final = {"subscriptions": 50_000, "messages": 10_000}
ALL: Final = 1.0

Function = TypeVar("Function", bound=Callable[..., Any])


def _share(name: str, what: str) -> Callable[[Function], Function]:
    """An option that takes a share, or all when none is said."""
    field = {"--or": "or_share", "--not": "not_share"}.get(name, name[2:])
    return click.option(
        name,
        field,
        metavar="[SHARE]",
        type=float,
        default=0.0,
        is_flag=False,
        flag_value=ALL,
        help=f"{what}; all when no SHARE is said.",
    )


def _names(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in value.split(",") if name.strip())


def _is_default(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.DEFAULT


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Measure methods against floors, side by side in one run."""


@command.command(
    epilog="""\b
Examples:
  tidings bench within --small
  tidings bench within --subscriptions 1000000 --within pyramid --json
  tidings bench within --within pyramid,brute --messages 20000
  tidings bench within --or 0.5 --not 0.5 --polygons --boxes --churn
  tidings bench within --data posts.parquet --chart posts.png

\b
The ratios are what counts: all is measured in one run, on one core, with the seed that is told."""
)
@click.option("--subscriptions", metavar="N", type=int, default=100_000, show_default=True, help="How many there are.")
@click.option("--messages", metavar="M", type=int, default=100_000, show_default=True, help="How many are matched.")
@click.option(
    "--within",
    "methods",
    metavar="NAME[,NAME…]",
    default="pyramid",
    show_default=True,
    callback=_names,
    help="The indexes.",
)
@click.option(
    "--floor",
    "floors",
    metavar="NAME[,NAME…]",
    default="python-dict",
    show_default=True,
    callback=_names,
    help="The floors.",
)
@click.option("--words-law", metavar="LAW", default="zipf:1", show_default=True, help="zipf:S or uniform.")
@click.option("--vocabulary", metavar="N", type=int, default=20_000, show_default=True, help="Words that there are.")
@_share("--or", "Variant: subscriptions with two or three clauses")
@_share("--not", "Variant: subscriptions that exclude words")
@_share("--polygons", "Variant: regions of 50 vertices")
@_share("--boxes", "Variant: messages that are boxes")
@click.option("--churn", is_flag=True, help="Exchange half of the subscriptions, and compare with a fresh index.")
@click.option("--growth", is_flag=True, help="Compare with ten times as many subscriptions at equal matches.")
@click.option("--equal-matches", is_flag=True, help="Smaller regions, the more subscriptions there are.")
@click.option(
    "--data", metavar="FILE", help="A Parquet file with the columns lon, lat, keywords, or a directory of them."
)
@click.option("--seed", metavar="N", type=int, default=1, show_default=True, help="Of everything that is drawn.")
@click.option(
    "--repetitions",
    metavar="N",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="Passes; the median counts.",
)
@click.option("--small", is_flag=True, help="A small form that is done in seconds.")
@click.option("--chart", metavar="FILE", help="Draw the rows as a picture, PNG or SVG by suffix.")
@options.as_json
@click.pass_context
def within(ctx: click.Context, /, methods: tuple[str, ...], as_json: bool, chart: str | None, **given: Any) -> None:
    """Measure indexes of `within` against floors of plain Python.

    By default 100,000 boxes in a unit square with one to three words in AND, and 100,000 point messages. A table on a
    terminal, else JSON.
    """
    from tidings.lab.bench_within import WithinBench, bench_within
    from tidings.lab.workloads import WithinWorkload

    if chart is not None:
        from tidings.lab.chart import check_chart

        check_chart(chart)
    if given.pop("small"):
        given |= {name: value for name, value in SMALL.items() if _is_default(ctx, name)}
        given["repetitions"] = min(given["repetitions"], 3)
    bench = {name: given.pop(name) for name in ("floors", "churn", "growth", "repetitions")}
    with Progress(as_json, steps=True) as progress:
        report = bench_within(WithinBench(workload=WithinWorkload(**given), **bench), methods, progress)
    if chart is not None:
        from tidings.lab.chart import save_chart

        save_chart(report, chart)
    if as_json or not sys.stdout.isatty():
        click.echo(report.to_json().decode())
        return
    from tidings.cli.tables import print_report

    print_report(report)


SMALL_PIPELINE: Final = {
    "subscriptions": 5_000,
    "messages": 60_000,
    "batch": 5_000,
    "floor_subscriptions": 5_000,
    "rate": 2_000,
    "seconds": 5.0,
    "singles": 10,
    "memory_subscriptions": 2_000,
    "memory_events": 200_000,
    "scaling_subscriptions": (2_000, 5_000),
    "scaling_shards": (1, 2, 4),
    "scaling_messages": 40_000,
}


def _numbers(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    names = _names(ctx, param, value)
    if not all(name.replace("_", "").isdigit() for name in names):
        raise click.BadParameter("whole numbers with commas between them")
    return tuple(map(int, names))


def _count(name: str, default: int, what: str) -> Callable[[Function], Function]:
    """An option that takes how many."""
    return click.option(name, metavar="N", type=click.IntRange(1), default=default, show_default=True, help=what)


@command.command(
    epilog="""\b
Examples:
  tidings bench pipeline --small
  tidings bench pipeline --json > pipeline.json
  tidings bench pipeline --parts throughput,fixed --subscriptions 100000
  tidings bench pipeline --parts scaling --charts docs/measured --folder bench
  tidings bench pipeline --parts memory --memory-events 2000000

\b
PART is one of:
  throughput  messages a second with a lag, and where the time of a batch goes
  floor       the same with fewer subscriptions, beside a SQL join in the same Spark
  fixed       what a batch of one event costs
  latency     from append to commit at a steady rate; new subscriptions meanwhile
  restart     from the start of the process to the first delivery, after a stop and after a kill
  memory      of driver, Java and workers over many events
  scaling     masters, shards, subscriptions
All but floor, memory and scaling go on with one state."""
)
@click.option(
    "--parts",
    metavar="PART[,PART…]",
    default="throughput,floor,fixed,latency,restart,memory,scaling",
    show_default=True,
    callback=_names,
    help="What to measure.",
)
@_count("--subscriptions", 1_000_000, "How many there are.")
@_count("--messages", 1_000_000, "How many are run through.")
@_count("--batch", 50_000, "Events of a batch.")
@click.option("--master", default="local[2]", show_default=True, help="Spark's master.")
@_count("--shards", 2, "How many.")
@click.option("--within", "method", metavar="NAME", default="pyramid", show_default=True, help="The index.")
@_count("--floor-subscriptions", 100_000, "Of the floor, and of the pipeline beside it.")
@_count("--rate", 10_000, "Messages a second where latency is measured.")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="For so long.")
@_count("--singles", 50, "Batches of one event.")
@_count("--memory-subscriptions", 10_000, "Where memory is measured.")
@_count("--memory-events", 10_000_000, "So many messages then.")
@click.option("--scaling-masters", default="local[1],local[2]", show_default=True, callback=_names, help="Compared.")
@click.option("--scaling-shards", default="1,2,4,8,16", show_default=True, callback=_numbers, help="Compared.")
@click.option(
    "--scaling-subscriptions",
    default="10000,100000,1000000,4000000",
    show_default=True,
    callback=_numbers,
    help="Compared.",
)
@_count("--scaling-messages", 500_000, "How many are run through, each time.")
@click.option("--seed", metavar="N", type=int, default=1, show_default=True, help="Of everything that is drawn.")
@click.option("--folder", metavar="DIR", help="Keep logs there, and take those that are there.")
@click.option("--small", is_flag=True, help="A small form that is done in minutes.")
@click.option("--charts", metavar="DIR", help="Draw pictures of memory and scaling into this folder.")
@options.as_json
@click.pass_context
def pipeline(ctx: click.Context, /, as_json: bool, small: bool, charts: str | None, **given: Any) -> None:
    """Measure the pipeline end to end: from a log through Spark to committed deliveries.

    By default everything at full size, which takes an hour and 10 GB of disk. A table on a terminal, else JSON.
    """
    from tidings.lab.bench_pipeline import PipelineBench, bench_pipeline

    if charts is not None:
        from tidings.lab.pipeline_charts import check_charts

        check_charts(charts)
    if small:
        given |= {name: value for name, value in SMALL_PIPELINE.items() if _is_default(ctx, name)}
    with Progress(as_json, steps=True) as progress:
        report = bench_pipeline(PipelineBench(**given), progress)
    if charts is not None:
        from tidings.lab.pipeline_charts import save_charts

        save_charts(report, charts)
    if as_json or not sys.stdout.isatty():
        click.echo(report.to_json().decode())
        return
    from tidings.cli.tables import print_aims, print_report

    if report.rows:
        print_report(report)
    print_aims(report)


@command.command(
    epilog="""\b
Examples:
  tidings bench log
  tidings bench log --messages 20000 --group 50 --json
  tidings bench log --folder data"""
)
@_count("--messages", 100_000, "Of one pass.")
@_count("--group", 200, "Events that are appended together.")
@click.option(
    "--repetitions", metavar="N", type=click.IntRange(1, 100), default=5, show_default=True, help="The median counts."
)
@click.option("--seed", metavar="N", type=int, default=1, show_default=True, help="Of everything that is drawn.")
@click.option("--folder", metavar="DIR", help="On which disk; a temporary folder when absent.")
@options.as_json
def log(as_json: bool, **given: Any) -> None:
    """Measure appending to a log against bare rows in SQLite, in the same run.

    Both are committed with `synchronous=FULL`. A table on a terminal, else JSON.
    """
    from tidings.lab.bench_log import LogBench, bench_log

    with Progress(as_json, steps=True) as progress:
        report = bench_log(LogBench(**given), progress)
    if as_json or not sys.stdout.isatty():
        click.echo(report.to_json().decode())
        return
    from tidings.cli.tables import print_report

    print_report(report)
