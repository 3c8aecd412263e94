"""The analyser: how the text of messages and of subscriptions becomes words, the same for both."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from tidings.model.errors import InputError, Problem, shortened
from tidings.model.events import AnalyserConfiguration
from tidings.words.languages import STEMMERS, known_languages, stemmer_of, stop_words_of
from tidings.words.segmentation import folded, segmented

STEM_CACHE: Final = 1 << 16
"""Words whose stem is remembered; a stem costs some 20 microseconds."""


class Analyser:
    """Text to words, under one configuration: fold, segment, drop stop words, stem.

    Stop words are compared after folding and before stemming. An analyser that stems is for one thread at a time.
    ASCII text in the default configuration loads none of the language packages.
    """

    def __init__(self, configuration: AnalyserConfiguration = AnalyserConfiguration()) -> None:  # noqa: B008
        _check(configuration)
        self.configuration: Final = configuration
        self.stop_words: Final = _stop_words(configuration)
        self._stem: Callable[[str], str] | None = None
        if configuration.stemming and configuration.language is not None:
            self._stem = lru_cache(STEM_CACHE)(stemmer_of(configuration.language))

    @property
    def stems(self) -> bool:
        """Whether words are reduced to their stems."""
        return self._stem is not None

    def words(self, text: str) -> list[str]:
        """The words of a text, in order, with repeats."""
        words = segmented(folded(text))
        if self.stop_words:
            words = [word for word in words if word not in self.stop_words]
        if self._stem is not None:
            # A few stemmers leave nothing of a word that is all suffix.
            words = [self._stem(word) or word for word in words]
        return words


def _check(configuration: AnalyserConfiguration) -> None:
    language = configuration.language
    if language is None:
        if configuration.stemming:
            raise InputError(
                Problem("field-missing", "$.analyser.language", expected="a language", hint="stemming is per language")
            )
        return
    known = known_languages()
    if language not in known:
        raise InputError(
            Problem("field-value", "$.analyser.language", shortened(language), f"one of {', '.join(known)}")
        )
    if configuration.stemming and language not in STEMMERS:
        hint = f"{language} has stop words only; leave stemming out"
        expected = f"a language that can be stemmed: one of {', '.join(sorted(STEMMERS))}"
        raise InputError(Problem("field-value", "$.analyser.language", shortened(language), expected, hint))


def _stop_words(configuration: AnalyserConfiguration) -> frozenset[str]:
    given = configuration.stop_words
    if not isinstance(given, bool):
        return frozenset(map(folded, given))
    if given and configuration.language is not None:
        return frozenset(map(folded, stop_words_of(configuration.language)))
    return frozenset()
