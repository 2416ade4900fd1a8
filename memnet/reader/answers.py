"""Answers from passages, spans or whole sentences, and the confidence in them."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memnet.config import AnswerConfig
from memnet.reader.decompose import Compared, Resolved
from memnet.reader.decompose.negation import drop_denied
from memnet.reader.passages import (
    RankedSlot,
    indices_named,
    names_match,
    span_candidate,
)
from memnet.reader.spans import Reading
from memnet.text.english import overlapping
from memnet.text.names import maximal_names, mentions, normalise, stems, without_names
from memnet.types import AnswerKind, Candidate

_EPSILON = 1e-6
_MAX_LOGIT = 30.0
FEATURES = 8
_MAX_CANDIDATES = 10
_STEM_LETTERS = 5
"""Words are compared by their first letters: "directed" and "director" agree."""
_UNLIKELY = 0.1
"""Factor of what can hardly be the answer: yes to "who", words of the question itself, and what was
put in the place of a phrase."""
_ASKS_WHETHER = re.compile(
    r"\W{0,9}+(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b",
    re.IGNORECASE,
)
_GIVES_A_CHOICE = re.compile(r"\b(?:or|between|out of)\b", re.IGNORECASE)
_ASKS_FOR = re.compile(r"\b(?:what|which|who|whom|whose|when|where|how|why)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<!^)\b[A-Z][\w'’.-]+|\b\d[\d,.]*\b")
"""What is taken for a name or a number in a question, but for its first word."""
_ASKS_FOR_A_NUMBER = re.compile(r"\b(when|year|date|number|how (many|old|long|much|far|tall))\b")
_NUMBER = re.compile(r"\d")


class Signals(NamedTuple):
    """What the confidence in an answer is calculated from."""

    answer: float
    """Probability of the answer, by the reader."""
    second: float
    """Of the best other answer."""
    answerable: float
    """That the passages hold an answer, by the reader."""
    similarity: float
    """Highest cosine of question and key among the passages."""
    overlap: float
    """Share of the question's stems in the answer's sentence and title; of yes and no, in the
    passages that they were judged by."""
    unknown: bool
    """Whether a name or a number of the question stands in nothing that was read: the question
    then presupposes what the evidence does not say."""
    rank: int
    """Of the passage that the answer stands in, from 0."""

    def features(self) -> tuple[float, ...]:
        """The input of a ``Calibration``: ``FEATURES`` numbers."""
        return (
            1.0,
            _logit(self.answer),
            _logit(self.second),
            _logit(self.answerable),
            self.similarity,
            self.overlap,
            float(self.unknown),
            math.log1p(self.rank),
        )


class Calibration:
    """Logistic regression from signals to the probability that an answer is right.

    Source: Platt 1999 (logistic calibration), with more than one signal as in Kamath et al. 2020.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        """Take the weights of ``FEATURES`` features."""
        self.weights = tuple(weights)

    def confidence(self, signals: Signals) -> float:
        """The probability, 0..1."""
        pairs = zip(self.weights, signals.features(), strict=True)
        logit = sum(weight * feature for weight, feature in pairs)
        return 1 / (1 + math.exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, logit))))


def _logit(probability: float) -> float:
    clipped = min(max(probability, _EPSILON), 1 - _EPSILON)
    return math.log(clipped / (1 - clipped))


class Prediction(NamedTuple):
    """Possible answers to a question, and what is known of the best of them."""

    candidates: tuple[Candidate, ...] = ()
    """Best first."""
    support: tuple[RankedSlot, ...] = ()
    """The evidence that the best candidate was read or judged by, its own first."""
    kind: AnswerKind = "none"
    """Of the best candidate."""
    confidence: float | None = None
    abstained: bool = False
    """Whether the memory does not hold the answer, whatever the candidates."""
    signals: Signals | None = None
    """By which confidence was judged; None where no reader of spans was at work."""
    resolved: tuple[Resolved, ...] = ()
    """The question after each answer to a part of it."""


def predict_spans(
    question: str,
    passages: Sequence[RankedSlot],
    reading: Reading,
    resolved: Sequence[Resolved] = (),
    further: Reading | None = None,
    compared: Compared | None = None,
) -> Prediction:
    """Answers from what was read.

    Each span counts as much as the hops attended to its passage. What is read after parts of the
    question were resolved competes with what is read right away, by the probability of its parts;
    so does the outcome of a comparison.

    Source: Clark and Gardner 2018 (several passages under one softmax); weighting what is read by
    attention is the read of Miller et al. 2016, equation 3, with spans for values.

    Args:
        question: as asked.
        passages: that were read together, best first.
        reading: of them.
        resolved: the question after each answer to a part of it.
        further: what was read for the last of these in its passages.
        compared: the outcome, where the question compares two things.
    """
    last = resolved[-1] if resolved else None
    others = () if last is None else last.passages
    found = list(_attended(reading, passages, 1 - last.probability if last else 1.0))
    if last is not None and further is not None:
        found += [span_candidate(span, others, last.probability) for span in further.spans]
    found, share = drop_denied(question, found, (*passages, *others))
    reading = reading._replace(answerable=share * reading.answerable)
    weight = 1.0 if _asks_whether(question) else _UNLIKELY
    for word, probability in (("yes", reading.yes), ("no", reading.no)):
        found.append(Candidate(text=word, score=weight * probability))
    candidates = _merged(question, found, last.name if last else "")
    if compared is not None:
        candidates = _with_outcome(candidates, _outcome(compared))
    best = tuple(candidates[:_MAX_CANDIDATES])
    support = _support(question, best, compared, passages, others)
    signals = signals_of(question, reading, best, passages, others, support)
    return Prediction(best, support, _kind(best), signals=signals, resolved=tuple(resolved))


def _kind(candidates: Sequence[Candidate]) -> AnswerKind:
    if not candidates:
        return "none"
    best = candidates[0]
    if best.evidence is None and best.text == "yes":
        return "yes"
    return "no" if best.evidence is None and best.text == "no" else "value"


def _attended(
    reading: Reading, passages: Sequence[RankedSlot], weight: float
) -> Iterator[Candidate]:
    """Spans weighted by the attention to their passages over the most attended."""
    highest = max((item.attention for item in passages), default=0.0) or 1.0
    for span in reading.spans:
        attention = passages[span.passage].attention
        yield span_candidate(span, passages, weight * attention / highest)


def _asks_whether(question: str) -> bool:
    """Whether yes or no may answer: "Did Ann sail?", "Ann and Bo, are they poets?".

    On 1,243 training questions this made five answers right and none wrong.
    """
    return _ASKS_WHETHER.match(question) is not None or not _ASKS_FOR.search(question)


def _merged(question: str, found: Iterable[Candidate], resolved: str) -> list[Candidate]:
    """Distinct answers, best first: the scores of those with equal normalised texts are added.

    The name that a part of the question was ``resolved`` to is not what is asked for, nor are words
    of the question, unless it gives a choice: those of 3 of 700 training questions were.
    """
    asked = "" if _GIVES_A_CHOICE.search(question) else f" {normalise(question)} "
    best: dict[str, Candidate] = {}
    total: dict[str, float] = defaultdict(float)
    resolved = normalise(resolved)
    for candidate in found:
        text = normalise(candidate.text) or candidate.text
        if text not in best or candidate.score > best[text].score:
            best[text] = candidate
        unlikely = names_match(text, resolved) or f" {text} " in asked
        total[text] += candidate.score * (_UNLIKELY if unlikely else 1)
    summed = [one.model_copy(update={"score": total[text]}) for text, one in best.items()]
    return sorted(summed, key=lambda candidate: -candidate.score)


def _with_outcome(candidates: Sequence[Candidate], outcome: Candidate) -> list[Candidate]:
    """Candidates with the outcome of a comparison among them, best first.

    Where reader and comparison agree, the answer is right if either is: 1 - (1 - p)(1 - q).
    """
    text = normalise(outcome.text)
    others = [one for one in candidates if normalise(one.text) != text]
    wrong = 1 - outcome.score
    for one in candidates:
        if normalise(one.text) == text:
            wrong *= 1 - min(1.0, one.score)
    both = outcome.model_copy(update={"score": 1 - wrong})
    return sorted([both, *others], key=lambda candidate: -candidate.score)


def _outcome(compared: Compared) -> Candidate:
    """The title of the passage, as a span of its text where that holds it; or yes or no."""
    if compared.subject is None:
        return Candidate(text=compared.answer, score=compared.probability)
    slot = compared.passages[0].slot
    position = slot.text.find(compared.answer)
    start = slot.start + position if position >= 0 else None
    return Candidate(
        text=compared.answer,
        score=compared.probability,
        evidence=slot.id,
        start=start,
        end=None if start is None else start + len(compared.answer),
    )


def _support(
    question: str,
    candidates: Sequence[Candidate],
    compared: Compared | None,
    passages: Sequence[RankedSlot],
    others: Sequence[RankedSlot],
) -> tuple[RankedSlot, ...]:
    """The passages that the best candidate was read or judged by.

    Of yes and no by the reader they are those about what the question names, or else all.
    """
    if not candidates:
        return ()
    best = candidates[0]
    if compared is not None and normalise(best.text) == normalise(compared.answer):
        return compared.passages
    own = tuple(item for item in (*passages, *others) if item.slot.id == best.evidence)[:1]
    named = own or tuple(passages[index] for index in indices_named(question, passages))
    return named or tuple(passages)


def judged(prediction: Prediction, calibration: Calibration | None, threshold: float) -> Prediction:
    """A prediction with its confidence, if there is a calibration, and whether that is too low.

    Without one the probability that the passages hold an answer is compared with the threshold.
    """
    signals = prediction.signals
    if signals is None:
        return prediction
    confidence = None if calibration is None else calibration.confidence(signals)
    certainty = signals.answerable if confidence is None else confidence
    return prediction._replace(confidence=confidence, abstained=certainty < threshold)


def signals_of(
    question: str,
    reading: Reading,
    candidates: Sequence[Candidate],
    passages: Sequence[RankedSlot],
    others: Sequence[RankedSlot],
    support: Sequence[RankedSlot],
) -> Signals:
    """What is known about the best answer before one knows whether it is right.

    Args:
        question: as asked.
        reading: of the passages.
        candidates: answers, best first.
        passages: that were read together, best first.
        others: in which the answer may stand too.
        support: those that the best answer was read or judged by, its own first.
    """
    best = candidates[0] if candidates else None
    ranks: dict[int | None, int] = {item.slot.id: rank for rank, item in enumerate(passages)}
    return Signals(
        answer=best.score if best else 0.0,
        second=candidates[1].score if len(candidates) > 1 else 0.0,
        answerable=reading.answerable,
        similarity=max((item.similarity for item in passages), default=0.0),
        overlap=_share(question, _answer_context(best, support)),
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


def _share(question: str, text: str) -> float:
    """Share of a question's words, by their stems, that a text contains; 1 without any."""
    wanted = stems(question, _STEM_LETTERS)
    return len(wanted & _all_stems(normalise(text))) / len(wanted) if wanted else 1.0


def _has_unknown_name(question: str, passages: Iterable[RankedSlot]) -> bool:
    """Whether a name or a number of a question stands in none of some passages."""
    named = set(stems(" ".join(_NAME.findall(question)), _STEM_LETTERS))
    for item in {item.slot.id: item for item in passages}.values():
        if not named:
            return False
        named -= _all_stems(normalise(item.slot.title)) | _all_stems(item.normalised_text)
    return bool(named)


def _all_stems(normalised: str) -> frozenset[str]:
    """The stems of all words of a normalised text, stop words too."""
    return frozenset(word[:_STEM_LETTERS] for word in normalised.split())


def rank_sentences(
    question: str, passages: Sequence[RankedSlot], config: AnswerConfig
) -> tuple[Candidate, ...]:
    """The sentences of some passages, best first: the answers where no reader has weights.

    A question names where to start ("the builder of the Orre Light") and asks for something else
    ("was born in which town"). So a sentence is worth the score of its passage, plus the share it
    holds of the question's words other than names, plus something for bringing a number or name
    that the question does not hold, plus something if a later hop found its passage.

    Args:
        question: as asked.
        passages: best first.
        config: what each of these is worth.

    Returns:
        Each sentence as it stands in its passage; of equals the first in rank and text comes first.
    """
    asked = f" {normalise(question)} "
    titles = {name for item in passages for name in item.names if f" {name} " in asked}
    wanted = stems(without_names(question, maximal_names(titles)), _STEM_LETTERS)
    found: list[Candidate] = []
    for item in passages:
        slot = item.slot
        value = item.score + config.later_hop_weight * (item.hop > 1)
        for start, end in item.sentence_spans:
            sentence = slot.text[start:end]
            share = len(wanted & stems(sentence, _STEM_LETTERS)) / max(1, len(wanted))
            news = _brings_news(sentence, asked, item.names)
            score = value + config.shared_words_weight * share + config.news_weight * news
            first, last = slot.start + start, slot.start + end
            found.append(
                Candidate(text=sentence, score=score, evidence=slot.id, start=first, end=last)
            )
    return tuple(sorted(found, key=lambda candidate: -candidate.score))


def _brings_news(sentence: str, asked: str, about: Sequence[str]) -> bool:
    """Whether a sentence holds a number, or a name, of the kind and beyond what is asked."""
    if _ASKS_FOR_A_NUMBER.search(asked):
        return bool(_NUMBER.search(sentence))
    return any(f" {name} " not in asked and name not in about for name in mentions(sentence))
