"""Bridges: "the builder of the Orre Light" is read first, and what is known of him then answers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memnet.ingest.names import normalise, title_symbols
from memnet.readers.extractive import Reader
from memnet.readers.phrases import Phrase, expanded_kin, phrase_of
from memnet.readers.ranked import Ranked

Find = Callable[[str], Sequence[Ranked]]
"""Gives the passages of a memory for a question, best first."""
_MOST_BRIDGES = 3
_READ_TOGETHER = 3
"""Passages that are read for what is not the subject of one."""
_SURE = 0.25
"""Probability from which what was read is looked for in the whole memory."""


class Bridged(NamedTuple):
    """A question with phrases replaced by what they stand for."""

    question: str
    passages: tuple[Ranked, ...]
    """Where its answer is to be read."""
    probability: float
    """That all that was replaced is right, by the reader."""
    name: str
    """What was read last, and put in the place of a phrase."""


class ReadText(NamedTuple):
    """What was read somewhere."""

    text: str
    probability: float


def bridge(question: str, passages: Sequence[Ranked], reader: Reader, find: Find) -> Bridged | None:
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
        about = place_about(filled.text, passages, phrase.place)
        asked = f"{asked[: phrase.start]}{filled.text}{asked[phrase.end :]}"
        probability = filled.probability * (found.probability if found else 1.0)
        if about is None and probability < _SURE:
            return found
        if about is None or phrase.place is None:
            passages, known = find(asked), []
            found = Bridged(asked, tuple(passages[:_READ_TOGETHER]), probability, filled.text)
        else:
            known = [(filled.text, about)]
            found = Bridged(asked, (passages[about],), probability, filled.text)
    return found


def _filled(phrase: Phrase, passages: Sequence[Ranked], reader: Reader) -> ReadText | None:
    place = phrase.place
    where = passages[:_READ_TOGETHER] if place is None else [passages[place]]
    return read_best(phrase.question, where, reader)


def read_best(question: str, passages: Sequence[Ranked], reader: Reader) -> ReadText | None:
    """The likeliest span of some passages, with its probability; None if there is none."""
    reading = reader.read(question, [item.passage for item in passages])
    if not reading.spans:
        return None
    best = reading.spans[0]
    return ReadText(passages[best.passage].slot.text[best.start : best.end], best.probability)


def place_about(name: str, passages: Sequence[Ranked], apart: int | None = None) -> int | None:
    """The best passage about a name; None if there is none.

    Its title is the name, brackets left out, or else one of the two holds all words of the other:
    "Cy Dell" and "Cy Albert Dell". The passage ``apart`` is none.
    """
    wanted = normalise(name)
    others = [(place, item) for place, item in enumerate(passages) if place != apart]
    for place, item in others:
        if wanted in title_symbols(item.slot.title):
            return place
    words = set(wanted.split())
    for place, item in others:
        titled = set(normalise(item.subject).split())
        if min(len(words), len(titled)) > 1 and (words <= titled or titled <= words):
            return place
    return None
