"""Follow-ups: questions that mean by "she" or "And Ann?" what the turn before was about."""

import re
from collections.abc import Callable
from typing import NamedTuple

from memnet.text.english import NOT_NAMES
from memnet.text.names import maximal_names, mentions, name_pattern, normalise
from memnet.types import Answer, Value

_PRONOUN = re.compile(
    r"\b(?:he|she|it|they|him|them|(?P<owner>his|its|their)|(?P<her>her))\b(?!['’]s)", re.IGNORECASE
)
# "And Ann?" asks the same of Ann as the turn before of somebody else.
_SAME_OF = re.compile(
    r"(?:and (?:what about )?|what about |how about )(?:the )?(\S.{0,80})\?", re.IGNORECASE
)
_NO_SINGLE_NAME = re.compile(r",|\b\d+\b")
_MAX_MEANT = 3  # names that are tried: each is a question of its own


class Asked(Value):
    """The turn before a question."""

    question: str
    short: str | None = None  # as of its answer


class FollowUp(NamedTuple):
    """A question with a name in the place of its pronoun."""

    question: str
    pronoun: str  # as written: "she"
    name: str


def follow_ups(question: str, last: Asked | None) -> list[FollowUp]:
    """What a question may mean, given the turn before: at most three readings.

    A pronoun may mean a name, and "And Ann?" the previous question with that name in it.

    Names of the answer come first. A question that has a name itself is left alone: its pronoun may
    refer to that one.
    """
    if last is None:
        return []
    asks_same = _SAME_OF.fullmatch(question.strip())
    if asks_same is not None and _names(asked_of := asks_same[1].strip()) == [asked_of]:
        return [
            FollowUp(last.question.replace(name, asked_of, 1), asks_same[0], asked_of)
            for name in _names(last.question)[:_MAX_MEANT]
        ]
    found = _PRONOUN.search(question)
    if found is None or _names(question):
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
        for name in list(names)[:_MAX_MEANT]
    ]


def answer_after(
    question: str, last: Asked | None, ask: Callable[[str], Answer]
) -> tuple[Answer, FollowUp | None]:
    """The most confident answer to what a question may mean, in doubt the first, and what that is.

    An answer without a confidence is one of facts or stories, which have it or do not.
    """
    meant = follow_ups(question, last)
    if not meant:
        return ask(question), None

    def confidence(pair: tuple[Answer, FollowUp]) -> float:
        answer = pair[0]
        known = 1.0 if answer.confidence is None else answer.confidence
        return -1.0 if answer.abstained else known

    return max(((ask(one.question), one) for one in meant), key=confidence)


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
