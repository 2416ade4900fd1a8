"""Conversations are read in excerpts: what hops found, with the messages beside it, in order."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.fit_programs import proposals
from memnet import Document, Engine
from memnet.documents import excerpts
from tests.excerpts import excerpts_read

_SAID = (
    ("Lotte", "The canoes are booked for the 9th. Who fetches the trailer?"),
    ("Imre", "me"),
    ("Lotte", "great. Is there a shower at the camp site?"),
    ("Nadia", "two, and a kettle. No cooker"),
    ("Imre", "my back hurts, can somebody else do the trailer?"),
    ("Nadia", "I'll do it"),
    ("Lotte", "Then Imre brings the map"),
)


def _messages() -> list[dict[str, str]]:
    return [
        {"id": f"m{number}", "session": "trip", "speaker": speaker, "text": text,
         "time": f"2025-05-0{number + 1}T10:00"}
        for number, (speaker, text) in enumerate(_SAID)
    ]  # fmt: skip


def _write_mails(folder: Path) -> None:
    """Each message as a mail that quotes the one before it."""
    folder.mkdir()
    for number, (speaker, text) in enumerate(_SAID):
        head = [f"From: {speaker} <{speaker.lower()}@example.org>", f"Message-ID: <{number}@x>"]
        head += [f"Date: Thu, 0{number + 1} May 2025 10:00:00 +0000"]
        head += [f"Subject: {'Re: ' * (number > 0)}Canoe trip"]
        body = [text]
        if number:
            head.append(f"In-Reply-To: <{number - 1}@x>")
            before, said = _SAID[number - 1]
            body += ["", f"On 0{number} May 2025 {before} wrote:", f"> {said}"]
        mail = "\n".join([*head, "", *body])
        Path(folder, f"{number}.eml").write_text(mail, encoding="utf-8")


@pytest.fixture(scope="module", params=["messages", "chat", "mails"])
def trip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same conversation as messages of a session, the export of a chat, and mails."""
    folder = tmp_path_factory.mktemp("trip")
    with Engine.open(folder / "store", create=True) as engine:
        if request.param == "messages":
            engine.remember(_messages())
        elif request.param == "mails":
            _write_mails(folder / "mails")
            engine.ingest(folder / "mails")
        else:
            chat = folder / "WhatsApp Chat with Trip.txt"
            lines = (
                f"0{number + 1}/05/2025, 10:00 - {speaker}: {text}"
                for number, (speaker, text) in enumerate(_SAID)
            )
            chat.write_text("\n".join(lines), encoding="utf-8")
            engine.ingest(chat)
        yield engine


def test_an_excerpt_has_messages_in_their_order_after_their_speakers(trip: Engine) -> None:
    [found] = excerpts_read(trip, "Who fetches the trailer in the end?")
    assert found.text.splitlines() == [f"{speaker}: {text}" for speaker, text in _SAID]
    assert [line.speaker for line in found.lines] == [speaker for speaker, _ in _SAID]
    numbers = [found.text.count("\n", 0, place) for place in range(len(found.text))]
    owners = [found.lines.index(found.line_at(place)) for place in range(len(found.text))]
    breaks = {place for place, one in enumerate(found.text) if one == "\n"}
    assert all(
        one == two
        for place, (one, two) in enumerate(zip(numbers, owners, strict=True))
        if place not in breaks
    )


def test_what_is_proposed_stands_in_its_message(trip: Engine) -> None:
    questions = ("Who fetches the trailer?", "What is there at the camp site?")
    seen = [one for question in questions for one in proposals(excerpts, trip, question)]
    assert len(seen) > 2
    for one in seen:
        if one.start is None:
            assert one.short == one.line.speaker
        else:
            text = one.line.item.slot.text
            assert text[one.start : one.start + len(one.short)] == one.short


def test_a_long_conversation_is_read_in_part(tmp_path: Path) -> None:
    said = [f"note {number} about the weather on the hill" for number in range(200)]
    said[120] = "The spare key hangs behind the boiler"
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.remember(
            {"id": f"n{number}", "session": "notes", "speaker": "Ole", "text": text}
            for number, text in enumerate(said)
        )
        [found] = excerpts_read(engine, "Where is the spare key?")
    texts = [line.item.slot.text for line in found.lines]
    assert said[120] in texts
    places = [said.index(text) for text in texts]
    assert places == sorted(places)
    assert len(found.text) < 1_000


def test_who_says_a_day_is_not_the_label_of_a_form(tmp_path: Path) -> None:
    said = [
        "Nadia: which weekend for the canoes?",
        "Lotte: not the 17th",
        "Imre: ok then 24-25 May",
    ]
    lines = (f"0{number + 1}/05/2025, 10:00 - {one}" for number, one in enumerate(said))
    chat = tmp_path / "WhatsApp Chat with Canoes.txt"
    chat.write_text("\n".join(lines), encoding="utf-8")
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(chat)
        assert engine.ask("When is Imre's birthday?").short is None


def test_documents_have_no_excerpts_read(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(Document(id="a", title="Camp", text="The gate is open from seven."))
        assert excerpts_read(engine, "When is the gate open?") == []
