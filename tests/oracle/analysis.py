"""Text to words, without a language: NFKC, case folding, the word boundaries of UAX 29, bigrams of Han and kana.

The classes of UAX 29 are taken from general categories and a few code points. That is exact for the scripts that the
random logs use (Latin, Greek, Cyrillic, digits, Han, kana), not for Hebrew's quotation marks or for emoji sequences,
which hold no letter anyway.
"""

import unicodedata
from itertools import pairwise

MID_LETTER = set(":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a")
MID_NUMBER = set(",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b")
MID_BOTH = set(".'\u2018\u2019\u2024\ufe52\uff07\uff0e")


def _script(character: str) -> str:
    """`han`, `hiragana`, `katakana`, or nothing: by the character's name."""
    name = unicodedata.name(character, "")
    if name.startswith(("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH")) or character in "々〇":
        return "han"
    if name.startswith("KATAKANA"):
        return "katakana"
    return "hiragana" if name.startswith("HIRAGANA") else ""


def _class(character: str) -> str:
    """The word break class, one letter each; `x` extends what stands before it."""
    category = unicodedata.category(character)
    script = _script(character)
    if category in ("Mn", "Me", "Mc", "Cf") and character != "\u200b":
        return "x"
    if script:
        return "K" if script == "katakana" else "C"
    if category[0] == "L" or category == "Nl":
        return "A"
    if category == "Nd":
        return "N"
    if category == "Pc" or character == "\u202f":
        return "_"
    if character in MID_LETTER:
        return "l"
    if character in MID_NUMBER:
        return "n"
    return "b" if character in MID_BOTH else "o"


def _joined(classes: str, i: int) -> bool:
    """Whether no boundary lies between unit i and unit i + 1 (rules WB5 to WB13b)."""
    left, right = classes[i], classes[i + 1]
    before = classes[i - 1] if i else ""
    after = classes[i + 2] if i + 2 < len(classes) else ""
    if left in "AN" and right in "AN":
        return True
    if (left == "A" and right in "lb" and after == "A") or (before == "A" and left in "lb" and right == "A"):
        return True
    if (left == "N" and right in "nb" and after == "N") or (before == "N" and left in "nb" and right == "N"):
        return True
    if left == "K" and right == "K":
        return True
    return (left in "ANK_" and right == "_") or (left == "_" and right in "ANK")


def _units(text: str) -> list[str]:
    """Characters with what extends them (WB4)."""
    units: list[str] = []
    for character in text:
        if units and _class(character) == "x":
            units[-1] += character
        else:
            units.append(character)
    return units


def _segments(units: list[str], classes: str) -> list[tuple[str, str]]:
    """Pairs (text, classes) between two boundaries; neighbours in Han and kana stay together, to be cut in bigrams."""
    segments: list[tuple[str, str]] = []
    for i, unit in enumerate(units):
        east_asian = i > 0 and classes[i] in "CK" and classes[i - 1] in "CK"
        if i > 0 and (east_asian or _joined(classes, i - 1)):
            segments[-1] = (segments[-1][0] + unit, segments[-1][1] + classes[i])
        else:
            segments.append((unit, classes[i]))
    return segments


def analysed(text: str, stop_words: frozenset[str] = frozenset()) -> list[str]:
    """The words of a text in its order, each as often as it occurs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    units = _units(folded)
    classes = "".join(_class(unit[0]) for unit in units)
    words: list[str] = []
    for segment, kinds in _segments(units, classes):
        if not any(unicodedata.category(character)[0] in "LN" for character in segment):
            continue
        if set(kinds) <= set("CK") and len(kinds) > 1:
            characters = _units(segment)
            words += [first + second for first, second in pairwise(characters)]
        else:
            words.append(segment)
    return [word for word in words if word not in stop_words]
