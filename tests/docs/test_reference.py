"""The reference is what the code says, and whatever can be named is named there."""

from pathlib import Path

import pytest

from tests.docs import measured
from tests.docs.generate import FOLDER, PACKAGE, PAGES
from tests.docs.syntax import assigned
from tidings.cli.main import COMMANDS
from tidings.index.base import INDEXES
from tidings.lab.floors import FLOORS
from tidings.log.deltas_file import DELTA_SCHEMA
from tidings.log.event_fields import OP_FIELDS
from tidings.log.tables import EVENT_SCHEMA
from tidings.matching.base import AROUND, BEST, NEAREST
from tidings.model.errors import CODES

NAMED = {
    "cli.md": [f"## tidings {name}" for name in COMMANDS],
    "errors.md": [f"| `{code}` | {meaning} |" for code, meaning in CODES.items()],
    "limits.md": [f"`{bound.name}`" for bound in assigned(PACKAGE / "model" / "limits.py")],
    "files.md": [f"| `{name}` |" for name in (*EVENT_SCHEMA.names, *DELTA_SCHEMA.names, *OP_FIELDS)],
    "methods.md": [f"| `{name}` |" for name in (*INDEXES, *AROUND, *BEST, *NEAREST, *FLOORS)],
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str):
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), f"docs/reference/{name}: run `python -m tests.docs.generate`"


@pytest.mark.parametrize("name", NAMED)
def test_whatever_can_be_named_is_named(name: str):
    page = (FOLDER / name).read_text(encoding="utf-8")
    assert len(NAMED[name]) > 2
    assert [what for what in NAMED[name] if what not in page] == []


def test_no_page_is_left_over():
    assert {path.name for path in FOLDER.glob("*.md")} == {*PAGES, "README.md"}


def test_every_bound_says_what_it_bounds():
    assert [bound.name for bound in assigned(PACKAGE / "model" / "limits.py") if not bound.doc] == []


@pytest.mark.parametrize("page", measured.PAGES, ids=lambda page: page.name)
def test_figures_are_those_of_the_reports(page: Path):
    text = page.read_text(encoding="utf-8")
    assert "<!-- measured: floor -->" in text
    assert text == measured.with_figures(page), f"{page.name}: run `python -m tests.docs.generate`"
