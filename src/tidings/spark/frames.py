"""Matching DataFrames: `match`, and `problems` for those who want to look at bad rows."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from tidings.index.base import INDEXES, load
from tidings.log.subscription_fields import KIND_FIELDS
from tidings.matching.base import AROUND, BEST, NEAREST
from tidings.model.errors import InputError, Problem, shortened
from tidings.model.events import Configure
from tidings.spark import schemas
from tidings.spark.connecting import cores_of
from tidings.spark.matching_tasks import CHUNK_SCHEMA, MessageEncoder, Plan, Stepper, SubscriptionEncoder
from tidings.spark.problem_tasks import MessageProblems, SubscriptionProblems
from tidings.spark.static_shards import StaticMatcher, send_shard

MODES: Final = ("FAILFAST", "DROPMALFORMED")
"""What becomes of rows that cannot be; as when Spark reads files."""

_REGISTRIES: Final = {"within": INDEXES, "around": AROUND, "best": BEST, "nearest": NEAREST}


def match(
    messages: DataFrame,
    subscriptions: DataFrame,
    *,
    within: str = "pyramid",
    around: str = "brute",
    best: str = "brute",
    nearest: str = "brute",
    configuration: Configure | None = None,
    kinds: Iterable[str] | None = None,
    shards: int | None = None,
    mode: str = "FAILFAST",
) -> DataFrame:
    """Match messages with subscriptions; a DataFrame of `position, subscription, message, op, score, distance`.

    The answer is that of an `Engine` to which all subscriptions are registered and then all messages are published, in
    order of `position` when they have that column, else of `ts` and `id`. Where there are only `within` subscriptions
    no order counts: then nothing is sorted, messages are matched on all cores, may be streaming, and have a position
    only if they bring one.

    Parameters
    ----------
    messages
        `id`; a place: `lon` and `lat`, or `at`, or `box`; `text` or `words`; optional `ts`, `expires`, `position`.
        Other columns are not looked at.
    subscriptions
        `id`, `kind` (without the column all are `within`), and what the kinds need: `when`, `where`, `at` (or `lon`
        and `lat`), `shape` (or `radius_m`, or `width` and `height`), `text` or `words`, `k`, `alpha`. Never streaming.
    within, around, best, nearest
        The method of each kind, by name. All give the same answer.
    configuration
        The space, window, analyser and weights; the default is that of a log without `configure`.
    kinds
        The kinds that `subscriptions` may have. Without it, a `kind` column is looked through once, at once, to see.
    shards
        Parts of the subscriptions, each of them held by one task at a time. The default is one for `within` alone, so
        that messages go to one task each, and otherwise one per core, since all must see all messages.
    mode
        `FAILFAST`: rows that cannot be are an error, with up to 100 problems of a task. `DROPMALFORMED`: they are left
        out; `problems` tells them.

    Columns, options and methods are checked here, rows when the answer is computed.

    """
    present = _kinds_of(subscriptions, kinds)
    wrong = _option_problems(mode, shards) + _stream_problems(messages, subscriptions, present)
    wrong += schemas.message_problems(_schema_of(messages))
    wrong += schemas.subscription_problems(_schema_of(subscriptions), present)
    methods = {"within": within, "around": around, "best": best, "nearest": nearest}
    for kind, registry in _REGISTRIES.items():
        try:
            load(registry, methods[kind], kind)
        except InputError as error:
            wrong += error.problems
    if wrong:
        raise InputError(wrong)
    plan = _plan_of(messages, subscriptions, configuration, methods, present, shards, mode)
    sides = _message_rows(messages), _subscription_rows(subscriptions)
    return _streamed(*sides, plan) if messages.isStreaming else _joined(*sides, plan)


def problems(
    messages: DataFrame | None = None,
    subscriptions: DataFrame | None = None,
    *,
    configuration: Configure | None = None,
) -> DataFrame:
    """What is wrong with the rows of messages, of subscriptions or of both; a row per problem.

    The columns are `table, id, code, place, found, expected, hint`. What a row cannot know by itself is not among
    them: an id that is there twice.
    """
    configuration = configuration or Configure()
    told: list[DataFrame] = []
    wrong: list[Problem] = []
    if messages is not None:
        wrong += schemas.message_problems(_schema_of(messages))
    if subscriptions is not None:
        wrong += schemas.subscription_problems(_schema_of(subscriptions), ())
    if wrong:
        raise InputError(wrong)
    if messages is not None:
        told.append(_message_rows(messages).mapInArrow(MessageProblems(configuration), schemas.PROBLEM_SCHEMA))
    if subscriptions is not None:
        task = SubscriptionProblems(configuration, _implied(subscriptions))
        told.append(_subscription_rows(subscriptions).mapInArrow(task, schemas.PROBLEM_SCHEMA))
    if not told:
        raise InputError(Problem("option-invalid", "messages", "None", "messages, or subscriptions, or both"))
    return told[0] if len(told) == 1 else told[0].union(told[1])


def _joined(messages: DataFrame, subscriptions: DataFrame, plan: Plan) -> DataFrame:
    """The plan of a batch: both sides as chunks, every chunk to its task, in order."""
    if plan.ordered:
        order = [name for name in (("position",) if plan.positioned else ("ts", "id")) if name in messages.columns]
        messages = messages.orderBy(*order)
    chunks = subscriptions.mapInArrow(SubscriptionEncoder(plan), CHUNK_SCHEMA).union(
        messages.mapInArrow(MessageEncoder(plan), CHUNK_SCHEMA)
    )
    tasks = chunks.repartitionById(plan.shards * plan.spread, "task").sortWithinPartitions("part", "number")
    return tasks.mapInArrow(Stepper(plan), schemas.PAIR_SCHEMA)


def _streamed(messages: DataFrame, subscriptions: DataFrame, plan: Plan) -> DataFrame:
    """The plan of a stream: a shard in a file, and messages that pass it."""
    plan = plan._replace(shards=1, spread=1)
    chunks = subscriptions.mapInArrow(SubscriptionEncoder(plan), CHUNK_SCHEMA)
    file = send_shard(messages.sparkSession, chunks, plan)
    return messages.mapInArrow(StaticMatcher(plan, file), schemas.PAIR_SCHEMA)


def _plan_of(
    messages: DataFrame,
    subscriptions: DataFrame,
    configuration: Configure | None,
    methods: Mapping[str, str],
    kinds: tuple[str, ...],
    shards: int | None,
    mode: str,
) -> Plan:
    cores = 1 if messages.isStreaming else cores_of(messages.sparkSession)
    only_within = kinds == ("within",)
    shards = shards or (1 if only_within else cores)
    return Plan(
        configuration=configuration or Configure(),
        methods=dict(methods),
        kinds=kinds,
        implied=_implied(subscriptions),
        shards=shards,
        spread=-(-cores // shards) if only_within else 1,
        positioned="position" in _schema_of(messages).names,
        drops=mode == "DROPMALFORMED",
    )


def _kinds_of(subscriptions: DataFrame, kinds: Iterable[str] | None) -> tuple[str, ...]:
    """Which kinds there are, in one order."""
    if kinds is not None:
        named = [kinds] if isinstance(kinds, str) else list(kinds)
        unknown = [kind for kind in named if kind not in KIND_FIELDS]
        if unknown or not named:
            expected = f"some of {', '.join(KIND_FIELDS)}"
            raise InputError(Problem("kind-unknown", "kinds", shortened(unknown or named), expected))
    elif _implied(subscriptions) or subscriptions.isStreaming:
        named = ["within"]
    elif not isinstance(subscriptions.schema["kind"].dataType, t.StringType):
        named = []
    else:
        named = [row.kind for row in subscriptions.select("kind").distinct().collect()]
    return tuple(kind for kind in KIND_FIELDS if kind in named) or ("within",)


def _implied(subscriptions: DataFrame) -> str | None:
    return None if "kind" in _schema_of(subscriptions).names else "within"


def _option_problems(mode: str, shards: int | None) -> list[Problem]:
    wrong = []
    if mode not in MODES:
        wrong.append(Problem("option-invalid", "mode", repr(mode), f"one of {', '.join(MODES)}"))
    if shards is not None and not (type(shards) is int and 1 <= shards <= _MOST_SHARDS):
        wrong.append(Problem("option-invalid", "shards", repr(shards), f"1 to {_MOST_SHARDS}"))
    return wrong


_MOST_SHARDS: Final = 10_000


def _stream_problems(messages: DataFrame, subscriptions: DataFrame, kinds: tuple[str, ...]) -> list[Problem]:
    wrong = []
    hint = "append them to a log and run `tidings pipeline`, which keeps one order of everything"
    if subscriptions.isStreaming:
        expected = "a DataFrame that does not stream: which subscriptions are in force at a message asks for one order"
        wrong.append(Problem("option-invalid", "subscriptions", "a streaming DataFrame", expected, hint))
    if messages.isStreaming and kinds != ("within",):
        others = " and ".join(f"`{kind}`" for kind in kinds if kind != "within")
        expected = (
            f"only `within` with streaming messages: {others} look back at live messages, and the rows of a stream "
            "have no order from batch to batch and from task to task"
        )
        wrong.append(Problem("option-invalid", "messages", "a streaming DataFrame", expected, hint))
    return wrong


def _schema_of(frame: DataFrame) -> t.StructType:
    """The columns that have a type: those of nulls alone are as good as absent."""
    return t.StructType([field for field in frame.schema if not isinstance(field.dataType, t.NullType)])


def _message_rows(messages: DataFrame) -> DataFrame:
    return _selected(messages, schemas.MESSAGES)


def _subscription_rows(subscriptions: DataFrame) -> DataFrame:
    return _selected(subscriptions, schemas.SUBSCRIPTIONS)


def _selected(frame: DataFrame, known: Mapping[str, Any]) -> DataFrame:
    """The columns that are known, of few types."""
    return frame.select(
        [column for field in _schema_of(frame) if field.name in known for column in _plain(frame, field)]
    )


def _plain(frame: DataFrame, field: t.StructField) -> list[Column]:
    name, type_ = field.name, field.dataType
    column = frame[name]
    if name == "at" and isinstance(type_, t.StructType):
        return [column[part].cast("double").alias(axis) for part, axis in zip(type_.names, ("lon", "lat"), strict=True)]
    if name == "box" and isinstance(type_, t.StructType):
        corners = f.array(*(column[part].cast("double") for part in type_.names))
        return [f.when(column.isNotNull(), corners).alias(name)]
    if isinstance(type_, t.TimestampType | t.TimestampNTZType | t.StructType):
        return [column]
    return [column.cast(_TYPES.get(name, "string")).alias(name)]


_TYPES: Final = {
    **dict.fromkeys(("lon", "lat", "radius_m", "width", "height", "alpha"), "double"),
    **dict.fromkeys(("ts", "expires", "position", "k"), "bigint"),
    **dict.fromkeys(("at", "box"), "array<double>"),
    **dict.fromkeys(("words", "labels"), "array<string>"),
}
