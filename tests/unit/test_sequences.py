"""Lists and procedures are shown from the first item to the last."""

from dataclasses import replace

import pytest

from memnet.reader.passages import RankedSlot
from memnet.reader.quotes import Quotation, kind_shown, quote, with_rest
from memnet.reader.sequences import marker_of, sequence_at, whole_enumeration
from memnet.reader.spans import ReadUnit
from memnet.storage import Slot
from memnet.text.english import units
from tests.reading import ranked


def _around(text: str, word: str) -> str | None:
    found = units(text)
    index = next(n for n, one in enumerate(found) if word in text[one.start : one.end])
    run = sequence_at(text, found, index)
    return None if run is None else text[found[run[0]].start : found[run[1]].end]


NUMBERED = "Lighting the stove\n\n1. Open the flap.\n2. Lay the twigs.\n\n   Dry ones.\n3. Shut it."
PROSE = (
    "It is an old loom. First wind the warp onto the back beam. Hold it tight. Then thread the "
    "heddles. Finally tie the ends to the front. It squeaks a little."
)


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        (f"Warm work.\n\n{NUMBERED}\n\nIt smokes at times.", "twigs", NUMBERED),
        (f"Warm work.\n\n{NUMBERED}\n\nIt smokes at times.", "Lighting", NUMBERED),
        (f"Warm work.\n\n{NUMBERED}\n\nIt smokes at times.", "Dry ones", NUMBERED),
        (f"Warm work.\n\n{NUMBERED}\n\nIt smokes at times.", "smokes", None),
        ("Bring these:\n- a rope\n  - 20 m\n- a hook\n\nBye.", "hook",
         "Bring these:\n- a rope\n  - 20 m\n- a hook"),
        ("- a rope\n- a hook\n\nBoth are needed.\n\n- one tent\n- one axe", "rope",
         "- a rope\n- a hook"),
        ("a) Ask Bo.\nb) Ask Cy.\n\n1) Wait.\n2) Go.", "Cy", "a) Ask Bo.\nb) Ask Cy."),
        ("Step 1: Unpack it.\nStep 2: Charge it.\nStep 3: Turn it on.", "Charge",
         "Step 1: Unpack it.\nStep 2: Charge it.\nStep 3: Turn it on."),
        ("Step 1: Unpack it\n\nKeep the box.\n\nStep 2: Charge it", "box",
         "Step 1: Unpack it\n\nKeep the box.\n\nStep 2: Charge it"),
        ("1. Tie it.\n2. Cut it.\n\nSecond way\n\n1. Burn it.\n2. Sweep up.", "Burn",
         "Second way\n\n1. Burn it.\n2. Sweep up."),
        ("1. Open it\n\n$ make x\n\n2. Run it", "Run", "1. Open it\n\n$ make x\n\n2. Run it"),
        (PROSE, "thread", PROSE[PROSE.index("First") : PROSE.index(" It squeaks")]),
        (PROSE, "Hold", PROSE[PROSE.index("First") : PROSE.index(" It squeaks")]),
        (PROSE, "squeaks", None),
        ("Soak the reeds. Then split them. After that dry them in the sun.", "split",
         "Soak the reeds. Then split them. After that dry them in the sun."),
        ("He came first. Then he left.\n\nFinally it rained.", "rained", None),
        ("The fee is 12 euros. 3 of us paid.", "fee", None),
        (" 1. Does it float?\n\n    No, it sinks.\n\n 2. Can it be oiled?\n\n    Use linseed.\n\n"
         " 3. It squeaks.\n\n    Oil it.", "linseed", None),
        ("1. Is it shut?\n2. Is it dry?\n3. Is it paid for?", "dry",
         "1. Is it shut?\n2. Is it dry?\n3. Is it paid for?"),
    ],
)  # fmt: skip
def test_a_sequence_is_found_around_a_unit(text: str, word: str, expected: str | None) -> None:
    assert _around(text, word) == expected


def test_a_long_list_is_cut_around_the_unit() -> None:
    text = "Do this:\n" + "\n".join(f"{n}. Turn wheel {n}." for n in range(1, 31))
    assert (_around(text, "wheel 3.") or "").startswith("Do this:\n1. ")
    shown = _around(text, "wheel 29.") or ""
    assert "wheel 29." in shown
    assert shown.count("\n") == 14


@pytest.mark.parametrize(
    ("line", "marked"),
    [("2. Go", True), ("(b) Go", True), ("- go", True), ("Step 4: Go", True),
     ("Step by step", False), ("2024 was dry.", False), ("A cat sat.", False),
     ("-5 degrees", False)],
)  # fmt: skip
def test_markers(line: str, marked: bool) -> None:
    [unit] = units(line)
    assert (marker_of(line, unit) is not None) == marked


def _parts(*texts: str, titles: tuple[str, ...] = ()) -> list[RankedSlot]:
    """Slots that follow each other in one source."""
    found = []
    for number, (item, text) in enumerate(
        zip(ranked({str(n): text for n, text in enumerate(texts)}), texts, strict=True)
    ):
        title = titles[number] if titles else "Loom"
        slot = replace(item.slot, source="loom.md", title=title, text=text)
        found.append(replace(item, slot=slot))
    return found


def _shown(parts: list[RankedSlot], number: int, unit: int, kind: str = "steps") -> list[str]:
    def beside(slot: Slot, step: int) -> Slot | None:
        place = [one.slot for one in parts].index(slot) + step
        return parts[place].slot if 0 <= place < len(parts) else None

    text = parts[number].slot.text
    attended = [
        ReadUnit(0, one, 2.0 if n == unit else -12.0, weight=0.9 if n == unit else 0.0)
        for n, one in enumerate(units(text))
    ]
    quotes = quote(kind, attended, [parts[number]])  # type: ignore[arg-type]
    return [one.text for one in with_rest(quotes, beside)]


@pytest.mark.parametrize(
    ("mark", "whole"), [("- {}", False), ("1. {}", True)], ids=["bullets", "numbers"]
)
@pytest.mark.parametrize(("padding", "long"), [("", False), (" of the oldest quarry" * 8, True)])
def test_long_items_are_shown_together_only_if_numbered(
    mark: str, whole: bool, padding: str, long: bool
) -> None:
    items = [f"Lift the {word}{padding}." for word in ("slate", "flint")]
    marks = [mark, mark.replace("1", "2")]
    lines = [one.format(item) for one, item in zip(marks, items, strict=True)]
    [shown] = _shown(_parts("\n".join(lines)), 0, 1)
    assert (items[0] in shown) == (whole or not long)


def test_a_list_goes_on_in_the_slots_beside() -> None:
    parts = _parts(
        "It is old.\n\nDressing the loom:\n1. Wind.\n2. Thread.",
        "3. Tie.\n4. Pull.",
        "5. Weave.\n\nRest.",
    )
    whole = ["Dressing the loom:\n1. Wind.\n2. Thread.", "3. Tie.\n4. Pull.", "5. Weave."]
    assert _shown(parts, 0, 2) == _shown(parts, 1, 0) == _shown(parts, 2, 0) == whole
    assert _shown(parts, 2, 1) == ["Rest."]


def test_what_is_another_list_is_not_joined() -> None:
    assert _shown(_parts("1. Wind.\n2. Thread.", "1. Oil it.\n2. Dust it."), 0, 0) == [
        "1. Wind.\n2. Thread."
    ]
    assert _shown(_parts("- wool\n- flax", "- tea\n- milk"), 0, 0) == ["- wool\n- flax"]
    titles = ("Loom", "Loom — You need:")
    assert _shown(_parts("You need:\n- wool\n- flax", "- wax", titles=titles), 0, 1, "list") == [
        "You need:\n- wool\n- flax", "- wax",
    ]  # fmt: skip


def test_a_heading_leads_to_the_list_in_the_next_slot() -> None:
    parts = _parts("Old.\n\nHow it is oiled", "1. Take the can.\n2. Count to ten.")
    assert _shown(parts, 0, 1) == ["How it is oiled", "1. Take the can.\n2. Count to ten."]
    assert _shown(parts, 1, 0) == ["1. Take the can.\n2. Count to ten."]


@pytest.mark.parametrize(
    ("text", "best", "expected"),
    [
        ("Opening\n\nAt nine. It shuts at five.", 0, "Opening\n\nAt nine."),
        ("Rain\n\nIt is dry here.\n\nSnow", 1, "It is dry here."),
    ],
)
def test_a_heading_alone_is_no_answer(text: str, best: int, expected: str) -> None:
    [item] = ranked({"a": text})
    logits = [-19.0] * len(units(text))
    logits[-1] = -5.0
    logits[best] = 2.0
    attended = [
        ReadUnit(0, one, logit, weight=2.0**logit / 8)
        for one, logit in zip(units(text), logits, strict=True)
    ]
    assert [one.text for one in quote("statement", attended, [item])] == [expected]


def test_what_stands_below_a_table_is_no_part_of_it() -> None:
    text = "Ada | 4 | oak\nBo | 5 | ash\n\nThe bell is rung at noon."
    [item] = ranked({"a": text})
    attended = [
        ReadUnit(0, one, logit, weight=2.0**logit / 8)
        for one, logit in zip(units(text), (2.0, -3.0, -3.0), strict=True)
    ]
    assert [one.text for one in quote("list", attended, [item])] == ["Ada | 4 | oak\nBo | 5 | ash"]


def test_prose_of_several_steps_is_steps() -> None:
    [item] = ranked({"a": PROSE})
    assert kind_shown("steps", [Quotation(item, 19, 130, 1.0)]) == "steps"


_KEEPERS = "Keepers are Ann Lee, Bo Rank and Cy Orre."
_KEPT = "Ann Lee, Bo Rank and Cy Orre"


@pytest.mark.parametrize(
    ("question", "text", "one", "whole"),
    [
        ("Who are the keepers?", _KEEPERS, "Bo Rank", _KEPT),
        ("Who are the keepers?", _KEEPERS, "Cy Orre", _KEPT),
        ("Which colours are sold?", "Sold in red, blue or green.", "green", "red, blue or green"),
        ("Which tools do we need?", "Take a saw, two nails and a rope.", "two nails",
         "a saw, two nails and a rope"),
        ("Who is the keeper?", "Keepers are Ann Lee and Bo Rank.", "Ann Lee", "Ann Lee"),
        ("Which towns did she see?", "She saw Orre, and Ann stayed at home.", "Orre", "Orre"),
        ("Which boats are red?", "The Hebe is red.", "Hebe", "Hebe"),
        ("Which crafts does Ida teach?", "Ida teaches pottery and her brother teaches weaving.",
         "pottery", "pottery"),
        ("Which days are closed?", "We are closed on Mondays and open at 9 on Tuesdays.",
         "Mondays", "Mondays"),
        ("Name the chair", "The chair is Ann Lee and the treasurer is Bo.", "Ann Lee", "Ann Lee"),
        ("Who are the winners?", "In 2019, Ann and Bo won.", "Ann", "Ann"),
    ],
)  # fmt: skip
def test_who_asks_for_several_gets_the_whole_enumeration(
    question: str, text: str, one: str, whole: str
) -> None:
    start = text.index(one)
    first, last = whole_enumeration(question, text, start, start + len(one))
    assert text[first:last] == whole
