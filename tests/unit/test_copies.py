"""Copies of a passage are one piece of evidence, and tables of contents come last."""

from dataclasses import replace
from pathlib import Path

import pytest

from memnet import Document, Engine
from memnet.reader.passages import RankedSlot, merge_copies
from memnet.reader.quotes import attend_units
from memnet.reader.sequences import ASKS_FOR_CONTENTS, Entries
from memnet.reader.spans import Reading, ReadUnit
from memnet.text.english import units
from tests.reading import ranked

LOFT = "The loft is swept on Fridays. Nobody may smoke in it."
SHED = "The shed is never locked."


def _ranked(*texts: str, titles: tuple[str, ...] = ()) -> list[RankedSlot]:
    found = ranked({str(n): text for n, text in enumerate(texts)})
    titles = titles or ("Rules",) * len(texts)
    return [
        replace(item, slot=replace(item.slot, title=title), attention=0.5**n)
        for n, (item, title) in enumerate(zip(found, titles, strict=True))
    ]


@pytest.mark.parametrize(
    ("question", "texts", "titles", "expected"),
    [
        ("When is the loft swept?", (LOFT, SHED, LOFT), (), [(0, (2,)), (1, ())]),
        ("When is the loft swept?", (LOFT, f"The loft\n\n{LOFT.upper()}"), (), [(0, (1,))]),
        ("When is the loft swept?", (LOFT, f"{LOFT} {SHED}", SHED), (), [(1, (0, 2))]),
        ("When is the loft swept?", (LOFT, LOFT.replace("Fri", "Mon")), (), [(0, ()), (1, ())]),
        ("When is the loft swept?", (LOFT, f"{LOFT[:29]} All may smoke."), (), [(0, ()), (1, ())]),
        ("When does Vik rest?", ("Rest at noon.",) * 2, ("Vik", "Odo"), [(0, ()), (1, ())]),
        ("When is rest?", ("Rest at noon.",) * 2, ("Vik", "Odo"), [(0, (1,))]),
    ],
)  # fmt: skip
def test_copies_are_one_passage(
    question: str,
    texts: tuple[str, ...],
    titles: tuple[str, ...],
    expected: list[tuple[int, tuple[int, ...]]],
) -> None:
    merged = merge_copies(question, _ranked(*texts, titles=titles))
    assert [(one.slot.id, tuple(slot.id for slot in one.copies)) for one in merged] == expected
    assert merged[0].attention == 1.0


@pytest.mark.parametrize(
    ("question", "texts", "titles", "expected"),
    [
        ("Is the tent of Odo dry?", ("It is not dry.", "It is dry."), ("Vik", "Odo"), [1]),
        ("Is the Odo tent dry?", ("Vik\n\nIt is dry.", "Odo\n\nIt is not dry."), (), [1]),
        ("Is Odo or Vik dry?", ("It is not dry.", "It is dry."), ("Vik", "Odo"), [0, 1]),
        ("Is Odo dry?", ("Not dry as Odo is.", "Dry as Vik is."), ("Vik", "Odo"), [0, 1]),
        ("Is Odo dry?", (LOFT, "He is dry."), ("Vik", "Odo"), [0, 1]),
    ],
)
def test_the_title_tells_which_of_two_alike_is_asked_about(
    question: str, texts: tuple[str, ...], titles: tuple[str, ...], expected: list[int]
) -> None:
    merged = merge_copies(question, _ranked(*texts, titles=titles))
    assert sorted(one.slot.id for one in merged) == [0, 1]
    assert [one.slot.id for one in merged if one.attention] == expected
    assert merged == sorted(merged, key=lambda one: -one.score)


def test_messages_and_parts_of_one_source_are_no_copies() -> None:
    one, other = _ranked("Good night.", "Good night.")
    messages = [replace(item, slot=replace(item.slot, has_usage=True)) for item in (one, other)]
    assert len(merge_copies("Who says good night?", messages)) == 2
    parts = [replace(item, slot=replace(item.slot, source="a")) for item in (one, other)]
    assert len(merge_copies("Who says good night?", parts)) == 2


@pytest.mark.parametrize(
    ("title", "text", "headings", "expected"),
    [
        ("Guide", "Tides … 3\nMoorings … 7\nWho may land? … 9", (), True),
        ("Guide", "Tides .......... 3\nMoorings ....... 7\nLanding ........ ix", (), True),
        ("Guide", "1 May I land? … | 3\n2 May I fish? .... | 7\n3 Who pays? … | 9", (), True),
        ("Guide", "anchors, 4, 17-19\nballast, 3\nbuoys, 12", (), True),
        ("Guide", "Tides 1\nMoorings 2\nLanding 2\nFuel 5\nNights 8", (), True),
        ("Guide", "1.1 Tides\n1.2 Moorings\n1.3 Landing", {"1 1 tides", "moorings"}, True),
        ("Guide > Contents", "- Tides\n- Moorings\n- Landing", (), True),
        ("Guide", "- Tides\n- Moorings\n- Landing", (), False),
        ("Prices", "Tea 3\nCoffee 4\nCake 2\nSoup 6\nBread 1", (), False),
        ("Prices", "Tea | 3\nCoffee | 4\nCake | 5", (), False),
        ("Guide", "The tides are strong. They turn at 4. Land early.", {"tides"}, False),
        ("Contents of the box", "- a lamp\n- oil\n- a rag", (), False),
        ("Guide > Index", "It rose by 3. It fell by 4. It rests.", (), False),
    ],
)
def test_tables_of_contents(title: str, text: str, headings: set[str], expected: bool) -> None:
    entries = Entries(title, text)
    spans = entries.leading(headings)
    assert entries.are_most(spans) == expected
    assert spans == (((0, len(text)),) if expected else ())


def test_contents_before_a_text_are_told_from_it() -> None:
    text = "- Tides\n- Moorings\n- Landing\n\nTides\n\nThey turn. They fall. Mind them. Rest."
    entries = Entries("Guide", text)
    assert entries.names >= {"tides", "moorings", "landing"}
    assert entries.leading({"tides", "landing"}) == ((0, text.index("\n\nTides")),)
    assert not entries.are_most(entries.leading({"tides", "landing"}))


@pytest.mark.parametrize(
    ("heading", "weights"), [("3.1 May dogs land?", [0, 1]), ("Dogs ashore", [1, 0])]
)
def test_what_follows_a_heading_that_asks_is_attended_to(heading: str, weights: list[int]) -> None:
    text = f"{heading}\n\nOn a lead they may."
    first, second = units(text)
    read = (ReadUnit(0, first, 5.0), ReadUnit(0, second, -2.0))
    attended = attend_units(Reading((), 0, 0, 1.0, read), ranked({"Guide": text}))
    assert [round(one.weight) for one in attended] == weights
    assert ranked({"Guide": text})[0].leads_elsewhere(0) == heading.endswith("?")


def test_a_question_may_ask_for_the_contents() -> None:
    assert ASKS_FOR_CONTENTS.search("Which chapters does the guide have?")
    assert not ASKS_FOR_CONTENTS.search("Where may boats land?")


def test_copies_and_contents_in_a_store(toy_engine: Engine, tmp_path: Path) -> None:
    sections = {"Tides": "The water rises by two feet.", "Landing": "Boats land at the slip."}
    sections |= {"Fuel": "Diesel is sold by Ada Mull.", "Nights": "Lamps burn until eleven."}
    when = "from the first day of March until the very last one of the month of October"
    body = "\n\n".join(f"## {name} {when}\n\n{text * 14}" for name, text in sections.items())
    listed = "\n".join(f"- {name} {when}" for name in sections)
    guide = f"# Guide\n\n{listed}\n\n{body}"
    (tmp_path / "guide.md").write_text(guide)
    toy_engine.ingest(tmp_path / "guide.md")
    toy_engine.ingest([
        Document(id="a", text="Boats of the club are blue.", title="Club"),
        Document(id="b", text="Boats of the club are blue.", title="Club"),
    ])  # fmt: skip
    found = toy_engine.search("Which colour are the boats of the club?")
    [boats] = [one for one in found if one.text.startswith("Boats of")]
    assert {boats.source, *(copy.source for copy in boats.copies)} == {"a", "b"}
    found = toy_engine.search("Tides Landing Fuel Nights")
    assert found[-1].text == listed
    assert toy_engine.search("Which sections? Tides Landing Fuel Nights")[-1].text != listed
