"""Models of facts that learn, in torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from memnet.attention import TransformerEncoder
from memnet.attention.layers import HopLayer
from memnet.checkpoints import MODEL, save_checkpoint
from memnet.checkpoints.torch_modules import arrays_of
from memnet.facts.hops import (
    MAX_DISTANCE,
    Entities,
    FactController,
    FactModelConfig,
    MentionBatch,
)
from memnet.facts.model import KIND, PREFIX, AnswerRule, FactBatch, FactModel


class FactLearner(nn.Module):
    """The weights of a ``FactController`` as a module of torch."""

    def __init__(self, config: FactModelConfig, encoded: int, relations: int) -> None:
        width = config.width
        super().__init__()
        # Checkpoints name tensors by these attributes; ``places`` are position embeddings.
        self.input = nn.Linear(encoded, width)
        self.roles = nn.Embedding(3, width)
        self.places = nn.Embedding(2 * MAX_DISTANCE + 1, width)
        self.encoder = TransformerEncoder(1, width, config.heads, config.inner)
        self.hop = HopLayer(width, config.heads, config.inner)
        self.steps = nn.Parameter(torch.randn(config.hops, width) * 0.1)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(encoded, width)
        self.learned = nn.Embedding(relations + 1, width, padding_idx=0)
        self.likeness = nn.Parameter(torch.tensor(10.0))
        self.read = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.halt, self.back, self.weigh = (nn.Linear(width, 1) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.roles, self.places):
            nn.init.normal_(table.weight, std=0.1)
        nn.init.zeros_(self.learned.weight)

    def without_some(self, learned: Tensor) -> Tensor:
        """Embeddings [R, D] without those of relations that are drawn at random."""
        return learned * (torch.rand(len(learned), 1) >= self.dropout.p)


def new_fact_model(
    config: FactModelConfig, encoded: int, relations: Sequence[str],
    common_names: frozenset[str] = frozenset(), unused_names: frozenset[str] = frozenset(),
) -> FactModel:  # fmt: skip
    """A model with untrained weights; ``encoded`` is the width of an encoded token."""
    learner = FactLearner(config, encoded, len(relations))
    controller = FactController(dict(learner.named_parameters()), config, learner)
    return FactModel(config, controller, tuple(relations), common_names, unused_names)


def as_tensors(batch: FactBatch) -> FactBatch:
    """A batch of arrays as tensors."""
    mentions, start = (map(torch.from_numpy, part) for part in batch[:2])
    question = torch.from_numpy(batch.question)
    return FactBatch(MentionBatch(*mentions), Entities(*start), question)


def save_fact_model(
    folder: Path, model: FactModel, rule: AnswerRule, notes: Mapping[str, Any]
) -> None:
    """Save a fact model with JSON values about its training; ModelError if that can't be."""
    learner: FactLearner = model.controller.learner
    description = {
        "kind": KIND,
        "config": model.config.model_dump(),
        "encoded": learner.input.in_features,
        "relations": model.relations,
        "common_names": sorted(model.common_names),
        "unused_names": sorted(model.unused_names),
        "rule": {**rule._asdict(), "words": sorted(rule.words)},
        "trained": dict(notes),
    }
    arrays = arrays_of(learner.state_dict())
    save_checkpoint(
        folder, MODEL, {f"{PREFIX}{name}": one for name, one in arrays.items()}, description
    )
