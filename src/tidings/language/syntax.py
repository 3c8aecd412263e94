"""The tree of an expression.

The parser gives trees in one form: `And` and `Or` have two parts or more, none of them of the same kind, and `Not`
never stands on a `Not`. Trees built by hand need not keep to that; they mean what they say.
"""

from typing import TypeAlias

from msgspec import Struct


class Word(Struct, frozen=True):
    """A leaf: a bare word, still to be analysed, or a quoted one that is taken as it is."""

    text: str
    """Without quotes and escapes."""
    quoted: bool = False


class And(Struct, frozen=True):
    """All parts hold."""

    parts: "tuple[Expression, ...]"


class Or(Struct, frozen=True):
    """At least one part holds."""

    parts: "tuple[Expression, ...]"


class Not(Struct, frozen=True):
    """The part does not hold."""

    part: "Expression"


Expression: TypeAlias = Word | And | Or | Not


def needs_parentheses(outer: And | Or | Not, part: Expression) -> bool:
    """Whether `part`, written inside `outer`, has to stand in parentheses."""
    if isinstance(outer, Or):
        return isinstance(part, Or)
    return isinstance(part, And | Or)
