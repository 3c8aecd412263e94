"""Submissions to a log are judged exactly as files are, and a ledger goes back to where it was."""

import os
import random

import pytest
from hypothesis import given
from tests.unit.log.events_at_random import logs
from tests.unit.log.logs_on_disk import message

from tidings.columns.encode import BlockBuilder
from tidings.log.admission import Judge, admit, judge_of_first
from tidings.log.bookkeeping import Bookkeeping
from tidings.log.ledger import Ledger
from tidings.log.wire import decode_event, encode_event
from tidings.model.errors import InputError
from tidings.model.events import Configure, Globe

SEED = int(os.environ.get("TIDINGS_SEED", random.SystemRandom().randrange(2**32)))


def judged_as_a_file(lines):
    """What a file of these lines would say: (line, code, place) of every problem."""
    first = decode_event(lines[0], Globe())
    configuration = first if isinstance(first, Configure) else Configure()
    ledger, builder, problems = Ledger(), BlockBuilder(configuration), []
    for position, line in enumerate(lines):
        try:
            event = decode_event(line, configuration.space)
            found = ledger.check(position, event)
            if not found:
                builder.add(position, event)
                ledger.apply(event)
        except InputError as error:
            found = error.problems
        problems += [(position, problem.code, problem.place) for problem in found]
    return problems, ledger


@given(logs(12))
def test_the_same_problems_as_a_file(events):
    lines = [encode_event(event) for event in events]
    expected, right = judged_as_a_file(lines) if lines else ([], Ledger())
    prepared = judge_of_first(lines, partial=False).prepare(lines)
    ledger = Ledger()
    before = ledger.kept()
    try:
        admit(prepared, ledger, 0, partial=False)
        found = []
        assert ledger.kept() == right.kept()
    except InputError as error:
        found = [(problem.line, problem.code, problem.place) for problem in error.problems]
        assert ledger.kept() == before
    assert found == expected[: len(found)]
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(
    "fields",
    [
        '"kind":"within","where":"everywhere","when":"a AND"',
        '"kind":"within","where":"everywhere","when":"NOT a"',
        '"kind":"around","at":[1,2],"shape":{"radius_m":5},"when":"(a"',
        '"kind":"best","at":[1,2],"k":2,"alpha":0.5,"text":"..."',
        '"kind":"nearest","at":[1,2],"k":2,"text":"!"',
    ],
)
def test_what_blocks_would_refuse_is_refused(fields):
    line = f'{{"op":"register","id":"s",{fields}}}'.encode()
    with pytest.raises(InputError) as expected:
        BlockBuilder(Configure()).add(1, decode_event(line, Globe()))
    with pytest.raises(InputError) as caught:
        admit(Judge(Configure()).prepare([line]), Ledger(), 1, partial=False)
    told = [(p.code, p.place, p.found, p.expected, p.hint) for p in expected.value.problems]
    assert [(p.code, p.place, p.found, p.expected, p.hint) for p in caught.value.problems] == told
    assert all(problem.line == 0 for problem in caught.value.problems)


def test_a_ledger_goes_back_past_deaths_and_sweeps():
    print(f"TIDINGS_SEED={SEED}")
    chance = random.Random(SEED)
    ledger, judge = Ledger(), Judge(Configure())
    ledger.apply(decode_event(b'{"op":"configure","window":{"messages":50,"ms":1000}}', Globe()))
    n_refused = 0
    for trial in range(200):
        lines = [message(chance.randrange(120), ts=trial * 20 + i) for i in range(chance.randrange(1, 60))]
        lines += [b'{"op":"retract","id":"m%d"}' % chance.randrange(120)] * chance.randrange(2)
        before = ledger.kept()
        try:
            admit(judge.prepare(lines), ledger, 1, partial=False)
            ledger.forget()
        except InputError:
            n_refused += 1
            assert sorted(ledger.kept().lives) == sorted(before.lives)
            assert ledger.kept()[:5] == before[:5]
    assert 10 < n_refused < 190


def test_a_checkpoint_says_everything_and_a_part_less_says_nothing():
    books = Bookkeeping()
    lines = [message(i, ts=i, **({"expires": i + 10**6} if i % 2 else {})) for i in range(20_000)]
    lines.append(b'{"op":"register","id":"s1","kind":"nearest","text":"flood","at":[1,2],"k":3}')
    admit(Judge(Configure()).prepare(lines), books.ledger, 0, partial=False)
    books.keep(len(lines))
    parts = [part.row()[1] for part in books.parts()]
    again = Bookkeeping.from_parts(parts)
    assert again is not None
    assert again.ledger.kept() == books.ledger.kept()
    assert again.position == len(lines)
    assert len(parts) > 3
    for i in range(len(parts)):
        assert Bookkeeping.from_parts(parts[:i] + parts[i + 1 :]) is None
    assert Bookkeeping.from_parts([*parts[:2], parts[2][:-1] + b"\x07", *parts[3:]]) is None
