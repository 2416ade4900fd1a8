"""All changes of a statement are kept, each with the one that made it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memnet import Config, Engine
from memnet.protocols import Judgement, Label, Told
from tests.toy import ToyEncoder, toy_store

_PARTLY = "A part of it is no longer valid."


class OfTheFirst:
    """Says that each statement changes the first one, in a part unless it says "all"."""

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        labels = np.zeros((len(earlier), len(Label)), np.float32)
        labels[:, Label.NONE] = 1
        labels[:1] = 0
        labels[:1, Label.CONTRADICT if "wrong" in new.text else Label.SUPERSEDE] = 1
        return Judgement(labels, np.full(len(earlier), "all" not in new.text))


def _open(path: Path) -> Engine:
    encoder = ToyEncoder()
    store = toy_store(path, encoder)
    return Engine(store, encoder, Config(), judge=OfTheFirst())


def _tell(engine: Engine, *texts: str) -> None:
    for day, text in enumerate(texts, start=len(engine.history()) + 1):
        engine.tell(text, at=f"2026-01-{day:02}")


def _changes(engine: Engine) -> list[tuple[str | None, str]]:
    """Texts and kinds of the changes of what was told first."""
    first = min(engine.history(), key=lambda one: one.id)
    return [(one.text, one.change) for one in first.changes]


_TEXTS = ("Ann wears 29, Bo 33, Eve 31.", "Bo wears 34.", "Eve wears 32.", "Ann's size is wrong.")
_ALL = [(_TEXTS[1], "supersede"), (_TEXTS[2], "supersede"), (_TEXTS[3], "contradict")]


def test_each_change_of_a_part_is_kept_and_taken_back_alone(tmp_path: Path) -> None:
    with _open(tmp_path / "store") as engine:
        _tell(engine, *_TEXTS)
        assert _changes(engine) == _ALL
        first = engine.history()[0]
        assert (first.valid_until, first.changed_by_text) == (None, _TEXTS[3])
        for left in (2, 1, 0):
            restored = engine.undo().restored
            assert _changes(engine) == _ALL[:left]
            assert [one.text for one in restored] == [_TEXTS[0]]
        assert engine.verify().problems == ()


def test_what_ends_it_comes_last_and_leaves_the_others(tmp_path: Path) -> None:
    with _open(tmp_path / "store") as engine:
        _tell(engine, *_TEXTS[:3], "They all wear 35.")
        assert _changes(engine) == [*_ALL[:2], ("They all wear 35.", "supersede")]
        assert engine.history()[0].valid_until is not None
        engine.undo()
        assert _changes(engine) == _ALL[:2]
        assert engine.history()[0].valid_until is None


def test_a_change_goes_with_the_statement_that_made_it(tmp_path: Path) -> None:
    with _open(tmp_path / "store") as engine:
        _tell(engine, *_TEXTS)
        engine.forget(engine.history()[1].source)
        assert _changes(engine) == _ALL[1:]
        assert engine.verify().problems == ()


def test_bundles_hold_all_changes(tmp_path: Path) -> None:
    with _open(tmp_path / "store") as engine:
        _tell(engine, *_TEXTS)
        told = engine.history()
        engine.export_bundle(tmp_path / "memory.zip")
    Engine.import_bundle(tmp_path / "memory.zip", tmp_path / "copy", encoder=ToyEncoder())
    with _open(tmp_path / "copy") as copy:
        assert copy.history() == told
        assert copy.verify().problems == ()
