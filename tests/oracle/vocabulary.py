"""Random words, texts and expressions from a vocabulary that is small, so that much matches."""

from random import Random

from tests.oracle.analysis import analysed
from tests.oracle.expressions import Tree, parse

FORMS: dict[str, list[str]] = {
    "flood": ["flood", "Flood", "FLOOD", "ｆｌｏｏｄ"],
    "bridge": ["bridge", "Bridge"],
    "road": ["road", "ROAD"],
    "fire": ["fire", "ﬁre"],
    "water": ["water", "Water"],
    "the": ["the", "The"],
    "strasse": ["Straße", "STRASSE"],
    "café": ["café", "cafe\u0301", "CAFÉ"],
    "don't": ["don't", "DON'T"],
    "3.14": ["3.14"],
    "1,000": ["1,000"],
    "u_turn": ["u_turn", "U_Turn"],
    "вода": ["Вода", "вода"],
    "東京": ["東京", "東京都"],
    "ひら": ["ひらがな"],
    "カタ": ["ｶﾀｶﾅ", "カタ"],
    "naïve's": ["naïve's"],
    "and": ["and"],
}
"""How a word is written in texts (what analysis makes of it comes out of the analysis)."""
FREQUENCIES = [12, 8, 7, 5, 4, 3] + [1] * (len(FORMS) - 6)
RAW = ["flood", "flood", "bridge", "road", "Big Dam", "AND", "Flood", "(x)", "東京", "don't", "🌊", '"hi" \\o/']
"""Words that are taken as they are; some can come out of no text."""
SEPARATORS = [" "] * 12 + [", ", "! ", " - ", "\n", " / ", "… ", ".", "-", " 🌊 ", "\u3000"]
STOP_WORDS = ["the", "water", "and"]


def word(random: Random) -> str:
    """A word as it is."""
    return random.choice(RAW) if random.random() < 0.3 else random.choices(list(FORMS), FREQUENCIES)[0]


def words(random: Random, most: int = 4) -> list[str]:
    """A list of words, now and then with one that comes twice."""
    found = [word(random) for _ in range(random.randint(1, most))]
    return [*found, found[0]] if random.random() < 0.1 else found


def text(random: Random, most: int = 6) -> str:
    """A text; a hundredth has no word at all."""
    if random.random() < 0.01:
        return random.choice(["!!!", "", "🌊 … _"])
    forms = [random.choice(FORMS[random.choices(list(FORMS), FREQUENCIES)[0]]) for _ in range(random.randint(1, most))]
    return "".join(form + random.choice(SEPARATORS) for form in forms)


def worded(random: Random, stop_words: frozenset[str]) -> dict[str, object]:
    """`words` or `text` of a `best` or a `nearest`: at least one word comes of it."""
    while True:
        if random.random() < 0.5:
            return {"words": words(random)}
        found = text(random, 3)
        if analysed(found, stop_words):
            return {"text": found}


def expression(random: Random, stop_words: frozenset[str]) -> str:
    """An expression that is valid: it parses, passes no cap, and each clause of its normal form has a positive word."""
    while True:
        found = _written(random, random.choice([0, 0, 1, 2, 2, 3]))
        try:
            tree = parse(found, lambda part: analysed(part, stop_words))
            clauses = normal_form(tree, True)
        except ValueError:
            continue
        if all(any(positive for _, positive in clause) for clause in clauses) and _leaves(tree) <= 64:
            return found


def quoted(word: str) -> str:
    """A word as it is, in an expression."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _written(random: Random, depth: int) -> str:
    if depth == 0:
        if random.random() < 0.25:
            return quoted(word(random))
        form = random.choice(FORMS[random.choices(list(FORMS), FREQUENCIES)[0]])
        if "," in form:
            return quoted(form)
        return f"{form}-Road" if random.random() < 0.05 else form
    kind = random.random()
    parts = [_written(random, random.randrange(depth)) for _ in range(random.choice([2, 2, 3]))]
    if kind < 0.35:
        joined = random.choice([" AND ", " ", "  "]).join(parts)
    elif kind < 0.7:
        joined = " OR ".join(parts)
    elif kind < 0.95:
        joined = f"{parts[0]} AND NOT {parts[1]}"
    else:
        joined = f"NOT NOT {parts[0]}"
    if kind < 0.95 and depth > 1 and random.random() < 0.3:
        return f"NOT ({joined})" if random.random() < 0.2 else f"(({joined}))"
    return f"({joined})" if random.random() < 0.6 else joined


def _leaves(tree: Tree) -> int:
    return 1 if tree[0] == "word" else sum(_leaves(part) for part in tree[1:])


def normal_form(tree: Tree, positive: bool) -> set[frozenset[tuple[str, bool]]]:
    """The conjunctive clauses, those without a contradiction; ValueError when they become too many."""
    kind, *parts = tree
    if kind == "word":
        return {frozenset([(parts[0], positive)])}
    if kind == "not":
        return normal_form(parts[0], not positive)
    forms = [normal_form(part, positive) for part in parts]
    clauses: set[frozenset[tuple[str, bool]]] = set()
    if (kind == "or") == positive:
        clauses = set().union(*forms)
    else:
        clauses = {frozenset()}
        for form in forms:
            clauses = {a | b for a in clauses for b in form}
            clauses = {clause for clause in clauses if not any((w, not sign) in clause for w, sign in clause)}
            if len(clauses) > 128:
                raise ValueError("too many clauses")
    return clauses
