"""A reader that knows its answers, evidence for it, and answers of several readings."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from memnet.documents.hops import answer_parts
from memnet.reader.answers import Prediction, predict_spans
from memnet.reader.decompose import Resolved
from memnet.reader.decompose.english import compare
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


def meanings(alike: Sequence[set[str]]) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """An encoder of unit vectors: the same one for texts with words that mean the same."""

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        same = [next((n for n, one in enumerate(alike) if text in one), None) for text in texts]
        rows = [n if one is None else len(texts) + one for n, one in enumerate(same)]
        return np.eye(len(texts) + len(alike), dtype=np.float32)[rows]

    return encode


def nothing(_question: str) -> list[RankedSlot]:
    """A memory that holds no other passages."""
    return []


class Memory:
    """Hops over a memory that a function stands for."""

    def __init__(self, look_up: Callable[[str], Sequence[RankedSlot]]) -> None:
        self.look_up = look_up

    def attend(
        self, passages: Sequence[RankedSlot], _about: Sequence[RankedSlot], _name: str
    ) -> tuple[RankedSlot, ...]:
        return tuple(passages)


def resolve(
    question: str,
    passages: Sequence[RankedSlot],
    reader: object,
    look_up: Callable[[str], Sequence[RankedSlot]] = nothing,
) -> list[Resolved]:
    """The question after each answer to a part of it."""
    memory: Any = Memory(look_up)
    return answer_parts(question, passages, cast(Any, reader), memory)


def predict(
    question: str,
    passages: Sequence[RankedSlot],
    reader: Any,
    look_up: Callable[[str], Sequence[RankedSlot]] = nothing,
) -> Prediction:
    """The answers that are read in passages and where their parts lead."""
    resolved = resolve(question, passages, reader, look_up)
    further = None
    if resolved:
        last = resolved[-1]
        further = reader.read(last.question, [item.passage for item in last.passages])
    compared = compare(question, passages, reader, look_up)
    reading = reader.read(question, [item.passage for item in passages])
    return predict_spans(question, passages, reading, resolved, further, compared)
