import importlib

import pytest

import tidings


def test_what_is_promised_is_there():
    for module, names in tidings._PLACES.items():
        for name in names.split():
            assert getattr(tidings, name) is getattr(importlib.import_module(module), name)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = tidings.Nothing


def test_an_engine_from_the_top():
    engine = tidings.Engine()
    engine.register(tidings.Within("s", tidings.Everywhere(), when="flood"))
    assert [delta.subscription for delta in engine.publish("m", at=(11.5, 48.1), text="A flood")] == ["s"]
