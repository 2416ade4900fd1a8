"""What an answer's confidence is judged by."""

import re
from collections.abc import Sequence

from memnet.ingest.names import stems
from memnet.readers.confidence import Signals
from memnet.readers.extractive import Reading
from memnet.readers.ranked import Ranked
from memnet.storage import Slot
from memnet.types import Candidate

_STEM_LETTERS = 5
_NAME = re.compile(r"(?<!^)\b[A-Z][\w'’.-]+|\b\d[\d,.]*\b")
"""What is taken for a name or a number in a question, but for its first word."""
_NEAR = 150
"""Characters before an answer and after it that are near."""


def signals_of(
    question: str,
    reading: Reading,
    candidates: Sequence[Candidate],
    passages: Sequence[Ranked],
    further: Sequence[Ranked],
) -> Signals:
    """What is known about the best answer before one knows whether it is right.

    Args:
        question: as asked.
        reading: of the passages.
        candidates: answers, best first.
        passages: that were read together, best first.
        further: others in which the answer may stand.
    """
    best = candidates[0] if candidates else None
    places: dict[int | None, int] = {item.slot.id: place for place, item in enumerate(passages)}
    slots: dict[int | None, Slot] = {item.slot.id: item.slot for item in (*further, *passages)}
    slot = slots.get(best.evidence) if best is not None else None
    return Signals(
        answer=best.score if best else 0.0,
        second=candidates[1].score if len(candidates) > 1 else 0.0,
        answerable=reading.answerable,
        similarity=max((item.similarity for item in passages), default=0.0),
        named=0.0 if slot is None else _share(_names(question), f"{slot.title} {slot.text}"),
        near=0.0 if slot is None or best is None else _share(question, _around(slot, best)),
        place=0 if best is None else places.get(best.evidence, len(passages)),
    )


def _names(question: str) -> str:
    """The names and numbers of a question."""
    return " ".join(_NAME.findall(question))


def _share(words: str, text: str) -> float:
    """Share of some words, by their first letters, that a text holds; 1 where there are none."""
    wanted = stems(words, _STEM_LETTERS)
    return len(wanted & stems(text, _STEM_LETTERS)) / len(wanted) if wanted else 1.0


def _around(slot: Slot, answer: Candidate) -> str:
    """What stands near an answer in its slot."""
    if answer.start is None or answer.end is None:
        return slot.text
    start, end = answer.start - slot.start, answer.end - slot.start
    return slot.text[max(0, start - _NEAR) : end + _NEAR]
