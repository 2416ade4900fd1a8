"""Times of statements as people write them."""

from datetime import datetime
from typing import Final

from memnet.reader.spans import Passage
from memnet.statements.first_person import subject_of
from memnet.storage import Told
from memnet.text.places import local_time

# Not of the locale, as those of ``strftime`` are: the network has learned these.
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def day_of(time: datetime) -> str:
    """The day of a time, as the statement network reads it: "4 March 2026"."""
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}"


def period(start: datetime, end: datetime | None, whole: bool = True) -> str:
    """When a statement held, as the network reads it.

    Args:
        start: when it was told.
        end: when it was changed or ended; None while it holds.
        whole: whether all of it ended then, or a part.
    """
    if end is None:
        return day_of(start)
    return f"{day_of(start)}{'' if whole else ' partly'} until {day_of(end)}"


def dated_passage(told: Told, as_of: float | None = None) -> Passage:
    """A statement as the network reads it, with the time for which it held.

    Args:
        told: the statement.
        as_of: seconds since the epoch: what happened later is not known yet; None for all.
    """
    until = told.valid_until
    if until is not None and as_of is not None and until > as_of:
        until = None
    end = None if until is None else local_time(until)
    held = period(local_time(told.valid_from), end)
    # A speaker says "I": who that is stands beside the time, but for the user, who asks as "I" too.
    named = told.speaker is not None and subject_of(told.speaker) != "I"
    return Passage(f"{held}, {told.speaker}" if named else held, told.text)
