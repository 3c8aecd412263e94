"""A round of a campaign: one random log, fed while a pipeline lives and dies over it, and what was delivered."""

import json
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from tests.crash import faults, processes, victim
from tests.crash.lives import Disk, Life
from tests.oracle.logs import PROFILES, random_log
from tests.oracle.semantics import deltas_of
from tidings.log.deliveries import Deliveries, open_deliveries
from tidings.log.deltas_file import lines_of
from tidings.log.store import EventLog
from tidings.model.errors import TidingsError
from tidings.spark.settings import DEFAULT_METHODS
from tidings.testing import crashing_index

EVENTS: Final = 4000
LEFT: Final = 600
"""A fault needs so many events to come, by whose delivery it is seen that the pipeline has recovered."""
AHEAD: Final = 150
"""The log is so many events ahead of the pipeline."""
POLL_S: Final = 0.01
FULL_S: Final = 3.0
FAILURES: Final = 2
_COMMITTED: Final = re.compile(r"^([0-9.]+) done ([0-9]+) ,", re.M)


class Stuck(Exception):  # noqa: N818
    """A pipeline makes no progress."""


class Trial(msgspec.Struct):
    """One fault, and what came of it."""

    kind: str
    master: str
    recovery_s: float
    restarts: int


class Outcome(msgspec.Struct):
    """What a round delivered."""

    seed: int
    profile: str
    master: str
    store: str
    shards: int
    events: int
    wanted: int
    lost: int
    doubled: int
    disordered: bool
    damage: list[str]
    trials: list[Trial]
    lives: int
    ended: dict[str, int]
    """How lives ended that nobody killed."""
    seconds: float


class Round:
    """One log, and lives of a pipeline over it until all of it is delivered."""

    def __init__(
        self, seed: int, *, master: str = "local[2]", small_disk: bool = False, patience_s: float = 90.0
    ) -> None:
        random = Random(f"round {seed}")
        self._random: Final = random
        self.seed: Final = seed
        self.master: Final = master
        self.patience_s: Final = patience_s
        self.profile: Final = random.choice(list(PROFILES))
        self.log: Final = random_log(seed, EVENTS, self.profile, subscriptions=random.choice([10, 40]))
        self.folder: Final = Path(tempfile.mkdtemp(prefix="tidings-crash-"))
        self.disk: Final = Disk(self.folder / "disk") if small_disk else None
        is_on_disk = self.disk is not None and self.disk.is_there
        self.state: Final = (self.folder / "disk" if is_on_disk else self.folder) / "state"
        self.store: Final = (
            random.choice(["sqlite", "sqlite", "segments"]) if master.startswith("local[") else "segments"
        )
        self.shards: Final = random.choice([1, 2, 2, 3, 5])
        is_cluster = not master.startswith("local[")
        # An executor's own folder is this life's scratch folder.
        self.local: Final = self.folder if is_cluster else self.state / "shards"
        self.max_events: Final = random.choice([15, 30, 60])
        self.snapshot_events: Final = random.choice([50, 150, 400])
        publishes = [position for position, event in enumerate(self.log) if event["op"] == "publish"]
        self.fails_at: Final = random.choice(publishes[len(publishes) // 20 : len(publishes) // 4])
        self._path: Final = self.folder / "log"
        self._lives: Final[list[Life]] = []
        self._deliveries: Deliveries | None = None
        self.trials: Final[list[Trial]] = []
        self.ended: Final[Counter[str]] = Counter()
        self._stopping: Final = threading.Event()
        self._enough: Final = threading.Event()
        self._fed = 1
        self._feeding: Final = threading.Thread(target=self._feed, daemon=True)
        self._failure: BaseException | None = None
        self._strike: victim.Strike | None = None
        self._has_failed = False
        self._last_done = 0
        self._began: Final = time.monotonic()

    @property
    def life(self) -> Life:
        """The one that lives, or lived last."""
        return self._lives[-1]

    @property
    def can_go_on(self) -> bool:
        """Whether there are events enough for another fault."""
        return self.done() < EVENTS - LEFT

    def start(self) -> None:
        """Begin to feed, and the first life."""
        EventLog.open(self._path, create=True).close()
        with EventLog.open(self._path) as log:
            log.append([self._line(0)])
        self._feeding.start()
        self.begin_life()
        self._progress(0)

    def begin_life(self, spared: Life | None = None) -> Life:
        """Start a pipeline; what is left of the lives before the last is ended."""
        for old in self._lives[:-1]:
            if old is not spared:
                processes.end(old.session)
        strike, self._strike = self._strike, None
        orders = victim.Orders(
            log=str(self._path), state=str(self.state), store=self.store,
            local=None if self.local == self.folder else str(self.local), master=self.master, shards=self.shards,
            max_events=self.max_events, snapshot_events=self.snapshot_events,
            methods=DEFAULT_METHODS | {"within": crashing_index(self.fails_at, times=FAILURES, folder=self.folder)},
            until=EVENTS, conf={"spark.driver.memory": "700m", "spark.log.level": "ERROR"}, scratch="", strike=strike,
        )  # fmt: skip
        life = Life(self.folder, len(self._lives), orders)
        self._lives.append(life)
        return life

    def stop_life(self) -> None:
        """End it in order."""
        self.life.process.terminate()
        try:
            self.life.process.wait(self.patience_s)
        except subprocess.TimeoutExpired:
            raise Stuck("it does not stop") from None
        self.ended["in order" if self.life.process.returncode == victim.DONE else self._how(self.life)] += 1
        processes.end(self.life.session)

    def hit(self, kind: str) -> bool:
        """One fault, until the pipeline delivers again; False when there was nothing to hit."""
        lives = len(self._lives)
        if kind in faults.STRIKES or kind in faults.NO_ROOM:
            at = self._struck(kind)
        elif kind == faults.FULL_DISK:
            at = self._filled()
        elif kind == faults.STALE_DRIVER:
            at = self._replaced()
        else:
            hit = (faults.RUNNING | faults.FATAL | faults.ON_A_CLUSTER)[kind]
            if not hit(self, self._random):
                return False
            at = time.monotonic()
        # The batch that was under way when it lived on may be done all the same: the one after it counts.
        for _ in range(1 if self.life.is_over else 2):
            self._progress(self.done())
        self.trials.append(Trial(kind, self.master, time.monotonic() - at, len(self._lives) - lives))
        self._count_failure()
        return True

    def finish(self) -> Outcome:
        """Let what is in the log be delivered, and compare."""
        self._enough.set()
        self._feeding.join()
        while self.done() < self._fed:
            self._progress(self.done())
        if not self.life.is_over:
            self.stop_life()
        self._count_failure()
        assert self._deliveries is not None
        lines = [json.dumps(delta, ensure_ascii=False) for delta in deltas_of(self.log[: self._fed])]
        found = b"".join(lines_of(deltas) for deltas in self._deliveries.read(0)).decode().split("\n")[:-1]
        right, got = Counter(lines), Counter(found)
        return Outcome(
            seed=self.seed, profile=self.profile, master=self.master, store=self.store, shards=self.shards,
            events=self._fed, wanted=len(lines), lost=sum((right - got).values()), doubled=sum((got - right).values()),
            disordered=lines != found, damage=[str(problem) for problem in self._deliveries.verify()],
            trials=self.trials, lives=len(self._lives), ended=dict(self.ended), seconds=time.monotonic() - self._began,
        )  # fmt: skip

    def close(self, *, keep: bool = False) -> None:
        """End everything that was started."""
        self._stopping.set()
        for life in self._lives:
            processes.end(life.session)
            life.process.wait()
        if self._feeding.ident is not None:
            self._feeding.join()
        if self._deliveries is not None:
            self._deliveries.close()
        if self.disk is not None:
            self.disk.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def done(self) -> int:
        """How far the deliveries are, as far as they can be read: there may be none yet, or no room to look."""
        with suppress(TidingsError):
            if self._deliveries is None:
                self._deliveries = open_deliveries(self.state)
            self._last_done = self._deliveries.done()
        return self._last_done

    def said(self) -> str:
        """What the last lives said."""
        return "\n".join(
            f"--- {life.output}\n{life.output.read_text(errors='replace')[-6000:]}" for life in self._lives[-3:]
        )

    def _progress(self, done: int) -> None:
        """Wait until more is done, starting the pipeline again whenever it has ended."""
        deadline = time.monotonic() + self.patience_s
        while self.done() <= done:
            if self._failure is not None:
                raise self._failure
            if self.life.is_over:
                if self.life.process.returncode >= 0:
                    self.ended[self._how(self.life)] += 1
                if len(self._lives) > 400:
                    raise Stuck("it dies again and again")
                self.begin_life()
            if time.monotonic() > deadline:
                raise Stuck(f"nothing more than {done} of {EVENTS} events is done for {self.patience_s:g} s")
            time.sleep(POLL_S)

    def _struck(self, kind: str) -> float:
        """The next life gets the order; this one ends in order or is killed."""
        self._strike = faults.strike_of(kind, self._random)
        if self._random.random() < 0.5:
            self.stop_life()
        else:
            processes.end(self.life.session)
        struck = self.begin_life()
        self._wait(f"{kind}: it does not come to that", lambda: struck.is_over)
        return time.monotonic()

    def _filled(self) -> float:
        assert self.disk is not None
        self.disk.fill()
        deadline = time.monotonic() + self._random.uniform(0.2, FULL_S)
        while time.monotonic() < deadline and not self.life.is_over:
            time.sleep(POLL_S)
        self.disk.free()
        return time.monotonic()

    def _replaced(self) -> float:
        """A driver sleeps, another takes over, and the first wakes up: it has to hear that its time is over."""
        old, epoch = self.life, self._epoch()
        stopped = [process for process in processes.members(old.session) if processes.send(process, signal.SIGSTOP)]
        at, done = time.monotonic(), self.done()
        new = self.begin_life(spared=old)
        self._wait("another driver does not take over", lambda: self._epoch() > epoch or new.is_over)
        # It may sleep with the lock of a shard, and then only its waking up lets the other one go on.
        deadline = time.monotonic() + self._random.uniform(0.0, 20.0)
        while time.monotonic() < deadline and self.done() <= done and not new.is_over:
            time.sleep(POLL_S)
        for process in stopped:
            processes.send(process, signal.SIGCONT)
        if new.is_over:
            # It found the deliveries locked by the one that slept.
            self.ended[self._how(new)] += 1
            self.begin_life(spared=old)
        self._wait("the driver that was replaced does not end", lambda: old.is_over)
        self.ended[f"replaced: {self._how(old)}"] += 1
        processes.end(old.session)
        return at

    def _wait(self, otherwise: str, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.patience_s
        while not reached():
            if time.monotonic() > deadline:
                raise Stuck(otherwise)
            time.sleep(POLL_S)

    def _epoch(self) -> int:
        with suppress(TidingsError):
            return self._deliveries.stat().epoch if self._deliveries is not None else 0
        return 0

    def _count_failure(self) -> None:
        """A task that failed twice, as the index was told to, is a trial too."""
        found = [path.stat().st_mtime for path in self.folder.glob("crash-*")]
        if len(found) < FAILURES or self._has_failed:
            return
        said = "\n".join(life.output.read_text(errors="replace") for life in self._lives)
        committed = [float(at) for at, end in _COMMITTED.findall(said) if int(end) > self.fails_at]
        # A commit is there a moment before it is told.
        if committed:
            self._has_failed = True
            self.trials.append(Trial(faults.FAILING_TASK, self.master, min(committed) - min(found), 0))

    def _how(self, life: Life) -> str:
        names = {
            victim.DONE: "in order",
            victim.FULL: "disk-full",
            victim.STALE: "stale-epoch",
            victim.FAILED: "failed",
        }
        code = life.process.returncode
        if code != victim.FAILED:
            return names.get(code, f"signal {-code}" if code < 0 else f"status {code}")
        lines = [
            line
            for line in life.output.read_text(errors="replace").splitlines()
            if "Error" in line or "Exception" in line
        ]
        return f"failed: {lines[-1][:160]}" if lines else "failed"

    def _line(self, position: int) -> bytes:
        return json.dumps(self.log[position], ensure_ascii=False).encode()

    def _feed(self) -> None:
        """Keep the log ahead of the pipeline, in small groups, as long as the round goes on."""
        random = Random(f"feed {self.seed}")
        try:
            with EventLog.open(self._path) as log:
                mine = None
                while self._fed < EVENTS and not self._enough.is_set() and not self._stopping.is_set():
                    try:
                        mine = mine or open_deliveries(self.state)
                        done = mine.done()
                    except TidingsError:
                        done = 0
                    if self._fed - done > AHEAD:
                        self._stopping.wait(0.02)
                        continue
                    n = min(EVENTS - self._fed, random.randint(1, 12))
                    log.append([self._line(position) for position in range(self._fed, self._fed + n)])
                    self._fed += n
                    self._stopping.wait(random.uniform(0.0, 0.03))
        except BaseException as failure:
            self._failure = failure
