"""Bridges: "the builder of the Orre Light" is read first, and what is known of him then answers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memnet.reader.decompose.phrases import Phrase, expanded_kin, phrase_of
from memnet.reader.passages import RankedSlot, indices_about, windows_of
from memnet.reader.spans import Reader
from memnet.text.names import normalise

Find = Callable[[str], Sequence[RankedSlot]]
"""Gives the passages of a memory for a question, best first."""
_MOST_BRIDGES = 3
_READ_TOGETHER = 5
"""Passages that are read for what is not the subject of one."""
_READ_NEXT = 4
"""Passages that are read for a question with its phrase replaced."""
_SURE = 0.25
"""Probability from which what was read is looked for in the whole memory."""


class Bridged(NamedTuple):
    """A question with phrases replaced by what they stand for."""

    question: str
    passages: tuple[RankedSlot, ...]
    """Where its answer is to be read."""
    probability: float
    """That all that was replaced is right, by the reader."""
    name: str
    """What was read last, and put in the place of a phrase."""


class ReadText(NamedTuple):
    """What was read somewhere."""

    text: str
    probability: float


def bridge(
    question: str, passages: Sequence[RankedSlot], reader: Reader, find: Find
) -> Bridged | None:
    """Replace each phrase that stands for something by what it stands for, while that is known.

    A role ("the builder of the Orre Light") is read in the passage about what it names, and the
    question then asked of the passage about who fills it. What is described otherwise ("the river
    that the Orre runs into") is read in the best passages; the question is then asked of what the
    memory holds for it.

    Source: self-ask (Press et al. 2023) asks follow-up questions of a language model; here the
    question's own words are cut out, and a span is put in their place.

    Args:
        question: in plain language.
        passages: the evidence, best first.
        reader: reads what a phrase stands for.
        find: looks for other passages.

    Returns:
        None where the question holds no such phrase, or nothing is read for the first.
    """
    asked, found = expanded_kin(question), None
    known: list[tuple[str, int]] = []
    for _ in range(_MOST_BRIDGES):
        phrase = phrase_of(asked, passages, known)
        filled = None if phrase is None else _filled(phrase, passages, reader)
        if phrase is None or filled is None:
            return found
        about = indices_about(filled.text, passages, phrase.place)
        asked = f"{asked[: phrase.start]}{filled.text}{asked[phrase.end :]}"
        probability = filled.probability * (found.probability if found else 1.0)
        if not about and probability < _SURE:
            return found
        if not about or phrase.place is None:
            passages = find(asked)
            about = indices_about(filled.text, passages)
        known = [(filled.text, place) for place in about[:1]]
        further = _further(filled.text, about, passages)
        found = Bridged(asked, further, probability, filled.text)
    return found


def _filled(phrase: Phrase, passages: Sequence[RankedSlot], reader: Reader) -> ReadText | None:
    """What a phrase stands for: a name, if one is read at all."""
    where = (
        passages[:_READ_TOGETHER] if phrase.place is None else windows_of(phrase.place, passages)
    )
    return read_best(phrase.question, where, reader, names=True)


def _further(
    name: str, about: Sequence[int], passages: Sequence[RankedSlot]
) -> tuple[RankedSlot, ...]:
    """Passages to read next: those about a name, then those that mention it, then the best."""
    wanted = f" {normalise(name)} "
    places = range(len(passages))
    mentioned = [place for place in places if wanted in f" {normalise(passages[place].slot.text)} "]
    chosen = dict.fromkeys((*about, *mentioned) or places)
    return tuple(passages[place] for place in chosen)[:_READ_NEXT]


def read_best(
    question: str, passages: Sequence[RankedSlot], reader: Reader, names: bool = False
) -> ReadText | None:
    """The likeliest span of some passages, with its probability; None if there is none.

    With ``names`` it is the likeliest that starts with a capital letter or a digit, where one does.
    """
    spans = [
        ReadText(passages[one.passage].slot.text[one.start : one.end], one.probability)
        for one in reader.read(question, [item.passage for item in passages]).spans
    ]
    named = [one for one in spans if names and not one.text[:1].islower()]
    return next(iter(named or spans), None)
