"""The live view of a pipeline: `tidings pipeline --watch`."""

import threading
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from tidings.spark.metrics import Metrics
    from tidings.spark.settings import PipelineSettings

EVERY_S: Final = 0.5
_BARS: Final = " ▁▂▃▄▅▆▇█"


class Watch:
    """Draws the metrics anew while it is open."""

    def __init__(self, metrics: "Metrics", settings: "PipelineSettings") -> None:
        self._metrics = metrics
        self._settings = settings
        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=False)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="tidings-watch", daemon=True)

    def __enter__(self) -> "Watch":
        self._live.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(5)
        self._live.update(view(self._metrics, self._settings), refresh=True)
        self._live.stop()

    def _draw(self) -> None:
        while not self._over.wait(EVERY_S):
            self._live.update(view(self._metrics, self._settings), refresh=True)


def view(metrics: "Metrics", settings: "PipelineSettings") -> Group:
    """How a pipeline stands."""
    recent = metrics.recent()
    head = Table.grid(padding=(0, 3))
    quantiles = metrics.quantiles_s()
    seconds = sum(report.seconds for report in recent[-20:])
    events = sum(report.events for report in recent[-20:])
    head.add_row("log", settings.log, "position", f"{metrics.position:,}", "lag", f"{metrics.lag:,} events")
    head.add_row(
        "epoch",
        str(metrics.epoch),
        "rate",
        f"{events / seconds:,.0f} events/s" if seconds else "-",
        "batch",
        f"{quantiles[0.5] * 1e3:,.0f} ms, p99 {quantiles[0.99] * 1e3:,.0f} ms" if quantiles else "-",
    )
    head.add_row(
        "deltas",
        f"{metrics.deltas:,}",
        "batches",
        f"{metrics.batches:,}, {metrics.retries} tried again",
        "aside",
        f"{metrics.set_aside} events",
    )
    parts: list[Table | Text] = [head]
    if recent:
        parts.append(Text("batches  " + spark_line([report.seconds for report in recent[-60:]])))
        parts.append(_shards(recent[-1]))
    else:
        parts.append(Text("waiting for events"))
    return Group(*parts)


def _shards(report) -> Table:  # type: ignore[no-untyped-def]
    table = Table("shard", "subscriptions", "deltas", "work", title=None, box=None, padding=(0, 2))
    busiest = max(report.shard_us, default=0) or 1
    for shard, (n, deltas, us) in enumerate(
        zip(report.shard_subscriptions, report.shard_deltas, report.shard_us, strict=True)
    ):
        table.add_row(str(shard), f"{n:,}", f"{deltas:,}", f"{'█' * round(12 * us / busiest):<12} {us / 1e3:,.0f} ms")
    return table


def spark_line(values: list[float]) -> str:
    """Values as a row of bars."""
    top = max(values, default=0.0)
    return "".join(_BARS[round((len(_BARS) - 1) * value / top)] for value in values) if top else ""
