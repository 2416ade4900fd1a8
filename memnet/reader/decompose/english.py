"""The decomposer for English: rules about phrases, and about questions that compare two things."""

from collections.abc import Sequence

from memnet.reader.decompose import Compared, LookUp, Resolved, SubQuestion
from memnet.reader.decompose.comparison import compare, is_comparison
from memnet.reader.decompose.phrases import expanded_kin, phrase_of
from memnet.reader.passages import RankedSlot, windows_of
from memnet.reader.spans import Reader

_MAX_PASSAGES = 5
"""Passages in which the answer to a phrase that names nothing is read."""


class EnglishDecomposer:
    """Finds phrases that stand for something, and comparisons; a ``Decomposer``.

    A role ("the builder of the Orre Light") is read in the passage about what it names. What is
    described otherwise ("the river that the Orre runs into") is read in the best passages.
    """

    def next(
        self, question: str, passages: Sequence[RankedSlot], resolved: Resolved | None
    ) -> SubQuestion | None:
        """The phrase of a question that stands for something."""
        question = expanded_kin(question)
        known = (
            [] if resolved is None or resolved.about is None else [(resolved.name, resolved.about)]
        )
        phrase = phrase_of(question, passages, known)
        if phrase is None:
            return None
        about = phrase.about
        where = passages[:_MAX_PASSAGES] if about is None else windows_of(about, passages)
        before, after = question[: phrase.start], question[phrase.end :]
        return SubQuestion(phrase.question, tuple(where), about, before, after)

    def is_comparison(self, question: str) -> bool:
        """Whether a question seems to ask which of two came first, or the like."""
        return is_comparison(question)

    def compare(
        self, question: str, passages: Sequence[RankedSlot], reader: Reader, look_up: LookUp
    ) -> Compared | None:
        """Which of two is the older, the later and the like, or whether something is so of both."""
        return compare(question, passages, reader, look_up)
