"""The faults: a snippet that stands in its file exactly once, what it becomes, the tests that should notice."""

from typing import NamedTuple

INDEXES = "tests/contract/test_indexes.py"
MATCHERS = "tests/contract/test_matchers.py"
METAMORPHIC = "tests/property/test_metamorphic.py"
LIFE = "tests/property/test_life.py"
PYRAMID = "tests/unit/index/test_pyramid.py"
SUBSCRIPTIONS = "tests/unit/columns/test_subscriptions.py"
WINDOW = "tests/unit/columns/test_window.py"


class Fault(NamedTuple):
    """One way to be wrong."""

    what: str
    file: str
    """Below src/tidings."""
    right: str
    wrong: str
    tests: tuple[str, ...]
    """What pytest is given: files, perhaps with -k."""


FAULTS = (
    Fault(
        "an entry is taken to hold the message when both only touch the same fixed-point number",
        "index/pyramid/searching.py",
        "if what & np.uint64(VERIFY_REGION) or (difference & LOWS) + LOWS & TOPS != TOPS:",
        "if what & np.uint64(VERIFY_REGION) or difference == 0:",
        (INDEXES, "-k", "cuts or batch"),
    ),
    Fault(
        "tags of messages are believed although they are only sixteen bits of an id",
        "index/pyramid/searching.py",
        "elif not (narrow or (has_word(words, tag) and has_word(words, other))):",
        "elif not (narrow or (has_word(low_set, tag) and has_word(low_set, other))):",
        (INDEXES, "-k", "sixteen"),
    ),
    Fault(
        "tags of subscriptions are believed although they are only sixteen bits of an id",
        "index/pyramid/filing.py",
        "verify |= other > 0xFFFF",
        "verify |= other > 0xFFFFF",
        (INDEXES, "-k", "sixteen"),
    ),
    Fault(
        "four words are believed to be three",
        "index/pyramid/filing.py",
        "positive > 3 or excluded > 0",
        "positive > 4 or excluded > 0",
        (INDEXES, "-k", "churn"),
    ),
    Fault(
        "excluded words are not looked at",
        "index/pyramid/filing.py",
        "positive > 3 or excluded > 0",
        "positive > 3",
        (INDEXES, "-k", "churn"),
    ),
    Fault(
        "a box that touches four children goes down, to two of them",
        "index/pyramid/filing.py",
        "narrow: bool = (x0 ^ x1) >> 14 == 0 or (y0 ^ y1) >> 14 == 0",
        "narrow: bool = True",
        (INDEXES, "-k", "cuts or churn"),
    ),
    Fault(
        "filing takes x for y when it chooses a child",
        "index/pyramid/filing.py",
        "node = quad + NODE_SIZE * (2 * cy + cx)",
        "node = quad + NODE_SIZE * (2 * cx + cy)",
        (INDEXES, "-k", "cuts or churn"),
    ),
    Fault(
        "a box over two children, one above the other, is filed in one",
        "index/pyramid/filing.py",
        "if cx != dx or cy != dy:",
        "if cx != dx:",
        (INDEXES, "-k", "cuts or churn"),
    ),
    Fault(
        "pruning looks at lists and forgets grandchildren",
        "index/pyramid/filing.py",
        "if arrays.node[child + LENGTH] != 0 or arrays.node[child + CHILDREN] != 0:\n            return",
        "if arrays.node[child + LENGTH] != 0:\n            return",
        (PYRAMID, INDEXES, "-k", "shape or cuts or churn"),
    ),
    Fault(
        "unfiling visits the first of two children only",
        "index/pyramid/filing.py",
        "            for cx in range(x0 >> 14, (x1 >> 14) + 1):\n                stack[visited, 0]",
        "            for cx in range(x0 >> 14, (x0 >> 14) + 1):\n                stack[visited, 0]",
        (PYRAMID, INDEXES, "-k", "shape or cuts or churn"),
    ),
    Fault(
        "the patrol files anew without taking out",
        "index/pyramid/tuning.py",
        "            unfile_slot(arrays, table, boxes, stack, slot)\n",
        "",
        (PYRAMID, "-k", "refiled"),
    ),
    Fault(
        "habits do not fade",
        "index/pyramid/tuning.py",
        "arrays.hits[word] >>= np.uint32(1)",
        "arrays.hits[word] >>= np.uint32(0)",
        (PYRAMID, "-k", "habits"),
    ),
    Fault(
        "what is filed under a common word stays there",
        "index/pyramid/tuning.py",
        "first >= TWICE * lowest",
        "first >= 1e9 * lowest",
        ("tests/contract/test_drift.py",),
    ),
    Fault(
        "a match is reported as often as it is found",
        "index/pyramid/searching.py",
        "if repeated and found > first[message] + 1:",
        "if repeated and found > first[message] + 100_000:",
        (INDEXES, "-k", "churn or long_expressions"),
    ),
    Fault(
        "an ended version matches to the end of its block",
        "index/pyramid/searching.py",
        "not born[slot] < position[message] < dead[slot]",
        "not born[slot] < position[message]",
        (INDEXES, "-k", "versions"),
    ),
    Fault(
        "a message at -180 is not looked up at 180",
        "space/geometry.py",
        "if x0 == -180.0 and x1 < 180.0:",
        "if x0 == -181.0 and x1 < 180.0:",
        (INDEXES, "-k", "churn or batch"),
    ),
    Fault(
        "a message at the north pole is not looked up at all longitudes",
        "space/geometry.py",
        "if y1 == 90.0 and (not whole or n == 0):",
        "if y1 == 90.0 and n == 0:",
        (INDEXES, "-k", "churn or batch"),
    ),
    Fault(
        "boxes do not meet at the north pole",
        "space/boxes.py",
        "(ay1 == 90.0 and by1 == 90.0) or ",
        "",
        (MATCHERS, "-k", "oracles and globe-edges"),
    ),
    Fault(
        "the count window holds one more",
        "columns/window.py",
        "elif number >= limit:",
        "elif number > limit:",
        (WINDOW,),
    ),
    Fault(
        "the heap of deaths sinks to the later child",
        "columns/window.py",
        "due[child + 1, 0] < due[child, 0]:",
        "due[child + 1, 0] > due[child, 0]:",
        (WINDOW,),
    ),
    Fault(
        "a message lives at the time at which it dies",
        "columns/window.py",
        "due[0, 0] <= state[NOW]",
        "due[0, 0] < state[NOW]",
        (WINDOW,),
    ),
    Fault(
        "a replaced version stays in force a little longer",
        "columns/standing.py",
        "table.dead[slot] = block.position[event]",
        "table.dead[slot] = block.position[event] + 2",
        (INDEXES, "-k", "versions"),
    ),
    Fault(
        "the index of ids loses one of those behind a hole",
        "columns/subscriptions.py",
        "if ((place - home) & mask) >= ((place - hole) & mask):",
        "if ((place - home) & mask) > ((place - hole) & mask):",
        (SUBSCRIPTIONS,),
    ),
    Fault(
        "the words of an ended version are kept",
        "columns/standing.py",
        "            self.vocabulary.release(_words_of(self.table, ended))\n",
        "",
        (SUBSCRIPTIONS,),
    ),
    Fault(
        "a pool hands out pieces that are too small",
        "columns/pool.py",
        "number = LARGEST_EXACT + 1\n    while room < size:",
        "number = LARGEST_EXACT + 1\n    while room <= size:",
        ("tests/unit/columns/test_pool.py",),
    ),
    Fault(
        "padding in a saved file is not checked",
        "columns/saved.py",
        " or whole[end:start].any()",
        "",
        ("tests/unit/columns/test_saved.py",),
    ),
    Fault(
        "a piece of a block finds its subscriptions by the rows of the whole",
        "columns/slicing.py",
        "    row[registers] -= low\n",
        "",
        ("tests/unit/columns/test_slicing.py", METAMORPHIC, "-k", "pieces or block"),
    ),
    Fault(
        "of two equal distances the newer one stands first",
        "matching/brute_ranked.py",
        "return newer if kind == b.BEST else not newer",
        "return newer",
        (MATCHERS, "-k", "oracles and (nearest or mixed)"),
    ),
    Fault(
        "nearest keeps what was published before it was registered",
        "matching/brute_ranked.py",
        "window.position[message] <= table.born[subscription]",
        "window.position[message] < 0",
        (MATCHERS, "-k", "oracles and (nearest or mixed)"),
    ),
    Fault(
        "an around that moves says what it has and had",
        "matching/brute_around.py",
        "was[message] == _meets(globe, table, subscription, window, message)",
        "not (was[message] or _meets(globe, table, subscription, window, message))",
        (MATCHERS, "-k", "oracles and around"),
    ),
    Fault(
        "+ stands before -",
        "matching/merging.py",
        "order = np.int64(found.sign[i]) - np.int64(found.sign[j])",
        "order = np.int64(found.sign[j]) - np.int64(found.sign[i])",
        ("tests/unit/matching/test_merging.py",),
    ),
    Fault(
        "a replacement across kinds is told as leaving and coming",
        "matching/merging.py",
        "count[which.reshape(-1)] == 2",
        "count[which.reshape(-1)] == 3",
        (MATCHERS, "-k", "oracles and (churn or mixed)"),
    ),
    Fault(
        "messages keep the weights that they came with",
        "matching/shard.py",
        "            self.window.weigh_anew(self.weighting)\n",
        "",
        (MATCHERS, "-k", "oracles and (best or mixed)"),
    ),
    Fault(
        "far away is less than nothing",
        "matching/brute_ranked.py",
        "near = max(0.0, 1.0 - distance / measure.max_distance)",
        "near = 1.0 - distance / measure.max_distance",
        (MATCHERS, "-k", "oracles and (best or mixed)"),
    ),
    Fault(
        "the id of a live message is free",
        "matching/engine.py",
        "if self._shard.window.holds(",
        "if not self._shard.window.holds(",
        ("tests/unit/matching/test_engine.py",),
    ),
    Fault(
        "a snapshot forgets where in the log it is",
        "matching/engine.py",
        "known.methods, arrays), known.position)",
        "known.methods, arrays), 0)",
        ("tests/unit/matching/test_engine.py", LIFE),
    ),
    Fault(
        "NOT does not turn OR into AND",
        "language/normal.py",
        "if isinstance(expression, And) is holds else",
        "if isinstance(expression, And) else",
        ("tests/unit/language/test_expression_normal.py", MATCHERS, "-k", "normal or form or oracles"),
    ),
    Fault(
        "the vocabulary loses one of the words behind a hole",
        "words/vocabulary.py",
        "if (slot - home) & mask >= (slot - hole) & mask:",
        "if (slot - home) & mask > (slot - hole) & mask:",
        ("tests/unit/words/test_vocabulary.py",),
    ),
)
