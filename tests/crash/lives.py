"""One life of a pipeline, and the small disk that it may live on."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from tests.crash import victim
from tests.crash.processes import Session

ROOT: Final = Path(__file__).resolve().parents[2]
DISK_MB: Final = 48
MARK: Final = "TIDINGS_CRASH_LIFE"


class Life:
    """One process that runs the pipeline, and all that it starts."""

    def __init__(self, folder: Path, number: int, orders: victim.Orders) -> None:
        self.scratch: Final = folder / f"scratch-{number}"
        self.scratch.mkdir()
        self.output: Final = folder / f"life-{number}.log"
        orders.scratch = str(self.scratch)
        orders.conf = orders.conf | {"spark.local.dir": str(self.scratch)}
        path = folder / f"orders-{number}.json"
        path.write_bytes(msgspec.json.encode(orders))
        mark = f"{folder.name}-{number}"
        with self.output.open("wb") as output:
            self.process: Final = subprocess.Popen(
                [sys.executable, "-m", "tests.crash.victim", str(path)],
                cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                env=os.environ | {"SPARK_LOCAL_DIRS": str(self.scratch), MARK: mark},
            )  # fmt: skip
        self.session: Final = Session(self.process.pid, f"{MARK}={mark}")

    @property
    def is_over(self) -> bool:
        """Whether its driver has ended."""
        return self.process.poll() is not None


class Disk:
    """A small file system of its own, that can be full; only root has one."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.filler: Final = folder / "filler"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=700", "tidings-crash", str(folder)]
        self.is_there: Final = (
            os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
        )

    def fill(self) -> None:
        """Leave no room."""
        with suppress(OSError), self.filler.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                with suppress(OSError):
                    while file.write(b"x" * size):
                        pass

    def free(self) -> None:
        """Make room again."""
        self.filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Give it back."""
        if self.is_there:
            subprocess.run(["umount", "-l", str(self.folder)], capture_output=True, check=False)
