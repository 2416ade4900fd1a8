"""The controller that needs no training: a weighted sum of the three ways of addressing."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from memnet.config import HopConfig
from memnet.controllers.state import Candidates, Lead, Parts, QueryState


class UntrainedController:
    """Scores slots by named weights, and follows the names that attended slots mention.

    Its query vector never changes: adding what was read to it lowered recall on training questions.
    What a hop learns, it learns as symbols.

    Source: the hop is that of Miller et al. 2016, section 3.1, with key hashing by symbol repeated
    after each read.
    """

    name = "untrained"

    def __init__(self, config: HopConfig) -> None:
        """Take the weights from the configuration."""
        self._config = config

    def start(self, vector: Tensor, names: Sequence[str]) -> QueryState:
        """The state before the first hop.

        Args:
            vector: [D] float32, the encoded question.
            names: symbols that the question names.
        """
        return QueryState(vector, frozenset(names), {})

    def score(self, candidates: Candidates) -> Parts:
        """Score candidates; each part is [K] float32."""
        config = self._config
        facts = candidates.is_fact
        passage_symbolic = (
            config.question_symbol_weight * candidates.named
            + config.read_symbol_weight * candidates.led
        )
        fact_symbolic = torch.maximum(
            config.question_fact_weight * candidates.named, config.read_fact_weight * candidates.led
        )
        return Parts(
            candidates.dense * torch.where(facts, config.relation_weight, config.dense_weight),
            config.lexical_weight * candidates.lexical.masked_fill(facts, 0.0),
            torch.where(facts, fact_symbolic, passage_symbolic),
        )

    def logits(self, parts: Parts) -> Tensor:
        """[K] float32: scores as logits of the attention."""
        return parts.total() / self._config.temperature

    def update(
        self,
        state: QueryState,
        weights: Mapping[int, float],
        mentioned: Mapping[int, Sequence[str]],
    ) -> QueryState:
        """The state after a read.

        Args:
            state: the state that was read with.
            weights: attention weight of each attended slot.
            mentioned: symbols that each of those slots mentions.
        """
        leads = dict(state.leads)
        strongest = max(weights.values(), default=0.0)
        for slot, weight in weights.items():
            strength = weight / strongest
            for name in mentioned.get(slot, ()):
                if name not in leads or leads[name].strength < strength:
                    leads[name] = Lead(strength, slot)
        return QueryState(state.vector, state.named, leads)
