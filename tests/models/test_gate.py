"""The gate: its arithmetic, what it sees, and what is masked."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.gate.network import save_gate
from memnet import Document, Engine, Fact
from memnet.attention.arrays import top_k_softmax
from memnet.checkpoints import SHIPPED
from memnet.documents.question import Question
from memnet.errors import ModelError
from memnet.experts.gate import (
    EXPERTS,
    FEATURES,
    GATE,
    KINDS,
    Gate,
    ModelVocabulary,
    features_of,
    gate_shapes,
    load_gate,
    shipped_gate,
)
from tests import oracle

NOTHING = ModelVocabulary(frozenset(), frozenset())


def _arrays(seed: int, dimension: int = 5) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    shapes = gate_shapes(dimension)
    arrays = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {**arrays, "scale": np.abs(arrays["scale"]) + np.float32(0.5)}


@pytest.mark.parametrize("kept", [1, 2, 3, 9])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_are_kept_as_in_the_oracle(kept: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    scores = draw.normal(size=7).astype(np.float32)
    scores[3] = scores[5]
    mask = draw.random(7) < 0.6
    weights = top_k_softmax(scores, mask, kept)
    np.testing.assert_allclose(
        weights, oracle.top_k_gate(scores.astype(np.float64), mask, kept), atol=1e-6
    )
    assert (weights > 0).sum() == min(kept, mask.sum())
    assert not top_k_softmax(scores, np.zeros(7, np.bool_), kept).any()


def test_what_the_memory_does_not_hold_is_masked() -> None:
    features = np.zeros(len(FEATURES), np.float32)
    for seed in range(10):
        gate = Gate(_arrays(seed), "toy")
        weights = gate.weigh(features, None, ("facts", "stories"))
        assert weights[[0, 2]].tolist() == [0, 0]
        assert weights.sum() == pytest.approx(1)
        assert gate.weigh(features, None, EXPERTS[2:3]).tolist() == [0, 0, 1, 0]


def test_features_say_what_the_memory_holds(toy_engine: Engine, tmp_path: Path) -> None:
    toy_engine.ingest(
        Document(id="light", title="Orre Light", text="The Orre Light is a tower of granite."),
        Fact(subject="Grey Heron", relation="built by", object="Ann Orre"),
    )
    toy_engine.tell("Bo likes tea.")
    (tmp_path / "story.txt").write_text("1 Mary went to the garden.\n2 Where is Mary?\tgarden\t1\n")
    toy_engine.ingest(tmp_path / "story.txt")

    def features(text: str, known: ModelVocabulary = NOTHING) -> dict[str, float]:
        question = Question(text, toy_engine.store, toy_engine.encoder.encode)
        with toy_engine.store.reading():
            values = features_of(question, known)
        assert values.shape == (len(FEATURES),)
        assert bool(np.isfinite(values).all())
        return dict(zip(FEATURES, values.tolist(), strict=True))

    tower = features("What is the Orre Light made of?")
    assert all(tower[f"{kind}: held"] == 1 for kind in KINDS)
    assert tower["document: cosine"] > tower["story: cosine"]
    assert tower["document: named"] == pytest.approx(2 / 3)
    assert tower["facts: named"] == tower["statement: named"] == 0
    ship = features("Who built the Grey Heron?")
    assert ship["facts: named"] == pytest.approx(2 / 3)
    assert ship["relation words"] > 0
    assert ship["known relation"] == 0
    known = NOTHING._replace(relations=frozenset(toy_engine.store.contents.relations()))
    assert features("Who built the Grey Heron?", known)["known relation"] == 1
    known = NOTHING._replace(story_words=frozenset({"where", "is", "mary"}))
    mary = features("Where is Mary?", known)
    assert mary["story words"] == 1
    assert mary["story: covered"] > mary["document: covered"]
    mine = features("What does Bo give to me")
    assert mine["first person"] == 1
    assert mine["statement: words"] > 0


def test_the_shipped_gate_is_small_and_of_this_version() -> None:
    gate = shipped_gate()
    files = list((SHIPPED / GATE).iterdir())
    assert sum(file.stat().st_size for file in files) < 100_000
    assert gate.encoder.startswith("all-MiniLM-L6-v2")
    weights = gate.weigh(np.zeros(len(FEATURES), np.float32), None, EXPERTS)
    assert (weights > 0).sum() == 2


def test_a_gate_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    save_gate(tmp_path, _arrays(0), "toy", {})
    assert load_gate(tmp_path).encoder == "toy"
    described = (tmp_path / "gate.json").read_text()
    for old, new in (
        ('"facts"', '"tables"'), ('"dimension": 5', '"dimension": 6'),
        ('"dimension": 5', '"dimension": 1000000000'), ('"first person"', '"second person"'),
    ):  # fmt: skip
        (tmp_path / "gate.json").write_text(described.replace(old, new))
        with pytest.raises(ModelError):
            load_gate(tmp_path)
    save_gate(tmp_path, {**_arrays(0), "gate.bias": np.full(4, np.nan, np.float32)}, "toy", {})
    with pytest.raises(ModelError, match="damaged"):
        load_gate(tmp_path)
