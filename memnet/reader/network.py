"""The span reader's network in torch: where in some passages the answer starts and ends."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from memnet.encoders.bert import BertNetwork, bert_tensors
from memnet.encoders.onnx_graph import dequantised
from memnet.encoders.weights import internal_name
from memnet.learning.loop import arrays_of, tensors_of
from memnet.reader.checkpoint import EMBEDDINGS, READER, NetworkKind, load_weights, save_weights
from memnet.reader.spans import HEADS, MASKED_LOGIT, ScorePacks, SpanScores

_WIDTH = 384

Network = TypeVar("Network", bound=nn.Module)


class SpanTensors(NamedTuple):
    """``SpanScores`` as tensors of the network's device, with gradients in training."""

    start: Tensor  # [B, T] float32: log-probability that an answer's span starts at a token
    end: Tensor  # [B, T] float32: the same for its last token
    relevance: Tensor  # [B, T] float32: logits of tokens; their mean over a unit is its own
    kind: Tensor  # [B, K] float32: log-probabilities of ``KINDS``


class SpanNetwork(nn.Module):
    """Question and passages attend to each other in a Transformer; pointers say start and end.

    Source: Devlin et al. 2019, section 4.2 (pointers over token states); Alberti et al. 2019 (the
    kind of the answer from the first token).
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder = BertNetwork(dropout)
        self.pointers = nn.Linear(_WIDTH, HEADS["pointers"])
        self.kinds = nn.Linear(_WIDTH, HEADS["kinds"])

    def forward(
        self, token_ids: Tensor, segments: Tensor, answer_mask: Tensor, mask: Tensor | None = None
    ) -> SpanTensors:
        """Score all tokens.

        Args:
            token_ids: [B, T] int64: [CLS], the question, [SEP], passages each with a [SEP].
            segments: [B, T] int64: 0 up to the first [SEP], 1 after it.
            answer_mask: [B, T] bool: tokens that an answer may start or end at.
            mask: [B, T] bool, False for padding; None where there is none.
        """
        tokens = self.encoder.tokens(token_ids, segments, mask)
        pointers, relevance = self.pointers(tokens).float().split([2, 1], dim=2)
        pointers = pointers.masked_fill(~answer_mask.unsqueeze(2), MASKED_LOGIT)
        start, end = torch.log_softmax(pointers, dim=1).unbind(2)
        kind = torch.log_softmax(self.kinds(tokens[:, 0]).float(), dim=-1)
        return SpanTensors(start, end, relevance.squeeze(2), kind)


def score_packs(network: SpanNetwork) -> ScorePacks:
    """A network in evaluation mode, on any device, as a function of NumPy arrays."""

    def score(
        token_ids: NDArray[np.int64], segments: NDArray[np.int64], answer_mask: NDArray[np.bool_]
    ) -> SpanScores:
        device = network.encoder.words.weight.device
        inputs = (torch.from_numpy(one).to(device) for one in (token_ids, segments, answer_mask))
        with torch.inference_mode():
            return SpanScores(*(scores.cpu().numpy() for scores in network(*inputs)))

    return score


class Right(NamedTuple):
    """What is right about a pack."""

    spans: list[tuple[int, int]]  # First and last token of each right short answer, if known
    # First and last token of each unit, and whether it belongs to the quotation that answers
    units: list[tuple[int, int, bool]]
    kinds: list[bool]  # [K] kinds of which one is right


def reading_loss(scores: SpanTensors, right: Sequence[Right]) -> Tensor:
    """Mean negative log-likelihood of B packs: of the kind, any right span, and the right units.

    Each right unit competes with "nothing", whose logit is 0, and all wrong units; and "nothing"
    with these, so that a quotation may have several units.

    Source: Clark and Gardner 2018 (several right spans, summed); Zhou et al. 2021, "Document-level
    relation extraction with adaptive thresholding", section 3.2 (a class that separates right ones
    from wrong ones, which may be many).
    """
    device, count = scores.kind.device, len(right)
    kinds = torch.tensor([one.kinds for one in right], device=device)
    loss = -torch.logsumexp(scores.kind.masked_fill(~kinds, MASKED_LOGIT), 1).sum()
    spans = [(row, *span) for row, one in enumerate(right) for span in one.spans]
    if spans:
        rows, first, last = torch.tensor(spans, device=device).unbind(1)
        found = _log_sum_exp(scores.start[rows, first] + scores.end[rows, last], rows, count)
        loss = loss - found[sorted({row for row, *_ in spans})].sum()
    units = [(row, *unit) for row, one in enumerate(right) for unit in one.units]
    if units:
        rows, first, last, wanted = torch.tensor(units, device=device).unbind(1)
        sums = nn.functional.pad(scores.relevance.cumsum(1), (1, 0))
        logits = (sums[rows, last + 1] - sums[rows, first]) / (last + 1 - first)
        good = wanted.bool()
        every = torch.arange(count, device=device)
        nothing = _log_sum_exp(
            torch.cat([torch.zeros(count, device=device), logits[~good]]),
            torch.cat([every, rows[~good]]),
            count,
        )
        loss = loss + nothing[sorted({row for row, *_ in units})].sum()
        own = rows[good]
        shares = torch.bincount(own, minlength=count)[own]
        loss = loss + ((torch.logaddexp(logits[good], nothing[own]) - logits[good]) / shares).sum()
    return loss / count


def _log_sum_exp(values: Tensor, rows: Tensor, count: int) -> Tensor:
    """[count] log of the sum of exponentials of each row's values; of none a large negative one."""
    highest = torch.full((count,), MASKED_LOGIT, device=values.device)
    highest = highest.scatter_reduce(0, rows, values, "amax").detach()
    total = torch.zeros(count, device=values.device)
    total = total.index_add(0, rows, (values - highest[rows]).exp())
    return highest + total.clamp_min(1e-30).log()


def new_span_network(dropout: float) -> SpanNetwork:
    """An untrained reader: the encoder's pretrained layers with new pointers."""
    network = SpanNetwork(dropout)
    network.encoder.load_state_dict(bert_tensors())
    return network


def save_span_network(folder: Path, network: SpanNetwork, notes: Mapping[str, Any]) -> None:
    """Save a trained network; arguments and errors as for ``save_weights``."""
    save_weights(folder, arrays_of(network.state_dict()), notes)


def load_span_network(folder: Path, dropout: float = 0.0) -> SpanNetwork:
    """A saved network; errors as ``load_weights``."""
    return load_network(folder, READER, lambda: SpanNetwork(dropout))


def load_network(folder: Path, kind: NetworkKind, make: Callable[[], Network]) -> Network:
    """A saved network of a kind, which ``make`` makes with any weights."""
    embeddings = [internal_name(name) for name in EMBEDDINGS]
    state = {
        f"encoder.{name}": tensor
        for name, tensor in bert_tensors().items()
        if name.startswith(tuple(embeddings))
    }
    for name, tensor in tensors_of(dequantised(load_weights(folder, kind))).items():
        own = name if name.partition(".")[0] in kind.heads else f"encoder.{internal_name(name)}"
        state.setdefault(own, tensor)
    with torch.device("meta"):
        network = make()
    network.load_state_dict(state, assign=True)
    return network
