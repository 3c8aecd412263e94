"""Lines become the block that a builder makes of their events, array by array."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.worlds import generator
from tests.oracle.logs import PROFILES, as_ndjson, random_log
from tests.unit.columns.comparing import assert_same_block
from tests.unit.log.events_at_random import PLANE, events, messages

from tidings.columns import block as b
from tidings.columns.encode import BlockBuilder
from tidings.columns.scanning import scan_messages
from tidings.log import decoding
from tidings.log.decoding import Decoder
from tidings.log.event_fields import event_to_fields
from tidings.log.wire import decode_event, encode_event
from tidings.model.errors import FileError, InputError
from tidings.model.events import AnalyserConfiguration, Configure, Globe, Publish, Register
from tidings.model.regions import Box
from tidings.model.subscriptions import Within

SPACES = [Globe(), PLANE]


def built(configuration, lines, positions):
    """What a builder makes of lines."""
    builder = BlockBuilder(configuration)
    for position, line in zip(positions, lines, strict=True):
        builder.add(position, decode_event(line, configuration.space))
    return builder.build()


def configured(lines):
    """The configuration that a log begins with, or the default."""
    first = decode_event(lines[0], Globe())
    return first if isinstance(first, Configure) else Configure()


def frames_of(lines, random: Random, first=0):
    """The lines in frames of random sizes."""
    frames, at = [], 0
    while at < len(lines):
        n = random.randint(1, max(1, len(lines) // 4))
        frames.append((first + at, len(lines[at : at + n]), b"\n".join(lines[at : at + n])))
        at += n
    return frames


@pytest.mark.parametrize("profile", PROFILES)
def test_logs_of_all_kinds(profile, seed):
    random = generator(seed, profile)
    for number in range(6):
        lines = as_ndjson(random_log(seed + number, 300, profile)).splitlines()
        configuration = configured(lines)
        decoder = Decoder(configuration)
        wanted = built(configuration, lines, range(len(lines)))
        assert_same_block(decoder.block(frames_of(lines, random)), wanted)
        # The same decoder again, without some positions, and at other ones.
        skipped = set(random.sample(range(len(lines)), random.choice([1, 20, 250])))
        kept = [i for i in range(len(lines)) if i not in skipped]
        wanted = built(configuration, [lines[i] for i in kept], kept)
        assert_same_block(decoder.block(frames_of(lines, random), skipped), wanted)
        wanted = built(configuration, lines[1:], range(10**12, 10**12 + len(lines) - 1))
        assert_same_block(decoder.block(frames_of(lines[1:], random, 10**12)), wanted)


@pytest.mark.parametrize("analyser", [
    AnalyserConfiguration(language="en", stemming=True),
    AnalyserConfiguration(stop_words=("flood", "w1")),
], ids=["stemming", "stop words"])  # fmt: skip
def test_other_analysers(analyser, seed):
    configuration = Configure(analyser=analyser)
    texts = ["Bridges are closed", "the flood, the FLOOD", "w1 w2", "Überflutung im Park", ""]
    lines = [encode_event(Publish(f"m{i}", at=(1.0, 2.0), text=text)) for i, text in enumerate(texts)]
    whens = ["bridges", "bridges AND roads", "roads OR w2 OR roads", "w2 roads"]
    lines += [encode_event(Register(Within(f"s{i}", Box((0, 0, 1, 1)), when))) for i, when in enumerate(whens)]
    block = Decoder(configuration).block(frames_of(lines, Random(seed)))
    assert_same_block(block, built(configuration, lines, range(len(lines))))


def written(fields, style):
    """The same JSON value as other programs write it."""
    if style == "shuffled":
        fields = dict(sorted(fields.items(), key=lambda item: hash(item[0]) % 7))
    if style == "nulls":
        empty = dict.fromkeys(["ts", "at", "box", "text", "words", "expires", "attributes"])
        fields = {**fields, **{name: value for name, value in empty.items() if name not in fields}}
    separators = (" , ", " :\t") if style == "spacious" else (",", ":")
    return json.dumps(fields, ensure_ascii=style != "unicode", separators=separators).encode()


STYLES = ["compact", "spacious", "shuffled", "unicode", "nulls"]


@settings(max_examples=150)
@given(st.data(), st.sampled_from(SPACES))
def test_messages_however_they_are_written(data, space):
    lines = []
    for event in data.draw(st.lists(messages(space), min_size=1, max_size=8)):
        fields = event_to_fields(event)
        if "attributes" in fields:
            fields["attributes"] = json.loads(bytes(fields["attributes"]))
        line = written(fields, data.draw(st.sampled_from(STYLES)))
        try:
            decode_event(line, space)
        except InputError:  # attributes that are too long when every character is escaped
            continue
        lines.append(line)
    configuration = Configure(space=space)
    block = Decoder(configuration).block(frames_of(lines, Random(0), first=7))
    assert_same_block(block, built(configuration, lines, range(7, 7 + len(lines))))


@settings(max_examples=100)
@given(st.lists(events(Globe()), max_size=12), st.lists(events(PLANE), max_size=12))
def test_events_of_all_kinds(on_globe, in_plane):
    for space, some in ((Globe(), on_globe), (PLANE, in_plane)):
        configuration, lines, judge = Configure(space=space), [], BlockBuilder(Configure(space=space))
        for event in some:
            try:
                judge.add(1, event)
            except InputError:  # an expression that is none
                continue
            lines.append(encode_event(event))
        block = Decoder(configuration).block(frames_of(lines, Random(1), first=1))
        assert_same_block(block, built(configuration, lines, range(1, 1 + len(lines))))


NUMBERS = ["1e-7", "-0.0", "-0", "1E5", "0", "7", "123456789012345678901", "0.1000000000000000055511151231257827",
           "9007199254740993", "5e-324", "2.5e-310", "0.30000000000000004", "1e2"]  # fmt: skip


def test_numbers_however_they_are_written():
    plane = '{"op":"configure","space":{"plane":[-1e30,-1e30,1e30,1e30]}}'
    configuration = decode_event(plane.encode(), Globe())
    lines = [f'{{"op":"publish","id":"m{x}{y}","at":[{x},{y}],"words":[]}}'.encode() for x in NUMBERS for y in NUMBERS]
    lines += [
        f'{{"op":"register","id":"s{x}","kind":"within","where":{where}}}'.encode()
        for x in NUMBERS
        for where in (f'{{"box":[{x},{x},1e25,1e25]}}', f'{{"circle":[{x},{x},5]}}')
    ]
    lines += [f'{{"op":"move","id":"s","at":[{x},{x}]}}'.encode() for x in NUMBERS]
    block = Decoder(configuration).block([(1, len(lines), b"\n".join(lines))])
    assert_same_block(block, built(configuration, lines, range(1, 1 + len(lines))))


def test_most_lines_are_scanned(monkeypatch, seed):
    """The fallback is exact too, so only this tells whether anything is fast."""
    seen = []
    monkeypatch.setattr(decoding, "scan_messages", lambda *args: seen.append(scan_messages(*args)) or seen[-1])
    lines = as_ndjson(random_log(seed, 300, "within")).splitlines()
    published = sum(b'"publish"' in line for line in lines)
    Decoder(configured(lines)).block([(0, len(lines), b"\n".join(lines))])
    assert published > 100
    assert seen[0].plain.sum() > 0.8 * published


def test_nothing_is_an_empty_block():
    decoder = Decoder(Configure())
    assert len(decoder.block([]).op) == 0
    assert len(decoder.block([(3, 1, b'{"op":"tick","ts":1}')], {3}).op) == 0
    assert len(decoder.block([(0, 1, b'{"op":"configure"}')]).op) == 0


def test_a_frame_with_another_number_of_lines():
    with pytest.raises(FileError) as caught:
        Decoder(Configure()).block([(5, 3, b'{"op":"tick","ts":1}\n{"op":"tick","ts":2}')])
    assert caught.value.code == "file-corrupt"
    assert "5" in caught.value.problems[0].place


def test_a_line_that_is_no_event_after_all():
    decoder = Decoder(Configure())
    good = b'{"op":"publish","id":"m","at":[1,2],"text":"x"}'
    for bad in (b"{}", b'{"op":"register","id":"s","kind":"within","where":"everywhere","when":"a AND"}'):
        with pytest.raises(InputError) as caught:
            decoder.block([(7, 3, b"\n".join([b'{"op":"remove","id":"s"}', bad, good]))])
        assert caught.value.problems[0].line == 8
        block = decoder.block([(7, 1, good)])
        assert_same_block(block, built(Configure(), [good], [7]))


def test_records_that_nobody_has_looked_at(seed):
    good = as_ndjson(random_log(seed, 200)).splitlines()
    configuration = configured(good)
    bad = {
        b"": "json-invalid",
        b"\xff": "json-encoding",
        b"{}": "field-missing",
        b'{"op":"publish","id":"m","at":[1,1],"text":"x","text":"y"}': "json-duplicate-key",
        b'{"op":"publish","id":"m","at":[1,1e3],"text":"x"}': "place-outside",
        b'{"op":"register","id":"s","kind":"within","where":"everywhere","when":"a AND"}': "expression-syntax",
        b'{"op":"configure"}': "configure-late",
        b'{"op":"publish","id":"m","at":[0.5,0.5],"text":"%s"}' % (b"x" * 70_000): "line-too-long",
    }
    records, wanted, positions = [], [], []
    for position, line in enumerate(good):
        wanted.append(line)
        positions.append(len(records))
        records.append((len(records), line))
        if position % 20 == 7:
            records += [(len(records) + i, raw) for i, raw in enumerate(bad)]
    # A line break inside a record is white space.
    records.append((len(records), b'{"op":"publish",\n"id":"last",\r\n"at":[0.5,0.5],"text":"x"}'))
    wanted.append(records[-1][1])
    positions.append(records[-1][0])
    block, refused = Decoder(configuration).checked_block(records)
    assert_same_block(block, built(configuration, wanted, positions))
    assert len(refused) == 10 * len(bad)
    assert {position for position, _, _ in refused}.isdisjoint(positions)
    for position, raw, error in refused:
        assert records[position][1] == raw
        assert error.code == bad[raw]
    assert b.PUBLISH in block.op
