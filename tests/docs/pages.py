"""The pages of the documentation, and the fenced blocks, links and headings in them.

A block's first word is its language. What follows says what a test does with it:

| block | is |
|---|---|
| `console` | run in a copy of the repository's examples, `$ ` lines as commands, the rest compared with what they say |
| `console no-run` | only parsed: work that takes long, or that the tests do themselves |
| `python` | run; with `>>>` its answers are compared |
| `ndjson`, `geojson` and a path | written to that path; each line is an event that is read |
| `json` | an event or, with the word `region`, a region |
| `text`, `mermaid`, … | looked at by people alone |
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^(?P<fence>```+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)!?\[(?:[^\[\]]|\[[^\]]*\]|`[^`]*`)*\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#* *$", re.MULTILINE)


class Block(NamedTuple):
    """One fenced block."""

    line: int
    """Of the file, from 1: where its first line stands."""
    language: str
    words: tuple[str, ...]
    """What follows the language."""
    body: str


def pages() -> list[Path]:
    """All pages, of the repository and of `docs`."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def name_of(page: Path) -> str:
    """How a page is called in a report."""
    return str(page.relative_to(ROOT))


def blocks_of(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        language, *words = found["info"].split() or [""]
        yield Block(text.count("\n", 0, found.start("body")) + 1, language, tuple(words), found["body"])


def prose_of(page: Path) -> str:
    """A page without its blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links_of(page: Path) -> list[str]:
    """Where the links of a page lead; what stands in code is none."""
    return [found["target"] for found in _LINK.finditer(re.sub(r"``?[^`\n]+``?", "``", prose_of(page)))]


def anchors_of(page: Path) -> set[str]:
    """The names under which the headings of a page can be reached."""
    anchors: set[str] = set()
    for heading in _HEADING.findall(prose_of(page)):
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = 1
        unique = slug
        while unique in anchors:
            unique, number = f"{slug}-{number}", number + 1
        anchors.add(unique)
    return anchors
