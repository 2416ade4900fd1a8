"""Slack's export: a folder for each channel, with a JSON file for each day."""

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from memnet.errors import InputError
from memnet.loaders.chats.chat import Message, conversation, day_of
from memnet.loaders.document import ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.json_text import JsonObject, first, objects, read_json, string

_REFERENCE = re.compile(r"<([@#!]?)([^<>|\n]{1,2000})(?:\|([^<>\n]{0,2000}))?>")
# Subtypes of what Slack says itself.
_NO_MESSAGES = frozenset(
    "bot_add bot_remove channel_archive channel_convert_to_private channel_join channel_leave "
    "channel_name channel_posting_permissions channel_purpose channel_topic channel_unarchive "
    "group_archive group_join group_leave group_name group_purpose group_topic group_unarchive "
    "huddle_thread pinned_item reminder_add sh_room_created tombstone unpinned_item".split()
)
_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")


def is_slack(data: Any) -> bool:
    """Whether JSON is a day of a channel."""
    message = first(data)
    return message.get("type") == "message" and isinstance(message.get("ts"), str)


def read_slack(file: SourceFile, data: Any) -> Iterator[ParsedDocument]:
    """The document of the day, with replies after what they reply to."""
    people = _people(file)
    replies: dict[str, list[JsonObject]] = {}
    roots: dict[str, JsonObject] = {}
    for message in objects(data):
        ts, thread = string(message.get("ts")), string(message.get("thread_ts"))
        if string(message.get("subtype")) in _NO_MESSAGES:
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
    messages = [_message(message, people) for message in ordered]
    folder, day = PurePath(file.name).parent.name, PurePath(file.name).stem
    channel = _channel(file, folder, people)
    document = conversation(messages, file.name, f"{channel} {day}", {"channel": channel})
    if document:
        yield document


def _message(message: JsonObject, people: Mapping[str, str]) -> Message:
    profile = message.get("user_profile")
    profile = profile if isinstance(profile, dict) else {}
    user = string(message.get("user"))
    speaker = (
        people.get(user)
        or string(profile.get("display_name"))
        or string(profile.get("real_name"))
        or string(message.get("username"))
        or user
    )
    parts = [_slackstring(string(message.get("text")), people)]
    for attachment in objects(message.get("attachments")):
        said = string(attachment.get("text")) or string(attachment.get("fallback"))
        shown = [string(attachment.get("title")), said]
        parts += [_slackstring(part, people) for part in shown if part and part not in parts]
    for shared in objects(message.get("files")):
        parts.append(string(shared.get("title")) or string(shared.get("name")))
    return Message(speaker, "\n".join(filter(None, parts)), day_of(string(message.get("ts"))))


def _slackstring(text: str, people: Mapping[str, str]) -> str:
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

    return html.unescape(_REFERENCE.sub(replace, text))


def _people(file: SourceFile) -> dict[str, str]:
    """What people and channels are called, by their ids."""
    names: dict[str, str] = {}
    for user in objects(_sibling(file, "../users.json")):
        profile = user.get("profile")
        profile = profile if isinstance(profile, dict) else {}
        called = [profile.get("display_name"), profile.get("real_name"), user.get("real_name")]
        name = next((name for name in (*called, user.get("name")) if name), None)
        names[string(user.get("id"))] = one_line(string(name))
    for path in _LISTS[:2]:
        for channel in objects(_sibling(file, f"../{path}")):
            names[string(channel.get("id"))] = string(channel.get("name"))
    return names


def _channel(file: SourceFile, folder: str, people: Mapping[str, str]) -> str:
    """What a channel's folder is called: "#general", or those who talk in it."""
    for path in _LISTS[2:]:  # direct messages have ids or "mpdm-ann--ben-1" as folders
        for channel in objects(_sibling(file, f"../{path}")):
            if folder in (channel.get("id"), channel.get("name")):
                members = channel.get("members")
                members = members if isinstance(members, list) else []
                ids = [member for member in members if isinstance(member, str)]
                return ", ".join(people.get(member) or member for member in ids) or folder
    return f"#{folder}"


def _sibling(file: SourceFile, path: str) -> Any:
    data = file.sibling(path)
    try:
        return None if data is None else read_json(data)
    except InputError:
        return None  # without it people are called by their ids
