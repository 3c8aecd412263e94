"""An explanation in words, a line for each thing that holds or does not."""

from collections.abc import Iterator

from tidings.cli.terminal import Paint
from tidings.matching.explain import ClauseVerdict, Explanation, Ranking
from tidings.matching.reach import Reach

_SHOWN_CLAUSES = 12
_SHOWN_WORDS = 24


def lines_of(told: Explanation, paint: Paint) -> list[str]:
    """The lines of an explanation; the first one is the answer."""
    message, subscription = paint(told.message, "name"), paint(told.subscription, "name")
    verdict = paint("yes", "good") if told.in_set else paint("no", "bad")
    did = "matches" if told.kind == "within" else "is in the set of"
    not_did = "does not match" if told.kind == "within" else "is not in the set of"
    lines = [
        f"{verdict}, {message} {did if told.in_set else not_did} {subscription} ({told.kind}) "
        f"after position {told.position}",
        f"  message   published at position {told.published}: {_listed(told.words)}",
        f"  standing  registered at position {told.registered}",
    ]
    if told.too_early:
        only = "`within` matches at publication" if told.kind == "within" else "`nearest` looks at later messages"
        lines.append(_line(paint, False, f"published at {told.published}, before the registration; {only}"))
    if told.kind != "within":
        lines.append(_line(paint, not told.gone, f"no longer live: {told.gone}" if told.gone else "live"))
    if told.reach is not None:
        lines.append(_line(paint, told.reach.meets, _place(told.reach)))
        lines += _words(told, paint)
    if told.ranking is not None:
        lines += _rank(told, told.ranking, paint)
    return lines


def _words(told: Explanation, paint: Paint) -> Iterator[str]:
    if told.any_words:
        yield _line(paint, True, "any words will do")
        return
    if not told.clauses:
        yield _line(paint, False, "the expression contradicts itself: no message can satisfy it")
        return
    # What holds comes first, then what lacks least.
    clauses = sorted(told.clauses, key=lambda clause: len(clause.missing) + len(clause.present))
    for clause in clauses[:_SHOWN_CLAUSES]:
        yield _line(paint, clause.holds, _clause(clause))
        yield from _filed(clause, paint)
    if len(clauses) > _SHOWN_CLAUSES:
        yield f"    and {len(clauses) - _SHOWN_CLAUSES} more clauses that do not hold as well"


def _clause(clause: ClauseVerdict) -> str:
    text = " AND ".join([*clause.words, *(f"NOT {word}" for word in clause.excluded)])
    reasons = [f"{word} is missing" for word in clause.missing]
    reasons += [f"{word} is there, but excluded" for word in clause.present]
    return f"words: {text}" + (f"; {', '.join(reasons)}" if reasons else "")


def _filed(clause: ClauseVerdict, paint: Paint) -> Iterator[str]:
    if not clause.cells:
        return
    word = paint(clause.words[0] if clause.words else "any word", "name")
    cells = [
        f"level {cell.level} [{', '.join(f'{side:g}' for side in cell.bounds)}], {cell.entries} in it"
        for cell in clause.cells[:2]
    ]
    more = f" and {len(clause.cells) - 2} more cells" if len(clause.cells) > 2 else ""
    yield f"    filed under {word} in {' and '.join(cells)}{more}"


def _place(reach: Reach) -> str:
    where = reach.region
    if reach.at is not None:
        where += f" [{reach.at[0]:g}, {reach.at[1]:g}], where it stands"
    if reach.meets:
        return f"place: inside {where}"
    return f"place: {'about ' if reach.about else ''}{_far(reach.distance, reach.metres)} outside {where}"


def _rank(told: Explanation, ranking: Ranking, paint: Paint) -> Iterator[str]:
    if not ranking.shared:
        yield _line(paint, False, "words: none that the subscription asks for")
        return
    yield _line(paint, True, f"words: shares {_listed(ranking.shared)}")
    if ranking.place is None:
        return
    best = told.kind == "best"
    value = ranking.score if best else ranking.distance
    what = "score" if best else "distance"
    inside = ranking.place <= ranking.k
    text = f"{what} {value:.6g}, number {ranking.place:,} of {ranking.candidates:,}, "
    text += f"{'in' if inside else 'not in'} the top {ranking.k}"
    if not inside:
        text += f": the last one there has {ranking.last_kept:.6g}"
    yield _line(paint, inside, text)
    if best:
        yield f"    near {ranking.near:.6g} (distance {ranking.distance:.6g}), similar {ranking.similar:.6g}"


def _line(paint: Paint, holds: bool, text: str) -> str:
    return f"  {paint('✓', 'good') if holds else paint('✗', 'bad')} {text}"


def _listed(words: tuple[str, ...]) -> str:
    if not words:
        return "no words"
    more = f" and {len(words) - _SHOWN_WORDS} more" if len(words) > _SHOWN_WORDS else ""
    return ", ".join(words[:_SHOWN_WORDS]) + more


def _far(distance: float, metres: bool) -> str:
    if not metres:
        return f"{distance:.6g} units"
    return f"{distance / 1000:,.1f} km" if distance >= 1000 else f"{distance:.1f} m"
