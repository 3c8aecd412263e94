"""How much memory an index needs: a process of its own fills it, so that making the workload does not blur the answer.

The workload is written to files and mapped by that process; mapped files do not count as memory of its own.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from tidings.columns.block import SubscriptionColumns, sealed
from tidings.model.events import Space
from tidings.words.arenas import Arena


def resident_bytes(method: str, space: Space, columns: SubscriptionColumns) -> int | None:
    """By how many bytes a process grows when it fills an index; None where the system does not tell."""
    if _own_memory() is None:
        return None
    with TemporaryDirectory(prefix="tidings-") as directory:
        for name, array in _flat(columns).items():
            np.save(Path(directory, f"{name}.npy"), array)
        command = [sys.executable, "-m", __name__, method, msgspec.json.encode(space).decode(), directory]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(json.loads(ran.stdout))


def _flat(columns: SubscriptionColumns) -> dict[str, npt.NDArray[Any]]:
    flat: dict[str, npt.NDArray[Any]] = {}
    for name, part in columns._asdict().items():
        if isinstance(part, Arena):
            flat[f"{name}_offset"], flat[f"{name}_data"] = part
        else:
            flat[name] = part
    return flat


def _mapped(directory: Path) -> SubscriptionColumns:
    def mapped(name: str) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = np.load(directory / f"{name}.npy", mmap_mode="r")
        return array

    arenas = {"id", "word"}
    parts: dict[str, Any] = {
        name: Arena(mapped(f"{name}_offset"), mapped(f"{name}_data")) if name in arenas else mapped(name)
        for name in SubscriptionColumns._fields
    }
    return sealed(SubscriptionColumns(**parts))


def _own_memory() -> int | None:
    """Resident memory of this process that is not a mapped file, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))
    except (OSError, StopIteration):
        return None


def _main(method: str, space: str, directory: str) -> None:
    from tidings.lab.blocks import subscriptions_at
    from tidings.lab.loading import loaded

    columns = _mapped(Path(directory))
    where: Space = msgspec.json.decode(space, type=Space)
    # Compiled code is loaded before the first look.
    loaded(method, where, subscriptions_at(columns, np.arange(min(100, len(columns.kind)))))
    before = _own_memory() or 0
    index = loaded(method, where, columns)
    print((_own_memory() or 0) - before)
    del index


if __name__ == "__main__":
    _main(*sys.argv[1:])
