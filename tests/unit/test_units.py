"""Units of texts, and the quotations that are made of them."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.reader.quotes import (
    Quotation,
    attend_units,
    kind_shown,
    quote,
    quote_around,
    with_close_unit,
)
from memnet.reader.spans import Reading, ReadUnit
from memnet.text.english import units
from tests.reading import ranked

LIST = "You need:\n\n- a lamp\n- seal oil\n- three wicks\n\nLight it at dusk. Rest then."
LINES = st.lists(st.text("ab. -1|;:\n漢", max_size=40), max_size=8)


@given(LINES)
def test_units_are_disjoint_in_order_and_hold_all_words(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = units(text)
    last = 0
    for unit in found:
        assert last <= unit.start < unit.end <= len(text)
        assert any(char.isalnum() for char in text[unit.start : unit.end])
        assert "\n" not in text[unit.start : unit.end]
        last = unit.end
    left = list(text)
    for unit in found:
        left[unit.start : unit.end] = " " * (unit.end - unit.start)
    assert not any(char.isalnum() for char in left)


def test_items_rows_and_lines_are_told_from_sentences() -> None:
    text = (
        "Two ways. Take one.\n- Boil it. Then rest.\n1. First\nSize | Price\nSize: 4; Price: 3\n"
        "$ cargo new x\n}\n\nEnd."
    )
    found = [(text[one.start : one.end], one.kind) for one in units(text)]
    assert found == [
        ("Two ways.", "sentence"), ("Take one.", "sentence"), ("- Boil it. Then rest.", "item"),
        ("1. First", "item"), ("Size | Price", "row"), ("Size: 4; Price: 3", "row"),
        ("$ cargo new x", "line"), ("End.", "sentence"),
    ]  # fmt: skip


def _attended(text: str, logits: list[float], passage: int = 0) -> list[ReadUnit]:
    return [
        ReadUnit(passage, unit, logit, weight=2.0**logit / 1e3)
        for unit, logit in zip(units(text), logits, strict=True)
    ]


def test_labels_on_one_line_and_sentences_without_a_last_stop_are_told_apart() -> None:
    for text, count in (
        ("Mass: 5 kg. Cable: 4 m. Fuse: 16 A.", 3),
        ("Signed by A. Lenz: nobody else.", 1),
        ("Dogs may not swim. The gate closes at 20:00", 2),
    ):
        assert len(units(text)) == count


def test_a_list_is_quoted_with_its_items() -> None:
    [item] = ranked({"Lamp": LIST})
    attended = _attended(LIST, [0.5, 2.0, -3.0, 1.0, -8.0, -9.0])
    [shown] = quote("list", attended, [item])
    assert shown.text == "You need:\n\n- a lamp\n- seal oil\n- three wicks"
    assert shown.weight == pytest.approx(sum(one.weight for one in attended[:4]))


def test_pieces_apart_are_shown_where_they_count() -> None:
    text = "It has a lamp. Rain is no harm. Seal oil burns in it. Fog is none. There are wicks."
    [item] = ranked({"Lamp": text})
    attended = _attended(text, [2.0, -19.0, 1.0, -19.0, 0.5])
    assert [one.text for one in quote("list", attended, [item])] == [
        "It has a lamp.", "Seal oil burns in it.", "There are wicks.",
    ]  # fmt: skip
    assert [one.text for one in quote("statement", attended, [item])] == ["It has a lamp."]


@given(LINES, st.lists(st.floats(-12, 4), min_size=60, max_size=60), st.sampled_from(
    ["value", "list", "steps", "statement", "definition"]
))  # fmt: skip
def test_what_is_shown_is_bounded_and_verbatim(
    lines: list[str], logits: list[float], kind: str
) -> None:
    text = "\n".join(line * 12 for line in lines) + " end"
    [item] = ranked({"a": text})
    attended = _attended(text, logits[: len(units(text))] + [0.0] * max(0, len(units(text)) - 60))
    shown = quote(kind, attended, [item])  # type: ignore[arg-type]
    best = max(attended, key=lambda one: one.weight)
    assert sum(len(one.text) + 1 for one in shown) - 1 <= (600 if kind == "list" else 300)
    assert any(one.start <= best.unit.start < one.end for one in shown)
    assert all(one.text == text[one.start : one.end] for one in shown)
    assert [one.start for one in shown] == sorted(one.start for one in shown)


@pytest.mark.parametrize(
    ("text", "best", "shown"),
    [
        # What stands above a heading is of another section, a list above a paragraph another piece.
        ("Opens: 9 May\nPlace: 8 Carr Street\n\nQuartet\n\nBegins: 14 June", "Quartet", "Quartet"),
        ("Not on deck:\n\n- fireworks\n- drones\n\nAda and Bo steer.", "Ada", "Ada and Bo steer."),
    ],
)
def test_what_is_apart_is_not_shown_together(text: str, best: str, shown: str) -> None:
    [item] = ranked({"a": text})
    logits = [2.0 if best in text[one.start : one.end] else -1.0 for one in units(text)]
    [found] = quote("value", _attended(text, logits), [item])
    assert found.text.startswith(shown)


def test_a_row_that_is_cut_is_shown_with_its_name() -> None:
    row = "; ".join(["Plant: Sunflower", *(f"Week {n} height: {n} cm" for n in range(40))])
    [item] = ranked({"a": row})
    start = row.index("31 cm")
    name, cells = quote_around(item, start, start + 5)
    assert name.text == "Plant: Sunflower"
    assert "Week 31 height: 31 cm" in cells.text
    assert cells.text.startswith("Week ")
    assert len(cells.text) <= 300


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Wool | bag | 5.40\nSeed | 2 kg | 3.30\nNet | 1 m | 2.25", ["Seed | 2 kg | 3.30"]),
        ("Wool is sold. Seed costs 3.30. Ask Bo.", ["Wool is sold. Seed costs 3.30. Ask Bo."]),
    ],
)
def test_a_value_in_a_row_is_shown_without_the_rows_beside_it(text: str, shown: list[str]) -> None:
    [item] = ranked({"Hut": text})
    attended = [ReadUnit(0, unit, -1.0) for unit in units(text)]
    start = text.index("3.30")
    found = quote_around(item, start, start + 4, attended)
    assert [one.text for one in found] == shown


def test_a_span_is_shown_in_its_unit() -> None:
    [item] = ranked({"Lamp": LIST})
    start = LIST.index("seal oil")
    [shown] = quote_around(item, start, start + 8)
    assert shown.text == "- seal oil"
    long = f"{'far ' * 100}lamp{' away' * 100}."
    [item] = ranked({"Lamp": long})
    [shown] = quote_around(item, 400, 404)
    assert "lamp" in shown.text
    assert len(shown.text) <= 300
    assert (long[shown.start - 1], long[shown.end]) == (" ", " ")


@pytest.mark.parametrize(
    ("weights", "second", "expected"),
    [
        ((0.5, 0.4, 0.05), "Two.", ["One.", "Two."]),
        ((0.5, 0.1, 0.4), "Two.", ["One.", "Three."]),
        ((0.6, 0.25, 0.1), "Two.", ["One."]),
        ((0.35, 0.34, 0.3), f"Two{' and' * 80}.", ["One.", "Three."]),
        ((0.4, 0.39, 0.1), "one!", ["One."]),
    ],
)
def test_a_unit_with_almost_as_much_attention_is_shown_as_well(
    weights: tuple[float, ...], second: str, expected: list[str]
) -> None:
    passages = ranked({"a": "One.", "b": second, "c": "Three."})
    attended = [
        Quotation(item, 0, len(item.slot.text), weight)
        for item, weight in zip(passages, weights, strict=True)
    ]
    ordered = sorted(attended, key=lambda one: -one.weight)
    shown = with_close_unit("Is it lit?", "value", tuple(attended[:1]), ordered)
    assert [one.text for one in shown] == expected
    assert with_close_unit("Is it lit?", "value", tuple(attended), ordered) == tuple(attended)
    assert with_close_unit("Is it lit?", "steps", tuple(attended[:1]), ordered) == tuple(
        attended[:1]
    )


@pytest.mark.parametrize(
    ("other", "shown"), [("The oil lamp is lit at dusk.", 2), ("The gate is shut at dusk.", 1)]
)
def test_a_unit_about_something_else_is_not_shown_beside_the_answer(other: str, shown: int) -> None:
    passages = ranked({"a": "The lamp is lit by Una.", "b": other})
    first, second = (Quotation(item, 0, len(item.slot.text), 0.4) for item in passages)
    found = with_close_unit("Who has lit the lamp?", "value", (first,), (first, second))
    assert len(found) == shown


def test_lines_with_labels_stand_for_themselves() -> None:
    text = "Berth number: K-12\nInsurer: Ladd Mutual\nThe berth is let by the year"
    [item] = ranked({"Berth": text})
    attended = _attended(text, [3.0, -4.0, -5.0])
    assert [one.text for one in quote("statement", attended, [item])] == ["Berth number: K-12"]
    assert quote("list", attended, [item])[0].text.startswith("Berth number: K-12\nInsurer")


@pytest.mark.parametrize("kind", ["list", "steps"])
def test_a_row_is_no_piece_of_what_is_said_elsewhere(kind: Literal["list", "steps"]) -> None:
    text = "Fill the lamp.\n\nIt rained.\n\nOil | 3 l\n\nClose the lid."
    [item] = ranked({"Lamp": text})
    attended = _attended(text, [3.0, -19.0, 2.0, 1.0])
    shown = [one.text for one in quote(kind, attended, [item])]
    assert shown == ["Fill the lamp.", "Close the lid."]


def test_attention_sums_to_one_with_no_answer() -> None:
    passages = ranked({"a": "One. Two.", "b": "Three."})
    found = tuple(
        ReadUnit(number, unit, logit)
        for number, (item, logit) in enumerate(zip(passages, (1.0, 3.0), strict=True))
        for unit in units(item.slot.text)
    )
    attended = attend_units(Reading((), 0, 0, 1, found, {}), passages)
    assert 0 < 1 - sum(one.weight for one in attended) < 0.1
    assert attended[2].weight > attended[0].weight == attended[1].weight
    assert attend_units(Reading((), 0, 0, 1), passages) == []


def test_steps_are_named_by_what_they_are() -> None:
    def kind(text: str) -> str:
        [item] = ranked({"a": text})
        [shown] = quote("steps", _attended(text, [1.0] * len(units(text))), [item])
        return kind_shown("steps", [shown])

    assert kind("$ cargo new a\n$ cd a") == "code"
    assert kind("1. Open it\n2. Press F1") == "steps"
    assert kind("Press F1 to open it.") == "statement"
    assert kind_shown("list", []) == "list"
