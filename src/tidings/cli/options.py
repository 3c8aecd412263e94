"""Options that several commands have."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from tidings.model.errors import InputError, Problem

Function = TypeVar("Function", bound=Callable[..., Any])

KINDS: Final = ("within", "around", "best", "nearest")
"""The kinds of subscription, each with methods to choose from."""

as_json: Final = click.option("--json", "as_json", is_flag=True, help="Answer in JSON, errors too.")
quiet: Final = click.option("-q", "--quiet", is_flag=True, help="No progress and no summary.")


def registry(kind: str) -> dict[str, str]:
    """The methods of a kind, by name."""
    from tidings.index.base import INDEXES
    from tidings.matching import base

    return {"within": INDEXES, "around": base.AROUND, "best": base.BEST, "nearest": base.NEAREST}[kind]


def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The methods that a beginning can mean."""
    return [CompletionItem(name) for name in sorted(registry(param.name or "")) if name.startswith(incomplete)]


def methods(function: Function) -> Function:
    """Add an option for the method of each kind; absent ones stay absent, so that the engine's defaults hold."""
    for kind in reversed(KINDS):
        what = "The index" if kind == "within" else "The method"
        option = click.option(
            f"--{kind}",
            metavar="NAME",
            shell_complete=complete,
            help=f"{what} of `{kind}`; `tidings doctor` lists them.",
        )
        function = option(function)
    return function


def chosen(given: dict[str, str | None]) -> dict[str, str]:
    """The methods that were named, all of them known."""
    named = {kind: name for kind, name in given.items() if name is not None}
    problems = [
        Problem("method-unknown", f"--{kind}", name, f"one of {', '.join(sorted(registry(kind)))}")
        for kind, name in named.items()
        if name not in registry(kind)
    ]
    if problems:
        raise InputError(problems)
    return named
