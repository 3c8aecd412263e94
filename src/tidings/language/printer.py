"""An expression as text, in its one canonical spelling: operators written out, no parentheses that change nothing."""

from tidings.language.syntax import And, Expression, Not, Or, Word, needs_parentheses


def print_expression(expression: Expression) -> str:
    """The text of the expression; parsing it gives the same tree for every tree that the parser can give."""
    if isinstance(expression, Word):
        return quote(expression.text) if expression.quoted else expression.text
    if isinstance(expression, Not):
        return "NOT " + _part(expression, expression.part)
    operator = " AND " if isinstance(expression, And) else " OR "
    return operator.join([_part(expression, part) for part in expression.parts])


def quote(text: str) -> str:
    """The word as it is written to be taken as it is."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _part(outer: And | Or | Not, part: Expression) -> str:
    text = print_expression(part)
    return f"({text})" if needs_parentheses(outer, part) else text
