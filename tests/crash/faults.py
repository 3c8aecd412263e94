"""The faults of a campaign: what each does to a life, or between two lives, of a pipeline."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from tests.crash import processes
from tests.crash.victim import Strike
from tidings.spark.file_lock import locked

if TYPE_CHECKING:
    from tests.crash.round import Round

Hit = Callable[["Round", Random], bool]
"""Does it; False when there was nothing to do it to."""

STRIKES: Final = {
    f"driver killed {when} {what}": (what, when)
    for what in ("plan", "commit")
    for when in ("before", "during", "after")
}
"""The driver kills itself at a call."""
NO_ROOM: Final = {f"no room in {what}": what for what in ("plan", "commit")}
"""The driver hears that the disk is full, where no small disk can be had."""
FULL_DISK: Final = "disk full"
FAILING_TASK: Final = "task fails twice"
STALE_DRIVER: Final = "stale driver wakes up"


def strike_of(kind: str, random: Random) -> Strike:
    """What a victim is told for a fault that it does itself."""
    call = random.randint(2, 8)
    if kind in NO_ROOM:
        return Strike(NO_ROOM[kind], call, "before", full=True)
    what, when = STRIKES[kind]
    return Strike(what, call, when, int(10 ** random.uniform(0, 4)))


def kill_all(round_: "Round", random: Random) -> bool:
    """The driver, Java and all workers, at once."""
    time.sleep(random.uniform(0.0, 0.5))
    processes.end(round_.life.session)
    return True


def kill_at_the_start(round_: "Round", random: Random) -> bool:
    """The same, while the next life is about to begin."""
    processes.end(round_.life.session)
    life = round_.begin_life()
    time.sleep(random.uniform(0.5, 12.0))
    processes.end(life.session)
    return True


def kill_driver(round_: "Round", random: Random) -> bool:
    """Only the driver: Java and its tasks learn of it when they do."""
    time.sleep(random.uniform(0.0, 0.5))
    os.kill(round_.life.process.pid, signal.SIGKILL)
    return True


def kill_java(round_: "Round", random: Random) -> bool:
    """Only Java: the driver is left without its Spark."""
    return _kill_one(processes.jvms(round_.life.session), random)


def kill_worker(round_: "Round", random: Random) -> bool:
    """A process that a task runs in, or did and will again."""
    return _kill_one(processes.workers(round_.life.session), random)


def kill_daemon(round_: "Round", random: Random) -> bool:
    """The process that workers are forked from."""
    return _kill_one(processes.daemons(round_.life.session), random)


def kill_reader(round_: "Round", random: Random) -> bool:
    """The process that says how far the next batch goes."""
    return _kill_one(processes.named(round_.life.session, processes.READER), random)


def kill_executor(round_: "Round", random: Random) -> bool:
    """An executor of a cluster."""
    return _kill_one(processes.named(round_.life.session, processes.EXECUTOR), random)


def remove_checkpoint(round_: "Round", random: Random) -> bool:
    """What Spark remembers of the query."""
    found = list(round_.life.scratch.glob("tidings-checkpoint-*"))
    for folder in found:
        shutil.rmtree(folder, ignore_errors=True)
    return bool(found)


def remove_spark_folders(round_: "Round", random: Random) -> bool:
    """What Spark keeps on this machine: blocks, and the data between two stages."""
    found = list(round_.life.scratch.glob("blockmgr-*")) + list(round_.life.scratch.glob("spark-*"))
    for folder in found:
        shutil.rmtree(folder, ignore_errors=True)
    return bool(found)


def remove_shard(round_: "Round", random: Random) -> bool:
    """The file of a shard, at any moment."""
    return _harm(round_, random, Path.unlink)


def cut_shard(round_: "Round", random: Random) -> bool:
    """The file of a shard is cut, where a page ends or not, while its processes have it."""
    return _harm(round_, random, lambda path: os.truncate(path, random.randrange(path.stat().st_size)))


def replace_shard(round_: "Round", random: Random) -> bool:
    """Another file stands where that of a shard did."""

    def replace(path: Path) -> None:
        other = path.with_suffix(".other")
        other.write_bytes(os.urandom(70_000))
        other.replace(path)

    return _harm(round_, random, replace)


def flip_shards_between_lives(round_: "Round", random: Random) -> bool:
    """The pipeline ends, in order or not, and a bit of each shard's file is another one when the next begins."""
    if random.random() < 0.7:
        round_.stop_life()
    else:
        processes.end(round_.life.session)

    def flip(path: Path) -> None:
        size = path.stat().st_size
        with path.open("r+b") as file:
            at = random.choice([random.randrange(size), random.randrange(size // 2, size), random.randrange(200)])
            file.seek(at)
            old = file.read(1)
            file.seek(at)
            file.write(bytes([old[0] ^ (1 << random.randrange(8))]))

    return any(_harmed(path, flip) for path in _shards(round_))


def remove_local_between_lives(round_: "Round", random: Random) -> bool:
    """All of the shards' files, and what Spark left, are gone when the next life begins."""
    processes.end(round_.life.session)
    for path in _shards(round_):
        path.unlink(missing_ok=True)
    shutil.rmtree(round_.life.scratch, ignore_errors=True)
    return True


RUNNING: Final[dict[str, Hit]] = {
    "worker killed": kill_worker,
    "daemon killed": kill_daemon,
    "source's process killed": kill_reader,
    "checkpoint removed": remove_checkpoint,
    "shard file removed": remove_shard,
    "shard file cut": cut_shard,
    "shard file replaced": replace_shard,
}
"""Those that a driver survives."""
FATAL: Final[dict[str, Hit]] = {
    "all killed": kill_all,
    "all killed at the start": kill_at_the_start,
    "driver killed": kill_driver,
    "Java killed": kill_java,
    "Spark's folders removed": remove_spark_folders,
    "shard files flipped between lives": flip_shards_between_lives,
    "local files removed between lives": remove_local_between_lives,
}
"""Those that end a life, or may."""
ON_A_CLUSTER: Final[dict[str, Hit]] = {"executor killed": kill_executor}


def _kill_one(found: list[processes.Process], random: Random) -> bool:
    return bool(found) and processes.send(random.choice(found), signal.SIGKILL)


def _shards(round_: "Round") -> list[Path]:
    return sorted(round_.local.glob("**/*.shard"))


def _harm(round_: "Round", random: Random, harm: Callable[[Path], object]) -> bool:
    found = _shards(round_)
    return bool(found) and _harmed(random.choice(found), harm)


def _harmed(path: Path, harm: Callable[[Path], object]) -> bool:
    """Under the shard's lock, so between two steps: what is done to memory in the middle of one, nobody can tell."""
    from tidings.model.errors import FileError

    with suppress(FileError, FileNotFoundError, ValueError), locked(path.with_suffix(".lock"), 10.0):
        harm(path)
        return True
    return False
