"""What all chats have in common: messages with a speaker and a day become one document."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, NamedTuple

from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line

_MAX_TITLE_NAMES = 4  # participants that a title lists
_MAX_PARTICIPANTS = 200  # that the metadata list, those who wrote most first


class Message(NamedTuple):
    """A message of a chat."""

    speaker: str
    text: str
    day: str = ""  # "2024-03-01"; empty if unknown
    place: str = ""  # empty: its day and speaker
    links: tuple[str, ...] = ()


def conversation(
    messages: Iterable[Message],
    name: str,
    title: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> ParsedDocument | None:
    """The document of a conversation, with a block for each message; None without a message.

    Args:
        messages: in the order in which they are read.
        name: of the document.
        title: empty for the names of the participants.
        metadata: beside the participants and the first and last day.
    """
    builder = DocumentBuilder()
    add_messages(builder, messages := list(messages))
    if not len(builder):
        return None
    found = {**describe(messages), **(metadata or {})}
    title = title or _names(found["participants"]) or PurePath(name).stem
    return builder.build(name, title, metadata=found)


def add_messages(builder: DocumentBuilder, messages: Iterable[Message]) -> None:
    """Add each message as a block "Ann: see you at 5", placed at "2024-03-01 Ann"."""
    for message in messages:
        text = message.text.strip()
        if not text:
            continue
        speaker = one_line(message.speaker)
        place = message.place or f"{message.day} {speaker}".strip()
        builder.add(
            "message",
            f"{speaker}: {text}" if speaker else text,
            place=place,
            links=message.links,
        )


def describe(messages: Iterable[Message]) -> dict[str, Any]:
    """Metadata of a conversation: its participants, and its first and last day if known."""
    speakers: Counter[str] = Counter()
    days: list[str] = []
    for message in messages:
        if message.speaker:
            speakers[one_line(message.speaker)] += 1
        if message.day:
            days.append(message.day)
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
