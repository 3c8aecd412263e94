"""The hand-written parser against the one that Lark builds from the published grammar."""

import random
from importlib.resources import files

import pytest
from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput
from tests.unit.language.expressions import conjunction, disjunction, mutated, negation, sentence

from tidings.language.parser import parse
from tidings.language.syntax import And, Expression, Not, Or, Word
from tidings.model.errors import InputError
from tidings.model.limits import MAX_DEPTH


class Trees(Transformer):
    def start(self, children):
        return children[0]

    def conjunction(self, children):
        return conjunction(children) if len(children) > 1 else children[0]

    def disjunction(self, children):
        return disjunction(children) if len(children) > 1 else children[0]

    def not_(self, children):
        return negation(children[0])

    def BARE(self, token: Token) -> Word:  # noqa: N802
        return Word(str(token))

    def QUOTED(self, token: Token) -> Word:  # noqa: N802
        characters = iter(token[1:-1])
        return Word("".join(next(characters) if c == "\\" else c for c in characters), True)


setattr(Trees, "not", Trees.not_)


@pytest.fixture(scope="module")
def grammar() -> Lark:
    text = (files("tidings.language") / "grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="basic", transformer=Trees())


def by_grammar(grammar: Lark, text: str) -> Expression | None:
    try:
        return grammar.parse(text)
    except UnexpectedInput:
        return None


def by_hand(text: str) -> Expression | str | None:
    """The tree, None when the text is no sentence, or the code of any other error."""
    try:
        return parse(text)
    except InputError as error:
        return None if error.code == "expression-syntax" else error.code


def test_sentences_of_the_grammar_give_the_same_trees(grammar: Lark, seed: int) -> None:
    rng = random.Random(seed)
    kinds = set()
    for _ in range(3000):
        text = sentence(rng, 4)
        tree = by_grammar(grammar, text)
        assert tree is not None, text
        assert by_hand(text) == tree, text
        kinds.add(type(tree))
    assert kinds == {Word, And, Or, Not}


def test_mutated_sentences_are_accepted_by_both_or_by_neither(grammar: Lark, seed: int) -> None:
    rng = random.Random(seed + 1)
    accepted = refused = 0
    for _ in range(8000):
        text = mutated(rng, sentence(rng, 3))
        tree = by_grammar(grammar, text)
        assert by_hand(text) == tree, text
        accepted += tree is not None
        refused += tree is None
    assert accepted > 1000
    assert refused > 1000


def test_soups_of_tokens_are_accepted_by_both_or_by_neither(grammar: Lark, seed: int) -> None:
    rng = random.Random(seed + 2)
    alphabet = ["a", "b", "AND", "OR", "NOT", "(", ")", '"q"', "&", "-", '"', "\\", ",", " ", " ", "\n"]
    accepted = 0
    for _ in range(8000):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 8)))
        tree = by_grammar(grammar, text)
        assert by_hand(text) == tree, text
        accepted += tree is not None
    assert accepted > 300


def test_every_single_character_is_treated_alike(grammar: Lark) -> None:
    for code in [*range(0x180), *range(0x2000, 0x2070), 0x3000, 0xFEFF, 0xFF0C, 0x1F30A]:
        for text in (chr(code), f"a{chr(code)}b", f'"{chr(code)}"'):
            assert by_hand(text) == by_grammar(grammar, text), repr(text)


def test_the_grammar_knows_no_caps_and_the_parser_does(grammar: Lark) -> None:
    text = "(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1)
    assert by_grammar(grammar, text) == Word("a")
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code == "expression-limit"
