"""The extractive reader: short answers that stand word for word in the evidence."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from memnet.device import one_thread_each
from memnet.reader.packing import Pack, Packer, Passage
from memnet.reader.span_scores import NO, NO_ANSWER, SPAN, YES, ReadArrays, SpanScores

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

    def __init__(self, network: ReadArrays, packer: Packer, threads: int = 1) -> None:
        """Join a trained network and what makes its input.

        Args:
            network: an ``EightBitSpanNetwork``, or a ``SpanNetwork`` by ``on_arrays``.
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
            kinds.append(np.exp(scores.kind[0]).tolist())
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
        return self._network(*pack.inputs())


def _spans(pack: Pack, scores: SpanScores, weight: float) -> list[Span]:
    """The likeliest spans of a pack that stay within one passage."""
    inside = np.array([place is not None for place in pack.places])
    spans: list[Span] = []
    for start, end, score in best_spans(
        scores.start[0], scores.end[0], inside, _LONGEST_SPAN, _MOST_SPANS
    ):
        first, last = pack.places[start], pack.places[end]
        if first is not None and last is not None and first[0] == last[0]:
            spans.append(Span(first[0], first[1], last[2], weight * math.exp(score)))
    return spans


def best_spans(
    start: NDArray[np.float32],
    end: NDArray[np.float32],
    inside: NDArray[np.bool_],
    longest: int,
    most: int,
) -> list[tuple[int, int, float]]:
    """The spans of T tokens with the largest sum of the scores of their ends.

    Args:
        start: [T] float32, scores of tokens as the first.
        end: [T] float32, as the last.
        inside: [T] bool, tokens where a span may start or end.
        longest: tokens of a span.
        most: spans to give.

    Returns:
        First token, last token and score, the best first; of equals the one that starts first.
        There are T at most.
    """
    count = min(most, len(start))
    first = np.where(inside, start, -np.inf)
    last = np.pad(np.where(inside, end, -np.inf), (0, longest - 1), constant_values=-np.inf)
    both = (first[:, None] + sliding_window_view(last, longest)).ravel()
    least = np.partition(both, -count)[-count]
    likely = np.flatnonzero((both >= least) & (both > -np.inf))
    best = likely[np.argsort(-both[likely], kind="stable")[:count]]
    starts, further = np.divmod(best, longest)
    return list(zip(starts.tolist(), (starts + further).tolist(), both[best].tolist(), strict=True))
