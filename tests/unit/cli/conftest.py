"""What the tests of the command line share: a log, and the command as a person starts it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Ran = subprocess.CompletedProcess[str]

EVENTS: list[dict[str, Any]] = [
    {"op": "configure", "window": {"messages": 1000}},
    {
        "op": "register", "id": "s1", "kind": "within", "when": "flood AND (bridge OR road)",
        "where": {"box": [11, 48, 12, 48.5]},
    },
    {"op": "register", "id": "s2", "kind": "around", "when": "flood", "at": [11.5, 48.1], "shape": {"radius_m": 5000}},
    {
        "op": "register", "id": "s3", "kind": "best", "words": ["flood", "road"], "at": [11.5, 48.1], "k": 2,
        "alpha": 0.5,
    },
    {"op": "register", "id": "s4", "kind": "nearest", "text": "flood road", "at": [11.5, 48.1], "k": 2},
    {"op": "publish", "id": "m1", "ts": 1000, "at": [11.51, 48.11], "text": "Flood on the river road"},
    {"op": "publish", "id": "m2", "ts": 2000, "at": [11.7, 48.3], "text": "The bridge has a flood"},
    {"op": "publish", "id": "m3", "ts": 3000, "at": [11.52, 48.11], "words": ["road", "flood"]},
    {"op": "move", "id": "s2", "at": [11.7, 48.3]},
    {"op": "publish", "id": "m4", "ts": 3000, "at": [2.3, 48.8], "text": "Überschwemmung flood"},
]  # fmt: skip
"""All four kinds; a log of ten lines."""

COMMAND = [sys.executable, "-c", "from tidings.cli.main import main; main()"]


def environment() -> dict[str, str]:
    """Without what would colour or widen the output."""
    return {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "COLUMNS", "NO_COLOR")}


def lines(events: Sequence[object]) -> str:
    """Events as the lines of a log."""
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of ten lines."""
    path = tmp_path / "events.ndjson"
    path.write_text(lines(EVENTS))
    return path


@pytest.fixture
def tidings(tmp_path: Path) -> Callable[..., Ran]:
    """Run the command in a process of its own, in an empty directory."""

    def run(*arguments: str | Path, stdin: str = "") -> Ran:
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            input=stdin,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=environment(),
            timeout=250,
        )

    return run


def deltas_of(text: str) -> list[dict[str, Any]]:
    """The lines of an answer."""
    return [json.loads(line) for line in text.splitlines()]
