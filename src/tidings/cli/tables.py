"""The report of a benchmark as a table on a terminal."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidings.lab.report import Report, Row

if TYPE_CHECKING:
    from tidings.lab.bench_pipeline import PipelineReport

_COLUMNS: Final[tuple[tuple[str, Callable[[Row], str]], ...]] = (
    ("messages/s", lambda row: f"{row.messages_per_s:,.0f}"),
    ("µs/message", lambda row: f"{1e6 / row.messages_per_s:,.2f}"),
    ("p50 µs", lambda row: _number(row.p50_us, 1)),
    ("p99 µs", lambda row: _number(row.p99_us, 1)),
    ("bytes/sub", lambda row: _number(row.bytes_per_subscription, 0)),
    ("build s", lambda row: _number(row.build_s, 2)),
    ("matches/message", lambda row: f"{row.matches_per_message:.2f}"),
)


def print_report(report: Report) -> None:
    """Print the rows, the ratios, and what they were measured on."""
    console = Console(highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("name", style="cyan", no_wrap=True)
    for name, _ in _COLUMNS:
        table.add_column(name, justify="right")
    for row in report.rows:
        style = "dim" if row.role == "floor" else None
        table.add_row(Text(row.name), *(cell(row) for _, cell in _COLUMNS), style=style)
    console.print(table)
    for row in report.rows:
        if row.inserts_per_s is not None and row.deletes_per_s is not None:
            told = f"{row.name}: {row.inserts_per_s:,.0f} inserts/s, {row.deletes_per_s:,.0f} deletes/s"
            console.print(Text(told))
    ratios = Table(box=None, show_header=False, pad_edge=False)
    for name, value in report.ratios.items():
        ratios.add_row(Text(name), Text(f"{value:,.2f} x", "bold"))
    console.print()
    console.print(ratios)
    machine, n_subscriptions = report.machine, report.rows[0].subscriptions
    console.print(
        f"\n{n_subscriptions:,} subscriptions, seed {report.seed}, {machine.cpu}, Python {machine.python}", style="dim"
    )


def print_aims(report: "PipelineReport") -> None:
    """Print what was aimed at beside what was measured, and where the time of a batch goes."""
    console = Console(highlight=False)
    aims = Table(box=None, show_header=False, pad_edge=False)
    for one in report.aims:
        verdict = Text("met", "green") if one.met else Text("missed", "red")
        aims.add_row(Text(one.figure, "cyan"), Text(f"{one.value:,.4g}", "bold"), Text(one.aim, "dim"), verdict)
    console.print()
    console.print(aims)
    if report.throughput is not None:
        told = msgspec.to_builtins(report.throughput.phases)
        parts = [f"{name} {value:,.0f}" for name, value in told.items() if name != "spark"]
        console.print(Text(f"\nms of a batch: {', '.join(parts)}", "dim"))


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
