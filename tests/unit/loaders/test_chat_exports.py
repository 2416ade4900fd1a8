import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from memnet.loaders.chats.exports import chat_documents
from memnet.loaders.formats import SourceFile
from memnet.loaders.json_text import read_json
from tests.unit.loaders.parsed import check, kinds, only, placed, problems, read

_DAY = 1709301600  # 2024-03-01 14:00 UTC


def _slack(path: str) -> bytes | None:
    files: dict[str, Any] = {
        "../users.json": [
            {"id": "U1", "name": "ann", "profile": {"real_name": "Ann Lee", "display_name": ""}},
            {"id": "U2", "name": "ben", "profile": {"display_name": "Ben"}},
        ],
        "../channels.json": [{"id": "C9", "name": "random"}],
        "../dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
    }
    return json.dumps(files[path]).encode() if path in files else None


def _post(second: int, user: str, text: str, reply_to: int | None = None, **more: Any) -> Any:
    thread = {} if reply_to is None else {"thread_ts": f"{_DAY + reply_to}.1"}
    post = {"type": "message", "ts": f"{_DAY + second}.1", "user": user, "text": text}
    return post | thread | more


def test_a_day_of_slack() -> None:
    day = [
        _post(0, "U2", "x", subtype="channel_join"),
        _post(
            1,
            "U1",
            "<@U2> see <https://a.org/x?y|the plan>, <https://b.org> &amp; <#C9> <!here>",
        ),
        _post(60, "U2", "Lunch?"),
        _post(90, "U2", "Thanks <@U1>", reply_to=1),
        _post(
            95,
            "",
            "",
            subtype="bot_message",
            username="builder",
            attachments=[{"title": "Build 5", "text": "passed"}],
            files=[{"name": "log.txt"}],
        ),
        _post(99, "U7", "Late reply", reply_to=-90_000, user_profile={"real_name": "Cy"}),
    ]
    data = json.dumps(day)
    chat = only(read("export/general/2024-03-01.json", data, sibling=_slack))
    assert placed(chat) == [
        ("2024-03-01 Ann Lee", "Ann Lee: @Ben see the plan, https://b.org & #random @here"),
        ("2024-03-01 Ben", "Ben: Thanks @Ann Lee"),
        ("2024-03-01 Ben", "Ben: Lunch?"),
        ("2024-03-01 builder", "builder: Build 5\npassed\nlog.txt"),
        ("2024-03-01 Cy", "Cy: Late reply"),
    ]
    assert chat.title == "#general 2024-03-01"
    assert chat.metadata["channel"] == "#general"
    direct = only(read("export/D1/2024-03-01.json", data, sibling=_slack))
    assert direct.title == "Ann Lee, Ben 2024-03-01"
    # Without the lists beside it people are called by their ids.
    assert "U1: @U2 see" in only(read("general/2024-03-01.json", data)).text


def _node(parent: str | None, role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
    message = {"author": {"role": role}, "content": content, **more}
    return {"parent": parent, "message": message}


def test_chatgpt_follows_the_branch_that_is_shown() -> None:
    mapping = {
        "root": {"parent": None, "message": None},
        "system": _node("root", "system", "You are helpful."),
        "q": _node("system", "user", "How do I sort?", create_time=_DAY),
        "old": _node("q", "assistant", "By hand."),
        "think": _node("q", "assistant", "hm", content_type="thoughts"),
        "tool": _node("think", "tool", "result"),
        "code": _node("tool", "assistant", "run()", recipient="python"),
        "a": _node(
            "code",
            "assistant",
            {"content_type": "image_asset_pointer"},
            "Call `sort`\ue200cite\ue202turn0\ue201:\n\n```python\nx.sort()\n\nprint(x)\n```\n\n"
            "## Why\n- it is **fast**\n- it is stable【3†source】",
            create_time=_DAY + 90_000,
        ),
    }
    chat = {"title": "Sorting", "id": "c1", "create_time": _DAY, "current_node": "a"}
    found = only(read("conversations.json", json.dumps([chat | {"mapping": mapping}])))
    assert found.name == "conversations.json#c1"
    assert found.title == "Sorting"
    assert kinds(found) == [
        ("message", "User: How do I sort?"),
        ("message", "ChatGPT: Call sort:"),
        ("code", "x.sort()\n\nprint(x)"),
        ("message", "Why"),
        ("item", "- it is fast"),
        ("item", "- it is stable"),
    ]
    places = [place for place, _ in placed(found)]
    assert places == ["2024-03-01 User", *["2024-03-02 ChatGPT"] * 5]


def test_chatgpt_with_a_circle() -> None:
    mapping = {"a": _node("b", "user", "One?"), "b": _node("a", "assistant", "Two.")}
    found = only(read("conversations.json", json.dumps([{"mapping": mapping}])))
    assert [text for _, text in kinds(found)] == ["User: One?", "ChatGPT: Two."]


def test_claude() -> None:
    question = {
        "sender": "human",
        "text": "old field",
        "content": [{"type": "text", "text": "Which lamp?"}],
        "created_at": "2024-03-01T23:59:00Z",
        "attachments": [{"file_name": "a.txt", "extracted_content": "A lamp list."}],
    }
    thinking = {"type": "thinking", "thinking": "hm"}
    answer = {
        "sender": "assistant",
        "content": [thinking, {"type": "text", "text": "The **red** one."}],
        "created_at": "2024-03-02T00:01:00Z",
    }
    last = {"sender": "assistant", "text": "Or blue.", "content": []}
    about = {"uuid": "u1", "name": "Lamps", "created_at": "2024-03-01T23:59:00.000000Z"}
    chats = [
        about | {"chat_messages": [question, answer, last]},
        {"uuid": "u2", "name": "", "chat_messages": []},
    ]
    found = only(read("conversations.json", json.dumps(chats)))
    assert found.title == "Lamps"
    assert placed(found) == [
        ("2024-03-01 User", "User: Which lamp?"),
        ("2024-03-01 User", "a.txt"),
        ("2024-03-01 User", "A lamp list."),
        ("2024-03-02 Claude", "Claude: The red one."),
        ("2024-03-01 Claude", "Claude: Or blue."),
    ]


def test_telegram_and_discord() -> None:
    joined = {"type": "service", "actor": "Ann", "text": "joined"}
    link = {"type": "link", "text": "a.org"}
    said = {"type": "message", "from": "Ann", "date": "2024-03-01T12:00:00"}
    chat = {"name": "Ann", "id": 7, "messages": [joined, said | {"text": ["See ", link, " now"]}]}
    expected = [("2024-03-01 Ann", "Ann: See a.org now")]
    assert placed(only(read("result.json", json.dumps(chat)))) == expected
    every = only(read("result.json", json.dumps({"chats": {"list": [chat]}})))
    assert placed(every) == expected
    assert every.name == "result.json#7"
    discord = {
        "guild": {"name": "Home"},
        "channel": {"name": "garden"},
        "messages": [
            {
                "type": "Default",
                "timestamp": "2024-03-01T12:00:00.5+00:00",
                "content": "Hi",
                "author": {"name": "ann5", "nickname": "Ann"},
            },
            {"type": "ChannelPinnedMessage", "content": "pinned", "author": {"name": "ben"}},
        ],
    }
    found = only(read("garden.json", json.dumps(discord)))
    assert (found.title, placed(found)) == ("#garden", [("2024-03-01 Ann", "Ann: Hi")])


def test_objects_with_a_text_are_documents() -> None:
    items = [
        {"id": "p1", "title": "Lamps", "text": "One lamp.\n\nTwo lamps.", "year": 1890, "n": None},
        {"id": "p1", "subject": "Boats", "body": "A boat."},
        {"title": "Empty"},
        7,
    ]
    found = read("pages.json", json.dumps(items))
    lamps, boats = only(found[:1]), only(found[1:2])
    assert (lamps.name, lamps.title) == ("pages.json#p1", "Lamps")
    assert kinds(lamps) == [("paragraph", "One lamp."), ("paragraph", "Two lamps.")]
    assert lamps.metadata == {"id": "p1", "year": 1890}
    assert (boats.name, boats.title) == ("pages.json#2", "Boats")
    assert len(list(problems(found))) == 2
    alone = only(read("my-page.json", b'\xef\xbb\xbf{"content": "Hello"}'))
    assert (alone.name, alone.title) == ("my-page.json", "my page")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not JSON at line 1"),
        (b"{'a': 1}", "is not JSON at line 1"),
        (b'{"a": "\xff"', "is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 5_000, "is not JSON"),
        (b'{"name": "x", "version": "1"}', "holds an object without a text"),
        (b'[{"a": 1}]', "holds a list without a text"),
        (b"3", "holds a value without a text"),
    ],
)
def test_other_json_says_what_it_holds(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("a.json", data)


def test_lone_surrogates_are_replaced() -> None:
    data = (
        b'[{"id": "\\uD800", "title": "T\\ud800", "by": "\\udfff\\ud800",'
        b' "text": "a\\udc00b \\ud83d\\ude00 \\\\ud800"}]'
    )
    found = only(read("a.json", data))
    assert (found.title, found.text) == ("T\ufffd", "a\ufffdb 😀 \\ud800")
    assert found.name == "a.json#\ufffd"
    assert found.metadata["by"] == "\ufffd" * 2


_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                "type ts user text mapping message author role content parts chat_messages sender "
                "messages from date chats list channel name attachments files parent title id "
                "current_node thread_ts subtype timestamp profile members".split()
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)
_SHAPES = st.sampled_from(
    [
        lambda value: [{"type": "message", "ts": "1.0", "user": value, "text": value}, value],
        lambda value: [{"type": "message", "ts": "1.0"}, {"ts": value, "files": value}],
        lambda value: [{"mapping": {"a": value}, "title": value, "id": value}, value],
        lambda value: [{"mapping": {"a": {"message": value, "parent": value}}}],
        lambda value: [{"mapping": {"a": {"message": {"author": value, "content": value}}}}],
        lambda value: [{"chat_messages": [value], "uuid": value, "name": value}],
        lambda value: [{"chat_messages": [{"sender": value, "content": [value], "text": "x"}]}],
        lambda value: {"messages": [{"type": "message", "from": value, "text": value}, value]},
        lambda value: {"chats": {"list": [value]}},
        lambda value: {"channel": {"name": value}, "messages": [{"author": value}, value]},
        lambda value: value,
    ]
)


@given(_VALUES, _SHAPES)
def test_no_shape_of_json_breaks_an_export(value: Any, shape: Any) -> None:
    data = read_json(json.dumps(shape(value)).encode())
    name = "export/general/2024-03-01.json"
    for document in chat_documents(SourceFile(name, b"", _slack), data) or ():
        check(document, name)
