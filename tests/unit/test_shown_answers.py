"""Answers as people read them: tables, lists and code on a terminal and in Markdown; greetings."""

import io
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from memnet import Answer, Document, Engine, Evidence, Hop, Quote, SlotWeight
from memnet.cli import show
from memnet.reader.rows import pieces_of
from memnet.text.citations import answer_text, carrying

_BOATS = (
    "# Boats\n\nBoat | Home | Length (m)\nTern | Kestle | 12\nSkua | 港町 | 9\n\nNone is for sale."
)
_SHEET = "Boat: Tern; Home: Kestle; Built: 1987; Owner: Una Thale of the lower quay; Crew: 4"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(answer: Answer, width: int = 80, terminal: bool = False) -> str:
        file = io.StringIO()
        console = Console(
            file=file, width=width, force_terminal=terminal, markup=False, highlight=False,
            color_system="standard" if terminal else None,
        )  # fmt: skip
        monkeypatch.setattr(show, "make_console", lambda: console)
        show.show_answer(answer)
        return file.getvalue()

    return run


def _answer(text: str | None, quoted: list[str], **fields: Any) -> Answer:
    own = [
        Quote(evidence=1, source="s", start=0, end=len(one), text=one, weight=1) for one in quoted
    ]
    values: dict[str, Any] = {
        "question": "q", "answer": text, "kind": "statement", "quotes": own, "confidence": None,
        "abstained": text is None, "candidates": (), "evidence": (), "hops": (), "model": "m",
        "elapsed_ms": 1.0,
    }  # fmt: skip
    return Answer.model_validate(values | fields)


@pytest.mark.parametrize(
    ("part", "pieces"),
    [
        ("Tern | Kestle | 12", [["Tern", "Kestle", "12"]]),
        ("Boat | Home | Length (m)\nTern | Kestle | 12\nSkua | 港町 | 9\n\nNone is for sale.",
         [["Tern", "Kestle", "12"], ["Skua", "港町", "9"], []]),
        ("Boat | Home | Length (m)", [[]]),
        ("Kestle | 1", [["Kestle", "1"]]),
        ("None is for sale.", [[]]),
    ],
)  # fmt: skip
def test_rows_are_told_from_text(part: str, pieces: list[list[str]]) -> None:
    start = _BOATS.index(part)
    found = pieces_of(_BOATS, "Boats", start, start + len(part))
    rows = [[cell.text for cell in row] for one in found for row in one.rows or ((),)]
    assert rows == pieces
    assert all(
        _BOATS[cell.start : cell.end] == cell.text
        for one in found for row in one.rows for cell in row
    )  # fmt: skip


def test_columns_that_nothing_tells_apart_are_text() -> None:
    text = "Day | Time | Day | Time\nMonday | 9 | Tuesday | 10"
    assert [one.rows for one in pieces_of(text, "", text.index("Monday"), len(text))] == [()]


def test_the_quotation_of_a_row_has_its_cells(toy_engine: Engine, shown: Any) -> None:
    toy_engine.ingest(Document(id="boats", title="Boats", text=_BOATS))
    answer = toy_engine.ask("What home has the boat Tern?")
    [cell] = [one for row in answer.quotes[-1].rows for one in row if one.answers]
    assert (cell.header, cell.text, answer.short) == ("Home", "Kestle", "Kestle")
    assert _BOATS[cell.start : cell.end] == "Kestle"
    lines = shown(answer).splitlines()
    assert lines[0].startswith("Kestle  (confidence 0.")
    assert lines[1].split()[:2] == ["Boat", "Home"]
    assert lines[3].split()[:2] == ["Tern", "**Kestle**"]
    cited = answer_text(answer).text
    assert cited.startswith("Kestle\n\n| Boat | Home |")
    assert "\n| Tern | **Kestle** |" in cited
    assert "|\n\n[1]\n\n(confidence 0.99, almost certain)\n\n[1] " in cited


def test_columns_are_aligned_by_what_characters_take(toy_engine: Engine, shown: Any) -> None:
    toy_engine.ingest(Document(id="boats", title="Boats", text=_BOATS))
    lines = shown(toy_engine.ask("Which boat is longer, the Tern or the Skua?"), terminal=True)
    plain = re.sub(r"\x1b\[\d+m", "", lines).splitlines()
    rows = [line for line in plain if line.startswith(("Boat", "Tern", "Skua")) and ":" not in line]
    places = {cell_len(line[: re.search(r"Length|12|9", line).start()]) for line in rows}  # type: ignore[union-attr]
    assert len(rows) == 3
    assert len(places) == 1


def test_a_row_that_is_too_wide_stands_on_lines(toy_engine: Engine, shown: Any) -> None:
    toy_engine.ingest(Document(id="boats", title="Boats", text=_SHEET))
    lines = shown(toy_engine.ask("What is the home of the Tern?"), width=44).splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["Boat", "Home", "Built", "Owner", "Crew"]
    assert max(map(len, lines)) <= 44


def test_rows_with_bars_are_one_table_in_markdown() -> None:
    rows = [{"header": "A|B", "text": "1 | 2", "start": 0, "end": 5}]
    quote = Quote.model_validate(
        {"evidence": 1, "source": "s", "start": 0, "end": 5, "text": "1 | 2", "weight": 1,
         "rows": [rows]}
    )  # fmt: skip
    text = answer_text(_answer("1 | 2", [], quotes=[quote])).text
    assert text == "| A\\|B |\n| --- |\n| 1 \\| 2 |"


def test_items_hang_and_code_keeps_its_indentation(shown: Any) -> None:
    steps = "1. Pull the red lever down.\n2. Wait."
    lines = shown(_answer(steps, [steps], kind="steps"), width=16).splitlines()
    assert lines == ["1. Pull the red", "   lever down.", "2. Wait."]
    code = "if a:\n    b()"
    assert shown(_answer(code, [code], kind="code")).splitlines() == ["if a:", "    b()"]
    assert answer_text(_answer(code, [code], kind="code")).text.startswith(f"```\n{code}\n```")


@pytest.mark.parametrize(
    ("confidence", "said"), [(0.95, "almost certain"), (0.75, "likely"), (0.5, "perhaps")]
)
def test_confidence_is_said_in_words(confidence: float, said: str, shown: Any) -> None:
    sure = f"(confidence {confidence:.2f}, {said})"
    answer = _answer("It is so.", ["It is so."], confidence=confidence)
    assert shown(answer) == f"It is so.  {sure}\n"
    assert shown(answer, width=30).splitlines()[1].startswith("(confidence")


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "Hi there!",
        "Good morning, how are you?",
        "What can I ask you?",
        "bye",
        "What's up?",
        "Hi, how's it going?",
        "hello world",
        "Hey! Can you help me?",
        "Thanks for your help!",
        "Test",
        "🔥?",
        "...",
        "?",
        "!?",
        "🚢",
    ],
)
def test_a_greeting_gets_what_can_be_asked_about(toy_engine: Engine, text: str, shown: Any) -> None:
    assert str(toy_engine.ask(text).answer).endswith("Nothing is stored yet.")
    toy_engine.ingest(*(Document(id=one, title=one, text=one) for one in ("Oil", "Wicks")))
    answer = toy_engine.ask(text)
    assert (answer.abstained, answer.evidence) == (True, ())
    assert shown(answer).endswith('Ask about what is stored: "Oil" and "Wicks".\n')
    assert answer_text(answer).text == answer.answer
    assert (
        toy_engine.ask("Thanks a lot!").answer == f"You're welcome. {toy_engine.ask('hi').answer}"
    )


@pytest.mark.parametrize(
    "text",
    ["Who said hello?", "hello world program", "thanks to whom?", "OK Oil", "What's up with oil?"],
)
def test_what_asks_something_is_no_greeting(toy_engine: Engine, text: str) -> None:
    toy_engine.ingest(Document(id="a", title="Oil", text="The oil is kept in the shed."))
    assert toy_engine.ask(text).evidence


@pytest.mark.parametrize(
    ("shown_as", "hops", "expected"),
    [
        ("answer", [{1: 0.5, 2: 0.4}], (1,)),  # what is quoted answers
        ("answer", [{2: 0.9, 1: 0.1}], (1, 2)),  # but not what a hop attended to most
        ("answer", [{1: 0.6}, {3: 0.5, 2: 0.2}], (1, 3)),  # another hop led there
        ("passage", [{1: 0.5, 2: 0.4, 3: 0.1}], (1, 2)),
        ("answer", [], (1, 2, 3)),  # nothing is known
    ],
)
def test_evidence_that_matters(
    shown_as: str, hops: list[dict[int, float]], expected: tuple[int, ...]
) -> None:
    evidence = [
        Evidence(
            id=n, kind="passage", source="s", title="", start=0, end=1, text="a", score=1, hop=1
        )
        for n in (1, 2, 3)
    ]
    read = [
        Hop(hop=n, weights=tuple(SlotWeight(id=i, source="s", weight=w) for i, w in one.items()))
        for n, one in enumerate(hops, 1)
    ]
    answer = _answer("a", ["a"], shown=shown_as, evidence=evidence, hops=read)
    assert carrying(answer) == expected


def test_nothing_is_near_where_words_and_vectors_differ() -> None:
    weights = [
        SlotWeight(id=1, source="s", weight=0.5, dense=0.1),
        SlotWeight(id=2, source="s", weight=0.4, dense=0.25, lexical=0.1),
    ]
    evidence = [
        Evidence(
            id=n, kind="passage", source="s", title="", start=0, end=1, text="a", score=1, hop=1
        )
        for n in (1, 2)
    ]
    answer = _answer(None, [], evidence=evidence, hops=[Hop(hop=1, weights=tuple(weights))])
    assert carrying(answer) == (2,)
