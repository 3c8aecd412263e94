"""`match`: the engine's answer, in parallel."""

from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.spark.frames import (
    MESSAGES,
    SUBSCRIPTIONS,
    answer_of,
    engine_says,
    frame,
    random_messages,
    random_subscriptions,
)

from tidings import Configure, Plane, Window
from tidings.model.errors import InputError
from tidings.spark import match, problems
from tidings.testing import assert_exactly

KINDS = ("within", "around", "best", "nearest")


def pairs(deltas) -> set[tuple[str, str]]:
    return {(delta.subscription, delta.message) for delta in deltas}


@pytest.mark.parametrize("shards", [None, 1, 5])
@pytest.mark.parametrize("window", [Window(), Window(messages=20), Window(ms=300_000)], ids=["all", "20", "5 min"])
def test_all_kinds_are_answered_as_by_an_engine(spark: SparkSession, seed: int, shards, window):
    random = Random(f"{seed} {window}")
    subscriptions, messages = random_subscriptions(random, 40, KINDS), random_messages(random, 150)
    configuration = Configure(window=window)
    wanted = engine_says(subscriptions, messages, configuration)
    assert {delta.op for delta in wanted} == {"+", "-"}
    assert any(delta.score is not None for delta in wanted)
    assert any(delta.distance is not None for delta in wanted)
    found = match(
        frame(spark, messages, MESSAGES),
        frame(spark, subscriptions, SUBSCRIPTIONS),
        configuration=configuration,
        shards=shards,
    )
    assert_exactly(answer_of(found), wanted)


def test_positions_are_the_order_when_there_are_some(spark: SparkSession, seed: int):
    random = Random(seed)
    subscriptions, messages = random_subscriptions(random, 30, KINDS), random_messages(random, 80)
    random.shuffle(messages)
    wanted = engine_says(subscriptions, messages)
    rows = [row | {"position": 1000 + 7 * i} for i, row in enumerate(messages)]
    found = match(frame(spark, rows, f"{MESSAGES}, position int"), frame(spark, subscriptions, SUBSCRIPTIONS))
    moved = [type(d)(1000 + 7 * d.position, d.subscription, d.message, d.op, d.score, d.distance) for d in wanted]
    assert_exactly(answer_of(found), moved)


def test_small_batches_give_the_same(spark: SparkSession, seed: int):
    random = Random(seed)
    subscriptions, messages = random_subscriptions(random, 20, KINDS), random_messages(random, 60)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        found = match(frame(spark, messages, MESSAGES), frame(spark, subscriptions, SUBSCRIPTIONS), shards=2)
        assert_exactly(answer_of(found), engine_says(subscriptions, messages))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


@pytest.mark.parametrize("shards", [None, 3])
def test_within_alone_is_a_join(spark: SparkSession, seed: int, shards):
    random = Random(seed)
    subscriptions, messages = random_subscriptions(random, 60, ("within",)), random_messages(random, 200)
    wanted = engine_says(subscriptions, messages)
    assert len(wanted) > 200
    frames = frame(spark, messages, MESSAGES), frame(spark, subscriptions, SUBSCRIPTIONS).drop("kind")
    found = match(*frames, shards=shards)
    assert pairs(answer_of(found)) == pairs(wanted)
    assert found.count() == len(wanted)
    assert "Exchange rangepartitioning" not in found._jdf.queryExecution().toString()


def test_methods_are_chosen_by_name(spark: SparkSession, seed: int):
    random = Random(seed)
    subscriptions, messages = random_subscriptions(random, 20, ("within",)), random_messages(random, 50)
    frames = frame(spark, messages, MESSAGES), frame(spark, subscriptions, SUBSCRIPTIONS)
    for name in ("brute", "tidings.index.brute:Brute"):
        assert pairs(answer_of(match(*frames, within=name))) == pairs(engine_says(subscriptions, messages))
    with pytest.raises(InputError, match="method-unknown"):
        match(*frames, within="nosuch")
    with pytest.raises(InputError, match="module:Class"):
        match(*frames, within="tidings.nowhere:Class")


def test_places_and_times_in_other_types(spark: SparkSession):
    messages = spark.sql(
        """SELECT 'a' AS id, named_struct('lon', 11.5, 'lat', 48.1) AS at, 'Flood' AS text,
                  timestamp_millis(1000) AS ts, timestamp_micros(1000001) AS expires, 'x' AS owner
           UNION ALL SELECT 'b', named_struct('lon', 11.5, 'lat', 48.1), 'Flood', timestamp_millis(2000), NULL, 'y'"""
    )
    around = spark.sql(
        """SELECT 's' AS id, 'around' AS kind, array(11.5, 48.1) AS at, named_struct('radius_m', 10) AS shape,
                  'flood' AS when"""
    )
    found = answer_of(match(messages, around))
    # The first expires in the microsecond after it came: at its own millisecond, so it never lived.
    assert [(delta.op, delta.message) for delta in found] == [("+", "b")]
    region = spark.sql(
        "SELECT 's' AS id, named_struct('circle', array(11.5D, 48.1D, 10D)) AS where, CAST(NULL AS void) AS when"
    )
    assert pairs(answer_of(match(messages, region))) == {("s", "a"), ("s", "b")}


def test_a_plane(spark: SparkSession):
    messages = spark.createDataFrame([("m", [0.5, 0.5], ["w"])], "id string, at array<double>, words array<string>")
    subscriptions = spark.createDataFrame([("s", "w", '{"box": [0, 0, 1, 1]}')], "id string, when string, where string")
    plane = Configure(space=Plane((0.0, 0.0, 1.0, 1.0)))
    assert pairs(answer_of(match(messages, subscriptions, configuration=plane))) == {("s", "m")}


def test_columns_are_checked_before_anything_runs(spark: SparkSession):
    messages = spark.createDataFrame([(1, 2.0, "x")], "id bigint, lon double, txt string")
    subscriptions = spark.createDataFrame([("s", "best", "w")], "id string, kind string, wehn string")
    with pytest.raises(InputError) as caught:
        match(messages, subscriptions, shards=0, mode="LENIENT")
    places = {problem.place for problem in caught.value.problems}
    assert places == {
        "mode", "shards", "messages.id", "messages.lat", "messages.txt", "messages.text",
        "subscriptions.wehn", "subscriptions.lon", "subscriptions.text", "subscriptions.k", "subscriptions.alpha",
    }  # fmt: skip
    by_place = {problem.place: problem for problem in caught.value.problems}
    assert by_place["messages.id"].found == "bigint"
    assert "rename it to `when`" in by_place["subscriptions.wehn"].hint


def bad_messages(spark: SparkSession) -> DataFrame:
    rows = [
        {"id": "good", "lon": 11.5, "lat": 48.1, "text": "flood"},
        {"id": "", "lon": 11.5, "lat": 48.1, "text": "flood"},
        {"id": None, "lon": 11.5, "lat": 48.1, "text": "flood"},
        {"id": "x" * 129, "lon": 11.5, "lat": 48.1, "text": "flood"},
        {"id": "off", "lon": 11.5, "lat": 91.0, "text": "flood"},
        {"id": "nan", "lon": float("nan"), "lat": 8.0, "text": "flood"},
        {"id": "half", "lon": 11.5, "text": "flood"},
        {"id": "both", "lon": 11.5, "lat": 48.1, "box": [1.0, 2.0, 3.0, 4.0], "text": "flood"},
        {"id": "nowhere", "text": "flood"},
        {"id": "short", "box": [1.0, 2.0], "text": "flood"},
        {"id": "upside", "box": [1.0, 4.0, 3.0, 2.0], "text": "flood"},
        {"id": "mute", "lon": 11.5, "lat": 48.1},
        {"id": "twofold", "lon": 11.5, "lat": 48.1, "text": "flood", "words": ["flood"]},
        {"id": "hole", "lon": 11.5, "lat": 48.1, "words": ["flood", ""]},
        {"id": "late", "lon": 11.5, "lat": 48.1, "text": "flood", "ts": 9_000_000_000_000_000},
    ]
    return frame(spark, rows, MESSAGES)


def everywhere(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("s", "flood", "everywhere")], "id string, when string, where string")


def test_bad_messages_are_an_error_that_says_it_all(spark: SparkSession):
    with pytest.raises(PythonException) as caught:
        match(bad_messages(spark).coalesce(1), everywhere(spark)).collect()
    told = str(caught.value)
    assert "InputError" in told
    for place in ("messages['off'].lat: place-outside", "messages['nan'].lon: field-type", "messages['mute'].text"):
        assert place in told


def test_bad_messages_can_be_dropped_and_looked_at(spark: SparkSession):
    found = match(bad_messages(spark), everywhere(spark), mode="DROPMALFORMED")
    assert pairs(answer_of(found)) == {("s", "good")}
    told = problems(bad_messages(spark)).collect()
    assert {str(row.id)[:9]: row.code for row in told} == {
        "None": "field-missing", "": "id-invalid", "x" * 9: "id-invalid", "off": "place-outside", "nan": "field-type",
        "half": "field-missing", "both": "field-conflict", "nowhere": "field-missing", "short": "field-type",
        "upside": "region-invalid", "mute": "field-missing", "twofold": "field-conflict", "hole": "field-value",
        "late": "field-value",
    }  # fmt: skip
    assert len(told) == 14
    assert {row.table for row in told} == {"messages"}


def test_bad_subscriptions(spark: SparkSession):
    rows = [
        {"id": "good", "where": '"everywhere"', "when": "flood"},
        {"id": "syntax", "where": "everywhere", "when": "flood AND ("},
        {"id": "json", "where": "{", "when": "flood"},
        {"id": "where", "when": "flood"},
        {"id": "other", "kind": "sometimes", "where": "everywhere"},
    ]
    subscriptions = frame(
        spark, [{"kind": "within"} | row for row in rows], "id string, kind string, when string, where string"
    )
    messages = spark.createDataFrame([("m", 1.0, 2.0, "flood")], "id string, lon double, lat double, text string")
    with pytest.raises(PythonException, match=r"subscriptions\['\w+'\]"):
        match(messages, subscriptions).collect()
    assert pairs(answer_of(match(messages, subscriptions, mode="DROPMALFORMED"))) == {("good", "m")}
    told = {row.id: (row.code, row.place) for row in problems(subscriptions=subscriptions).collect()}
    assert told["syntax"] == ("expression-syntax", "when:1:12")
    assert told["json"][0] == "json-invalid"
    assert told["where"] == ("field-missing", "where")
    assert told["other"][0] == "kind-unknown"


def test_an_id_that_is_there_twice(spark: SparkSession, seed: int):
    twice = spark.createDataFrame([("s", "everywhere"), ("s", "everywhere")], "id string, where string")
    messages = spark.createDataFrame([("m", 1.0, 2.0, "flood")], "id string, lon double, lat double, text string")
    for mode in ("FAILFAST", "DROPMALFORMED"):
        with pytest.raises(PythonException, match="id-taken"):
            match(messages, twice, mode=mode).collect()
    nearest = spark.sql("SELECT 'n' AS id, 'nearest' AS kind, array(1D, 2D) AS at, 'flood' AS text, 5 AS k")
    same = spark.sql(
        """SELECT 'm' AS id, 1D AS lon, 2D AS lat, 'flood' AS text, ts, if(ts < 5, 100, 1000) AS expires
           FROM VALUES (1), (50), (100), (200) AS t(ts)"""
    )
    with pytest.raises(PythonException, match="id-taken"):
        match(same, nearest).collect()
    found = answer_of(match(same, nearest, mode="DROPMALFORMED"))
    # The second comes while the first lives, the fourth while the third does; the third comes when the first is over.
    assert [(delta.position, delta.op) for delta in found] == [(0, "+"), (1, "-"), (1, "+")]


def test_streaming_messages(spark: SparkSession, seed: int, tmp_path: Path):
    random = Random(seed)
    subscriptions, messages = random_subscriptions(random, 40, ("within",)), random_messages(random, 120)
    wanted = engine_says(subscriptions, messages)
    static = frame(spark, subscriptions, SUBSCRIPTIONS)
    for part in range(3):
        some = frame(spark, messages[part::3], MESSAGES).withColumn("position", f.lit(part))
        some.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    schema = f"{MESSAGES}, position int"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    query = (
        match(stream, static)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(240)
    assert len(query.recentProgress) >= 3
    found = spark.read.parquet(str(tmp_path / "out"))
    assert pairs(answer_of(found)) == pairs(wanted)
    assert found.count() == len(wanted)
    assert {row.position for row in found.collect()} == {0, 1, 2}


def test_what_cannot_stream_says_why(spark: SparkSession):
    stream = spark.readStream.format("rate").load().selectExpr("'m' AS id", "1D AS lon", "2D AS lat", "'a' AS text")
    nearest = spark.sql("SELECT 'n' AS id, 'nearest' AS kind, array(1D, 2D) AS at, 'flood' AS text, 5 AS k")
    with pytest.raises(InputError, match="`nearest` look back") as caught:
        match(stream, nearest)
    assert "tidings pipeline" in caught.value.problems[0].hint
    with pytest.raises(InputError, match="asks for one order"):
        match(stream, stream.selectExpr("id", "'everywhere' AS where"))
