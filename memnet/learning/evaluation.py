"""Evaluation: read a file of questions, ask them, and score evidence, answers and time."""

import os
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Protocol

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict

from memnet.io import read_json_lines
from memnet.types import Answer, Evaluation, ReliabilityBin

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_TOP_K = 50  # Evidence asked for: recall@10 counts sources, and documents have several slots
_RECALL_AT = (1, 2, 5, 10)
_BINS = 10  # of confidences


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
    words = normalised_answer(answer).split()
    return max((_f1(words, normalised_answer(one).split()) for one in right), default=0.0)


def set_f1(answers: Sequence[str], right: Sequence[str]) -> float:
    """F1 of a set of normalised answers, 0..1."""
    given, wanted = set(map(normalised_answer, answers)), set(map(normalised_answer, right))
    return 2 * len(given & wanted) / max(1, len(given) + len(wanted))


def answers_hold(shown: str, right: Sequence[str]) -> float:
    """1 if one of the right answers stands in what is shown as whole words, normalised, else 0.

    "Yes" and "no" have to be its first word.
    """
    words = f" {normalised_answer(shown)} "
    wanted = [f" {normalised_answer(one)} " for one in right if normalised_answer(one)]
    return float(
        any(words.startswith(one) if one in (" yes ", " no ") else one in words for one in wanted)
    )


def recall(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Share of the gold sources among the first ``k`` distinct sources found, 0..1."""
    distinct = list(dict.fromkeys(found))[:k]
    return len(set(distinct) & set(gold)) / len(set(gold))


def _f1(answer: Sequence[str], right: Sequence[str]) -> float:
    if not answer or not right:
        return float(answer == right)
    return 2 * (Counter(answer) & Counter(right)).total() / (len(answer) + len(right))


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


def reliability(confidence: Sequence[float], right: Sequence[float]) -> list[ReliabilityBin]:
    """Answers in ten bins of equal width by confidence, without empty bins.

    Source: DeGroot and Fienberg 1983 (reliability diagram).
    """
    confidences, rights = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    bin_of = np.minimum((confidences * _BINS).astype(int), _BINS - 1)
    return [
        ReliabilityBin(
            size=int(inside.sum()),
            confidence=float(confidences[inside].mean()),
            right=float(rights[inside].mean()),
        )
        for inside in (bin_of == number for number in range(_BINS))
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


def _not_blank(question: str) -> str:
    if not question.strip():
        raise ValueError("the question is blank; fill or remove it")
    return question


class Question(BaseModel):
    """A question with what is right; further fields of a file are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    question: Annotated[str, AfterValidator(_not_blank)]
    answers: tuple[str, ...] = ()
    """Right answers; none means that the memory does not hold one."""
    quotes: tuple[str, ...] = ()
    """Sentences that answer it: what shows one of them is right where yes or no is left open."""
    gold: tuple[str, ...] = ()
    """Source ids of the documents that hold the answer; none means not known."""
    hops: int | None = None
    """How many facts in a row lead to the answer, where that is known."""


def read_questions(path: str | os.PathLike[str]) -> list[Question]:
    """Read a question file.

    Raises:
        InputError: it can't be read, holds no question, or a line is not one.
    """
    expected = '{"question": str, "answers": [str], "gold": [source id]?}'
    return read_json_lines(path, Question, "question", expected)


class Askable(Protocol):
    """What questions can be asked of: an ``Engine``, or anything with its ``ask``."""

    def ask(
        self,
        question: str,
        *,
        hops: int | None = None,
        top_k: int | None = None,
        namespace: str | None = None,
    ) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        ...


def evaluate(
    memory: Askable,
    questions: Sequence[Question],
    *,
    hops: int | None = None,
    namespace: str | None = None,
    on_answer: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Ask questions and score evidence, answers and time.

    Args:
        memory: usually an ``Engine``.
        questions: at least one.
        hops: as for ``Engine.ask``.
        namespace: as for ``Engine.ask``.
        on_answer: called after each answer.

    Returns:
        Means over the questions that support each score. Recall needs gold sources; hits@1, EM and
        F1 need answers, and to a question without a right answer it is right to abstain. AUROC,
        ECE and the reliability diagram need calibrated confidences.
    """
    answers: list[Answer] = []
    for question in questions:
        answers.append(memory.ask(question.question, hops=hops, top_k=_TOP_K, namespace=namespace))
        on_answer()
    pairs = list(zip(questions, answers, strict=True))
    recalls = {
        f"recall_at_{k}": _mean(
            recall([item.source for item in answer.evidence], question.gold, k)
            for question, answer in pairs
            if question.gold
        )
        for k in _RECALL_AT
    }
    calibrated = [pair for pair in pairs if pair[1].confidence is not None]
    confidences = [answer.confidence or 0.0 for _, answer in calibrated]
    # Of what was withheld, the best candidate.
    rights = [answers_hold(one.answer or _best(one), asked.answers) for asked, one in calibrated]
    answerable = any(question.answers for question in questions)
    elapsed = [answer.elapsed_ms for answer in answers]
    return Evaluation(
        n=len(questions),
        **recalls,
        hits_at_1=_mean(
            exact_match(_best(answer), asked.answers) for asked, answer in pairs if asked.answers
        ),
        em=_mean(_score(exact_match, *pair) for pair in pairs) if answerable else None,
        f1=_mean(_score(f1, *pair) for pair in pairs) if answerable else None,
        set_f1=_mean(
            set_f1([candidate.text for candidate in answer.candidates], question.answers)
            for question, answer in pairs
            if question.answers and answer.evidence and answer.evidence[0].kind == "fact"
        ),
        answerable_auroc=area_under_roc(
            confidences, [bool(asked.answers) for asked, _ in calibrated]
        ),
        ece=calibration_error(confidences, rights),
        reliability=tuple(reliability(confidences, rights)),
        latency_ms=percentiles(elapsed),
    )


def percentiles(elapsed: Sequence[float]) -> dict[str, float]:
    """The median of some times and their 95th percentile, by name."""
    return {f"p{share}": float(np.percentile(elapsed, share)) for share in (50, 95)}


def _best(answer: Answer) -> str:
    return answer.candidates[0].text if answer.candidates else ""


def _score(
    score: Callable[[str, Sequence[str]], float], question: Question, answer: Answer
) -> float:
    if not question.answers:
        return float(answer.abstained)
    return score(answer.short or answer.answer or "", question.answers)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None
