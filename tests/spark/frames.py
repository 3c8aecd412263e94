"""Random messages and subscriptions as DataFrames, and what an engine says to them."""

import json
from random import Random
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tidings.log.event_fields import event_from_fields
from tidings.matching.engine import Engine
from tidings.model.deltas import Delta
from tidings.model.events import Configure, Globe

Row = dict[str, Any]
WORDS = ("flood", "bridge", "road", "fire", "smoke", "dog", "parade", "straße")
MESSAGES = (
    "id string, lon double, lat double, box array<double>, text string, words array<string>, ts bigint, expires bigint"
)
SUBSCRIPTIONS = (
    "id string, kind string, when string, where string, lon double, lat double, radius_m double, width double, "
    "height double, text string, words array<string>, k int, alpha double"
)


def _place(random: Random) -> tuple[float, float]:
    return round(11.4 + random.random() / 3, 4), round(48.0 + random.random() / 4, 4)


def _expression(random: Random) -> str | None:
    a, b, c = random.sample(WORDS, 3)
    return random.choice((a, f"{a} OR {b}", f"{a} AND {b}", f"{a} AND NOT {b}", f"({a} OR {b}) {c}", None))


def random_subscriptions(random: Random, n: int, kinds: tuple[str, ...]) -> list[Row]:
    """Subscriptions as rows."""
    rows = []
    for i in range(n):
        lon, lat = _place(random)
        row: Row = {"id": f"s{i}", "kind": random.choice(kinds)}
        if row["kind"] == "within":
            box = [lon, lat, lon + random.random() / 5, lat + random.random() / 5]
            where = random.choice(({"box": box}, {"circle": [lon, lat, 9000.0]}, "everywhere"))
            row |= {"when": _expression(random), "where": json.dumps(where)}
        elif row["kind"] == "around":
            row |= {"when": _expression(random), "lon": lon, "lat": lat}
            row |= random.choice(({"radius_m": 8000.0}, {"width": 0.1, "height": 0.08}))
        else:
            row |= {"lon": lon, "lat": lat, "k": random.randint(1, 4)}
            row |= random.choice(({"text": "Flood on the road"}, {"words": random.sample(WORDS, 3)}))
            if row["kind"] == "best":
                row["alpha"] = random.choice((0.0, 0.3, 1.0))
        rows.append(row)
    return rows


def random_messages(random: Random, n: int) -> list[Row]:
    """Messages as rows, in the order in which they are published."""
    rows: list[Row] = []
    ts = 1_000_000
    for i in range(n):
        lon, lat = _place(random)
        row: Row = {"id": f"m{i:05}"}
        row |= {"box": [lon, lat, lon + 0.01, lat + 0.02]} if random.random() < 0.2 else {"lon": lon, "lat": lat}
        words = random.choices(WORDS, k=random.randint(0, 5))
        row |= {"words": words} if random.random() < 0.3 else {"text": " and ".join(words).upper()}
        ts += random.choice((0, 1, 500, 60_000))
        row["ts"] = ts
        if random.random() < 0.3:
            row["expires"] = ts + random.choice((1, 1000, 100_000))
        rows.append(row)
    return sorted(rows, key=lambda row: (row["ts"], row["id"]))


def frame(spark: SparkSession, rows: list[Row], schema: str) -> DataFrame:
    """Rows as a DataFrame of several partitions."""
    names = [column.strip().split(" ")[0] for column in schema.split(", ")]
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], schema).repartition(3)


def engine_says(subscriptions: list[Row], messages: list[Row], configuration: Configure | None = None) -> list[Delta]:
    """What an engine answers: all subscriptions first, then the messages; positions count the messages."""
    engine = Engine(configuration)
    for row in subscriptions:
        fields = dict(row)
        if "lon" in fields:
            fields["at"] = [fields.pop("lon"), fields.pop("lat")]
        if "where" in fields:
            fields["where"] = json.loads(fields["where"])
        shape = {name: fields.pop(name) for name in ("radius_m", "width", "height") if name in fields}
        if shape:
            fields["shape"] = shape
        engine.apply(event_from_fields({"op": "register", **fields}, Globe()))
    first = engine.position
    deltas = []
    for row in messages:
        fields = {name: value for name, value in row.items() if name != "position"}
        if "lon" in fields:
            fields["at"] = [fields.pop("lon"), fields.pop("lat")]
        deltas += engine.apply(event_from_fields({"op": "publish", **fields}, Globe()))
    return [
        Delta(delta.position - first, delta.subscription, delta.message, delta.op, delta.score, delta.distance)
        for delta in deltas
    ]


def answer_of(matched: DataFrame) -> list[Delta]:
    """A match as deltas, in the order of the answer."""
    deltas = [Delta(*row) for row in matched.collect()]
    return sorted(
        deltas, key=lambda d: (-1 if d.position is None else d.position, d.subscription, d.op == "+", d.message)
    )
