"""The span reader's network: where in some passages the answer starts and ends, if it does."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.encoders.network import SentenceNetwork

NO_ANSWER, SPAN, YES, NO = range(4)
"""Kinds of answers."""
_KINDS = 4
_WIDTH = 384
_NEVER = -1e4
"""Score of a token that no answer may hold: finite, so that a text without any is no error."""


class SpanScores(NamedTuple):
    """What the network makes of questions, each with its passages. T = tokens of both."""

    start: Tensor
    """[B, T] float32: log-probability that the answer starts at a token, if it is a span."""
    end: Tensor
    """[B, T] float32: the same for its last token."""
    kind: Tensor
    """[B, 4] float32: log-probability of no answer, a span, yes and no."""


class SpanNetwork(nn.Module):
    """Question and passages attend to each other in a Transformer; pointers say start and end.

    Source: Devlin et al. 2019, section 4.2 (pointers over token states); Alberti et al. 2019 (the
    kind of the answer from the first token).
    """

    def __init__(self, dropout: float = 0.0) -> None:
        """Make the network with untrained weights.

        Args:
            dropout: share of the hidden values left out in training (Srivastava et al. 2014).
        """
        super().__init__()
        self.encoder = SentenceNetwork(dropout)
        self.pointers = nn.Linear(_WIDTH, 2)
        self.kinds = nn.Linear(_WIDTH, _KINDS)

    def forward(
        self, token_ids: Tensor, segments: Tensor, allowed: Tensor, mask: Tensor | None = None
    ) -> SpanScores:
        """Read.

        Args:
            token_ids: [B, T] int64: a mark, the question, a mark, passages each with a mark.
            segments: [B, T] int64: 0 up to the second mark, 1 after it.
            allowed: [B, T] bool: tokens that an answer may hold.
            mask: [B, T] bool, False for padding; None where there is none.
        """
        tokens = self.encoder.tokens(token_ids, segments, mask)
        return span_scores(self.pointers(tokens), self.kinds(tokens[:, 0]), allowed)


def span_scores(pointers: Tensor, kinds: Tensor, allowed: Tensor) -> SpanScores:
    """Log-probabilities from what a network makes of tokens.

    Args:
        pointers: [B, T, 2] float, logits of the first and of the last token.
        kinds: [B, 4] float, logits of the kinds of answers.
        allowed: [B, T] bool: tokens that an answer may hold.
    """
    pointed = pointers.float().masked_fill(~allowed.unsqueeze(2), _NEVER)
    start, end = torch.log_softmax(pointed, dim=1).unbind(2)
    return SpanScores(start, end, torch.log_softmax(kinds.float(), dim=-1))


def span_loss(scores: SpanScores, spans: list[list[tuple[int, int]]], kinds: Tensor) -> Tensor:
    """Mean negative log-likelihood: of the kind and, where it is a span, of any of the right ones.

    Source: Clark and Gardner 2018 (several right spans, summed).

    Args:
        scores: of B questions.
        spans: B lists of right first and last tokens; empty where the answer is no span.
        kinds: [B] int64, the right kinds.

    Returns:
        [] float32.
    """
    loss = -scores.kind.gather(1, kinds[:, None]).sum()
    for row, right in enumerate(spans):
        if right:
            first, last = torch.tensor(right).unbind(1)
            both = scores.start[row, first] + scores.end[row, last]
            loss = loss - torch.logsumexp(both, 0)
    return loss / len(spans)
