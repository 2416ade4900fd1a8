"""Confidence: how likely an answer is right, from what is known before one knows whether it is."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memnet.attention.arrays import log_odds, probability_of, weighted
from memnet.reader.passages import RankedSlot
from memnet.reader.spans import Reading
from memnet.text.english import overlapping
from memnet.text.names import STEM_LETTERS, normalise, stems
from memnet.types import AnswerKind, Candidate

_EPSILON = 1e-6
FEATURES = 18
# Kinds whose answer is a quotation, whether there is a short one in it or not.
QUOTED_KINDS: tuple[AnswerKind, ...] = ("definition", "statement", "list", "steps")
# What is taken for a name or a number in a question, but for its first word.
_NAME = re.compile(r"(?<!^)\b[A-Z][\w'’.-]+|\b\d[\d,.]*\b")


class Signals(NamedTuple):
    """What the confidence in an answer is calculated from."""

    answer: float  # Probability of the answer, by the reader
    second: float  # Of the best other answer
    answerable: float  # That the passages hold an answer, by the reader
    similarity: float  # Highest cosine of question and key among the passages
    # Share of the question's stems in the answer's sentence and title; of yes and no, in the
    # passages that they were judged by
    overlap: float
    # Whether a name or a number of the question stands in nothing that was read: the question then
    # presupposes what the evidence does not say
    unknown: bool
    rank: int  # Of the passage that the answer stands in, from 0
    quoted: float = 0.0  # Attention of the last hop to the units that are shown, 0..1
    kind: AnswerKind = "value"  # Of the answer; one that is quoted has other chances for each kind
    length: int = 0  # Characters of the short answer, 0 where there is none
    support: float = 0.5  # That what is quoted answers, by the reader from it alone
    # That it gives the short answer, if there is one, by the network for verdicts; None: not asked
    stated: float | None = None
    left_open: bool = False  # Whether yes or no is asked for and the quotation leaves it open
    # Share of what was read that no passage denies, 0 where it is said of something else than is
    # asked about: no feature, but a factor
    attested: float = 1.0

    def features(self) -> tuple[float, ...]:
        """The input of a ``Calibration``: ``FEATURES`` numbers."""
        return (
            1.0,
            log_odds(self.answer, _EPSILON),
            log_odds(self.second, _EPSILON),
            log_odds(self.answerable, _EPSILON),
            self.similarity,
            self.overlap,
            float(self.unknown),
            math.log1p(self.rank),
            log_odds(self.quoted, _EPSILON),
            math.log1p(self.length),
            log_odds(self.support, _EPSILON),
            log_odds(0.5 if self.stated is None else self.stated, _EPSILON),
            float(self.left_open),
            float(self.kind in ("yes", "no")),
            *(float(self.kind == kind) for kind in QUOTED_KINDS),
        )


class Calibration(NamedTuple):
    """Logistic regression from signals to the probability that an answer is right.

    Source: Platt 1999 (logistic calibration), with more than one signal as in Kamath et al. 2020.
    """

    weights: Sequence[float]  # Of the features
    promise: float  # Confidence from which an answer is shown as one; below, its sentences alone

    def confidence(self, signals: Signals) -> float:
        """The probability, 0..1."""
        return signals.attested * probability_of(weighted(self.weights, signals.features()))


def signals_of(
    question: str,
    reading: Reading,
    candidates: Sequence[Candidate],
    passages: Sequence[RankedSlot],
    others: Sequence[RankedSlot],
    support: Sequence[RankedSlot],
) -> Signals:
    """What is known about the best of some candidates before one knows whether it is right.

    ``passages`` were read together, ``others`` may hold the answer too, and by ``support`` the best
    answer was read or judged, its own first.
    """
    best = candidates[0] if candidates else None
    wanted = stems(question)
    read = _all_stems(normalise(_answer_context(best, support)))
    ranks: dict[int | None, int] = {item.slot.id: rank for rank, item in enumerate(passages)}
    for rank, item in enumerate(others):  # which hops of their own have ranked
        ranks[item.slot.id] = min(rank, ranks.get(item.slot.id, rank))
    return Signals(
        answer=best.score if best else 0.0,
        second=candidates[1].score if len(candidates) > 1 else 0.0,
        answerable=reading.answerable,
        similarity=max((item.similarity for item in passages), default=0.0),
        overlap=len(wanted & read) / len(wanted) if wanted else 1.0,
        unknown=_has_unknown_name(question, (*passages, *others, *support)),
        rank=0 if best is None else ranks.get(best.evidence, len(passages)),
    )


def _answer_context(answer: Candidate | None, support: Sequence[RankedSlot]) -> str:
    """The sentences that an answer stands in, with their title; of yes and no all passages."""
    if answer is None or not support:
        return ""
    slot = support[0].slot
    if answer.evidence is None or answer.start is None or answer.end is None:
        return " ".join(f"{item.slot.title} {item.slot.text}" for item in support)
    first, last = answer.start - slot.start, answer.end - slot.start
    inside = overlapping(support[0].sentence_spans, first, last)
    return " ".join([slot.title, *(slot.text[start:end] for start, end in inside)])


def _has_unknown_name(question: str, passages: Iterable[RankedSlot]) -> bool:
    """Whether a name or a number of a question stands in none of some passages."""
    distinct = {item.slot.id: item for item in passages}.values()
    texts = (f"{normalise(item.slot.title)} {item.normalised_text}" for item in distinct)
    named = set(stems(" ".join(_NAME.findall(question))))
    for text in texts if named else ():
        named -= _all_stems(text)
    return bool(named)


def _all_stems(normalised: str) -> frozenset[str]:
    """The stems of all words of a normalised text, stop words too."""
    return frozenset(word[:STEM_LETTERS] for word in normalised.split())
