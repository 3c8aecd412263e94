"""A campaign: rounds of mixed faults until there were enough, and a report."""

import statistics
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import msgspec

from tests.crash import faults
from tests.crash.round import Outcome, Round, Stuck, Trial

LOCAL: Final = "local[2]"
CLUSTER: Final = "local-cluster[2,1,1024]"
MOST_A_ROUND: Final = 20


class Report(msgspec.Struct):
    """What a campaign found."""

    seed: int
    trials: int
    rounds: int
    lost: int
    doubled: int
    disordered: int
    damaged: int
    stuck: int
    deltas: int
    faults: dict[str, int]
    recovery_p50_s: float
    recovery_max_s: float
    recovery_max_of: str
    recovery_p50_s_by_fault: dict[str, float]
    restarts: int
    lives: int
    ended: dict[str, int]
    seconds: float
    outcomes: list[Outcome]

    @property
    def is_right(self) -> bool:
        """Whether nothing was lost, doubled, out of order, damaged or stuck."""
        return self.trials > 0 and not (self.lost or self.doubled or self.disordered or self.damaged or self.stuck)


def campaign(
    trials: int,
    seed: int,
    *,
    masters: tuple[str, ...] = (LOCAL, LOCAL, CLUSTER, LOCAL, LOCAL),
    small_disks: tuple[bool, ...] = (True, False, False),
    most_a_round: int = MOST_A_ROUND,
    patience_s: float = 90.0,
    told: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
) -> Report:
    """Run rounds until there were so many faults."""
    began, random = time.monotonic(), Random(f"campaign {seed}")
    deck = _deck(random)
    held: list[str] = []
    outcomes: list[Outcome] = []
    n_done = n_stuck = number = 0
    while n_done < trials and n_stuck < 3:
        master, small = masters[number % len(masters)], small_disks[number % len(small_disks)]
        round_ = Round(seed * 1000 + number, master=master, small_disk=small, patience_s=patience_s)
        number += 1
        if small and round_.disk is not None and not round_.disk.is_there:
            told("NO SMALL DISK: only root can mount one; the driver is told that its disk is full instead")
        keep = False
        try:
            round_.start()
            possible = _possible(round_)
            while round_.can_go_on and len(round_.trials) < min(most_a_round, trials - n_done):
                kind = _next(held, deck, possible)
                time.sleep(random.uniform(0.0, 1.5))
                if round_.hit(kind):
                    trial = next(one for one in reversed(round_.trials) if one.kind == kind)
                    told(f"{master} {kind}: delivers again after {trial.recovery_s:.1f} s ({round_.done()} events)")
            outcome = round_.finish()
            outcomes.append(outcome)
            keep = bool(outcome.lost or outcome.doubled or outcome.disordered or outcome.damage)
            told(
                f"round {outcome.seed} ({outcome.profile}, {master}, {outcome.store}, {outcome.shards} shards): "
                f"{outcome.wanted:,} deltas, {outcome.lost} lost, {outcome.doubled} doubled, {outcome.lives} lives, "
                f"{outcome.seconds:.0f} s"
            )
        except Stuck as stuck:
            n_stuck, keep = n_stuck + 1, True
            told(f"STUCK in round {round_.seed}: {stuck}\n{round_.said()}")
        except Exception:
            n_stuck, keep = n_stuck + 1, True
            told(f"FAILED in round {round_.seed}:\n{traceback.format_exc()}\n{round_.said()}")
        finally:
            n_done += len(round_.trials)
            round_.close(keep=keep)
            if keep:
                told(f"all of it is kept in {round_.folder}")
    return _report(seed, number, n_stuck, outcomes, time.monotonic() - began)


def _possible(round_: Round) -> set[str]:
    kinds = set(faults.STRIKES) | set(faults.RUNNING) | set(faults.FATAL) | {faults.STALE_DRIVER}
    has_disk = round_.disk is not None and round_.disk.is_there
    kinds |= {faults.FULL_DISK} if has_disk else set(faults.NO_ROOM)
    if round_.master != LOCAL:
        kinds |= set(faults.ON_A_CLUSTER)
    return kinds


def _deck(random: Random) -> Iterator[str]:
    """All kinds again and again, each time in another order; those that go on living twice, since they cost little."""
    once = [
        *faults.STRIKES,
        *faults.NO_ROOM,
        *faults.FATAL,
        *faults.ON_A_CLUSTER,
        faults.STALE_DRIVER,
        faults.FULL_DISK,
    ]
    kinds = [*once, *faults.RUNNING, *faults.RUNNING]
    while True:
        yield from random.sample(kinds, len(kinds))


def _next(held: list[str], deck: Iterator[str], possible: set[str]) -> str:
    """The next kind that can be had in this round; the others wait for theirs."""
    for kind in held:
        if kind in possible:
            held.remove(kind)
            return kind
    for kind in deck:
        if kind in possible:
            return kind
        if kind not in held:
            held.append(kind)
    raise AssertionError("the deck has no end")


def _report(seed: int, rounds: int, stuck: int, outcomes: list[Outcome], seconds: float) -> Report:
    trials: list[Trial] = [trial for outcome in outcomes for trial in outcome.trials]
    slowest = max(trials, key=lambda trial: trial.recovery_s, default=Trial("none", "", 0.0, 0))
    by_kind: dict[str, list[float]] = {}
    for trial in trials:
        by_kind.setdefault(trial.kind, []).append(trial.recovery_s)
    ended: Counter[str] = Counter()
    for outcome in outcomes:
        ended.update(outcome.ended)
    return Report(
        seed=seed,
        trials=len(trials),
        rounds=rounds,
        lost=sum(outcome.lost for outcome in outcomes),
        doubled=sum(outcome.doubled for outcome in outcomes),
        disordered=sum(outcome.disordered for outcome in outcomes),
        damaged=sum(bool(outcome.damage) for outcome in outcomes),
        stuck=stuck,
        deltas=sum(outcome.wanted for outcome in outcomes),
        faults={kind: len(found) for kind, found in sorted(by_kind.items())},
        recovery_p50_s=statistics.median([trial.recovery_s for trial in trials]) if trials else 0.0,
        recovery_max_s=slowest.recovery_s,
        recovery_max_of=slowest.kind,
        recovery_p50_s_by_fault={kind: statistics.median(found) for kind, found in sorted(by_kind.items())},
        restarts=sum(trial.restarts for trial in trials),
        lives=sum(outcome.lives for outcome in outcomes),
        ended=dict(sorted(ended.items())),
        seconds=seconds,
        outcomes=outcomes,
    )


def table(report: Report) -> str:
    """The report for people."""
    facts: dict[str, Any] = {
        "trials": report.trials, "rounds": report.rounds, "deltas": f"{report.deltas:,}", "lost": report.lost,
        "doubled": report.doubled, "out of order": report.disordered, "damaged": report.damaged, "stuck": report.stuck,
        "recovery": f"p50 {report.recovery_p50_s:.1f} s, max {report.recovery_max_s:.1f} s ({report.recovery_max_of})",
        "restarts": report.restarts, "lives": report.lives, "time": f"{report.seconds:.0f} s",
    }  # fmt: skip
    rows = [f"{name:<14}{value}" for name, value in facts.items()]
    rows += ["", f"{'fault':<38}{'trials':>6}  recovery p50"]
    rows += [f"{kind:<38}{n:>6}  {report.recovery_p50_s_by_fault[kind]:>8.1f} s" for kind, n in report.faults.items()]
    if report.ended:
        rows += ["", "lives that nobody killed ended:", *(f"  {n:>4}  {how}" for how, n in report.ended.items())]
    return "\n".join(rows)
