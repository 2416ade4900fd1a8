"""Conversations as JSON lines: {"id", "session", "speaker", "time", "text"} for each message."""

from collections.abc import Iterator

from memnet.errors import InputError, Problem
from memnet.loaders.chats.chat import Message, conversation, day_of
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.json_text import read_json

_FIELDS = '{"session": ..., "speaker": ..., "time": ..., "text": ...}'


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """A document for each session, in the order of their first messages.

    "id", "session" and "time" may be missing; all messages without a session make one.
    """
    sessions: dict[str, list[Message]] = {}
    for number, line in enumerate(file.data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            session, message = _message(line)
        except InputError as error:
            yield Problem(f"{file.name}, line {number}", str(error))
        else:
            sessions.setdefault(session, []).append(message)
    for session, messages in sessions.items():
        name = f"{file.name}#{session}" if session else file.name
        document = conversation(messages, name)
        if document:
            yield document


def _message(line: bytes) -> tuple[str, Message]:
    try:
        item = read_json(line)
    except InputError as error:
        raise InputError(f"is no JSON, expected {_FIELDS}; correct it") from error
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
