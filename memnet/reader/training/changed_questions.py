"""Questions changed a little, so that their passage no longer answers them."""

import random
import re
from collections.abc import Sequence

NAME = re.compile(r"\b[A-Z][\w'’.-]+(?: [A-Z][\w'’.-]+)*|\b[12]\d{3}\b|\b\d[\d,.]*\d\b")
"""What is taken for a name or a number in a passage."""
_OPPOSITES = (
    ("first", "last"), ("largest", "smallest"), ("most", "least"),
    ("highest", "lowest"), ("longest", "shortest"), ("biggest", "smallest"), ("north", "south"),
    ("northern", "southern"), ("east", "west"), ("eastern", "western"), ("before", "after"),
    ("more", "fewer"), ("larger", "smaller"), ("higher", "lower"), ("increase", "decrease"),
    ("increased", "decreased"), ("won", "lost"), ("win", "lose"), ("begin", "end"),
    ("started", "ended"), ("male", "female"), ("father", "mother"), ("son", "daughter"),
    ("oldest", "youngest"), ("major", "minor"), ("maximum", "minimum"), ("early", "late"),
    ("rich", "poor"), ("best", "worst"), ("created", "destroyed"), ("joined", "left"),
)  # fmt: skip
_OPPOSITE = {one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])}
_WORD = re.compile(r"\w+")
_OPENINGS = frozenset("who whom whose what when where which why how in on at".split())


def changed_question(
    question: str, text: str, answers: Sequence[str], chance: random.Random
) -> str | None:
    """A question that a passage does not answer, though it has the words for it.

    A name or number that the passage shares with the question becomes another one of the passage,
    or a word its opposite.

    Source: Rajpurkar et al. 2018, table 1 (kinds of questions that have no answer).

    Args:
        question: that the passage answers.
        text: of the passage.
        answers: right ones, which the question doesn't come to hold.
        chance: of the choice.

    Returns:
        None where nothing can be changed.
    """
    changes = [*_other_names(question, text, answers), *_opposites(question)]
    return chance.choice(changes) if changes else None


def _other_names(question: str, text: str, answers: Sequence[str]) -> list[str]:
    names = {match.group().rstrip(".") for match in NAME.finditer(text)}
    said = " ".join([question, *answers]).casefold()
    others = sorted(name for name in names if name.casefold() not in said)
    return [
        question.replace(name, other, 1)
        for name in sorted(names)
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question)
        and name.casefold() not in _OPENINGS
        for other in others
        if _shape(name) == _shape(other) and name not in other
    ]


def _shape(name: str) -> tuple[bool, int]:
    """Whether it is a number, and how long that is; else of how many words it is."""
    number = name[0].isdigit()
    return number, len(name) if number else min(len(name.split()), 2)


def _opposites(question: str) -> list[str]:
    if " or " in question:  # The opposite of a choice has an answer, too.
        return []
    return [
        f"{question[: word.start()]}{_OPPOSITE[word.group()]}{question[word.end() :]}"
        for word in _WORD.finditer(question)
        if word.group() in _OPPOSITE
    ]
