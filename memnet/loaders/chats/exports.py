"""JSON: exports of chats (Slack, Telegram, Discord, ChatGPT, Claude), and objects with a text."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any

from memnet.errors import InputError, Problem
from memnet.loaders.chats.conversations import Message, conversation, day_of, describe
from memnet.loaders.document import BlockKind, DocumentBuilder, ParsedDocument, one_line, paragraphs
from memnet.loaders.formats import SourceFile
from memnet.loaders.json_text import (
    JsonObject,
    inner,
    objects,
    part_name,
    read_json,
    string,
    text,
)
from memnet.loaders.markup.markdown import add_markdown

_REFERENCE = re.compile(r"<([@#!]?)([^<>|\n]{1,2000})(?:\|([^<>\n]{0,2000}))?>")
# Subtypes of what Slack says itself.
_NO_MESSAGES = frozenset(
    "bot_add bot_remove channel_archive channel_convert_to_private channel_join channel_leave "
    "channel_name channel_posting_permissions channel_purpose channel_topic channel_unarchive "
    "group_archive group_join group_leave group_name group_purpose group_topic group_unarchive "
    "huddle_thread pinned_item reminder_add sh_room_created tombstone unpinned_item".split()
)
# What is said is one message after the other, not chapters.
_KINDS: dict[BlockKind, BlockKind] = {"paragraph": "message", "heading": "message"}
_MAX_TITLE = 100
_ROLES = {"user": "User", "human": "User", "assistant": ""}
# References to what was searched, which the application shows as buttons.
_CITATION = re.compile("\ue200[^\ue200\ue201]{0,500}\ue201|【\\d+[†:][^】]{0,100}】")
_TEXT_KEYS = ("text", "content", "body")
_TITLE_KEYS = ("title", "name", "subject", "headline")
_ID_KEYS = ("id", "uuid", "url")
_MAX_VALUE = 1000  # characters; longer strings are left out of the metadata


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The conversations or documents of a file."""
    data = read_json(file.data)
    chats = chat_documents(file, data)
    if chats is not None:
        yield from chats
        return
    items = data if isinstance(data, list) else [data]
    if not any(map(_text_key, items)):
        kinds = {"list": "a list", "dict": "an object"}
        kind = kinds.get(type(data).__name__, "a value")
        raise InputError(
            f"holds {kind} without a text, expected a chat's export or objects such as "
            '{"title": ..., "text": ...}; pass it with --as text to read it as it stands',
            "data files",
        )
    used: set[str] = set()
    for number, item in enumerate(items, 1):
        if not _text_key(item):
            yield Problem(f"{file.name}#{number}", f"has no text ({', '.join(_TEXT_KEYS)}); add it")
            continue
        keys = [item.get(key) for key in _ID_KEYS]
        name = part_name(file.name, used, *keys) if items is data else file.name
        yield _object_document(item, name, file)


def _object_document(item: JsonObject, name: str, file: SourceFile) -> ParsedDocument:
    builder = DocumentBuilder()
    key = _text_key(item)
    said = text(item, key).strip()
    for start, end in paragraphs(said):
        builder.add("paragraph", said[start:end])
    title_key = next((key for key in _TITLE_KEYS if string(item.get(key)).strip()), "")
    title = one_line(text(item, title_key))
    metadata = {
        field.lower(): value
        for field, value in item.items()
        if field not in (key, title_key)
        and isinstance(value, (str, int, float, bool))
        and len(str(value)) <= _MAX_VALUE
    }
    if not 0 < len(title) <= file.max_title:
        title = file.title
    return builder.build(name, title, metadata=metadata)


def _text_key(item: Any) -> str:
    """The name of the field of an object that holds the text; empty without one."""
    keys = _TEXT_KEYS if isinstance(item, dict) else ()
    return next((key for key in keys if text(item, key).strip()), "")


def chat_documents(file: SourceFile, data: Any) -> Iterator[ParsedDocument] | None:
    """The conversations of an export of a chat, parsed; None if it is something else."""
    head: JsonObject = next(objects(data), {})
    if head.get("type") == "message" and isinstance(head.get("ts"), str):
        return _read_slack(file, data)
    if isinstance(head.get("mapping"), dict):
        return _read_chatgpt(file, data)
    if isinstance(head.get("chat_messages"), list):
        return _read_claude(file, data)
    if isinstance(data, dict):
        messages = objects(data.get("messages"))
        said = next((item for item in messages if item.get("type") == "message"), {})
        if isinstance(inner(data, "chats").get("list"), list) or "from" in said:
            return _read_telegram(file, data)
        if isinstance(data.get("channel"), dict) and "messages" in data:
            return _read_discord(file, data)
    return None


def _read_slack(file: SourceFile, data: Any) -> Iterator[ParsedDocument]:
    """The document of a day of a channel, with replies after what they reply to."""
    people = _people(file)
    replies: dict[str, list[JsonObject]] = {}
    roots: dict[str, JsonObject] = {}
    for message in objects(data):
        ts, thread = text(message, "ts"), text(message, "thread_ts")
        if text(message, "subtype") in _NO_MESSAGES:
            continue
        if thread and thread != ts:
            replies.setdefault(thread, []).append(message)
        else:
            roots[ts] = message
    ordered: list[JsonObject] = []
    for ts, root in roots.items():
        ordered += [root, *replies.pop(ts, ())]
    # Replies to messages of another day.
    ordered += [message for thread in replies.values() for message in thread]
    messages = [_slack_message(message, people) for message in ordered]
    folder, day = PurePath(file.name).parent.name, PurePath(file.name).stem
    channel = _channel(file, folder, people)
    yield from conversation(messages, file.name, f"{channel} {day}", {"channel": channel})


def _slack_message(message: JsonObject, people: Mapping[str, str]) -> Message:
    user = text(message, "user")
    profile = text(inner(message, "user_profile"), "display_name", "real_name")
    speaker = people.get(user) or profile or text(message, "username") or user
    parts = [_slack_text(text(message, "text"), people)]
    for attachment in objects(message.get("attachments")):
        shown = [text(attachment, "title"), text(attachment, "text", "fallback")]
        parts += [_slack_text(part, people) for part in shown if part and part not in parts]
    parts += [text(shared, "title", "name") for shared in objects(message.get("files"))]
    return Message(speaker, "\n".join(filter(None, parts)), day_of(text(message, "ts")))


def _slack_text(written: str, people: Mapping[str, str]) -> str:
    """A text with names and words in the place of "<@U123>" and "<https://...|words>"."""

    def replace(found: re.Match[str]) -> str:
        sign, target, label = found.groups()
        if sign == "@":
            return f"@{people.get(target) or label or target}"
        if sign == "#":
            return f"#{label or people.get(target) or target}"
        if sign == "!":
            return label or f"@{target}"  # "<!here>", "<!date^...|Monday>"
        return label or target.removeprefix("mailto:")

    return html.unescape(_REFERENCE.sub(replace, written))


def _people(file: SourceFile) -> dict[str, str]:
    """What people and channels are called, by their ids."""
    names: dict[str, str] = {}
    for user in _listed(file, "users"):
        profile = text(inner(user, "profile"), "display_name", "real_name")
        names[text(user, "id")] = one_line(profile or text(user, "real_name", "name"))
    for channel in _listed(file, "channels", "groups"):
        names[text(channel, "id")] = text(channel, "name")
    return names


def _channel(file: SourceFile, folder: str, people: Mapping[str, str]) -> str:
    """What a channel's folder is called: "#general", or those who talk in it."""
    # Direct messages have ids or "mpdm-ann--ben-1" as folders.
    for channel in _listed(file, "dms", "mpims"):
        members = channel.get("members")
        if folder in (channel.get("id"), channel.get("name")) and isinstance(members, list):
            ids = [member for member in members if isinstance(member, str)]
            return ", ".join(people.get(member) or member for member in ids) or folder
    return f"#{folder}"


def _listed(file: SourceFile, *names: str) -> Iterator[JsonObject]:
    """What lists beside the folder of an export hold; without them people are called by ids."""
    for name in names:
        with suppress(InputError):
            yield from objects(read_json(file.sibling(f"../{name}.json") or b"[]"))


def _read_telegram(file: SourceFile, data: JsonObject) -> Iterator[ParsedDocument]:
    if not isinstance(data.get("chats"), dict):
        yield from _telegram_chat(data, file.name)
        return
    used: set[str] = set()
    for item in objects(inner(data, "chats").get("list")):
        chat_id = item.get("id")
        name = part_name(file.name, used, "" if chat_id is None else str(chat_id))
        yield from _telegram_chat(item, name)


def _telegram_chat(data: JsonObject, name: str) -> Iterator[ParsedDocument]:
    messages = [
        Message(text(item, "from", "from_id"), "".join(_texts(parts)), day_of(item.get("date")))
        for item in objects(data.get("messages"))
        if item.get("type") == "message"
        # A text is a string, or a list of strings and objects for what is marked up in it.
        for said in [item.get("text")]
        for parts in [said if isinstance(said, list) else [said]]
    ]
    yield from conversation(messages, name, one_line(text(data, "name")))


def _texts(parts: list[Any]) -> list[str]:
    """Texts that stand as they are, or in objects."""
    return [text(part, "text") if isinstance(part, dict) else string(part) for part in parts]


def _read_discord(file: SourceFile, data: JsonObject) -> Iterator[ParsedDocument]:
    messages = [
        Message(
            text(inner(item, "author"), "nickname", "name"),
            text(item, "content"),
            day_of(item.get("timestamp")),
        )
        for item in objects(data.get("messages"))
        if item.get("type") in ("Default", "Reply", None)
    ]
    channel = f"#{one_line(text(data['channel'], 'name'))}"
    yield from conversation(messages, file.name, channel, {"channel": channel})


def _read_chatgpt(file: SourceFile, data: Any) -> Iterator[ParsedDocument]:
    """A document for each conversation of ChatGPT's ``conversations.json``."""
    used: set[str] = set()
    for chat in objects(data):
        nodes = chat.get("mapping")
        name = part_name(file.name, used, chat.get("conversation_id"), chat.get("id"))
        if isinstance(nodes, dict):
            branch = _branch(nodes, chat.get("current_node"))
            messages = [message for node in branch if (message := _chatgpt_message(node))]
            yield from _document(messages, name, chat.get("title"), chat.get("create_time"))


def _branch(nodes: JsonObject, leaf: Any) -> list[JsonObject]:
    """The messages from the first to the last that is shown, without regenerated answers."""
    if not isinstance(leaf, str) or leaf not in nodes:
        leaf = list(nodes)[-1] if nodes else None
    path: list[JsonObject] = []
    seen: set[str] = set()
    while isinstance(leaf, str) and leaf not in seen and isinstance(node := nodes.get(leaf), dict):
        seen.add(leaf)
        path.append(node)
        leaf = node.get("parent")
    return path[::-1]


def _chatgpt_message(node: JsonObject) -> Message | None:
    message = inner(node, "message")
    content, about = message.get("content"), inner(message, "metadata")
    role = text(inner(message, "author"), "role")
    hidden = about.get("is_visually_hidden_from_conversation")
    if role not in _ROLES or hidden or not isinstance(content, dict):
        return None  # instructions of the system and results of tools
    kind, recipient = content.get("content_type"), message.get("recipient", "all")
    if kind not in ("text", "multimodal_text", None) or recipient != "all":
        return None  # thoughts, calls of tools
    parts = content.get("parts")
    # A part that was spoken has its transcript as text.
    texts = filter(None, _texts(parts if isinstance(parts, list) else []))
    said = _CITATION.sub("", "\n\n".join(texts))
    return Message(_ROLES[role] or "ChatGPT", said, day_of(message.get("create_time")))


def _read_claude(file: SourceFile, data: Any) -> Iterator[ParsedDocument]:
    """A document for each conversation of Claude's ``conversations.json``."""
    used: set[str] = set()
    for chat in objects(data):
        messages = [_claude_message(message) for message in objects(chat.get("chat_messages"))]
        name = part_name(file.name, used, chat.get("uuid"))
        yield from _document(messages, name, chat.get("name"), chat.get("created_at"))


def _claude_message(message: JsonObject) -> Message:
    content = objects(message.get("content"))
    parts = [text(part, "text") for part in content if part.get("type") == "text"]
    parts = [part for part in parts if part] or [text(message, "text")]
    for attached in objects(message.get("attachments")):
        parts += [text(attached, "file_name"), text(attached, "extracted_content")]
    sender = text(message, "sender")
    said = "\n\n".join(filter(None, parts))
    return Message(_ROLES.get(sender, sender) or "Claude", said, day_of(message.get("created_at")))


def _document(
    messages: Iterable[Message], name: str, title: Any, begun: Any
) -> Iterator[ParsedDocument]:
    """The document of a conversation, if it holds a message; what is said is Markdown."""
    builder = DocumentBuilder()
    said = [message for message in messages if message.text.strip()]
    day = day_of(begun)
    for message in said:
        builder.place = f"{message.day or day} {message.speaker}".strip()
        words = message.text.strip()
        # A list, a heading or code begins a line of its own.
        between = " " if words[0].isalnum() else "\n\n"
        add_markdown(builder, f"{message.speaker}:{between}{words}", _KINDS)
    if len(builder):
        title = one_line(string(title)) or one_line(said[0].text)[:_MAX_TITLE]
        yield builder.build(name, title, metadata=describe(said))
