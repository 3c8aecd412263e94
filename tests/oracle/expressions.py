"""Expressions: a tiny parser, and evaluation straight on the tree (no normal form)."""

import re
from collections.abc import Callable, Collection
from typing import Any

Tree = tuple[Any, ...]
"""("word", w), ("not", tree), ("and", tree, ...) or ("or", tree, ...)."""

_TOKEN = re.compile(r'\s*(?:([()])|"((?:[^"\\]|\\["\\])*)"|([^\s()"]+))')


def parse(text: str, analyse: Callable[[str], list[str]]) -> Tree:
    """The tree of an expression; ValueError when it does not parse."""
    tokens: list[tuple[str, str]] = []
    end = 0
    text = text.rstrip()
    while end < len(text):
        match = _TOKEN.match(text, end)
        if match is None:
            raise ValueError(f"an unclosed quote at {end} in {text!r}")
        end = match.end()
        parenthesis, quoted, bare = match.groups()
        if parenthesis:
            tokens.append((parenthesis, parenthesis))
        elif quoted is not None:
            tokens.append(("word", re.sub(r"\\(.)", r"\1", quoted)))
        else:
            tokens.append((bare, bare) if bare in ("AND", "OR", "NOT") else ("bare", bare))
    tree, rest = _alternatives(tokens, analyse)
    if rest:
        raise ValueError(f"{rest[0][1]!r} is left over in {text!r}")
    return tree


def _alternatives(tokens: list[tuple[str, str]], analyse: Callable[[str], list[str]]) -> tuple[Tree, list[Any]]:
    parts = []
    while True:
        part, tokens = _conjunction(tokens, analyse)
        parts.append(part)
        if not tokens or tokens[0][0] != "OR":
            return (parts[0] if len(parts) == 1 else ("or", *parts)), tokens
        tokens = tokens[1:]


def _conjunction(tokens: list[tuple[str, str]], analyse: Callable[[str], list[str]]) -> tuple[Tree, list[Any]]:
    parts = []
    while True:
        part, tokens = _factor(tokens, analyse)
        parts.append(part)
        if tokens and tokens[0][0] == "AND":
            tokens = tokens[1:]
        elif not tokens or tokens[0][0] in ("OR", ")"):
            return (parts[0] if len(parts) == 1 else ("and", *parts)), tokens


def _factor(tokens: list[tuple[str, str]], analyse: Callable[[str], list[str]]) -> tuple[Tree, list[Any]]:
    if not tokens:
        raise ValueError("the expression ends too early")
    (kind, value), tokens = tokens[0], tokens[1:]
    if kind == "NOT":
        inner, tokens = _factor(tokens, analyse)
        return ("not", inner), tokens
    if kind == "(":
        inner, tokens = _alternatives(tokens, analyse)
        if not tokens or tokens[0][0] != ")":
            raise ValueError("a parenthesis is not closed")
        return inner, tokens[1:]
    if kind == "word" and value:
        return ("word", value), tokens
    if kind == "bare":
        words = analyse(value)
        if words:
            leaves = [("word", word) for word in words]
            return (leaves[0] if len(leaves) == 1 else ("and", *leaves)), tokens
    raise ValueError(f"{value!r} cannot stand here")


def satisfies(words: Collection[str], tree: Tree) -> bool:
    """Whether a set of words satisfies an expression."""
    kind, *parts = tree
    if kind == "word":
        return parts[0] in words
    if kind == "not":
        return not satisfies(words, parts[0])
    return (all if kind == "and" else any)(satisfies(words, part) for part in parts)
