"""A reader that knows its answers, and evidence for it."""

from collections.abc import Mapping, Sequence

from memnet.reader.passages import RankedSlot
from memnet.reader.spans import Passage, Reading, Span
from memnet.storage import Slot


class Answering:
    """Reads what a table says."""

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = answers

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        answer = self.answers.get(question, "")
        place = passages[0].text.find(answer) if answer else -1
        if place < 0:
            return Reading((), 0.0, 0.0, 0.0)
        return Reading((Span(0, place, place + len(answer), 0.9),), 0.0, 0.0, 1.0)


def ranked(passages: Mapping[str, str]) -> list[RankedSlot]:
    """Passages that start at character 100 of their sources."""
    slots = [
        Slot(number, "passage", str(number), "", title, text, 100, 100 + len(text), "", "")
        for number, (title, text) in enumerate(passages.items())
    ]
    return [RankedSlot(slot, 1.0, 0.5, 0.2, 1) for slot in slots]
