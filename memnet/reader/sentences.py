"""The sentence reader: the sentence of the evidence that answers best, judged by its words."""

import re
from collections.abc import Sequence

from memnet.config import AnswerConfig
from memnet.reader.passages import RankedSlot
from memnet.text.names import (
    maximal_names,
    mentions,
    normalise,
    stems,
    title_symbols,
    without_names,
)
from memnet.text.sentences import sentences
from memnet.types import Candidate

_STEM_LETTERS = 5
"""Words are compared by their first letters: "directed" and "director" agree."""
_ASKS_FOR_A_NUMBER = re.compile(r"\b(when|year|date|number|how (many|old|long|much|far|tall))\b")
_NUMBER = re.compile(r"\d")


def read_sentences(
    question: str, passages: Sequence[RankedSlot], config: AnswerConfig
) -> tuple[Candidate, ...]:
    """The sentences of some passages, best first.

    A question names where to start ("the builder of the Orre Light") and asks for something else
    ("was born in which town"). So a sentence is worth the score of its passage, plus the share it
    holds of the question's words other than names, plus something for bringing a number or name
    that the question does not hold, plus something if a later hop found its passage.

    Args:
        question: as asked.
        passages: best first.
        config: what each of these is worth.

    Returns:
        Each sentence as it stands in its passage; of equals the first in rank and text comes first.
    """
    asked = f" {normalise(question)} "
    named = _named(asked, passages)
    wanted = stems(without_names(question, named), _STEM_LETTERS)
    found: list[Candidate] = []
    for item in passages:
        about = title_symbols(item.slot.title)
        value = item.score + config.later_hop_weight * (item.hop > 1)
        for start, end in sentences(item.slot.text):
            sentence = item.slot.text[start:end]
            share = len(wanted & stems(sentence, _STEM_LETTERS)) / max(1, len(wanted))
            news = _brings_news(sentence, asked, about)
            score = value + config.shared_words_weight * share + config.news_weight * news
            place = item.slot.start
            found.append(
                Candidate(
                    text=sentence,
                    score=score,
                    evidence=item.slot.id,
                    start=place + start,
                    end=place + end,
                )
            )
    return tuple(sorted(found, key=lambda candidate: -candidate.score))


def _named(asked: str, passages: Sequence[RankedSlot]) -> list[str]:
    """Names of what the passages are about that the question holds."""
    names = {name for item in passages for name in title_symbols(item.slot.title)}
    return maximal_names(name for name in names if f" {name} " in asked)


def _brings_news(sentence: str, asked: str, about: Sequence[str]) -> bool:
    """Whether a sentence holds a number, or a name, of the kind and beyond what is asked."""
    if _ASKS_FOR_A_NUMBER.search(asked):
        return bool(_NUMBER.search(sentence))
    return any(f" {name} " not in asked and name not in about for name in mentions(sentence))
