"""A chart of a report: how many messages each method answers in a second, and how the ratios stand."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidings.lab.report import Report, Row
from tidings.model.errors import FileError, InputError, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INDEX_COLOUR: Final = "#1f6f8b"
FLOOR_COLOUR: Final = "#c9ced6"
INK: Final = "#222831"
FAINT: Final = "#6b7280"
ROW_INCHES: Final = 0.52


SUFFIXES: Final = (".png", ".svg", ".pdf")


def check_chart(path: str | Path) -> None:
    """Say before the work begins that the picture cannot be drawn, if so."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(Problem("option-invalid", "--chart", str(path), f"a name that ends in {', '.join(SUFFIXES)}"))
    if not path.resolve().parent.is_dir():
        raise FileError(Problem("file-unreadable", str(path), "no such directory", "a directory that is there"))
    if find_spec("matplotlib") is None:
        hint = "it is among the development dependencies: run `make setup`, or leave --chart out"
        raise InputError(Problem("option-invalid", "--chart", "matplotlib is not installed", hint=hint))


def save_chart(report: Report, path: str | Path) -> None:
    """Write the chart as a picture; the suffix of the path says of which format."""
    check_chart(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 1.7 + ROW_INCHES * len(report.rows)), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw(axes, report)
    figure.suptitle(_title(report), x=0.012, ha="left", fontsize=13, fontweight="bold", color=INK)
    figure.supxlabel(_machine(report), x=0.012, ha="left", fontsize=7.5, color=FAINT)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise FileError(Problem("file-unreadable", str(path), str(error), "a path for a .png, .svg or .pdf")) from error


def _draw(axes: "Axes", report: Report) -> None:
    rows = report.rows
    places = range(len(rows))
    speeds = [row.messages_per_s for row in rows]
    colours = [FLOOR_COLOUR if row.role == "floor" else INDEX_COLOUR for row in rows]
    axes.barh(places, speeds, color=colours, height=0.64)
    for place, row in zip(places, rows, strict=True):
        axes.text(row.messages_per_s, place, f"  {_label(row, report)}", va="center", fontsize=8.5, color=INK)
    axes.set_yticks(places, [row.name for row in rows], fontsize=9.5, color=INK)
    axes.invert_yaxis()
    axes.set_xlim(0.0, max(speeds) * 1.7)
    axes.xaxis.set_major_formatter(lambda value, _: _short(value))
    axes.set_xlabel("messages a second, in batches, ids as strings out", fontsize=9, color=FAINT)
    axes.tick_params(axis="x", labelsize=8.5, colors=FAINT)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)


def _label(row: Row, report: Report) -> str:
    """The row's speed, and how it stands to what it is to be compared with."""
    compared = [
        f"{value:.3g}x {other}"
        for name, _, other, value in ((*key.partition("/"), value) for key, value in report.ratios.items())
        if name == row.name and ":" not in name
    ]
    return "   ".join([_short(row.messages_per_s), *compared])


def _short(value: float) -> str:
    if value >= 999_500:
        return f"{value / 1e6:.3g} M"
    return f"{value / 1e3:.3g} k" if value >= 1_000 else f"{value:.3g}"


def _title(report: Report) -> str:
    first = report.rows[0]
    return f"within: {first.subscriptions:,} subscriptions, {first.matches_per_message:.1f} matches a message"


def _machine(report: Report) -> str:
    machine = report.machine
    return f"one core of {machine.cpu}, {machine.system}, Python {machine.python}, seed {report.seed}"
