"""Times of statements: as the network reads them, as a question asks for them, and as limits."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memnet.reader.spans import Passage
from memnet.storage import Told
from memnet.text.dates import DateRange, day_name, local_time, one_day, start_of
from memnet.text.english import Clauses
from memnet.text.names import normalise, subject_of
from memnet.text.relative import EVER, Role, TimeSpan, asked_times, times_in

# What a statement counts that held on the days of a question, and one that did not, beside one that
# is about them.
_HELD, _OTHER = 0.03, 0.00001
_TO_COME = re.compile(
    r"\b(?:when|will|shall|start\w*|begin\w*|going to|gonna|plan\w*|new|next|from|soon|later|"
    r"change[ds]?|future)\b|['’]ll\b",
    re.IGNORECASE,
)


def period(start: datetime, end: datetime | None, whole: bool = True) -> str:
    """When a statement held, or all but a part of it, as the network reads it: "4 March 2026"."""
    if end is None:
        return day_name(start)
    return f"{day_name(start)}{'' if whole else ' partly'} until {day_name(end)}"


def dated_passage(told: Told, moment: float, changed: float | None = None) -> Passage:
    """A statement as the network reads it, with the day of its telling and that of its end.

    "Tomorrow" and "since 2019" are said of the day of the telling, wherever its validity begins.
    What ends after ``moment`` has not ended; ``changed`` is when a part of it ceased to hold.
    """
    whole = told.valid_until is not None
    until = told.valid_until if whole else changed
    end = None if until is None or until > moment else local_time(until)
    held = period(local_time(told.told), end, whole)
    who = _who(told)
    return Passage(f"{held}, {who}" if who else held, told.text)


def _who(told: Told) -> str:
    """Whom a statement is about, where its text alone does not say it; empty where it does."""
    if told.speaker is not None:
        # A speaker says "I", and so does the user, who asks as "I" too.
        return "" if subject_of(told.speaker) == "I" else told.speaker
    words = normalise(told.text).split()
    return "" if set(normalise(told.subject).split()) <= set(words) else told.subject


def times_at(text: str, moment: float) -> list[TimeSpan]:
    """The times that a text of a moment, in seconds since the epoch, writes."""
    return times_in(text, local_time(moment).date())


def days_asked(question: str, moment: float) -> list[DateRange]:
    """The days that a question of a moment asks about; none where it names none."""
    return [place.days for place in asked_times(question, local_time(moment).date())]


def weights_in_time(question: str, told: Sequence[Told], moment: float) -> NDArray[np.float32]:
    """How far the times of K statements match a question's: [K] float32, 1 where it has none."""
    asked = days_asked(question, moment) or [EVER]
    return np.array([max(_match(one, days) for days in asked) for one in told], np.float32)


def of_their_time(question: str, told: Sequence[Told], moment: float) -> list[Told]:
    """The statements without those that a question about now, or about some days, is not about.

    "5 mg from tomorrow" is left out of what is read for "What is the dose?" as long as what it is
    to replace still holds; all others that begin later are read. Of statements that took each
    other's place those are read for "in 2022" that held then, if any did.
    """
    if asked := days_asked(question, moment):
        by = {one.id: one.changed_by for one in told if one.change == "supersede"}

        def newest(slot: int | None) -> int | None:
            return newest(by[slot]) if slot in by else slot

        held = {one.id for one in told if any(_match(one, days) > _OTHER for days in asked)}
        replaced = {newest(slot) for slot in held}
        return [one for one in told if one.id in held or newest(one.id) not in replaced]
    if _TO_COME.search(question) or times_at(question, moment):
        return list(told)
    to_replace = {
        one.changed_by for one in told if one.valid_until is not None and one.valid_until > moment
    }
    return [one for one in told if one.valid_from <= moment or one.id not in to_replace]


def _match(told: Told, days: DateRange) -> float:
    """How far a statement is about some days: by its own times, else when it was told or held."""
    day = local_time(told.told).date()
    own = [place.days for place in times_in(told.text, day) if place.role == "at"]
    if any(overlap(one, days) for one in own or [one_day(day)]):
        return 1.0
    begun = local_time(told.valid_from).date() <= days.last
    ended = told.valid_until is not None and local_time(told.valid_until).date() <= days.first
    if not begun or ended:
        return _OTHER
    return 1.0 if not own and (days.first == EVER.first or days.last == EVER.last) else _HELD


def overlap(one: DateRange, other: DateRange) -> bool:
    """Whether some days are among others."""
    return one.first <= other.last and other.first <= one.last


# Joints of a sentence that says several things: its time may be that of any of them.
_JOINED = re.compile(
    r"[,;:(–—]|\s-\s|\b(?:but|so|because|while|then|when|which|who|that|if)\b|"
    r"\band (?:I|we|you|he|she|it|they|the|my|our|his|her|their|is|are|has|have|will)\b",
    re.IGNORECASE,
)
# Something that has lasted so far: "has been ill for two weeks", "in Rome for two weeks now".
_PERFECT = re.compile(
    r"(?:\b(?:has|have)|['’]ve|['’]s) (?:not |already |now )?(?:been|had|[a-z]{2,20}ed)\b|"
    r"(?<=s) now\b",
    re.IGNORECASE,
)
# Says that something was not, or that it will not be: "no sugar for two weeks".
DENIED = re.compile(r"\b(?:no|not|without|never)\b|n['’]t\b", re.IGNORECASE)
_ENDS = " \t\r\n,.;:!?()"


def limits_of(sentence: str, told: float) -> tuple[float | None, float | None]:
    """From when until when a statement told at a time holds by its "since", "from", "until", "for".

    In seconds since the epoch; None where it does not say so.

    "Until Friday" includes the Friday; "until May" ends as May begins. Sentences about the past
    have no limits, as they stay true, and neither have those of several clauses, of which one may
    hold on. The time of an event ("dentist on Friday") does not limit when it is true either.
    """
    moment = local_time(told)
    day = moment.date()
    written = times_in(sentence, day)
    by_role: dict[Role, DateRange] = {place.role: place.days for place in written}
    times = [place for place in written if place.role != "at"]
    if not times or sentence.rstrip().endswith("?") or _has_clauses(sentence, times):
        return None, None
    perfect = _PERFECT.search(sentence) is not None
    past = Clauses(sentence).tense_at(0) < 0 and not perfect
    lasting = by_role.get("for")
    if past or (lasting and DENIED.search(sentence)):
        return None, None
    begin: float | None = None
    end: float | None = None
    try:
        if lasting and perfect:  # Until now
            first = lasting.first if lasting.first < day else day - timedelta(days=lasting.count)
            begin = start_of(first)
        else:
            begin = start_of(by_role["from"].first) if "from" in by_role else None
            end = _end(by_role, moment)
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar
        return None, None
    if begin is not None and begin < 0:
        begin = None
    if end is not None and end <= max(told, begin or 0.0):
        end = None
    return begin, end


def day_of_change(sentence: str, told: float) -> float | None:
    """The start of the day on which something in the past came about, if it says one such day.

    "Ann moved to Kestle on 3 May 2023", told at a time later than that, in seconds since the epoch.
    """
    day = local_time(told).date()
    times = times_in(sentence, day)
    dated = len(times) == 1 and times[0].role == "at" and not times[0].relative
    if (
        not dated
        or times[0].days.last >= day
        or Clauses(sentence).tense_at(0) >= 0
        or _has_clauses(sentence, times)
    ):
        return None
    try:
        return max(0.0, start_of(times[0].days.first))
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar
        return None


def _has_clauses(sentence: str, times: list[TimeSpan]) -> bool:
    """Whether a sentence says more than one thing, its times left out."""
    for place in reversed(times):
        before, after = sentence[: place.start].strip(_ENDS), sentence[place.end :]
        # "From Monday, the rent is 980" is one clause, "away from Monday, the rent is paid" is two.
        sentence = f"{before} {after.lstrip(_ENDS) if ' ' not in before else after}"
    return _JOINED.search(sentence.strip(_ENDS)) is not None


def _end(by_role: dict[Role, DateRange], told: datetime) -> float | None:
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
