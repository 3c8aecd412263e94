"""From events as plain data to blocks of columns."""

import re
from collections import OrderedDict
from typing import Final

import numpy as np
import numpy.typing as npt

from tidings.columns import block as b
from tidings.columns.block import Block, MessageColumns, SubscriptionColumns, WeightColumns, sealed
from tidings.language.normal import clauses_of
from tidings.model.errors import InputError, Problem
from tidings.model.events import (
    Configure,
    Event,
    Move,
    Publish,
    Register,
    Remove,
    Replace,
    Retract,
    Reweigh,
    Tick,
    Weights,
)
from tidings.model.limits import MAX_LEAVES
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Subscription, Within
from tidings.space.extent import extent_of, is_globe
from tidings.space.geometry import encode_region
from tidings.space.shapes import DISC, RECTANGLE
from tidings.words.analyser import Analyser
from tidings.words.arenas import Arena
from tidings.words.batch import BagOfWords, analyse_batch, bags_of_lists
from tidings.words.hash_kernels import hash_strings
from tidings.words.hashing import hash_word

REMEMBERED_EXPRESSIONS: Final = 65_536
"""Logs repeat their expressions; parsing one costs ten times as much as looking it up."""

_NAMED: Final = {Retract: b.RETRACT, Remove: b.REMOVE, Move: b.MOVE}
_PLAIN_EXPRESSION: Final = re.compile(r"[a-z0-9]+(?:(?: AND [a-z0-9]+)*|(?: OR [a-z0-9]+)*)")
_NEVER_MATCHES: Final = ""
"""No message has the empty word: an expression without clauses becomes one clause that asks for it."""


class BlockBuilder:
    """Collects events and gives them as a block."""

    def __init__(self, configuration: Configure) -> None:
        self._globe: Final = is_globe(configuration.space)
        self._extent: Final = extent_of(configuration.space)
        self._analyser: Final = Analyser(configuration.analyser)
        self._terms_of: Final[OrderedDict[str, list[str | int]]] = OrderedDict()
        self._start_anew()

    def __len__(self) -> int:
        return len(self._op)

    def add(self, position: int, event: Event) -> None:
        """Add an event. One that cannot be encoded raises `InputError`, and nothing of it is added."""
        op, time, row = 0, b.NO_TIME, -1
        if isinstance(event, Publish):
            op, row = b.PUBLISH, len(self._message_ids)
            time = b.NO_TIME if event.ts is None else event.ts
            self._add_message(event)
        elif isinstance(event, Register | Replace):
            op = b.REGISTER if isinstance(event, Register) else b.REPLACE
            row = len(self._subscription_ids)
            self._add_subscription(event.subscription)
        elif isinstance(event, Retract | Remove | Move):
            op, row = _NAMED[type(event)], len(self._names)
            self._names.append(event.id)
            self._moved_to += event.at if isinstance(event, Move) else (np.nan, np.nan)
        elif isinstance(event, Tick):
            op, time = b.TICK, event.ts
        elif isinstance(event, Reweigh):
            op, row = b.REWEIGH, len(self._weights)
            self._weights.append(event.weights)
        elif position != 0:
            raise InputError(Problem("configure-late", "$.op", "configure", "only at position 0"))
        if op:
            self._position.append(position)
            self._op.append(op)
            self._time.append(time)
            self._row.append(row)

    def build(self) -> Block:
        """The events so far as a block; the builder starts anew."""
        words = Arena.of(self._words)
        block = Block(
            position=np.array(self._position, np.int64),
            op=np.array(self._op, np.uint8),
            time=np.array(self._time, np.int64),
            row=np.array(self._row, np.int64),
            messages=self._messages(),
            subscriptions=SubscriptionColumns(
                id=Arena.of(self._subscription_ids),
                kind=np.array(self._kinds, np.uint8),
                shape=np.array(self._shapes, np.uint8),
                geometry_start=np.cumsum([0, *map(len, self._geometry)], dtype=np.int64),
                geometry=np.concatenate([np.empty(0, np.float64), *self._geometry]),
                term_start=np.array(self._term_start, np.int64),
                term=np.array(self._term, np.uint32),
                word_hash=hash_strings(words.offset, words.data),
                word=words,
            ),
            names=Arena.of(self._names),
            moved_to=np.array(self._moved_to, np.float64).reshape(-1, 2),
            weights=weight_columns(self._weights),
        )
        self._start_anew()
        return sealed(block)

    def _start_anew(self) -> None:
        self._position: list[int] = []
        self._op: list[int] = []
        self._time: list[int] = []
        self._row: list[int] = []
        self._message_ids: list[str] = []
        self._place: list[float] = []
        self._expires: list[int] = []
        self._texts: list[str] = []
        self._word_lists: list[tuple[str, ...]] = []
        self._is_text: list[bool] = []
        self._subscription_ids: list[str] = []
        self._kinds: list[int] = []
        self._shapes: list[int] = []
        self._geometry: list[npt.NDArray[np.float64]] = []
        self._term_start: list[int] = [0]
        self._term: list[int] = []
        self._words: dict[str, int] = {}
        self._names: list[str] = []
        self._moved_to: list[float] = []
        self._weights: list[Weights] = []

    def _add_message(self, event: Publish) -> None:
        self._message_ids.append(event.id)
        self._place += event.box if event.box is not None else (*event.at, *event.at) if event.at is not None else ()
        self._expires.append(b.NEVER if event.expires is None else event.expires)
        self._is_text.append(event.text is not None)
        if event.text is not None:
            self._texts.append(event.text)
        else:
            self._word_lists.append(event.words or ())

    def _messages(self) -> MessageColumns:
        return message_columns(
            Arena.of(self._message_ids),
            np.array(self._place, np.float64).reshape(-1, 4),
            np.array(self._expires, np.int64),
            np.array(self._is_text, bool),
            analyse_batch(self._analyser, Arena.of(self._texts)),
            bags_of_lists(self._word_lists),
        )

    def _add_subscription(self, subscription: Subscription) -> None:
        shape = 0
        if isinstance(subscription, Within):
            kind, terms = b.WITHIN, self._clause_terms(subscription.when)
            shape, geometry = encode_region(subscription.where, self._globe, self._extent)
        elif isinstance(subscription, Around):
            kind, terms = b.AROUND, self._clause_terms(subscription.when)
            measures = subscription.shape
            shape = DISC if isinstance(measures, Disc) else RECTANGLE
            sizes = (measures.radius_m, 0.0) if isinstance(measures, Disc) else (measures.width, measures.height)
            geometry = np.array([*subscription.at, *sizes], np.float64)
        elif isinstance(subscription, Best):
            kind, terms = b.BEST, self._counted_terms(subscription)
            geometry = np.array([*subscription.at, subscription.k, subscription.alpha], np.float64)
        else:
            kind, terms = b.NEAREST, self._counted_terms(subscription)
            geometry = np.array([*subscription.at, subscription.k], np.float64)
        self._subscription_ids.append(subscription.id)
        self._kinds.append(kind)
        self._shapes.append(shape)
        self._geometry.append(geometry)
        words = self._words
        self._term += [words.setdefault(term, len(words)) if isinstance(term, str) else term for term in terms]
        self._term_start.append(len(self._term))

    def _clause_terms(self, when: str | None) -> list[str | int]:
        if when is None:
            return [0]
        terms = self._terms_of.get(when)
        if terms is None:
            terms = self._plain_terms(when) or self._terms_of_any(when)
            self._terms_of[when] = terms
            if len(self._terms_of) > REMEMBERED_EXPRESSIONS:
                self._terms_of.popitem(last=False)
        return terms

    def _plain_terms(self, when: str) -> list[str | int] | None:
        """The terms of words under AND or under OR alone: most expressions are, and this takes a fifth of the time."""
        if self._analyser.stems or _PLAIN_EXPRESSION.fullmatch(when) is None:
            return None
        alternatives = " OR " in when
        leaves = when.split(" OR " if alternatives else " AND ")
        words = sorted(set(leaves))
        if len(leaves) > MAX_LEAVES or not self._analyser.stop_words.isdisjoint(words):
            return None
        if not alternatives:
            return [len(words), *words]
        return [*(term for word in words[:-1] for term in (1 | b.MORE_CLAUSES, word)), 1, words[-1]]

    def _terms_of_any(self, when: str) -> list[str | int]:
        try:
            clauses = clauses_of(when, self._analyser.words)
        except InputError as error:
            raise InputError(
                [Problem(p.code, f"$.when:{p.place}", p.found, p.expected, p.hint) for p in error.problems]
            ) from None
        if not clauses:
            return [1, _NEVER_MATCHES]
        terms: list[str | int] = []
        for i, clause in enumerate(clauses):
            more = b.MORE_CLAUSES if i + 1 < len(clauses) else 0
            terms += (
                len(clause.words) | len(clause.excluded) << b.EXCLUDED_SHIFT | more,
                *clause.words,
                *clause.excluded,
            )
        return terms

    def _counted_terms(self, subscription: Best | Nearest) -> list[str | int]:
        if subscription.text is not None:
            counts: dict[str, int] = {}
            for word in self._analyser.words(subscription.text):
                counts[word] = counts.get(word, 0) + 1
        else:
            counts = dict.fromkeys(subscription.words or (), 1)
        if not counts:
            place = "$.words" if subscription.text is None else "$.text"
            raise InputError(Problem("words-empty", place, "", "at least one word", "without a word nothing can match"))
        terms: list[str | int] = [len(counts)]
        for word in sorted(counts):
            terms += (word, counts[word])
        return terms


def weight_columns(versions: list[Weights]) -> WeightColumns:
    """Versions of the word weights as columns."""
    hashes, weights, start = [], [], [0]
    for version in versions:
        pairs = sorted((hash_word(word), weight) for word, weight in version.idf.items())
        hashes += [hash_ for hash_, _ in pairs]
        weights += [weight for _, weight in pairs]
        start.append(len(hashes))
    return WeightColumns(
        np.array(start, np.int64),
        np.array(hashes, np.uint64),
        np.array(weights, np.float64),
        np.array([version.default for version in versions], np.float64),
    )


def message_columns(
    id_: Arena,
    place: npt.NDArray[np.float64],
    expires: npt.NDArray[np.int64],
    is_text: npt.NDArray[np.bool_],
    texts: BagOfWords,
    lists: BagOfWords,
) -> MessageColumns:
    """Messages from their parts; the words of some come from their text, those of the others from their list."""
    bags = texts if is_text.all() else lists if not is_text.any() else _interleaved(is_text, texts, lists)
    return MessageColumns(id_, place, expires, bags.start, bags.hash, bags.occurrences)


def _interleaved(first: npt.NDArray[np.bool_], texts: BagOfWords, lists: BagOfWords) -> BagOfWords:
    """The bags of texts and of word lists in the order of their messages."""
    length = np.empty(len(first), np.int64)
    length[first], length[~first] = np.diff(texts.start), np.diff(lists.start)
    start = np.zeros(len(first) + 1, np.int64)
    np.cumsum(length, out=start[1:])
    from_text = np.repeat(first, length)
    hashes, counts = np.empty(start[-1], np.uint64), np.empty(start[-1], np.uint32)
    hashes[from_text], hashes[~from_text] = texts.hash, lists.hash
    counts[from_text], counts[~from_text] = texts.occurrences, lists.occurrences
    return texts._replace(start=start, hash=hashes, occurrences=counts)
