"""Every notebook says what it kept."""

import json
import shutil
from pathlib import Path

import pytest

from tests.docs.consoles import difference
from tests.docs.notebooks import NOTEBOOKS, code_cells, run_cell, said_by
from tests.docs.pages import ROOT


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_says_what_it_kept(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    cells = code_cells(json.loads(path.read_text(encoding="utf-8")))
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(cells, 1):
        where = f"{path.name}[{number}]"
        printed, value = run_cell("".join(cell["source"]), where, names)
        said = "".join(f"{text.rstrip(chr(10))}\n" for text in (printed, value) if text)
        assert cell["execution_count"] == number, f"{where}: run `python -m tests.docs.notebooks`"
        wrong = difference(said_by(cell), said)
        assert wrong is None, f"{where}\n{wrong}"


def test_there_are_notebooks_that_say_something():
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        cells = code_cells(json.loads(path.read_text(encoding="utf-8")))
        assert sum(bool(said_by(cell)) for cell in cells) >= len(cells) / 2, path.name
