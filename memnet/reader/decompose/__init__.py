"""Questions of several parts: what a decomposer offers, and what comes of its sub-questions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from memnet.reader.passages import RankedSlot
from memnet.reader.spans import Reader

# Searches the memory for a further question; gives passages, best first.
LookUp = Callable[[str], Sequence[RankedSlot]]


class SubQuestion(NamedTuple):
    """A part of a question that is answered first, such as "the builder of the Orre Light"."""

    question: str
    """What the part asks: "Who built the Orre Light?"."""
    passages: tuple[RankedSlot, ...]
    """Where that is to be read."""
    about: int | None
    """The passage about what the part names, as an index; None where it names nothing, so that the
    memory has to be searched with its answer."""
    before: str
    """The words of the question before the part."""
    after: str
    """Those after it."""


class Resolved(NamedTuple):
    """A question after a sub-question was answered."""

    question: str
    """With the answer in the place of the part."""
    name: str
    """The answer."""
    passages: tuple[RankedSlot, ...]
    """Where the question is to be read now."""
    about: int | None
    """The passage about the answer, as an index into those that the hops found; None without."""
    probability: float
    """That this and all earlier answers are right, by the reader."""


class Compared(NamedTuple):
    """The outcome of a comparison."""

    answer: str
    """The one of the two that is asked for, as its passage is titled but for brackets; yes, no."""
    subject: int | None
    """The passage about it, as an index; None for yes and no."""
    probability: float
    """That the outcome is right."""
    passages: tuple[RankedSlot, ...]
    """By which it was judged: first the one about the answer, if it is one of the two."""


class Decomposer(Protocol):
    """Splits questions into parts."""

    def next(
        self, question: str, passages: Sequence[RankedSlot], resolved: Resolved | None
    ) -> SubQuestion | None:
        """The part of a question to be answered first.

        Args:
            question: in plain language, with the answers of earlier parts in their place.
            passages: what the hops found for it, best first.
            resolved: how the last part was answered; None at first.

        Returns:
            None where the question can be answered right away.
        """
        ...

    def is_comparison(self, question: str) -> bool:
        """Whether a question seems to ask which of two came first, or the like."""
        ...

    def compare(
        self, question: str, passages: Sequence[RankedSlot], reader: Reader, look_up: LookUp
    ) -> Compared | None:
        """Answer a question that compares two things.

        Args:
            question: in plain language.
            passages: what the hops found for it, best first.
            reader: reads what is compared.
            look_up: finds the passage about something that none of ``passages`` is about.

        Returns:
            None where the question asks for something else, or what is compared is missing.
        """
        ...
