"""Days that follow each other, and where weeks, months and years of the calendar begin."""

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from dateutil.relativedelta import relativedelta

from memnet.text.days import day_name, month_name


@dataclass(frozen=True, slots=True)
class Days:
    """Days that follow each other."""

    first: date
    last: date  # Belongs to them
    # The day among them that was counted to: of "two years ago" that of the month and year.
    near: date | None = field(default=None, compare=False)

    @property
    def meant(self) -> "Days":
        """The day that was counted to, if one was, else all of them."""
        return self if self.near is None else Days(self.near, self.near)

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
        same_year = first.year == last.year
        same_month = same_year and first.month == last.month
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


def one_day(day: date) -> Days:
    """A day alone."""
    return Days(day, day)


def week_of(day: date, weeks: int) -> Days:
    """The week of a day, or one some weeks later."""
    monday = day + timedelta(days=7 * weeks - day.weekday())
    return Days(monday, monday + timedelta(days=6))


def unit_of(day: date, unit: str) -> Days:
    """The month or year of a day."""
    first = day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)
    return Days(first, shifted(first, 1, unit) - timedelta(days=1))


def about(day: date, unit: str) -> Days:
    """What "two years ago" and the like mean: of months and years all, else the day."""
    return replace(unit_of(day, unit), near=day) if unit in ("month", "year") else one_day(day)


def shifted(day: date, number: int, unit: str) -> date:
    """A day some days, weeks, months or years later; the last of the month where it has no such."""
    unit = unit.lower()
    if unit in ("day", "week"):
        return day + timedelta(days=number * (7 if unit == "week" else 1))
    return day + relativedelta(months=number * (12 if unit == "year" else 1))


def cut(days: Days, edge: str | None) -> Days:
    """All of some days, or the first or last of them."""
    if not edge:
        return days
    return one_day(days.last if edge.lower() == "end" else days.first)
