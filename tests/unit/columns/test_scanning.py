"""What the scanner takes, it takes exactly; and it takes what programs write."""

import json

import numpy as np
import pytest

from tidings.columns.block import NEVER, NO_TIME
from tidings.columns.scanning import scan_messages

HEAD = '{"op":"publish","id":"m","at":[1,2],'


def scanned(*lines):
    data = "".join(lines).encode(errors="surrogatepass")
    edges = np.cumsum([0, *(len(line.encode(errors="surrogatepass")) for line in lines)])
    return scan_messages(np.frombuffer(data, np.uint8), edges[:-1], edges[1:])


def scanned_place(numbers):
    found = scanned(f'{{"op":"publish","id":"m","at":{numbers},"text":""}}')
    return found.place.tolist() if found.plain[0] else None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("[1,2]", [1.0, 2.0]),
        (" [ 1 , 2.50 ] ", [1.0, 2.5]),
        ("[1e-7,1E5]", [1e-7, 1e5]),
        ("[-1.5e+1,0.000123]", [-15.0, 0.000123]),
        ("[0,0.0]", [0.0, 0.0]),
        ("[0e5,0.1E-0]", [0.0, 0.1]),
        ("[13.404953999999999,-52.520006599999995]", [13.404953999999999, -52.520006599999995]),
        ("[9007199254740993,1.7976931348623157e-200]", [9007199254740992.0, 1.7976931348623157e-200]),
        ("[0.00000000000000000000000000001,2]", [1e-29, 2.0]),
    ],
)
def test_numbers(written, meant):
    assert scanned_place(written) == [meant + meant]


@pytest.mark.parametrize(
    "written",
    ["[-0.0,1]", "[-0,1]", "[1.00000000000000000001,1]", "[1e300,1]", "[1e-99999999999,1]", "[1]", "[1,2,3]", "[1,2",
     "[,]", "[-,1]", "[1e,1]", '["1",2]', "[]", "{}", "1"],
)  # fmt: skip
def test_numbers_for_somebody_else(written):
    assert scanned_place(written) is None


@pytest.mark.parametrize(
    "text",
    ["", "plain words", 'a "quoted" one', "back\\slash / and \\u0041", "\b\f\n\r\t\x00", "é東京🌊", "{[,:]}",
     "x" * 5000, "\uffff\ue000\ud7ff", "\U0010ffff\U00010000"],
)  # fmt: skip
@pytest.mark.parametrize("ascii_", [True, False])
def test_strings(text, ascii_):
    line = json.dumps({"op": "publish", "text": text, "id": "m", "at": [1, 2]}, ensure_ascii=ascii_)
    lists = json.dumps({"op": "publish", "words": [text, "", text], "id": "m", "at": [1, 2]}, ensure_ascii=ascii_)
    found = scanned(line, lists, line)
    assert found.plain.all()
    assert found.text.strings() == [text, text]
    assert found.word.strings() == [text, "", text]
    assert found.list_start.tolist() == [0, 3]
    assert found.is_text.tolist() == [True, False, True]


@pytest.mark.parametrize(
    "text", [r'"\ud800"', r'"\udc00"', r'"\ud800A"', r'"\u12"', r'"\x"', '"', "7", "[]", r'"\uD83Dxu0041"']
)
def test_strings_that_are_none(text):
    assert not scanned(f'{HEAD}"text":{text}}}').plain[0]


def test_every_field_in_any_order_with_space_and_nulls():
    found = scanned(
        '{"op":"publish","id":"a","ts":-5,"at":[1,2],"text":"x","expires":1}',
        '\t{ "attributes" : {"a":[{"}":"\\"}{"}],"op":"retract"} , "box":[ 1,2 ,3,4], "at" : null ,'
        '"words":[ ],"text":null,"expires":null,"id":"","ts":null,"op" :"publish" } \r',
        '{"op":"publish","ts":1,"id":"\\u0062","text":"y","at":[3,4],"attributes":{}}',
    )
    assert found.plain.all()
    assert found.time.tolist() == [-5, NO_TIME, 1]
    assert found.expires.tolist() == [1, NEVER, NEVER]
    assert found.id.strings() == ["a", "", "b"]
    assert found.place.tolist() == [[1, 2, 1, 2], [1, 2, 3, 4], [3, 4, 3, 4]]
    assert found.list_start.tolist() == [0, 0]
    assert found.text.strings() == ["x", "y"]


NOT_PLAIN = [
    "", " ", "{}", "[]", "null", "{", '{"op"', '{"op":', '{"op":"publish"', HEAD, HEAD + "}",
    '{"op":"tick","ts":1}',
    '{"op":"retract","id":"m"}',
    '{"op":"publish","id":"m","at":[1,2]}',
    '{"op":"publish","id":"m","text":"x"}',
    '{"op":"publish","at":[1,2],"text":"x"}',
    '{"id":"m","at":[1,2],"text":"x"}',
    '{"op":"published","id":"m","at":[1,2],"text":"x"}',
    '{"op":"Publish","id":"m","at":[1,2],"text":"x"}',
    HEAD + '"text":"x"} {}',
    HEAD + '"text":"x"}}',
    HEAD + '"text":"x",}',
    HEAD + '"text":"x" "ts":1}',
    HEAD + '"text":"x","text":"y"}',
    HEAD + '"text":"x","words":[]}',
    HEAD + '"text":"x","box":[1,2,3,4]}',
    HEAD + '"text":"x","other":1}',
    HEAD + '"text":"x","attributez":{}}',
    HEAD + '"text":"x","attributes":{"a":{}}',
    HEAD + '"text":"x","attributes":[]}',
    HEAD + '"text":"x","ts":1.0}',
    HEAD + '"text":"x","ts":1e3}',
    HEAD + '"text":"x","ts":12345678901234567890}',
    HEAD + '"text":"x","ts":"1"}',
    HEAD + '"te\\u0078t":"x"}',
    HEAD.replace('"m"', '"é"') + '"text":"x"}',
    HEAD.replace('"m"', '"\\u00e9"') + '"text":"x"}',
    HEAD.replace('"m"', "5") + '"text":"x"}',
    HEAD + '"words":["x"',
    HEAD + '"words":["x" "y"]}',
    HEAD + '"words":"x"}',
]  # fmt: skip


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_not_plain_and_no_trace_of_it(line):
    good = '{"op":"publish","id":"good","at":[5,6],"words":["w"],"ts":7}'
    found = scanned(good, line, good)
    assert found.plain.tolist() == [True, False, True]
    assert found.id.strings() == ["good", "good"]
    assert found.word.strings() == ["w", "w"]
    assert found.time.tolist() == [7, 7]
    assert found.place.tolist() == [[5, 6, 5, 6]] * 2
    assert len(found.text.data) == 0


def test_cut_anywhere_it_stays_inside(seed):
    """A line that ends where it should not never reads on into the next."""
    line = '{"op":"publish","id":"m\\u0041","at":[-1.5e1,2],"text":"x\\ud83c\\udf0a","attributes":{"a":"}"},"ts":17}'
    assert scanned(line).plain[0]
    for end in range(1, len(line)):
        found = scanned(line[:end], line[end:])
        assert not found.plain.any()
