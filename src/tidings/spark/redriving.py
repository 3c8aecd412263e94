"""Events that were set aside go to the log again, each at most once."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from tidings.log.deliveries import SetAside, open_deliveries
from tidings.log.store import EventLog
from tidings.model.errors import InputError, Problem


class Redriven(NamedTuple):
    """One event that was given again."""

    position: int
    again: int
    """Where it stands now."""
    code: str
    reason: str
    """Why it had been set aside."""


def redriven(log: str, state: str, positions: Collection[int] = ()) -> list[Redriven]:
    """Append what was set aside, all of it or what stood at these positions. The log took these events once, and the
    ids that they speak of are as they left them there, so it does not judge them again.
    """
    deliveries = open_deliveries(state)
    try:
        waiting = {event.position: event for event in deliveries.aside() if not event.redriven and event.tries}
        unknown = sorted(set(positions) - set(waiting))
        if unknown:
            expected = f"one of {', '.join(map(str, waiting))}" if waiting else "none: nothing waits to be given again"
            raise InputError([Problem("option-invalid", "POSITION", str(one), expected) for one in unknown])
        with EventLog.open(Path(log)) as events:
            return [_given(deliveries, events, waiting[one]) for one in sorted(positions or waiting)]
    finally:
        deliveries.close()


def _given(deliveries, events: EventLog, event: SetAside) -> Redriven:  # type: ignore[no-untyped-def]
    # Should this end between the two steps, the log knows the producer when it comes again.
    again = events.append([event.event], producer=f"redrive {event.position}", sequence=0, judged=True).first
    deliveries.redriven(event.position)
    return Redriven(event.position, again, event.problem.code, event.problem.found)
