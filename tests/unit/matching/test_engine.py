"""The engine as its users call it: what is refused changes nothing, and a saved state is that state or is refused."""

import msgspec
import pytest
from tests.contract.replaying import decoded, workload

from tidings.columns.saved import save_arrays
from tidings.matching.engine import LARGEST_BLOCK, Engine
from tidings.model.errors import FileError, InputError
from tidings.model.events import Configure, Publish, Register, Remove, Replace, Tick, Window
from tidings.model.regions import Everywhere
from tidings.model.subscriptions import Best, Within

HERE = (1.0, 2.0)


def state_of(engine):
    return {name: array.tobytes() for name, array in engine.shard.arrays().items()}


REFUSED = [
    (Publish("m", at=HERE, words=()), "id-taken"),
    (Register(Within("s", Everywhere())), "id-taken"),
    (Register(Within("t", Everywhere(), "a AND")), "expression-syntax"),
    (Replace(Within("t", Everywhere())), "id-unknown"),
    (Remove("t"), "id-unknown"),
    (Configure(), "configure-late"),
]


def engine_with_some():
    engine = Engine(Configure(window=Window(messages=5)))
    engine.register(Within("s", Everywhere(), "a"))
    assert [delta.subscription for delta in engine.publish("m", at=HERE, words=("a",))] == ["s"]
    return engine


@pytest.mark.parametrize(("event", "code"), REFUSED)
def test_what_is_refused_changes_nothing(event, code):
    engine = engine_with_some()
    before = state_of(engine)
    with pytest.raises(InputError) as caught:
        engine.apply(event)
    assert caught.value.code == code
    assert state_of(engine) == before
    assert engine.position == 2


@pytest.mark.parametrize(("event", "code"), REFUSED)
def test_a_run_applies_what_stands_before_what_is_refused(event, code):
    engine = engine_with_some()
    found = list(engine.run([Publish("n", at=HERE, words=("a",))]))
    events = [Publish("o", at=HERE, words=("a",)), event, Publish("p", at=HERE, words=("a",))]
    with pytest.raises(InputError) as caught:
        found.extend(engine.run(events))
    assert caught.value.code == code
    assert [delta.message for delta in found] == ["n", "o"]
    assert engine.position == 4


def test_ids_come_back_within_one_run():
    engine = Engine(Configure(window=Window(messages=1)))
    events = [Register(Best("s", HERE, 1, 0.0, words=("a",)))]
    for i in range(6):
        events += [Publish(f"m{i % 2}", at=HERE, words=("a",), ts=i, expires=i + 1), Tick(i + 1)]
    events += [Remove("s"), Register(Within("s", Everywhere())), Publish("m0", at=HERE, words=())]
    told = [(delta.position, delta.message, delta.op) for delta in engine.run(events)]
    pairs = [[(1 + 2 * i, f"m{i % 2}", "+"), (2 + 2 * i, f"m{i % 2}", "-")] for i in range(6)]
    assert told == [*(row for pair in pairs for row in pair), (15, "m0", "+")]


def test_a_long_run_is_stepped_in_blocks():
    engine = Engine()
    engine.register(Within("s", Everywhere(), "a"))
    n = 2 * LARGEST_BLOCK + 10
    run = engine.run(Publish(f"m{i}", at=HERE, words=("a",)) for i in range(n))
    assert [delta.position for delta in run] == list(range(1, n + 1))
    assert engine.position == n + 1


def test_a_saved_engine_is_the_same(seed, tmp_path):
    log, _ = workload(seed, "mixed", 250)
    configuration, events = decoded(log)
    engine = Engine(configuration)
    list(engine.run(event for _, event in events))
    engine.save(tmp_path / "engine")
    loaded = Engine.load(tmp_path / "engine")
    assert state_of(loaded) == state_of(engine)
    assert loaded.position == engine.position
    assert loaded.shard.methods == engine.shard.methods
    assert loaded.shard.configuration == configuration
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "engine").read_bytes()


@pytest.mark.parametrize(
    "about", [None, {"name": "of another kind"}, {"configuration": {}, "methods": {}, "position": "x"}]
)
def test_a_saved_file_of_another_kind_is_refused(about, tmp_path):
    save_arrays(tmp_path / "other", about, {})
    with pytest.raises(FileError) as caught:
        Engine.load(tmp_path / "other")
    assert caught.value.code == "file-format"
    assert msgspec.json.encode(about)


def test_an_unknown_method_is_said():
    for kind in ("within", "around", "best", "nearest"):
        with pytest.raises(InputError) as caught:
            Engine(**{kind: "no such"})
        assert caught.value.code == "method-unknown"
