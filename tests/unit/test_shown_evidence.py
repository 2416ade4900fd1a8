"""Evidence on a terminal of any width."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from memnet.cli.output import source_name
from memnet.cli.show import show_evidence
from memnet.types import Evidence

_WORDS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), max_size=60)


def _shown(
    text: str,
    values: Sequence[str] = (),
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
    show_evidence(console, 1, item, "Who built the Orre Light?", values)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_piece_nearest_to_the_question_is_shown() -> None:
    text = "It rained.\nWho  built\tthe light is told here. It was old."
    assert _shown(text) == (
        "  [1] hop 2  Orre Light (notes/orre.md)\n      Who built the light is told here.\n"
    )
    rows = "Light | Built\nHallin | 1830\nOrre | 1842"
    assert _shown(rows).endswith("\n      Light | Built\n")
    assert _shown("One. Two.").endswith("\n      One.\n")
    assert _shown("The [b]Bo\x1b[0m.").endswith(r"The [b]Bo\x1b[0m." + "\n")


@pytest.mark.parametrize(
    ("text", "values", "shown"),
    [
        ("Kestle twinned with Kestle", ["Orre", "Kestle"], "Kestle twinned with **Kestle**"),
        ("Orre near Newkestle", ["kestle"], "Orre near Newkestle"),
        ("Kestle twinned with Orre", ["Kestle"], "Kestle twinned with Orre"),
        ("Orre\tlit in\t1842", ["1842"], "Orre lit in **1842**"),
    ],
)
def test_the_value_of_a_fact_is_marked(text: str, values: list[str], shown: str) -> None:
    found = _shown(text, values, kind="fact", source="facts.tsv")
    assert found == f"  [1] hop 2  {shown} (facts.tsv)\n"
    bold = _shown(text, values, kind="fact", source="facts.tsv", terminal=True)
    assert ("\x1b[1m" in bold) == ("**" in shown)


def test_a_long_fact_wraps_and_its_source_is_whole() -> None:
    long = f"Kestle {'has been ' * 9}twinned with Orre"
    shown = _shown(long, ["Orre"], kind="fact", source="a/long/way/to/facts.tsv", place="row 4")
    assert " ".join(shown.split()).endswith("with **Orre** (a/long/way/to/facts.tsv, row 4)")
    assert all(line.startswith(" " * 13) for line in shown.splitlines()[1:])


def test_a_long_sentence_is_cut() -> None:
    shown = _shown(f"Who built it {'was built before it ' * 40}.").splitlines()[1:]
    assert len(shown) == 2
    assert shown[-1].endswith("…")


@given(before=_WORDS, after=_WORDS, width=st.integers(20, 120), title=st.text(max_size=60))
def test_any_text_fits_any_width(
    before: list[str], after: list[str], width: int, title: str
) -> None:
    text = f"{' '.join(before)} Ann {' '.join(after)}"
    source = str(Path(*["folder"] * 12))
    shown = _shown(text, width=width, title=title, source=source)
    console = Console(width=1000)
    assert all(console.measure(line).maximum <= width for line in shown.splitlines())


def test_paths_are_shown_as_seen_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert source_name(str(tmp_path / "notes" / "a.jsonl:3")) == str(Path("notes", "a.jsonl:3"))
    assert source_name(str(tmp_path.parent / "b.txt")) == str(Path("..", "b.txt"))
    far = Path(tmp_path.anchor, "b.txt")
    assert source_name(str(far)) == str(far)  # shorter than the way there
    assert source_name("told/1") == "told/1"
    assert source_name("told/1") == "told/1"
    assert source_name("a\nb") == "a\\nb"
    assert source_name("\0") == "\\x00"


@pytest.mark.parametrize(
    ("fields", "heading"),
    [
        ({"place": "p. 8"}, "Orre Light, p. 8 (notes/orre.md)"),
        (
            {"place": "Oil", "title": "Log > Oil — Of seals:"},
            "Log > Oil — Of seals: (notes/orre.md)",
        ),
        ({"place": "p. 8", "title": ""}, "p. 8 (notes/orre.md)"),
        ({"place": None}, "Orre Light (notes/orre.md)"),
        (
            {"place": "Lamps > Oil", "title": "Log: Lamps > Oil"},
            "Log: Lamps > Oil (notes/orre.md)",
        ),
        ({"place": "line 12"}, "Orre Light (notes/orre.md:12)"),
        ({"place": "line 12", "title": "orre"}, "notes/orre.md:12"),
        (
            {"place": "Settings > Hotkeys", "title": "Help"},
            "Help, Settings > Hotkeys (notes/orre.md)",
        ),
        ({"place": "Orre Light > Keepers"}, "Orre Light > Keepers (notes/orre.md)"),
        ({"place": "a\x1b[31m\nb"}, "Orre Light, a\\x1b[31m b (notes/orre.md)"),
    ],
)
def test_the_place_stands_beside_the_title(fields: dict[str, Any], heading: str) -> None:
    shown = _shown("It was built by Ann.", **fields).splitlines()[0]
    assert shown == f"  [1] hop 2  {heading}"
