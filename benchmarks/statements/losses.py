"""What the statement network learns from: right answers, right changes, and the losses of both."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.statements.network import StatementNetwork
from memnet.reader.network import SpanNetwork
from memnet.reader.spans import KINDS, MASKED_LOGIT
from memnet.statements.reading import FORMS, TEXT_SPLITS, TOKEN_SPLITS

_ITEM_WEIGHTS = (1.0, 3.0, 3.0)
_TAG_WEIGHTS = (1.0, 2.0, 2.0, 2.0, 2.0)
"""Most tokens are outside of all items and tags."""


class StatementTensors(NamedTuple):
    """``StatementScores`` as tensors, with gradients."""

    ends: Tensor
    relevance: Tensor
    items: Tensor
    tags: Tensor
    changes: Tensor
    partly: Tensor
    form: Tensor
    number: Tensor
    negative: Tensor
    certainty: Tensor


def split_tensors(tokens: Tensor, text: Tensor) -> StatementTensors:
    """Outputs of the network, [B, T, 18] and [B, 25] float32, by their meaning."""
    ends, relevance, items, tags, changes, partly = torch.split(tokens, TOKEN_SPLITS, dim=2)
    form, number, negative, certainty = torch.split(text, TEXT_SPLITS, dim=1)
    return StatementTensors(
        ends, relevance.squeeze(2), items, tags, changes, partly.squeeze(2),
        form, number, negative.squeeze(1), certainty,
    )  # fmt: skip


class RightAnswer(NamedTuple):
    """What is right about a question."""

    form: int
    """Index of ``FORMS``."""
    number: int
    """Of an answer by counting, else -1."""
    spans: list[tuple[int, int]]
    """First and last token of each piece that answers: any of them, or all of a list."""
    statements: list[tuple[int, int, bool]]
    """First and last token of each statement, and whether it is needed."""


class RightWrite(NamedTuple):
    """What is right about a new statement."""

    tags: list[int]
    """Of the tokens 1, 2, ... of the new statement."""
    negative: bool
    certainty: int
    """Index of ``CERTAINTIES``."""
    statements: list[tuple[int, int, int, bool]]
    """First and last token of each earlier statement, its ``Label``, and whether only a part of it
    is changed."""


def answer_loss(scores: StatementTensors, row: int, mask: Tensor, right: RightAnswer) -> Tensor:
    """Negative log-likelihood of an answer: its form, its span or items or number, its statements.

    Args:
        scores: of B packs.
        row: of the pack.
        mask: [T] bool, tokens of statements.
        right: what is right.
    """
    loss = nn.functional.cross_entropy(scores.form[row], torch.tensor(right.form))
    if right.number >= 0:
        loss = loss + nn.functional.cross_entropy(scores.number[row], torch.tensor(right.number))
    form = FORMS[right.form]
    if right.spans and form == "value":
        first, last = torch.tensor(right.spans).unbind(1)
        masked = scores.ends[row].masked_fill(~mask.unsqueeze(1), MASKED_LOGIT)
        start, end = torch.log_softmax(masked, 0).unbind(1)
        loss = loss - torch.logsumexp(start[first] + end[last], 0)
    if right.spans and form in ("value", "list"):
        items = torch.zeros(len(mask), dtype=torch.long)
        for first_token, last_token in right.spans:
            items[first_token] = 1
            items[first_token + 1 : last_token + 1] = 2
        weights = torch.tensor(_ITEM_WEIGHTS)
        summed = nn.functional.cross_entropy(
            scores.items[row][mask], items[mask], weights, reduction="sum"
        )
        loss = loss + summed / (10 if form == "list" else 40)
    if right.statements:
        spans = [one[:2] for one in right.statements]
        logits = _means(scores.relevance[row], spans)
        needed = torch.tensor([float(one[2]) for one in right.statements])
        loss = loss + nn.functional.binary_cross_entropy_with_logits(logits, needed)
    return loss


def write_loss(scores: StatementTensors, row: int, right: RightWrite) -> Tensor:
    """Negative log-likelihood of what is right about a new statement; arguments as above."""
    tags = torch.tensor(right.tags)
    loss = nn.functional.cross_entropy(
        scores.tags[row, 1 : 1 + len(tags)], tags, torch.tensor(_TAG_WEIGHTS)
    )
    loss = loss + 0.5 * nn.functional.binary_cross_entropy_with_logits(
        scores.negative[row], torch.tensor(float(right.negative))
    )
    certainty = torch.tensor(right.certainty)
    loss = loss + 0.5 * nn.functional.cross_entropy(scores.certainty[row], certainty)
    if right.statements:
        spans = [one[:2] for one in right.statements]
        changes = torch.tensor([one[2] for one in right.statements])
        partly = torch.tensor([float(one[3]) for one in right.statements])
        logits = _means(scores.changes[row], spans)
        loss = loss + nn.functional.cross_entropy(logits, changes, reduction="sum") / 2
        changed = changes > 0
        if bool(changed.any()):
            loss = loss + 0.5 * nn.functional.binary_cross_entropy_with_logits(
                _means(scores.partly[row], spans)[changed], partly[changed]
            )
    return loss


def _means(values: Tensor, spans: Sequence[tuple[int, int]]) -> Tensor:
    """Means over spans of tokens, [K, ...], of values [T, ...]."""
    return torch.stack([values[first : last + 1].mean(0) for first, last in spans])


def from_reader(reader: SpanNetwork) -> StatementNetwork:
    """An untrained network that starts from a trained reader of passages."""
    network = StatementNetwork()
    network.encoder.load_state_dict(reader.encoder.state_dict())
    with torch.no_grad():
        network.pointers.weight[:3] = reader.pointers.weight
        network.pointers.bias[:3] = reader.pointers.bias
        for row, form in enumerate(FORMS):
            if form in KINDS:
                network.kinds.weight[row] = reader.kinds.weight[KINDS.index(form)]
                network.kinds.bias[row] = reader.kinds.bias[KINDS.index(form)]
    return network


def freeze(network: StatementNetwork, layers: int) -> None:
    """Leave the lowest layers, and the embeddings of words and positions, as they are."""
    encoder = network.encoder
    encoder.words.requires_grad_(False)
    encoder.positions.requires_grad_(False)
    if layers:
        encoder.segments.requires_grad_(False)
        encoder.norm.requires_grad_(False)
    for layer in encoder.encoder.layers[:layers]:
        layer.requires_grad_(False)
