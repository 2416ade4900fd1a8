"""Tests of the pairs that the network for verdicts learns from."""

import random
from itertools import islice

import pytest

from benchmarks.reader_data.verdicts import beside, judged, made, other_value, whether
from memnet.reader.answers import asks_whether


@pytest.mark.parametrize(
    ("question", "value", "asked"),
    [
        ("What is the fee for a kayak?", "£12", "Is the fee for a kayak £12?"),
        ("what's the code of the shed", "4471", "Is the code of the shed 4471?"),
        ("How much does a locker cost?", "£3", "Does a locker cost £3?"),
        ("How many beds does the cabin have?", "six", "Does the cabin have six beds?"),
        ("How many lamps are there in the hall?", "9", "Are there 9 lamps in the hall?"),
        ("When does the mill open?", "9:30", "Does the mill open at 9:30?"),
        ("When was the weir built?", "1887", "Was the weir built in 1887?"),
        ("Where are the spare fuses?", "the blue tin", "Are the spare fuses in the blue tin?"),
        ("Where is the ladder?", "behind the door", "Is the ladder behind the door?"),
        ("Who is the treasurer?", "Ines Falk", "Is Ines Falk the treasurer?"),
        ("Who mends the nets?", "Tove", "Was it Tove who mends the nets?"),
    ],
)
def test_a_question_for_a_value_is_asked_with_it(question: str, value: str, asked: str) -> None:
    assert whether(question, value) == asked
    assert asks_whether(asked)


@pytest.mark.parametrize(
    ("question", "value"),
    [("Why is it closed?", "rain"), ("Who is it?", "a " * 9), ("What is it?", "")],
)
def test_what_fits_no_form_is_not_asked(question: str, value: str) -> None:
    assert whether(question, value) is None


@pytest.mark.parametrize("value", ["£12.50", "room 9", "Ines Falk"])
def test_another_value_has_the_same_shape(value: str) -> None:
    others = ["Tove Brandt", value, "the tin", "room 12"]
    found = {other_value(value, others, random.Random(seed)) for seed in range(50)} - {None}
    assert found
    assert value not in found
    has_digits = any(char.isdigit() for char in value)
    assert all(any(char.isdigit() for char in one or "") == has_digits for one in found)
    if value == "Ines Falk":
        assert found == {"Tove Brandt"}


def test_no_held_out_text_is_learned_from() -> None:
    held_out = {one.text for one in judged("held_out")}
    learned = {one.text for one in judged("train")}
    assert held_out
    assert not held_out & learned


def test_made_pairs_agree_with_their_text() -> None:
    passage = {"title": "Weir", "text": "The weir was built in 1887. Tove Brandt keeps the key."}
    example = {
        "question": "When was the weir built?",
        "answers": ["1887"],
        "passages": [passage],
    }
    pairs = [one for one in made([example]) if "weir" in one.question.casefold()]
    said = {one.verdict: one.question for one in pairs if one.title == "Weir"}
    assert "1887" in said["yes"]
    assert "1887" not in said["no"]


def test_texts_beside_questions_come_with_nothing_known() -> None:
    pairs = list(islice(beside(), 200))
    assert all(one.verdict is None for one in pairs)
    assert all(asks_whether(one.question) for one in pairs)
