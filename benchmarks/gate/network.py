"""Training of the gate: from questions with the expert that is right for each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from memnet.attention import masked_softmax
from memnet.checkpoints import save_checkpoint
from memnet.experts.gate import EXPERTS, FEATURES, GATE, HIDDEN, KEPT, ExpertName
from memnet.learning.loop import arrays_of, using_threads

_STEPS = 1500
_BATCH = 512
_LEARNING_RATE = 3e-3
_WEIGHT_DECAY = 0.02
_SMOOTHING = 0.02
"""Share of the target that goes to all experts: a gate that is never quite sure runs two."""
_NO_VECTOR = 0.5
"""Share of questions that are learned from without their vector, so that the gate needs none."""
_NO_FEATURE = 0.1
"""Share of the features of a question that are replaced by their mean: none decides alone."""
_FEATURE_NOISE = 0.05
"""Deviation added to features of deviation one: other memories give other cosines."""


class Gated(NamedTuple):
    """How a gate weighs experts. B = questions, E = experts."""

    weights: Tensor
    """[B, E] float: zero but for the experts kept, which sum to one; all zero without any."""
    logits: Tensor
    """[B, E] float: with noise in training, masked ones included."""


class NoisyTopKGate(nn.Module):
    """Weighs E experts by an input of width D, and keeps the k best.

    In training, noise whose size is learned too is added to each logit, so that experts near the
    border are tried.

    Source: Shazeer et al. 2017, section 2.1, equations 3 to 5.

    Args:
        width: D.
        experts: E.
        kept: k.
    """

    def __init__(self, width: int, experts: int, kept: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.noise = nn.Linear(width, experts, bias=False)
        nn.init.zeros_(self.noise.weight)
        self.kept = kept

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Gated:
        """Weigh the experts.

        Args:
            inputs: [B, D] float.
            mask: [B, E] bool; True for experts that may be chosen, None for all.
        """
        logits = self.gate(inputs)
        if self.training:
            logits = logits + torch.randn_like(logits) * nn.functional.softplus(self.noise(inputs))
        allowed = torch.ones_like(logits, dtype=torch.bool) if mask is None else mask
        ranked = logits.masked_fill(~allowed, -torch.inf)
        best = ranked.topk(min(self.kept, logits.shape[-1]), dim=-1).indices
        chosen = torch.zeros_like(allowed).scatter(-1, best, True) & allowed
        return Gated(masked_softmax(logits, chosen), logits)


class GateExample(NamedTuple):
    """A question whose expert is known. F features, D width of a vector."""

    features: NDArray[np.float32]
    """[F] float32."""
    vector: NDArray[np.float32]
    """[D] float32: the encoded question."""
    held: tuple[ExpertName, ...]
    """What the memory has something for."""
    expert: ExpertName
    """One of them."""


class GateNetwork(nn.Module):
    """The network that ``Gate`` calculates, with noise in training."""

    def __init__(self, shift: Tensor, scale: Tensor, dimension: int) -> None:
        """Take the mean and the deviation of the features [F] float32, and D."""
        super().__init__()
        self.shift: Tensor
        self.scale: Tensor
        self.register_buffer("shift", shift)
        self.register_buffer("scale", scale)
        self.hidden = nn.Linear(len(FEATURES), HIDDEN)
        self.vector = nn.Linear(dimension, HIDDEN, bias=False)
        self.choice = NoisyTopKGate(HIDDEN, len(EXPERTS), KEPT)

    def forward(self, features: Tensor, vectors: Tensor, mask: Tensor) -> Gated:
        """Weigh the experts for [B, F] and [B, D] float32; mask [B, E] bool as for the gate."""
        scaled = (features - self.shift) / self.scale
        if self.training:
            scaled = scaled + _FEATURE_NOISE * torch.randn_like(scaled)
            scaled = scaled * (torch.rand_like(scaled) >= _NO_FEATURE)
            vectors = vectors * (torch.rand(len(vectors), 1) >= _NO_VECTOR)
        hidden = torch.tanh(self.hidden(scaled) + self.vector(vectors))
        gated: Gated = self.choice(hidden, mask)
        return gated


def fit_gate(examples: Sequence[GateExample], seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Train a gate; returns its weights by name, as ``Gate`` takes them.

    The right expert is known, so that the loss is the cross-entropy of the noisy logits; there is
    no loss that balances the experts' load.

    Source: Shazeer et al. 2017, section 2.1 (noisy top-k gating).

    Args:
        examples: at least one.
        seed: of the weights, the batches and the noise.
    """
    features = torch.from_numpy(np.stack([one.features for one in examples]))
    vectors = torch.from_numpy(np.stack([one.vector for one in examples]))
    mask = torch.tensor([[name in one.held for name in EXPERTS] for one in examples])
    target = torch.tensor([EXPERTS.index(one.expert) for one in examples])
    with using_threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        scale = features.std(dim=0).clamp(min=0.05)
        network = GateNetwork(features.mean(dim=0), scale, vectors.shape[1]).train()
        optimizer = torch.optim.AdamW(
            network.parameters(), lr=_LEARNING_RATE, weight_decay=_WEIGHT_DECAY
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, _STEPS)
        for _ in range(_STEPS):
            chosen = torch.randint(len(examples), (min(_BATCH, len(examples)),))
            gated = network(features[chosen], vectors[chosen], mask[chosen])
            logits = gated.logits.masked_fill(~mask[chosen], -1e4)
            shares = logits.log_softmax(dim=-1)
            right = shares.gather(-1, target[chosen, None]).squeeze(-1)
            held = mask[chosen].float()
            even = (shares * held).sum(dim=-1) / held.sum(dim=-1)
            loss = -((1 - _SMOOTHING) * right + _SMOOTHING * even).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return {
        name.removeprefix("choice."): array
        for name, array in arrays_of(network.state_dict()).items()
        if name != "choice.noise.weight"
    }


def save_gate(
    folder: Path, arrays: Mapping[str, NDArray[np.float32]], encoder: str, notes: Mapping[str, Any]
) -> None:
    """Save a gate.

    Args:
        folder: made if it is not there.
        arrays: as ``gate_shapes`` says.
        encoder: fingerprint of the one that made its vectors.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    description = {
        "kind": GATE, "encoder": encoder, "experts": EXPERTS, "features": FEATURES,
        "dimension": arrays["vector.weight"].shape[1], "trained": dict(notes),
    }  # fmt: skip
    save_checkpoint(folder, GATE, arrays, description)
