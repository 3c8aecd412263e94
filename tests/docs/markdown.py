"""Tables, names and pages in Markdown."""

from collections.abc import Iterable


def names(of: tuple[str, ...]) -> str:
    """Names as code, one after the other."""
    return ", ".join(name if name == "…" else f"`{name}`" for name in of)


def line(text: str) -> str:
    """The first paragraph of a text, for a cell of a table."""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(' '.join(cell.split()) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def table_in(docstring: str) -> str:
    """The table that a docstring has."""
    lines = [line for line in docstring.splitlines() if line.startswith("|")]
    assert len(lines) > 2
    return "\n".join(lines) + "\n"


def page(parts: list[str]) -> str:
    """A page of its parts, with an empty line between them."""
    return "\n".join(part if part.endswith("\n") else f"{part}\n" for part in parts)
