"""What is quoted, read again by itself: whether it answers, and whether with yes or no."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.quotes import Quotation
from memnet.reader.spans import Passage, Reader, Reading
from memnet.text.restated import restates
from memnet.types import AnswerKind, Candidate

# Probability of a verdict, by the judge from the quotation alone, from which it is given; where
# something else speaks for it the judge need not be sure. Of 406 pairs that the judge had not
# learned from 82 of 272 that decide get their verdict; one gets another, one of the rest gets one.
_SURE = 0.94
_LIKELY = 0.2
# What may speak for a verdict: the quotation says again what is asked; or the reader is as sure as
# this, and denials and numbers agree. A "no" then needs a word that denies on one side alone, or
# another number than is asked about; a "yes" needs that there is none.
_READER_SURE = 0.75
_DENIES = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|except|unless|hardly|"
    r"forbidden|prohibited|banned|lacks?|excluding|refused?|instead|stopped|ceased|former|"
    r"formerly|used to|until|closed|cancelled)\b|n['’]t\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d(?:[\d.,:]{0,20}\d)?")


def read_alone(
    question: str,
    prediction: Prediction,
    reader: Reader,
    judge: Callable[[], Reader] | None = None,
) -> Prediction:
    """A prediction by what its quotation alone says.

    Passages are read several at a time, so that yes or no may come from another one than is
    quoted, such as a note about another boat. The verdict is therefore that of the quotation, by
    the ``judge`` where there is one, and none is given where that leaves it open. How probable it
    is that the quotation answers at all is a signal for the confidence.
    """
    if prediction.signals is None or not prediction.quotes:
        return prediction
    first = prediction.quotes[0].item.slot
    quoted = [one for one in prediction.quotes if one.item.slot.id == first.id]
    text = "\n".join(one.text for one in quoted)
    reading = reader.read(question, [Passage(first.title, text)])
    prediction = _with_signals(prediction, support=reading.answerable)
    if prediction.kind not in ("yes", "no") and not asks_whether(question):
        return prediction
    # Its best sentence by itself, too: what a sentence beside it denies may be something else.
    best = [one.text for one in prediction.attended[:1] if any(map(one.overlaps, quoted))]
    readings = [reading]
    if judge is not None:
        readings = [
            judge().read(question, [Passage(first.title, one)])
            for one in dict.fromkeys([text, *best])
        ]
    word, probability = _verdict(readings)
    if probability >= _LIKELY and (
        restates(question, text) == (word == "yes")
        or (restates(question, text) is None and probability >= _SURE)
        or _is_seconded(word, reading, question, text)
    ):
        verdict = Candidate(text=word, score=probability)
        prediction = _with_signals(prediction, answer=probability, short=True, verdict=True)
        return _with_kind(prediction, word, [verdict, *prediction.candidates], word)
    if prediction.kind in ("yes", "no"):
        quoted_whole = _quoted(prediction.quotes)
        prediction = _with_signals(prediction, answer=quoted_whole.score, short=False)
        prediction = _with_kind(prediction, "statement", [quoted_whole], None)
    return prediction._replace(promised=False)  # whether it is so is left open


def _verdict(readings: Sequence[Reading]) -> tuple[AnswerKind, float]:
    """The likelier one of yes and no, with the geometric mean of its probabilities."""
    yes, no = (
        math.prod(scores) ** (1 / len(scores))
        for scores in ([one.yes for one in readings], [one.no for one in readings])
    )
    return ("yes", yes) if yes > no else ("no", no)


def _is_seconded(word: AnswerKind, reading: Reading, question: str, quoted: str) -> bool:
    """Whether the reader is sure of a verdict, and it has a ground in the quotation."""
    by_reader = reading.yes if word == "yes" else reading.no
    return by_reader >= _READER_SURE and _has_ground(word, question, quoted)


def _has_ground(word: AnswerKind, question: str, quoted: str) -> bool:
    """Whether denials and numbers of question and quotation agree with "yes" or "no"."""
    one_denies = bool(_DENIES.search(question)) != bool(_DENIES.search(quoted))
    numbers = set(_NUMBER.findall(quoted))
    others = set(_NUMBER.findall(question)) - numbers
    if word == "yes":
        return not one_denies and not others
    return one_denies or bool(others and numbers)


def _with_signals(prediction: Prediction, **changed: Any) -> Prediction:
    signals = prediction.signals
    return prediction._replace(signals=None if signals is None else signals._replace(**changed))


def _with_kind(
    prediction: Prediction, kind: AnswerKind, candidates: Sequence[Candidate], short: str | None
) -> Prediction:
    distinct = {one.text: one for one in reversed(candidates)}
    return prediction._replace(
        kind=kind, candidates=tuple(reversed(distinct.values())), short=short
    )


def _quoted(quotes: Sequence[Quotation]) -> Candidate:
    """What is quoted as a candidate."""
    first = quotes[0]
    start = first.item.slot.start
    return Candidate(
        text="\n".join(one.text for one in quotes),
        score=first.weight,
        evidence=first.item.slot.id,
        start=start + first.start if len(quotes) == 1 else None,
        end=start + first.end if len(quotes) == 1 else None,
    )
