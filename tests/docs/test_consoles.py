"""The tests of the documentation can fail."""

import pytest

from tests.docs.consoles import Command, commands_of, difference, run
from tests.docs.pages import ROOT, anchors_of, blocks_of, links_of


def test_a_block_is_commands_and_what_they_say():
    body = "$ one\nsaid\n$ two <<END\n> more\n> END\n\nsaid too\n"
    assert commands_of(body) == [Command("one", "said\n"), Command("two <<END\nmore\nEND", "\nsaid too\n")]
    with pytest.raises(ValueError, match="begins with a command"):
        commands_of("said\n$ one\n")


def test_commands_run_in_one_shell(tmp_path):
    typed = ["x=7", "echo $x; echo wrong >&2", "false", "echo $?", "cat <<END\ntwo\nlines\nEND"]
    said = run([Command(line, "") for line in typed], tmp_path)
    assert said == ["", "7\nwrong\n", "", "1\n", "two\nlines\n"]


@pytest.mark.parametrize(
    ("wanted", "got", "same"),
    [
        ("14 events, 0.02 s\n", "14 events, 1,234.50 s\n", True),
        ("14 events, 0.02 s\n", "15 events, 0.02 s\n", False),
        ("one\n...\nthree\n", "one\ntwo\nthree\n", True),
        ("one\n", "one\ntwo\n", False),
        ("  one\n", "one\n", False),
        ("", "something\n", False),
    ],
)
def test_what_is_said_is_compared(wanted, got, same):
    assert (difference(wanted, got) is None) == same


def test_blocks_links_and_anchors_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n## `tidings run`: why?\n\n[a](b.md#c) and ![d](e.svg) but `[no](f)`\n\n"
        "````text\n```python\nx\n```\n````\n\n```ndjson x.ndjson\n{}\n```\n",
        encoding="utf-8",
    )
    assert [(block.line, block.language, block.words) for block in blocks_of(page)] == [
        (8, "text", ()),
        (14, "ndjson", ("x.ndjson",)),
    ]
    assert links_of(page) == ["b.md#c", "e.svg"]
    assert anchors_of(page) == {"a-page", "tidings-run-why"}


def test_the_readme_has_what_is_looked_for():
    assert len(links_of(ROOT / "README.md")) > 8
    assert len(list(blocks_of(ROOT / "README.md"))) > 4
