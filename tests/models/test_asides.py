"""What speakers say in passing, beside documents about the same matter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Document, Engine

_NOTE = (
    "The camp kitchen needs 9 kg of rice. Lamps have to be out until 23:00. The tents are dried in "
    "the barn. The trip to the lake costs 14 crowns."
)
_SAID = (
    ("Ines", "I bring rice, 2 kg"),
    ("Paul", "fine!"),
    ("Rosa", "I have to be out until 21:30"),
    ("Paul", "I dried my tent in the bathroom"),
    ("Ines", "I paid 30 crowns for the paint"),
    ("Rosa", "I am afraid of eels"),
)


@pytest.fixture(scope="module")
def camp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A note and a chat; for reading only."""
    with Engine.open(tmp_path_factory.mktemp("camp") / "store", create=True) as engine:
        engine.ingest(Document(id="note", title="Camp", text=_NOTE))
        engine.remember(
            {"id": f"m{number}", "speaker": speaker, "time": "2025-07-02 20:00", "text": text}
            for number, (speaker, text) in enumerate(_SAID, 1)
        )
        yield engine


@pytest.mark.parametrize(
    ("question", "short", "source"),
    [
        ("How much rice does the camp kitchen need?", "9 kg", "note"),
        ("Until when do the lamps have to be out?", "23:00", "note"),
        ("Where are the tents dried?", "the barn", "note"),
        ("How much rice does Ines bring?", "2 kg", "m1"),
        ("Until when does Rosa have to be out?", "21:30", "m3"),
        ("What did the paint cost?", "30 crowns", "m5"),
        ("Who brings rice?", "Ines", "m1"),
        ("Who paid for the paint?", "Ines", "m5"),
        ("What is Rosa afraid of?", "eels", "m6"),
        ("How much rice has to be bought for the kitchen?", "9 kg", "note"),
    ],
)
def test_an_aside_answers_what_is_asked_of_its_speaker_or_stands_nowhere_else(
    camp: Engine, question: str, short: str, source: str
) -> None:
    answer = camp.ask(question)
    assert answer.answer is not None
    assert short in (answer.short or answer.answer)
    assert [one.source for one in answer.quotes] == [source]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("I've mended the pump behind the barn", "Who mended the pump behind the barn?"),
        ("No hurry. I can lend you my ladder, it's in the garage", "Who can lend a ladder?"),
        ("I'll fetch the tarpaulin on Sunday", "Who will fetch the tarpaulin?"),
        ("Is there a vet near the lower meadow?", "Who asked whether there is a vet near?"),
        ("Let's sell the old baler", "Who suggested to sell the old baler?"),
    ],
)
@pytest.mark.parametrize("transcript", [False, True])
def test_who_says_i_is_the_speaker(
    tmp_path: Path, text: str, question: str, transcript: bool
) -> None:
    said = (("Edda Lind", "Good morning!"), ("Oskar", text), ("Edda Lind", "Thanks a lot"))
    with Engine.open(tmp_path / "store", create=True) as engine:
        if transcript:
            lines = [f"[03.05.25, 08:1{n}:00] {who}: {what}" for n, (who, what) in enumerate(said)]
            path = tmp_path / "WhatsApp Chat with Farm.txt"
            path.write_text("\n".join(lines), encoding="utf-8")
            engine.ingest(path)
        else:
            engine.remember(
                {"id": f"m{n}", "speaker": who, "time": "2025-05-03 08:10", "text": what}
                for n, (who, what) in enumerate(said)
            )
        answer = engine.ask(question)
        assert answer.candidates[0].text == "Oskar"
        assert answer.answer is not None
        assert answer.answer.count("Oskar") == 1 or answer.short is None
        # What is quoted is what was said.
        for quote in answer.quotes:
            assert text.endswith(quote.text.removeprefix("Oskar: "))


@pytest.mark.parametrize("question", ["What is the cook afraid of?", "What is Bruno afraid of?"])
def test_what_a_speaker_says_of_himself_is_not_said_of_another(camp: Engine, question: str) -> None:
    assert camp.ask(question).abstained


_MEETING = """Ruth: First the boiler. Somebody has to ring the fitter.
Jon: I know him from school. I'll ring him on Monday.
Ruth: Good. And the hedge?
Asta: Not me again.
Jon: Then who cuts it?
Asta: Fine. I'm cutting the hedge at Easter, with my brother.
Ruth: I have paid the insurance, by the way."""


@pytest.mark.parametrize(
    ("question", "who"),
    [
        ("Who rings the fitter?", None),
        ("Who will ring the boiler fitter on Monday?", "Jon"),
        ("Who is cutting the hedge at Easter?", "Asta"),
        ("Who has paid the insurance?", "Ruth"),
    ],
)
def test_who_says_i_in_a_transcript_is_named(
    tmp_path: Path, question: str, who: str | None
) -> None:
    with Engine.open(tmp_path, create=True) as engine:
        engine.ingest(Document(id="board.txt", title="Board meeting", text=_MEETING))
        answer = engine.ask(question)
        document = engine.get("board.txt")
    assert document is not None
    assert all(document.text[one.start : one.end] == one.text for one in answer.quotes)
    if who is not None:
        assert answer.quotes[0].text.startswith(f"{who}: ")
        assert answer.short in (who, None)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Joan offered to bake a plum cake for Sunday.", "Who offered to bake a plum cake?"),
        ("The letter about the fence was written by Kim Dale.", "Who wrote the letter?"),
    ],
)
def test_who_said_it_is_whom_the_text_names(tmp_path: Path, text: str, question: str) -> None:
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.remember(
            {"id": f"m{n}", "speaker": who, "time": "2025-05-03 08:10", "text": what}
            for n, (who, what) in enumerate((("Bo Ray", "Morning"), ("Ann Lee", text)))
        )
        answer = engine.ask(question)
    assert "Ann" not in (answer.short or "")


_LOG = """--- Log opened Fri Mar 07 18:00:00 2025
18:02 -!- wren [~w@host.example.net] has joined #workshop
18:03 <@otter> the drill press is free on sunday
18:04 < wren> I can bring the vice
18:06 <@otter> good. who sweeps the floor?
18:07 < wren> not me, I swept it last time
18:09 < finch> then I'll sweep the floor"""


@pytest.mark.parametrize(
    ("question", "who"),
    [("Who can bring the vice?", "wren"), ("Who will sweep the floor?", "finch")],
)
def test_who_says_i_in_a_log_is_named(tmp_path: Path, question: str, who: str) -> None:
    with Engine.open(tmp_path, create=True) as engine:
        engine.ingest(Document(id="log.txt", title="Workshop", text=_LOG))
        answer = engine.ask(question)
    assert answer.quotes
    assert f"{who}> " in answer.quotes[0].text
    assert answer.short in (who, None)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Monday: I mended the sail.\nTuesday: I slept.\nTuesday: Rain.", "Who mended the sail?"),
        ("Contact: Ann Moss\nNote: I can help you row.\nNote: Bring a hat.", "Who can help row?"),
    ],
)
def test_a_label_is_no_speaker(tmp_path: Path, text: str, question: str) -> None:
    with Engine.open(tmp_path, create=True) as engine:
        engine.ingest(Document(id="log.txt", title="Log", text=text))
        assert engine.ask(question).short not in ("Monday", "Contact", "Note")
