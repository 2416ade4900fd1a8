"""Clocks that go backwards, or stood years ahead for a while."""

import time

import pytest

from memnet import Engine


@pytest.mark.parametrize("second", [999.0, -5.0, 4e9])
def test_validity_never_ends_before_it_begins(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch, second: float
) -> None:
    for now, text in (
        (1000.0, "Ann moved to Paris."),
        (second, "Ann moved to Rome."),
        (2000.0, "Ann moved to Oslo."),
    ):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        toy_engine.write(text)
        toy_engine.ask("Where does Ann live?")
    history = toy_engine.history("Ann")
    assert [told.text for told in history] == [
        "Ann moved to Paris.", "Ann moved to Rome.", "Ann moved to Oslo.",
    ]  # fmt: skip
    begins = [told.valid_from for told in history]
    assert begins == sorted(begins)
    assert [told.valid_until for told in history] == [*begins[1:], None]
    evidence = toy_engine.ask("Where does Ann live?").evidence
    assert [item.text for item in evidence] == ["Ann moved to Oslo."]
    usages = toy_engine._store._records.usage()
    assert all(0 <= one.decayed(now, 60.0) <= 10 for one in usages for now in (0.0, 1500.0, 1e12))
    assert toy_engine.verify().problems == ()
