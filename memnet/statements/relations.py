"""Relations of statements, by rules for English: which verbs have one value at a time.

Someone is in one place and weighs so much: a new value ends the old one. Someone likes many things:
a new value ends nothing. The rules are few and lean to the safe side: a statement that none of them
covers is only ever added.
"""

import re
from itertools import takewhile
from typing import NamedTuple

from memnet.text.english import word_lists
from memnet.text.names import normalise

# Aspects that any word may belong to: only similar words make them the same. To be ill excludes
# being well, and says nothing about being tall.
OPEN_ASPECTS = frozenset({"state", "amount"})


class Relation(NamedTuple):
    """What a predicate says about its subject."""

    words: str  # What the relation vector encodes: "X moved to Y", names and numbers left out
    # Aspects that have one value at a time; empty where there may be many values.
    aspects: frozenset[str] = frozenset()
    value: str = ""  # Normalised; empty where there may be many.
    ends: bool = False  # Whether it says that the value is valid no longer

    def same_value(self, other: "Relation") -> bool:
        """Whether the value is that of the other relation, or the start of a longer one."""
        return f"{other.value} ".startswith(f"{self.value} ")

    def shares_aspect(self, other: "Relation", *, named: bool = False) -> bool:
        """Whether both are about an aspect that has one value at a time.

        ``named`` leaves out open aspects, which any word may belong to.
        """
        shared = self.aspects & other.aspects
        return bool(shared - OPEN_ASPECTS if named else shared)


_BE = r"(?:is|are|am)"
_IN = r"(?:in|at|on|inside|near|under|behind|aboard|beside|next to|opposite|by the)"


def _verb(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:(?:has|have) )?(?:{pattern})\b ?", re.IGNORECASE)


_DAY = re.compile(
    r"(?:the (?=\d))?(?:\d{1,2}(?:st|nd|rd|th)?\.? (?:of )?)?"
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|"
    r"august|september|october|november|december|spring|summer|autumn|winter|\d{4})\b",
    re.IGNORECASE,
)
_OF_DAY = re.compile(rf"{_DAY.pattern}|\d{{1,4}}(?:st|nd|rd|th)?|the|of|on", re.IGNORECASE)
# The aspects of a verb, and whether it ends their value
_VERBS = [
    (
        frozenset(section.removeprefix("ends ").split()),
        _verb("|".join(verbs).replace("BE", _BE).replace("IN", _IN).replace("DAY", _DAY.pattern)),
        section.startswith("ends "),
    )
    for section, verbs in word_lists("verbs.txt")
]
_STATE = _verb(rf"{_BE}|becomes?|became")
_AMOUNT = _verb(r"has|have|holds?|seats?|contains?")
_ALL_VERBS = [*(verb for _, verb, _ in _VERBS), _STATE, _AMOUNT]

_NAME = re.compile(r"\b[^\W\d_a-z][\w'’.-]*(?:(?: (?:of|the|de|van|von))* [^\W\d_a-z][\w'’.-]*)*")
_NUMBER = re.compile(
    r"\b(?:\d+(?:[.,:]\d+)*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.IGNORECASE,
)
_HOUR = re.compile(r"(?:\d{1,2}(?:[:.]\d\d)?|noon|midnight)\b", re.IGNORECASE)
# States rather than places, after "is in" and the like.
_NO_PLACE = re.compile(
    r"(?:time|fire|holiday|leave|duty|strike|sale|love|danger|trouble|charge|favou?r|progress|use|"
    r"stock|top|hold|construction|repair|pressure|risk|war|peace|pain|debt|a hurry|offer|print|"
    r"colou?r|english|german|french|spanish|italian|dutch|danish|swedish|polish|russian|latin|greek|"
    r"chinese|japanese|arabic|(?:good|bad|poor) (?:shape|order|condition|health|mood))\b",
    re.IGNORECASE,
)
# Spaces match only from the start of their run, or a run of n would be read n times.
_VALUE_END = re.compile(
    r"(?<!\s)(?:\s++(?:since|because|with|and|but|after|before|last|next|yesterday|today|tomorrow|"
    r"until|when|while|where|who|which)\b|\s*+\()|[,;:!?](?=\s|$)|"
    # "Dr. Halloran" goes on.
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bMrs)(?<!\bRev)(?<!\bProf)\.(?=\s|$)",
    re.IGNORECASE,
)
_DATE = re.compile(rf"(?<!\s)\s++(?:on|in) (?:the )?{_DAY.pattern}", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|a|an) ", re.IGNORECASE)
# Roles that one may have towards several, and comparisons.
_SHARED = re.compile(
    r"\b(?:sister|brother|mother|father|parent|daughter|son|child|friend|cousin|aunt|uncle|"
    r"neighbou?r|member|author|part|one)s?\b|\bthan\b",
    re.IGNORECASE,
)
# Adjectives with many objects: one may be "afraid of" much.
_ADJECTIVE_OF = re.compile(r"(?<!\S)(?!(?:the|a|an) )\S++ (?:of|to|at|in|about|with|for|from|by)\b")
# Subjects whose value may be any word.
_ATTRIBUTE = re.compile(
    r"favou?rite|(?:number|colou?r|password|code|address|e-?mail|birthday|price|age|date|status)$",
    re.IGNORECASE,
)


def starts_relation(text: str, position: int) -> bool:
    """Whether a known verb starts at a position of a text."""
    return any(verb.match(text, position) for verb in _ALL_VERBS)


def relation_of(predicate: str, subject: str) -> Relation:
    """The relation of a predicate from its verb on, without negation: "moved to Paris"."""
    for aspects, verb, ends in _VERBS:
        match = verb.match(predicate)
        rest = predicate[match.end() :] if match else ""
        if match and (value := _value(_DATE.split(rest, maxsplit=1)[0] if ends else rest)):
            aspects = _place_or_time(aspects, match.group(), rest)
            if aspects and ("day" not in aspects or _is_day(value)):
                return Relation(f"X {match.group().strip()} Y", aspects, value, ends)
    if match := _STATE.match(predicate):
        return _state(predicate[match.end() :], subject)
    if (match := _AMOUNT.match(predicate)) and _NUMBER.match(predicate, match.end()):
        numbers = " ".join(normalise(number) for number in _NUMBER.findall(predicate))
        return Relation(f"X {_masked(predicate)}", frozenset({"amount"}), numbers)
    return Relation(f"X {_masked(predicate)}")


def split_predicate(predicate: str) -> tuple[str, tuple[str, ...]]:
    """A predicate as its relation and values: "works at", "Acme", "since 1990".

    Joined by spaces they are the predicate again.
    """
    for verb in _ALL_VERBS:
        match = verb.match(predicate)
        if match and (verb in (_STATE, _AMOUNT) or _value(predicate[match.end() :])):
            relation, rest = match.group().strip(), predicate[match.end() :]
            break
    else:
        relation, _, rest = predicate.partition(" ")
    ends = [found for one in (_VALUE_END, _DATE) if (found := one.search(rest))]
    end = min(ends, key=lambda found: found.start(), default=None)
    if end is None or not end.start() or not rest[end.start()].isspace():
        return relation, (rest,) if rest else ()
    return relation, (rest[: end.start()], rest[end.start() :].strip())


def _place_or_time(aspects: frozenset[str], verb: str, rest: str) -> frozenset[str]:
    """Aspects of "is in" and the like: a place, a day, an hour, or none."""
    if not re.match(_BE, verb, re.IGNORECASE) or "whereabouts" not in aspects:
        return aspects
    if _NO_PLACE.match(rest):
        return frozenset()
    if _HOUR.fullmatch(rest) or (verb.strip().endswith("at") and _HOUR.match(rest)):
        return frozenset({"hour"})
    return frozenset({"day"}) if _DAY.match(rest) else aspects


def _is_day(value: str) -> bool:
    """Whether a value is a day and no more than an hour: "12 may 2026", not "may street"."""
    words = takewhile(lambda word: word not in ("at", "from"), value.split())
    return all(map(_OF_DAY.fullmatch, words))


def _state(complement: str, subject: str) -> Relation:
    """The relation of what follows "is"."""
    if _ATTRIBUTE.search(subject):
        words = "Y"
    elif is_plain_name(subject):
        words = _NUMBER.sub("N", complement)
    else:
        words = _masked(complement)
    may_be_many = _ADJECTIVE_OF.match(complement) or _SHARED.search(f"{complement} {subject}")
    if may_be_many or not complement.strip():
        return Relation(f"X is {words}")
    return Relation(f"X is {words}", frozenset({"state"}), _value(complement))


def is_plain_name(subject: str) -> bool:
    """Whether a subject is a plain name, and not a description that contains one."""
    return subject in ("I", "we", "We", "you", "You") or bool(
        _NAME.fullmatch(subject) and not re.search(r"['’]s\b", subject)
    )


def _value(text: str) -> str:
    end = _VALUE_END.search(text)
    return normalise(_ARTICLE.sub("", text[: end.start() if end else None], count=1))


def _masked(text: str) -> str:
    return _NUMBER.sub("N", _NAME.sub("Y", text))
