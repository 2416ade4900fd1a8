"""Codes of a question: which units of some passages are about them."""

import pytest

from memnet.reader.contrasts import codes_of, named_units
from tests.reading import ranked


def named(question: str, text: str, title: str = "") -> list[str] | None:
    """The units about the codes of a question, after "missing" where one is; None for no choice."""
    found = named_units(question, ranked({title: text}))
    if found is None:
        return None
    units = [text[start:end] for start, end in found.spans[0]]
    return ["missing", *units] if found.missing else units


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Who wrote form B-17/2, and F3?", {"b-17/2", "f3"}),
        ("Bus 42. Room 7b.", {"42", "7b"}),
        ("v1.2.3, 10.5 and 0x1F", {"v1.2.3", "10.5", "0x1f"}),
        ("Train RX 814 and SKY 20B leave.", {"rx 814", "20b"}),
        ("no code at all - none", set()),
    ],
)
def test_codes_are_words_with_a_digit(text: str, codes: set[str]) -> None:
    assert codes_of(text) == codes


def test_units_about_another_code_are_left_out() -> None:
    text = "Locker 31 is grey.\nLocker 13 is blue.\nBring a coin."
    # What goes on without a code is about the one before it.
    assert named("What colour is locker 13?", text) == ["Locker 13 is blue.", "Bring a coin."]
    assert named("What colour is locker 31?", text) == ["Locker 31 is grey."]


def test_a_heading_names_what_stands_below_it() -> None:
    text = "Fault E52\n\nThe lid is open. Close it.\n\nFault E25\n\nNo water."
    assert named("What does E52 mean?", text) == [
        "Fault E52", "The lid is open.", "Close it.",
    ]  # fmt: skip


def test_a_title_names_all_of_its_passage() -> None:
    assert named("Who closed job AB-901?", "Ann closed it.", title="Job AB-901") is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who closed AB-901?", "Bo closed AB-109."),
    ],
)
def test_a_code_that_stands_nowhere_is_missing(question: str, text: str) -> None:
    assert named(question, text) == ["missing", text]


def test_capitals_and_a_number_choose_a_unit() -> None:
    text = "Train RX 814 is red. Train RX 841 is blue."
    assert named("What colour is RX 841?", text) == ["Train RX 841 is blue."]


@pytest.mark.parametrize(
    "question",
    ["Who came in 2019?", "Is 5kg too much?", "Who came?", "Who pays EUR 20?", "Is it 3D?"],
)
def test_numbers_that_stand_nowhere_are_no_missing_codes(question: str) -> None:
    assert named(question, "Ann came with a crate.") is None
