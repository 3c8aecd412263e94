"""The languages that the analyser knows by their ISO 639-1 code: whose stop words, and whose stemming."""

from collections.abc import Callable
from importlib import import_module
from typing import Final

STEMMERS: Final = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Snowball's name of each language that can be stemmed."""


def known_languages() -> list[str]:
    """Every language with stop words or a stemmer."""
    import stopwordsiso

    return sorted(stopwordsiso.langs() | STEMMERS.keys())


def stop_words_of(language: str) -> frozenset[str]:
    """The stop words of a language as published, not folded; none when it is known by its stemmer only."""
    import stopwordsiso

    return frozenset(stopwordsiso.stopwords(language)) if stopwordsiso.has_lang(language) else frozenset()


def stemmer_of(language: str) -> Callable[[str], str]:
    """Snowball's stemming, always its pure Python form.

    `snowballstemmer.stemmer` answers with PyStemmer's where that is installed, whose release may differ; then the words
    of a log would depend on the machine.
    """
    name = STEMMERS[language]
    stem: Callable[[str], str] = getattr(
        import_module(f"snowballstemmer.{name}_stemmer"), f"{name.title().replace('_', '')}Stemmer"
    )().stemWord
    return stem
