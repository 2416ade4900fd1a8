"""The controller for facts: which relations to follow from a name that a question mentions."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.attention import TransformerEncoder
from memnet.attention.layers import HopLayer

_FARTHEST = 16
"""Tokens from the mention that are told apart."""
_UNSEEN = 0
"""Number of a relation that training never saw."""


class MentionBatch(NamedTuple):
    """Questions as seen from a name that each mentions: C chains, T tokens, E wide."""

    tokens: Tensor
    """[C, T, E] float32: encoded tokens, rows of length one; a name is one token of no meaning."""
    mask: Tensor
    """[C, T] bool: where there is a token."""
    role: Tensor
    """[C, T] int64: 1 for the name that the chain starts from, 2 for another name, else 0."""
    distance: Tensor
    """[C, T] int64: tokens after that name, negative before it."""


class RelationKeys(NamedTuple):
    """Relations to choose from. R relations."""

    vectors: Tensor
    """[R, E] float32: their encoded words, of length one."""
    known: Tensor
    """[R] int64: the number that training gave each, 0 for those it never saw."""


class ChainState(NamedTuple):
    """What a chain of hops starts from and ends with."""

    tokens: Tensor
    """[C, T, D] float32."""
    query: Tensor
    """[C, D] float32."""


class FactController(nn.Module):
    """Reads a question token by token and says at each hop which relations it asks for.

    A relation is scored by its words and by what was learned about it; the first part serves
    relations that training never saw as well. Attention over the question's tokens, with a query
    that each hop updates, decides what the hop is about.

    Source: Miller et al. 2016, section 3.2 (key addressing and the query's update); Shi et al.
    2021 (TransferNet), section 3.2 (a hop attends to the question, then scores relations).
    """

    def __init__(
        self, encoded: int, width: int, heads: int, inner: int, hops: int, relations: int,
        dropout: float,
    ) -> None:  # fmt: skip
        """Make a controller with untrained weights.

        Args:
            encoded: E, width of an encoded token and of a relation's words.
            width: D, width of a query.
            heads: attention heads.
            inner: width of the hidden layers.
            hops: most hops.
            relations: how many relations training sees.
            dropout: of tokens and of what is learned about relations, while training.
        """
        super().__init__()
        self.input = nn.Linear(encoded, width)
        self.roles = nn.Embedding(3, width)
        self.places = nn.Embedding(2 * _FARTHEST + 1, width)
        self.encoder = TransformerEncoder(1, width, heads, inner)
        self.hop = HopLayer(width, heads, inner)
        self.steps = nn.Parameter(torch.randn(hops, width) * 0.1)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(encoded, width)
        self.learned = nn.Embedding(relations + 1, width, padding_idx=_UNSEEN)
        self.likeness = nn.Parameter(torch.tensor(10.0))
        self.read = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.halt = nn.Linear(width, 1)
        self.back = nn.Linear(width, 1)
        self.weigh = nn.Linear(width, 1)
        self.dropout = nn.Dropout(dropout)
        for table in (self.roles, self.places):
            nn.init.normal_(table.weight, std=0.1)
        nn.init.zeros_(self.learned.weight)

    def start(self, mentions: MentionBatch) -> ChainState:
        """The state before the first hop: the token of the name that the chain starts from."""
        places = mentions.distance.clamp(-_FARTHEST, _FARTHEST) + _FARTHEST
        tokens = self.input(mentions.tokens) + self.roles(mentions.role) + self.places(places)
        tokens = self.encoder(self.dropout(tokens), mentions.mask.unsqueeze(1))
        own = (mentions.role == 1).unsqueeze(-1)
        return ChainState(tokens, (tokens * own).sum(dim=1) / own.sum(dim=1).clamp(min=1))

    def keys(self, relations: RelationKeys) -> Tensor:
        """Keys [R, D] float32 of relations."""
        learned = self.learned(relations.known)
        if self.training:
            kept = torch.rand(len(learned), 1, device=learned.device) >= self.dropout.p
            learned = learned * kept
        keys: Tensor = self.key(relations.vectors) + learned
        return keys

    def score(
        self, state: ChainState, mentions: MentionBatch, relations: RelationKeys, keys: Tensor,
        hop: int,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """What a hop looks for.

        Args:
            state: before the hop.
            mentions: the questions.
            relations: to choose from.
            keys: [R, D] float32, their keys.
            hop: counted from 0.

        Returns:
            The query [C, D] after reading the question, and the score of each relation [C, R].
        """
        asked = (state.query + self.steps[hop]).unsqueeze(1)
        attended = self.hop(asked, state.tokens, state.tokens, mentions.mask.unsqueeze(1))
        query = attended.read.squeeze(1)
        weights = attended.weights.mean(dim=1)
        words = nn.functional.normalize((weights @ mentions.tokens).squeeze(1), dim=-1)
        learned = self.query(query) @ keys.T / math.sqrt(keys.shape[1])
        return query, learned + self.likeness * (words @ relations.vectors.T)

    def update(self, query: Tensor, weights: Tensor, keys: Tensor) -> Tensor:
        """The query [C, D] of the next hop, after reading relations with weights [C, R]."""
        updated: Tensor = self.norm(query + self.read(weights @ keys))
        return updated

    def halting(self, query: Tensor) -> Tensor:
        """Probability [C] of halting now, where a chain has not halted before."""
        probability: Tensor = torch.sigmoid(self.halt(query)).squeeze(-1)
        return probability

    def returning(self, query: Tensor) -> Tensor:
        """Share [C], 0..1, that the entity a chain started from keeps when a hop leads back."""
        share: Tensor = torch.sigmoid(self.back(query)).squeeze(-1)
        return share

    def importance(self, query: Tensor) -> Tensor:
        """Score [C] of a mention among those of its question."""
        score: Tensor = self.weigh(query).squeeze(-1)
        return score
