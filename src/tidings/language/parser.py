"""From text to the tree of an expression, by recursive descent over the tokens of one regular expression.

`grammar.lark` beside this file is the definition. The tokens are plain strings without positions, which is what makes
this fast; the position of a token is looked up when an error needs it. Reading takes time linear in the text, and the
recursion is bounded by the cap on depth.
"""

import re
from itertools import islice
from typing import Final, NoReturn

from tidings.language.places import error_at
from tidings.language.syntax import And, Expression, Not, Or, Word
from tidings.model.errors import InputError
from tidings.model.limits import MAX_DEPTH, MAX_LEAVES

_TOKEN: Final = re.compile(
    r"""
      [^\s()",|&!-] (?: [^\s()",|&] | &(?!&) )*    # a bare word or an operator
    | [()]
    | " [^"\\]* (?: \\["\\] [^"\\]* )* "           # a quoted word; when it is empty the parser says so
    | " (?s: .* )                                  # a quote with a fault takes the rest: no second look at it
    | && | \|\| | \S                               # what may not stand here
    """,
    re.VERBOSE,
)
_END: Final = " "
"""Stands behind the last token; no token is whitespace."""
_NO_OPERAND: Final = frozenset({"AND", "OR"})
_NOT_BARE: Final = frozenset('()",|&!-' + _END)
"""Tokens that begin so are not bare words."""
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\["\\])+"')
_SOUND: Final = re.compile(r'"[^"\\]*(?:\\["\\][^"\\]*)*')
"""A quoted word as far as it is without fault."""
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)

_OPERAND: Final = "a word, NOT or ("
_NOT_OPEN: Final = "No ( stands open for this )."
_NOT_CLOSED: Final = "This ( is never closed."

_ADVICE: Final = {
    ",": "A comma is not an operator: write OR between words to take any of them, AND to ask for all of them.",
    "|": "Write OR.",
    "||": "Write OR.",
    "&": "Write AND.",
    "&&": "Write AND.",
    "!": "Write NOT before the word.",
    "-": "Write NOT before the word to exclude it; a word that begins with - goes in double quotes.",
}


def parse(text: str) -> Expression:
    """The tree of the expression, or an `InputError` that says where the text stops being one."""
    return _Reader(text).whole()


def offset_of_bare(text: str, word: str) -> int:
    """Where the bare word first stands in a text that parses, for errors found later than in parsing."""
    return next((found.start() for found in _TOKEN.finditer(text) if found.group() == word), 0)


class _Reader:
    """One text being read; `at` is the token that comes next."""

    __slots__ = ("at", "depth", "leaves", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = _TOKEN.findall(text)
        self.tokens.append(_END)
        self.at = 0
        self.depth = 0
        self.leaves = 0

    def whole(self) -> Expression:
        if self.tokens[0] == _END:
            raise self._error(
                "expression-syntax", 0, expected="a word", advice="To take any words, leave the expression out."
            )
        expression = self._disjunction()
        if self.tokens[self.at] != _END:
            # Everything else that can follow an operand has been read as another operand.
            raise self._error("expression-syntax", self.at, expected="the end, or a word", advice=_NOT_OPEN)
        return expression

    def _disjunction(self) -> Expression:
        first = self._conjunction()
        tokens = self.tokens
        if tokens[self.at] != "OR":
            return first
        parts = list(first.parts) if type(first) is Or else [first]
        while tokens[self.at] == "OR":
            self.at += 1
            part = self._conjunction()
            if type(part) is Or:
                parts += part.parts
            else:
                parts.append(part)
        return Or(tuple(parts))

    def _conjunction(self) -> Expression:
        first = self._negation()
        tokens = self.tokens
        token = tokens[self.at]
        if token == "OR" or token == ")" or token == _END:
            return first
        parts = list(first.parts) if type(first) is And else [first]
        while True:
            if token == "AND":
                self.at += 1
            part = self._negation()
            if type(part) is And:
                parts += part.parts
            else:
                parts.append(part)
            token = tokens[self.at]
            if token == "OR" or token == ")" or token == _END:
                return And(tuple(parts))

    def _negation(self) -> Expression:
        token = self.tokens[self.at]
        if token == "NOT":
            self._descend()
            self.at += 1
            part = self._negation()
            self.depth -= 1
            return part.part if type(part) is Not else Not(part)
        if token == "(":
            return self._group()
        word = self._quoted(token) if token in _NO_OPERAND or token[0] in _NOT_BARE else Word(token)
        self.leaves += 1
        if self.leaves > MAX_LEAVES:
            raise self._error(
                "expression-limit",
                self.at,
                expected=f"at most {MAX_LEAVES} words",
                advice="Split the expression over several subscriptions.",
            )
        self.at += 1
        return word

    def _group(self) -> Expression:
        opened = self.at
        self._descend()
        self.at += 1
        expression = self._disjunction()
        if self.tokens[self.at] != ")":
            raise self._error("expression-syntax", opened, expected="a ) further on", advice=_NOT_CLOSED)
        self.at += 1
        self.depth -= 1
        return expression

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error(
                "expression-limit",
                self.at,
                expected=f"at most {MAX_DEPTH} parentheses and NOTs inside each other",
                advice="Leave out parentheses that change nothing.",
            )

    def _quoted(self, token: str) -> Word:
        if _QUOTED.fullmatch(token) is None:
            self._refuse(token)
        inner = token[1:-1]
        return Word(_ESCAPE.sub(r"\1", inner) if "\\" in inner else inner, True)

    def _refuse(self, token: str) -> NoReturn:
        """Say why no operand begins with this token."""
        before = self.tokens[self.at - 1] if self.at else _END
        if token[0] == '"':
            raise self._quote_error(token)
        if token == ")" and before == _END:
            advice = _NOT_OPEN
        elif token == ")" and before == "(":
            advice = "Nothing stands between the parentheses."
        elif token == _END and before == "(":
            advice = "Nothing stands behind the (, and it is never closed."
        elif token == ")" or token == _END:
            advice = f"{before} needs an operand on its right. {_as_a_word(before)}"
        elif token in _NO_OPERAND:
            advice = f"{token} needs an operand on its left and on its right. {_as_a_word(token)}"
        else:
            advice = _ADVICE[token]
        raise self._error("expression-syntax", self.at, expected=_OPERAND, advice=advice)

    def _quote_error(self, token: str) -> InputError:
        """Say what is wrong with a quoted word: it is empty, holds an unknown escape, or never ends."""
        start = self._offset(self.at)
        if token == '""':
            expected, advice, offset = "a word between the quotes", "An empty word is in no message.", start
        elif token[(fault := _SOUND.match(token).end()) :]:  # type: ignore[union-attr]
            expected, offset = '\\" or \\\\', start + fault
            advice = "In double quotes a backslash is written twice."
        else:
            expected, advice, offset = 'a closing "', 'This " is never closed.', start
        found = self.text[offset : offset + 2] if offset > start else token
        return error_at(self.text, offset, "expression-syntax", found=found, expected=expected, advice=advice)

    def _error(self, code: str, at: int, *, expected: str, advice: str) -> InputError:
        found = self.tokens[at]
        return error_at(
            self.text,
            self._offset(at),
            code,
            found="the end" if found == _END else found,
            expected=expected,
            advice=advice,
        )

    def _offset(self, at: int) -> int:
        """Where the token stands in the text; the end stands behind the last token."""
        found = next(islice(_TOKEN.finditer(self.text), at, None), None)
        return found.start() if found else len(self.text.rstrip())


def _as_a_word(operator: str) -> str:
    return f"The word itself is written in small letters: {operator.lower()}"
