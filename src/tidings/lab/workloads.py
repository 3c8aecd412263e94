"""Seeded workloads of `within`: what is measured, as columns.

The default: a unit square, 100,000 boxes with sides of 0.2 to 4 % of it, most of their centres around 60 clusters, one
to three distinct words that must all be there; point messages of four to ten distinct words from the same laws. Words
are used by Zipf's law. That is about 3.4 matches a message.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from tidings.columns.block import NEVER, WITHIN, MessageColumns, SubscriptionColumns, sealed
from tidings.lab.blocks import subscriptions_at
from tidings.lab.clauses import clause_terms
from tidings.lab.laws import N_CLUSTERS, clustered_places, numbered_names, stream, word_law
from tidings.lab.outlines import boxes_around, encoded_regions
from tidings.lab.recorded import Recorded, read_recorded
from tidings.model.errors import InputError, Problem
from tidings.model.events import Globe, Plane, Space
from tidings.model.regions import Bounds
from tidings.words.arenas import Arena
from tidings.words.hash_kernels import hash_strings

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

FEWEST_WORDS: Final = 4
MOST_WORDS: Final = 10
"""Of a message."""
SUBSCRIBED_WORDS: Final = 3
"""A clause asks for 1 to so many."""
EXCLUDED_WORDS: Final = 2
"""A clause that excludes words excludes 1 to so many."""
CLAUSES: Final = 3
"""A subscription with alternatives has 2 to so many."""
REFERENCE: Final = 100_000
"""With `equal_matches`, sides are such that the matches of a message are as many as with so many subscriptions."""
UNIT_SQUARE: Final = Plane((0.0, 0.0, 1.0, 1.0))


class WithinWorkload(Struct, frozen=True, kw_only=True):
    """The options of a workload; the same options give the same workload everywhere."""

    subscriptions: int = 100_000
    messages: int = 100_000
    seed: int = 1
    words_law: str = "zipf:1"
    """`zipf:S` or `uniform`."""
    vocabulary: int = 20_000
    or_share: float = 0.0
    """The share of subscriptions with two or three clauses."""
    not_share: float = 0.0
    """The share of subscriptions whose clauses exclude one or two words."""
    polygons: float = 0.0
    """The share of subscriptions whose region is a polygon of 50 vertices."""
    boxes: float = 0.0
    """The share of messages that are boxes, with sides like those of the subscriptions."""
    equal_matches: bool = False
    """Shrink the sides as the subscriptions grow in number."""
    scale: float = 1.0
    """A factor on all sides."""
    data: str | None = None
    """A Parquet file, or a directory of them: its messages, and subscriptions made from them."""

    def __post_init__(self) -> None:
        problems = [
            Problem("option-invalid", f"--{name}", str(value), f"at least {least}")
            for name, value, least in (
                ("subscriptions", self.subscriptions, 1),
                ("messages", self.messages, 1),
                ("seed", self.seed, 0),
                ("vocabulary", self.vocabulary, 2 * MOST_WORDS),
            )
            if value < least
        ] + [
            Problem("option-invalid", f"--{name}", str(value), "a share from 0 to 1")
            for name, value in (
                ("or", self.or_share),
                ("not", self.not_share),
                ("polygons", self.polygons),
                ("boxes", self.boxes),
            )
            if not 0.0 <= value <= 1.0
        ]
        if problems:
            raise InputError(problems)

    @property
    def side_scale(self) -> float:
        """The factor on all sides, with what `equal_matches` asks for."""
        return self.scale * ((REFERENCE / self.subscriptions) ** 0.5 if self.equal_matches else 1.0)

    @property
    def plain(self) -> "WithinWorkload":
        """The same workload with boxes, points and words in AND alone."""
        return replace(self, or_share=0.0, not_share=0.0, polygons=0.0, boxes=0.0)

    def of_size(self, subscriptions: int, messages: int) -> "WithinWorkload":
        """The same laws and sides with other numbers."""
        return replace(self, subscriptions=subscriptions, messages=messages, scale=self.side_scale, equal_matches=False)


class Workload(NamedTuple):
    """A workload as sealed columns."""

    space: Space
    subscriptions: SubscriptionColumns
    messages: MessageColumns
    words: Arena
    """Every word, in code-point order."""
    message_word: Int64s
    """The words of the messages as rows of `words`; offsets are those of `messages.word_hash`."""


class _Draws(NamedTuple):
    """What subscriptions and messages are made of, drawn by laws or taken from a recording."""

    space: Space
    bounds: Bounds
    words: Arena
    centre: Float64s
    clause_words: list[Int64s]
    """For each of up to CLAUSES clauses: (n, k) distinct words, -1 where there are fewer."""
    message_place: Float64s
    word_start: Int64s
    message_word: Int64s


def generate(options: WithinWorkload) -> Workload:
    """The workload of these options."""
    draws = _recorded_draws(options, read_recorded(options.data)) if options.data else _lawful_draws(options)
    hashes = hash_strings(draws.words.offset, draws.words.data)
    return Workload(
        space=draws.space,
        subscriptions=_subscriptions(options, draws, hashes),
        messages=_messages(options, draws, hashes),
        words=draws.words,
        message_word=draws.message_word,
    )


def _clause_counts(options: WithinWorkload) -> Int64s:
    rng = stream(options.seed, "clauses")
    several = rng.random(options.subscriptions) < options.or_share
    return np.where(several, rng.integers(2, CLAUSES + 1, options.subscriptions), 1)


def _lawful_draws(options: WithinWorkload) -> _Draws:
    seed, n, m = options.seed, options.subscriptions, options.messages
    law = word_law(options.words_law, options.vocabulary, stream(seed, "law"))
    clusters = stream(seed, "clusters").random((N_CLUSTERS, 2))
    clauses = CLAUSES if options.or_share else 1
    asked = SUBSCRIBED_WORDS + (EXCLUDED_WORDS if options.not_share else 0)
    words = law.draw_distinct(stream(seed, "message words"), m, MOST_WORDS)
    length = stream(seed, "message lengths").integers(FEWEST_WORDS, MOST_WORDS + 1, m)
    # Sorted within a message: numbers are in code-point order, and so are the words of a message.
    words = np.sort(np.where(np.arange(MOST_WORDS) < length[:, None], words, options.vocabulary), axis=1)
    return _Draws(
        space=UNIT_SQUARE,
        bounds=UNIT_SQUARE.bounds,
        words=numbered_names("w", 0, options.vocabulary, width=len(str(options.vocabulary - 1))),
        centre=clustered_places(clusters, stream(seed, "centres"), n),
        clause_words=[law.draw_distinct(stream(seed, f"clause {i}"), n, asked) for i in range(clauses)],
        message_place=clustered_places(clusters, stream(seed, "message places"), m),
        word_start=np.concatenate([[0], np.cumsum(length)]),
        message_word=words[words < options.vocabulary],
    )


def _recorded_draws(options: WithinWorkload, recorded: Recorded) -> _Draws:
    """Messages as they were recorded, and subscriptions around the places of messages that ask for their words."""
    seed, n = options.seed, options.subscriptions
    m = min(options.messages, len(recorded.place))
    taken = np.sort(stream(seed, "messages taken").permutation(len(recorded.place))[:m])
    about = [stream(seed, f"about {i}").integers(0, len(recorded.place), n) for i in range(CLAUSES)]
    asked = SUBSCRIBED_WORDS + (EXCLUDED_WORDS if options.not_share else 0)
    word_start, items = recorded.items_of(taken)
    return _Draws(
        space=Globe(),
        bounds=recorded.bounds,
        words=recorded.words,
        centre=recorded.place[about[0]],
        clause_words=[recorded.some_words(stream(seed, f"clause {i}"), rows, asked) for i, rows in enumerate(about)],
        message_place=recorded.place[taken],
        word_start=word_start,
        message_word=recorded.word[items],
    )


def _subscriptions(options: WithinWorkload, draws: _Draws, hashes: npt.NDArray[np.uint64]) -> SubscriptionColumns:
    seed, n = options.seed, options.subscriptions
    positive = [stream(seed, f"words {i}").integers(1, SUBSCRIBED_WORDS + 1, n) for i in range(len(draws.clause_words))]
    excludes = stream(seed, "excludes").random(n) < options.not_share
    excluded = np.where(excludes, stream(seed, "excluded").integers(1, EXCLUDED_WORDS + 1, n), 0)
    term_start, term = clause_terms(_clause_counts(options), draws.clause_words, positive, excluded)
    is_polygon = stream(seed, "polygons").random(n) < options.polygons
    bounds = boxes_around(draws.centre, options.side_scale, draws.bounds, stream(seed, "sides"))
    shape, geometry_start, geometry = encoded_regions(bounds, is_polygon, stream(seed, "vertices"))
    columns = sealed(
        SubscriptionColumns(
            id=numbered_names("s", 0, n),
            kind=np.full(n, WITHIN, np.uint8),
            shape=shape,
            geometry_start=geometry_start,
            geometry=geometry,
            term_start=term_start,
            term=term,
            word_hash=hashes,
            word=draws.words,
        )
    )
    # Only the words that they use: a recording has many more.
    return subscriptions_at(columns, np.arange(n))


def _messages(options: WithinWorkload, draws: _Draws, hashes: npt.NDArray[np.uint64]) -> MessageColumns:
    m = len(draws.message_place)
    is_box = stream(options.seed, "boxes").random(m) < options.boxes
    place = np.tile(draws.message_place, 2)
    if is_box.any():
        rng = stream(options.seed, "message sides")
        place[is_box] = boxes_around(draws.message_place, options.side_scale, draws.bounds, rng)[is_box]
    return sealed(
        MessageColumns(
            id=numbered_names("m", 0, m),
            place=place,
            expires=np.full(m, NEVER),
            word_start=draws.word_start.astype(np.int64),
            word_hash=hashes[draws.message_word],
            word_count=np.ones(len(draws.message_word), np.uint32),
        )
    )
