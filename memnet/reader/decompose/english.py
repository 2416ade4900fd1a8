"""The decomposer for English: phrases that stand for something, and comparisons of two things.

Which of two came first or lived longer, and whether both are of one country, is answered from what
is read about each.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memnet.reader.decompose import Compared, LookUp, Resolved, SubQuestion
from memnet.reader.decompose.forms import (
    BOTH_PROBABILITY,
    MASK,
    ONE_PROBABILITY,
    ROLES,
    both_attested,
    expanded_kin,
    one_attested,
    pair_of,
    phrase_of,
)
from memnet.reader.passages import RankedSlot, passages_titled, read_best, windows_of_source
from memnet.reader.spans import Reader
from memnet.runtime.device import in_background
from memnet.text.english import word_lists
from memnet.text.names import normalise
from memnet.types import Candidate

_ROLES = "|".join(ROLES)
_MAKING = (
    "released|published|founded|formed|established|opened|built|created|started|launched"
    "|completed|introduced|developed|produced|constructed|made"
)
# Words of order where they say something of the two: not in "the first ship".
_ORDER = re.compile(
    r"\b(?:(?P<first>first|earlier|earliest|older|oldest|elder|sooner)"
    r"|(?P<last>last|later|latest|younger|youngest|newer|newest|more recently))\b"
    rf"(?=\s*(?:[^\w\s]|{MASK}|$"
    rf"|(?:out of|between|than the other|to be|born|{_MAKING}|{_ROLES})\b))"
)
_OF_TWO = re.compile(r"\bor\b|\bout of\b|\bbetween\b")
_BIRTH = re.compile(r"\b(born|birth|older|oldest|elder|younger|youngest)\b")
_DEATH = re.compile(r"\b(die|died|dies|death)\b")
_MADE = re.compile(rf"\b({_MAKING})\b")
_HAPPENED = re.compile(r"\b(?:happen|occur|take place|took place|start|began|begin|begun)")
_CAME_OUT = re.compile(r"\b(?:c[ao]mes?|aired|premiered|screened|newer|newest)\b")
_ROLE = re.compile(rf"(?<!which )(?<!what )\b({_ROLES})s?\b")
# Probability that a comparison is right where something may have been misread: a wrong date seldom
# changes the order. Of 280 training questions 270 were right, and 25 of the 30 where what was read
# had a probability below a half.
_P_CORRECT_DESPITE_MISREAD = 0.8
_YEAR = re.compile(r"\b[12]\d{3}\b")
_LIVED_LONGER = re.compile(r"\blived (?:the )?long(?:er|est)\b")
_SAME_COUNTRY = re.compile(r"\bsame (?:country|nationality)\b|\bnationality the same\b")
_LOCATED = re.compile(r"\b(?:located|situated)\b")
_COUNTRY_LETTERS = 4  # Letters by which countries are compared: "Italy" and "Italian" are the same
# Words for the people of a country that begin otherwise than its name, and other names.
_COUNTRIES = dict(line for _, line in word_lists("countries.txt"))
_ASKS_BIRTH, _ASKS_DEATH = "When was {} born?", "When did {} die?"
# Years within which something was, by how many of year, month and day are written.
_PRECISION = {1: 1.0, 2: 1 / 12, 3: 0.0}
_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 2, 2))
_MAX_PASSAGES = 5  # Passages in which the answer to a phrase that names nothing is read


class _Side(NamedTuple):
    subject: int  # The passage about it, as an index
    written: str  # A date or a country, as read
    probability: float  # That all that was read for it is right
    passages: tuple[RankedSlot, ...]  # Where it was read


def is_comparison(question: str) -> bool:
    """Whether a question seems to ask which of two came first, or the like."""
    words = question.casefold()
    return _ORDER.search(words) is not None and _OF_TWO.search(words) is not None


def compare(
    question: str, passages: Sequence[RankedSlot], reader: Reader, look_up: LookUp
) -> Compared | None:
    """Answer which of two is the older, the later and the like, or whether something is so of both.

    Each of the two must be the subject of a passage, and the date or country of each must be found
    in it or, for "the film whose director was born first", in the passage about the director, which
    ``look_up`` finds. None where the question asks for something else, or something is missing.
    """
    pair = pair_of(question, passages)
    if pair is None:
        return None
    words = pair.masked.casefold()
    comparison = _Comparison(pair.indices, passages, reader, look_up)
    if pair.choice:
        if _LIVED_LONGER.search(words):
            return comparison.longer_lived()
        one = one_attested(pair, passages)
        return (
            comparison.in_order(words) if one is None else comparison.one_of(one, ONE_PROBABILITY)
        )
    if _SAME_COUNTRY.search(words):
        return comparison.same_country(words)
    if both_attested(pair, passages):
        return Compared("yes", None, BOTH_PROBABILITY, comparison.both)
    return None


@dataclass(frozen=True)
class _Comparison:
    """Two things, and where to read about them."""

    indices: tuple[int, int]
    passages: Sequence[RankedSlot]
    reader: Reader
    look_up: LookUp

    @property
    def both(self) -> tuple[RankedSlot, ...]:
        return tuple(self.passages[index] for index in self.indices)

    def one_of(self, index: int, probability: float, sides: Sequence[_Side] = ()) -> Compared:
        """One of the two as the outcome, its own passage first."""
        subject = self.passages[index]
        other = next(item for item in self.both if item is not subject)
        read = [item for side in sides for item in side.passages]
        return Compared(subject.subject, index, probability, (subject, other, *read))

    def same_country(self, words: str) -> Compared | None:
        located = _LOCATED.search(words)
        asks = "Which country is {} located in?" if located else "What is the nationality of {}?"
        sides = self._read(asks, _role(words))
        if not sides or not all(side.written[:1].isupper() for side in sides):
            return None
        one, other = sides
        same = _country(one.written) == _country(other.written)
        if located and not same:  # towns of one country are often said to be in states of it
            return None
        judged = (*self.both, *one.passages, *other.passages)
        return Compared("yes" if same else "no", None, _probability(sides), judged)

    def in_order(self, words: str) -> Compared | None:
        """The one of two that comes first or last by its date, if what is read leaves no doubt."""
        order = _ORDER.search(words)
        asks, role = _asked_date(words)
        if order is None or asks is None:
            return None
        sides = self._read(asks, role)
        dates = [date for side in sides if (date := _date(side.written)) is not None]
        if len(dates) != 2:
            return None
        shared = min(map(len, dates))
        if dates[0][:shared] == dates[1][:shared]:  # "1921" may be before or after a day of 1921
            return None
        chosen = sides[(dates[0] > dates[1]) != (order["last"] is not None)]
        return self.one_of(chosen.subject, _probability(sides), sides)

    def longer_lived(self) -> Compared | None:
        """The one of two who lived longer, if what is read of both leaves no doubt."""
        born, died = self._read(_ASKS_BIRTH), self._read(_ASKS_DEATH)
        if not born or not died:
            return None
        lives = [
            _lived(_date(start.written), _date(end.written))
            for start, end in zip(born, died, strict=True)
        ]
        for one, other in ((0, 1), (1, 0)):
            if lives[one][0] > lives[other][1]:
                return self.one_of(self.indices[one], _probability((*born, *died)))
        return None

    def _read(self, asks: str, role: str | None = None) -> list[_Side]:
        """What is compared of each of the two, asked by ``asks``; empty if not read for both.

        The question ``role`` leads from each to the one whose date or country counts.
        """
        about = [windows_of_source(index, self.passages) for index in self.indices]
        names, probabilities = [item.subject for item in self.both], [1.0, 1.0]
        if role is not None:
            people = self._read_each([role.format(name) for name in names], about)
            if people is None:
                return []
            names, probabilities = [one.text for one in people], [one.score for one in people]
            about = []
            for name in names:
                about.append(self._about(name, asks))
                if not about[-1]:
                    return []
        read = self._read_each([asks.format(name) for name in names], about)
        if read is None:
            return []
        return [
            _Side(self.indices[n], one.text, probabilities[n] * one.score, tuple(about[n][:1]))
            for n, one in enumerate(read)
        ]

    def _read_each(
        self, questions: Sequence[str], about: Sequence[Sequence[RankedSlot]]
    ) -> list[Candidate] | None:
        """The answers to a question about each, read at the same time; None without both."""
        pending = in_background(read_best, questions[1], about[1], self.reader)
        answers = [read_best(questions[0], about[0], self.reader), pending.result()]
        found = [one for one in answers if one is not None]
        return found if len(found) == len(answers) else None

    def _about(self, name: str, asks: str) -> list[RankedSlot]:
        """The passages about a name, among those given or else in the memory."""
        passages = self.passages
        indices = passages_titled(name, passages)
        if not indices:
            passages = self.look_up(asks.format(name))
            indices = passages_titled(name, passages)
        return [passages[index] for index in indices]


def _asked_date(words: str) -> tuple[str | None, str | None]:
    """The question for the date that a question about order compares, and that for a role."""
    made = _MADE.search(words)
    if _BIRTH.search(words):
        return _ASKS_BIRTH, _role(words)
    if _DEATH.search(words):
        return _ASKS_DEATH, _role(words)
    if made or _CAME_OUT.search(words):
        return f"When was {{}} {made.group(1) if made else 'released'}?", None
    if _HAPPENED.search(words):
        return "When did {} begin?", None
    return None, None


def _role(words: str) -> str | None:
    """The question for who fills the role that stands between the two and what is compared."""
    role = _ROLE.search(words)
    return ROLES[role.group(1)] if role else None


def _probability(sides: Sequence[_Side]) -> float:
    """That a comparison is right, by the probability that all that was read for it is."""
    read = math.prod(side.probability for side in sides)
    return read + (1 - read) * _P_CORRECT_DESPITE_MISREAD


def _country(written: str) -> str:
    """A country by the letters that its name and the word for its people begin with."""
    word = normalise(written)
    word = _COUNTRIES.get(word, word).split()[-1] if word else word
    return _COUNTRIES.get(word, word)[:_COUNTRY_LETTERS]


def _lived(born: tuple[int, ...] | None, died: tuple[int, ...] | None) -> tuple[float, float]:
    """The fewest and the most years between two dates; anything where one is missing."""
    if born is None or died is None:
        return 0.0, math.inf
    fewest = _years(died) - _years(born) - _PRECISION[len(born)]
    return fewest, fewest + _PRECISION[len(born)] + _PRECISION[len(died)]


def _years(date: tuple[int, ...]) -> float:
    year, month, day = (*date, 1, 1)[:3]
    return year + (month - 1) / 12 + (day - 1) / 372


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


def sub_question(
    question: str, passages: Sequence[RankedSlot], resolved: Resolved | None
) -> SubQuestion | None:
    """The phrase that stands for something, to be answered first; None without one.

    A role ("the builder of the Orre Light") is read in the passage about what it names. What is
    described otherwise ("the river that the Orre runs into") is read in the best passages.
    ``resolved`` says how the last part was answered, whose answer stands in its place.
    """
    question = expanded_kin(question)
    known = [] if resolved is None or resolved.about is None else [(resolved.name, resolved.about)]
    phrase = phrase_of(question, passages, known)
    if phrase is None:
        return None
    about = phrase.about
    where = passages[:_MAX_PASSAGES] if about is None else windows_of_source(about, passages)
    before, after = question[: phrase.start], question[phrase.end :]
    return SubQuestion(phrase.question, tuple(where), about, before, after)
