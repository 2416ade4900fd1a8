"""Days as people write them: "5 January 2024", "Jan 5th", "2024-01-05", "05.01.2024"."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple, Self

# Not of the locale, as those of ``strftime`` are: the statement network has learned these.
_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MONTHS = tuple(name[:3].lower() for name in _NAMES)
# Part of a pattern: the name of a month, for ``month_of``.
MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
# Not 05/01/2024, which is May to some and January to others.
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<![\d.]){_DAY}(?: of)?[ -]{MONTH}\b\.?(?:[, -]{{1,2}}(?P<year>\d{{4}}))?(?!\d)",
        rf"\b{MONTH}[ .-]{{1,2}}{_DAY}(?![\d:])(?:[, -]{{1,2}}(?P<year>\d{{4}}))?(?!\d)",
        r"(?<!\d)(?P<day>\d{1,2})\.(?P<number>\d{1,2})\.(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<year>\d{4})([-/])(?P<number>\d{1,2})\2(?P<day>\d{1,2})(?!\d)",
    )
)
_LEAP_YEAR = 2000


class WrittenDay(NamedTuple):
    """A day of a text, with the year only if it is written there."""

    year: int | None
    month: int
    day: int

    @classmethod
    def of(cls, day: date) -> Self:
        """A day of the calendar."""
        return cls(day.year, day.month, day.day)

    def full(self) -> date | None:
        """The day of the calendar; None where its year is not known."""
        return None if self.year is None else date(self.year, self.month, self.day)

    def names(self) -> tuple[str, ...]:
        """By which days are compared: "2024-01-05" where the year is known, and "01-05"."""
        alone = f"{self.month:02}-{self.day:02}"
        return (alone,) if self.year is None else (f"{self.year:04}-{alone}", alone)

    def next_to(self) -> tuple["WrittenDay", ...]:
        """The days before and after it."""
        try:
            own = date(self.year or _LEAP_YEAR, self.month, self.day)
            beside = (own - timedelta(days=1), own + timedelta(days=1))
        except OverflowError:  # at the ends of the calendar
            return ()
        return tuple(WrittenDay(self.year and one.year, one.month, one.day) for one in beside)


class DayPlace(NamedTuple):
    """A written day, and where it stands."""

    start: int  # Its first character in the text
    end: int  # The character after its last
    day: WrittenDay


def month_of(name: str) -> int:
    """The month, 1..12, of a name that ``MONTH`` matches."""
    return _MONTHS.index(name[:3].lower()) + 1


def day_name(day: date) -> str:
    """A day as texts write it: "4 March 2026"."""
    return f"{day.day} {month_name(day)}"


def month_name(day: date) -> str:
    """The month of a day: "March 2026"."""
    return f"{_NAMES[day.month - 1]} {day.year}"


def days_in(text: str) -> tuple[WrittenDay, ...]:
    """The days that a text writes out, each once; what is no day of the calendar is none."""
    return tuple(dict.fromkeys(place.day for place in day_places(text)))


def day_places(text: str) -> Iterator[DayPlace]:
    """The days that a text writes out, as often as it does, with their places; in no order."""
    for form in _FORMS:
        for found in form.finditer(text):
            parts = found.groupdict()
            name = parts.get("month")
            month = month_of(name) if name else int(parts["number"])
            year = int(parts["year"]) if parts["year"] else None
            try:
                date(year or _LEAP_YEAR, month, int(parts["day"]))
            except ValueError:
                continue
            yield DayPlace(*found.span(), WrittenDay(year, month, int(parts["day"])))
