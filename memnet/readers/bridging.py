"""Bridges: "the builder of the Orre Light" is read first, and his passage then answers."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memnet.ingest.names import normalise, title_symbols, without_brackets
from memnet.readers.extractive import Reader
from memnet.readers.ranked import Ranked

ROLES = {
    "director": "Who directed {}?",
    "performer": "Who performed {}?",
    "singer": "Who performed {}?",
    "composer": "Who composed the music of {}?",
    "author": "Who wrote {}?",
    "writer": "Who wrote {}?",
    "founder": "Who founded {}?",
    "producer": "Who produced {}?",
}
"""Questions for those that made something: as people ask them, not "who is the director of"."""
_PEOPLE = frozenset(
    """
    actor actress architect artist author boss brother builder captain ceo child coach composer
    creator daughter designer developer director discoverer editor father founder grandfather
    grandmother guitarist head host husband inventor king leader manager mayor mother narrator
    owner painter parent partner performer player president producer publisher queen screenwriter
    sculptor singer sister son songwriter spouse star successor teacher uncle wife winner writer
    """.split()
)
_NO_ROLES = frozenset(
    "beginning birth burial citizenship death end foundation name origin part start time".split()
)
"""In "the place of birth of Ann Orre" there is nothing to read first."""
_BEFORE = re.compile(
    r"(?<!\w)(?:the\s+|its\s+)?\b([a-z]+)\s+(?:of|for)\s+(?:the\s+)?"
    r"(?:film|movie|song|album|book|novel|series|band|company|city|work|game)?s?\s*[\"“']?$",
    re.IGNORECASE,
)
_AFTER = re.compile(r"^[\"”]?['’]s\s+([a-z]+)\b", re.IGNORECASE)
_MOST_BRIDGES = 3


class Bridged(NamedTuple):
    """A question whose roles have been replaced by who fills them."""

    question: str
    place: int
    """The passage about the last of them."""
    probability: float
    """That all of them are right, by the reader."""


class _Phrase(NamedTuple):
    """Words of a question, such as "the builder of the Orre Light"."""

    start: int
    end: int
    role: str
    name: str
    place: int
    """The passage about the name."""


def bridge(question: str, passages: Sequence[Ranked], reader: Reader) -> Bridged | None:
    """Replace each role of something named by who or what fills it, as long as one is known.

    Args:
        question: in plain language.
        passages: the evidence, best first; the named and the one who fills the role must each be
            the subject of one.
        reader: reads who fills a role.

    Returns:
        None where the question holds no role of something that a passage is about.
    """
    found: Bridged | None = None
    for _ in range(_MOST_BRIDGES):
        asked = found.question if found else question
        phrase = _phrase(asked, passages)
        step = None if phrase is None else _filled(asked, phrase, passages, reader)
        if step is None:
            return found
        found = step._replace(probability=step.probability * (found.probability if found else 1))
    return found


def _phrase(question: str, passages: Sequence[Ranked]) -> _Phrase | None:
    """The role of a named thing, of the longest name."""
    names = sorted(
        {
            (_title(item), place)
            for place, item in enumerate(passages)
            if _title(item) and len(normalise(_title(item))) > 1
        },
        key=lambda pair: (-len(pair[0]), pair[1]),
    )
    for name, place in names:
        words = r"\W+".join(map(re.escape, re.findall(r"\w+", name)))
        for match in re.finditer(rf"\b{words}\b(?:\s*\([^()]*\))?", question, re.IGNORECASE):
            after = _AFTER.search(question[match.end() :])
            before = _BEFORE.search(question[: match.start()])
            if after:
                start, end, role = match.start(), match.end() + after.end(), after.group(1)
            elif before:
                start, end, role = before.start(), match.end(), before.group(1)
            else:
                continue
            if role.lower() not in _NO_ROLES:
                return _Phrase(start, end, role.lower(), name, place)
    return None


def _filled(
    question: str, phrase: _Phrase, passages: Sequence[Ranked], reader: Reader
) -> Bridged | None:
    found = read_best(_asked(phrase), passages[phrase.place], reader)
    if found is None:
        return None
    text, probability = found
    about = place_about(text, passages)
    if about is None or about == phrase.place:
        return None
    rewritten = f"{question[: phrase.start]}{text}{question[phrase.end :]}"
    return Bridged(rewritten, about, probability)


def read_best(question: str, item: Ranked, reader: Reader) -> tuple[str, float] | None:
    """The likeliest span of one passage, with its probability; None if there is none."""
    reading = reader.read(question, [item.passage])
    if not reading.spans:
        return None
    best = reading.spans[0]
    return item.slot.text[best.start : best.end], best.probability


def _asked(phrase: _Phrase) -> str:
    if phrase.role in ROLES:
        return ROLES[phrase.role].format(phrase.name)
    word = "Who" if phrase.role in _PEOPLE else "What"
    return f"{word} is the {phrase.role} of {phrase.name}?"


def place_about(name: str, passages: Sequence[Ranked]) -> int | None:
    """The best passage about a name; None if there is none.

    Its title is the name, brackets left out, or else one of the two holds all words of the other:
    "Cy Dell" and "Cy Albert Dell".
    """
    wanted = normalise(name)
    for place, item in enumerate(passages):
        if wanted in title_symbols(item.slot.title):
            return place
    words = set(wanted.split())
    for place, item in enumerate(passages):
        titled = set(normalise(_title(item)).split())
        if min(len(words), len(titled)) > 1 and (words <= titled or titled <= words):
            return place
    return None


def _title(item: Ranked) -> str:
    return without_brackets(item.slot.title)
