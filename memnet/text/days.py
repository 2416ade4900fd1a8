"""Days as people write them: "5 January 2024", "Jan 5th", "2024-01-05", "05.01.2024"."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<![\d.]){_DAY}(?: of)?[ -]{_MONTH}\b\.?(?:[, -]{{1,2}}(?P<year>\d{{4}}))?(?!\d)",
        rf"\b{_MONTH}[ .-]{{1,2}}{_DAY}(?![\d:])(?:[, -]{{1,2}}(?P<year>\d{{4}}))?(?!\d)",
        r"(?<!\d)(?P<day>\d{1,2})\.(?P<number>\d{1,2})\.(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<year>\d{4})([-/])(?P<number>\d{1,2})\2(?P<day>\d{1,2})(?!\d)",
    )
)
"""Not 05/01/2024, which is May to some and January to others."""
_LEAP_YEAR = 2000


class WrittenDay(NamedTuple):
    """A day of a text, with the year only if it is written there."""

    year: int | None
    month: int
    day: int

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


def days_in(text: str) -> tuple[WrittenDay, ...]:
    """The days that a text writes out, each once; what is no day of the calendar is none."""
    return tuple(dict.fromkeys(_days(text)))


def _days(text: str) -> Iterator[WrittenDay]:
    for form in _FORMS:
        for found in form.finditer(text):
            parts = found.groupdict()
            name = parts.get("month")
            month = _MONTHS.index(name[:3].lower()) + 1 if name else int(parts["number"])
            year = int(parts["year"]) if parts["year"] else None
            try:
                date(year or _LEAP_YEAR, month, int(parts["day"]))
            except ValueError:
                continue
            yield WrittenDay(year, month, int(parts["day"]))
