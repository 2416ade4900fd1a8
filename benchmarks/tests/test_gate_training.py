"""Training of the gate."""

from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.gate.network import GateExample, GateNetwork, NoisyTopKGate, fit_gate
from memnet.experts.gate import EXPERTS, FEATURES, ExpertName, Gate, gate_shapes
from tests import oracle

ALL = np.ones(len(EXPERTS), np.bool_)


def _arrays(seed: int, dimension: int = 5) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    shapes = gate_shapes(dimension)
    arrays = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return {**arrays, "scale": np.abs(arrays["scale"]) + np.float32(0.5)}


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
