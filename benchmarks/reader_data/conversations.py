"""Questions about conversations, with the excerpts of these that memnet itself makes for them."""

import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime, formataddr
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks.questions import FOLDER, collapsed
from benchmarks.reader_data.files import Example, lines
from memnet import Engine, Message
from memnet.documents import answers
from memnet.documents.excerpts import excerpt_of
from memnet.reader.answers import Prediction

CONVERSATIONS = FOLDER / "conversations.jsonl.gz"
_NO_NAME = re.compile(r"[^\w ]")


class Conversation(NamedTuple):
    """A conversation of ``questions/conversations.jsonl.gz`` in a store of its own."""

    part: str
    messages: list[dict[str, str]]  # With ``speaker``, ``time`` and ``text``
    questions: list[dict[str, Any]]
    memory: Engine


def conversations(*parts: str) -> Iterator[Conversation]:
    """The conversations of some parts: mails, exports of chats, and messages of a session."""
    found = (one for one in lines(CONVERSATIONS) if one["part"] in parts)
    for number, one in enumerate(found):
        with (
            tempfile.TemporaryDirectory() as scratch,
            Engine.open(Path(scratch, "store"), create=True) as memory,
        ):
            if one["kind"] == "mail":
                for place, message in enumerate(one["messages"]):
                    _write_mail(Path(scratch, f"{place:03}.eml"), one["title"], place, message)
                memory.ingest(sorted(Path(scratch).glob("*.eml")))
            elif number % 2:
                file = Path(scratch, f"Chat with {_NO_NAME.sub('', one['title'])}.txt")
                exported = "\n".join(map(_exported, one["messages"]))
                file.write_text(exported, encoding="utf-8")
                memory.ingest([file])
            else:
                memory.remember(
                    Message(id=f"m{place}", session=one["title"], **message)
                    for place, message in enumerate(one["messages"])
                )
            yield Conversation(one["part"], one["messages"], one["questions"], memory)


def _write_mail(file: Path, subject: str, place: int, message: dict[str, str]) -> None:
    mail = EmailMessage()
    mail["From"] = formataddr((message["speaker"], f"{place}@example.org"))
    mail["Date"] = format_datetime(datetime.fromisoformat(message["time"]).replace(tzinfo=UTC))
    mail["Subject"] = f"{'Re: ' * (place > 0)}{subject}"
    mail["Message-ID"] = f"<{place}@example.org>"
    if place:
        mail["In-Reply-To"] = f"<{place - 1}@example.org>"
    mail.set_content(message["text"])
    file.write_bytes(bytes(mail))


def _exported(message: dict[str, str]) -> str:
    day, _, time = message["time"].partition("T")
    year, month, number = day.split("-")
    return f"{number}/{month}/{year}, {time} - {message['speaker']}: {message['text']}"


def conversation_examples(part: str) -> Iterator[Example]:
    """Examples of one passage each, which is the excerpt that is read for a question.

    A question whose evidence the excerpt holds in part is left out.
    """
    for one in conversations(part):
        for asked in one.questions:
            text = _excerpt(one.memory, asked["question"])
            evidence = [_longest(one.messages[place]["text"]) for place in asked["evidence"]]
            held = [said for said in evidence if collapsed(said) in collapsed(text)]
            example = {"question": asked["question"], "set": "conversations", "others": []}
            example |= {"passages": [{"title": "", "text": text}], "answers": [], "quotes": []}
            if not text:
                continue
            if not held or not asked["answers"]:
                yield example
            elif len(held) == len(evidence):
                given = asked["answers"]
                if asked["type"] == "list":
                    given = given[0].split("; ")[:1]
                kind = {"value": "value", "who": "value", "list": "list"}.get(asked["type"])
                yield {**example, "answers": given, "quotes": evidence, "kind": kind}


def _longest(message: str) -> str:
    """The longest paragraph of a message, but for what it quotes."""
    return max((one for one in message.split("\n\n") if not one.startswith(">")), key=len)


def _excerpt(memory: Engine, question: str) -> str:
    """The first excerpt that is read for a question; empty without one."""
    found: list[str] = []

    def look_at(asked: Any, passages: Any, *_: Any) -> Prediction:
        if (excerpt := excerpt_of(asked, passages)) is not None:
            found.append(excerpt.text)
        return Prediction()

    nothing = Prediction()
    with (
        patch.object(answers, "read_excerpts", look_at),
        patch.object(answers.TextAnswers, "_read", lambda *_: nothing),
        patch.object(answers.TextAnswers, "_linked", lambda *_: nothing),
        patch.object(answers, "read_cells", lambda *_: nothing),
    ):
        memory.ask(question)
    return found[0] if found else ""
