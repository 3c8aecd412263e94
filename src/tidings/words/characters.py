"""The class of a character under the word rules, as one ASCII letter.

The rules then are a plain regular expression over these letters. Asking for Unicode properties inside the expression
takes twice as long over all (measured), and loads `regex` before the first character that is not ASCII.
"""

from functools import cache
from typing import Final

_CLASSES: Final = {
    "C": r"[[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{WB=Katakana}]&&[\p{L}\p{N}]]",
    "x": r"[\p{WB=Extend}\p{WB=Format}]",
    "j": r"\p{WB=ZWJ}",
    "L": r"[\p{WB=ALetter}&&[\p{L}\p{N}]]",
    "b": r"[\p{WB=ALetter}&&\p{Extended_Pictographic}]",
    "l": r"\p{WB=ALetter}",
    "H": r"\p{WB=Hebrew_Letter}",
    "N": r"[\p{WB=Numeric}&&[\p{L}\p{N}]]",
    "n": r"\p{WB=Numeric}",
    "U": r"\p{WB=ExtendNumLet}",
    ":": r"\p{WB=MidLetter}",
    ";": r"\p{WB=MidNum}",
    ".": r"\p{WB=MidNumLet}",
    "'": r"\p{WB=Single_Quote}",
    '"': r"\p{WB=Double_Quote}",
    "p": r"\p{Extended_Pictographic}",
    "o": r"[\p{L}\p{N}]",
}
"""The first that fits counts: CJK, what extends a character, a zero-width joiner; letters, of them those that are also
pictographs and those that are no letters elsewhere (they join words, and make none); Hebrew; digits and signs that go
with them; underscores; what may stand within words, numbers, both; quotes; pictographs; letters outside the rules."""

_REMEMBERED: Final = 1 << 16


class _CharacterClasses(dict[int, str]):
    """A table for `str.translate` that fills itself."""

    def __init__(self) -> None:
        import regex

        super().__init__()
        self._patterns = [(letter, regex.compile(pattern, regex.V1)) for letter, pattern in _CLASSES.items()]

    def __missing__(self, code_point: int) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        character = chr(code_point)
        found = next((letter for letter, pattern in self._patterns if pattern.match(character)), " ")
        self[code_point] = found
        return found


@cache
def character_classes() -> dict[int, str]:
    """The table, built when the first text comes that is not ASCII."""
    return _CharacterClasses()
