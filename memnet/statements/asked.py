"""What statements say to a question, where rules see it more surely than the network does."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from memnet.reader.answers import asks_whether
from memnet.reader.codes import codes_of
from memnet.statements.judge import columns_of
from memnet.statements.parsing import parse_sentence
from memnet.statements.reading import FORMS, AnswerForm, Piece, StatementReading
from memnet.statements.things import denies_another, has_hour, stems_of
from memnet.statements.times import DENIED
from memnet.storage import Told
from memnet.text.dates import local_time
from memnet.text.names import normalise
from memnet.text.relative import times_in
from memnet.text.restated import is_opposed, names_other_times, restates

_WHETHER = re.compile(
    r"(?P<verb>do|does|is|are|am|was|were|has|have) (?P<rest>[^?]+?)"
    r"(?: (?:now|still|currently))?\?*$",
    re.IGNORECASE,
)
_DAY = r"(?:when|(?:what|which) (?:day|date|year|month))"
_WHEN = re.compile(
    rf"(?:(?P<until>(?:until|till|by) {_DAY}|how long)|(?P<day>(?:(?:on|in) )?{_DAY})) "
    r"(?:do|does|did|is|are|was|were|will|has|have) (?P<rest>[^?]+?)\?*$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?:previous|previously|former|formerly|used to)\b|\b(?:before|earlier)\W*\Z", re.IGNORECASE
)
_AFTER = 0.1  # What counts that holds, beside what has ended, for a question about what was before
# Probability of another answer to "when" above which it is left to the network
_LIKELY = 0.3
_OWNED = re.compile(r"\b(?P<owner>[^\W\d_]\w*)['’]s (?P<owned>\w+)")


def without_others(question: str, told: Sequence[Told], moment: float) -> list[Told]:
    """The statements without those about another thing than the one that a question names.

    Asked for order 12, where something is said of it, nothing is read about order 13; and whose
    favourite colour somebody's is, is not said of mine, nor where Ann lives by where she does not.
    """
    kept = [one for one in told if not _is_mine(question, one)]
    if not asks_whether(question) and not DENIED.search(question):
        kept = [one for one in kept if not any(denies_another(one, other) for other in kept)]
    if times_in(question, local_time(moment).date()):
        return kept
    codes = codes_of(question)
    if not any(codes and codes <= codes_of(one.subject) for one in kept):
        return kept
    return [one for one in kept if not (other := codes_of(one.subject)) or other & codes]


def _is_mine(question: str, one: Told) -> bool:
    """Whether a question asks for what is somebody's, and a statement tells of mine."""
    said = normalise(one.text).split()
    mine = {thing for owner, thing in pairwise(said) if owner in ("my", "our")}
    return one.speaker is None and any(
        normalise(found["owned"]) in mine and normalise(found["owner"]) not in said
        for found in _OWNED.finditer(question)
    )


def what_was(question: str, told: Sequence[Told], moment: float) -> NDArray[np.float32]:
    """What each of K statements counts for a question about what was before: [K] float32.

    What has ended counts most, of that what is about a subject that the question names; 1 for any
    other question, and where nothing has ended.
    """
    if not _BEFORE.search(question):
        return np.ones(len(told), np.float32)
    ended = [one.valid_until is not None and one.valid_until <= moment for one in told]
    asked = f" {normalise(question)} "
    named = [
        over and len(subject := normalise(one.subject)) > 1 and f" {subject} " in asked
        for one, over in zip(told, ended, strict=True)
    ]
    counted = next(filter(any, (named, ended)), [True] * len(told))
    return np.where(counted, 1.0, _AFTER).astype(np.float32)


def decided(
    question: str, told: Sequence[Told], reading: StatementReading, moment: float
) -> StatementReading:
    """A reading that says yes, no or when, where a statement says or denies just what is asked.

    "Bob has never been to Rome" denies it and contradicts nothing, and whoever "used to smoke" does
    not. Where several differ, it is left to the network.
    """
    if when := _WHEN.match(question.strip()):
        return _timed(when, told, reading, moment)
    if not asks_whether(question):
        return reading
    asked = _WHETHER.match(question.strip())
    now = asked is not None and asked["verb"].casefold() in ("do", "does", "is", "are", "am")
    found: dict[int, bool] = {}
    for index, one in enumerate(told if not times_in(question, local_time(moment).date()) else ()):
        ended = now and one.change == "end" and (one.valid_until or 0) <= moment and one.polarity
        holds = one.valid_until is None or one.valid_until > moment or _was_over(one)
        if not (holds or ended) or one.certainty not in ("is", "was"):
            continue
        said = restates(question, one.text, one.subject) if one.speaker is None else None
        if said is not None and said.sure:
            found[index] = said.yes and not ended
        elif asked is not None and _says(asked, one):
            found[index] = not (columns_of(one).negative or ended)
    if len(set(found.values())) != 1:
        return _with_ground(question, told, reading)
    return _of_form("yes" if next(iter(found.values())) else "no", reading, max(found))


def as_when(question: str) -> str:
    """A question for a day, month or year as one with "when", which the network knows better."""
    asked = _WHEN.match(question.strip())
    return question if asked is None or asked["until"] else f"When{question[asked.end('day') :]}"


def _timed(
    asked: re.Match[str], told: Sequence[Told], reading: StatementReading, moment: float
) -> StatementReading:
    """A reading that gives the time in the one statement that says what a question asks it of.

    "When is the concert?" is answered by "The concert was moved to Saturday".
    """
    places = [
        Piece(index, *place, 1.0)
        for index, one in enumerate(told)
        if (one.valid_until is None or one.valid_until > moment or one.change is None)
        and (place := _time_said(asked, one)) is not None
    ]
    # Another likely answer may be a correction: "No, on Friday".
    if len(places) != 1 or any(
        one.statement != places[0].statement
        and one.probability * (1 - reading.forms["none"]) > _LIKELY
        for one in reading.pieces[:1]
    ):
        return reading
    return _of_form("value", reading, places[0].statement)._replace(pieces=tuple(places))


def _of_form(form: AnswerForm, reading: StatementReading, needed: int) -> StatementReading:
    """A reading of a form that is sure, by the one statement that is needed for it."""
    forms = {**dict.fromkeys(FORMS, 0.0), form: 1.0}
    relevance = tuple(float(index == needed) for index in range(len(reading.relevance)))
    return reading._replace(forms=forms, relevance=relevance)


def _with_ground(
    question: str, told: Sequence[Told], reading: StatementReading
) -> StatementReading:
    """A reading without "yes" by the opposite of what is asked, or a verdict by another day."""
    text = told[int(np.argmax(reading.relevance))].text
    given = reading.form in ("yes", "no") and names_other_times(question, text)
    if given or (reading.form == "yes" and is_opposed(question, text)):
        return reading._replace(forms={**dict.fromkeys(FORMS, 0.0), "none": 1.0})
    return reading


def _time_said(asked: re.Match[str], one: Told) -> tuple[int, int] | None:
    """Where the one time stands in a statement that says what is asked; None in any other."""
    times = times_in(one.text, local_time(one.told).date())
    if len(times) != 1 or one.certainty == "maybe" or DENIED.search(one.text) or has_hour(one.text):
        return None
    [place] = times
    if place.role == "for" or (place.role == "until") != (asked["until"] is not None):
        return None
    rest = asked["rest"]
    words = stems_of(rest)
    named = set(normalise(one.subject).split()) <= set(normalise(rest).split())
    said = words <= stems_of(one.subject) or (named and words <= stems_of(one.text))
    return (place.start, place.end) if said else None


def _was_over(one: Told) -> bool:
    """Whether a statement was about what had been when it was told."""
    return one.certainty == "was" and one.valid_until == one.valid_from


def _says(asked: re.Match[str], one: Told) -> bool:
    """Whether a statement says, or denies, what a question asks, in the same words."""
    rest, subject = asked["rest"], one.subject
    if asked["verb"].casefold() in ("was", "were"):
        # "Was the shed painted?" is answered by "I painted the shed on Monday".
        thing, _, done = normalise(rest).rpartition(" ")
        if thing and f" {done} {thing} " in f"{normalise(one.text)} ":
            return True
    if not subject or not rest.casefold().startswith(f"{subject.casefold()} "):
        return False
    verb = "" if asked["verb"].casefold() in ("do", "does") else f"{asked['verb']} "
    parsed = parse_sentence(f"{subject} {verb}{rest[len(subject) + 1 :]}", subject=subject)
    own, other = columns_of(parsed), columns_of(one)
    return own.words == other.words or bool(own.liked and own.liked == other.liked)
