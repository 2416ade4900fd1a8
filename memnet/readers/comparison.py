"""Comparisons: which of two things came first, answered from a date read about each."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from memnet.ingest.names import normalise, title_symbols, without_brackets
from memnet.readers.bridging import ROLES, place_about, read_best
from memnet.readers.extractive import Reader
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
_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 2, 2))


class Compared(NamedTuple):
    """The outcome of a comparison."""

    answer: str
    """The one of the two that is asked for, as its passage is titled but for brackets."""
    place: int
    """Which of the passages is about it."""
    probability: float
    """That all that was read for it is right, by the reader."""


class _Comparison(NamedTuple):
    asks_for_date: str
    """The question about each, with a place for the name."""
    latest: bool
    asks_for_role: str | None
    """The question that leads from each to the one whose date counts."""


def asks_for_order(question: str) -> bool:
    """Whether a question asks which of two came first, or the like."""
    return _parsed(question) is not None


def compare(question: str, passages: Sequence[Ranked], reader: Reader) -> Compared | None:
    """Answer a question that asks which of two is the older, the later and the like.

    Each of the two must be the subject of a passage, and the date of each must be found in it or,
    for "the film whose director was born first", in the passage about the director.

    Args:
        question: in plain language.
        passages: the evidence, best first.
        reader: reads names and dates.

    Returns:
        None where the question asks for something else, or a passage or a date is missing.
    """
    comparison = _parsed(question)
    if comparison is None:
        return None
    subjects = _subjects(question, passages)
    if len(subjects) != 2:
        return None
    dated: list[tuple[tuple[int, ...], float, int]] = []
    for place in subjects:
        found = _dated(comparison, passages, place, reader)
        if found is None:
            return None
        dated.append((*found, place))
    shared = min(len(date) for date, _, _ in dated)
    if dated[0][0][:shared] == dated[1][0][:shared]:  # "1921" may be before or after a day of 1921
        return None
    _, _, place = (max if comparison.latest else min)(dated)
    name = without_brackets(passages[place].slot.title)
    return Compared(name, place, dated[0][1] * dated[1][1])


def _parsed(question: str) -> _Comparison | None:
    words = question.casefold()
    order = _ORDER.search(words)
    if order is None or (" or " not in words and " and " not in words):
        return None
    role = _ROLE.search(words)
    made = _MADE.search(words)
    if _BIRTH.search(words):
        asks = "When was {} born?"
    elif _DEATH.search(words):
        asks = "When did {} die?"
    else:
        asks = f"When was {{}} {made.group(1) if made else 'released'}?"
        role = None
    return _Comparison(asks, order.group(2) is not None, ROLES[role.group(1)] if role else None)


def _subjects(question: str, passages: Sequence[Ranked]) -> list[int]:
    """Passages about what the question names: the longest names, the best passage for each."""
    asked = f" {normalise(question)} "
    named = [
        (name, place)
        for place, item in enumerate(passages)
        for name in title_symbols(item.slot.title)
        if f" {name} " in asked
    ]
    chosen: dict[str, int] = {}
    taken: set[int] = set()
    for name, place in sorted(named, key=lambda pair: (-len(pair[0]), pair[1])):
        if f" {name} " in asked and place not in taken:
            asked = asked.replace(f" {name} ", " | ", 1)
            chosen[name] = place
            taken.add(place)
    return list(chosen.values())


def _dated(
    comparison: _Comparison, passages: Sequence[Ranked], place: int, reader: Reader
) -> tuple[tuple[int, ...], float] | None:
    """The date that counts for a subject, with the probability of all that was read."""
    name = without_brackets(passages[place].slot.title)
    probability = 1.0
    if comparison.asks_for_role is not None:
        person = read_best(comparison.asks_for_role.format(name), passages[place], reader)
        if person is None:
            return None
        name, probability = person
        about = place_about(name, passages)
        if about is None:
            return None
        place = about
    written = read_best(comparison.asks_for_date.format(name), passages[place], reader)
    date = None if written is None else _date(written[0])
    return None if written is None or date is None else (date, probability * written[1])


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
