"""The controller for documents while it learns: its weights, with gradients."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.config import HopConfig
from memnet.documents.controller import HIDDEN, KINDS, LEAST, TextController
from memnet.documents.state import LINK_FEATURES, SLOT_FEATURES


class LinkTensors(NamedTuple):
    """Links of some questions' candidates. E = links."""

    candidate: Tensor
    """[E] int64: place among the candidates."""
    kind: Tensor
    """[E] int64: KEY, SHARED or BACK."""
    features: Tensor
    """[E, G] float32: see ``LINK_FEATURES``."""


class TextLearner(nn.Module):
    """What a ``TextController`` calculates, for gradients to be taken of it.

    It starts as the untrained one scores.
    """

    def __init__(self, config: HopConfig) -> None:
        """Take the starting weights from the configuration."""
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
        """Make it from named numbers.

        Args:
            config: gives the starting weights.
            linked: whether links count.
        """
        super().__init__()
        known = {
            "dense": config.dense_weight,
            "lexical": config.lexical_weight,
            "named": config.question_symbol_weight,
        }
        self.weights = nn.Parameter(torch.tensor([known.get(name, 0.0) for name in SLOT_FEATURES]))
        self.correction = Corrector(len(SLOT_FEATURES), also=KINDS + 1 if linked else 0)
        self.links = LinkScorer(config) if linked else None

    def forward(self, features: Tensor, links: LinkTensors) -> Tensor:
        """Score candidates.

        Args:
            features: [K, F] float32.
            links: to them.

        Returns:
            [K] float32, in the unit of a cosine.
        """
        scores = (features * self.weights).sum(dim=1)
        led = features[:, :0]
        if self.links is not None:
            worth, led = self.links(links, len(features))
            scores = scores + worth
        total: Tensor = scores + self.correction(features, led)
        return total


class LinkScorer(nn.Module):
    """How far each link is to be followed, and what that is worth."""

    def __init__(self, config: HopConfig) -> None:
        """Follow all names of what slots are about, and nothing else."""
        super().__init__()
        self.weights = nn.Parameter(torch.tensor([config.read_symbol_weight, 0.0, 0.0]))
        self.sharpness = nn.Parameter(torch.ones(()))
        """Of the attention to senders: 1 leaves it as it is, at 0 all senders count alike."""
        self.gate = Corrector(len(LINK_FEATURES))

    def forward(self, links: LinkTensors, slots: int) -> tuple[Tensor, Tensor]:
        """Follow links.

        Args:
            links: of one hop.
            slots: K, how many candidates there are.

        Returns:
            What the links to each candidate are worth [K]; the strongest of each kind and, as a
            logarithm, the sum of all [K, 4].
        """
        attended = links.features[:, LINK_FEATURES.index("strength")].clamp(min=LEAST)
        attention = attended ** self.sharpness.clamp(min=0.0)
        strength = 2 * torch.sigmoid(self.gate(links.features)) * attention
        kinds = [
            _strongest(strength, links.candidate, links.kind == kind, slots)
            for kind in range(KINDS)
        ]
        led = torch.stack(kinds, dim=1)
        number = torch.zeros(slots).index_add(0, links.candidate, strength).log1p()
        return (led * self.weights).sum(dim=1), torch.cat((led, number[:, None]), dim=1)


class Corrector(nn.Module):
    """Features [N, F] float32, brought to one scale, to a number [N] that starts at zero."""

    shift: Tensor
    scale: Tensor

    def __init__(self, features: int, also: int = 0) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.hidden = nn.Linear(features + also, HIDDEN)
        self.output = nn.Linear(HIDDEN, 1)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, features: Tensor, *also: Tensor) -> Tensor:
        """The number [N] of features [N, F] and of further columns [N, ...], taken as they are."""
        inputs = torch.cat(((features - self.shift) / self.scale, *also), dim=1)
        numbers: Tensor = self.output(nn.functional.gelu(self.hidden(inputs)))
        return numbers[:, 0]

    def fit_scale(self, features: Tensor) -> None:
        """Bring features [N, F] like these to mean 0 and deviation 1.

        Fewer than two have no deviation: they stay as they are.
        """
        if len(features) < 2:
            return
        self.shift = features.mean(dim=0)
        self.scale = features.std(dim=0) + 1e-3


def _strongest(strength: Tensor, candidate: Tensor, chosen: Tensor, slots: int) -> Tensor:
    """For each slot the largest strength [K] of the chosen links to it; 0 without one."""
    led = torch.zeros(slots)
    return led.scatter_reduce(0, candidate[chosen], strength[chosen], "amax")
