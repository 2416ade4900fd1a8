"""Keys of the units of passages: made, stored, compared with questions, and deleted."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memnet import Document, Engine
from memnet.documents.candidates import Candidates, QueryState, Scores, SlotFeature
from memnet.documents.controller import TextController
from memnet.documents.hops import Addressing
from memnet.documents.question import FullVectors, Question, unit_projection
from memnet.encoders.protocol import UnitVectors
from memnet.errors import StoreError
from memnet.storage import MemoryStore, UnitKeys, export_bundle, import_bundle
from memnet.storage.values import UNIT_WIDTH
from memnet.text.english import units
from tests.quick import QuickEncoder, open_quick
from tests.toy import DIMENSION, ToyEncoder, toy_memory, toy_store

_RULES = "Boats over nine metres pay twice. Dogs sleep in the boathouse. The bar shuts at ten."
_DOCUMENTS = [
    Document(id="rules", title="Rules", text=_RULES),
    Document(id="dogs", title="Dogs", text="Dogs bark. Cats sleep on board, says the harbour."),
    Document(id="signs", title="Signs", text="* * *"),
]


class UnitToyEncoder(ToyEncoder):
    """A unit is encoded as a text of its own."""

    def unit_projection(self) -> NDArray[np.float32]:
        return np.eye(DIMENSION, UNIT_WIDTH, dtype=np.float32)

    def encode_units(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> UnitVectors:
        found = [
            self.encode([text[start:end] for start, end in own])
            for text, own in zip(texts, spans, strict=True)
        ]
        return UnitVectors(self.encode(texts), found)


class QuickUnitEncoder(UnitToyEncoder, QuickEncoder):
    pass


@pytest.fixture
def memory(tmp_path: Path) -> Engine:
    made = toy_memory(tmp_path / "store", encoder=UnitToyEncoder())
    made.ingest(_DOCUMENTS)
    return made


def test_questions_in_unknown_scripts_have_no_direct_attention(
    memory: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Candidates] = []

    def mixed(_: TextController, scores: Scores, found: Candidates) -> Scores:
        asked.append(found)
        return scores

    monkeypatch.setattr(TextController, "mixed", mixed)
    memory.search("Wo schläft der Hund?")
    assert len(asked) == 1
    memory.search("Где спит собака?")
    assert len(asked) == 1


def _stored(store: MemoryStore) -> dict[str, NDArray[np.float32]]:
    """Keys of units [U, R] float32 by source."""
    assert store.verify() == []
    slots = store.fetch(range(1, 100))
    keys = store.unit_keys([slot.id for slot in slots])
    sources = {slot.id: slot.source for slot in slots}
    parts = np.split(keys.rows, keys.starts[1:]) if len(keys.ids) else []
    return {sources[slot]: rows for slot, rows in zip(keys.ids.tolist(), parts, strict=True)}


def _change(store: MemoryStore, statement: str) -> None:
    with closing(sqlite3.connect(store.path / "memory.sqlite3")) as database, database:
        database.execute(statement)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_packed_keys_keep_their_directions(count: int) -> None:
    keys = np.random.default_rng(count).standard_normal((count, UNIT_WIDTH)).astype(np.float32)
    keys *= np.logspace(-3, 3, count, dtype=np.float32)[:, None]
    packed = UnitKeys.packed(keys)
    assert len(packed) == count * UNIT_WIDTH
    rows = np.frombuffer(packed, np.int8).reshape(-1, UNIT_WIDTH).astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(keys, axis=1)
    assert ((rows * keys).sum(axis=1) / lengths > 0.9998).all()


def test_a_passage_has_a_key_for_each_of_its_units(memory: Engine) -> None:
    found = _stored(memory.store)
    assert found.keys() == {"rules", "dogs", "signs"}
    text = f"Rules\n{_RULES}"
    expected = memory.encoder.encode([text[one.start : one.end] for one in units(text)])
    cosines = (found["rules"][:, :DIMENSION] * expected).sum(axis=1)
    assert cosines.tolist() == pytest.approx([1] * 4, abs=1e-3)


def test_a_candidate_is_compared_by_its_best_unit(memory: Engine) -> None:
    store, encoder = memory.store, memory.encoder
    asked = "Where do dogs sleep in the boathouse"

    def features(full: FullVectors | None) -> dict[str, NDArray[np.float32]]:
        with store.reading():
            question = Question(asked, store, encoder.encode, full=full)
            found = Addressing(question, memory.config.hop).candidates(QueryState())
            sources = [slot.source for slot in store.fetch(found.ids)]
        return dict(zip(sources, found.features, strict=True))

    [question] = encoder.encode([asked])
    without = features(None)
    best = features(FullVectors(projection=unit_projection(encoder)))
    assert best["rules"][SlotFeature.UNIT] == pytest.approx(
        max(float(question @ rows) for rows in _stored(store)["rules"][:, :DIMENSION]), abs=1e-3
    )
    assert best["rules"][SlotFeature.UNIT] > best["rules"][SlotFeature.DENSE] + 0.1
    for source, row in without.items():
        assert row[SlotFeature.UNIT] == row[SlotFeature.DENSE] == best[source][SlotFeature.DENSE]


def test_keys_follow_with_full_vectors(tmp_path: Path) -> None:
    with open_quick(tmp_path / "store", QuickUnitEncoder(), min_quick=1) as quick:
        quick.ingest(_DOCUMENTS, full=False)
        assert _stored(quick.store) == {}
        quick.encode_full()
        assert len(_stored(quick.store)["rules"]) == 4


def test_keys_go_with_their_passage(memory: Engine) -> None:
    memory.forget("rules")
    memory.ingest(Document(id="dogs", title="Dogs", text="Cats purr."))
    found = _stored(memory.store)
    assert "rules" not in found
    assert len(found["dogs"]) == 2
    [count] = memory.store.connection.only("SELECT count(*) FROM unit_key")
    assert count == len(found)


def test_a_bundle_holds_them(memory: Engine, tmp_path: Path) -> None:
    before = _stored(memory.store)
    export_bundle(memory.store, tmp_path / "a.bundle")
    copied = tmp_path / "copy"
    import_bundle(tmp_path / "a.bundle", copied, fingerprint="toy/64", dimension=DIMENSION)
    with closing(toy_store(copied, create=False)) as copy:
        after = _stored(copy)
    assert before.keys() == after.keys()
    for source, rows in before.items():
        np.testing.assert_array_equal(rows, after[source])


@pytest.mark.parametrize("damage", ["substr(keys, 2)", "x''", "'text'"])
def test_damaged_keys_are_found(memory: Engine, damage: str) -> None:
    _change(memory.store, f"UPDATE unit_key SET keys = {damage} WHERE vector = 1")
    assert memory.store.verify() != []
    with pytest.raises(StoreError, match="keys of units that memnet did not write"):
        memory.store.unit_keys(range(1, 9))


def test_keys_without_a_direction_are_unlike_everything(memory: Engine) -> None:
    _change(memory.store, f"UPDATE unit_key SET keys = zeroblob({UNIT_WIDTH})")
    assert not memory.store.unit_keys(range(1, 9)).rows.any()
    assert memory.ask("Where do dogs sleep?").evidence
