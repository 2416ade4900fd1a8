"""The gate: its arithmetic, what it sees, and what is masked."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from memnet import Document, Engine, Fact
from memnet.attention.arrays import top_k_softmax
from memnet.attention.experts import NoisyTopKGate
from memnet.checkpoints import SHIPPED
from memnet.documents.question import Question
from memnet.errors import ModelError
from memnet.experts import EXPERTS, ExpertName
from memnet.experts.features import FEATURES, Known, features_of
from memnet.experts.gate import GATE, Gate, gate_shapes, load_gate, save_gate, shipped_gate
from memnet.experts.training import GateExample, GateNetwork, fit_gate
from tests import oracle

ALL = np.ones(len(EXPERTS), np.bool_)
NOTHING = Known(frozenset(), frozenset())


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


def test_the_layer_agrees_with_the_oracle_and_is_differentiable() -> None:
    torch.manual_seed(0)
    gate = NoisyTopKGate(3, 5, 2).double().eval()
    inputs = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(4, 5) < 0.6
    mask[0] = False
    gated = gate(inputs, mask)
    for row in range(4):
        expected = oracle.top_k_gate(gated.logits[row].detach().numpy(), mask[row].numpy(), 2)
        np.testing.assert_allclose(gated.weights[row].detach().numpy(), expected, atol=1e-12)
    assert not gated.weights[0].any()
    assert torch.autograd.gradcheck(lambda given: gate(given, mask).weights, (inputs,))
    assert torch.equal(gate(inputs).logits, gate(inputs).logits)


def test_noise_is_for_training_only_and_its_size_is_learned() -> None:
    torch.manual_seed(0)
    gate = NoisyTopKGate(3, 4, 2).train()
    inputs = torch.randn(6, 3)
    assert not torch.equal(gate(inputs).logits, gate(inputs).logits)
    gate(inputs).logits.square().sum().backward()
    assert gate.noise.weight.grad is not None
    assert bool(gate.noise.weight.grad.any())


@pytest.mark.parametrize("with_vector", [True, False])
def test_the_gate_agrees_with_the_network_that_was_trained(with_vector: bool) -> None:
    arrays = _arrays(1)
    draw = np.random.default_rng(2)
    features = draw.normal(size=len(FEATURES)).astype(np.float32)
    vector = draw.normal(size=5).astype(np.float32) if with_vector else None
    logits = Gate(arrays, "toy").logits(features, vector)
    exact = None if vector is None else vector.astype(np.float64)
    expected = oracle.gate_logits(arrays, features.astype(np.float64), exact)
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)
    network = GateNetwork(torch.tensor(arrays["shift"]), torch.tensor(arrays["scale"]), 5).eval()
    names = {name: name for name in arrays} | {
        f"gate.{part}": f"choice.gate.{part}" for part in ("weight", "bias")
    }
    state = {names[name]: torch.tensor(array) for name, array in arrays.items()}
    network.load_state_dict(
        {**state, "choice.noise.weight": network.state_dict()["choice.noise.weight"]}
    )
    given = torch.zeros(1, 5) if vector is None else torch.tensor(vector)[None]
    gated = network(torch.tensor(features)[None], given, torch.tensor(ALL)[None])
    np.testing.assert_allclose(gated.logits[0].detach(), expected, rtol=1e-4, atol=1e-4)
    weights = Gate(arrays, "toy").weigh(features, vector, EXPERTS)
    np.testing.assert_allclose(gated.weights[0].detach(), weights, atol=1e-5)


def test_what_the_memory_does_not_hold_is_masked() -> None:
    features = np.zeros(len(FEATURES), np.float32)
    only: tuple[ExpertName, ...] = ("statements",)
    for seed in range(10):
        gate = Gate(_arrays(seed), "toy")
        weights = gate.weigh(features, None, ("facts", "stories"))
        assert weights[[0, 2]].tolist() == [0, 0]
        assert weights.sum() == pytest.approx(1)
        assert gate.weigh(features, None, only).tolist() == [0, 0, 1, 0]


def test_features_say_what_the_memory_holds(toy_engine: Engine, tmp_path: Path) -> None:
    toy_engine.ingest(
        Document(id="light", title="Orre Light", text="The Orre Light is a tower of granite."),
        Fact(subject="Grey Heron", relation="built by", object="Ann Orre"),
    )
    toy_engine.tell("Bo likes tea.")
    (tmp_path / "story.txt").write_text("1 Mary went to the garden.\n2 Where is Mary?\tgarden\t1\n")
    toy_engine.ingest(tmp_path / "story.txt")

    def features(text: str, known: Known = NOTHING) -> dict[str, float]:
        question = Question(text, toy_engine.store, toy_engine.encoder.encode)
        with toy_engine.store.reading():
            values = features_of(question, known)
        assert values.shape == (len(FEATURES),)
        assert bool(np.isfinite(values).all())
        return dict(zip(FEATURES, values.tolist(), strict=True))

    tower = features("What is the Orre Light made of?")
    assert [tower[f"{kind}: held"] for kind in ("document", "facts", "statement", "story")] == [
        1
    ] * 4
    assert tower["document: cosine"] > tower["story: cosine"]
    assert tower["document: named"] == pytest.approx(2 / 3)
    assert tower["facts: named"] == tower["statement: named"] == 0
    ship = features("Who built the Grey Heron?")
    assert ship["facts: named"] == pytest.approx(2 / 3)
    assert ship["relation words"] > 0
    assert ship["known relation"] == 0
    relations = frozenset(toy_engine.store.contents.relations())
    assert (
        features("Who built the Grey Heron?", Known(relations, frozenset()))["known relation"] == 1
    )
    mary = features("Where is Mary?", Known(frozenset(), frozenset({"where", "is", "mary"})))
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


def test_a_gate_learns_which_expert_is_right() -> None:
    draw = np.random.default_rng(0)
    examples = []
    for _ in range(400):
        features = draw.normal(size=len(FEATURES)).astype(np.float32)
        right: ExpertName = "documents" if draw.random() < 0.5 else "facts"
        features[1] = features[7] = 1.5 if right == "documents" else -1.5
        vector = draw.normal(size=5).astype(np.float32)
        examples.append(GateExample(features, vector, ("documents", "facts"), right))
    gate = Gate(fit_gate(examples[:300]), "toy")
    found = [gate.weigh(one.features, None, one.held).argmax() for one in examples[300:]]
    hits = [EXPERTS[place] == one.expert for place, one in zip(found, examples[300:], strict=True)]
    assert np.mean(hits) > 0.95
