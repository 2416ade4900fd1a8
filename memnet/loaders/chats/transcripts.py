"""Text: paragraphs, or a chat: WhatsApp's export, or lines such as "Ann: See you at 5"."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

from memnet.errors import EMPTY, InputError, Problem
from memnet.io import decode, with_line_feeds
from memnet.loaders.chats.conversations import Message, conversation
from memnet.loaders.document import Block, ParsedDocument, paragraphs
from memnet.loaders.formats import SourceFile

# Titles that files of chats have and that say nothing: WhatsApp's "_chat.txt".
_NAMELESS = frozenset({"chat", "transcript", "messages"})
# Android writes "12/03/2024, 14:05 - Ann: text", iOS "[12/03/2024, 14:05:33] Ann: text". Date,
# order of day and month, separators, and the words for a.m. and p.m., before the time or after it,
# are those of the phone's language: "2024. 3. 12. 오후 2:05", "12.3.2024 klo 14.05", "3/12/24,
# 2:05 p. m.". Digits may be Arabic or Devanagari; all are \d.
_ENTRY = re.compile(
    r"^(?P<bracket>\[)?"
    r"(?P<a>\d{1,4})\s?[./\-年년]\s?(?P<b>\d{1,2})\s?[./\-月월]\s?(?P<c>\d{1,4})[.日일]?"
    r"[,،]?[^\S\n]{0,2}(?:[^\W\d]{1,6}\.?[^\S\n]?)?"
    r"(?:\d{1,2}[:.]\d{2}(?:[:.]\d{2})?)"
    r"(?:[^\S\n]?[^\W\d]{1,6}\.?[^\S\n]?(?:[^\W\d]{1,2}\.)?)?"
    r"(?(bracket)\][^\S\n]?|[^\S\n][-–][^\S\n])"
)
# Marks of writing direction, which the app puts around names and before its own words.
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_LEADING_MARKS = "\u200e\u200f\u202a\u202b\ufeff"
# What iOS puts before what the app says itself: "image omitted", "You deleted this message".
_OWN_WORDS = "\u200e"
# "<Media omitted>" and "IMG-1.jpg (file attached)", in any language.
_MEDIA = re.compile(r"<[^<>\n]{3,60}>|\S[^\n]{0,200}\.\w{2,4} \([^()\n]{3,40}\)")
_EDITED = re.compile(r"\s*<This message was edited>$")
_ENCRYPTED = "Messages and calls are end-to-end encrypted"
# What the app says of the group and its members, up to a colon in it; in any language it may
# quote a name that holds the colon: 'Ann created group "Garden: spring"'.
_APP_WORDS = re.compile(
    r"\b(?:created (?:the |this |a )?(?:group|community)|changed (?:the|this|their|your|to)"
    r"|joined (?:using|the|from|via)|end-to-end|security code"
    r"|disappearing messages)\b|[\"“„«「][^\"“”„«»」]*\Z"
)
_QUOTED = re.compile(r'"[^"\n]*"')
_NO_TEXT = {
    "null",
    "missed voice call",
    "missed video call",
    "this message was deleted",
    "you deleted this message",
    "waiting for this message",
    "pov message",
}
_MERIDIEM = re.compile(r"^\W{0,2}[\d/]{6,10},? \d{1,2}:\d{2}(?::\d{2})?\s[AP]M\b", re.M)
_WORD = re.compile(r"\w+")
_MAX_NAME = 100
_CENTURY = 2000
_BUDDHIST_ERA = 543  # years that Thai dates are ahead
_EXPORT_HEAD = 60  # lines by which a file is told to be a chat
_MIN_ENTRIES = 4  # among these lines; half of them where there are fewer
# Logs are written like chats, but no one speaks in them.
_LOG_LEVELS = frozenset("TRACE DEBUG INFO NOTICE WARN WARNING ERROR FATAL CRITICAL".split())
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
# First words of lines in letters, records and notes that do not name speakers.
_FIELDS = frozenset(
    "abstract address attendees author cc changes comment comments copyright date description "
    "duration email example examples fax file files fix fixes format from homepage http https "
    "id isbn key keywords license location maintainer meeting name note notes package "
    "participants path phone present price recorded reply-to result see size source status "
    "subject summary tag tags time tip title to todo topic transcript type update updates url "
    "usage value venue version warning website".split()
)


def load(file: SourceFile, name: str = "text") -> Iterator[ParsedDocument | Problem]:
    """The text as it stands, a block for each paragraph; or the chat that it evidently is.

    By the name "chat" it is one, whatever the signs.
    """
    text = with_line_feeds(decode(file.data))
    if name == "chat":
        chat = _document(file, text)
        if chat is None or not chat.metadata["participants"]:
            raise InputError(
                'holds no chat, expected lines such as "Ann: See you at 5"; pass it without --as'
            )
        yield chat
        return
    if not text.strip():
        raise InputError("is empty; there is nothing to remember in it", EMPTY)
    if chat := read_chat(file, text):
        yield chat
        return
    lines = [at for at, character in enumerate(text) if character == "\n"]
    blocks = tuple(
        Block("paragraph", start, end, place=f"line {bisect_right(lines, start) + 1}")
        for start, end in paragraphs(text)
    )
    yield ParsedDocument(file.name, file.title, text, blocks)


def read_chat(file: SourceFile, text: str) -> ParsedDocument | None:
    """The conversation that a text evidently is; None if it is a text like any other."""
    return _document(file, text) if is_whatsapp(text) or is_transcript(text) else None


def _document(file: SourceFile, text: str) -> ParsedDocument | None:
    messages = read_whatsapp(text) if is_whatsapp(text) else list(_turns(text))
    title = file.title
    if title.lower() in _NAMELESS:  # its archive's, or else the participants
        folder = PurePath(file.name).parent
        title = folder.stem.strip("_") if folder.suffix.lower() == ".zip" else ""
    return next(conversation(messages, file.name, title), None)


def is_whatsapp(text: str) -> bool:
    """Whether a text is an export of WhatsApp."""
    lines = [line for line in text[:20_000].splitlines() if line.strip()][:_EXPORT_HEAD]
    entries = list(_entries("\n".join(lines)))
    return (
        bool(entries)
        and _ENTRY.match(lines[0].lstrip(_LEADING_MARKS)) is not None
        and len(entries) >= min(_MIN_ENTRIES, (len(lines) + 1) // 2)
        and any(": " in said for _, said in entries)
        and not any(_LOG_LEVELS & set(_WORD.findall(said[:60])) for _, said in entries)
    )


def read_whatsapp(text: str) -> list[Message]:
    """The messages of an export, without the app's own lines and the names of media."""
    entries = list(_entries(text))
    meridiem = _MERIDIEM.search(text) is not None
    days = _days([numbers for numbers, _ in entries], meridiem=meridiem)
    messages = []
    for (_, entry), day in zip(entries, days, strict=True):
        speaker, colon, words = entry.partition(": ")
        if not colon:
            speaker, colon, words = entry.partition(":\n")
        # "~" marks unknown contacts.
        speaker = _MARKS.sub("", speaker).strip().removeprefix("~").strip()
        plain = _QUOTED.sub("", speaker)
        if not colon or len(speaker) > _MAX_NAME or "\n" in speaker or _APP_WORDS.search(plain):
            continue  # a line of the app: "Ann joined using a link"
        if said := _said(words):
            messages.append(Message(speaker, said, day))
    return messages


def _entries(text: str) -> Iterator[tuple[tuple[int, int, int], str]]:
    """The numbers of each entry's date, and its text: lines without a time go on with it."""
    numbers, lines = None, list[str]()
    for line in text.split("\n"):
        line = line.rstrip("\r")
        # The marks before the date are none of the text's.
        found = _ENTRY.match(line.lstrip(_LEADING_MARKS))
        if found is None:
            lines.append(line)
            continue
        if numbers is not None:
            yield numbers, "\n".join(lines)
        numbers = (int(found["a"]), int(found["b"]), int(found["c"]))
        lines = [found.string[found.end() :]]
    if numbers is not None:
        yield numbers, "\n".join(lines)


def _said(words: str) -> str:
    """What a message says; empty for media without a caption and for the app's own words."""
    first, _, rest = words.partition("\n")
    plain = _MARKS.sub("", first).strip()
    own = first.lstrip().startswith(_OWN_WORDS) and not plain.endswith(":")  # "POLL:"
    own = own or plain.startswith(_ENCRYPTED)
    if own or _MEDIA.fullmatch(plain) or plain.rstrip(".").lower() in _NO_TEXT:
        plain = ""
    said = f"{plain}\n{_MARKS.sub('', rest)}".strip()
    return _EDITED.sub("", said)


def _days(numbers: Sequence[tuple[int, int, int]], *, meridiem: bool) -> list[str]:
    """The days that the three numbers of each date mean, by the order that fits all of them.

    Of the orders in which every date exists it is the one in which time runs backwards least
    often; then the one that spans the fewest days, as people write more often than on the same
    day of each month; then month first if the clock has AM and PM, else day first.
    """
    orders = []
    for rank, month_first in enumerate((meridiem, not meridiem)):
        days = [
            _day(a, b, c) if a > 31 else _day(c, a, b) if month_first else _day(c, b, a)
            for a, b, c in numbers
        ]
        known = [date.fromisoformat(day) for day in days if day]
        backwards = sum(after < before for before, after in pairwise(known))
        length = (max(known) - min(known)).days if known else 0
        orders.append((len(days) - len(known), backwards, length, rank, days))
    return min(orders)[-1]


def _day(year: int, month: int, day: int) -> str:
    """The date in ISO form; empty if there is no such day."""
    if year < 100:
        year += _CENTURY
    elif year > 2400:
        year -= _BUDDHIST_ERA
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


class _Turn(NamedTuple):
    speaker: str
    text: str
    day: str
    time: str


def is_transcript(text: str) -> bool:
    """Whether a text is evidently a transcript: most lines are turns of a few speakers."""
    lines = text[:60_000].splitlines()[:_HEAD]
    filled = [line for line in lines if line.strip()]
    firsts = [line for above, line in pairwise(["", *lines]) if line.strip() and not above.strip()]
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


def _turns(text: str) -> Iterator[Message]:
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
    if any(name.upper() in _LOG_LEVELS for name in counts):
        return False
    if len(counts) == 2:
        return True
    # The fields of records follow each other in the same order each time; people do not.
    following: dict[str, int] = {}  # of each speaker, how often the most usual one comes next
    for (before, _), times in Counter(pairwise(speakers)).items():
        following[before] = max(following.get(before, 0), times)
    expected = sum(following.values())
    return expected <= _MAX_EXPECTED * (len(speakers) - 1)
