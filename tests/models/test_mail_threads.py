"""Threads of mails are read as conversations: what each sender wrote, in its order."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from memnet import Engine
from memnet.documents.mails import said_in_mail, sender_of
from tests.excerpts import excerpts_read


def _mail(
    number: int, sender: str, body: str, *, subject: str = "Boat shed", reply: int | None = None,
    dated: bool = True, kind: str = "plain",
) -> str:  # fmt: skip
    head = [f"From: {sender} <{sender.lower()}@example.org>", f"Message-ID: <{number}@x>"]
    head += [f"Date: Thu, {number + 1:02} May 2025 10:00:00 +0000"] if dated else []
    head += [f"Subject: {subject}"] if subject else []
    head += [f"In-Reply-To: <{reply}@x>"] if reply is not None else []
    return "\n".join([*head, f'Content-Type: text/{kind}; charset="utf-8"', "", body])


def _stored(folder: Path, mails: Sequence[str]) -> Engine:
    files = folder / "mails"
    files.mkdir()
    for number, mail in enumerate(mails):
        Path(files, f"{number:03}.eml").write_text(mail, encoding="utf-8")
    engine = Engine.open(folder / "store", create=True)
    engine.ingest(files)
    return engine


def test_the_end_of_a_long_thread_is_read(tmp_path: Path) -> None:
    mails = [_mail(0, "Ann", "Who paints which wall of the shed?")]
    mails += [
        _mail(
            number, "Bo", f"I did wall {number} today.", subject="Re: Boat shed", reply=number - 1
        )
        for number in range(1, 24)
    ]
    mails.append(_mail(24, "Cy", "The key hangs behind the pump.", subject="Re: Boat shed"))
    with _stored(tmp_path, mails) as engine:
        [found] = excerpts_read(engine, "Where does the key hang?")
    assert "Cy: The key hangs behind the pump." in found.text.splitlines()


def test_a_mail_that_is_too_long_is_read_where_it_says_most(tmp_path: Path) -> None:
    filler = "We walked along the river and looked at the herons for quite a while. "
    long = f"{filler * 6}The key hangs behind the pump. {filler * 6}"
    mails = [_mail(0, "Ann", "Where is the key?"), _mail(1, "Bo", long, subject="Re: Boat shed")]
    with _stored(tmp_path, mails) as engine:
        [found] = excerpts_read(engine, "Where does the key hang?")
    assert "The key hangs behind the pump." in found.text
    assert len(found.text) < 1_000


def test_each_part_of_a_long_mail_is_said_by_its_sender(tmp_path: Path) -> None:
    paragraphs = [
        f"Paragraph {number} tells of the weather and of the herons." for number in range(60)
    ]
    body = "\n\n".join([*paragraphs, "I will paint the shed in green."])
    mails = [_mail(0, "Ann", "Shall we paint?"), _mail(1, "Bo", body, subject="Re: Boat shed")]
    with _stored(tmp_path, mails) as engine:
        found = excerpts_read(engine, "Who paints the shed in green?")
    [line] = [line for one in found for line in one.lines if "green" in line.item.slot.text]
    assert line.speaker == "Bo"


@pytest.mark.parametrize(
    ("body", "dated", "said"),
    [
        ("Yes, gladly.", True, "Yes, gladly."),
        ("Yes, gladly.", False, "Yes, gladly."),
        ("Yes, gladly.\n\nOn 1 May 2025 Ann wrote:\n> Shall we?", True, "Yes, gladly."),
        ("> Shall we meet at the shed?\n\nYes, gladly.", True, "Yes, gladly."),
        ("> Shall we meet at the shed?", True, ""),
        ("> Shall we meet at the shed?", False, ""),
        ("", True, ""),
    ],
)
def test_neither_the_head_nor_what_is_quoted_is_said(
    tmp_path: Path, body: str, dated: bool, said: str
) -> None:
    with _stored(tmp_path, [_mail(0, "Bo", body, dated=dated)]) as engine:
        [source] = engine.sources()
        [slot] = engine.store.passages_of(source.id, source.namespace, 9)
    own = said_in_mail(slot)
    assert slot.text[own.start : own.stop] == said
    assert sender_of(slot) == "Bo"


def test_mails_that_answer_no_other_are_no_thread(tmp_path: Path) -> None:
    mails = [
        _mail(number, name, f"{name} has the key of shed {number}.", subject="")
        for number, name in enumerate(("Ann", "Bo", "Cy"))
    ]
    with _stored(tmp_path, mails) as engine:
        assert excerpts_read(engine, "Who has the key of shed 2?") == []


def test_a_mail_in_no_thread_leaves_a_conversation_to_be_read(tmp_path: Path) -> None:
    mails = [_mail(0, "Ann", "The key of the shed is with the key of the boat.", subject="")]
    with _stored(tmp_path, mails) as engine:
        engine.remember(
            {"id": f"m{number}", "session": "chat", "speaker": name, "text": text}
            for number, (name, text) in enumerate([("Bo", "Got the key?"), ("Cy", "It's with Di")])
        )
        [found] = excerpts_read(engine, "Who has the key of the shed?")
    assert [line.speaker for line in found.lines] == ["Bo", "Cy"]


def test_a_heading_in_a_mail_is_no_thread_of_its_own(tmp_path: Path) -> None:
    page = "<h1>Food</h1><p>I bring the bread.</p>"
    mails = [
        _mail(0, "Ann", "Who brings something to eat?"),
        _mail(1, "Bo", page, subject="Re: Boat shed", kind="html"),
    ]
    with _stored(tmp_path, mails) as engine:
        [found] = excerpts_read(engine, "Who brings the bread?")
    assert [line.speaker for line in found.lines] == ["Ann", "Bo"]
