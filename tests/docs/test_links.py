"""Links lead somewhere, every page can be reached, and no page says what it should not."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors_of, links_of, name_of, pages, prose_of

PAGES = {name_of(page): page for page in pages()}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_what_is_there(page: str):
    wrong = []
    for target in links_of(PAGES[page]):
        if re.match(r"(?:https?|mailto):", target):
            continue
        path, _, anchor = target.partition("#")
        file = (PAGES[page].parent / path).resolve() if path else PAGES[page]
        belongs = file.is_relative_to(ROOT) and file.exists()
        if not belongs or (anchor and anchor not in anchors_of(file)):
            wrong.append(target)
    assert not wrong, f"{page}: {', '.join(wrong)}"


def test_every_page_can_be_reached_from_the_first():
    seen, open_pages = set(), [ROOT / "README.md"]
    while open_pages:
        page = open_pages.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in links_of(page):
            file = (page.parent / target.partition("#")[0]).resolve()
            if file.is_dir():
                file /= "README.md"
            if file.suffix == ".md" and file.exists():
                open_pages.append(file)
    assert {name_of(page) for page in PAGES.values()} <= {name_of(page) for page in seen}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_its_name(page: str):
    assert PAGES[page].read_text(encoding="utf-8").startswith("# "), page
    assert prose_of(PAGES[page]).count("\n# ") == 0, f"{page} has two names"


def test_every_decision_has_its_parts_and_is_listed():
    folder = ROOT / "docs" / "adr"
    listed = links_of(folder / "README.md")
    decisions = sorted(Path(path).name for path in folder.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in decisions] == list(range(1, len(decisions) + 1))
    for name in decisions:
        text = (folder / name).read_text(encoding="utf-8")
        parts = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert set(parts) >= {"Decision", "Why", "Limits"}, name
        assert text.startswith(f"# {int(name[:4])}. "), name
        assert name in listed, f"{name} is not listed"
