"""The processes of a pipeline, as the system tells of them: the driver in Python, Java, and the workers.

Only where there is `/proc`; elsewhere nothing is known, and nothing is said.
"""

import os
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

Kind = Literal["driver", "java", "workers"]
KINDS: Final[tuple[Kind, ...]] = ("driver", "java", "workers")


class Usage(Struct, frozen=True):
    """Of all processes of one kind together."""

    resident_bytes: int = 0
    cpu_s: float = 0.0
    """Since they started."""


def usage_of(root: int) -> dict[Kind, Usage]:
    """What a process and all that it started use, by kind; empty where the system does not tell."""
    found: dict[Kind, Usage] = {}
    try:
        page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
        stats = {int(path.name): _stat(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    except (OSError, ValueError, AttributeError):
        return found
    for pid, (name, _, pages, ticks) in ((pid, stat) for pid, stat in stats.items() if stat is not None):
        if not _descends(pid, root, stats):
            continue
        kind: Kind = "driver" if pid == root else "java" if name == "java" else "workers"
        before = found.get(kind, Usage())
        found[kind] = Usage(before.resident_bytes + pages * page, before.cpu_s + ticks / tick)
    return found


_Stat = tuple[str, int, int, int]


def _stat(process: Path) -> _Stat | None:
    """Name, parent, resident pages, and ticks with those of children that ended."""
    try:
        text = (process / "stat").read_text()
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return name, int(fields[1]), int(fields[21]), sum(map(int, fields[11:15]))


def _descends(pid: int, root: int, stats: dict[int, _Stat | None]) -> bool:
    while pid > 1:
        if pid == root:
            return True
        stat = stats.get(pid)
        pid = 0 if stat is None else stat[1]
    return False
