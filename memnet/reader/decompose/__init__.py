"""Questions of several parts: their sub-questions, and what comes of these."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memnet.reader.passages import RankedSlot

# Searches the memory for a further question; gives passages, best first.
LookUp = Callable[[str], Sequence[RankedSlot]]


class SubQuestion(NamedTuple):
    """A part of a question that is answered first, such as "the builder of the Orre Light"."""

    question: str  # What the part asks: "Who built the Orre Light?"
    passages: tuple[RankedSlot, ...]  # Where that is to be read
    # The passage about what the part names, as an index; None where it names nothing, so that the
    # memory has to be searched with its answer
    about: int | None
    before: str  # The words of the question before the part
    after: str  # Those after it


class Resolved(NamedTuple):
    """A question after a sub-question was answered."""

    question: str  # With the answer in the place of the part
    name: str  # The answer
    passages: tuple[RankedSlot, ...]  # Where the question is to be read now
    # The passage about the answer, as an index into those that the hops found; None without
    about: int | None
    probability: float  # That this and all earlier answers are right, by the reader


class Compared(NamedTuple):
    """The outcome of a comparison."""

    # The one of the two that is asked for, as its passage is titled but for brackets; yes, no
    answer: str
    subject: int | None  # The passage about it, as an index; None for yes and no
    probability: float  # That the outcome is right
    # By which it was judged: first the one about the answer, if it is one of the two
    passages: tuple[RankedSlot, ...]
