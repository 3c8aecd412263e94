"""Which submissions of which producers are in a log, so that one that is sent again is not taken again.

A producer numbers its submissions one after the other, as in Kafka. It starts anywhere; from then on each number must
follow the one before. One of the last is known again and answered with where its events are; one that leaves a gap,
or is older than what is remembered, is refused. A submission that was refused has not used its number.
"""

from collections.abc import Iterable
from typing import Final

from tidings.log.frames import Submitted
from tidings.model.errors import InputError, Problem, shortened
from tidings.model.limits import MAX_ID_CHARACTERS, MAX_PRODUCER_SEQUENCES, MAX_PRODUCERS

MAX_SEQUENCE: Final = 2**63 - 1


class Producers:
    """The last submissions of every producer, the one that was heard of last at the end."""

    def __init__(self, known: Iterable[Submitted] = ()) -> None:
        self._known: dict[str, list[Submitted]] = {}
        self._staged: dict[str, list[Submitted]] = {}
        for submitted in known:
            self._take(submitted)

    def __len__(self) -> int:
        return len(self._known)

    def all(self) -> list[Submitted]:
        """All that is remembered, such that it can be taken in again in this order."""
        return [submitted for known in self._known.values() for submitted in known]

    def find(self, producer: str, sequence: int) -> Submitted | None:
        """The submission when it is a known one, None when it is the next one, else an `InputError`."""
        known: list[Submitted] = [*self._known.get(producer, ()), *self._staged.get(producer, ())]
        if not known or sequence == known[-1].sequence + 1:
            return None
        again = [submitted for submitted in known if submitted.sequence == sequence]
        if again:
            return again[0]
        last = known[-1].sequence
        found = f"sequence {sequence} of {shortened(producer)!r} after {last}"
        if sequence > last:
            hint = "one before it was refused or never came; append that one first"
        else:
            hint = f"only the last {MAX_PRODUCER_SEQUENCES} are remembered; this one is older, or never was"
        raise InputError(Problem("producer-sequence", "sequence", found, str(last + 1), hint))

    def stage(self, submitted: Submitted) -> None:
        """Remember it, once it is kept."""
        self._staged.setdefault(submitted.producer, []).append(submitted)

    def keep(self) -> None:
        """What was staged is durable."""
        for several in self._staged.values():
            for submitted in several:
                self._take(submitted)
        self._staged.clear()

    def drop(self) -> None:
        """Nothing came of what was staged."""
        self._staged.clear()

    def _take(self, submitted: Submitted) -> None:
        known = self._known.pop(submitted.producer, [])
        if known and submitted.sequence != known[-1].sequence + 1:
            known = []
        known.append(submitted)
        del known[:-MAX_PRODUCER_SEQUENCES]
        self._known[submitted.producer] = known
        if len(self._known) > MAX_PRODUCERS:
            del self._known[next(iter(self._known))]


def check_names(producer: str, sequence: int) -> None:
    """Raise an `InputError` unless these name a submission, or none is named."""
    if not producer and sequence == -1:
        return
    if not producer or len(producer) > MAX_ID_CHARACTERS:
        raise InputError(
            Problem("option-invalid", "producer", shortened(producer), f"1 to {MAX_ID_CHARACTERS} characters")
        )
    if not 0 <= sequence <= MAX_SEQUENCE:
        raise InputError(Problem("option-invalid", "sequence", str(sequence), f"0 to {MAX_SEQUENCE}"))
