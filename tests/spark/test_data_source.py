"""The data source `tidings`: logs and deliveries as DataFrames, and DataFrames as logs."""

import json
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import AnalysisException, PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from tests.oracle.logs import random_log
from tests.spark.frames import MESSAGES, frame, random_messages

from tidings import Configure, Plane, Publish
from tidings.columns.encode import BlockBuilder
from tidings.log.deliveries import Answer, Batch, open_deliveries
from tidings.log.event_fields import OP_FIELDS
from tidings.log.segments import segment_bytes
from tidings.log.store import EventLog
from tidings.log.wire import decode_event
from tidings.matching.engine import Engine
from tidings.spark import match
from tidings.testing import ScriptedLog, assert_exactly, delivered, expect_deltas

FEW = [
    b'{"op":"register","id":"s1","kind":"within","when":"flood","where":{"box":[11.0,48.0,12.0,49.0]}}',
    b'{"op":"publish","id":"m1","ts":7,"at":[11.5,48.1],"text":"Flood","attributes":{"a":1}}',
    b'{"op":"publish","id":"m2","box":[11,48,12,49],"words":["flood"],"expires":9}',
    b'{"op":"register","id":"b","kind":"best","at":[11.5,48.1],"k":3,"alpha":0.5,"text":"flood","labels":["x"]}',
    b'{"op":"tick","ts":8}',
]


@pytest.fixture
def log(tmp_path: Path) -> str:
    with ScriptedLog(tmp_path / "few.log") as scripted:
        scripted.append(*FEW)
    return str(tmp_path / "few.log")


def lines(path: Path) -> list[bytes]:
    with EventLog.open(path, read_only=True) as log:
        return [line for one in log.frames(log.start, log.end) for line in one.lines()]


def run(frame: DataFrame, path: Path, checkpoint: Path, **options: str) -> list[dict]:
    query = (
        frame.writeStream.format("tidings")
        .option("checkpointLocation", str(checkpoint))
        .options(**options)
        .trigger(availableNow=True)
        .start(str(path))
    )
    assert query.awaitTermination(240)
    return query.recentProgress


def test_a_log_is_a_table(spark: SparkSession, log: str):
    rows = spark.read.format("tidings").load(log).orderBy("position").collect()
    assert [row.position for row in rows] == [0, 1, 2, 3, 4]
    assert [row.event.encode() for row in rows] == FEW
    assert [row.op for row in rows] == ["register", "publish", "publish", "register", "tick"]
    assert json.loads(rows[0]["where"]) == {"box": [11.0, 48.0, 12.0, 49.0]}
    assert (rows[1].ts, rows[1].lon, rows[1].lat, rows[1].text, rows[1].attributes) == (
        7,
        11.5,
        48.1,
        "Flood",
        '{"a":1}',
    )
    assert (rows[2].lon, rows[2].box, rows[2].words, rows[2].expires) == (None, [11.0, 48.0, 12.0, 49.0], ["flood"], 9)
    assert (rows[3].kind, rows[3].k, rows[3].alpha, rows[3].labels) == ("best", 3, 0.5, ["x"])
    assert (rows[4].id, rows[4].ts) == (None, 8)


def test_some_columns_of_some_positions(spark: SparkSession, log: str):
    reader = spark.read.format("tidings").schema("text string, position bigint")
    some = reader.option("startingPosition", 1).option("endingPosition", 3).option("numPartitions", 2).load(log)
    assert sorted(map(tuple, some.collect()), key=str) == [("Flood", 1), (None, 2)]
    latest = spark.read.format("tidings").option("startingPosition", "latest").load(log)
    assert latest.count() == 0


def test_a_log_can_be_matched(spark: SparkSession, log: str):
    rows = spark.read.format("tidings").load(log)
    found = match(rows.where("op = 'publish'"), rows.where("op = 'register'"))
    wanted = [delta for delta in expect_deltas(log) if delta.position < 3]
    assert {(row.position, row.subscription, row.op) for row in found.collect()} >= {
        (delta.position, delta.subscription, delta.op) for delta in wanted
    }
    assert len(wanted) == 2


@pytest.mark.parametrize(
    ("options", "schema", "told"),
    [
        ({"startingPosition": "soon"}, None, "startingPosition"),
        ({"numPartitions": "0"}, None, "numPartitions"),
        ({}, "position int", "bigint"),
        ({}, "colour string", "an unknown column"),
    ],
)
def test_options_and_columns_are_checked(spark: SparkSession, log: str, options, schema, told):
    reader = spark.read.format("tidings").options(**options)
    with pytest.raises((AnalysisException, PythonException), match=told):
        (reader.schema(schema) if schema else reader).load(log).collect()


def test_a_stream_reads_all_in_bounded_batches(spark: SparkSession, seed: int, tmp_path: Path):
    events = random_log(seed, 120, "mixed")
    with ScriptedLog(tmp_path / "in.log") as scripted:
        scripted.append(*(json.dumps(event).encode() for event in events))
        stream = spark.readStream.format("tidings").option("maxEventsPerTrigger", 50).load(str(tmp_path / "in.log"))
        progress = run(stream.select("event"), tmp_path / "out.log", tmp_path / "checkpoint")
        assert [batch["numInputRows"] for batch in progress if batch["numInputRows"]] == [50, 50, 20]
        scripted.append(Publish("another", at=(0.0, 0.0), text="flood"))
        run(stream.select("event"), tmp_path / "out.log", tmp_path / "checkpoint")
    assert lines(tmp_path / "out.log") == lines(tmp_path / "in.log")
    assert {row.op for row in spark.read.format("tidings").load(str(tmp_path / "out.log")).collect()} <= set(OP_FIELDS)


def test_a_consumer_is_waited_for(spark: SparkSession, log: str, tmp_path: Path):
    stream = spark.readStream.format("tidings").option("consumer", "copy").option("maxEventsPerTrigger", 2).load(log)
    run(stream.select("event"), tmp_path / "out.log", tmp_path / "checkpoint")
    with EventLog.open(log, read_only=True) as opened:
        assert 0 < opened.needs()["copy"] <= 5


def test_rows_are_appended(spark: SparkSession, seed: int, tmp_path: Path):
    messages = random_messages(Random(seed), 50)
    rows = frame(spark, messages, MESSAGES)
    rows.write.format("tidings").mode("append").save(str(tmp_path / "new.log"))
    appended = [json.loads(line) for line in lines(tmp_path / "new.log")]
    assert {event["op"] for event in appended} == {"publish"}
    assert sorted(event["id"] for event in appended) == sorted(row["id"] for row in messages)
    assert all(("at" in event) != ("box" in event) for event in appended)


def test_a_numbered_write_is_done_once(spark: SparkSession, tmp_path: Path):
    path = tmp_path / "new.log"
    rows = spark.createDataFrame([(FEW[1].decode(),)], "event string")
    writer = rows.write.format("tidings").mode("append").option("producer", "nightly").option("sequence", "3")
    writer.save(str(path))
    writer.save(str(path))
    assert lines(path) == [FEW[1]]


def test_a_batch_that_comes_again_is_appended_once(spark: SparkSession, tmp_path: Path):
    with ScriptedLog(tmp_path / "in.log") as scripted:
        scripted.append(*FEW)
        # Batches 1 and 3 have no rows left, so the numbers of those that have some are not one after the other.
        stream = spark.readStream.format("tidings").option("maxEventsPerTrigger", 1).load(str(tmp_path / "in.log"))
        published = stream.where("op != 'register'").select("event")
        run(published, tmp_path / "out.log", tmp_path / "checkpoint")
        wanted = [FEW[1], FEW[2], FEW[4]]
        assert lines(tmp_path / "out.log") == wanted
        # As if the query had died after the append and before it wrote down that the batch was done.
        commits = tmp_path / "checkpoint" / "commits"
        for name in ("4", ".4.crc"):
            (commits / name).unlink(missing_ok=True)
        run(published, tmp_path / "out.log", tmp_path / "checkpoint")
    assert lines(tmp_path / "out.log") == wanted


def test_rows_that_are_no_events(spark: SparkSession, tmp_path: Path):
    path = str(tmp_path / "new.log")
    bad = spark.createDataFrame(
        [("a", 200.0, 0.0, "x"), ("b", 0.0, 0.0, None)], "id string, lon double, lat double, text string"
    )
    with pytest.raises((AnalysisException, PythonException), match="place-outside") as caught:
        bad.coalesce(1).write.format("tidings").mode("append").save(path)
    assert "field-missing" in str(caught.value)
    assert lines(Path(path)) == []
    for columns, told in (
        ("event string, id string", "`event` alone"),
        ("id string, position bigint", "gives positions"),
    ):
        with pytest.raises((AnalysisException, PythonException), match=told):
            spark.createDataFrame([], columns).write.format("tidings").mode("append").save(path)
    with pytest.raises((AnalysisException, PythonException), match="only grows"):
        bad.write.format("tidings").mode("overwrite").save(path)


def test_a_bad_row_ends_a_stream(spark: SparkSession, tmp_path: Path, log: str):
    stream = spark.readStream.format("tidings").load(log).selectExpr("concat(event, ',') AS event")
    with pytest.raises(StreamingQueryException, match="json-invalid"):
        run(stream, tmp_path / "out.log", tmp_path / "checkpoint")


def test_a_configured_log(spark: SparkSession, tmp_path: Path):
    path = tmp_path / "plane.log"
    with ScriptedLog(path, Configure(space=Plane((0.0, 0.0, 1000.0, 1000.0)))):
        pass
    rows = spark.createDataFrame([("m", [500.0, 500.0], ["w"])], "id string, at array<double>, words array<string>")
    rows.write.format("tidings").mode("append").save(str(path))
    assert json.loads(lines(path)[1]) == {"op": "publish", "id": "m", "at": [500.0, 500.0], "words": ["w"]}


def test_deliveries_are_a_table(spark: SparkSession, tmp_path: Path):
    log, state = tmp_path / "few.log", tmp_path / "few.log.state"
    with ScriptedLog(log) as scripted:
        scripted.append(*FEW)
    deliver(log, state)
    wanted = expect_deltas(log)
    assert_exactly(delivered(state), wanted)
    reader = spark.read.format("tidings").option("deliveries", str(state))
    rows = reader.load().orderBy("position", "subscription").collect()
    assert [(row.position, row.subscription, row.message, row.op, row.score) for row in rows] == [
        (delta.position, delta.subscription, delta.message, delta.op, delta.score) for delta in wanted
    ]
    assert reader.option("subscription", "b").load().count() == sum(delta.subscription == "b" for delta in wanted)
    stream = spark.readStream.format("tidings").option("deliveries", str(state)).option("maxEventsPerTrigger", 2).load()
    query = stream.writeStream.format("memory").queryName("told").trigger(availableNow=True)
    assert query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination(240)
    assert spark.table("told").count() == len(wanted)


def deliver(log: Path, state: Path) -> None:
    """What a pipeline of one shard does."""
    deliveries = open_deliveries(state, create=True)
    epoch = deliveries.claim()
    engine = Engine()
    builder = BlockBuilder(Configure())
    for position, line in enumerate(lines(log)):
        builder.add(position, decode_event(line, Configure().space))
    batch = Batch(0, len(FEW))
    deltas = engine.step(builder.build())
    data = segment_bytes(0, epoch, batch.first, batch.end, deltas)
    deliveries.plan(epoch, batch)
    answer = type(deliveries).write_segment(str(state), epoch, 0, batch.first, batch.end, data)
    assert isinstance(answer, Answer)
    deliveries.commit(epoch, batch, [answer])
    deliveries.close()
