"""`python -m tests.docs.generate`: write the reference pages, which are made from the code, and the figures.

A test compares the pages with what this makes, so that they cannot lag behind. Text comes from docstrings and from the
registries themselves; sources are read as syntax trees, so that no Python version says anything in its own way.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click
import pyarrow as pa

from tests.docs import measured
from tests.docs.markdown import line, names, page, table, table_in
from tests.docs.pages import ROOT
from tests.docs.syntax import Assigned, assigned, described_classes, docstring_of, first_sentence
from tidings.cli.main import COMMANDS, cli
from tidings.index.base import INDEXES
from tidings.lab.floors import FLOORS
from tidings.log.deltas_file import DELTA_SCHEMA, MESSAGE_EVENT
from tidings.log.event_fields import OP_FIELDS
from tidings.log.subscription_fields import KIND_FIELDS, SHARED_FIELDS
from tidings.log.tables import EVENT_SCHEMA, JSON_COLUMNS
from tidings.matching.base import AROUND, BEST, NEAREST
from tidings.model.errors import CODES
from tidings.words.languages import STEMMERS, known_languages, stop_words_of

FOLDER: Final = ROOT / "docs" / "reference"
PACKAGE: Final = ROOT / "src" / "tidings"
NOTE: Final = "<!-- Made by `python -m tests.docs.generate`; change the code instead. -->\n"
WIDTH: Final = 100

PROGRAMMING: Final = {
    "The engine": ["matching/engine.py"],
    "Messages and other events": ["model/events.py"],
    "Subscriptions": ["model/subscriptions.py"],
    "Regions": ["model/regions.py"],
    "Deltas": ["model/deltas.py"],
    "Errors": ["model/errors.py"],
    "Files of events": ["log/files.py"],
}
"""What a program uses: the chapters of the Python page and their modules."""


def cli_page() -> str:
    """Every command with its options, as its own help says them."""
    context = cli.make_context("tidings", [], resilient_parsing=True, terminal_width=WIDTH)
    parts = [
        "# The command line",
        NOTE,
        "`tidings COMMAND --help` says the same.\n",
        "## How a command ends",
        table_in(docstring_of(PACKAGE / "cli" / "main.py")),
        "## tidings",
        _help(cli, context),
    ]
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        parts += _command_parts(command, context, f"tidings {name}")
    return page(parts)


def _command_parts(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    last = name.rpartition(" ")[2]
    context = command.make_context(last, [], parent=parent, resilient_parsing=True, terminal_width=WIDTH)
    yield f"## {name}"
    yield _help(command, context)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _command_parts(found, context, f"{name} {inner}")


def _help(command: click.Command, context: click.Context) -> str:
    lines = [line.rstrip() for line in command.get_help(context).splitlines()]
    return "```text\n" + "\n".join(lines) + "\n```\n"


def errors_page() -> str:
    """Every code with its meaning, and what a problem says."""
    problem = next(found for found in described_classes(PACKAGE / "model" / "errors.py") if found.name == "Problem")
    return page(
        [
            "# Errors",
            NOTE,
            "Every problem has a code that does not change, the place, what stood there, what was expected, a hint.\n",
            "## Codes",
            table(("code", "means"), ((f"`{code}`", meaning) for code, meaning in CODES.items())),
            "## What a problem says",
            "With `--json` these are the fields of each problem. Those that would be empty are left out.\n",
            table(("field", "is"), ((f"`{field.name}`", _told(field)) for field in problem.fields)),
            "A command with `--json` writes one object to standard error:\n",
            '```json\n{"error": {"problems": [{"code": "id-unknown", "place": "$.id", "found": "\\"s9\\"",\n'
            '  "expected": "the id of a subscription in force", "line": 3}], "total": 1}}\n```\n',
        ]
    )


def limits_page() -> str:
    """Every bound with its value."""
    bounds = [*assigned(PACKAGE / "model" / "limits.py"), *assigned(PACKAGE / "model" / "errors.py")]
    rows = ((f"`{bound.name}`", _number(bound.value), bound.doc) for bound in bounds if _number(bound.value))
    return page(
        [
            "# Limits",
            NOTE,
            "Nothing grows without a bound. What passes one is refused with a code of the [errors](errors.md).\n",
            table(("bound", "value", "of what"), rows),
        ]
    )


def files_page() -> str:
    """The formats, the fields of every operation and kind, the columns of tables."""
    return page(
        [
            "# Files",
            NOTE,
            "What the fields mean is told in [events](../concepts/events.md).\n",
            "## Formats of events",
            table_in(docstring_of(PACKAGE / "log" / "files.py")),
            "Any other name is judged by the first bytes of the file. `-` is standard input or output, in lines.\n",
            "## Fields of operations",
            table(("`op`", "fields"), ((f"`{op}`", names(_fields_of(op))) for op, fields in OP_FIELDS.items())),
            "## Fields of kinds",
            table(
                ("`kind`", "fields beside those that all have"),
                ((f"`{kind}`", names(fields)) for kind, fields in KIND_FIELDS.items()),
            ),
            f"All have {names(SHARED_FIELDS)}.\n",
            "## Columns of a table of events",
            "The column `op` has to be there; any other may be absent, and a null is an absent field. Integers and"
            " floats may be narrower or wider, strings large or dictionary-encoded, `ts` and `expires` timestamps.\n",
            table(("column", "type", "holds JSON"), _columns(EVENT_SCHEMA)),
            "## Columns of a table of deltas",
            table(("column", "type", "may be null"), _delta_columns()),
            f"With `--with message` the column `{MESSAGE_EVENT}` follows: the event that published the message, in"
            " JSON. In lines it is a key of the same name, with the event as an object.\n",
        ]
    )


def _fields_of(op: str) -> tuple[str, ...]:
    return OP_FIELDS[op] or ("id", "kind", "labels", "…")


def _columns(schema: pa.Schema) -> Iterator[tuple[str, ...]]:
    for field in schema:
        yield f"`{field.name}`", f"`{field.type}`", "yes" if field.name in JSON_COLUMNS else ""


def _delta_columns() -> Iterator[tuple[str, ...]]:
    for field in DELTA_SCHEMA:
        yield f"`{field.name}`", f"`{field.type}`", "yes" if field.nullable else ""


def methods_page() -> str:
    """What can be chosen by name."""
    parts = ["# Methods", NOTE, "What can be chosen by name. Every method of a kind gives the same deltas.\n"]
    for kind, registry in (("within", INDEXES), ("around", AROUND), ("best", BEST), ("nearest", NEAREST)):
        what = "Indexes" if kind == "within" else "Methods"
        parts += [
            f"## {what} of {kind}",
            f"Chosen with `--{kind} NAME`, in Python with `Engine({kind}=...)`.\n",
            table(("name", "is"), ((f"`{name}`", _about(name, target)) for name, target in sorted(registry.items()))),
        ]
    parts += [
        "## Floors",
        "What `tidings bench within --floor NAME` compares with.\n",
        table(("name", "is"), ((f"`{name}`", first_sentence(FLOORS[name].__doc__ or "")) for name in sorted(FLOORS))),
    ]
    return page(parts)


def _about(name: str, target: str) -> str:
    """What a module says of the method of its name, or else the class of itself."""
    module, _, class_name = target.partition(":")
    path = PACKAGE.parent / Path(*module.split(".")).with_suffix(".py")
    beginning = docstring_of(path).split("\n\n")[0]
    if beginning.startswith(f"`{name}`"):
        said = re.sub(rf"^`{name}`(?: for [^:]+)?: ", "", beginning)
        return said[0].upper() + said[1:]
    return next(found.doc for found in described_classes(path) if found.name == class_name).split("\n")[0]


def grammar_page() -> str:
    """The grammar file itself."""
    grammar = (PACKAGE / "language" / "grammar.lark").read_text(encoding="utf-8")
    return page(
        [
            "# The grammar of expressions",
            NOTE,
            "How to write them is told in [the guide](../guides/expressions.md).\n",
            f"```lark\n{grammar.strip()}\n```\n",
        ]
    )


def languages_page() -> str:
    """Which languages there are, with what."""
    codes = known_languages()
    rows = ((f"`{code}`", "yes" if stop_words_of(code) else "", STEMMERS.get(code, "").title()) for code in codes)
    return page(
        [
            "# Languages",
            NOTE,
            "The codes that `analyser.language` takes, by ISO 639-1. What the analyser does with them is told in"
            " [words](../concepts/words.md).\n",
            table(("code", "stop words", "stemming"), rows),
        ]
    )


def python_page() -> str:
    """Classes and functions with their signatures."""
    parts = [
        "# Python",
        NOTE,
        "What a program uses. How it is used is told in [the guide](../guides/python.md).\n",
    ]
    for chapter, files in PROGRAMMING.items():
        parts.append(f"## {chapter}")
        for file in files:
            module = "tidings." + file.removesuffix(".py").replace("/", ".")
            parts.append(f"`{module}`: {docstring_of(PACKAGE / file).split(chr(10))[0]}\n")
            for found in described_classes(PACKAGE / file):
                parts.append(f"### {found.name}")
                parts.append(f"```text\n{found.signature}\n```\n")
                parts.append(found.doc.split("\n\n")[0] + "\n")
                if found.fields:
                    rows = ((f"`{f.name}`", f"`{f.type}`".replace("|", "\\|"), f.default, f.doc) for f in found.fields)
                    parts.append(table(("field", "type", "default", "is"), rows))
                if found.methods:
                    rows = ((f"`{m.signature}`".replace("|", "\\|"), line(m.doc)) for m in found.methods)
                    parts.append(table(("", "does"), rows))
    return page(parts)


def _told(field: Assigned) -> str:
    return field.doc or ""


def _number(value: ast.expr) -> str:
    """A bound's value; nothing when it is no number."""
    try:
        number = eval(compile(ast.Expression(value), "<bound>", "eval"), {"__builtins__": {}})
    except (NameError, TypeError, SyntaxError):
        return ""
    return f"{number:,}" if isinstance(number, int | float) else ""


PAGES: Final[dict[str, Callable[[], str]]] = {
    "cli.md": cli_page,
    "errors.md": errors_page,
    "limits.md": limits_page,
    "files.md": files_page,
    "methods.md": methods_page,
    "grammar.md": grammar_page,
    "languages.md": languages_page,
    "python.md": python_page,
}


def main() -> None:
    """Write all pages."""
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made(), encoding="utf-8")
    for path in measured.PAGES:
        path.write_text(measured.with_figures(path), encoding="utf-8")
    print(f"{len(PAGES)} pages in {FOLDER.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
