"""Scores of answers and evidence."""

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from memnet.types import ReliabilityBin

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised_answer(text: str) -> str:
    """Lower case, no punctuation, no articles, single spaces, as SQuAD's official script does."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, right: Sequence[str]) -> float:
    """1 if the normalised answer is one of the right ones, else 0."""
    return float(normalised_answer(answer) in map(normalised_answer, right))


def f1(answer: str, right: Sequence[str]) -> float:
    """The best F1 of words over the right answers, 0..1.

    Source: Rajpurkar et al. 2016, section 6.1.
    """
    return max(
        (_f1(normalised_answer(answer), normalised_answer(one)) for one in right), default=0.0
    )


def set_f1(answers: Sequence[str], right: Sequence[str]) -> float:
    """F1 of a set of normalised answers, 0..1."""
    given, wanted = set(map(normalised_answer, answers)), set(map(normalised_answer, right))
    return 2 * len(given & wanted) / max(1, len(given) + len(wanted))


def recall(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Share of the gold sources among the first ``k`` distinct sources found, 0..1."""
    distinct = list(dict.fromkeys(found))[:k]
    return len(set(distinct) & set(gold)) / len(set(gold))


def _f1(answer: str, right: str) -> float:
    answer_words, right_words = answer.split(), right.split()
    if not answer_words or not right_words:
        return float(answer_words == right_words)
    shared = sum((Counter(answer_words) & Counter(right_words)).values())
    return 2 * shared / (len(answer_words) + len(right_words))


def area_under_roc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Probability that a positive scores higher than a negative, a tie counting half, 0..1.

    By the sum of the positives' ranks, in O(n log n).

    Source: Hanley and McNeil 1982, section II. None where there is no positive or no negative.
    """
    if len(scores) != len(positive):
        raise ValueError(f"{len(scores)} scores and {len(positive)} labels; expected as many")
    labels = np.asarray(positive, np.bool_)
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if not positives or not negatives:
        return None
    _, group, ties = np.unique(
        np.asarray(scores, np.float64), return_inverse=True, return_counts=True
    )
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[group]  # from 1; equal scores share their mean
    wins = ranks[labels].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))


def reliability(
    confidence: Sequence[float], right: Sequence[float], bins: int = 10
) -> list[ReliabilityBin]:
    """Answers in bins of equal width by confidence, without empty bins.

    Source: DeGroot and Fienberg 1983 (reliability diagram).
    """
    confidences, rights = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    bin_of = np.minimum((confidences * bins).astype(int), bins - 1)
    return [
        ReliabilityBin(
            size=int(inside.sum()),
            confidence=float(confidences[inside].mean()),
            right=float(rights[inside].mean()),
        )
        for inside in (bin_of == number for number in range(bins))
        if inside.any()
    ]


def calibration_error(confidence: Sequence[float], right: Sequence[float]) -> float | None:
    """Expected calibration error over 10 bins, 0..1; None without answers.

    Source: Guo et al. 2017, equation 3.
    """
    if not confidence:
        return None
    groups = reliability(confidence, right)
    return sum(abs(one.confidence - one.right) * one.size for one in groups) / len(confidence)
