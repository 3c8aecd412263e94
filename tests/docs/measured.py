"""The tables of measured figures, made from the reports in `docs/measured`.

They stand between two marks in their pages, so that a figure is never older than its report.
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from tests.docs.pages import ROOT
from tidings.lab.report import Report

FOLDER: Final = ROOT / "docs" / "measured"
PAGES: Final = (ROOT / "README.md", ROOT / "docs" / "concepts" / "performance.md")
PIPELINE: Final = ("throughput", "latency", "memory")
"""Parts of the benchmark of the pipeline, each with a report."""
HARDER: Final = {
    "or": "two or three alternatives in each expression",
    "not": "excluded words in each expression",
    "polygons": "polygons of 50 vertices for boxes",
    "boxes": "messages that are boxes",
    "x10": "ten times as many subscriptions",
}
"""What each variant of the workload is, in words."""
_MARKED: Final = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def report(subscriptions: int) -> Report:
    """The report of a run with so many subscriptions."""
    return msgspec.json.decode((FOLDER / f"within-{subscriptions}.json").read_bytes(), type=Report)


def floor_table() -> str:
    """How many times faster than the floor, for each size."""
    lines = ["| subscriptions | matches a message | `pyramid` / `python-dict` |", "|---|---|---|"]
    for size in (100_000, 1_000_000):
        found = report(size)
        matches = found.row("pyramid").matches_per_message
        lines.append(f"| {size:,} | {matches:.1f} | **{found.ratios['pyramid/python-dict']:.1f}** |")
    return "\n".join(lines) + "\n"


def harder_table() -> str:
    """What is left of the speed on harder workloads at equal matches."""
    ratios = report(100_000).ratios
    lines = ["| harder by | speed, as a share of the plain one |", "|---|---|"]
    lines += [f"| {what} | {ratios[f'pyramid[{name}]/pyramid']:.2f} |" for name, what in HARDER.items()]
    churned = ratios["pyramid[churned]/pyramid[fresh]"]
    lines.append(f"| half of the subscriptions exchanged, against a fresh index of the same | {churned:.2f} |")
    return "\n".join(lines) + "\n"


def pipeline_table() -> str:
    """The figures of the pipeline, each with what it should be."""
    lines = ["| figure | measured | aim |", "|---|---|---|"]
    for part in PIPELINE:
        found = msgspec.json.decode((FOLDER / f"pipeline-{part}.json").read_bytes())
        for aim in found["aims"]:
            value = f"{aim['value']:,.0f}" if aim["value"] >= 100 else f"{aim['value']:.3g}"
            lines.append(f"| {aim['figure']} | **{value}** | {aim['aim']} |")
    return "\n".join(lines) + "\n"


def pipeline_summary() -> str:
    """The two figures that say most."""
    whole = msgspec.json.decode((FOLDER / "pipeline-throughput.json").read_bytes())["throughput"]
    steady = msgspec.json.decode((FOLDER / "pipeline-latency.json").read_bytes())["latency"]
    rate, deltas, n = whole["messages_per_s"], whole["deltas_per_s"] / 1e6, whole["subscriptions"]
    each, p50, p99 = steady["messages_per_s"], steady["from_call"]["p50_ms"], steady["from_call"]["p99_ms"]
    return (
        f"The pipeline takes {rate:,.0f} messages a second over {n:,} subscriptions on two cores, each of its\n"
        f"{deltas:.1f} million deltas a second durable and delivered once. At {each:,.0f} a second, half\n"
        f"are delivered {p50:.0f} ms after they were appended, and 99 of 100 after {p99:.0f} ms.\n"
    )


def pipeline_floor_table() -> str:
    """A pipeline against a join in SQL."""
    found = msgspec.json.decode((FOLDER / "pipeline-throughput.json").read_bytes())
    names = {
        "pipeline[100000]/spark-sql": "100,000 subscriptions, both",
        "pipeline/spark-sql": "1,000,000 of the pipeline, 100,000 of the join",
    }
    lines = ["| | pipeline / SQL join |", "|---|---|"]
    lines += [f"| {what} | **{found['ratios'][name]:.1f}** |" for name, what in names.items()]
    return "\n".join(lines) + "\n"


def size_table() -> str:
    """Memory and time to build."""
    lines = [
        "| subscriptions | bytes each, all arrays | bytes each, growth of the process | build |",
        "|---|---|---|---|",
    ]
    for size in (100_000, 1_000_000):
        row = report(size).row("pyramid")
        lines.append(
            f"| {size:,} | {row.bytes_per_subscription:.0f} | {row.resident_bytes_per_subscription:.0f} "
            f"| {row.build_s:.1f} s |"
        )
    return "\n".join(lines) + "\n"


def machine_line() -> str:
    """Where it was measured."""
    machine = report(100_000).machine
    packages = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    where = f"{machine.cores} cores ({machine.cpu}), {machine.system}"
    return f"Measured on {where}, Python {machine.python}, {packages}.\n"


TABLES: Final = {
    "floor": floor_table,
    "harder": harder_table,
    "size": size_table,
    "machine": machine_line,
    "pipeline": pipeline_table,
    "join": pipeline_floor_table,
    "summary": pipeline_summary,
}


def with_figures(page: Path) -> str:
    """A page with its figures as the reports have them."""
    return _MARKED.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], page.read_text(encoding="utf-8"))
