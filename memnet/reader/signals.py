"""What an answer's confidence is judged by."""

import re
from collections.abc import Iterable, Sequence

from memnet.reader.confidence import Signals
from memnet.reader.passages import RankedSlot
from memnet.reader.spans import Reading
from memnet.text.names import normalise, stems
from memnet.text.sentences import sentences
from memnet.types import Candidate

_STEM_LETTERS = 5
_NAME = re.compile(r"(?<!^)\b[A-Z][\w'’.-]+|\b\d[\d,.]*\b")
"""What is taken for a name or a number in a question, but for its first word."""


def signals_of(
    question: str,
    reading: Reading,
    candidates: Sequence[Candidate],
    passages: Sequence[RankedSlot],
    further: Sequence[RankedSlot],
    judged_by: Sequence[RankedSlot],
) -> Signals:
    """What is known about the best answer before one knows whether it is right.

    Args:
        question: as asked.
        reading: of the passages.
        candidates: answers, best first.
        passages: that were read together, best first.
        further: others in which the answer may stand.
        judged_by: those that the best answer was read or judged by, its own first.
    """
    best = candidates[0] if candidates else None
    places: dict[int | None, int] = {item.slot.id: place for place, item in enumerate(passages)}
    return Signals(
        answer=best.score if best else 0.0,
        second=candidates[1].score if len(candidates) > 1 else 0.0,
        answerable=reading.answerable,
        similarity=max((item.similarity for item in passages), default=0.0),
        overlap=_share(question, _saying(best, judged_by)),
        unknown=_unknown(question, (*passages, *further, *judged_by)),
        rank=0 if best is None else places.get(best.evidence, len(passages)),
    )


def _saying(answer: Candidate | None, judged_by: Sequence[RankedSlot]) -> str:
    """The sentences that an answer stands in, with their title; of yes and no all passages."""
    if answer is None or not judged_by:
        return ""
    slot = judged_by[0].slot
    if answer.evidence is None or answer.start is None or answer.end is None:
        return " ".join(f"{item.slot.title} {item.slot.text}" for item in judged_by)
    first, last = answer.start - slot.start, answer.end - slot.start
    inside = (
        slot.text[start:end] for start, end in sentences(slot.text) if start < last and first < end
    )
    return f"{slot.title} {' '.join(inside)}"


def _share(question: str, text: str) -> float:
    """Share of a question's words, by their first letters, that a text holds; 1 without any."""
    wanted = stems(question, _STEM_LETTERS)
    return len(wanted & _held(text)) / len(wanted) if wanted else 1.0


def _unknown(question: str, passages: Iterable[RankedSlot]) -> bool:
    """Whether a name or a number of a question stands in none of some passages."""
    named = stems(" ".join(_NAME.findall(question)), _STEM_LETTERS)
    held = _held(" ".join(f"{item.slot.title} {item.slot.text}" for item in passages))
    return not named <= held


def _held(text: str) -> frozenset[str]:
    """The first letters of all words of a text."""
    return frozenset(word[:_STEM_LETTERS] for word in normalise(text).split())
