"""The normal form of an expression: a disjunction of clauses, each a conjunction of words that must and must not be.

Every index is built on this form, and the caps on expressions are judged here. NOT is pushed down to the words and AND
distributed over OR; clauses that ask for a word and exclude it are dropped, and so is every clause that is implied by
a shorter one. What is left is the same set for every way to distribute (it is the prime implicants, with `a` and
`NOT a` as independent letters), so the form does not depend on the order in which parts are written.

A clause under construction is one integer, two bits per word, so that union, contradiction and absorption are single
operations. The form may explode: 32 pairs under AND have 2**32 clauses. Each step stops as soon as it holds more than
`MAX_CLAUSES_BETWEEN` clauses, and small factors come first; the slowest expressions known take 50 ms. An expression
whose form has at most `MAX_CLAUSES` may be refused when it passes through more than `MAX_CLAUSES_BETWEEN`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NoReturn, TypeAlias

from msgspec import Struct

from tidings.language.parser import offset_of_bare, parse
from tidings.language.places import error_at
from tidings.language.printer import print_expression, quote
from tidings.language.syntax import And, Expression, Not, Or, Word, needs_parentheses
from tidings.model.limits import MAX_CLAUSES, MAX_DEPTH, MAX_LEAVES

MAX_CLAUSES_BETWEEN: Final = 2 * MAX_CLAUSES
"""Clauses that a part of an expression may have on the way to the normal form, where later parts can remove some."""
_MAX_PRODUCTS: Final = 16 * MAX_CLAUSES
"""Different clauses of one distribution step before absorption."""


class Clause(Struct, frozen=True, order=True):
    """One way to satisfy an expression: all of `words` are there and none of `excluded`. Both sorted and unique."""

    words: tuple[str, ...]
    excluded: tuple[str, ...] = ()


NormalForm: TypeAlias = tuple[Clause, ...]
"""Sorted; satisfied when any clause is. Without clauses it is never satisfied."""

Analyse: TypeAlias = Callable[[str], Sequence[str]]
"""How the text of a bare word becomes words."""


def clauses_of(text: str, analyse: Analyse) -> NormalForm:
    """The normal form of an expression given as text."""
    return normal_form(parse(text), analyse, text)


def normal_form(expression: Expression, analyse: Analyse, text: str | None = None) -> NormalForm:
    """The normal form of an expression; errors point into `text`, or else into the expression as it is printed."""
    return _Former(expression, analyse, text).clauses()


class _Former:
    """One expression on its way to its normal form."""

    def __init__(self, expression: Expression, analyse: Analyse, text: str | None) -> None:
        self.expression = expression
        self.analyse = analyse
        self.given_text = text
        self.bits: dict[str, int] = {}
        """The bit of each word in the order of their first use; the next higher bit excludes the word."""
        self.leaves = 0

    def clauses(self) -> NormalForm:
        expression = self.expression
        parts = expression.parts if type(expression) is And else (expression,)
        leaves = [part for part in parts if type(part) is Word]
        if leaves and len(leaves) == len(parts):
            # Most expressions are plain conjunctions: there is nothing to distribute, and this is four times quicker.
            return (Clause(tuple(sorted({word for leaf in leaves for word in self._words(leaf)}))),)
        return self._as_clauses(self._form(expression, True, 0))

    def _form(self, expression: Expression, holds: bool, depth: int) -> list[int]:
        """The clauses of the expression, or of its negation, without contradictory and absorbed ones."""
        if depth > MAX_DEPTH:
            self._refuse(f"at most {MAX_DEPTH} parentheses and NOTs inside each other")
        if isinstance(expression, Word):
            letters = {self._letter(word, holds) for word in self._words(expression)}
            return [sum(letters)] if holds else list(letters)
        if isinstance(expression, Not):
            return self._form(expression.part, not holds, self._below(expression, expression.part, depth + 1))
        parts = [self._form(part, holds, self._below(expression, part, depth)) for part in expression.parts]
        return self._all(parts) if isinstance(expression, And) is holds else self._any(parts)

    def _below(self, outer: And | Or | Not, part: Expression, depth: int) -> int:
        return depth + needs_parentheses(outer, part)

    def _words(self, leaf: Word) -> Sequence[str]:
        """The words that a leaf stands for, all of which it asks for."""
        words = (leaf.text,) if leaf.quoted else self.analyse(leaf.text)
        if not words:
            text = self._text()
            raise error_at(
                text,
                offset_of_bare(text, leaf.text),
                "words-empty",
                found=leaf.text,
                expected="something that leaves a word",
                advice="The analyser drops it: it is a stop word, or has neither letter nor digit. Leave it out. "
                f"If it was published with `words`, ask for it as it is: {quote(leaf.text)}.",
            )
        self.leaves += len(words)
        if self.leaves > MAX_LEAVES:
            self._refuse(f"at most {MAX_LEAVES} words, as the analyser counts them")
        return words

    def _letter(self, word: str, holds: bool) -> int:
        bit = self.bits.setdefault(word, 1 << 2 * len(self.bits))
        return bit if holds else bit << 1

    def _any(self, parts: Iterable[list[int]]) -> list[int]:
        return self._absorbed({clause for part in parts for clause in part})

    def _all(self, parts: list[list[int]]) -> list[int]:
        """The distribution of AND over the parts, small ones first so that what they forbid is gone early."""
        parts.sort(key=len)
        product = [0]
        for part in parts:
            product = self._absorbed(self._products(product, part))
        return product

    def _products(self, clauses: list[int], part: list[int]) -> set[int]:
        """Each clause with each way to satisfy the part, without contradictions."""
        found: set[int] = set()
        for clause in clauses:
            for letters in part:
                if letters & clause == letters:
                    # The clause implies the part: it absorbs all its other products.
                    found.add(clause)
                    break
            else:
                found.update([union for letters in part if not _contradicts(union := clause | letters)])
            if len(found) > _MAX_PRODUCTS:
                self._refuse_clauses()
        return found

    def _absorbed(self, clauses: set[int]) -> list[int]:
        """The clauses that no other one implies. Shorter ones come first, as only they can absorb."""
        if len(clauses) < 2:
            return list(clauses)
        kept: list[int] = []
        for clause in sorted(clauses, key=int.bit_count):
            for shorter in kept:
                if clause & shorter == shorter:
                    break
            else:
                kept.append(clause)
                if len(kept) > MAX_CLAUSES_BETWEEN:
                    self._refuse_clauses()
        return kept

    def _as_clauses(self, clauses: list[int]) -> NormalForm:
        if len(clauses) > MAX_CLAUSES:
            self._refuse_clauses()
        bits = sorted(self.bits.items())
        form = [
            Clause(
                tuple([word for word, bit in bits if clause & bit]),
                tuple([word for word, bit in bits if clause & bit << 1]),
            )
            for clause in clauses
        ]
        form.sort()
        if form and not form[0].words:
            self._refuse_negative(form[0])
        return tuple(form)

    def _text(self) -> str:
        if self.given_text is not None:
            return self.given_text
        try:
            return print_expression(self.expression)
        except RecursionError:  # a tree built by hand, far past the cap on depth
            return ""

    def _refuse(self, expected: str) -> NoReturn:
        raise error_at(
            self._text(),
            0,
            "expression-limit",
            expected=expected,
            advice="Split the expression over several subscriptions.",
        )

    def _refuse_clauses(self) -> NoReturn:
        self._refuse(f"an expression of at most {MAX_CLAUSES} clauses when AND is distributed over OR")

    def _refuse_negative(self, clause: Clause) -> NoReturn:
        """Refuse a clause that only excludes; it sorts first, as nothing is smaller than no words."""
        raise error_at(
            self._text(),
            0,
            "expression-no-positive",
            found=" AND ".join([f"NOT {word}" for word in clause.excluded]),
            expected="at least one word that must be there in each alternative",
            advice="What is only excluded would match nearly every message. Join it to a word: flood AND NOT drill.",
        )


def _contradicts(clause: int) -> int:
    """Not 0 when the clause asks for a word that it excludes."""
    return clause & clause >> 1 & _ASKED


_ASKED: Final = sum(1 << 2 * number for number in range(MAX_LEAVES))
"""The bits that ask for a word."""
