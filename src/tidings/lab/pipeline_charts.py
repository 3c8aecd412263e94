"""Pictures of a pipeline's report: how it scales, and what its processes hold in memory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidings.lab.bench_pipeline import PipelineReport
from tidings.lab.chart import FAINT, FLOOR_COLOUR, INDEX_COLOUR, INK, check_chart
from tidings.lab.pipeline_memory import Memory
from tidings.lab.pipeline_processes import KINDS
from tidings.lab.pipeline_throughput import Throughput
from tidings.model.errors import FileError, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OTHER_COLOUR: Final = "#d97706"
COLOURS: Final = (FLOOR_COLOUR, INDEX_COLOUR, OTHER_COLOUR, INK)
KIND_COLOURS: Final = dict(zip(KINDS, (INDEX_COLOUR, OTHER_COLOUR, FAINT), strict=True))
KIND_NAMES: Final = {"driver": "driver, Python", "java": "Java", "workers": "workers, Python"}
SUFFIX: Final = ".png"


def check_charts(folder: str | Path) -> None:
    """Say before the work begins that no pictures can be drawn, if so."""
    check_chart(Path(folder, f"chart{SUFFIX}"))


def save_charts(report: PipelineReport, folder: str | Path) -> list[Path]:
    """Write the pictures of what was measured; their paths."""
    drawn = []
    for name, wanted, draw in (
        ("pipeline-memory", report.memory is not None, _draw_memory),
        ("pipeline-scaling", bool(report.scaling), _draw_scaling),
    ):
        if wanted:
            path = Path(folder, f"{name}{SUFFIX}")
            _save(report, path, draw)
            drawn.append(path)
    return drawn


def _save(report: PipelineReport, path: Path, draw: "Callable[[Figure, PipelineReport], str]") -> None:
    check_chart(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.4), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    title = draw(figure, report)
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold", color=INK)
    machine = report.machine
    where = f"{machine.cores} cores of {machine.cpu}, {machine.system}, Python {machine.python}, seed {report.seed}"
    figure.supxlabel(where, x=0.012, ha="left", fontsize=7.5, color=FAINT)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise FileError(Problem("file-unreadable", str(path), str(error), "a path for a picture")) from error


def _plain(axes: "Axes", *, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=9, color=FAINT)
    axes.set_ylabel(y, fontsize=9, color=FAINT)
    axes.tick_params(labelsize=8.5, colors=FAINT, length=0)
    axes.grid(color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.set_ylim(bottom=0.0)


def _draw_memory(figure: "Figure", report: PipelineReport) -> str:
    memory = report.memory
    assert memory is not None
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.0, 1.0))
    events = [sample.events / 1e6 for sample in memory.samples]
    for kind in KINDS:
        resident = [sample.resident_mb.get(kind, 0.0) for sample in memory.samples]
        slope = memory.slope_mb_per_million.get(kind)
        more = "" if slope is None else f": {slope:+.2f} MB per million events"
        above.plot(events, resident, color=KIND_COLOURS[kind], linewidth=1.8, label=KIND_NAMES[kind] + more)
    _plain(above, x="", y="resident memory, MB")
    above.legend(frameon=False, fontsize=8.5, labelcolor=INK)
    below.plot(events[1:], _rates(memory), color=INDEX_COLOUR, linewidth=1.4)
    _plain(below, x="million events delivered", y="thousand events/s")
    return f"memory over {memory.events / 1e6:g} million events, {memory.subscriptions:,} subscriptions"


def _rates(memory: Memory) -> list[float]:
    """Thousands of events a second, over the ten samples before each."""
    samples = memory.samples
    rates = []
    for i in range(1, len(samples)):
        before, now = samples[max(0, i - 10)], samples[i]
        rates.append((now.events - before.events) / (now.at_s - before.at_s) / 1e3)
    return rates


def _draw_scaling(figure: "Figure", report: PipelineReport) -> str:
    left, right = figure.subplots(1, 2, sharey=True)
    measured = report.scaling
    main = max(measured, key=lambda one: sum(_alike(one, other) for other in measured))
    sizes = sorted({one.subscriptions for one in measured})
    masters = sorted({one.master for one in measured})
    for master, colour in zip(masters, COLOURS, strict=False):
        chosen = [one for one in measured if one.master == master and one.shards == _usual(measured)]
        _line(left, [(one.subscriptions, one.messages_per_s) for one in chosen], master, colour)
    _plain(left, x="subscriptions", y="thousand messages/s")
    left.set_xscale("log")
    left.set_xticks(sizes, [_short(size) for size in sizes])
    left.minorticks_off()
    left.legend(frameon=False, fontsize=9, labelcolor=INK)
    chosen = [one for one in measured if _alike(main, one)]
    _line(right, [(one.shards, one.messages_per_s) for one in chosen], main.master, INDEX_COLOUR)
    _plain(right, x=f"shards, {_short(main.subscriptions)} subscriptions, {main.master}", y="")
    right.set_xscale("log", base=2)
    counts = sorted({one.shards for one in chosen})
    right.set_xticks(counts, [str(count) for count in counts])
    right.minorticks_off()
    left.set_title(f"{_usual(measured)} shards", fontsize=10, color=INK, loc="left")
    right.set_title("by shards", fontsize=10, color=INK, loc="left")
    return f"messages a second, in batches of {main.batch:,}, from the log to committed deliveries"


def _alike(one: Throughput, other: Throughput) -> bool:
    return (one.subscriptions, one.master) == (other.subscriptions, other.master)


def _usual(measured: Sequence[Throughput]) -> int:
    """The number of shards that most were measured with."""
    counts = [one.shards for one in measured]
    return max(counts, key=counts.count)


def _line(axes: "Axes", points: list[tuple[int, float]], label: str, colour: str) -> None:
    points = sorted(points)
    values = [value / 1e3 for _, value in points]
    axes.plot([x for x, _ in points], values, color=colour, linewidth=2.0, marker="o", markersize=5, label=label)
    for (x, _), value in zip(points, values, strict=True):
        axes.annotate(
            f"{value:.3g}", (x, value), textcoords="offset points", xytext=(0, 7), ha="center", fontsize=8, color=INK
        )


def _short(value: int) -> str:
    return f"{value / 1e6:g} M" if value >= 1_000_000 else f"{value / 1e3:g} k"
