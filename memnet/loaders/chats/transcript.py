"""Transcripts and logs of chats as plain text: a line "Ann: See you at 5" for each turn."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from memnet.loaders.chats.chat import Message
from memnet.loaders.chats.whatsapp import LOG_LEVELS

_TIME = (
    r"(?:(?P<day>\d{4}-\d{2}-\d{2})[T ,]{0,2})?"
    r"(?:(?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:[.,]\d{1,3})?(?:\s?[APap]\.?[Mm]\.?)?Z?)?"
)
_NAME = r"[^\W_](?:[^\s:<>\[\](){}|=\"]|[^\S\n](?=[^\s:])){0,48}"
_TURN = re.compile(
    # "[12:03] Ann: text", "2024-03-01 12:03:10 Ann: text", "**Ann:** text", "**[12:03] Ann:** text"
    rf"(?:\*\*(?=[\[(]))?[\[(]?{_TIME}[\])]?[\s\-–]{{0,3}}"
    rf"(?:<(?P<nick>[^<>\s]{{1,40}})>\s|\*\*(?P<bold>{_NAME})(?::\*\*|\*\*:)|(?P<name>{_NAME})"
    r"(?:\s[\[(](?P<after>\d{1,2}:\d{2}(?::\d{2})?)[\])])?\s?:(?:\*\*)?(?=\s|$))\s*(?P<text>.*)"
)
_HEAD = 400  # lines by which a text is told to be a transcript
_MIN_TURNS = 4
_MIN_SHARE = 0.5  # of the lines, or of the first lines of paragraphs, that begin a turn
_MANY_FIELDS = 3
_MIN_TURNS_EACH = 2  # on average of all speakers; the terms of a list of definitions come once each
_MIN_WORDS = 2  # of a turn, on average
# Share of turns whose speaker can be told from the one before, where more than two speak.
_MAX_EXPECTED = 0.85
_MAX_SPEAKERS = 40
_MAX_WORDS = 4
_QUESTIONS = frozenset({"q", "question"})
# First words of lines in letters, records and notes that are no names of speakers.
_FIELDS = frozenset(
    "abstract address attendees author cc changes comment comments copyright date description "
    "duration email example examples fax file files fix fixes format from homepage http https "
    "id isbn key keywords license location maintainer meeting name note notes package "
    "participants path phone present price recorded reply-to result see size source status "
    "subject summary tag tags time tip title to todo topic transcript type update updates url "
    "usage value venue version warning website".split()
)


class _Turn(NamedTuple):
    speaker: str
    text: str
    day: str
    time: str


def is_transcript(text: str) -> bool:
    """Whether a text is evidently a transcript: most lines are turns of a few speakers."""
    lines = text[:60_000].splitlines()[:_HEAD]
    filled = [line for line in lines if line.strip()]
    firsts = [
        line
        for at, line in enumerate(lines)
        if line.strip() and (not at or not lines[at - 1].strip())
    ]
    labels = Counter(found.speaker.lower() for line in filled if (found := _labelled(line)))
    if any(labels[name] >= _MANY_FIELDS for name in _FIELDS):
        return False  # a list of records
    if labels.keys() & _QUESTIONS:
        return False  # answers to questions: each pair is best read as it stands
    for part in (filled, firsts):
        turns = [turn for line in part if (turn := _turn(line))]
        if len(turns) >= max(_MIN_TURNS, _MIN_SHARE * len(part)):
            words = sum(len(turn.text.split()) for turn in turns)
            return words >= _MIN_WORDS * len(turns) and _is_talk([turn.speaker for turn in turns])
    return False


def read_transcript(text: str) -> list[Message]:
    """The turns of a transcript; lines that begin none belong to the turn before."""
    return list(_messages(text))


def _messages(text: str) -> Iterator[Message]:
    turn: _Turn | None = None
    lines: list[str] = []
    first = 1
    for number, line in enumerate(text.split("\n"), 1):
        found = _turn(line)
        if found is None:
            lines.append(line)
            continue
        yield from _message(turn, lines, first)
        turn, lines, first = found, [found.text], number
    yield from _message(turn, lines, first)


def _message(turn: _Turn | None, lines: Sequence[str], first: int) -> Iterator[Message]:
    said = "\n".join(line.rstrip() for line in lines).strip()
    if not said:
        return
    if turn is None:  # what stands above the first turn
        yield Message("", said, place=f"line {first}")
    elif turn.day:
        yield Message(turn.speaker, said, turn.day)
    else:
        place = f"{turn.time} {turn.speaker}" if turn.time else f"line {first}"
        yield Message(turn.speaker, said, place=place)


def _turn(line: str) -> _Turn | None:
    """The turn that a line begins, if it does."""
    turn = _labelled(line)
    return None if turn is None or turn.speaker.lower() in _FIELDS else turn


def _labelled(line: str) -> _Turn | None:
    """A line with a label before its text: that of a turn, or of a field."""
    found = _TURN.match(line.rstrip())
    if found is None:
        return None
    speaker = (found["nick"] or found["bold"] or found["name"]).strip()
    if found["time"] and speaker.startswith("From "):  # "From Ann to Everyone"
        speaker = speaker.removeprefix("From ").partition(" to ")[0]
    if len(speaker.split()) > _MAX_WORDS or speaker.isdecimal():
        return None
    if found["name"] and speaker[0].islower():  # a key of settings: "width: 3"
        return None
    time = found["time"] or found["after"] or ""
    return _Turn(speaker, found["text"], found["day"] or "", time)


def _is_talk(speakers: Sequence[str]) -> bool:
    """Whether the names before the colons are those of people who talk with each other."""
    counts = Counter(speakers)
    if not 2 <= len(counts) <= _MAX_SPEAKERS or len(speakers) < _MIN_TURNS_EACH * len(counts):
        return False
    if any(name.upper() in LOG_LEVELS for name in counts):
        return False
    if len(counts) == 2:
        return True
    # The fields of records follow each other in the same order each time; people do not.
    following: dict[str, Counter[str]] = {}
    for before, after in pairwise(speakers):
        following.setdefault(before, Counter())[after] += 1
    expected = sum(max(after.values()) for after in following.values())
    return expected <= _MAX_EXPECTED * (len(speakers) - 1)
