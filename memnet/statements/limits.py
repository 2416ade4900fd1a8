"""From when and until when a statement holds, by the times that it names."""

import re
from datetime import date, datetime, timedelta
from typing import NamedTuple

from memnet.statements.times import start_of
from memnet.text.dates import Days, local_time
from memnet.text.english import Clauses
from memnet.text.relative import Role, TimePlace, times_in

# Where a sentence says more than one thing, and its time may be that of any of them.
_JOINED = re.compile(
    r"[,;:(–—]|\s-\s|\b(?:but|so|because|while|then|when|which|who|that|if)\b|"
    r"\band (?:I|we|you|he|she|it|they|the|my|our|his|her|their|is|are|has|have|will)\b",
    re.IGNORECASE,
)
# What has lasted so far: "has been ill for two weeks", "in Rome for two weeks now".
_PERFECT = re.compile(
    r"(?:\b(?:has|have)|['’]ve|['’]s) (?:not |already |now )?(?:been|had|[a-z]{2,20}ed)\b|"
    r"(?<=s) now\b",
    re.IGNORECASE,
)
# Says that something was not, or that it will not be: "no sugar for two weeks".
_DENIED = re.compile(r"\b(?:no|not|without|never)\b|n['’]t\b", re.IGNORECASE)
_ENDS = " \t\r\n,.;:!?()"


class Limits(NamedTuple):
    """When a statement holds, in seconds since the epoch; None where it does not say so."""

    valid_from: float | None = None
    valid_until: float | None = None


def limits_of(sentence: str, told: float) -> Limits:
    """When a statement holds by what it says: "since", "from", "until", "for two weeks".

    "Until Friday" includes the Friday; "until May" ends as May begins. Sentences about the past
    have no limits, as they stay true, and neither have those of several clauses, of which one may
    hold on. The time of an event ("dentist on Friday") does not limit when it is true either.

    Args:
        sentence: as told.
        told: when, in seconds since the epoch.
    """
    moment = local_time(told)
    day = moment.date()
    times = [place for place in times_in(sentence, day) if place.role != "at"]
    if not times or sentence.rstrip().endswith("?") or _has_clauses(sentence, times):
        return Limits()
    perfect = _PERFECT.search(sentence) is not None
    if Clauses(sentence).way(0) < 0 and not perfect:
        return Limits()
    by_role: dict[Role, Days] = {place.role: place.days for place in times_in(sentence, day)}
    if "for" in by_role and _DENIED.search(sentence):
        return Limits()
    begin: float | None = None
    end: float | None = None
    try:
        if "for" in by_role and perfect:
            begin = start_of(_since(by_role["for"], day))
        else:
            begin = start_of(by_role["from"].first) if "from" in by_role else None
            end = _end(by_role, moment)
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar
        return Limits()
    if begin is not None and begin < 0:
        begin = None
    if end is not None and end <= max(told, begin or 0.0):
        end = None
    return Limits(begin, end)


def _has_clauses(sentence: str, times: list[TimePlace]) -> bool:
    """Whether a sentence says more than one thing, its times left out."""
    for place in reversed(times):
        before, after = sentence[: place.start].strip(_ENDS), sentence[place.end :]
        # "From Monday, the rent is 980" is one clause, "away from Monday, the rent is paid" is two.
        sentence = f"{before} {after.lstrip(_ENDS) if ' ' not in before else after}"
    return _JOINED.search(sentence.strip(_ENDS)) is not None


def _end(by_role: dict[Role, Days], told: datetime) -> float | None:
    """When a statement with some times ends."""
    if "until" in by_role:
        days = by_role["until"]
        return start_of(days.first if days.count > 1 else days.last + timedelta(days=1))
    if "for" not in by_role:
        return None
    # "From Monday for two weeks", "on Monday for two weeks", or from now.
    begin = by_role.get("from") or by_role.get("at")
    lasting = timedelta(days=by_role["for"].count)
    return start_of(begin.first + lasting) if begin else (told + lasting).timestamp()


def _since(lasting: Days, day: date) -> date:
    """From when something has lasted until a day."""
    return lasting.first if lasting.first < day else day - timedelta(days=lasting.count)
