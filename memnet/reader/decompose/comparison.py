"""Comparisons: which of two came first or lived longer, whether both are of one country.

They are answered from what is read about each.
"""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from memnet.reader.decompose.attestation import BOTH, ONE, both_attested, one_attested
from memnet.reader.decompose.bridging import Find, ReadText, read_best
from memnet.reader.decompose.pairs import MARK, pair_of
from memnet.reader.decompose.phrases import ROLES
from memnet.reader.passages import RankedSlot, indices_about, windows_of
from memnet.reader.spans import Reader
from memnet.text.names import normalise

_ROLES = "|".join(ROLES)
_MAKING = (
    "released|published|founded|formed|established|opened|built|created|started|launched"
    "|completed|introduced|developed|produced|constructed|made"
)
_ORDER = re.compile(
    r"\b(?:(?P<first>first|earlier|earliest|older|oldest|elder|sooner)"
    r"|(?P<last>last|later|latest|younger|youngest|newer|newest|more recently))\b"
    rf"(?=\s*(?:[^\w\s]|{MARK}|$"
    rf"|(?:out of|between|than the other|to be|born|{_MAKING}|{_ROLES})\b))"
)
"""Words of order where they say something of the two: not in "the first ship"."""
_OF_TWO = re.compile(r"\bor\b|\bout of\b|\bbetween\b")
_BIRTH = re.compile(r"\b(born|birth|older|oldest|elder|younger|youngest)\b")
_DEATH = re.compile(r"\b(die|died|dies|death)\b")
_MADE = re.compile(rf"\b({_MAKING})\b")
_HAPPENED = re.compile(r"\b(?:happen|occur|take place|took place|start|began|begin|begun)")
_CAME_OUT = re.compile(r"\b(?:c[ao]mes?|aired|premiered|screened|newer|newest)\b")
_ROLE = re.compile(rf"(?<!which )(?<!what )\b({_ROLES})s?\b")
_ALL_THE_SAME = 0.8
"""That a comparison is right where something may have been misread: a wrong date seldom changes the
order. Of 280 training questions 270 were right, and 25 of the 30 where what was read had a
probability below a half."""
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
    """That the outcome is right."""
    passages: tuple[RankedSlot, ...]
    """By which it was judged: first the one about the answer, if it is one of the two."""


class _Comparison(NamedTuple):
    asks: str
    """The question about each, with a place for the name."""
    latest: bool
    asks_for_role: str | None
    """The question that leads from each to the one whose date or country counts."""


class _Side(NamedTuple):
    """What is compared of one of the two."""

    place: int
    """Which of the passages is about it."""
    read: ReadText
    passages: tuple[RankedSlot, ...]
    """Where it was read."""


class _Evidence(NamedTuple):
    """What a comparison may look at."""

    places: tuple[int, int]
    """The passages about the two."""
    passages: Sequence[RankedSlot]
    reader: Reader
    find: Find


def asks_for_order(question: str) -> bool:
    """Whether a question seems to ask which of two came first, or the like."""
    words = question.casefold()
    return _ORDER.search(words) is not None and _OF_TWO.search(words) is not None


def compare(
    question: str, passages: Sequence[RankedSlot], reader: Reader, find: Find
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
    pair = pair_of(question, passages)
    if pair is None:
        return None
    words = pair.words.casefold()
    evidence = _Evidence(pair.places, passages, reader, find)
    if pair.choice:
        if _LIVED_LONGER.search(words):
            return _longer_lived(evidence)
        one = one_attested(pair, passages)
        return _in_order(words, evidence) if one is None else _one_of(one, evidence, ONE)
    if _SAME_COUNTRY.search(words):
        return _same_country(words, evidence)
    if both_attested(pair, passages):
        return Compared("yes", None, BOTH, _about_both(evidence))
    return None


def _one_of(
    place: int, evidence: _Evidence, probability: float, further: Sequence[RankedSlot] = ()
) -> Compared:
    """One of the two as the outcome, with its own passage first."""
    passages = evidence.passages
    other = next(one for one in evidence.places if one != place)
    judged = (passages[place], passages[other], *further)
    return Compared(passages[place].subject, place, probability, judged)


def _about_both(evidence: _Evidence) -> tuple[RankedSlot, ...]:
    return tuple(evidence.passages[place] for place in evidence.places)


def _same_country(words: str, evidence: _Evidence) -> Compared | None:
    places = _PLACES.search(words)
    asks = "Which country is {} located in?" if places else "What is the nationality of {}?"
    both = _read_both(_Comparison(asks, False, _role(words)), evidence)
    if both is None or not all(side.read.text[:1].isupper() for side in both):
        return None
    one, other = both
    same = _country(one.read.text) == _country(other.read.text)
    if places and not same:  # two towns of one country are often said to be in two states of it
        return None
    judged = (*_about_both(evidence), *one.passages, *other.passages)
    return Compared("yes" if same else "no", None, _probability(both), judged)


def _country(written: str) -> str:
    """A country by the letters that its name and the word for its people begin with."""
    word = normalise(written)
    word = _COUNTRIES.get(word, word).split()[-1] if word else word
    return _COUNTRIES.get(word, word)[:_COUNTRY_LETTERS]


def _in_order(words: str, evidence: _Evidence) -> Compared | None:
    comparison = _parsed(words)
    both = None if comparison is None else _read_both(comparison, evidence)
    if comparison is None or both is None:
        return None
    one, other = both
    dates = [date for side in both if (date := _date(side.read.text)) is not None]
    if len(dates) != 2:
        return None
    shared = min(map(len, dates))
    if dates[0][:shared] == dates[1][:shared]:  # "1921" may be before or after a day of 1921
        return None
    chosen = one if (dates[0] > dates[1]) == comparison.latest else other
    return _one_of(chosen.place, evidence, _probability(both), (*one.passages, *other.passages))


def _longer_lived(evidence: _Evidence) -> Compared | None:
    """The one of two who lived longer, if what is read of both leaves no doubt."""
    born, died = (
        _read_both(_Comparison(asks, False, None), evidence) for asks in (_ASKS_BIRTH, _ASKS_DEATH)
    )
    if born is None or died is None:
        return None
    lives = [
        _lived(_date(start.read.text), _date(end.read.text))
        for start, end in zip(born, died, strict=True)
    ]
    for one, other in ((0, 1), (1, 0)):
        if lives[one][0] > lives[other][1]:
            return _one_of(born[one].place, evidence, _probability((*born, *died)))
    return None


def _probability(sides: Sequence[_Side]) -> float:
    """That a comparison is right, by the probability that all that was read for it is."""
    read = math.prod(side.read.probability for side in sides)
    return read + (1 - read) * _ALL_THE_SAME


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


def _parsed(words: str) -> _Comparison | None:
    """What is compared in a question about order; None where that is unknown."""
    order = _ORDER.search(words)
    if order is None:
        return None
    role: str | None = _role(words)
    made = _MADE.search(words)
    if _BIRTH.search(words):
        asks = _ASKS_BIRTH
    elif _DEATH.search(words):
        asks = _ASKS_DEATH
    elif made or _CAME_OUT.search(words):
        asks, role = f"When was {{}} {made.group(1) if made else 'released'}?", None
    elif _HAPPENED.search(words):
        asks, role = "When did {} begin?", None
    else:
        return None
    return _Comparison(asks, order["last"] is not None, role)


def _role(words: str) -> str | None:
    """The question for who fills the role that stands between the two and what is compared."""
    role = _ROLE.search(words)
    return ROLES[role.group(1)] if role else None


def _read_both(comparison: _Comparison, evidence: _Evidence) -> tuple[_Side, _Side] | None:
    """What is compared of each of the two; None if it is not read for both."""
    one, other = (_read(comparison, place, evidence) for place in evidence.places)
    return None if one is None or other is None else (one, other)


def _read(comparison: _Comparison, place: int, evidence: _Evidence) -> _Side | None:
    """What is compared, as read for a subject, with the probability of all that was read."""
    passages, reader = evidence.passages, evidence.reader
    about = windows_of(place, passages)
    name, probability = passages[place].subject, 1.0
    if comparison.asks_for_role is not None:
        person = read_best(comparison.asks_for_role.format(name), about, reader)
        about = [] if person is None else _about(person.text, comparison, passages, evidence.find)
        if person is None or not about:
            return None
        name, probability = person
    written = read_best(comparison.asks.format(name), about, reader)
    if written is None:
        return None
    read = ReadText(written.text, probability * written.probability)
    return _Side(place, read, tuple(about[:1]))


def _about(
    name: str, comparison: _Comparison, passages: Sequence[RankedSlot], find: Find
) -> list[RankedSlot]:
    """The passages about a name, among those given or else in the memory."""
    places = indices_about(name, passages)
    if not places:
        passages = find(comparison.asks.format(name))
        places = indices_about(name, passages)
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
