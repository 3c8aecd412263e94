"""The report of a benchmark as a picture."""

from pathlib import Path
from typing import Final

from tidings.lab.report import Report
from tidings.model.errors import FileError, InputError, Problem

SUFFIXES: Final = (".png", ".svg", ".pdf")
_COLOURS: Final = {"index": "#1f6f8b", "floor": "#b8b8b8"}


def check_chart(path: str) -> None:
    """Say before the work begins that the picture cannot be drawn, if so."""
    from importlib.util import find_spec

    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(Problem("option-invalid", "--chart", path, f"a name that ends in {', '.join(SUFFIXES)}"))
    if not Path(path).resolve().parent.is_dir():
        raise FileError(Problem("file-unreadable", path, "no such directory", "a directory that is there"))
    if find_spec("matplotlib") is None:
        hint = "install matplotlib, or leave --chart out"
        raise InputError(Problem("option-invalid", "--chart", path, "matplotlib, which is not installed", hint))


def draw(report: Report, path: str) -> None:
    """Draw one bar a row: how many messages a second."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = list(reversed(report.rows))
    figure, axes = pyplot.subplots(figsize=(9, 1.4 + 0.45 * len(rows)), layout="constrained")
    speeds = [row.messages_per_s for row in rows]
    bars = axes.barh([row.name for row in rows], speeds, color=[_COLOURS[row.role] for row in rows])
    axes.bar_label(bars, [f"{speed:,.0f}" for speed in speeds], padding=4, fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(min(speeds) / 3, max(speeds) * 4)
    axes.set_xlabel("messages a second (logarithmic)")
    axes.set_title(
        f"within, {report.rows[0].subscriptions:,} subscriptions, seed {report.seed}", loc="left", fontsize=11
    )
    axes.text(1, 1.02, report.machine.cpu, transform=axes.transAxes, ha="right", fontsize=8, color="#777777")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise FileError(Problem("file-unreadable", path, error.strerror or str(error), "a file to write")) from None
    finally:
        pyplot.close(figure)
