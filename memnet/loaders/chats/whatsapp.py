"""WhatsApp's export of a chat as text: "12/03/2024, 14:05 - Ann: See you at 5"."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from memnet.loaders.chats.chat import Message

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
_HEAD = 60  # lines by which a file is told to be a chat
_MIN_ENTRIES = 4  # among these lines; half of them where there are fewer
# Logs are written like chats, but no one speaks in them.
LOG_LEVELS = frozenset("TRACE DEBUG INFO NOTICE WARN WARNING ERROR FATAL CRITICAL".split())


class _Entry(NamedTuple):
    numbers: tuple[int, int, int]
    text: str


def is_whatsapp(text: str) -> bool:
    """Whether a text is an export of WhatsApp."""
    lines = [line for line in text[:20_000].splitlines() if line.strip()][:_HEAD]
    entries = list(_entries("\n".join(lines)))
    return (
        bool(entries)
        and _ENTRY.match(lines[0].lstrip(_LEADING_MARKS)) is not None
        and len(entries) >= min(_MIN_ENTRIES, (len(lines) + 1) // 2)
        and any(": " in entry.text for entry in entries)
        and not any(LOG_LEVELS & set(_WORD.findall(entry.text[:60])) for entry in entries)
    )


def read_whatsapp(text: str) -> list[Message]:
    """The messages of an export, without the app's own lines and the names of media."""
    entries = list(_entries(text))
    days = _days([entry.numbers for entry in entries], meridiem=_has_english_meridiem(text))
    messages = []
    for entry, day in zip(entries, days, strict=True):
        speaker, colon, words = entry.text.partition(": ")
        if not colon:
            speaker, colon, words = entry.text.partition(":\n")
        speaker = _MARKS.sub("", speaker).strip().removeprefix("~").strip()  # who is no contact
        if not colon or len(speaker) > _MAX_NAME or "\n" in speaker:
            continue  # a line of the app: "Ann joined using a link"
        if said := _said(words):
            messages.append(Message(speaker, said, day))
    return messages


def _entries(text: str) -> Iterator[_Entry]:
    """The entries: each begins with a time, lines without one belong to the entry before."""
    numbers, lines = None, list[str]()
    for line in text.split("\n"):
        line = line.rstrip("\r")
        # The marks before the date are none of the text's.
        found = _ENTRY.match(line.lstrip(_LEADING_MARKS))
        if found is None:
            lines.append(line)
            continue
        if numbers is not None:
            yield _Entry(numbers, "\n".join(lines))
        numbers = (int(found["a"]), int(found["b"]), int(found["c"]))
        lines = [found.string[found.end() :]]
    if numbers is not None:
        yield _Entry(numbers, "\n".join(lines))


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


def _has_english_meridiem(text: str) -> bool:
    return _MERIDIEM.search(text) is not None


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
        known = [day for day in days if day]
        backwards = sum(after < before for before, after in pairwise(known))
        orders.append((len(days) - len(known), backwards, _length(known), rank, days))
    return min(orders)[-1]


def _length(days: Sequence[str]) -> int:
    if not days:
        return 0
    return (date.fromisoformat(max(days)) - date.fromisoformat(min(days))).days


def _day(year: int, month: int, day: int) -> str:
    """The date in ISO form; empty if there is none."""
    if year < 100:
        year += _CENTURY
    elif year > 2400:
        year -= _BUDDHIST_ERA
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
