import itertools
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.language.expressions import trees

from tidings.language.normal import Clause, NormalForm, clauses_of, normal_form
from tidings.language.parser import parse
from tidings.language.syntax import And, Expression, Not, Or, Word
from tidings.model.errors import InputError, Problem
from tidings.model.limits import MAX_CLAUSES, MAX_DEPTH, MAX_LEAVES

LETTERS = "abcdefg"
WORD_SETS = [frozenset(some) for n in range(len(LETTERS) + 1) for some in itertools.combinations(LETTERS, n)]


def folded(text: str) -> list[str]:
    return [part for part in text.lower().split("-") if part != "the"]


def holds(expression: Expression, words: frozenset[str]) -> bool:
    """The meaning of an expression, from its definition."""
    match expression:
        case Word(text, quoted):
            return text in words if quoted else all(word in words for word in folded(text))
        case And(parts):
            return all(holds(part, words) for part in parts)
        case Or(parts):
            return any(holds(part, words) for part in parts)
        case Not(part):
            return not holds(part, words)


def satisfied(form: NormalForm, words: frozenset[str]) -> bool:
    return any(words.issuperset(clause.words) and words.isdisjoint(clause.excluded) for clause in form)


def problem_of(text: str) -> Problem:
    with pytest.raises(InputError) as caught:
        clauses_of(text, folded)
    (problem,) = caught.value.problems
    return problem


def form_or_code(expression: Expression) -> NormalForm | str:
    try:
        return normal_form(expression, folded)
    except InputError as error:
        return error.code


some_trees = trees(st.sampled_from([*LETTERS, "A", "a-b", "C-D-e"]), st.sampled_from(LETTERS))


@settings(max_examples=400)
@given(some_trees)
def test_the_form_means_what_the_expression_means(tree: Expression) -> None:
    # Joined to a word so that no clause is only negative; the word is in no tree.
    form = normal_form(And((Word("z"), tree)), folded)
    for words in WORD_SETS:
        assert satisfied(form, words | {"z"}) == holds(tree, words)
        assert not satisfied(form, words)


@settings(max_examples=400)
@given(some_trees)
def test_the_form_is_tidy(tree: Expression) -> None:
    form = normal_form(And((Word("z"), tree)), folded)
    assert list(form) == sorted(set(form))
    for clause in form:
        assert list(clause.words) == sorted(set(clause.words))
        assert list(clause.excluded) == sorted(set(clause.excluded))
        assert not set(clause.words) & set(clause.excluded)
        assert "z" in clause.words
    for one, other in itertools.permutations(form, 2):
        assert not (set(one.words) <= set(other.words) and set(one.excluded) <= set(other.excluded))


@settings(max_examples=400)
@given(some_trees)
def test_only_negative_clauses_are_refused_and_nothing_else(tree: Expression) -> None:
    joined = normal_form(And((Word("z"), tree)), folded)
    only_negative = any(clause.words == ("z",) for clause in joined)
    bare = tuple(sorted(Clause(tuple(w for w in c.words if w != "z"), c.excluded) for c in joined))
    assert form_or_code(tree) == ("expression-no-positive" if only_negative else bare)


@settings(max_examples=400)
@given(some_trees, some_trees, st.sampled_from([And, Or]))
def test_double_negation_and_de_morgan_change_nothing(x: Expression, y: Expression, kind: type[And] | type[Or]) -> None:
    other = Or if kind is And else And
    z = Word("z")
    assert form_or_code(Not(Not(x))) == form_or_code(x)
    assert form_or_code(And((z, Not(kind((x, y)))))) == form_or_code(And((z, other((Not(x), Not(y))))))
    assert form_or_code(kind((x, y))) == form_or_code(kind((y, x)))


def test_the_quick_way_for_plain_conjunctions_is_the_same_as_the_long_one(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        words = [
            Word(rng.choice(["b", "A", "a-b", "c", "the", "x-the"]), rng.random() < 0.3)
            for _ in range(rng.randint(1, 5))
        ]
        plain = And(tuple(words)) if len(words) > 1 else words[0]
        assert form_or_code(plain) == form_or_code(Or((plain, plain)))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("flood AND (bridge OR road)", (Clause(("bridge", "flood")), Clause(("flood", "road")))),
        ("b a B", (Clause(("a", "b")),)),
        ('a "a" A', (Clause(("a",)),)),
        ('"A" a', (Clause(("A", "a")),)),
        ("a-b OR c", (Clause(("a", "b")), Clause(("c",)))),
        ("c NOT a-b", (Clause(("c",), ("a",)), Clause(("c",), ("b",)))),
        ("a OR a b OR (a NOT c)", (Clause(("a",)),)),
        ("a NOT a", ()),
        ("a (NOT a OR b)", (Clause(("a", "b")),)),
        ("NOT (NOT a OR NOT b)", (Clause(("a", "b")),)),
        ("(a OR NOT b) a", (Clause(("a",)),)),
        ('"the" a', (Clause(("a", "the")),)),
        ("x-the", (Clause(("x",)),)),
    ],
)
def test_forms(text: str, form: NormalForm) -> None:
    assert clauses_of(text, folded) == form


@pytest.mark.parametrize("text", ["NOT a", "a OR NOT b", "NOT (a b)", "NOT a NOT b OR c", "NOT a OR a"])
def test_a_clause_needs_a_positive_word(text: str) -> None:
    problem = problem_of(text)
    assert (problem.code, problem.place) == ("expression-no-positive", "1:1")
    assert problem.found.startswith("NOT ")
    assert problem.hint.startswith(text + "\n^")


def test_a_bare_word_that_leaves_nothing_is_named_where_it_stands() -> None:
    problem = problem_of('a "the"\n OR (b AND the)')
    assert (problem.code, problem.place, problem.found) == ("words-empty", "2:12", "the")
    assert problem_of("the").code == "words-empty"
    assert problem_of("a NOT the").place == "1:7"


def test_without_a_text_errors_point_into_the_printed_expression() -> None:
    with pytest.raises(InputError) as caught:
        normal_form(And((Word("a"), Or((Word("b"), Word("the"))))), folded)
    assert caught.value.problems[0].place == "1:13"


def test_words_are_counted_after_analysis_too() -> None:
    half = "-".join(f"w{number}" for number in range(MAX_LEAVES // 2))
    for joint in (" ", " OR "):
        assert clauses_of(f"{half}{joint}{half}", folded)
        assert problem_of(f"{half}{joint}{half}{joint}x").code == "expression-limit"


def pairs(n: int) -> str:
    return " AND ".join(f"(a{number} OR b{number})" for number in range(n))


def test_the_cap_on_clauses() -> None:
    assert MAX_CLAUSES == 2**8
    assert len(clauses_of(pairs(8), folded)) == MAX_CLAUSES
    problem = problem_of(pairs(8) + " OR x")
    assert (problem.code, problem.place) == ("expression-limit", "1:1")
    assert "256 clauses" in problem.expected
    assert problem_of(pairs(9)).code == "expression-limit"


def test_the_cap_is_judged_when_duplicates_and_absorbed_clauses_are_gone() -> None:
    assert len(clauses_of(f"({pairs(8)}) OR ({pairs(8)})", folded)) == MAX_CLAUSES
    assert len(clauses_of(f"({pairs(9)}) OR a1".replace("a0", "a1"), folded)) <= MAX_CLAUSES
    assert len(clauses_of(pairs(9) + " AND a0", folded)) == MAX_CLAUSES
    assert len(clauses_of(pairs(12) + " NOT a0 NOT a1 NOT a2 NOT a3", folded)) == MAX_CLAUSES
    assert clauses_of(pairs(30) + " x NOT x", folded) == ()


def test_explosions_are_refused_quickly(seed: int) -> None:
    rng = random.Random(seed)
    texts = [pairs(32), "z OR NOT (" + " OR ".join(f"a{n} b{n}" for n in range(31)) + ")"]
    for _ in range(60):
        names, width, negative = rng.randint(8, 40), rng.randint(2, 6), rng.choice([0, 0.1, 0.5])

        def leaf(names: int = names, negative: float = negative) -> str:
            return "NOT " * (rng.random() < negative) + f"w{rng.randrange(names)}"

        texts.append(
            " ".join("(" + " OR ".join(leaf() for _ in range(width)) + ")" for _ in range(MAX_LEAVES // width))
        )
    refused = 0
    for text in texts:
        began = time.perf_counter()
        try:
            clauses_of(text, folded)
        except InputError as error:
            refused += error.code == "expression-limit"
        assert time.perf_counter() - began < 1.0, text
    assert refused > 20


def test_trees_built_by_hand_are_capped_too() -> None:
    def nested(levels: int) -> Expression:
        tree: Expression = Word("a")
        for _ in range(levels):
            tree = Not(tree)
        return tree

    assert normal_form(nested(MAX_DEPTH), folded) == (Clause(("a",)),)
    assert form_or_code(nested(MAX_DEPTH + 1)) == "expression-limit"
    assert form_or_code(nested(5000)) == "expression-limit"
    assert form_or_code(And(())) == "expression-no-positive"
    assert form_or_code(Or(())) == ()


def test_every_expression_that_parses_at_the_cap_on_depth_is_not_too_deep() -> None:
    text = "a"
    for _ in range(MAX_DEPTH // 2):
        text = f"NOT (b AND {text})"
    assert clauses_of(f"z AND {text}", folded)
    assert normal_form(parse(f"z AND {text}"), folded) == clauses_of(f"z AND {text}", folded)
