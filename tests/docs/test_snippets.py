"""Every command and snippet of the documentation does what its page says."""

import doctest
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import click
import pytest

from tests.docs.consoles import commands_of, difference, run
from tests.docs.pages import ROOT, Block, blocks_of, name_of, pages
from tidings.cli.main import COMMANDS, cli
from tidings.index.base import INDEXES
from tidings.log.files import open_events
from tidings.log.wire import decode_event
from tidings.model.errors import InputError
from tidings.model.events import Globe
from tidings.space.region_json import read_region

PAGES = {name_of(page): page for page in pages()}
BY_EYE = {"", "text", "mermaid", "lark"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder with the examples where a copy of the repository has them."""
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    # As in an environment that is activated: the workers of a session that a page starts are this Python.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with patch.dict(INDEXES):
        yield tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page: str, place: Path, monkeypatch: pytest.MonkeyPatch):
    program = ModuleType("program")
    monkeypatch.setitem(sys.modules, program.__name__, program)
    for block in blocks_of(PAGES[page]):
        where = f"{page}:{block.line}"
        match block.language:
            case "console" if "no-run" in block.words:
                for command in commands_of(block.body):
                    _parse(command.typed, where)
            case "console":
                _run(block, where, place)
            case "python":
                _execute(block, where, program.__dict__)
            case "ndjson" | "geojson":
                _write(block, where, place)
            case "json":
                _read(block, where)
            case language:
                assert language in BY_EYE, f"{where}: nobody says what to do with {language!r}"


def test_there_is_enough_to_test():
    kinds = [block.language for page in PAGES.values() for block in blocks_of(page)]
    not_run = [block for page in PAGES.values() for block in blocks_of(page) if "no-run" in block.words]
    assert kinds.count("console") > 20
    assert kinds.count("python") > 5
    assert kinds.count("ndjson") > 3
    assert len(not_run) < kinds.count("console") / 3


def test_every_command_is_shown_somewhere():
    shown = "\n".join(block.body for page in PAGES.values() for block in blocks_of(page) if block.language == "console")
    for command in COMMANDS:
        assert re.search(rf"\btidings {command}\b", shown), f"no page shows `tidings {command}`"


def _run(block: Block, where: str, place: Path) -> None:
    commands = commands_of(block.body)
    for command, said in zip(commands, run(commands, place), strict=True):
        wrong = difference(command.said, said)
        assert wrong is None, f"{where}: $ {command.typed}\n{wrong}"


def _execute(block: Block, where: str, names: dict[str, object]) -> None:
    if ">>>" not in block.body:
        exec(compile(block.body, where, "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(block.body, names, where, where, block.line)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append, clear_globs=False)
    names.update(example.globs)
    assert result.failed == 0, f"{where}\n{''.join(said)}"


def _write(block: Block, where: str, place: Path) -> None:
    assert block.words, f"{where}: the block says no file"
    path = place / block.words[0]
    if path.exists():
        assert path.read_text(encoding="utf-8") == block.body, f"{where} is not what {path.name} has"
    path.write_text(block.body, encoding="utf-8")
    with open_events(path) as entries:
        bad = [entry for entry in entries if isinstance(entry.event, InputError)]
    assert not bad, f"{where}: {bad}"


def _read(block: Block, where: str) -> None:
    value = json.loads(block.body)
    if "region" in block.words:
        region, problems = read_region(value, "$", Globe())
        assert region is not None, f"{where}: {problems}"
    elif isinstance(value, dict) and "op" in value:
        decode_event(json.dumps(value).encode(), Globe())


def _parse(typed: str, where: str) -> None:
    """A command that is not run is one that could be."""
    words = shlex.split(typed, comments=True)
    if words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert all(word in targets or "=" in word for word in words[1:]), where
    elif words[0] == "tidings":
        context = click.Context(cli, info_name="tidings")
        command, rest = cli, words[1:]
        while isinstance(command, click.Group) and rest != ["--help"]:
            if command.invoke_without_command and rest[0].startswith("-"):
                break
            _, command, rest = command.resolve_command(context, rest)
            assert command is not None, where
        if rest != ["--help"]:
            command.make_context(command.name or "", rest, parent=context)
    else:
        assert words[0] in {"git", "cd", "source", ".", "python", "eval", "python3"}, f"{where}: {typed}"
        if words[:2] == ["python", "-m"] and words[2].startswith(("tests.", "tidings.")):
            assert import_module(words[2].rpartition(".")[0]), where
