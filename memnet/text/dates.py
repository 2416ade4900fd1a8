"""Days and times as people write them, and ranges of days: "5 January 2024", "2024-01-05"."""

import re
from calendar import monthrange
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple, Self

from dateutil.relativedelta import relativedelta

# English in every locale, unlike ``strftime``: the statement network has learned these.
MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MONTHS = tuple(name[:3].lower() for name in MONTH_NAMES)
# Part of a pattern: the name of a month, for ``month_of``.
MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
# Not 05/01/2024, which is ambiguous.
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


class DateSpan(NamedTuple):
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
    return f"{MONTH_NAMES[day.month - 1]} {day.year}"


def days_in(text: str) -> tuple[WrittenDay, ...]:
    """The days that a text writes out, each once; days that don't exist are left out."""
    return tuple(dict.fromkeys(place.day for place in date_spans(text)))


def date_spans(text: str) -> Iterator[DateSpan]:
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
            yield DateSpan(*found.span(), WrittenDay(year, month, int(parts["day"])))


@dataclass(frozen=True, slots=True)
class DateRange:
    """Days that follow each other."""

    first: date
    last: date  # Belongs to them
    # The day among them that was counted to: of "two years ago" that of the month and year.
    near: date | None = field(default=None, compare=False)

    @property
    def meant(self) -> "DateRange":
        """The day that was counted to, if one was, else all of them."""
        return self if self.near is None else DateRange(self.near, self.near)

    @property
    def count(self) -> int:
        """How many there are."""
        return (self.last - self.first).days + 1

    def each(self) -> Iterator[date]:
        """All of them, in their order."""
        return (self.first + timedelta(days=number) for number in range(self.count))

    def __str__(self) -> str:
        """As texts write them: "7 May 2023", "1 to 7 May 2023", "April 2023", "2023"."""
        first, last = self.first, self.last
        same_month = (first.year, first.month) == (last.year, last.month)
        if first == last:
            return day_name(first)
        if same_month and self.count == monthrange(first.year, first.month)[1]:
            return month_name(first)
        if (first, last) == (date(first.year, 1, 1), date(first.year, 12, 31)):
            return f"{first.year}"
        if same_month:
            return f"{first.day} to {day_name(last)}"
        begin = day_name(first)
        return f"{begin.removesuffix(f' {last.year}')} to {day_name(last)}"


def one_day(day: date) -> DateRange:
    """A day alone."""
    return DateRange(day, day)


def start_of(day: date) -> float:
    """The start of a day of this machine's zone, in seconds since the epoch."""
    return datetime.combine(day, time()).timestamp()


def week_of(day: date, weeks: int) -> DateRange:
    """The week of a day, or one some weeks later."""
    monday = day + timedelta(days=7 * weeks - day.weekday())
    return DateRange(monday, monday + timedelta(days=6))


def unit_of(day: date, unit: str) -> DateRange:
    """The month or year of a day."""
    first = day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)
    return DateRange(first, add_units(first, 1, unit) - timedelta(days=1))


def about(day: date, unit: str) -> DateRange:
    """What "two years ago" and the like mean: of months and years all, else the day."""
    return replace(unit_of(day, unit), near=day) if unit in ("month", "year") else one_day(day)


def add_units(day: date, number: int, unit: str) -> date:
    """A day some days, weeks, months or years later; the last of the month where it has no such."""
    unit = unit.lower()
    if unit in ("day", "week"):
        return day + timedelta(days=number * (7 if unit == "week" else 1))
    return day + relativedelta(months=number * (12 if unit == "year" else 1))


def edge_of(days: DateRange, edge: str | None) -> DateRange:
    """All of some days, or the first or last of them."""
    if not edge:
        return days
    return one_day(days.last if edge.lower() == "end" else days.first)


_CLOCK = re.compile(
    r"(?<![\d:])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?!\d)"
    r"(?: ?(?P<half>[ap])\.?m\b)?",
    re.IGNORECASE,
)
_HALF_DAY = 12


def written_moment(text: str) -> float | None:
    """The time that a text writes out, in seconds since the epoch; None where it is not clear.

    ISO 8601, or a day with its year and perhaps a time of day. Without a zone it is the local time
    of this machine, and in the hour that a change of clocks skips the time after it; without a time
    of day the start of the day. Years that a calendar of four digits does not have are none.
    """
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromisoformat(text.strip()).timestamp()
    days = [day for day in days_in(text) if day.year is not None]
    if len(days) != 1:
        return None
    [day] = days
    hour = minute = second = 0
    if clock := _CLOCK.search(text):
        hour, minute, second = (int(clock[part] or 0) for part in ("hour", "minute", "second"))
        if clock["half"] and 1 <= hour <= _HALF_DAY:
            hour = hour % _HALF_DAY + _HALF_DAY * (clock["half"].lower() == "p")
    with suppress(ValueError, OverflowError, OSError):
        return datetime(day.year or 0, day.month, day.day, hour, minute, second).timestamp()
    return None


def local_time(seconds: float) -> datetime:
    """A time in seconds since the epoch as that of this machine's zone, or else of UTC."""
    moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
    # Windows knows the local time of some years only.
    with suppress(OSError, OverflowError, ValueError):
        moment = moment.astimezone()
    return moment
