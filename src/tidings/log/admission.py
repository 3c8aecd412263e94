"""Submissions to a log, judged as files are: each event alone, then in its turn against the ledger.

What can be said about an event alone is found out by whoever submits it, at the same time as others do; only the
ledger's part is done in order. A line that is fit to be stored is stored as it came.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tidings.language.normal import clauses_of
from tidings.log.files import configured_space
from tidings.log.ledger import Ledger
from tidings.log.plain import PlainMessage, plain_messages
from tidings.log.wire import decode_event, encode_event
from tidings.model.errors import MAX_PROBLEMS, InputError, LimitError, Problem
from tidings.model.events import Configure, Event, Globe, Publish, Register, Replace, Space
from tidings.model.limits import MAX_SUBMISSION_BYTES, MAX_SUBMISSION_EVENTS
from tidings.model.subscriptions import Around, Subscription, Within
from tidings.words.analyser import Analyser

REMEMBERED_EXPRESSIONS: Final = 16_384
"""Expressions that are known to be right."""

Judged: TypeAlias = PlainMessage | Event | InputError


class Rejected(NamedTuple):
    """An event that was not taken."""

    at: int
    """Where it stood in the submission."""
    line: bytes
    """It, as it stood."""
    problems: tuple[Problem, ...]


class Prepared(NamedTuple):
    """A submission, its events judged one by one."""

    configuration: Configure
    """What they were judged under."""
    lines: list[bytes]
    events: list[Judged]
    late: dict[int, InputError]
    """What is wrong with subscriptions that the ledger may have more to say about."""
    n_bytes: int


class Admitted(NamedTuple):
    """What of a submission goes into the log."""

    lines: list[bytes]
    rejected: tuple[Rejected, ...]


class Judge:
    """What is right and wrong with events one by one, under one configuration. For any number of threads."""

    def __init__(self, configuration: Configure) -> None:
        self.configuration: Final = configuration
        self._analyser: Final = Analyser(configuration.analyser)
        self._right: Final[OrderedDict[str, None]] = OrderedDict()
        self._lock: Final = threading.Lock()

    def prepare(self, given: Sequence[bytes | Event]) -> Prepared:
        """Judge a submission, which must not be beyond the bounds."""
        lines = [event if type(event) is bytes else _line_of(event) for event in given]
        n_bytes = sum(map(len, lines)) + len(lines)
        if len(lines) > MAX_SUBMISSION_EVENTS:
            raise _too_large(f"{len(lines)} events", f"at most {MAX_SUBMISSION_EVENTS}")
        if n_bytes > MAX_SUBMISSION_BYTES:
            raise _too_large(f"{n_bytes} bytes", f"at most {MAX_SUBMISSION_BYTES}")
        space = self.configuration.space
        events: list[Judged | None] = list(plain_messages(lines, space))
        late: dict[int, InputError] = {}
        for index, event in enumerate(events):
            if event is None:
                events[index] = self._judged(lines, index, space, late)
        return Prepared(self.configuration, lines, cast(list[Judged], events), late, n_bytes)

    def _judged(self, lines: list[bytes], index: int, space: Space, late: dict[int, InputError]) -> Judged:
        line = lines[index].strip(b"\r\n")
        try:
            event = decode_event(line, space)
        except InputError as error:
            return error
        lines[index] = line if b"\n" not in line and b"\r" not in line else encode_event(event)
        if isinstance(event, Register | Replace):
            try:
                with self._lock:
                    self._check(event.subscription)
            except InputError as error:
                late[index] = error
        return event

    def _check(self, subscription: Subscription) -> None:
        """What `columns.encode.BlockBuilder` would refuse."""
        if isinstance(subscription, Within | Around):
            when = subscription.when
            if when is None or when in self._right:
                return
            try:
                clauses_of(when, self._analyser.words)
            except InputError as error:
                raise InputError([replace(p, place=f"$.when:{p.place}") for p in error.problems]) from None
            self._right[when] = None
            if len(self._right) > REMEMBERED_EXPRESSIONS:
                self._right.popitem(last=False)
            return
        text = subscription.text
        if not (self._analyser.words(text) if text is not None else subscription.words):
            place = "$.words" if text is None else "$.text"
            raise InputError(Problem("words-empty", place, "", "at least one word", "without a word nothing can match"))


def judge_of_first(given: Sequence[bytes | Event], *, partial: bool) -> Judge:
    """The judge of a submission that begins a log: under its own configuration, or the default."""
    line = b"" if not given else given[0] if isinstance(given[0], bytes) else _line_of(given[0])
    try:
        first = decode_event(line.strip(b"\r\n"), Globe())
        return Judge(first if isinstance(first, Configure) else Configure())
    except InputError:
        # Nothing will be taken, unless it is taken in part; the rest is judged in the space that was meant.
        return Judge(Configure(space=(not partial and configured_space(line)) or Globe()))


def admit(prepared: Prepared, ledger: Ledger, position: int, *, partial: bool, judged: bool = False) -> Admitted:
    """Take a submission into the ledger: all of it or nothing, or only what is good of it. One that was `judged`
    elsewhere is taken whatever the ledger says.
    """
    lines, rejected, n_problems, mark = prepared.lines, list[Rejected](), 0, ledger.mark()
    publish, late = ledger.publish, prepared.late
    for index, event in enumerate(prepared.events):
        if isinstance(event, PlainMessage | Publish):
            if publish(event.id, event.ts, event.expires):
                continue
            event = Publish(event.id, ts=event.ts, expires=event.expires)
        if judged and not isinstance(event, InputError):
            ledger.take(event)
            continue
        problems = _problems_of(event, position + index, ledger, late.get(index))
        if problems:
            n_problems += event.total if isinstance(event, InputError) else len(problems)
            told = tuple(replace(problem, line=index) for problem in problems[:MAX_PROBLEMS])
            rejected.append(Rejected(index, lines[index], told))
    if not rejected:
        return Admitted(lines, ())
    if partial:
        bad = {one.at for one in rejected}
        return Admitted([line for index, line in enumerate(lines) if index not in bad], tuple(rejected))
    ledger.back_to(mark)
    raise InputError([problem for one in rejected for problem in one.problems], n_problems)


def _problems_of(event: Judged, position: int, ledger: Ledger, late: InputError | None) -> Sequence[Problem]:
    if isinstance(event, InputError):
        return event.problems
    assert not isinstance(event, PlainMessage)
    problems = ledger.check(position, event)
    if not problems and late is not None:
        return late.problems
    if not problems:
        ledger.apply(event)
    return problems


def _line_of(event: object) -> bytes:
    if isinstance(event, Struct):
        try:
            return encode_event(cast(Event, event))
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise InputError(Problem("field-type", "$", str(error), "an event")) from None
    if isinstance(event, bytes | bytearray | memoryview):
        return bytes(event)
    raise InputError(Problem("field-type", "$", type(event).__name__, "an event, or its line as bytes"))


def _too_large(found: str, expected: str) -> LimitError:
    return LimitError(Problem("limit-reached", "events", found, expected, "append it in several submissions"))
