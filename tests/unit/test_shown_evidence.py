"""Evidence on a terminal of any width."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from memnet.cli.output import source_name
from memnet.cli.show import show_evidence
from memnet.types import Candidate, Evidence

_WORDS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), max_size=60)


def _shown(
    text: str,
    answers: list[str] | list[Candidate],
    *,
    width: int = 80,
    terminal: bool = False,
    **fields: str | None,
) -> str:
    item = Evidence.model_validate(
        {
            "id": 1, "kind": "passage", "source": "notes/orre.md", "title": "Orre Light",
            "start": 100, "end": 100 + len(text), "text": text, "score": 0.0, "hop": 2, **fields,
        }
    )  # fmt: skip
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, markup=False, highlight=False,
        color_system="standard" if terminal else None,
    )  # fmt: skip
    candidates = [
        one if isinstance(one, Candidate) else Candidate(text=one, score=1.0) for one in answers
    ]
    show_evidence(console, 1, item, "Who built the Orre Light?", candidates)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_sentence_that_holds_the_answer_is_shown() -> None:
    text = "The Orre Light is old.\nIt was  built\tby Ann Rank in 1842. It rained."
    assert _shown(text, ["Ann Rank"]) == (
        "  [1] hop 2  Orre Light (notes/orre.md)\n      It was built by **Ann Rank** in 1842.\n"
    )


def test_without_an_answer_in_it_the_sentence_nearest_to_the_question_is_shown() -> None:
    text = "It rained. Who built the light is told here. It was old."
    assert _shown(text, []).endswith("\n      Who built the light is told here.\n")
    assert _shown("One. Two.", ["yes"]).endswith("\n      One.\n")


def test_on_a_terminal_the_answer_is_bold(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "It was built by Ann Rank."
    assert "built by \x1b[1mAnn Rank\x1b[0m." in _shown(text, ["Ann Rank"], terminal=True)
    monkeypatch.setenv("TERM", "dumb")
    assert "**Ann Rank**" in _shown(text, ["Ann Rank"], terminal=True)


@pytest.mark.parametrize(
    ("text", "answers", "marked"),
    [
        ("The art of Art.", ["Art"], "The art of **Art**."),
        ("Kestlemen met in Kestle.", ["Kestle"], "Kestlemen met in **Kestle**."),
        ("The Kestlemen met.", ["Kestle"], "The Kestlemen met."),
        ("Ann saw Bo.", ["Cy", "Bo", "Ann"], "Ann saw **Bo**."),
        ("Ann saw [b]Bo\x1b[0m.", ["Bo"], r"Ann saw [b]**Bo**\x1b[0m."),
    ],
)
def test_answers_are_marked_where_they_stand_as_words(
    text: str, answers: list[str], marked: str
) -> None:
    assert _shown(text, answers).splitlines()[1].strip() == marked


def test_the_answer_is_marked_where_it_was_read() -> None:
    text = "It was lit in 1842. Rank died in 1842, too."
    start = text.rindex("1842") + 100
    read = Candidate(text="1842", score=1.0, evidence=1, start=start, end=start + 4)
    assert _shown(text, [read]).splitlines()[1].strip() == "Rank died in **1842**, too."
    elsewhere = read.model_copy(update={"evidence": 2})
    assert _shown(text, [elsewhere]).splitlines()[1].strip() == "It was lit in **1842**."


def test_a_fact_stands_on_one_line_with_the_value_marked() -> None:
    text = "Kestle twinned with Kestle"
    assert _shown(text, ["Kestle"], kind="fact", source="facts.tsv") == (
        "  [1] hop 2  Kestle twinned with **Kestle** (facts.tsv)\n"
    )
    long = f"Kestle {'has been ' * 9}twinned with Orre"
    shown = _shown(long, ["Orre"], kind="fact", source="facts.tsv").splitlines()
    assert shown[0] == "  [1] hop 2  facts.tsv"
    assert shown[-1].endswith("twinned with **Orre**")


def test_a_long_sentence_is_cut_around_the_answer() -> None:
    text = f"{'before it ' * 40}came Ann Rank {'after it ' * 40}."
    shown = _shown(text, ["Ann Rank"]).splitlines()[1:]
    assert len(shown) == 2
    sentence = " ".join(line.strip() for line in shown)
    assert re.fullmatch(r"…(before )?(it before )*it came \*\*Ann Rank\*\* after .*…", sentence)


@given(before=_WORDS, after=_WORDS, width=st.integers(20, 120), title=st.text(max_size=60))
def test_any_text_fits_any_width(
    before: list[str], after: list[str], width: int, title: str
) -> None:
    text = f"{' '.join(before)} Ann {' '.join(after)}"
    source = str(Path(*["folder"] * 12))
    shown = _shown(text, ["Ann"], width=width, title=title, source=source)
    console = Console(width=1000)
    assert all(console.measure(line).maximum <= width for line in shown.splitlines())
    assert "**Ann**" in shown.replace("\n      ", "")


def test_paths_are_shown_as_seen_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert source_name(str(tmp_path / "notes" / "a.jsonl:3")) == str(Path("notes", "a.jsonl:3"))
    assert source_name(str(tmp_path.parent / "b.txt")) == str(tmp_path.parent / "b.txt")
    assert source_name("told/1") == "told/1"
    assert source_name("a\nb") == "a\\nb"
    assert source_name("\0") == "\\x00"


@pytest.mark.parametrize(
    ("fields", "width", "heading"),
    [
        ({"place": "p. 8"}, 80, "Orre Light, p. 8 (notes/orre.md)"),
        (
            {"place": "Oil", "title": "Log > Oil — Of seals:"},
            80,
            "Log > Oil — Of seals: (notes/orre.md)",
        ),
        ({"place": "p. 8", "title": ""}, 80, "p. 8 (notes/orre.md)"),
        ({"place": None}, 80, "Orre Light (notes/orre.md)"),
        (
            {"place": "Lamps > Oil", "title": "Log: Lamps > Oil"},
            80,
            "Log: Lamps > Oil (notes/orre.md)",
        ),
        (
            {"place": "p. 8", "title": "The towers " * 9},
            60,
            "The towers The towers Th…, p. 8 (notes/orre.md)",
        ),
        (
            {"place": "Settings > Hotkeys > Other", "title": "Help"},
            50,
            "Help, … > Other (notes/orre.md)",
        ),
        ({"place": "Orre Light > Keepers"}, 80, "Orre Light > Keepers (notes/orre.md)"),
        ({"place": "a\x1b[31m\nb"}, 80, "Orre Light, a\\x1b[31m\\nb (notes/orre.md)"),
    ],
)
def test_the_place_stands_beside_the_title(
    fields: dict[str, Any], width: int, heading: str
) -> None:
    shown = _shown("It was built by Ann.", ["Ann"], width=width, **fields).splitlines()[0]
    assert shown == f"  [1] hop 2  {heading}"
    assert len(shown) <= width


def test_the_place_of_a_fact_stands_beside_its_source() -> None:
    shown = _shown("Orre | height | 34", ["34"], kind="fact", source="towers.csv", place="row 4")
    assert shown == "  [1] hop 2  Orre | height | **34** (towers.csv, row 4)\n"
    narrow = _shown("Orre | height | 34", ["34"], kind="fact", place="Sheet1!A4:D4", width=36)
    assert narrow.splitlines()[0] == "  [1] hop 2  …/orre.md, Sheet1!A4:D4"
