"""Times as messages carry them: "2024-01-05T10:00:00+02:00", "29.12.2023, 22:42:04"."""

import re
from contextlib import suppress
from datetime import datetime

from memnet.text.days import days_in

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
    try:
        moment = datetime(day.year or 0, day.month, day.day, hour, minute, second)
        return moment.timestamp()
    except (ValueError, OverflowError, OSError):
        return None
