"""Text to words: folding, Unicode word boundaries (UAX 29), and bigrams where a script writes no spaces.

A word is a segment between two Unicode word boundaries that contains a letter or a digit. Han, Hiragana and Katakana
are taken out of the word rules: a run of them gives its overlapping pairs of characters, a single one itself. Where a
script without spaces is not one of these three (Thai, Khmer, …), the default boundaries stand: each character with its
marks is a word.

A pictograph joined by a zero-width joiner belongs to the word before it (WB3c); of the few that are letters as well
(U+1F170 and the like) this is so only right behind a letter.

Every word is a word again: folding it changes nothing, and segmenting it gives it alone.
"""

import re
import unicodedata
from itertools import pairwise
from typing import Final

from tidings.words.characters import character_classes

_ASCII_WORDS: Final = re.compile(
    r"(?:[a-z0-9_]+"
    r"|(?<=[a-z])[.:'](?=[a-z])"  # WB6, WB7
    r"|(?<=[0-9])[.,;'](?=[0-9]))+"  # WB11, WB12
)

# The rules over the text with each character replaced by the letter of its class. Possessive quantifiers, and no two
# alternatives that begin alike for long: the time is linear in the length of the text.
_EXTEND: Final = r"[xj]*+"  # WB4
_UNIT: Final = (
    r"[LNU]+(?=[LNU])"  # all of a run but its last, which may have something behind it
    rf"|[Llb]{_EXTEND}(?:[:.']{_EXTEND}(?=[LlbH]))?"  # WB5 to WB7, WB9
    rf"|H{_EXTEND}(?:[:.']{_EXTEND}(?=[LlbH])|\"{_EXTEND}(?=H)|(?!'))"  # WB7b, WB7c
    rf"|[Nn]{_EXTEND}(?:[;.']{_EXTEND}(?=[Nn]))?"  # WB8, WB10 to WB12
    rf"|U{_EXTEND}"  # WB13a, WB13b
)
_GERESH: Final = rf"H{_EXTEND}'{_EXTEND}"  # WB7a
_CORE: Final = rf"(?:(?:{_UNIT})++(?:{_GERESH})?|{_GERESH})"
_JOINED: Final = rf"(?:(?<=j)p{_EXTEND})*+"  # WB3c
_CHARACTER: Final = rf"C{_EXTEND}{_JOINED}"
_SEGMENTS: Final = re.compile(rf"(?P<run>(?:{_CHARACTER})++)|(?:{_CORE}|o{_EXTEND}){_JOINED}")
_CHARACTERS: Final = re.compile(_CHARACTER)
_SPOKEN: Final = re.compile(r"[LHNo]")


def folded(text: str) -> str:
    """The text in NFKC and case-folded; folding what was folded changes nothing."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def segmented(text: str) -> list[str]:
    """The words of a folded text, in order, with repeats."""
    if not text.isascii():
        return _unicode_segments(text)
    words = _ASCII_WORDS.findall(text)
    if "_" in text:
        words = [word for word in words if word.strip("_")]
    return words


def _unicode_segments(text: str) -> list[str]:
    classes = text.translate(character_classes())
    words: list[str] = []
    for segment in _SEGMENTS.finditer(classes):
        start, end = segment.span()
        if segment.lastgroup is None:
            if _SPOKEN.search(classes, start, end):
                words.append(text[start:end])
        else:
            run = [text[slice(*character.span())] for character in _CHARACTERS.finditer(classes, start, end)]
            words.extend(map("".join, pairwise(run)) if len(run) > 1 else run)
    return words
