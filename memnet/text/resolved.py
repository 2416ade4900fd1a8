"""Relative times of texts written out as days."""

import re
from datetime import date

from memnet.text.relative import WEEKDAYS, times_in

_AS_SAID = re.compile(
    r"\bhow (?:long|many|much|old|often)\b|\b(?:days?|months?) of the (?:week|month|year)\b|"
    r"\bweekdays?\b",
    re.IGNORECASE,
)
"""In questions for a length of time, or for what comes back."""
_ALONE = re.compile(
    r"(?:(?:on|in|at|since|from|until|till|by|the|about|early|late|around)\s|[\s,.;:!?()])*"
    r"(?:(?P<hour>(?:at )?\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\b)?)[\s,.;:!?()]*)?",
    re.IGNORECASE,
)
"""What may stand beside a time in an answer that says nothing but when."""


def with_days(text: str, reference: date) -> str:
    """A text with the days of what is relative, in parentheses: "yesterday (3 March 2026)"."""
    for place in reversed(times_in(text, reference)):
        if place.relative and place.role != "for":
            text = f"{text[: place.end]} ({place.days.meant}){text[place.end :]}"
    return text


def day_said(question: str, text: str, start: int, end: int, reference: date) -> str | None:
    """What a piece of a text says where it is a relative time and nothing else: "3 March 2026".

    An hour stays beside it, and the name of a day that may come back: "Friday, 6 March 2026".

    Args:
        question: that it answers; for a length of time, or what comes back, it stays as said.
        text: as written.
        start: the first character of the piece.
        end: the character after its last.
        reference: the day on which it was written.

    Returns:
        None where it says something else, or how long something takes.
    """
    if _AS_SAID.search(question):
        return None
    inside = [
        place for place in times_in(text, reference) if place.start < end and start < place.end
    ]
    if len(inside) != 1 or inside[0].role == "for" or not inside[0].relative:
        return None
    [place] = inside
    before = _ALONE.fullmatch(text[start : max(start, place.start)])
    after = _ALONE.fullmatch(text[min(end, place.end) : end])
    if before is None or after is None:
        return None
    day = str(place.days)
    if place.weekday:
        day = f"{WEEKDAYS[place.days.first.weekday()]}, {day}"
    return ", ".join(filter(None, (day, before["hour"] or after["hour"])))
