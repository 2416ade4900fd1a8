"""The gate of a sparse mixture of experts, for training; ``arrays.top_k_softmax`` is its choice."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.attention.functional import masked_softmax


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
