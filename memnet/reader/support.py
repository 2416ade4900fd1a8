"""What is quoted, read again by itself: whether it answers, and whether with yes or no."""

from collections.abc import Sequence
from typing import Any

from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.quotes import Quotation
from memnet.reader.spans import Passage, Reader
from memnet.types import AnswerKind, Candidate

# Probability of a verdict, by the quotation alone, from which it is given. Of 200 pairs of a
# passage and a question that nothing was learned from (``benchmarks.reliability``) 1 % of the
# verdicts then contradict the passage.
_SURE = 0.8


def read_alone(question: str, prediction: Prediction, reader: Reader) -> Prediction:
    """A prediction by what its quotation alone says.

    Passages are read several at a time, so that yes or no may come from another one than is
    quoted, such as a note about another boat. The verdict is therefore that of the quotation, and
    none is given where that leaves it open. How probable it is that the quotation answers at all
    is a signal for the confidence.
    """
    if prediction.signals is None or not prediction.quotes:
        return prediction
    first = prediction.quotes[0].item.slot
    quoted = "\n".join(one.text for one in prediction.quotes if one.item.slot.id == first.id)
    reading = reader.read(question, [Passage(first.title, quoted)])
    prediction = _with_signals(prediction, support=reading.answerable)
    if prediction.kind not in ("yes", "no") and not asks_whether(question):
        return prediction
    word: AnswerKind = "yes" if reading.yes > reading.no else "no"
    probability = max(reading.yes, reading.no)
    if probability >= _SURE:
        verdict = Candidate(text=word, score=probability)
        prediction = _with_signals(prediction, answer=probability, short=True, verdict=True)
        return _with_kind(prediction, word, [verdict, *prediction.candidates], word)
    if prediction.kind in ("yes", "no"):
        quoted_whole = _quoted(prediction.quotes)
        prediction = _with_signals(prediction, answer=quoted_whole.score, short=False)
        return _with_kind(prediction, "statement", [quoted_whole], None)
    return prediction


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
