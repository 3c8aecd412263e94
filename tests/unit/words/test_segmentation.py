"""Segmentation against the word boundary rules of UAX 29 written down one by one."""

import sys
from itertools import pairwise

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidings.words.segmentation import folded, segmented

CLASSES = ["ALetter", "Hebrew_Letter", "Numeric", "Katakana", "ExtendNumLet", "Extend", "Format", "ZWJ"]
CLASSES += ["MidLetter", "MidNum", "MidNumLet", "Single_Quote", "Double_Quote"]
CJK = regex.compile(r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{WB=Katakana}]")
SPOKEN = regex.compile(r"[\p{L}\p{N}]")
PICTOGRAPH = regex.compile(r"\p{Extended_Pictographic}")


def class_of(character):
    if CJK.match(character) and SPOKEN.match(character):
        return "CJK"
    return next((name for name in CLASSES if regex.match(rf"\p{{WB={name}}}", character)), "Other")


def boundaries(text):
    """The segments of a text, by asking of each gap whether a rule forbids a boundary."""
    letters = ("ALetter", "Hebrew_Letter")
    between_letters = ("MidLetter", "MidNumLet", "Single_Quote")
    between_digits = ("MidNum", "MidNumLet", "Single_Quote")
    units = []  # (class, text): WB4 folds what extends a character into it
    for character in text:
        kind = class_of(character)
        if kind in ("Extend", "Format", "ZWJ") and units and units[-1][1][0] not in "\r\n\v\f\x85\u2028\u2029":
            units[-1] = (units[-1][0], units[-1][1] + character)
        else:
            units.append((kind, character))
    kinds = ["", "", *(kind for kind, _ in units), "", ""]
    segments = []
    for i, (kind, unit) in enumerate(units):
        two_before, before, after = kinds[i], kinds[i + 1], kinds[i + 3]
        joined = (
            (before in letters and kind in letters)
            or (before in letters and kind in between_letters and after in letters)
            or (two_before in letters and before in between_letters and kind in letters)
            or (before == "Hebrew_Letter" and kind == "Single_Quote")
            or (before == "Hebrew_Letter" and kind == "Double_Quote" and after == "Hebrew_Letter")
            or (two_before == "Hebrew_Letter" and before == "Double_Quote" and kind == "Hebrew_Letter")
            or (before == "Numeric" and kind == "Numeric")
            or (before in letters and kind == "Numeric")
            or (before == "Numeric" and kind in letters)
            or (two_before == "Numeric" and before in between_digits and kind == "Numeric")
            or (before == "Numeric" and kind in between_digits and after == "Numeric")
            or (before in (*letters, "Numeric", "ExtendNumLet") and kind == "ExtendNumLet")
            or (before == "ExtendNumLet" and kind in (*letters, "Numeric"))
            or (i > 0 and units[i - 1][1].endswith("\u200d") and PICTOGRAPH.match(unit[0]) is not None)
        )
        if joined:
            segments[-1] = (segments[-1][0], segments[-1][1] + unit)
        else:
            segments.append((kind, unit))
    return segments


def expected(text):
    words = []
    run = []
    for kind, segment in [*boundaries(text), ("end", "")]:
        if kind == "CJK":
            run.append(segment)
            continue
        words.extend(map("".join, pairwise(run)) if len(run) > 1 else run)
        run = []
        if SPOKEN.search(segment):
            words.append(segment)
    return words


TELLING = (
    "abzA019__..,,::;;''\"\"!-/ \t\n\u00ad\u200d\u0301\u0308\u05d0\u05d1\u05f4\u00b7\u2019\u2044\u0660\u066c\u3005"
    "漢字かなカナー゠\U0001f600\u00e9ßŉǰİΣς\u0345\u1fb3ก\u0e31한국\u20dd\ufe0f\u2028½\u2460ﬁ\U000e0100\U0001f170\U0001f171\u0600\u02c5\xa9々"
)
texts = st.text(st.sampled_from(TELLING), max_size=14) | st.text(max_size=14)


def test_folding_a_single_character_twice_changes_nothing():
    for number in range(sys.maxunicode + 1):
        if not 0xD800 <= number < 0xE000:
            once = folded(chr(number))
            assert folded(once) == once


@given(texts)
def test_folding_twice_changes_nothing(text):
    assert folded(folded(text)) == folded(text)


@settings(max_examples=2500, deadline=None)
@given(texts)
@example("כ'א ב'1 ג\"ד \"ה ו\"a ז'")
@example("a\u200d\U0001f600\u200d\U0001f600b")
@example("'_'._a_.1_a'b'_")
@example("漢\u200d\U0001f600字")
@example("a\u200d\U0001f600\u200d\U0001f600\u0308b \U0001f170b'c \u02c5 \u0600 \u02c5a é")
def test_words_are_those_of_the_rules(text):
    text = folded(text)
    if "\u200d" not in text or not regex.search(r"[\p{Extended_Pictographic}&&\p{WB=ALetter}]", text, regex.V1):
        assert segmented(text) == expected(text)


@settings(max_examples=2500)
@given(st.text(st.sampled_from("ab7 _.,:;'\"-/"), max_size=12))
def test_ascii_follows_the_same_rules_alone_as_beside_other_text(text):
    assert segmented(text) == expected(text) == segmented("漢 " + text)[1:]


@settings(max_examples=1500)
@given(texts)
def test_every_word_is_a_word_again(text):
    for word in segmented(folded(text)):
        assert folded(word) == word
        assert segmented(word) == [word]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't PANIC, it's 3.14!", ["don't", "panic", "it's", "3.14"]),
        ("1,000;2 a:b a.b.c u_v __ x.", ["1,000;2", "a:b", "a.b.c", "u_v", "x"]),
        ("a.1 1.a a,b 1:2 e-mail", ["a", "1", "1", "a", "a", "b", "1", "2", "e", "mail"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("ﬁre ①", ["fire", "1"]),
        ("東京都の水", ["東京", "京都", "都の", "の水"]),
        ("水 Wasser水", ["水", "wasser", "水"]),
        ("ラーメン", ["ラー", "ーメ", "メン"]),
        ("ﾗｰﾒﾝ", ["ラー", "ーメ", "メン"]),
        ("한국 사람", ["한국", "사람"]),
        ("…— 😀", []),
        ("", []),
    ],
)
def test_examples(text, words):
    assert segmented(folded(text)) == words


@pytest.mark.parametrize(
    "piece",
    [
        "_",
        "a'",
        "'",
        "\u0301",
        "a\u0301'",
        "1,",
        "漢\u200d",
        "a",
        "é\u200d\U0001f600\u200d",
        '\u05d0"',
        "\u05d0'",
        "é_",
    ],
)
def test_a_long_text_takes_linear_time(piece):
    segmented(piece * 60_000 + "é.")
    segmented(piece * 60_000)
