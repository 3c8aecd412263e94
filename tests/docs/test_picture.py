"""The picture in the README shows what the demo shows."""

import re

from tests.docs.picture import FILE, picture


def _words(svg: str) -> list[str]:
    return re.sub(r"<[^>]+>", " ", svg).split()


def test_the_picture_is_what_the_demo_draws():
    written, drawn = FILE.read_text(encoding="utf-8"), picture()
    assert {"riverside", "courier", "biscuit", "flood"} <= set(_words(drawn))
    assert _words(written) == _words(drawn), "run `python -m tests.docs.picture`"


def test_the_picture_asks_no_server():
    assert re.findall(r"url\(.?https?:", FILE.read_text(encoding="utf-8")) == []
