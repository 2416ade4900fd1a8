"""The extractive reader: short answers that stand word for word in the evidence."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import torch

from memnet.encoders.threads import one_thread_each
from memnet.readers.packs import Pack, Packer, Passage
from memnet.readers.span_network import NO, NO_ANSWER, SPAN, YES, SpanNetwork, SpanScores

_LONGEST_SPAN = 20
"""Tokens of an answer."""
_MOST_SPANS = 20
"""Of each pack are looked at."""


class Span(NamedTuple):
    """A possible answer."""

    passage: int
    """Which of the passages it stands in."""
    start: int
    """Its first character there."""
    end: int
    """The character after its last."""
    probability: float
    """That the answer is here: how sure the reader is, which is not how often it is right."""


class Reading(NamedTuple):
    """What reading some passages gave."""

    spans: tuple[Span, ...]
    """Likeliest first."""
    yes: float
    """Probability that the answer is yes."""
    no: float
    answerable: float
    """Probability that the passages hold an answer of any kind."""


class Reader(Protocol):
    """What reads passages for a question."""

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Point at answers in passages, best passages first."""
        ...


class ExtractiveReader:
    """Reads passages for a question and points at answers."""

    def __init__(self, network: SpanNetwork, packer: Packer, threads: int = 1) -> None:
        """Join a trained network and what makes its input.

        Args:
            network: in evaluation mode.
            packer: of its tokens.
            threads: processor cores to use: packs are read side by side, a single one on all.
        """
        self._network = network
        self._packer = packer
        self._threads = threads

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Read passages, several at a time.

        Args:
            question: in plain language.
            passages: best first.

        Returns:
            The likeliest spans of all packs; a pack that holds no answer gives its spans little.
        """
        packs = self._packer.packs(question, passages)
        spans: list[Span] = []
        kinds: list[list[float]] = []
        for pack, scores in zip(packs, self._scores(packs), strict=True):
            kinds.append(scores.kind[0].exp().tolist())
            spans += _spans(pack, scores, kinds[-1][SPAN])
        return Reading(
            spans=tuple(sorted(spans, key=lambda span: -span.probability)),
            yes=max((kind[YES] for kind in kinds), default=0.0),
            no=max((kind[NO] for kind in kinds), default=0.0),
            answerable=max((1 - kind[NO_ANSWER] for kind in kinds), default=0.0),
        )

    def _scores(self, packs: Sequence[Pack]) -> list[SpanScores]:
        if self._threads > 1 and len(packs) == 1:
            return [self._of_pack(packs[0])]
        with one_thread_each, ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._of_pack, packs))

    def _of_pack(self, pack: Pack) -> SpanScores:
        with torch.inference_mode():
            scores: SpanScores = self._network(*pack.inputs())
        return scores


def _spans(pack: Pack, scores: SpanScores, weight: float) -> list[Span]:
    """The likeliest spans of a pack that stay within one passage."""
    both = scores.start[0, :, None] + scores.end[0, None, :]
    size = both.shape[0]
    near = torch.ones(size, size, dtype=torch.bool).triu().tril(_LONGEST_SPAN - 1)
    best = both.masked_fill(~near, -torch.inf).flatten().topk(min(_MOST_SPANS, size))
    spans: list[Span] = []
    for log_probability, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        first, last = pack.places[place // size], pack.places[place % size]
        if first is not None and last is not None and first[0] == last[0]:
            probability = weight * float(torch.tensor(log_probability).exp())
            spans.append(Span(first[0], first[1], last[2], probability))
    return spans
