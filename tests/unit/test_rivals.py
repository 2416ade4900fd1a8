"""Values that stand side by side: the words of the question choose, where they tell them apart."""

import pytest

from memnet.reader.rivals import weigh_rivals
from memnet.reader.spans import Passage, Span


def best(question: str, text: str, read: dict[str, float], found_only: bool = True) -> str:
    """The likeliest of some pieces of a text, given what the network gives to each."""
    spans = [
        Span(0, text.index(piece), text.index(piece) + len(piece), probability)
        for piece, probability in read.items()
    ]
    weighed = weigh_rivals(question, spans, [Passage("", text)])
    assert not found_only or {one[:3] for one in weighed} <= {one[:3] for one in spans}
    assert sum(one.probability for one in weighed) == pytest.approx(sum(read.values()))
    found = max(weighed, key=lambda one: one.probability)
    return text[found.start : found.end]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What does the front axle bear?", "3 tons"),
        ("What does the rear axle bear?", "8 tons"),
        ("How much does an axle bear?", "3 tons"),  # nothing tells them apart
    ],
)
def test_words_of_the_question_choose(question: str, answer: str) -> None:
    text = "The front axle bears 3 tons, the rear one 8 tons."
    assert best(question, text, {"3 tons": 0.5, "8 tons": 0.1}) == answer


def test_another_clause_that_says_something_else_counts_less() -> None:
    text = "The shortest lease is 6 weeks, and the longest is 90."
    assert best("What is the shortest lease?", text, {"90": 0.4, "6 weeks": 0.2}) == "6 weeks"


def test_a_code_of_the_question_outweighs_the_network() -> None:
    text = "Crate K-17 went to Arno, crate K-71 to Udine."
    assert best("Where did crate K-71 go?", text, {"Arno": 0.9, "Udine": 0.002}) == "Udine"
    assert best("Where did crate K-17 go?", text, {"Arno": 0.5, "Udine": 0.4}) == "Arno"


def test_a_span_from_one_value_to_another_is_not_the_answer() -> None:
    text = "Ines plays the queen and then the very last scene has Otto as the clown."
    spans = {"Ines": 0.36, "Ines plays the queen and then the very last scene has Otto": 0.4}
    assert best("Who plays the queen?", text, {**spans, "Otto": 0.1}) == "Ines"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How fast is the sledge in knots?", "13 kn"),
        ("How many knots does the sledge make?", "13 kn"),
        ("What does it make in km/h?", "24 km/h"),
        ("How fast is the sledge?", "24"),
        ("How many feet long is it?", "24"),  # not said
    ],
)
def test_the_measure_that_is_asked_for_answers(question: str, answer: str) -> None:
    text = "The sledge makes 24 km/h (13 kn) on ice."
    assert best(question, text, {"24": 0.6, "24 km/h (13 kn)": 0.1}, found_only=False) == answer


def test_the_word_that_leads_to_a_value_counts() -> None:
    text = "The tent is pitched by 5 May and taken down by 9 October."
    read = {"9 October": 0.5, "5 May": 0.25}
    assert best("Until when is the tent pitched?", text, read) == "5 May"
    assert best("Until when is it taken down?", text, read) == "9 October"


def test_a_measure_in_two_units_is_one_value() -> None:
    text = "The ascent takes 4 hours and 15 minutes."
    read = {"4 hours and 15 minutes": 0.4, "4": 0.2, "15 minutes": 0.2}
    assert best("How long does the ascent take?", text, read) == "4 hours and 15 minutes"


@pytest.mark.parametrize(
    ("first", "between", "last"), [("2 hours", "and", "10 minutes"), ("Tarn", "in", "Wales")]
)
def test_values_that_belong_together_stay_together(first: str, between: str, last: str) -> None:
    joined = f"{first} {between} {last}"
    read = {joined: 0.4, first: 0.2, last: 0.2}
    assert best("And then?", f"It is {joined}.", read) == joined


def test_parts_of_a_value_add_to_it() -> None:
    text = "The thin rope holds 80 kg, the thick one 300 kg."
    read = {"80 kg": 0.3, "one 300 kg": 0.04, "300 kg": 0.03, "300": 0.01}
    assert best("What does the thick rope hold?", text, read) == "one 300 kg"


def test_long_sentences_and_other_shapes_are_left_to_the_network() -> None:
    text = (
        "The mill that grinds oats, rye, barley, spelt, maize, millet, wheat and lentils all year"
        " takes 5 sacks, while the press beside it takes 9 barrels of olives each autumn."
    )
    assert best("What does the press take?", text, {"5 sacks": 0.5, "9 barrels": 0.3}) == "5 sacks"
    text = "Ruth came by boat, and Ben left in 1990."
    assert best("When did Ben come?", text, {"Ruth": 0.2, "1990": 0.1}) == "Ruth"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the toll?", "7 francs"),
        ("What was the toll before?", "4 francs"),
        ("Where is the depot?", "Arlen"),
        ("Where was the depot formerly?", "Brigg"),
        ("Where did the depot move from?", "Brigg"),
    ],
)
def test_what_was_before_is_told_from_what_is_so_now(question: str, answer: str) -> None:
    text = "The toll is 7 francs; before that it was 4 francs."
    if "depot" in question:
        text = "Last spring the depot moved from Brigg to Arlen."
        read = {"Brigg": 0.4, "Brigg to Arlen": 0.2, "Arlen": 0.3}
        assert best(question, text, read) == answer
        return
    for first, last in ((0.5, 0.2), (0.2, 0.5)):
        assert best(question, text, {"7 francs": first, "4 francs": last}) == answer


def test_times_from_and_to_are_no_change() -> None:
    read = {"9:00": 0.5, "17:00": 0.2}
    assert best("When does it open?", "It opens from 9:00 to 17:00.", read) == "9:00"


def test_spans_of_several_passages_are_weighed_apart() -> None:
    passages = [Passage("", "Mo has 4 keys."), Passage("", "Jo has 7 keys.")]
    spans = [Span(0, 7, 8, 0.6), Span(1, 7, 8, 0.3)]
    assert weigh_rivals("How many keys has Jo?", spans, passages) == spans
    assert weigh_rivals("How many?", [], []) == []
