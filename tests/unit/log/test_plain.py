"""Plain messages are what `decode_event` says they are, and nothing that it refuses is plain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.log.events_at_random import PLANE, messages

from tidings.log.plain import plain_messages
from tidings.log.wire import decode_event, encode_event
from tidings.model.errors import InputError
from tidings.model.events import Globe, Publish

PLAIN = b'{"op":"publish","id":"m1","at":[1,2],"text":"x"}'


@given(st.sampled_from([Globe(), PLANE]).flatmap(lambda space: st.tuples(st.just(space), messages(space))))
def test_it_agrees_with_the_wire(given):
    space, event = given
    line = encode_event(event)
    (plain,) = plain_messages([line], space)
    if plain is not None:
        assert isinstance(event, Publish)
        assert (plain.id, plain.ts, plain.expires) == (event.id, event.ts, event.expires)
        assert decode_event(line, space) == event


def test_most_lines_are_plain():
    lines = [PLAIN, PLAIN.replace(b'"text":"x"', b'"words":["a","b"],"ts":5,"expires":9')]
    assert None not in plain_messages(lines, Globe())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"text"', b'"id":"m2","text"'),
        (b'"text"', b'"at":[1,2],"text"'),
        (b'"text"', b'"text":"y","text"'),
        (b'"text":"x"', b'"text":null,"words":["a"]'),
        (b'"text":"x"', b'"text":"x","words":["a"]'),
        (b',"text":"x"', b""),
        (b"[1,2]", b"[1,92]"),
        (b"[1,2]", b"[181,2]"),
        (b"[1,2]", b"[1]"),
        (b"}", b"} "),
        (b"}", b'},{"op":"tick"}'),
        (b"}", b',"extra":1}'),
        (b"}", b',"ts":1.0}'),
        (b"}", b',"ts":99999999999999999}'),
        (b'"m1"', '"ﬁ"'.encode()),
        (b'"m1"', b'"' + b"x" * 129 + b'"'),
        (b'"m1"', b'"\\u006d1"'),
        (b'"m1"', b'""'),
        (b'"x"', b'"\xff"'),
        (b'"x"', b'"' + b"x" * 70_000 + b'"'),
    ],
)
def test_what_wants_a_closer_look_gets_it(old, new):
    line = PLAIN.replace(old, new, 1)
    assert line != PLAIN
    (plain,) = plain_messages([line], Globe())
    if plain is not None:
        # Spaces after the object are JSON.
        assert decode_event(line, Globe()) == Publish("m1", at=(1.0, 2.0), text="x")
        assert line.strip() == PLAIN


def test_a_refused_line_is_never_plain():
    line = PLAIN.replace(b"2]", b"200]")
    with pytest.raises(InputError):
        decode_event(line, Globe())
    assert plain_messages([line], Globe()) == [None]
