"""The span reader's network: where in some passages the answer starts and ends, if it does."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from memnet.encoders.bert import BertNetwork
from memnet.reader.span_scores import HEADS, NEVER, ReadArrays, SpanScores

_WIDTH = 384


class SpanTensors(NamedTuple):
    """``SpanScores`` as tensors of the network's device, with gradients in training."""

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
        self.encoder = BertNetwork(dropout)
        self.pointers = nn.Linear(_WIDTH, HEADS["pointers"])
        self.kinds = nn.Linear(_WIDTH, HEADS["kinds"])

    def forward(
        self, token_ids: Tensor, segments: Tensor, allowed: Tensor, mask: Tensor | None = None
    ) -> SpanTensors:
        """Read.

        Args:
            token_ids: [B, T] int64: a mark, the question, a mark, passages each with a mark.
            segments: [B, T] int64: 0 up to the second mark, 1 after it.
            allowed: [B, T] bool: tokens that an answer may hold.
            mask: [B, T] bool, False for padding; None where there is none.
        """
        tokens = self.encoder.tokens(token_ids, segments, mask)
        pointed = self.pointers(tokens).float().masked_fill(~allowed.unsqueeze(2), NEVER)
        start, end = torch.log_softmax(pointed, dim=1).unbind(2)
        kind = torch.log_softmax(self.kinds(tokens[:, 0]).float(), dim=-1)
        return SpanTensors(start, end, kind)


def on_arrays(network: SpanNetwork) -> ReadArrays:
    """A network for reading only, from and to NumPy, without gradients.

    Args:
        network: in evaluation mode, on any device.
    """

    def read(
        token_ids: NDArray[np.int64], segments: NDArray[np.int64], allowed: NDArray[np.bool_]
    ) -> SpanScores:
        device = network.encoder.words.weight.device
        inputs = (torch.from_numpy(part).to(device) for part in (token_ids, segments, allowed))
        with torch.inference_mode():
            return SpanScores(*(part.cpu().numpy() for part in network(*inputs)))

    return read


def span_loss(scores: SpanTensors, spans: list[list[tuple[int, int]]], kinds: Tensor) -> Tensor:
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
