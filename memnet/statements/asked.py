"""What statements say to a question, where rules see it more surely than the network does."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.reader.answers import asks_whether
from memnet.reader.codes import codes_of
from memnet.statements.judge import columns_of
from memnet.statements.parsing import parse_sentence
from memnet.statements.reading import FORMS, AnswerForm, StatementReading
from memnet.storage import Told
from memnet.text.dates import local_time
from memnet.text.names import normalise, subject_symbol
from memnet.text.relative import times_in
from memnet.text.restated import is_opposed, names_other_times, restates

_WHETHER = re.compile(
    r"(?P<verb>do|does|is|are|am|was|were|has|have) (?P<rest>[^?]+?)"
    r"(?: (?:now|still|currently))?\?*$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?:previous|previously|former|formerly|used to)\b|\b(?:before|earlier)\W*\Z", re.IGNORECASE
)
_AFTER = 0.1  # What counts that holds, beside what has ended, for a question about what was before
_OWNED = re.compile(r"\b(?P<owner>[^\W\d_]\w*)['’]s (?P<owned>\w+(?: \w+){0,3})")
_MINE = re.compile(r"(?:my|our) ", re.IGNORECASE)


def without_others(question: str, told: Sequence[Told], moment: float) -> list[Told]:
    """The statements without those about another thing than the one that a question names.

    Asked for order 12, where something is said of it, nothing is read about order 13; and whose
    favourite colour somebody's is, is not said of mine.
    """
    kept = [one for one in told if not _is_mine(question, one)]
    if times_in(question, local_time(moment).date()):
        return kept
    codes = codes_of(question)
    if not any(codes and codes <= codes_of(one.subject) for one in kept):
        return kept
    return [one for one in kept if not (other := codes_of(one.subject)) or other & codes]


def _is_mine(question: str, one: Told) -> bool:
    """Whether a question asks for what is somebody's, and a statement tells of mine."""
    if one.speaker is not None or not _MINE.match(one.subject):
        return False
    mine = subject_symbol(one.subject)
    return any(
        f"{normalise(found['owned'])} ".startswith(f"{mine} ")
        and normalise(found["owner"]) not in normalise(one.text).split()
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
    """A reading that says yes or no where a statement says or denies just what a question asks.

    "Bob has never been to Rome" denies it and contradicts nothing, and whoever "used to smoke" does
    not. Where several differ, it is left to the network.
    """
    if not asks_whether(question):
        return reading
    found: dict[int, bool] = {}
    asked = _WHETHER.match(question.strip())
    for index, one in enumerate(told if not times_in(question, local_time(moment).date()) else ()):
        holds = one.valid_until is None or one.valid_until > moment or _was_over(one)
        if not holds or one.certainty not in ("is", "was"):
            continue
        said = restates(question, one.text, one.subject) if one.speaker is None else None
        if said is not None and said.sure:
            found[index] = said.yes
        elif asked is not None and _says(asked, one):
            found[index] = not columns_of(one).negative
    if len(set(found.values())) != 1:
        return _with_ground(question, told, reading)
    form: AnswerForm = "yes" if next(iter(found.values())) else "no"
    forms = {**dict.fromkeys(FORMS, 0.0), form: 1.0}
    relevance = tuple(float(index == max(found)) for index in range(len(told)))
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
