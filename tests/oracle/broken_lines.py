"""One line for each problem that the event log's page names, made for a place in a valid log.

A case is (name, line, codes): the line has one problem, and any of the codes is a fair name for it.
"""

import json
from typing import Any

from tests.oracle.state import State

Case = tuple[str, bytes, frozenset[str]]
Event = dict[str, Any]

SYNTAX = {
    "operator at the end": "flood AND",
    "operator at the start": "OR flood",
    "two operators": "flood OR AND road",
    "open parenthesis": "(flood OR road",
    "closing parenthesis": "flood)",
    "empty parentheses": "flood ()",
    "open quote": 'flood "Big Dam',
    "lonely NOT": "NOT",
    "empty expression": "",
    "blank expression": "  ",
    "empty quotes": 'flood ""',
    "only punctuation": "flood !!!",
}
LIMITS = {
    "65 leaves": " ".join(f"w{i}" for i in range(65)),
    "65 leaves after analysis": "-".join(f"w{i}" for i in range(65)),
    "depth 17": "(" * 17 + "flood" + ")" * 17,
    "18 times NOT": "NOT " * 18 + "flood",
    "512 clauses": " AND ".join(f"(a{i} OR b{i})" for i in range(9)),
    "2^32 clauses": " AND ".join(f"(a{i} OR b{i})" for i in range(32)),
}
NEGATIVE = ["NOT flood", "flood OR NOT road", "NOT (flood AND road)", "flood AND road OR NOT fire AND NOT water"]


def _line(event: Any) -> bytes:
    return json.dumps(event).encode()


def json_cases(free: str) -> list[Case]:
    """What is not JSON, or not an event."""
    head = f'{{"op": "publish", "id": "{free}", "text": "flood", "at": '.encode()
    tick = b'{"op": "tick", "ts": 1'
    invalid = {
        "NaN": head + b"[NaN, 0]}", "Infinity": head + b"[Infinity, 0]}", "-Infinity": head + b"[0, -Infinity]}",
        "1e999": head + b"[1e999, 0]}", "-1e999": head + b"[0, -1e999]}", "cut": tick, "two values": tick + b"} {}",
        "trailing comma": tick + b",}", "single quotes": b"{'op': 'tick', 'ts': 1}", "comment": tick + b"} // now",
        "leading zero": b'{"op": "tick", "ts": 01}', "not JSON": b"hello", "open string": b'{"op": "tick',
        "control character": b'{"op": "retract", "id": "a\tb"}', "bad escape": b'{"op": "retract", "id": "\\x"}',
    }  # fmt: skip
    cases = [(name, line, frozenset({"json-invalid"})) for name, line in invalid.items()]
    for name, line in {"array": b"[1, 2]", "number": b"7", "null": b"null", "string": b'"tick"'}.items():
        cases.append((name, line, frozenset({"json-invalid", "field-type"})))
    surrogate = b'{"op": "retract", "id": "\\ud800"}'
    long = _line({"op": "retract", "id": "a"}) + b" " * 70_000
    nested = head + b'[0, 0], "attributes": {"a": 1, "b": {"c": 1, "c": 2}}}'
    deep = head + b'[0, 0], "attributes": {"a": ' + b"[" * 30000 + b"]" * 30000 + b"}}"
    return [
        *cases,
        ("duplicate key", tick + b', "ts": 1}', frozenset({"json-duplicate-key"})),
        ("duplicate key in an attribute", nested, frozenset({"json-duplicate-key"})),
        ("bad UTF-8", b'{"op": "retract", "id": "\xff"}', frozenset({"json-encoding"})),
        ("cut UTF-8", b'{"op": "retract", "id": "\xe6\x9d"}', frozenset({"json-encoding"})),
        ("lone surrogate", surrogate, frozenset({"json-encoding", "json-invalid", "id-invalid"})),
        ("line too long", long, frozenset({"line-too-long"})),
        ("deep nesting", deep, frozenset({"json-invalid", "limit-reached", "field-value"})),
        ("empty line", b"", frozenset({"line-empty"})),
        ("blank line", b"   ", frozenset({"line-empty", "json-invalid"})),
    ]  # fmt: skip


class Broken:
    """All cases that are possible after a state."""

    def __init__(self, state: State, free: str) -> None:
        self.state, self.free = state, free
        min_x, min_y, max_x, max_y = state.space or (0.0, 0.0, 80.0, 80.0)
        self.at = [(min_x + max_x) / 2, (min_y + max_y) / 2]
        self.step = (max_x - min_x) / 16
        self.outside = [[181.0, 0.0], [0.0, -90.5]] if state.space is None else [[max_x + 1, min_y], [min_x, min_y - 1]]
        self.publish: Event = {"op": "publish", "id": free, "at": self.at, "text": "flood road"}
        self.within = self._register("within", when="flood", where="everywhere")
        self.around = self._register("around", when="flood", at=self.at, shape={"radius_m": 5})
        self.best = self._register("best", words=["flood"], at=self.at, k=2, alpha=0.5)
        self.nearest = self._register("nearest", words=["flood"], at=self.at, k=2)
        self.cases: list[Case] = []

    def _register(self, kind: str, **fields: Any) -> Event:
        return {"op": "register", "id": self.free, "kind": kind} | fields

    def _case(self, name: str, event: Event, *codes: str) -> None:
        self.cases.append((name, _line(event), frozenset(codes)))

    def _without(self, name: str, event: Event, *fields: str) -> None:
        left = {key: value for key, value in event.items() if key not in fields}
        self._case(f"{name} without {' and '.join(fields)}", left, "field-missing")

    def all(self) -> list[Case]:
        self._operations()
        self._messages()
        self._kinds()
        self._expressions()
        self._regions()
        self._polygons()
        self._ids()
        return json_cases(self.free) + self.cases

    def _operations(self) -> None:
        case, tick = self._case, {"op": "tick", "ts": 1}
        case("unknown op", {"op": "subscribe", "id": self.free}, "op-unknown")
        case("op is a number", {"op": 5}, "op-unknown", "field-type")
        case("no op", {"ts": 5}, "field-missing", "op-unknown")
        case("configure later", {"op": "configure"}, "configure-late")
        self._without("tick", tick, "ts")
        case("tick null", {"op": "tick", "ts": None}, "field-missing", "field-type")
        for ts in ("1", True, [1], 1.5):
            case(f"tick {ts!r}", tick | {"ts": ts}, "field-type", "field-value")
        case("tick too late", tick | {"ts": 8_640_000_000_000_001}, "field-value")
        case("tick with id", tick | {"id": "a"}, "field-unknown")
        case("weights are a list", {"op": "weights", "idf": ["flood"]}, "field-type")
        case("weight is a string", {"op": "weights", "idf": {"flood": "1"}}, "field-type")
        case("negative weight", {"op": "weights", "idf": {"flood": -1}}, "field-value")
        case("negative default", {"op": "weights", "idf": {}, "default": -0.5}, "field-value")
        case("huge weight", {"op": "weights", "idf": {"flood": 1e13}}, "field-value")

    def _messages(self) -> None:
        case, publish = self._case, self.publish
        box = [*self.at, *self.at]
        self._without("publish", publish, "id")
        self._without("publish", publish, "at")
        self._without("publish", publish, "text")
        case("at and box", publish | {"box": box}, "field-conflict")
        case("text and words", publish | {"words": ["flood"]}, "field-conflict")
        case("unknown field", publish | {"colour": "red"}, "field-unknown")
        case("field of another op", publish | {"k": 1}, "field-unknown")
        odd_places: list[Any] = [["1", 2], [True, 1], "here", {"lon": 1}, [[1, 2]], 3, [None, 1]]
        for at in odd_places:
            case(f"at {at!r}", publish | {"at": at}, "field-type", "field-value")
        odd_lengths: list[Any] = [[], [1], [1, 2, 3]]
        for at in odd_lengths:
            case(f"at {at!r}", publish | {"at": at}, "field-type", "field-value")
        for outside in self.outside:
            case(f"at {outside!r}", publish | {"at": outside}, "place-outside")
        boxed = {key: value for key, value in publish.items() if key != "at"}
        case("box of three", boxed | {"box": box[:3]}, "field-type", "field-value", "region-invalid")
        upside_down = [self.at[0], self.at[1] + self.step, self.at[0] + self.step, self.at[1]]
        case("message box upside down", boxed | {"box": upside_down}, "field-value", "region-invalid")
        case(
            "box outside",
            boxed | {"box": [*self.at, *self.outside[0]]},
            "place-outside",
            "field-value",
            "region-invalid",
        )
        if self.state.space is not None:
            turned = [self.at[0] + self.step, self.at[1], self.at[0], self.at[1]]
            case("box turned in a plane", boxed | {"box": turned}, "field-value", "region-invalid")
        case("text is a number", publish | {"text": 5}, "field-type")
        textless = {key: value for key, value in publish.items() if key != "text"}
        case("words are a string", textless | {"words": "flood"}, "field-type")
        case("words with a number", textless | {"words": ["flood", 1]}, "field-type")
        for ts in ("1", True, 0.5):
            case(f"ts {ts!r}", publish | {"ts": ts}, "field-type", "field-value")
            case(f"expires {ts!r}", publish | {"expires": ts}, "field-type", "field-value")
        case("ts out of range", publish | {"ts": 10**17}, "field-value")
        case("attributes are a list", publish | {"attributes": [1]}, "field-type")
        case("attributes too long", publish | {"attributes": {"a": "x" * 4096}}, "limit-reached", "field-value")

    def _kinds(self) -> None:
        case, best, nearest, around = self._case, self.best, self.nearest, self.around
        case("unknown kind", self._register("near", at=self.at), "kind-unknown")
        case("kind is a number", self._register("near") | {"kind": 1}, "kind-unknown", "field-type")
        self._without("register", self.within, "kind")
        self._without("within", self.within, "where")
        self._without("around", around, "at")
        self._without("around", around, "shape")
        for field in ("at", "k", "alpha", "words"):
            self._without("best", best, field)
        for field in ("at", "k", "words"):
            self._without("nearest", nearest, field)
        for field, value in {"where": "everywhere", "k": 1, "text": "a"}.items():
            case(f"around with {field}", around | {field: value}, "field-unknown")
        case("within with shape", self.within | {"shape": {"radius_m": 5}}, "field-unknown")
        case("nearest with alpha", nearest | {"alpha": 0.5}, "field-unknown")
        case("nearest with when", nearest | {"when": "flood"}, "field-unknown")
        case("best with text and words", best | {"text": "flood"}, "field-conflict")
        for k in (0, 1001, -1):
            case(f"k {k}", best | {"k": k}, "field-value")
        for odd_k in (1.5, "2", True):
            case(f"k {odd_k!r}", nearest | {"k": odd_k}, "field-type", "field-value")
        for alpha in (-0.1, 1.1):
            case(f"alpha {alpha}", best | {"alpha": alpha}, "field-value")
        case("alpha is a string", best | {"alpha": "0.5"}, "field-type")
        case("no words", best | {"words": []}, "words-empty", "field-value")
        textual = {key: value for key, value in nearest.items() if key != "words"}
        case("text without words", textual | {"text": "!!! …"}, "words-empty")
        case("best at outside", best | {"at": self.outside[0]}, "place-outside")
        case("labels are a string", best | {"labels": "a"}, "field-type")
        case("label is a number", best | {"labels": [1]}, "field-type")
        case("too many labels", best | {"labels": [str(i) for i in range(65)]}, "limit-reached", "field-value")
        odd_shapes: list[Any] = [{}, {"width": 1}, {"radius_m": 1, "width": 1, "height": 1}, {"radius": 1}]
        forms = ("field-missing", "field-unknown", "field-conflict", "region-invalid", "field-type", "field-value")
        for shape in odd_shapes:
            case(f"shape {shape!r}", around | {"shape": shape}, *forms)
        for shape in ({"radius_m": -1}, {"width": -1, "height": 1}):
            case(f"shape {shape!r}", around | {"shape": shape}, "field-value", "region-invalid")
        for shape in ("round", {"radius_m": "5"}):
            case(f"shape {shape!r}", around | {"shape": shape}, "field-type", "region-invalid")

    def _expressions(self) -> None:
        for name, when in SYNTAX.items():
            codes = ["expression-syntax"]
            if name in ("only punctuation", "empty expression", "blank expression", "empty quotes"):
                codes += ["words-empty", "field-value"]
            self._case(name, self.within | {"when": when}, *codes)
            self._case(f"{name} (around)", self.around | {"when": when}, *codes)
        for name, when in LIMITS.items():
            self._case(name, self.within | {"when": when}, "expression-limit")
        for when in NEGATIVE:
            self._case(when, self.around | {"when": when}, "expression-no-positive")
        self._case("when is a list", self.within | {"when": ["flood"]}, "field-type")
        self._case("when is a number", self.within | {"when": 5}, "field-type")

    def _region(self, name: str, where: Any, *codes: str) -> None:
        self._case(name, self.within | {"where": where}, *codes)

    def _regions(self) -> None:
        x, y = self.at
        box = [x, y, x + self.step, y + self.step]
        wrong = ("region-invalid", "field-type", "field-unknown", "field-missing", "field-value", "field-conflict")
        odd: list[Any] = [
            "nowhere", {}, 5, [box], {"boks": box}, {"box": box[:3]}, {"box": "all"},
            {"circle": [x, y]}, {"any": "all"},
            {"box": box, "circle": [x, y, 1]}, {"type": "Point", "coordinates": [x, y]}, {"type": "Polygon"},
            {"any": ["everywhere", "nowhere"]}, {"circle": [x, y, "far"]}, {"box": [*box[:3], True]},
        ]  # fmt: skip
        for where in odd:
            self._region(f"region {json.dumps(where)}", where, *wrong)
        self._region("negative radius", {"circle": [x, y, -1]}, "field-value", "region-invalid")
        self._region("box upside down", {"box": [x, y, x, y - self.step]}, "field-value", "region-invalid")
        for outside in self.outside:
            self._region(f"circle at {outside}", {"circle": [*outside, 1]}, "place-outside")
            self._region(f"circle at {outside} in any", {"any": [{"circle": [*outside, 1]}]}, "place-outside")
            triangle = [[x, y], [x + self.step, y], outside, [x, y]]
            self._region(f"polygon to {outside}", {"type": "Polygon", "coordinates": [triangle]}, "place-outside")
        deep: Any = "everywhere"
        for _ in range(40):
            deep = {"any": [deep]}
        self._region("40 times any", deep, "limit-reached", "region-invalid")
        self._region("1,001 parts", {"any": [{"box": box}] * 1001}, "limit-reached", "region-invalid")

    def _polygons(self) -> None:
        x, y, d = *self.at, self.step

        def ring(*corners: tuple[float, float]) -> list[list[float]]:
            return [[x + d * u, y + d * v] for u, v in corners]

        square = ring((0, 0), (4, 0), (4, 4), (0, 4), (0, 0))
        zigzag = [(4 * i / 501, 0.0) for i in range(501)] + [(4 * i / 501, 1.0) for i in range(500, -1, -1)]
        rings: dict[str, Any] = {
            "no rings": [],
            "an empty ring": [[]],
            "two corners": [ring((0, 0), (1, 0), (0, 0))],
            "not closed": [ring((0, 0), (4, 0), (4, 4), (0, 4))],
            "bow-tie": [ring((0, 0), (4, 4), (4, 0), (0, 4), (0, 0))],
            "pentagram": [ring((2, 4), (1, 0), (4, 3), (0, 3), (3, 0), (2, 4))],
            "no area": [ring((0, 0), (1, 0), (2, 0), (0, 0))],
            "hole across the outer ring": [square, ring((3, 1), (6, 1), (6, 2), (3, 2), (3, 1))],
            "hole across itself": [square, ring((1, 1), (3, 3), (3, 1), (1, 3), (1, 1))],
            "1,002 vertices": [ring(*zigzag, zigzag[0])],
        }
        for name, coordinates in rings.items():
            codes = {"polygon-invalid"}
            if name in ("no rings", "an empty ring"):
                codes |= {"region-invalid", "field-value", "field-type"}
            if name == "1,002 vertices":
                codes |= {"limit-reached"}
            self._region(name, {"type": "Polygon", "coordinates": coordinates}, *codes)
            if coordinates:
                multi = {"type": "MultiPolygon", "coordinates": [[square], coordinates]}
                if len(_line(self.within | {"where": multi})) <= 60_000:
                    self._region(f"{name} (MultiPolygon)", multi, *codes)
        empty = ("polygon-invalid", "region-invalid", "field-value")
        self._region("no polygons", {"type": "MultiPolygon", "coordinates": []}, *empty)

    def _ids(self) -> None:
        case, publish = self._case, self.publish
        for name, id_ in {"empty": "", "129 characters": "x" * 129, "long after NFKC": "\ufdfa" * 8}.items():
            case(f"id {name}", publish | {"id": id_}, "id-invalid")
            case(f"register id {name}", self.best | {"id": id_}, "id-invalid")
        case("id is a number", publish | {"id": 5}, "id-invalid", "field-type")
        case("id is null", publish | {"id": None}, "id-invalid", "field-type", "field-missing")
        case("replace unknown", self.best | {"op": "replace"}, "id-unknown")
        case("remove unknown", {"op": "remove", "id": self.free}, "id-unknown")
        case("move unknown", {"op": "move", "id": self.free, "at": self.at}, "id-unknown")
        for id_ in list(self.state.live)[:2]:
            case(f"publish of live {id_!r}", publish | {"id": id_}, "id-taken")
        for subscription in list(self.state.subscriptions.values())[:6]:
            case(f"register of {subscription.id!r}", self.nearest | {"id": subscription.id}, "id-taken")
            if subscription.kind != "around":
                case(f"move of {subscription.kind}", {"op": "move", "id": subscription.id, "at": self.at}, "move-kind")
            else:
                outside = {"op": "move", "id": subscription.id, "at": self.outside[1]}
                case("move to the outside", outside, "place-outside")
                case("move without at", {"op": "move", "id": subscription.id}, "field-missing")
