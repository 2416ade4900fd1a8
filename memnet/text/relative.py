"""Times as people write them relative to a day: "yesterday", "last Tuesday", "until the 27th".

A grammar of English for what has one meaning: "soon" and "recently" are left alone, and so are days
that come back ("every Friday", "Monday to Friday"). Weeks begin on Monday, and

- "last Tuesday" is the Tuesday before the day, "next Tuesday" the one after it, never the day
  itself;
- a day without "last" or "next" ("on Tuesday", "in May") is one before in a sentence about the
  past, else one to come; after "since" it is always one before, and one that something "was moved
  to" or "put off until" always one to come;
- "last week" and "next month" are those of the calendar, "the last week" the days up to now;
- "two weeks ago" is one day, "two months ago" a month, "two years ago" a year.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from typing import Literal, NamedTuple

from memnet.text.dates import (
    MONTH,
    DateRange,
    DateSpan,
    about,
    add_units,
    date_spans,
    edge_of,
    month_of,
    one_day,
    unit_of,
    week_of,
)
from memnet.text.english import NUMBER_WORDS, Clauses, Tense

# Role of a time in its sentence: when something is, from when, until when, for how long.
Role = Literal["at", "from", "until", "for"]


class TimeSpan(NamedTuple):
    """A time in a text."""

    start: int  # Its first character, without "on", "since" and the like
    end: int  # The character after its last
    days: DateRange
    role: Role
    relative: bool  # Whether it needs a day of reference for more than its year
    # Whether it is a day of the week with nothing that says which: it may come back each week.
    weekday: bool


_Resolve = Callable[[re.Match[str], date, Tense], DateRange | None]

_NUMBERS = NUMBER_WORDS | {"a": 1, "an": 1}
_COUNT = rf"(?<![\w.,/–-])(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<unit>day|week|month|year)s?"
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SHORT = tuple(name[:3] for name in WEEKDAYS)
_WEEKDAY = "(?P<weekday>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)"
_OFFSETS = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1,
    "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0,
    "tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2,
}  # fmt: skip
_PART = "(?: (?:morning|afternoon|evening|night))?"
_EDGE = r"(?:(?:the )?(?P<edge>end|start|beginning) of )?"
_WHICH = {"last": -1, "past": -1, "this": 0, "the": 0, "coming": 1, "next": 1}
_NOT_OF = r"\b(?! of\b)"
_FOLLOWS = r"(?= ?(?:[.,;:!?)]|\Z)| (?:at|and|to|until|till|from|for|in|on|we|I|he|she|they|it)\b)"


def _day(match: re.Match[str], to: date, tense: Tense) -> DateRange:  # noqa: ARG001
    return one_day(to + timedelta(days=_OFFSETS[match["day"].lower()]))


def _weekday(match: re.Match[str], to: date, tense: Tense) -> DateRange:
    name = match["weekday"][:3].capitalize()
    which = (match.groupdict().get("which") or "").lower()
    after = (_SHORT.index(name) - to.weekday()) % 7  # 0..6 days
    if which == "this":
        return one_day(to + timedelta(days=after - 7 if tense < 0 and after else after))
    if _WHICH.get(which, tense) < 0:
        return one_day(to + timedelta(days=after - 7))
    return one_day(to + timedelta(days=after or 7))


def _weekday_of_week(match: re.Match[str], to: date, tense: Tense) -> DateRange:  # noqa: ARG001
    monday = week_of(to, _WHICH[match["which"].lower()]).first
    return one_day(monday + timedelta(days=_SHORT.index(match["weekday"][:3].capitalize())))


def _calendar(match: re.Match[str], to: date, tense: Tense) -> DateRange:
    which, unit = _WHICH[match["which"].lower()], match["unit"].lower()
    if unit == "weekend":
        if match["which"].lower() == "the":
            # The one that begins or goes on, or the last one that began.
            which = -1 if tense < 0 and to.weekday() < _SHORT.index("Sat") else 0
        sunday = week_of(to, which).last
        return DateRange(sunday - timedelta(days=1), sunday)
    days = week_of(to, which) if unit == "week" else unit_of(add_units(to, which, unit), unit)
    return edge_of(days, match["edge"])


def _rolling(match: re.Match[str], to: date, tense: Tense) -> DateRange:  # noqa: ARG001
    number = _number(match["count"] or "one")
    if _WHICH[match["which"].lower()] < 0:
        return DateRange(add_units(to, -number, match["unit"]) + timedelta(days=1), to)
    return DateRange(to, add_units(to, number, match["unit"]) - timedelta(days=1))


def _counted(match: re.Match[str], to: date, tense: Tense) -> DateRange | None:
    unit, number = match["unit"].lower(), _number(match["count"])
    if match.groupdict().get("in"):
        # "Built in two years" is how long it took.
        return None if tense < 0 else about(add_units(to, number, unit), unit)
    if not match.groupdict().get("from"):
        return about(add_units(to, -number, unit), unit)
    if match["weekday"]:
        begin = _weekday(match, to, tense).first
    else:
        begin = to + timedelta(days=_OFFSETS.get(match["from"].lower(), 0))  # "now"
    return about(add_units(begin, number, unit), unit)


def _lasting(match: re.Match[str], to: date, tense: Tense) -> DateRange:
    number, unit = _number(match["count"]), match["unit"].lower()
    if tense < 0:
        return DateRange(add_units(to, -number, unit), to)
    return DateRange(to, add_units(to, number, unit) - timedelta(days=1))


def _month(match: re.Match[str], to: date, tense: Tense) -> DateRange:
    month, year = month_of(match["month"]), to.year
    word = match["before"].lower()
    this = to.replace(day=1)
    if match["year"]:
        year = int(match["year"])
    elif word in ("from", "starting"):
        # A price "from January" is told a little before or after it begins.
        near = [date(year + years, month, 1) for years in (-1, 0, 1)]
        year = min(near, key=lambda first: abs(first - this)).year
    elif word == "last" or (tense < 0 and word not in ("next", "this")):
        year -= date(year, month, 1) > this or (word == "last" and month == to.month)
    elif word != "this":
        year += date(year, month, 1) < this or (
            word in ("next", "until", "till") and month == to.month
        )
    return edge_of(unit_of(date(year, month, 1), "month"), match["edge"])


def _year(match: re.Match[str], to: date, tense: Tense) -> DateRange:  # noqa: ARG001
    return unit_of(date(int(match["year"]), 1, 1), "year")


def _day_of_month(match: re.Match[str], to: date, tense: Tense) -> DateRange | None:
    day = int(match["day"])
    for months in range(3):  # no two months in a row have less than 31 days
        first = add_units(to.replace(day=1), -months if tense < 0 else months, "month")
        try:
            found = first.replace(day=day)
        except ValueError:
            continue
        if (found <= to) if tense < 0 else (found >= to):
            return one_day(found)
    return None


def _none(match: re.Match[str], to: date, tense: Tense) -> None:  # noqa: ARG001
    return None


_SHORT_DAY = "(?P<weekday>(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))"
_MONTH = rf"{_EDGE}{MONTH}\b(?: (?P<year>\d{{4}}))?"
_FORMS: tuple[tuple[re.Pattern[str], _Resolve], ...] = tuple(
    (re.compile(form, re.IGNORECASE), resolve)
    for form, resolve in (
        # Recurring days and names made of days are not times; they hide times that begin in them.
        (
            rf"\b(?:every|each|any|most|all|an?|black|good|ash|easter|palm|usual|other) "
            rf"{_WEEKDAY}\b",
            _none,
        ),
        (
            rf"\b{_WEEKDAY}s? ?(?:to|through|thru|and|or|-|–|/|&|,) ?"
            rf"{_WEEKDAY.replace('weekday', 'other')}s?\b",
            _none,
        ),
        (rf"\b{_WEEKDAY}(?:['’]s?\b| (?:school|club|market|paper)\b)", _none),
        (rf"\b(?P<day>{'|'.join(sorted(_OFFSETS, key=len, reverse=True))}){_PART}\b", _day),
        (rf"\b{_WEEKDAY} (?:of )?(?P<which>last|next|this) week{_NOT_OF}", _weekday_of_week),
        (rf"\b(?:(?P<which>last|past|next|this|coming) )?{_WEEKDAY}{_PART}\b", _weekday),
        (rf"\b(?P<which>last|next|this) {_SHORT_DAY}\b", _weekday),
        (rf"\b(?:on|since|from|until|till) (?P<what>{_SHORT_DAY})\b", _weekday),
        (
            rf"\b{_EDGE}(?P<which>last|next|this) (?:coming |past )?"
            rf"(?P<unit>week|weekend|month|year){_NOT_OF}",
            _calendar,
        ),
        (
            r"\b(?:the )?(?P<edge>end|start|beginning) of (?P<which>the) "
            rf"(?P<unit>week|month|year){_NOT_OF}",
            _calendar,
        ),
        (
            r"\b(?:at|on|over|during|from|until|till|by|for) "
            r"(?P<what>(?P<which>the) (?P<unit>weekend))\b",
            _calendar,
        ),
        (rf"\b(?:the (?P<which>last|past|next|coming) {_COUNT}){_NOT_OF}", _rolling),
        (rf"\bthe (?P<which>last|past) (?P<count>)(?P<unit>week|month|year){_NOT_OF}", _rolling),
        (rf"(?<!half ){_COUNT} ago\b", _counted),
        (rf"{_COUNT} from (?P<from>now|today|tomorrow|(?:next )?{_WEEKDAY})\b", _counted),
        (
            rf"(?<!once )(?<!twice )(?<!times )\b(?P<in>in) (?:about |another )?{_COUNT}"
            rf"(?:['’]s?)?(?: time)?{_NOT_OF}",
            _counted,
        ),
        (rf"\bfor (?:about |another )?{_COUNT}\b(?! (?:of|ago|from)\b)", _lasting),
        (rf"\b(?P<before>last|next|this) {_MONTH}(?!\.? ?\d)", _month),
        (
            r"\b(?P<before>since|from|until|till|in|during|starting|before|after) "
            rf"(?:(?:early|mid|late) )?(?P<what>{_MONTH})(?!\.? ?\d)",
            _month,
        ),
        (
            r"\b(?:the )?(?P<before>)(?P<edge>end|start|beginning) of "
            rf"{_MONTH.removeprefix(_EDGE)}(?!\.? ?\d)",
            _month,
        ),
        (
            r"\b(?:in|since|from|until|till|before|after) (?:the year )?"
            rf"(?P<what>(?P<year>(?:19|20)\d\d)){_FOLLOWS}",
            _year,
        ),
        (
            r"\b(?:on|since|from|until|till|by) (?P<what>the (?P<day>\d{1,2})(?:st|nd|rd|th))"
            rf"{_FOLLOWS}",
            _day_of_month,
        ),
    )
)
# Quick filter: every text with a time matches, and most texts don't.
_ANY = re.compile(
    r"day|night|tomorrow|\bthis |week|month|year|\d|\bnow\b|"
    r"\b(?:last|next|since|from|until|till|in|during|on|of|starting|before|after) "
    r"(?:the |late |early |mid |end )*(?:jan|feb|mar|apr|may|ju[nl]|aug|sep|oct|nov|dec|"
    r"mon|tue|wed|thu|fri|sat|sun)",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"\b(?:(?P<since>since)|(?P<from>from|starting|as of|as from|beginning)|"
    r"(?P<until>until|till|up to|through)|(?P<for>for))(?: on| in| the)?\s\Z",
    re.IGNORECASE,
)
_SIDE = re.compile(r"\b(before|after|since|from|until|till|in|on|during)(?: the)?\s\Z", re.I)
EVER = DateRange(date(2, 1, 1), date(9998, 1, 1))  # Days of which every zone has the time
# Ends where the time begins to which something is arranged, in whatever tense: "was moved to ".
_ARRANGED = re.compile(
    r"\b(?:(?P<until>extended|prolonged)|(?P<at>rescheduled|moved|shifted|changed|postponed|delayed|"
    r"deferred|adjourned|put (?:off|back)|pushed(?: back| out| off)?|brought forward)|scheduled|"
    r"arranged|booked|planned|fixed|set|due)\b[^.!?;\n]{0,60}?\b(?:to|until|till|for) (?:the )?\Z",
    re.IGNORECASE,
)
_ARRANGED_BEFORE = 90  # Look-behind window in characters, >= the longest match
_LONGEST_NAME = 40  # Characters of what names some days: "the day before yesterday"
_BEFORE = 20  # Look-behind window in characters, >= the longest role phrase


def times_in(text: str, reference: date) -> list[TimeSpan]:
    """The times that a text of a day of reference writes, in its order, without overlap."""
    if _ANY.search(text) is None:
        return []
    clauses = Clauses(text)
    found = [(place.start, place.end, _dated(place, reference, text)) for place in date_spans(text)]
    found += [
        (match.start(), match.end(), _place(match, resolve, reference, text, clauses))
        for form, resolve in _FORMS
        for match in form.finditer(text)
    ]
    chosen: list[TimeSpan] = []
    reached = 0
    # Of those with one start the first counts: written days, then the order of the forms.
    for start, end, place in sorted(found, key=lambda one: one[0]):
        if start >= reached:
            reached = end
            if place is not None:
                chosen.append(place)
    return chosen


def asked_times(question: str, today: date) -> list[TimeSpan]:
    """The times that a question asks about, with prepositions: "before May" is all days before."""
    found: list[TimeSpan] = []
    for place in times_in(question, today):
        side, days = _SIDE.search(question, 0, place.start), place.days.meant
        if place.role == "for" or not EVER.first < days.first <= days.last < EVER.last:
            continue
        word, one = side[1].lower() if side else "", timedelta(days=1)
        if word in ("before", "until", "till"):
            last = days.last if word != "before" and days.count == 1 else days.first - one
            days = DateRange(EVER.first, last)
        elif word in ("after", "since", "from"):
            days = DateRange(days.last + one if word == "after" else days.first, EVER.last)
        found.append(place._replace(start=side.start() if side else place.start, days=days))
    return found


def days_named(text: str, today: date) -> DateRange | None:
    """The days that a text names, and nothing else: "yesterday", "March 2024", "2024".

    "Monday" and "May" are the last ones before today; None where it names none, or says more.
    """
    for said in (f"It was {text}", f"It was in {text}") if len(text) <= _LONGEST_NAME else ():
        for place in times_in(said, today):
            if (place.start, place.end) == (len(said) - len(text), len(said)):
                return place.days.meant
    return None


def _place(
    match: re.Match[str], resolve: _Resolve, reference: date, text: str, clauses: Clauses
) -> TimeSpan | None:
    """The time that a form matches; None for what is none."""
    names = match.groupdict()
    start, end = match.span("what" if "what" in names else 0)
    role, since = _role(text, start)
    tense = -1 if since else clauses.tense_at(start)
    arranged = _ARRANGED.search(text, max(0, start - _ARRANGED_BEFORE), start)
    if arranged:
        # "Put off until Friday" is on Friday, "extended to Friday" goes on until then.
        role = "until" if arranged["until"] else "at" if arranged["at"] else role
        tense = 1 if tense < 0 else tense
    try:
        days = resolve(match, reference, tense)
    except (OverflowError, ValueError):  # at the ends of the calendar
        return None
    if days is None:
        return None
    if resolve is _lasting:
        role = "for"
    elif resolve is not _rolling and role == "for":
        role = "at"
    weekday = resolve is _weekday and not names.get("which")
    return TimeSpan(start, end, days, role, relative=not names.get("year"), weekday=weekday)


def _dated(place: DateSpan, reference: date, text: str) -> TimeSpan | None:
    """A written day; without a year the nearest one that its role permits."""
    role, since = _role(text, place.start)
    role = "at" if role == "for" else role
    written = place.day.year
    near = range(max(1, reference.year - 4), min(9_999, reference.year + 4) + 1)
    days: list[date] = []
    for year in near if written is None else (written,):
        with suppress(ValueError):  # 29 February
            days.append(date(year, place.day.month, place.day.day))
    if written is None:
        days = [
            day
            for day in days
            if not (since and day > reference) and not (role == "until" and day < reference)
        ]
    day = min(days, key=lambda day: abs(day - reference), default=None)
    if day is None:
        return None
    return TimeSpan(place.start, place.end, one_day(day), role, relative=False, weekday=False)


def _role(text: str, start: int) -> tuple[Role, bool]:
    """What a time that starts somewhere is in its sentence, and whether it is since then."""
    before = _ROLE.search(text, max(0, start - _BEFORE), start)
    if before is None:
        return "at", False
    if before["since"] or before["from"]:
        return "from", before["since"] is not None
    return ("until" if before["until"] else "for"), False


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.lower()]


# Questions about a length of time, or about something that recurs.
_AS_SAID = re.compile(
    r"\bhow (?:many|much|old|often)\b|\b(?:days?|months?) of the (?:week|month|year)\b|"
    r"\bweekdays?\b",
    re.IGNORECASE,
)
_HOW_LONG = re.compile(r"\bhow long\b", re.IGNORECASE)
# May stand beside a time in an answer that only says when.
_ALONE = re.compile(
    r"(?:(?:on|in|at|since|from|until|till|by|the|about|early|late|around)\s|[\s,.;:!?()])*"
    r"(?:(?P<hour>(?:at )?\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\b)?)[\s,.;:!?()]*)?",
    re.IGNORECASE,
)

# "next Friday before training": what else says when on that day
_BESIDE = re.compile(r",? (?P<event>(?:before|after) (?:[^\W\d_]+ ?){1,4})", re.IGNORECASE)


def with_days(text: str, reference: date) -> str:
    """A text with the days of what is relative, in parentheses: "yesterday (3 March 2026)"."""
    for place in reversed(times_in(text, reference)):
        if place.relative and place.role != "for":
            text = f"{text[: place.end]} ({place.days.meant}){text[place.end :]}"
    return text


def day_said(question: str, text: str, start: int, end: int, reference: date) -> str | None:
    """What a piece of a text says where it is a relative time and nothing else: "3 March 2026".

    An hour or event stays beside it, and the name of a day that may come back: "Friday, 6 March
    2026". None where it says something else, or how long something takes; for a question about a
    length of time, or about what comes back, it stays as said.
    """
    if _AS_SAID.search(question):
        return None
    inside = [
        place for place in times_in(text, reference) if place.start < end and start < place.end
    ]
    if len(inside) != 1 or inside[0].role == "for" or not inside[0].relative:
        return None
    [place] = inside
    if place.role == "at" and _HOW_LONG.search(question):
        return None
    before = _ALONE.fullmatch(text[start : max(start, place.start)])
    rest = text[min(end, place.end) : end]
    beside = _BESIDE.fullmatch(rest)
    after = _ALONE.fullmatch("" if beside else rest)
    if before is None or after is None:
        return None
    day = str(place.days)
    if place.weekday:
        day = f"{WEEKDAYS[place.days.first.weekday()]}, {day}"
    hour = before["hour"] or after["hour"] or ""
    said = (day, f"at {hour}" if hour.isdigit() else hour, beside["event"] if beside else "")
    return ", ".join(filter(None, said))
