"""Chats as JSON: which export it is; those of Telegram and Discord."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from memnet.loaders.chats.assistants import is_chatgpt, is_claude, read_chatgpt, read_claude
from memnet.loaders.chats.chat import Message, conversation, day_of
from memnet.loaders.chats.slack import is_slack, read_slack
from memnet.loaders.document import ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.json_text import JsonObject, objects, part_name, string


def chat_documents(file: SourceFile, data: Any) -> Iterator[ParsedDocument] | None:
    """The conversations of an export of a chat; None if it is none.

    Args:
        file: for its name, and what stands beside it.
        data: its parsed JSON.
    """
    for fits, read in _EXPORTS:
        if fits(data):
            return read(file, data)
    return None


def _is_telegram(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    chats = data.get("chats")
    if isinstance(chats, dict) and isinstance(chats.get("list"), list):
        return True
    return "from" in _first_said(data)


def _first_said(data: JsonObject) -> JsonObject:
    said = (item for item in objects(data.get("messages")) if item.get("type") == "message")
    return next(said, {})


def _read_telegram(file: SourceFile, data: Any) -> Iterator[ParsedDocument]:
    chats = data.get("chats")
    if not isinstance(chats, dict):
        chat = _telegram_chat(data, file.name)
        yield from [chat] if chat else []
        return
    used: set[str] = set()
    for item in objects(chats.get("list")):
        chat_id = item.get("id")
        name = part_name(file.name, used, "" if chat_id is None else str(chat_id))
        if chat := _telegram_chat(item, name):
            yield chat


def _telegram_chat(data: JsonObject, name: str) -> ParsedDocument | None:
    messages = [
        Message(
            string(item.get("from")) or string(item.get("from_id")),
            _telegramstring(item.get("text")),
            day_of(item.get("date")),
        )
        for item in objects(data.get("messages"))
        if item.get("type") == "message"
    ]
    return conversation(messages, name, one_line(string(data.get("name"))))


def _telegramstring(text: Any) -> str:
    """A text is a string, or a list of strings and objects for what is marked up in it."""
    parts = text if isinstance(text, list) else [text]
    return "".join(string(part.get("text") if isinstance(part, dict) else part) for part in parts)


def _is_discord(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("channel"), dict) and "messages" in data


def _read_discord(file: SourceFile, data: Any) -> Iterator[ParsedDocument]:
    messages = []
    for item in objects(data.get("messages")):
        author = item.get("author")
        author = author if isinstance(author, dict) else {}
        if item.get("type") in ("Default", "Reply", None):
            speaker = string(author.get("nickname")) or string(author.get("name"))
            text = string(item.get("content"))
            messages.append(Message(speaker, text, day_of(item.get("timestamp"))))
    channel = f"#{one_line(string(data['channel'].get('name')))}"
    document = conversation(messages, file.name, channel, {"channel": channel})
    if document:
        yield document


_Reader: TypeAlias = Callable[[SourceFile, Any], Iterator[ParsedDocument]]

_EXPORTS: tuple[tuple[Callable[[Any], bool], _Reader], ...] = (
    (is_slack, read_slack),
    (is_chatgpt, read_chatgpt),
    (is_claude, read_claude),
    (_is_telegram, _read_telegram),
    (_is_discord, _read_discord),
)
