"""Times of statements as people write them."""

from datetime import datetime

from memnet.reader.spans import Passage
from memnet.storage import Told
from memnet.text.days import day_name
from memnet.text.places import local_time


def day_of(time: datetime) -> str:
    """The day of a time, as the statement network reads it: "4 March 2026"."""
    return day_name(time)


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
    """A statement as the network reads it, with the day of its telling and that of its end.

    "Tomorrow" and "since 2019" are said of the day of the telling, wherever its validity begins.

    Args:
        told: the statement.
        as_of: seconds since the epoch: what happened later is not known yet; None for all.
    """
    until = told.valid_until
    if until is not None and as_of is not None and until > as_of:
        until = None
    end = None if until is None else local_time(until)
    return Passage(period(local_time(told.told), end), told.text)
