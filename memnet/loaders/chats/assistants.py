"""Chats with assistants: the exports of ChatGPT and Claude."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from memnet.loaders.chats.chat import Message, day_of, describe
from memnet.loaders.document import BlockKind, DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.json_text import JsonObject, first, objects, part_name, string
from memnet.loaders.markup.markdown_text import add_markdown

# What is said is one message after the other, not chapters.
_KINDS: dict[BlockKind, BlockKind] = {"paragraph": "message", "heading": "message"}
_MAX_TITLE = 100
_ROLES = {"user": "User", "human": "User", "assistant": ""}
# References to what was searched, which the application shows as buttons.
_CITATION = re.compile("\ue200[^\ue200\ue201]{0,500}\ue201|【\\d+[†:][^】]{0,100}】")


def is_chatgpt(data: Any) -> bool:
    """Whether JSON is ChatGPT's ``conversations.json``."""
    return isinstance(first(data).get("mapping"), dict)


def read_chatgpt(file: SourceFile, data: Any) -> Iterator[ParsedDocument]:
    """A document for each conversation."""
    used: set[str] = set()
    for chat in objects(data):
        nodes = chat.get("mapping")
        name = part_name(file.name, used, chat.get("conversation_id"), chat.get("id"))
        if isinstance(nodes, dict):
            branch = _branch(nodes, chat.get("current_node"))
            messages = [message for node in branch if (message := _chatgpt_message(node))]
            yield from _document(messages, name, chat.get("title"), chat.get("create_time"))


def _branch(nodes: JsonObject, leaf: Any) -> list[JsonObject]:
    """The messages from the first to the last that is shown; answers made anew are no part."""
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
    message = node.get("message")
    if not isinstance(message, dict):
        return None
    author, content, about = (message.get(key) for key in ("author", "content", "metadata"))
    role = string(author.get("role")) if isinstance(author, dict) else ""
    hidden = isinstance(about, dict) and about.get("is_visually_hidden_from_conversation")
    if role not in _ROLES or hidden or not isinstance(content, dict):
        return None  # instructions of the system and results of tools
    if content.get("content_type") not in ("text", "multimodal_text", None):
        return None  # thoughts, calls of tools
    if message.get("recipient", "all") != "all":
        return None
    parts = content.get("parts")
    parts = parts if isinstance(parts, list) else []
    texts = [part if isinstance(part, str) else _spoken(part) for part in parts]
    text = _CITATION.sub("", "\n\n".join(filter(None, texts)))
    return Message(_ROLES[role] or "ChatGPT", text, day_of(message.get("create_time")))


def _spoken(part: Any) -> str:
    """The transcript of a part that was spoken."""
    return string(part.get("text")) if isinstance(part, dict) else ""


def is_claude(data: Any) -> bool:
    """Whether JSON is Claude's ``conversations.json``."""
    return isinstance(first(data).get("chat_messages"), list)


def read_claude(file: SourceFile, data: Any) -> Iterator[ParsedDocument]:
    """A document for each conversation."""
    used: set[str] = set()
    for chat in objects(data):
        messages = [_claude_message(message) for message in objects(chat.get("chat_messages"))]
        name = part_name(file.name, used, chat.get("uuid"))
        yield from _document(messages, name, chat.get("name"), chat.get("created_at"))


def _claude_message(message: JsonObject) -> Message:
    content = objects(message.get("content"))
    parts = [string(part.get("text")) for part in content if part.get("type") == "text"]
    text = "\n\n".join(filter(None, parts)) or string(message.get("text"))
    for attached in objects(message.get("attachments")):
        extracted = string(attached.get("extracted_content"))
        text = "\n\n".join(filter(None, (text, string(attached.get("file_name")), extracted)))
    speaker = _ROLES.get(string(message.get("sender")), string(message.get("sender"))) or "Claude"
    return Message(speaker, text, day_of(message.get("created_at")))


def _document(
    messages: Iterable[Message], name: str, title: Any, begun: Any
) -> Iterator[ParsedDocument]:
    """The document of a conversation, if it holds a message; what is said is Markdown."""
    builder = DocumentBuilder()
    said = [message for message in messages if message.text.strip()]
    day = day_of(begun)
    for message in said:
        builder.place = f"{message.day or day} {message.speaker}".strip()
        text = message.text.strip()
        # A list, a heading or code begins a line of its own.
        between = " " if text[0].isalnum() else "\n\n"
        add_markdown(builder, f"{message.speaker}:{between}{text}", _KINDS)
    if len(builder):
        title = one_line(string(title)) or one_line(said[0].text)[:_MAX_TITLE]
        yield builder.build(name, title, metadata=describe(said))
