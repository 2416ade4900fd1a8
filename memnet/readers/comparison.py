"""Comparisons: which of two came first or lived longer, whether both are of one country.

They are answered from what is read about each.
"""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from memnet.ingest.names import normalise
from memnet.readers.attestation import PROBABILITY, both_attested, one_attested
from memnet.readers.bridging import Find, ReadText, read_best
from memnet.readers.extractive import Reader
from memnet.readers.passages_about import places_about, subjects, windows_of
from memnet.readers.phrases import ROLES
from memnet.readers.ranked import Ranked

_ORDER = re.compile(
    r"\b(first|earlier|earliest|before|older|oldest|elder|sooner)\b|"
    r"\b(later|latest|last|after|younger|youngest|newer|newest|more recently|more recent)\b"
)
_BIRTH = re.compile(r"\b(born|birth|older|oldest|elder|younger|youngest)\b")
_DEATH = re.compile(r"\b(die|died|dies|death)\b")
_MADE = re.compile(r"\b(released|published|founded|formed|established|opened|built|created)\b")
_ROLE = re.compile(rf"\b({'|'.join(ROLES)})s?\b")
_YEAR = re.compile(r"\b[12]\d{3}\b")
_LIVED_LONGER = re.compile(r"\blived (?:the )?long(?:er|est)\b")
_SAME_COUNTRY = re.compile(r"\bsame (?:country|nationality)\b|\bnationality the same\b")
_PLACES = re.compile(r"\b(?:located|situated)\b")
_COUNTRY_LETTERS = 4
"""By which "Italy" and "Italian" are the same."""
_COUNTRIES = {
    "danish": "denmark",
    "dutch": "netherlands",
    "england": "british",
    "english": "british",
    "finnish": "finland",
    "french": "france",
    "irish": "ireland",
    "polish": "poland",
    "scottish": "british",
    "spanish": "spain",
    "states": "america",
    "swiss": "switzerland",
    "kingdom": "british",
    "u s": "america",
    "us": "america",
    "usa": "america",
    "uk": "british",
    "welsh": "british",
}
"""Words for the people of a country that begin otherwise than its name, and other names."""
_ASKS_BIRTH, _ASKS_DEATH = "When was {} born?", "When did {} die?"
_PRECISION = {1: 1.0, 2: 1 / 12, 3: 0.0}
"""Years within which something was, by how many of year, month and day are written."""
_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 2, 2))


class Compared(NamedTuple):
    """The outcome of a comparison."""

    answer: str
    """The one of the two that is asked for, as its passage is titled but for brackets; yes, no."""
    place: int | None
    """Which of the passages is about it; None for yes and no."""
    probability: float
    """That all that was read for it is right, by the reader."""


class _Comparison(NamedTuple):
    asks: str
    """The question about each, with a place for the name."""
    latest: bool
    asks_for_role: str | None
    """The question that leads from each to the one whose date or country counts."""


def asks_for_order(question: str) -> bool:
    """Whether a question asks which of two came first, or the like."""
    return _parsed(question) is not None


def compare(
    question: str, passages: Sequence[Ranked], reader: Reader, find: Find
) -> Compared | None:
    """Answer which of two is the older, the later and the like, or whether something is so of both.

    Each of the two must be the subject of a passage, and the date or country of each must be found
    in it or, for "the film whose director was born first", in the passage about the director.

    Args:
        question: in plain language.
        passages: the evidence, best first.
        reader: reads names, dates and countries.
        find: looks for the passage about someone who is not the subject of one given.

    Returns:
        None where the question asks for something else, or a passage or what is compared is
        missing.
    """
    words = question.casefold()
    if _SAME_COUNTRY.search(words):
        return _same_country(question, passages, reader, find)
    both = both_attested(question, passages)
    if both is not None:
        return Compared("yes" if both else "no", None, PROBABILITY)
    if _LIVED_LONGER.search(words):
        return _longer_lived(question, passages, reader, find)
    one = one_attested(question, passages)
    if one is not None:
        return Compared(passages[one].subject, one, PROBABILITY)
    return _in_order(question, passages, reader, find)


def _same_country(
    question: str, passages: Sequence[Ranked], reader: Reader, find: Find
) -> Compared | None:
    words = question.casefold()
    places, role = _PLACES.search(words), _ROLE.search(words)
    asks = _Comparison(
        "Which country is {} located in?" if places else "What is the nationality of {}?",
        False,
        ROLES[role.group(1)] if role else None,
    )
    both = _read_both(asks, question, passages, reader, find)
    if both is None or not all(read.text[:1].isupper() for _, read in both):
        return None
    (_, one), (_, other) = both
    same = _country(one.text) == _country(other.text)
    if places and not same:  # two towns of one country are often said to be in two states of it
        return None
    return Compared("yes" if same else "no", None, one.probability * other.probability)


def _country(written: str) -> str:
    """A country by the letters that its name and the word for its people begin with."""
    word = normalise(written)
    word = _COUNTRIES.get(word, word).split()[-1] if word else word
    return _COUNTRIES.get(word, word)[:_COUNTRY_LETTERS]


def _in_order(
    question: str, passages: Sequence[Ranked], reader: Reader, find: Find
) -> Compared | None:
    comparison = _parsed(question)
    if comparison is None:
        return None
    both = _read_both(comparison, question, passages, reader, find)
    if both is None:
        return None
    (first, one), (second, other) = both
    dates = [date for read in (one, other) if (date := _date(read.text)) is not None]
    if len(dates) != 2:
        return None
    shared = min(map(len, dates))
    if dates[0][:shared] == dates[1][:shared]:  # "1921" may be before or after a day of 1921
        return None
    place = first if (dates[0] > dates[1]) == comparison.latest else second
    return Compared(passages[place].subject, place, one.probability * other.probability)


def _longer_lived(
    question: str, passages: Sequence[Ranked], reader: Reader, find: Find
) -> Compared | None:
    """The one of two who lived longer, if what is read of both leaves no doubt."""
    born, died = (
        _read_both(_Comparison(asks, False, None), question, passages, reader, find)
        for asks in (_ASKS_BIRTH, _ASKS_DEATH)
    )
    if born is None or died is None:
        return None
    lives = [
        _lived(_date(start.text), _date(end.text))
        for (_, start), (_, end) in zip(born, died, strict=True)
    ]
    probability = math.prod(read.probability for _, read in (*born, *died))
    for one, other, place in ((0, 1, born[0][0]), (1, 0, born[1][0])):
        if lives[one][0] > lives[other][1]:
            return Compared(passages[place].subject, place, probability)
    return None


def _lived(born: tuple[int, ...] | None, died: tuple[int, ...] | None) -> tuple[float, float]:
    """The fewest and the most years between two dates; anything where one is missing."""
    if born is None or died is None:
        return 0.0, math.inf
    fewest = _years(died) - _years(born) - _PRECISION[len(born)]
    return fewest, fewest + _PRECISION[len(born)] + _PRECISION[len(died)]


def _years(date: tuple[int, ...]) -> float:
    """When a date begins, in years."""
    year, month, day = (*date, 1, 1)[:3]
    return year + (month - 1) / 12 + (day - 1) / 372


def _parsed(question: str) -> _Comparison | None:
    words = question.casefold()
    order = _ORDER.search(words)
    if order is None or (" or " not in words and " and " not in words):
        return None
    role = _ROLE.search(words)
    made = _MADE.search(words)
    if _BIRTH.search(words):
        asks = _ASKS_BIRTH
    elif _DEATH.search(words):
        asks = _ASKS_DEATH
    else:
        asks = f"When was {{}} {made.group(1) if made else 'released'}?"
        role = None
    return _Comparison(asks, order.group(2) is not None, ROLES[role.group(1)] if role else None)


def _read_both(
    comparison: _Comparison,
    question: str,
    passages: Sequence[Ranked],
    reader: Reader,
    find: Find,
) -> list[tuple[int, ReadText]] | None:
    """The places of the two that are compared, and what is read for each; None if not for both."""
    places = subjects(question, passages)
    if len(places) != 2:
        return None
    both: list[tuple[int, ReadText]] = []
    for place in places:
        read = _read(comparison, passages, place, reader, find)
        if read is None:
            return None
        both.append((place, read))
    return both


def _read(
    comparison: _Comparison, passages: Sequence[Ranked], place: int, reader: Reader, find: Find
) -> ReadText | None:
    """What is compared, as read for a subject, with the probability of all that was read."""
    about = windows_of(place, passages)
    name, probability = passages[place].subject, 1.0
    if comparison.asks_for_role is not None:
        person = read_best(comparison.asks_for_role.format(name), about, reader)
        about = [] if person is None else _about(person.text, comparison, passages, find)
        if person is None or not about:
            return None
        name, probability = person
    written = read_best(comparison.asks.format(name), about, reader)
    if written is None:
        return None
    return ReadText(written.text, probability * written.probability)


def _about(
    name: str, comparison: _Comparison, passages: Sequence[Ranked], find: Find
) -> list[Ranked]:
    """The passages about a name, among those given or else in the memory."""
    places = places_about(name, passages)
    if not places:
        passages = find(comparison.asks.format(name))
        places = places_about(name, passages)
    return [passages[place] for place in places]


def _date(written: str) -> tuple[int, ...] | None:
    """Year, month and day, as far as they are written; None without a year."""
    from dateutil import parser  # few questions compare dates, and each start would pay for it

    year = _YEAR.search(written)
    if year is None:
        return None
    try:
        one, other = (parser.parse(written, fuzzy=True, default=default) for default in _DEFAULTS)
    except (ValueError, OverflowError):
        return (int(year.group()),)
    if one.month != other.month:  # what is not written is taken from the default
        return (one.year,)
    return (one.year, one.month) if one.day != other.day else (one.year, one.month, one.day)
