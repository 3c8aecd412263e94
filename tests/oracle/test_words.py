"""The oracle's analysis and expressions against examples that were worked out by hand."""

import pytest

from tests.oracle.analysis import analysed
from tests.oracle.expressions import parse, satisfies


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Flood at the BRIDGE!", ["flood", "at", "the", "bridge"]),
        ("don't can’t rock'n'roll 'quoted'", ["don't", "can’t", "rock'n'roll", "quoted"]),
        ("3.14 1,000 v2.0 a.b end. 5,a", ["3.14", "1,000", "v2.0", "a.b", "end", "5", "a"]),
        ("u_turn _x_ __ foo-bar a:b", ["u_turn", "_x_", "foo", "bar", "a:b"]),
        ("Straße ﬁre ｆｌｏｏｄ CAFE\u0301", ["strasse", "fire", "flood", "café"]),
        ("東京都 東 京", ["東京", "京都", "東", "京"]),
        ("ｶﾀｶﾅtower", ["カタ", "タカ", "カナ", "tower"]),
        ("ひらがな。", ["ひら", "らが", "がな"]),
        ("홍수 경보", ["홍수", "경보"]),
        ("flood flood", ["flood", "flood"]),
        ("🌊 … -- !", []),
    ],
)
def test_words_of_a_text(text, words):
    assert analysed(text) == words


def test_stop_words():
    assert analysed("The flood, the road", frozenset(["the"])) == ["flood", "road"]


@pytest.mark.parametrize(
    ("expression", "words", "expected"),
    [
        ("flood", "flood", True), ("Flood", "flood", True), ('"Flood"', "flood", False), ("flood road", "flood", False),
        ("a OR b c", "a", True), ("a OR b c", "b", False), ("(a OR b) c", "a", False), ("(a OR b) c", "a c", True),
        ("a AND NOT b c", "a c", True), ("a AND NOT b c", "a b c", False), ("a AND NOT (b OR c)", "a c", False),
        ("NOT NOT a", "a", True), ("a NOT b-c", "a b", True), ("a NOT b-c", "a b c", False), ("a and b", "a b", False),
        ("a and b", "a and b", True), ('a "AND"', "a AND", True), ("a AND NOT a", "a", False),
        ("東京都", "東京 京都", True),
        ("a OR b AND NOT c", "a c", True), ("(((a)))", "a", True), ('a"b"', "a b", True),
    ],
)  # fmt: skip
def test_expressions(expression, words, expected):
    assert satisfies(set(words.split()), parse(expression, analysed)) is expected


def test_a_quoted_word_may_have_blanks():
    assert satisfies({"Big Dam"}, parse('road OR "Big Dam"', analysed))


@pytest.mark.parametrize("expression", ["", "a AND", "OR a", "(a", "a)", "()", 'a "b', "NOT", "a OR OR b", "!!!", '""'])
def test_what_does_not_parse(expression):
    with pytest.raises(ValueError, match=r"."):
        parse(expression, analysed)
