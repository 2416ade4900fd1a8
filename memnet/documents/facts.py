"""Answers from facts without a trained model: the relation that is asked for, and how surely."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from memnet.attention.arrays import log_odds, probability_of, softmax, weighted
from memnet.config import AnswerConfig
from memnet.documents.question import Question, relation_stems
from memnet.reader.answers import Prediction
from memnet.reader.passages import RankedSlot
from memnet.reader.quotes import Quotation
from memnet.reader.spans import Passage, Reader
from memnet.text.names import normalise
from memnet.types import Candidate

_MAX_GROUPS = 6  # Relations of subjects that are compared, the best ranked first
_READ_FACTS = 4  # Facts of each that are read
_TEMPERATURE = 0.15  # Of the softmax over the relations of a subject, as in the hops
_EPSILON = 1e-3
# Of the features, by ``python -m benchmarks.fit_facts``.
_WEIGHTS = (-2.764, 0.893, 0.02, 2.143, 1.788, 0.356, 0.094, 0.838)
_PROMISE = 0.45  # From which on 88 of 100 are right there
_SPELLED_OTHERWISE = 0.9  # Factor where words of the question are spelled otherwise
_SHOWN_FACTS = 3  # That are shown where they are not the answer


class FactSignals(NamedTuple):
    """What the probability that some facts answer a question is calculated from, each 0..1."""

    similarity: float  # Cosine of question and relation, and the words that they share
    share: float  # Of the relation in a softmax over those of the subject, by similarity
    covered: float  # Share of the question's content words, beside names, that the relation has
    named: float  # Share of the subject's words that the question has
    read: float  # Probability of the values as short answers, by the reader; 0.5 without one
    answerable: float  # That the facts hold an answer, by the reader; 0.5 without one
    reverse: bool  # Whether the facts are read backwards

    def features(self) -> tuple[float, ...]:
        """The input of the logistic regression."""
        return (
            1.0,
            self.similarity,
            log_odds(self.share, _EPSILON),
            self.covered,
            self.named,
            log_odds(self.read, _EPSILON),
            log_odds(self.answerable, _EPSILON),
            float(self.reverse),
        )


class FactGroup(NamedTuple):
    """The facts of one subject with one relation, read in one direction."""

    facts: tuple[RankedSlot, ...]  # Of distinct values, best first
    signals: FactSignals


def fact_groups(
    question: str, facts: Sequence[RankedSlot], reader: Reader | None
) -> list[FactGroup]:
    """Facts, which stand best first, by subject, relation and direction.

    What the question names is not its answer: a fact read backwards ("Orre calls, read backwards,
    the Morning Petrel") shares its relation with the fact that is asked for.
    """
    asked = f" {normalise(question)} "
    grouped: dict[tuple[str, ...], dict[str, RankedSlot]] = {}
    for item in facts:
        slot = item.slot
        if f" {normalise(slot.value)} " not in asked:
            key = slot.kind, slot.title, slot.relation
            if key in grouped or len(grouped) < _MAX_GROUPS:
                grouped.setdefault(key, {}).setdefault(slot.value, item)
    named = {(kind, relation) for kind, title, relation in grouped if _named(title, asked)}
    groups = [
        tuple(values.values())
        for (kind, title, relation), values in grouped.items()
        # Of two facts with one relation that is meant of which the question names the subject.
        if (kind, relation) not in named or _named(title, asked)
    ]
    if not groups:
        return []
    read, answerable = _read(question, groups, reader)
    return [
        FactGroup(group, _signals(asked, group, groups, read[index], answerable))
        for index, group in enumerate(groups)
    ]


def read_facts(
    question: Question, facts: Sequence[RankedSlot], reader: Reader | None, config: AnswerConfig
) -> Prediction:
    """The values of the likeliest group of ``facts``, and how they may be shown.

    Where they are too unsure to be an answer, the facts themselves are shown.
    """
    groups = fact_groups(question.sought, facts, reader)
    if not groups:
        return Prediction()
    replaced = {*normalise(question.text).split()} - {*normalise(question.sought).split()}
    certain = _SPELLED_OTHERWISE if replaced else 1.0
    judged = [(certain * confidence_of(group.signals), group.facts) for group in groups]
    judged.sort(key=lambda pair: -pair[0])
    confidence, chosen = judged[0]
    promise = _PROMISE if config.answer_threshold is None else config.answer_threshold
    promised = confidence >= promise
    quotes: dict[str, Quotation] = {}
    if not promised:  # What is shown then holds the answer if any fact of the subject does.
        own = [pair for pair in judged if pair[1][0].slot.title == chosen[0].slot.title]
        confidence = 1 - math.prod(1 - one for one, _ in own)
        for _, group in own:
            for item in group:
                quotes.setdefault(item.slot.text, Quotation(item, 0, len(item.slot.text), 1.0))
    return Prediction(
        tuple(Candidate(text=item.slot.value, score=item.score) for item in chosen),
        chosen,
        "facts" if promised else "statement",
        confidence,
        abstained=confidence < config.threshold,
        promised=promised,
        quotes=tuple(quotes.values())[:_SHOWN_FACTS],
        short=chosen[0].slot.value,
    )


def confidence_of(signals: FactSignals, weights: Sequence[float] = _WEIGHTS) -> float:
    """The probability, 0..1, that facts answer."""
    return probability_of(weighted(weights, signals.features()))


def _read(
    question: str, groups: Sequence[tuple[RankedSlot, ...]], reader: Reader | None
) -> tuple[list[float], float]:
    """What a reader makes of the facts, said as one text: of each group's values, and of all.

    A short answer counts for a value by its share of characters in it, or in the relation before
    it: "town: Harpen".
    """
    if reader is None:
        return [0.5] * len(groups), 0.5
    said: dict[tuple[str, str], int] = {}  # Where each fact begins
    text = ""
    places: list[list[tuple[int, int]]] = []  # Of each group, where its values are
    for group in groups:
        places.append([])
        for item in group[:_READ_FACTS]:
            subject, rest = _said(item)
            if (subject, rest) not in said:
                said[subject, rest] = len(text)
                text += f"{subject}{rest} "
            start = said[subject, rest]
            middle = start + len(subject)
            value = (middle, middle + len(rest)) if item.slot.kind == "fact" else (start, middle)
            places[-1].append(value)
    reading = reader.read(question, [Passage("", text)])
    read = [
        sum(
            span.probability * max(0, min(span.end, end) - max(span.start, start))
            / (span.end - span.start)
            for span in reading.spans
            for start, end in own
        )
        for own in places
    ]  # fmt: skip
    return [min(1.0, one) for one in read], reading.answerable


def _said(item: RankedSlot) -> tuple[str, str]:
    """The subject of a fact, and the rest of a sentence: of "Ann's town is Ely" and the like."""
    slot = item.slot
    pair = (slot.title, slot.value) if slot.kind == "fact" else (slot.value, slot.title)
    subject, value = (" ".join(one.replace("_", " ").split()) for one in pair)
    return subject, f"'s {slot.relation} is {value}."


def _signals(
    asked: str, group: Sequence[RankedSlot], groups: Iterable[Sequence[RankedSlot]],
    read: float, answerable: float,
) -> FactSignals:  # fmt: skip
    slot = group[0].slot
    own = [one[0].similarity for one in groups if one[0].slot.title == slot.title]
    shares = softmax(np.array([group[0].similarity, *own], np.float32) / np.float32(_TEMPERATURE))
    wanted = relation_stems(asked) - relation_stems(slot.title)
    return FactSignals(
        similarity=group[0].similarity,
        share=float(shares[0] / shares[1:].sum()),
        covered=len(wanted & relation_stems(slot.relation)) / len(wanted) if wanted else 1.0,
        named=_named(slot.title, asked),
        read=read,
        answerable=answerable,
        reverse=slot.kind == "reverse",
    )


def _named(title: str, asked: str) -> float:
    """Share of the words of a subject that a normalised question has, 0..1."""
    words = normalise(title).split()
    return sum(f" {word} " in asked for word in words) / len(words) if words else 0.0
