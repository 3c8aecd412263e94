"""The picture of the demo: who wants what, a map, and what came to whom."""

import math
import sys
from collections import deque
from itertools import pairwise
from typing import Final, NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tidings.cli.evening import Evening, Moment, clock, kind_of, wish_of
from tidings.cli.explaining import lines_of
from tidings.cli.terminal import Paint
from tidings.lab.city_names import CENTRE, LAT_PER_M, LON_PER_M, REACH_M, RIVER_M
from tidings.model.events import Move, Publish
from tidings.model.regions import Point
from tidings.model.subscriptions import Around, Disc

COLOURS: Final = ("bright_blue", "magenta", "yellow", "green", "red", "cyan")
FADES_MS: Final = 40 * 60_000
"""A message stays on the map for so long."""
GLOWS_MS: Final = 4 * 60_000
"""A subscription that was just told something is bright for so long."""
FEWEST_ROWS: Final = 14
MOST_ROWS: Final = 24
"""Of the map, as the terminal is high."""
WIDE: Final = 100
"""Narrower terminals get no map."""
EXPLAINED_ROWS: Final = 9


class _Mark(NamedTuple):
    ms: int
    place: Point
    colour: str


class _Line(NamedTuple):
    ms: int
    sign: str
    who: str
    text: str


class Stage:
    """What is on the screen now."""

    def __init__(self, evening: Evening) -> None:
        self._evening: Final = evening
        self.ms = 0
        self._colour: Final = {s.id: COLOURS[i % len(COLOURS)] for i, s in enumerate(evening.subscriptions)}
        self.people: Final[dict[str, int]] = dict.fromkeys(self._colour, 0)
        self._told: Final[dict[str, int]] = {}
        self._marks: Final[deque[_Mark]] = deque(maxlen=400)
        self._lines: Final[deque[_Line]] = deque(maxlen=40)
        self._stands: Final[dict[str, tuple[Point, float]]] = {
            s.id: (s.at, s.shape.radius_m)
            for s in evening.subscriptions
            if isinstance(s, Around) and isinstance(s.shape, Disc)
        }

    def take(self, moment: Moment) -> None:
        """Let an event change the picture."""
        self.ms = moment.ms
        event = moment.event
        if isinstance(event, Move):
            self._stands[event.id] = (event.at, self._stands[event.id][1])
        colour = ""
        for delta in moment.deltas:
            who = delta.subscription
            self.people[who] += 1 if delta.op == "+" else -1
            if delta.op == "+":
                colour = self._colour[who]
                self._told[who] = moment.ms
            self._lines.append(_Line(moment.ms, delta.op, who, self._evening.messages[delta.message].text or ""))
        if isinstance(event, Publish) and event.at is not None:
            self._marks.append(_Mark(moment.ms, event.at, colour))

    def explains(self, height: int) -> bool:
        """Whether a terminal of so many lines has room for the explanation."""
        return height > FEWEST_ROWS + EXPLAINED_ROWS + 5

    def picture(self) -> "_Picture":
        """The picture of this moment."""
        return _Picture(self)

    def table(self) -> Table:
        """Who wants what, and how much they have."""
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_column(justify="right", no_wrap=True)
        for subscription in self._evening.subscriptions:
            name, kind = subscription.id, kind_of(subscription)
            bright = self.ms - self._told.get(name, -GLOWS_MS) < GLOWS_MS
            colour = self._colour[name]
            count = self.people[name]
            table.add_row(
                Text("● " if bright else "○ ", colour) + Text(name, f"bold {colour}" if bright else colour),
                Text(kind, "dim"),
                Text(wish_of(subscription)),
                Text(f"{count} told" if kind == "within" else f"{count} now", "bold" if bright else "dim"),
            )
        return table

    def map(self, columns: int, rows: int) -> Text:
        """Streets there are none; the river, the courier's reach, and what was told."""
        cells: dict[tuple[int, int], tuple[str, str]] = {}

        def at(place: Point) -> tuple[int, int]:
            x = (place[0] - CENTRE[0]) / LON_PER_M / REACH_M
            y = (place[1] - CENTRE[1]) / LAT_PER_M / REACH_M
            return int((y + 1) / 2 * rows), int((x + 1) / 2 * columns)

        for (ax, ay), (bx, by) in pairwise(RIVER_M):
            for step in range(40):
                x, y = ax + (bx - ax) * step / 40, ay + (by - ay) * step / 40
                cells[int((y / REACH_M + 1) / 2 * rows), int((x / REACH_M + 1) / 2 * columns)] = ("~", "blue")
        for name, (place, radius) in self._stands.items():
            for step in range(48):
                turn = math.tau * step / 48
                edge = place[0] + radius * math.cos(turn) * LON_PER_M, place[1] + radius * math.sin(turn) * LAT_PER_M
                cells[at(edge)] = ("·", self._colour[name])
        for mark in self._marks:
            age = self.ms - mark.ms
            if age < FADES_MS and (mark.colour or at(mark.place) not in cells):
                fresh = age < FADES_MS / 4
                symbol = ("●" if fresh else "•") if mark.colour else "·"
                cells[at(mark.place)] = (
                    symbol,
                    f"bold {mark.colour}" if fresh and mark.colour else mark.colour or "dim",
                )
        for name, (place, _) in self._stands.items():
            cells[at(place)] = ("◆", f"bold {self._colour[name]}")
        text = Text(no_wrap=True)
        for row in range(rows - 1, -1, -1):
            for column in range(columns):
                text.append(*cells.get((row, column), (" ", "")))
            text.append("\n" if row else "")
        return text

    def feed(self, rows: int, width: int) -> Text:
        """What came to whom last."""
        text = Text(no_wrap=True, overflow="ellipsis")
        lines = list(self._lines)[-rows:]
        for line in lines:
            sign, colour = ("+", self._colour[line.who]) if line.sign == "+" else ("−", "dim")
            text.append(f"{clock(line.ms)} ", "dim")
            text.append(f"{sign} {line.who:10}", colour)
            text.append(line.text[: max(width - 19, 10)] + "\n", "" if line.sign == "+" else "dim")
        text.append("\n" * (rows - len(lines)))
        text.rstrip()
        return text

    def why(self) -> Text | None:
        """Why one message came, once one was chosen."""
        explanation = self._evening.explanation
        if explanation is None:
            return None
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(f"{self._evening.messages[explanation.message].text}\n", "bold")
        text.append_text(Text.from_ansi("\n".join(lines_of(explanation, Paint(sys.stdout))[:EXPLAINED_ROWS])))
        return text


class _Picture:
    """Fits whatever the terminal is now."""

    def __init__(self, stage: Stage) -> None:
        self._stage: Final = stage

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        stage, width = self._stage, min(options.max_width, 140)
        height = console.size.height
        explains = stage.explains(height)
        rows = min(height - 3 - (EXPLAINED_ROWS + 3 if explains else 0), MOST_ROWS)
        columns = 2 * rows if width >= WIDE else 0
        n_people = len(self._stage.people)
        top = Table.grid(padding=(0, 2), expand=True)
        top.add_column(ratio=1)
        left = Group(stage.table(), Text(), stage.feed(max(rows - n_people - 1, 4), width - columns - 6))
        if columns:
            top.add_column(width=columns)
            top.add_row(left, stage.map(columns, rows))
        else:
            top.add_row(left)
        title = f"[bold]Tidings[/bold]  an evening in a city  [bold]{clock(stage.ms)}[/bold]"
        yield Panel(top, title=title, title_align="left", width=width, border_style="dim")
        why = stage.why()
        if explains and why is not None:
            yield Panel(why, title="why did this one come?", title_align="left", width=width, border_style="dim")
