"""The analyser under its configurations."""

import subprocess
import sys

import pytest

from tidings.model.errors import InputError
from tidings.model.events import AnalyserConfiguration
from tidings.words.analyser import Analyser
from tidings.words.languages import STEMMERS, known_languages, stemmer_of


def test_the_default_keeps_every_word_in_order():
    assert Analyser().words("The flood, the FLOOD") == ["the", "flood", "the", "flood"]


def test_a_language_brings_its_stop_words():
    assert Analyser(AnalyserConfiguration("en")).words("The flooded bridges are closed") == [
        "flooded",
        "bridges",
        "closed",
    ]


def test_no_stop_words_and_our_own():
    assert Analyser(AnalyserConfiguration("en", stop_words=False)).words("The Flood") == ["the", "flood"]
    own = AnalyserConfiguration("en", stop_words=("FLOOD", "Straße"))
    assert Analyser(own).words("The flood STRASSE") == ["the"]
    assert Analyser(AnalyserConfiguration(stop_words=("the",))).words("The flood") == ["flood"]


def test_stop_words_are_compared_before_stemming():
    configuration = AnalyserConfiguration("en", stemming=True, stop_words=("bridges", "flood"))
    assert Analyser(configuration).words("bridges bridge flooding") == ["bridg", "flood"]


@pytest.mark.parametrize("language", sorted(STEMMERS))
def test_every_stemmer_is_there_and_leaves_a_word(language):
    stem = stemmer_of(language)
    assert isinstance(stem("information"), str)
    analyser = Analyser(AnalyserConfiguration(language, stemming=True, stop_words=False))
    words = analyser.words("a es ing ations ów नहीं информация που ان 漢字")
    assert len(words) == 10
    assert all(words)
    assert words == analyser.words("a es ing ations ów नहीं информация που ان 漢字")


@pytest.mark.parametrize("language", known_languages())
def test_every_language_can_be_configured(language):
    assert not Analyser(AnalyserConfiguration(language)).stems


@pytest.mark.parametrize(
    ("configuration", "code", "named"),
    [
        (AnalyserConfiguration("xx"), "field-value", "en"),
        (AnalyserConfiguration("EN"), "field-value", "en"),
        (AnalyserConfiguration("zh", stemming=True), "field-value", "en"),
        (AnalyserConfiguration(stemming=True), "field-missing", "language"),
    ],
)
def test_what_cannot_be_configured(configuration, code, named):
    with pytest.raises(InputError) as caught:
        Analyser(configuration)
    problem = caught.value.problems[0]
    assert problem.code == code
    assert problem.place == "$.analyser.language"
    assert named in problem.expected


def test_plain_text_loads_no_language_package():
    script = (
        "import sys; from tidings.words.analyser import Analyser; from tidings.words.hashing import hash_word;"
        "assert Analyser().words('A_b c.d') == ['a_b', 'c.d']; hash_word('x');"
        "print(*{'regex', 'snowballstemmer', 'stopwordsiso', 'numba', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
