"""The sentence reader: the sentence of the evidence that answers best, judged by its words."""

from collections.abc import Sequence

from memnet.ingest.names import normalise
from memnet.ingest.windows import sentences
from memnet.readers.ranked import Ranked
from memnet.storage import query_terms
from memnet.types import Candidate

_STEM_LETTERS = 5
"""Words are compared by their first letters: "directed" and "director" agree."""
_SHARED_WORDS_WEIGHT = 0.5
"""Of the share of the question's words that a sentence holds, against the passage's own score."""


def read_sentences(question: str, passages: Sequence[Ranked]) -> tuple[Candidate, ...]:
    """The sentences of some passages, best first.

    A sentence is worth the score of its passage and the share of the question's words that it
    holds; of equals the first in rank and text wins.

    Args:
        question: as asked.
        passages: best first.

    Returns:
        Each sentence as it stands in its passage.
    """
    wanted = _stems(question)
    found = [
        Candidate(
            text=item.slot.text[start:end],
            score=item.score + _SHARED_WORDS_WEIGHT * _share(wanted, item.slot.text[start:end]),
        )
        for item in passages
        for start, end in sentences(item.slot.text)
    ]
    return tuple(sorted(found, key=lambda candidate: -candidate.score))


def _share(wanted: frozenset[str], text: str) -> float:
    return len(wanted & _stems(text)) / len(wanted) if wanted else 0.0


def _stems(text: str) -> frozenset[str]:
    return frozenset(term[:_STEM_LETTERS] for term in query_terms(normalise(text)))
