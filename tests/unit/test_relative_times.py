"""Times relative to a day: what is found in a text, and which days it is."""

from calendar import monthrange
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.text.dates import DateRange, add_units
from memnet.text.relative import WEEKDAYS, day_said, times_in, with_days
from tests.toy import rows_of

_WEDNESDAY = date(2026, 3, 4)
_DAYS = st.dates(date(1900, 1, 1), date(2200, 12, 31))


def _found(text: str, reference: date = _WEDNESDAY) -> list[tuple[str, str, str]]:
    return [
        (text[place.start : place.end], str(place.days), place.role)
        for place in times_in(text, reference)
    ]


def _only(text: str, reference: date) -> DateRange:
    [place] = times_in(text, reference)
    return place.days


@pytest.mark.parametrize(("reference", "text", "expected"), rows_of("days.tsv"))
def test_a_time_is_some_days(reference: str, text: str, expected: str) -> None:
    assert [days for _, days, _ in _found(text, date.fromisoformat(reference))] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "The second run was faster.", "the second", "He was third, on the 3rd floor.",
        "May I come in?", "You may go.", "March on, he said.", "Sat down by the door.",
        "The sun sets.", "We wed in a church.", "She asked June and April.", "An august body.",
        "soon", "recently", "the other day", "a few days ago", "a couple of weeks ago",
        "half a year ago", "1.5 years ago", "every Friday", "on a Friday", "on Fridays",
        "Monday to Friday", "Mon-Fri", "on Tuesdays and Thursdays", "Good Friday", "Black Friday",
        "Sunday school", "Monday's child", "the last week of May", "the next day",
        "It was built in two years.", "twice in three weeks", "in 2000 steps", "from 2000 euros",
        "a two day trip", "five days", "next to the door", "at last", "day by day", "",
        "31 February", "in a minute", "this is it", "The week was long", "last but one",
    ],
)  # fmt: skip
def test_what_is_no_time_is_left_alone(text: str) -> None:
    assert _found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Away from Monday until the 27th, back in four weeks.",
            [
                ("Monday", "9 March 2026", "from"),
                ("the 27th", "27 March 2026", "until"),
                ("in four weeks", "1 April 2026", "at"),
            ],
        ),
        ("for two weeks", [("for two weeks", "4 to 17 March 2026", "for")]),
        ("for the next two weeks", [("the next two weeks", "4 to 17 March 2026", "for")]),
        ("ill since yesterday", [("yesterday", "3 March 2026", "from")]),
        ("starting tomorrow 9:30", [("tomorrow", "5 March 2026", "from")]),
        ("from March 2023 to 5 May 2024", [
            ("March 2023", "March 2023", "from"), ("5 May 2024", "5 May 2024", "at"),
        ]),
        ("since 2019", [("2019", "2019", "from")]),
        ("was put off until Friday", [("Friday", "6 March 2026", "at")]),
        ("was extended to Friday", [("Friday", "6 March 2026", "until")]),
        ("is booked until Friday", [("Friday", "6 March 2026", "until")]),
        ("yesterday\nand tomorrow", [
            ("yesterday", "3 March 2026", "at"), ("tomorrow", "5 March 2026", "at"),
        ]),
    ],
)  # fmt: skip
def test_times_have_their_place_and_role(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert _found(text) == expected


@given(_DAYS, st.sampled_from(WEEKDAYS))
def test_last_and_next_are_the_nearest_days_of_that_name(day: date, name: str) -> None:
    for text, days in (("last", range(-1, -8, -1)), ("next", range(1, 8))):
        beside = (day + timedelta(days=number) for number in days)
        expected = next(one for one in beside if WEEKDAYS[one.weekday()] == name)
        assert _only(f"{text} {name}", day) == DateRange(expected, expected)


_WITHIN_WEEKS = st.sampled_from(
    ["yesterday", "last Monday", "on Sunday", "this Friday", "next week", "last weekend",
     "at the weekend", "two weeks ago", "in 10 days", "the last 3 weeks", "Friday last week"]
)  # fmt: skip


@given(_DAYS, _WITHIN_WEEKS, st.integers(-100, 100))
def test_a_reference_some_weeks_later_gives_days_as_much_later(
    day: date, text: str, weeks: int
) -> None:
    later = timedelta(days=7 * weeks)
    before, after = _only(text, day), _only(text, day + later)
    assert (after.first, after.last) == (before.first + later, before.last + later)


@given(_DAYS, st.sampled_from(["week", "month", "year"]))
def test_units_of_the_calendar_follow_each_other_without_gaps(day: date, unit: str) -> None:
    last, this, following = (_only(f"{one} {unit}", day) for one in ("last", "this", "next"))
    assert this.first <= day <= this.last
    assert last.last + timedelta(days=1) == this.first
    assert this.last + timedelta(days=1) == following.first
    assert unit != "week" or {last.count, this.count, following.count} == {7}
    assert unit != "month" or this.count == monthrange(day.year, day.month)[1]


@given(_DAYS, st.integers(1, 999), st.sampled_from(["day", "week", "month", "year"]))
def test_what_is_counted_holds_the_day_that_is_counted_to(day: date, n: int, unit: str) -> None:
    for text, sign in (("{} {}s ago", -1), ("in {} {}s", 1)):
        days = _only(text.format(n, unit), day)
        to = add_units(day, sign * n, unit)
        assert days.first <= to <= days.last
        assert days.meant == DateRange(to, to)
        assert days.count == {"day": 1, "week": 1}.get(unit, days.count)


@given(_DAYS, st.one_of(st.integers(0, 40), st.integers(355, 400)))
def test_days_are_written_so_that_they_can_be_read(first_day: date, more: int) -> None:
    days = DateRange(first_day, first_day + timedelta(days=more))
    assert list(days.each())[-1] == days.last
    first, _, last = str(days).partition(" to ")
    ends = [place.days for text in (first, last) for place in times_in(f"in {text}", days.last)]
    assert ends[-1].last == days.last


@given(st.text(), st.dates())
def test_any_text_on_any_day_is_read(text: str, day: date) -> None:
    reached = 0
    for place in times_in(f"{text} next month, in 999 years, 300 weeks ago, next Friday", day):
        assert reached <= place.start < place.end
        reached = place.end
        assert place.days.first <= place.days.last


def test_the_ends_of_the_calendar_give_no_time() -> None:
    assert _found("yesterday", date.min) == []
    assert _found("last week, two years ago", date.min) == []
    assert _found("tomorrow, next month, next year, in 5 years", date.max) == []


def test_a_text_is_written_out_for_reading() -> None:
    assert with_days("What did I eat yesterday?", _WEDNESDAY) == (
        "What did I eat yesterday (3 March 2026)?"
    )
    assert with_days("Where did Ann live two years ago, not last month?", _WEDNESDAY) == (
        "Where did Ann live two years ago (4 March 2024), not last month (February 2026)?"
    )
    for same in ("Who was ill for two weeks?", "Who came on 4 March 2024?", "Who?"):
        assert with_days(same, _WEDNESDAY) == same


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("yesterday", "3 March 2026"),
        ("on Friday", "Friday, 6 March 2026"),
        ("tomorrow at 9:30", "5 March 2026, 9:30"),
        ("last week", "23 February to 1 March 2026"),
        ("since last March", "March 2025"),
        ("until the 27th.", "27 March 2026"),
        ("tomorrow at 11", "5 March 2026, at 11"),
        ("tomorrow after the race", "5 March 2026, after the race"),
        ("for two weeks", None),
        ("5 May 2024", None),
        ("yesterday in Rome", None),
        ("a boat", None),
    ],
)
def test_a_piece_that_only_says_when_is_a_day(piece: str, expected: str | None) -> None:
    text = f"Bo has it, {piece}"
    start = text.index(piece)
    assert day_said("When?", text, start, len(text), _WEDNESDAY) == expected
    assert day_said("On which day of the month?", text, start, len(text), _WEDNESDAY) is None
    bounded = expected if piece.startswith(("since", "until")) else None
    assert day_said("For how long?", text, start, len(text), _WEDNESDAY) == bounded
