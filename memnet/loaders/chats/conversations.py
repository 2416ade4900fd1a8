"""Chats: messages with a speaker and a day become one document, also from JSON lines.

The lines are {"id", "session", "speaker", "time", "text"}, one for each message.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, NamedTuple

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.json_text import read_json

_MAX_TITLE_NAMES = 4  # participants that a title lists
_MAX_PARTICIPANTS = 200  # that the metadata list, those who wrote most first
_FIELDS = '{"session": ..., "speaker": ..., "time": ..., "text": ...}'


class Message(NamedTuple):
    """A message of a chat."""

    speaker: str
    text: str
    day: str = ""  # "2024-03-01"; empty if unknown
    place: str = ""  # empty: its day and speaker


def conversation(
    messages: Sequence[Message],
    name: str,
    title: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Iterator[ParsedDocument]:
    """The document of a conversation, with a block for each message; none without a message.

    A block is "Ann: see you at 5", placed at "2024-03-01 Ann". Without a title the document has
    the names of the participants; ``metadata`` are kept beside those of ``describe``.
    """
    builder = DocumentBuilder()
    for message in messages:
        if text := message.text.strip():
            speaker = one_line(message.speaker)
            place = message.place or f"{message.day} {speaker}".strip()
            builder.add("message", f"{speaker}: {text}" if speaker else text, place=place)
    if len(builder):
        found = {**describe(messages), **(metadata or {})}
        title = title or _names(found["participants"]) or PurePath(name).stem
        yield builder.build(name, title, metadata=found)


def describe(messages: Sequence[Message]) -> dict[str, Any]:
    """Metadata of a conversation: its participants, and its first and last day if known."""
    speakers = Counter(one_line(message.speaker) for message in messages if message.speaker)
    days = [message.day for message in messages if message.day]
    participants = [speaker for speaker, _ in speakers.most_common(_MAX_PARTICIPANTS)]
    found: dict[str, Any] = {"participants": participants}
    if days:
        found |= {"first": min(days), "last": max(days)}
    return found


def day_of(time: object) -> str:
    """The day of a time as exports write it: ISO 8601, or seconds since 1970 (UTC); "" if none.

    An ISO time's own day is kept: that of the clock which the writer saw.
    """
    try:
        if isinstance(time, str) and not time.replace(".", "", 1).isdecimal():
            return datetime.fromisoformat(time).date().isoformat()
        if isinstance(time, (int, float, str)) and not isinstance(time, bool):
            return datetime.fromtimestamp(float(time), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    return ""


def _names(names: list[str]) -> str:
    shown, more = names[:_MAX_TITLE_NAMES], len(names) - _MAX_TITLE_NAMES
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """A document for each session, in the order of their first messages.

    "id", "session" and "time" may be missing; all messages without a session make one.
    """
    sessions: dict[str, list[Message]] = {}
    for number, line in enumerate(file.data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            session, message = _parsed(line)
        except InputError as error:
            yield Problem(f"{file.name}, line {number}", str(error))
        else:
            sessions.setdefault(session, []).append(message)
    for session, messages in sessions.items():
        yield from conversation(messages, f"{file.name}#{session}" if session else file.name)


def _parsed(line: bytes) -> tuple[str, Message]:
    try:
        item = read_json(line)
    except InputError as error:
        raise InputError(f"is not JSON, expected {_FIELDS}; correct it") from error
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise InputError(f'has no string "text", expected {_FIELDS}; add it')
    speaker, session, time = (item.get(key) for key in ("speaker", "session", "time"))
    if not isinstance(speaker, str) or not speaker.strip():
        raise InputError(f'has no string "speaker", expected {_FIELDS}; add it')
    if isinstance(session, (dict, list)) or isinstance(time, (dict, list)):
        raise InputError('has a list or an object as "session" or "time"; make it a string')
    day = day_of(time)
    if time not in (None, "") and not day:
        raise InputError(f'has {str(time)[:40]!r} as "time", expected ISO 8601; correct it')
    return "" if session is None else str(session), Message(speaker, item["text"], day)
