"""How errors are told: to a person, one block of lines a problem; with `--json`, one object on standard error."""

import sys

import click
import msgspec

from tidings.cli.terminal import Paint
from tidings.model.errors import Problem, TidingsError


def report(error: TidingsError, as_json: bool) -> None:
    """Tell all problems of an error on standard error."""
    if as_json:
        _write_json(error)
        return
    paint = Paint(sys.stderr)
    blocks = ["\n".join(_lines(problem, paint)) for problem in error.problems]
    if error.total > len(error.problems):
        blocks.append(f"and {error.total - len(error.problems):,} more problems")
    sys.stderr.write("\n".join(blocks) + "\n")


def report_usage(error: click.ClickException, as_json: bool) -> None:
    """Tell what is wrong with the options or arguments of a command."""
    if as_json:
        name = getattr(getattr(error, "param", None), "name", None)
        place = f"--{name}" if name else "the command line"
        _write_json(TidingsError(Problem("option-invalid", place, expected=error.format_message())))
        return
    if error.format_message().startswith("Usage:"):
        # A group without a command: what it says is its help.
        sys.stderr.write(error.format_message() + "\n")
        return
    paint = Paint(sys.stderr)
    lines = [f"{paint('error', 'bad')} {error.format_message()}"]
    context = getattr(error, "ctx", None)
    if isinstance(context, click.Context):
        usage = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
        lines.append(f"  {paint('usage    ', 'faint')} {usage}")
        lines.append(f"  {paint('help     ', 'faint')} {context.command_path} --help")
    sys.stderr.write("\n".join(lines) + "\n")


def _lines(problem: Problem, paint: Paint) -> list[str]:
    where = problem.place
    if problem.line is not None:
        where = f"line {problem.line + 1:,} (position {problem.line}), {problem.place}"
    lines = [f"{paint('error', 'bad')} {paint(problem.code, 'strong')} {where}"]
    for name, text in (("found", problem.found), ("expected", problem.expected), ("hint", problem.hint)):
        if text:
            first, *others = text.split("\n")
            lines.append(f"  {paint(f'{name:9}', 'faint')} {first}")
            # A caret of an expression stands under its place, so every line begins in the same column.
            lines += [" " * 12 + other for other in others]
    return lines


def _write_json(error: TidingsError) -> None:
    body = {"error": {"problems": error.problems, "total": error.total}}
    sys.stderr.write(msgspec.json.encode(body).decode() + "\n")
