import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.language.expressions import BARE, QUOTED, trees

from tidings.language.parser import parse
from tidings.language.printer import print_expression, quote
from tidings.language.syntax import And, Expression, Or, Word

any_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(trees(st.sampled_from(BARE), st.sampled_from(QUOTED) | any_text))
def test_what_is_printed_parses_to_the_same_tree(tree: Expression) -> None:
    assert parse(print_expression(tree)) == tree


@given(any_text)
def test_a_quoted_word_is_the_word(text: str) -> None:
    assert parse(quote(text)) == Word(text, True)


@given(trees(st.sampled_from(["a", "b"]), st.just("q")))
def test_no_pair_of_parentheses_can_be_left_out(tree: Expression) -> None:
    text = print_expression(tree)
    opened: list[int] = []
    for at, character in enumerate(text):
        if character == "(":
            opened.append(at)
        elif character == ")":
            left = opened.pop()
            assert parse(text[:left] + text[left + 1 : at] + text[at + 1 :]) != tree


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a b", "a AND b"),
        ("( (a) (b OR (c)))", "a AND (b OR c)"),
        ("(a b) OR c", "a AND b OR c"),
        ("NOT (a) NOT(b c)", "NOT a AND NOT (b AND c)"),
        ('a"b c"', 'a AND "b c"'),
        ("NOT NOT (a OR b) c", "(a OR b) AND c"),
    ],
)
def test_the_canonical_spelling(text: str, canonical: str) -> None:
    assert print_expression(parse(text)) == canonical


def test_trees_built_by_hand_keep_their_meaning() -> None:
    a, b, c = Word("a"), Word("b"), Word("c")
    assert print_expression(And((a, And((b, c))))) == "a AND (b AND c)"
    assert print_expression(Or((Or((a, b)), c))) == "(a OR b) OR c"
