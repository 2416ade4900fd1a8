"""The controller for documents: what each way of addressing is worth, and which links to follow."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from memnet.config import HopConfig
from memnet.controllers.state import (
    KEY,
    LINK_FEATURES,
    SLOT_FEATURES,
    Candidates,
    Links,
    Parts,
    QueryState,
    Scores,
)

_KINDS = 3
_HIDDEN = 16
_LEAST = 1e-6
"""Attention below which a gradient would be lost in rounding."""


class TextController(nn.Module):
    """Scores slots by the ways of addressing them and by links from what was attended to.

    As it is made it knows nothing but the named numbers of ``HopConfig``: a slot's score is a
    weighted sum of cosine, BM25, whether the question names it, and the strongest attended slot
    that mentions it. Training learns other weights for the first hop and for later ones, a gate for
    links, and a small correction that starts at zero.

    The query vector never changes: adding what was read to it lowered recall on training questions,
    and so did asking with the names that were read. What a hop learns, it learns as links.

    Source: the hop is that of Miller et al. 2016, section 3.1, with key hashing by symbol repeated
    after each read.
    """

    def __init__(self, config: HopConfig) -> None:
        """Take the starting weights from the configuration."""
        super().__init__()
        self.config = config
        self.first = HopScorer(config, linked=False)
        self.later = HopScorer(config, linked=True)

    def start(self, vector: Tensor, names: Sequence[str]) -> QueryState:
        """The state before the first hop.

        Args:
            vector: [D] float32, the encoded question.
            names: symbols that the question names.
        """
        return QueryState(vector, frozenset(names), (), {})

    def forward(self, candidates: Candidates, hop: int) -> Scores:
        """Score candidates.

        Args:
            candidates: of one hop.
            hop: its number, counted from 0.
        """
        scorer = self.later if hop else self.first
        scores: Scores = scorer(candidates.features, candidates.links)
        if not bool(candidates.is_fact.any()):
            return scores
        return Scores(self._beside_facts(scores.parts, candidates), scores.link)

    def logits(self, parts: Parts) -> Tensor:
        """[K] float32: scores as logits of the attention."""
        return parts.total() / self.config.temperature

    def update(self, state: QueryState, ids: Sequence[int], logits: Tensor) -> QueryState:
        """The state after a read.

        Args:
            state: the state that was read with.
            ids: [K] the slots that were scored, best first.
            logits: [K] float32, in that order.
        """
        relative = (logits - logits[:1]).tolist()
        before = dict(zip(ids, relative, strict=True))
        return QueryState(state.vector, state.named, tuple(ids[: self.config.attended]), before)

    def _beside_facts(self, passages: Parts, candidates: Candidates) -> Parts:
        """Parts [K] where facts are among the candidates.

        Facts are scored by named numbers alone. So that passages compare with them, all passages
        are moved alike, the best one to where named numbers see the best one.
        """
        config = self.config
        facts = candidates.is_fact
        dense, lexical, named = (candidates.feature(name) for name in ("dense", "lexical", "named"))
        links = candidates.links
        led = _strongest(links.strength, links.candidate, links.kind == KEY, len(dense))[0]
        known = (
            config.dense_weight * dense
            + config.lexical_weight * lexical
            + config.question_symbol_weight * named
            + config.read_symbol_weight * led
        )
        moved = _highest(known, ~facts) - _highest(passages.total(), ~facts)
        fact = torch.maximum(config.question_fact_weight * named, config.read_fact_weight * led)
        return Parts(
            torch.where(facts, config.relation_weight * dense, passages.dense),
            passages.lexical.masked_fill(facts, 0.0),
            torch.where(facts, fact, passages.symbolic),
            (passages.learned + moved).masked_fill(facts, 0.0),
        )


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
        self.correction = Corrector(len(SLOT_FEATURES), also=_KINDS + 1 if linked else 0)
        self.links = LinkScorer(config) if linked else None

    def forward(self, features: Tensor, links: Links) -> Scores:
        """Score candidates.

        Args:
            features: [K, F] float32.
            links: to them.

        Returns:
            Parts in the unit of a cosine, and the strongest link to each.
        """
        dense, lexical, named, *others = (features * self.weights).unbind(dim=1)
        if self.links is None:
            led, best = features[:, :0], torch.full((len(features),), -1)
        else:
            worth, led, best = self.links(links, len(features))
            named = named + worth
        learned = self.correction(features, led) + torch.stack(others).sum(dim=0)
        return Scores(Parts(dense, lexical, named, learned), best)


class LinkScorer(nn.Module):
    """How far each link is to be followed, and what that is worth."""

    def __init__(self, config: HopConfig) -> None:
        """Follow all names of what slots are about, and nothing else."""
        super().__init__()
        self.weights = nn.Parameter(torch.tensor([config.read_symbol_weight, 0.0, 0.0]))
        self.sharpness = nn.Parameter(torch.ones(()))
        """Of the attention to senders: 1 leaves it as it is, at 0 all senders count alike."""
        self.gate = Corrector(len(LINK_FEATURES))

    def forward(self, links: Links, slots: int) -> tuple[Tensor, Tensor, Tensor]:
        """Follow links.

        Args:
            links: of one hop.
            slots: K, how many candidates there are.

        Returns:
            What the links to each candidate are worth [K]; the strongest of each kind and, as a
            logarithm, the sum of all [K, 4]; and the strongest link to each [K], else -1.
        """
        attention = links.strength.clamp(min=_LEAST) ** self.sharpness.clamp(min=0.0)
        strength = 2 * torch.sigmoid(self.gate(links.features)) * attention
        kinds = [
            _strongest(strength, links.candidate, links.kind == kind, slots)
            for kind in range(_KINDS)
        ]
        led = torch.stack([led for led, _ in kinds], dim=1)
        places = torch.stack([place for _, place in kinds], dim=1)
        best = places.gather(1, led.argmax(dim=1, keepdim=True))[:, 0]
        number = torch.zeros(slots).index_add(0, links.candidate, strength).log1p()
        return (led * self.weights).sum(dim=1), torch.cat((led, number[:, None]), dim=1), best


class Corrector(nn.Module):
    """Features [N, F] float32, brought to one scale, to a number [N] that starts at zero."""

    shift: Tensor
    scale: Tensor

    def __init__(self, features: int, also: int = 0) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        self.hidden = nn.Linear(features + also, _HIDDEN)
        self.output = nn.Linear(_HIDDEN, 1)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, features: Tensor, *also: Tensor) -> Tensor:
        """The number [N] of features [N, F] and of further columns [N, ...], taken as they are."""
        inputs = torch.cat(((features - self.shift) / self.scale, *also), dim=1)
        numbers: Tensor = self.output(nn.functional.gelu(self.hidden(inputs)))
        return numbers[:, 0]

    def fit_scale(self, features: Tensor) -> None:
        """Bring features [N, F] like these to mean 0 and deviation 1."""
        self.shift = features.mean(dim=0)
        self.scale = features.std(dim=0) + 1e-3


def _highest(scores: Tensor, chosen: Tensor) -> Tensor:
    """The highest of the chosen scores [K]; 0 where none is chosen."""
    return scores[chosen].max() if bool(chosen.any()) else scores.new_zeros(())


def _strongest(
    strength: Tensor, candidate: Tensor, chosen: Tensor, slots: int
) -> tuple[Tensor, Tensor]:
    """For each slot the largest strength [K] of the chosen links to it, and that link [K].

    Without one they are 0 and -1.
    """
    led = torch.zeros(slots)
    place = torch.full((slots,), -1)
    (links,) = torch.nonzero(chosen, as_tuple=True)
    led = led.scatter_reduce(0, candidate[links], strength[links], "amax")
    # The best link of a slot is the one that reaches its maximum; of equal ones the last.
    reached = links[strength[links].detach() >= led.detach()[candidate[links]]]
    place[candidate[reached]] = reached
    return led, place
