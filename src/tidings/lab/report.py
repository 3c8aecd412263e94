"""What a benchmark reports: rows, and ratios of what was measured in the same run."""

import os
import platform
from importlib.metadata import version
from typing import Final, Literal

import msgspec
from msgspec import Struct

TOLD: Final = ("numpy", "numba", "pyarrow")


class Row(Struct, frozen=True, kw_only=True):
    """One method on one workload. None is what was not measured."""

    name: str
    """The method, and in brackets what is other than in the plain workload."""
    role: Literal["index", "method", "floor"]
    messages_per_s: float
    """In batches, ids as strings out, per second of one core; the median of several passes."""
    p50_us: float | None = None
    p99_us: float | None = None
    """Of single messages; those of an index through `Engine`."""
    bytes_per_subscription: float | None = None
    """All arrays that are needed to answer."""
    build_s: float | None = None
    matches: int
    """Of all `messages` together."""
    messages: int
    subscriptions: int
    matches_per_message: float
    resident_bytes_per_subscription: float | None = None
    """Growth of the resident memory of a process of its own; None where the system does not tell."""
    table_s: float | None = None
    index_s: float | None = None
    """The two parts of `build_s`."""
    inserts_per_s: float | None = None
    deletes_per_s: float | None = None
    scale: float | None = None
    """The factor on all sides that makes the matches equal."""
    cells: int | None = None
    """Of a floor: along each side of its grid."""


class Machine(Struct, frozen=True):
    """Where it was measured."""

    cpu: str
    cores: int
    system: str
    python: str
    packages: dict[str, str]


class Report(Struct, frozen=True):
    """A benchmark's answer."""

    seed: int
    machine: Machine
    rows: list[Row]
    ratios: dict[str, float]
    """`a/b`: the messages a second of row a over those of row b, unless the names say another measure."""

    def to_json(self) -> bytes:
        """The report as JSON."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2)

    def row(self, name: str) -> Row:
        """The row of a name."""
        return next(row for row in self.rows if row.name == name)


def this_machine() -> Machine:
    """The machine that this runs on."""
    return Machine(
        cpu=_cpu(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: version(name) for name in TOLD},
    )


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
