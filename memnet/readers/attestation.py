"""Whether what a question says of two is said in the passages about both."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memnet.ingest.names import name_pattern, stems, without_brackets
from memnet.readers.passages_about import subjects, windows_of
from memnet.readers.ranked import Ranked

_WHETHER = re.compile(r"(?:are|were|is|was|do|does|did|have|has|had|can|could)\b", re.IGNORECASE)
_WHICH = re.compile(r"(?:which|who|what|is|was)\b", re.IGNORECASE)
_MARK = "\0"
"""Stands for a name."""
_JOINED = re.compile(
    rf"{_MARK}[^\w{_MARK}]*\b(?P<by>and|or)\b[^\w{_MARK}]*(?:(?:the|an?)\b[^\w{_MARK}]*)?{_MARK}",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<!^)\b(?:[A-Z]\w+|\d+)")
_DEGREE = re.compile(
    r"\b(?:more|most|less|least|fewer|fewest|(?:bigg|clos|deep|earli|fast|few|great|heavi|high|larg"
    r"|lat|long|old|rich|short|small|tall|wid|young)(?:er|est)|first|last|before|after)\b",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"\b(?:or|same|similar|alike|different|more|less|than|other|older|younger|first|before|after"
    r"|nationality)\b",
    re.IGNORECASE,
)
"""Words of questions that set one beside the other."""
_PLURAL = re.compile(r"(?<=\w\w[^\Ws])s\b")
_SAYS_NOTHING = re.compile(
    r"^\W*\w+|\b(?:and|or|both|each|an?|the|types?|kinds?|sorts?|described|considered|known"
    r"|classified|located|found|based)\b"
)
_STEM_LETTERS = 5
_SHARE = 0.5
"""Of the words of what is said that a passage has to hold."""
PROBABILITY = 0.8
"""That the outcome is right: it was for 16 of 20 questions whether, and 15 of 15 which."""


class _Said(NamedTuple):
    """What a question says of two."""

    words: frozenset[str]
    """The first letters of its words, but for the names of the two."""
    names: frozenset[str]
    """Those of them that are names or numbers."""
    places: tuple[int, int]
    """The passages about the two."""
    held: tuple[frozenset[str], frozenset[str]]
    """Those of the words that what is found about each holds."""


def both_attested(question: str, passages: Sequence[Ranked]) -> bool | None:
    """Whether it is said of both: "Are Ann Orre and Bo Rank both Dutch poets?".

    It is if what is found about each holds at least half of the question's other words, and all of
    those that are names ("Dutch").

    Args:
        question: in plain language.
        passages: the evidence; each of the two must be the subject of one.

    Returns:
        None where the question asks for something else, or one of the two is missing.
    """
    if not _WHETHER.match(question) or _COMPARES.search(question):
        return None
    said = _said(question, passages, "and")
    if said is None:
        return None
    return all(said.names <= one and len(one) >= _SHARE * len(said.words) for one in said.held)


def one_attested(question: str, passages: Sequence[Ranked]) -> int | None:
    """Of which of two it is said: "Which poet was Dutch, Ann Orre or Bo Rank?".

    It is the one about which more of the question's other words are found; names count twice.

    Args:
        question: in plain language.
        passages: the evidence; each of the two must be the subject of one.

    Returns:
        The place of its passage; None where the question asks for something else or for a degree,
        one of the two is missing, or as much is found about both.
    """
    if not _WHICH.match(question) or _DEGREE.search(question):
        return None
    said = _said(question, passages, "or")
    if said is None:
        return None
    one, other = (len(held) + len(held & said.names) for held in said.held)
    return None if one == other else said.places[one < other]


def _said(question: str, passages: Sequence[Ranked], by: str) -> _Said | None:
    """What is said of two whose names a word joins; None where there are no such two."""
    places = subjects(question, passages)
    if len(places) != 2:
        return None
    marked = _marked(question, (passages[place].slot.title for place in places))
    joined = _JOINED.search(marked)
    said = marked.replace(_MARK, " ")
    words = _stems(_SAYS_NOTHING.sub(" ", said.casefold()))
    if joined is None or joined["by"].casefold() != by or not words:
        return None
    names = _stems(" ".join(_NAME.findall(said)))
    one, other = (words & _stems(_about(place, passages)) for place in places)
    return _Said(words, words & names, (places[0], places[1]), (one, other))


def _marked(question: str, titles: Iterable[str]) -> str:
    """A question with marks for the names of what it asks about, in full or without brackets."""
    names = {name for title in titles for name in (title, without_brackets(title))}
    for name in sorted(names, key=len, reverse=True):
        words = name_pattern(name)
        if words:
            question = re.sub(rf"\b{words}\b", _MARK, question, flags=re.IGNORECASE)
    return question


def _stems(text: str) -> frozenset[str]:
    return stems(_PLURAL.sub("", text.casefold()), _STEM_LETTERS)


def _about(place: int, passages: Sequence[Ranked]) -> str:
    return " ".join(f"{one.slot.title} {one.slot.text}" for one in windows_of(place, passages))
