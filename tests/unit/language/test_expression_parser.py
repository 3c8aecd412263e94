import contextlib
import time

import pytest

from tidings.language.parser import parse
from tidings.language.syntax import And, Not, Or, Word
from tidings.model.errors import InputError, Problem
from tidings.model.limits import MAX_DEPTH, MAX_LEAVES

A, B, C = Word("a"), Word("b"), Word("c")


def problem_of(text: str) -> Problem:
    with pytest.raises(InputError) as caught:
        parse(text)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        (" a\n", A),
        ("a b", And((A, B))),
        ("a AND b", And((A, B))),
        ("a OR b AND c", Or((A, And((B, C))))),
        ("a b OR c", Or((And((A, B)), C))),
        ("(a OR b) c", And((Or((A, B)), C))),
        ("(a)(b)", And((A, B))),
        ("NOT a b", And((Not(A), B))),
        ("NOT (a b)", Not(And((A, B)))),
        ("a NOT b", And((A, Not(B)))),
        ("a OR NOT b OR c", Or((A, Not(B), C))),
        ("NOT NOT a", A),
        ("NOT NOT NOT a", Not(A)),
        ("NOT (NOT (a))", A),
        ("a AND (b AND c)", And((A, B, C))),
        ("(a OR b) OR (c)", Or((A, B, C))),
        ("a AND NOT NOT (b AND c)", And((A, B, C))),
        ("a OR NOT NOT (b OR c)", Or((A, B, C))),
        ("and or not", And((Word("and"), Word("or"), Word("not")))),
        ("ANDY NOTE(ORB)", And((Word("ANDY"), Word("NOTE"), Word("ORB")))),
        ("NOT(a)OR(b)", Or((Not(A), B))),
        ('"AND"', Word("AND", True)),
        ('"New York"a"b"', And((Word("New York", True), A, Word("b", True)))),
        (r'"say \"hi\" \\o/"', Word(r'say "hi" \o/', True)),
        (r'"\\\""', Word(r"\"", True)),
        ("R&B AT&T C++ wow! a-b", And(tuple(map(Word, ["R&B", "AT&T", "C++", "wow!", "a-b"])))),
        ("洪水\u3000橋", And((Word("洪水"), Word("橋")))),
    ],
)
def test_trees(text: str, tree: object) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "place", "found", "expected", "advice"),
    [
        ("", "1:1", "the end", "a word", "leave the expression out"),
        (" \n ", "1:1", "the end", "a word", "leave the expression out"),
        ("a AND", "1:6", "the end", "a word, NOT or (", "AND needs an operand on its right"),
        ("a OR ", "1:5", "the end", "a word, NOT or (", "OR needs an operand on its right"),
        ("NOT", "1:4", "the end", "a word, NOT or (", "NOT needs an operand on its right"),
        ("(a AND) b", "1:7", ")", "a word, NOT or (", "AND needs an operand on its right"),
        ("OR a", "1:1", "OR", "a word, NOT or (", "in small letters: or"),
        ("a AND AND b", "1:7", "AND", "a word, NOT or (", "on its left and on its right"),
        ("a NOT OR b", "1:7", "OR", "a word, NOT or (", "on its left and on its right"),
        ("a (b c", "1:3", "(", "a ) further on", "never closed"),
        ("a ((b) c", "1:3", "(", "a ) further on", "never closed"),
        ("a (", "1:4", "the end", "a word, NOT or (", "never closed"),
        ("a) b", "1:2", ")", "the end, or a word", "No ( stands open"),
        (")", "1:1", ")", "a word, NOT or (", "No ( stands open"),
        ("a ()", "1:4", ")", "a word, NOT or (", "Nothing stands between"),
        ('a "b c', "1:3", '"b c', 'a closing "', "never closed"),
        ('a ""', "1:3", '""', "a word between the quotes", "empty word"),
        (r'"a\b"', "1:3", r"\b", r"\" or \\", "backslash is written twice"),
        ('"a\\', "1:3", "\\", r"\" or \\", "backslash is written twice"),
        ("flood, fire", "1:6", ",", "a word, NOT or (", "write OR between words"),
        ("a || b", "1:3", "||", "a word, NOT or (", "Write OR."),
        ("a|b", "1:2", "|", "a word, NOT or (", "Write OR."),
        ("a && b", "1:3", "&&", "a word, NOT or (", "Write AND."),
        ("a&&b", "1:2", "&&", "a word, NOT or (", "Write AND."),
        ("a & b", "1:3", "&", "a word, NOT or (", "Write AND."),
        ("a -b", "1:3", "-", "a word, NOT or (", "Write NOT before the word"),
        ("a !b", "1:3", "!", "a word, NOT or (", "Write NOT before the word"),
        ("a\nb OR\n  c )", "3:5", ")", "the end, or a word", "No ( stands open"),
        ("a\nb OR\n\n", "2:5", "the end", "a word, NOT or (", "OR needs"),
        ("洪水 )", "1:4", ")", "the end, or a word", "No ( stands open"),
    ],
)
def test_errors_say_where_what_and_how(text: str, place: str, found: str, expected: str, advice: str) -> None:
    problem = problem_of(text)
    assert (problem.code, problem.place, problem.found) == ("expression-syntax", place, found)
    assert problem.expected == expected
    assert advice in problem.hint


def test_the_hint_shows_the_line_and_a_caret() -> None:
    assert problem_of("flood AND\n(bridge OR) road").hint.split("\n")[:2] == ["(bridge OR) road", "          ^"]


def test_the_caret_stands_under_its_place_in_wide_and_combining_scripts() -> None:
    assert problem_of("洪水 )").hint.split("\n")[:2] == ["洪水 )", "     ^"]
    assert problem_of("e\u0301te\u0301 )").hint.split("\n")[1] == "    ^"


def test_the_hint_holds_nothing_that_a_terminal_obeys() -> None:
    problem = problem_of("a\tb\r\x1b[31m )")
    line, caret, _ = problem.hint.split("\n")
    assert line == "a b □[31m )"
    assert caret.index("^") == line.index(")")
    assert "\x1b" not in problem_of('"\x1b[31m').found


def test_of_a_long_line_a_window_is_shown() -> None:
    line, caret, _ = problem_of("x" * 500 + " , " + "y" * 500).hint.split("\n")
    assert line.startswith("…x")
    assert line.endswith("y…")
    assert len(line) < 80
    assert line[caret.index("^")] == ","


def test_a_problem_of_a_huge_token_is_short() -> None:
    assert len(str(problem_of('"' + "x" * 60_000))) < 400


def test_the_cap_on_words() -> None:
    words = [f"w{number}" for number in range(MAX_LEAVES + 1)]
    assert parse(" ".join(words[:-1])) == And(tuple(map(Word, words[:-1])))
    problem = problem_of(" ".join(words))
    assert (problem.code, problem.found) == ("expression-limit", words[-1])
    assert problem.place == f"1:{len(' '.join(words[:-1])) + 2}"
    assert "64 words" in problem.expected


@pytest.mark.parametrize("opening", ["(", "NOT ", "NOT("])
def test_the_cap_on_depth(opening: str) -> None:
    levels = MAX_DEPTH // 2 if opening == "NOT(" else MAX_DEPTH
    closing = ")" * levels * opening.count("(")
    assert parse(opening * levels + "a" + closing) == A
    problem = problem_of(opening * levels + "(a)" + closing)
    assert (problem.code, problem.place) == ("expression-limit", f"1:{len(opening * levels) + 1}")
    assert problem_of(opening * levels + "NOT a" + closing).code == "expression-limit"


def test_depth_is_nesting_not_number() -> None:
    assert parse("(a)" * 40) == And((A,) * 40)
    assert parse(" ".join(["NOT a"] * 40)) == And((Not(A),) * 40)


@pytest.mark.parametrize(
    "piece", ["(", ")", '"', '\\"', '"\\"', "NOT ", "a ", "a", "&", "|", "(a)", '"a" ', "&a", "\\", " "]
)
def test_reading_is_linear_in_the_text(piece: str) -> None:
    text = '"' * (piece == '\\"') + piece * (64_000 // len(piece))
    began = time.perf_counter()
    with contextlib.suppress(InputError):
        parse(text)
    assert time.perf_counter() - began < 0.5


def test_a_typical_expression_is_quick() -> None:
    """The bound is some ten times what it takes; it is there to catch a change of order, not of percents."""
    text, rounds = "flood AND (bridge OR road)", 2000
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(rounds):
            parse(text)
        best = min(best, time.perf_counter() - began)
    assert best / rounds < 40e-6
