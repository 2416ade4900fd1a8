"""Clocks that go backwards, or stood years ahead for a while."""

import time

import pytest

from memnet import Engine

_MOVES = ("Ann moved to Paris.", "Ann moved to Rome.", "Ann moved to Oslo.")


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch, toy_engine: Engine) -> "Tell":
    return Tell(toy_engine, monkeypatch)


class Tell:
    """Tells something when a clock shows a given time."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self._engine = engine
        self._monkeypatch = monkeypatch

    def __call__(self, now: float, text: str) -> None:
        self._monkeypatch.setattr(time, "time", lambda: now)
        self._engine.tell(text)
        self._engine.ask("Where does Ann live?")


@pytest.mark.parametrize("second", [999.0, -5.0, 4e9])
def test_validity_never_ends_before_it_begins(toy_engine: Engine, at: Tell, second: float) -> None:
    for now, text in zip((1000.0, second, 2000.0), _MOVES, strict=True):
        at(now, text)
    history = toy_engine.history("Ann")
    assert tuple(told.text for told in sorted(history, key=lambda one: one.id)) == _MOVES
    held = [(told.valid_from, told.id) for told in history]
    assert held == sorted(held)
    history = tuple(sorted(history, key=lambda one: one.id))
    assert [told.valid_until is None for told in history] == [False, False, True]
    for told in history:
        assert told.valid_from >= 0
        assert told.valid_until is None or told.valid_until >= told.valid_from
    assert history[-1].valid_from == 2000.0
    if second < 2000:
        begins = [told.valid_from for told in history]
        assert begins == [1000.0, 1000.0, 2000.0]
        assert [told.valid_until for told in history] == [*begins[1:], None]
    evidence = toy_engine.ask("Where does Ann live?").evidence
    assert [item.text for item in evidence] == ["Ann moved to Oslo."]
    usages = toy_engine.store.statements.usage()
    assert all(0 <= one.decayed(now, 60.0) <= 10 for one in usages for now in (0.0, 1500.0, 1e12))
    assert toy_engine.verify().problems == ()


def test_a_clock_before_the_epoch_gives_no_negative_time(toy_engine: Engine, at: Tell) -> None:
    at(-5.0, "Ann moved to Paris.")
    at(-4.0, "Ann moved to Rome.")
    assert [told.valid_from for told in toy_engine.history("Ann")] == [0.0, 0.0]
    assert toy_engine.verify().problems == ()


def test_one_time_in_the_future_does_not_become_that_of_all_that_follows(
    toy_engine: Engine, at: Tell
) -> None:
    at(4e9, "Bo moved to Rome.")
    for now, text in zip((1000.0, 2000.0, 3000.0), _MOVES, strict=True):
        at(now, text)
    assert [told.valid_from for told in toy_engine.history("Ann")] == [1000.0, 2000.0, 3000.0]
    at(4000.0, "Bo moved to Oslo.")
    told = [(one.text, one.valid_from, one.valid_until) for one in toy_engine.history("Bo")]
    assert told == [("Bo moved to Oslo.", 4000.0, None), ("Bo moved to Rome.", 4e9, 4e9)]
    assert toy_engine.verify().problems == ()
