"""Follow-up questions in a conversation: whom "she" means, by the turn before."""

import re
from collections.abc import Callable
from typing import NamedTuple

from memnet.text.english import NOT_NAMES
from memnet.text.names import maximal_names, mentions, name_pattern, normalise
from memnet.types import Answer

_PRONOUN = re.compile(
    r"\b(?:he|she|it|they|him|them|(?P<owner>his|its|their)|(?P<her>her))\b(?!['’]s)", re.IGNORECASE
)
_NO_SINGLE_NAME = re.compile(r",|\b\d+\b")
_MAX_NAMES = 3
"""Names that are tried: each is a question of its own."""


class FollowUp(NamedTuple):
    """A question with a name in the place of its pronoun."""

    question: str
    pronoun: str
    """As written: "she"."""
    name: str


def follow_ups(question: str, last: Answer | None) -> list[FollowUp]:
    """What a question with a pronoun may mean, given the turn before.

    A question that names somebody itself is left alone: its pronoun may stand for that one.

    Args:
        question: as typed.
        last: the answer before, with its question; None where nothing was asked.

    Returns:
        At most three, those with names of the last answer first; none without a pronoun.
    """
    found = _PRONOUN.search(question)
    if found is None or last is None or _names(question):
        return []
    following = normalise(question[found.end() :]).split()[:1]
    owns = found["owner"] or (found["her"] and following and following[0] not in NOT_NAMES)
    names = dict.fromkeys([*_names(last.short or ""), *_names(last.question)])
    return [
        FollowUp(
            f"{question[: found.start()]}{name}{'’s' if owns else ''}{question[found.end() :]}",
            found.group(),
            name,
        )
        for name in list(names)[:_MAX_NAMES]
    ]


def best_answer(meant: list[FollowUp], ask: Callable[[str], Answer]) -> tuple[Answer, FollowUp]:
    """Ask each of several questions, and keep the most confident answer, in doubt the first.

    An answer without a confidence is one of facts or stories, which have it or do not.
    """
    answers = [(ask(one.question), one) for one in meant]

    def confidence(pair: tuple[Answer, FollowUp]) -> float:
        answer = pair[0]
        known = 1.0 if answer.confidence is None else answer.confidence
        return -1.0 if answer.abstained else known

    return max(answers, key=confidence)


def _names(text: str) -> list[str]:
    """The names in a text, as written, in its order."""
    found: dict[str, int] = {}
    for name in mentions(text):
        words = name.split()
        while len(words) > 1 and words[0] in NOT_NAMES:  # "Is Orre", "The Orre Light"
            words = words[1:]
        place = re.search(rf"(?i)\b{name_pattern(' '.join(words))}\b", text)
        # "Orre, Hallin" are two names, and "Orre Light in 1862" is one with a year.
        if place is not None and _NO_SINGLE_NAME.search(place.group()) is None:
            found.setdefault(place.group(), place.start())
    whole = set(maximal_names(map(normalise, found)))
    return sorted((one for one in found if normalise(one) in whole), key=found.__getitem__)
