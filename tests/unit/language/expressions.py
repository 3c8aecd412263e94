"""Random expressions for the tests of this room: as text with all freedoms of writing, and as the parser's trees."""

import random

from hypothesis import strategies as st

from tidings.language.syntax import And, Expression, Not, Or, Word

BARE = [
    "a",
    "b",
    "c",
    "flood",
    "and",
    "or",
    "not",
    "ANDY",
    "NOTE",
    "ORB",
    "AT&T",
    "C++",
    "wow!",
    "well-known",
    "洪水",
    "x\\y",
]
QUOTED = ["a", "New York", "AND", "-", ",", '"', "\\", '\\"', "(", "\n", " ", "é"]
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\u3000", "\x1f"]
FRAGMENTS = [
    *'()",|&!-\\ \n',
    "&&",
    "||",
    '""',
    '"x',
    "\\x",
    "AND",
    "OR",
    "NOT",
    "AND ",
    " OR ",
    "NOT ",
    "a",
    "-a",
    "\u200b",
]


def sentence(rng: random.Random, depth: int) -> str:
    """A text of the language, spelled in one of its many ways."""
    form = rng.randrange(7) if depth else 0
    if form <= 1:
        if rng.random() < 0.7:
            return rng.choice(BARE)
        return '"' + rng.choice(QUOTED).replace("\\", "\\\\").replace('"', '\\"') + '"'
    if form == 2:
        return f"NOT{rng.choice(SPACES)}{sentence(rng, depth - 1)}"
    if form == 3:
        pad = rng.choice(["", *SPACES])
        return f"({pad}{sentence(rng, depth - 1)}{pad})"
    operator = rng.choice(["AND", "OR", "OR", ""])
    space = rng.choice(SPACES)
    return f"{space}{operator}{space}".join(sentence(rng, depth - 1) for _ in range(rng.randint(2, 3)))


def mutated(rng: random.Random, text: str) -> str:
    """The text with a few small accidents."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        cut = at + rng.choice([0, 0, 1, 1, 3])
        text = text[:at] + rng.choice(["", *FRAGMENTS]) + text[cut:]
    return text


def trees(bare: st.SearchStrategy[str], quoted: st.SearchStrategy[str]) -> st.SearchStrategy[Expression]:
    """The trees that the parser can give, over these words."""
    words = st.builds(Word, bare) | st.builds(Word, quoted, st.just(True))

    def larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        parts = st.lists(inner, min_size=2, max_size=4)
        return st.one_of(parts.map(conjunction), parts.map(disjunction), inner.map(negation))

    return st.recursive(words, larger, max_leaves=12)


def conjunction(parts: list[Expression]) -> Expression:
    return And(tuple(flat for part in parts for flat in (part.parts if isinstance(part, And) else (part,))))


def disjunction(parts: list[Expression]) -> Expression:
    return Or(tuple(flat for part in parts for flat in (part.parts if isinstance(part, Or) else (part,))))


def negation(part: Expression) -> Expression:
    return part.part if isinstance(part, Not) else Not(part)
