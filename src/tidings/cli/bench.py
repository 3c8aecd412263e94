"""`tidings bench`: measure methods against floors."""

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
