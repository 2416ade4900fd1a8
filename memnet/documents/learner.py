"""The controller for documents while it learns: its weights, with gradients."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.config import HopConfig
from memnet.documents.candidates import LinkFeature, LinkKind, SlotFeature
from memnet.documents.controller import (
    HIDDEN,
    MIN_ATTENTION,
    TextController,
    link_weights,
    slot_weights,
)


class LinkTensors(NamedTuple):
    """Links of some questions' candidates. E = links."""

    candidate: Tensor  # [E] int64: index among the candidates
    kind: Tensor  # [E] int64: a ``LinkKind``
    features: Tensor  # [E, G] float32: see ``LinkFeature``


class TextLearner(nn.Module):
    """The arithmetic of a ``TextController`` in torch; it starts as the untrained one."""

    def __init__(self, config: HopConfig) -> None:
        super().__init__()
        self.config = config
        self.first = HopScorer(config, linked=False)
        self.later = HopScorer(config, linked=True)

    def controller(self) -> TextController:
        """The controller of the present weights."""
        weights = {name: tensor.numpy().copy() for name, tensor in self.state_dict().items()}
        return TextController(self.config, weights)


class HopScorer(nn.Module):
    """The weights of one hop. K = candidates, E = links, F and G = features of each."""

    def __init__(self, config: HopConfig, linked: bool) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor(slot_weights(config)))
        self.correction = Corrector(len(SlotFeature), unscaled=len(LinkKind) + 1 if linked else 0)
        self.links = LinkScorer(config) if linked else None

    def forward(self, features: Tensor, links: LinkTensors) -> Tensor:
        """Scores [K] float32, in the unit of a cosine, of candidates [K, F] with links to them."""
        scores = (features * self.weights).sum(dim=1)
        linked = features[:, :0]
        if self.links is not None:
            worth, linked = self.links(links, len(features))
            scores = scores + worth
        total: Tensor = scores + self.correction(features, linked)
        return total


class LinkScorer(nn.Module):
    """How far each link is to be followed, and what that is worth."""

    def __init__(self, config: HopConfig) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor(link_weights(config)))
        # Of the attention to senders: 1 leaves it as it is, at 0 all senders count equally
        self.sharpness = nn.Parameter(torch.ones(()))
        self.gate = Corrector(len(LinkFeature))

    def forward(self, links: LinkTensors, candidates: int) -> tuple[Tensor, Tensor]:
        """Follow the links of a hop to K candidates.

        Returns what the links to each are worth [K]; the strength of the strongest of each kind
        and, as a logarithm, the sum of all [K, 4].
        """
        attended = links.features[:, LinkFeature.STRENGTH].clamp(min=MIN_ATTENTION)
        attention = attended ** self.sharpness.clamp(min=0.0)
        strength = 2 * torch.sigmoid(self.gate(links.features)) * attention
        kinds = [
            _strongest(strength, links.candidate, links.kind == kind, candidates)
            for kind in LinkKind
        ]
        strongest = torch.stack(kinds, dim=1)
        total = torch.zeros(candidates).index_add(0, links.candidate, strength).log1p()
        linked = torch.cat((strongest, total[:, None]), dim=1)
        return (strongest * self.weights).sum(dim=1), linked


class Corrector(nn.Module):
    """Features [N, F] float32, brought to one scale, to a number [N] that starts at zero."""

    shift: Tensor
    scale: Tensor

    def __init__(self, features: int, unscaled: int = 0) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.hidden = nn.Linear(features + unscaled, HIDDEN)
        self.output = nn.Linear(HIDDEN, 1)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, features: Tensor, *unscaled: Tensor) -> Tensor:
        """The number [N] of features [N, F] and of further columns [N, ...], taken as they are."""
        inputs = torch.cat(((features - self.shift) / self.scale, *unscaled), dim=1)
        output: Tensor = self.output(nn.functional.gelu(self.hidden(inputs)))
        return output[:, 0]

    def fit_scale(self, features: Tensor) -> None:
        """Bring features [N, F] like these to mean 0 and deviation 1; fewer than two stay as is."""
        if len(features) < 2:
            return
        self.shift = features.mean(dim=0)
        self.scale = features.std(dim=0) + 1e-3


def _strongest(strength: Tensor, candidate: Tensor, chosen: Tensor, candidates: int) -> Tensor:
    values = torch.zeros(candidates)
    return values.scatter_reduce(0, candidate[chosen], strength[chosen], "amax")
