"""What stands in the place of what is asked: another number, name, thing or measure."""

import pytest

from memnet.reader.contrasts import is_opposed, says_of_another, tells_opposite_event
from memnet.text.restated import restates
from tests.reading import meanings

encode = meanings([{"timber", "wood"}, {"begin", "starts"}])


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who sleeps in tent 6?", "In tent 4 sleeps Ruben.", "Ruben"),
        ("Who drives RX 841?", "Ann drives RX 814.", "Ann"),
        ("Who teaches class 3D?", "Ann teaches class 3B.", "Ann"),
        ("What did hay cost in 2017?", "Hay cost 90 euros in 2018 and 95 in 2019.", "90 euros"),
        ("Who leads group B?", "Group C is led by Sanna.", "Sanna"),
        ("When does Ines Roth's lease end?", "Jonas Keil's lease ends in May.", "in May"),
        (
            "What is Jonas Keil afraid of?",
            "Ines Roth is afraid of geese; her old bicycle stands behind the dairy since June.",
            "geese",
        ),
        ("Where does Jonas live?", "Ines keeps bees and lives in Mill Lane.", "Mill Lane"),
        ("How old is the cart?", "The sledge is of ash, made in Oslo; it is 30 years old.", "30"),
        (
            "How many sacks of barley does the barn hold?",
            "The barn holds forty sacks of cement, the old mower and all that was left over from "
            "the roof of the chapel in the year of the flood.",
            "forty",
        ),
        ("What does a crate of plums cost?", "A crate of quinces costs 8 euros.", "8 euros"),
        ("What is the fee for dancers?", "The fee is 5 euros for singers.", "5 euros"),
        ("When is the harvest ball?", "The spring ball is on 3 May.", "3 May"),
        ("When was the loom sold?", "The loom was repaired on 2 June.", "2 June"),
        ("How many goats does the farm have?", "The farm has 12 cows.", "12"),
        ("When do the stables open?", "The stables close at 18:00.", "18:00"),
        ("How deep is the trench?", "The trench is 9 m long.", "9 m long"),
    ],
)
def test_another_in_its_place_does_not_answer(question: str, text: str, answer: str) -> None:
    assert says_of_another(question, text, "Notes", encode, answer)


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who sleeps in tent 4?", "In tent 4 sleeps Ruben.", "Ruben"),
        ("What did hay cost in 2019?", "Hay cost 90 euros in 2018 and 95 in 2019.", "95"),
        ("What did hay cost in 2017?", "Hay cost 90 euros a bale.", "90 euros"),
        ("How old is the sledge?", "The sledge is of ash, from Oslo; it is 30 years old.", "30"),
        ("What does a load of timber cost?", "A load of wood costs 80 euros.", "80 euros"),
        ("Who is Ines Roth's brother?", "Ines Roth's brother is Emil Roth.", "Emil Roth"),
        ("Which shed is the loom in?", "The barn loom is in shed 3.", "shed 3"),
        ("Which file is load() in?", "The function load() is in maps.py.", "maps.py"),
        ("What are the steps for the churn?", "The churn is rinsed first.", "rinsed"),
        ("At how many degrees does wax melt?", "Wax melts at 63 °C.", "63 °C"),
        ("How long is the trench?", "The trench is 9 m long and 1 m deep.", "9 m"),
        ("How tall is the mast?", "The mast is 20 m high.", "20 m high"),
        # In other words: more than one thing of the question is not said.
        ("When do pupils visit the stables?", "The stables close at 18:00 for classes.", "18:00"),
    ],
)
def test_what_is_asked_answers(question: str, text: str, answer: str) -> None:
    assert not says_of_another(question, text, "Notes", encode, answer)


@pytest.mark.parametrize(
    ("question", "sentence", "answer", "opposite"),
    [
        ("When did we sell the sledge?", "We bought the sledge in May.", "in May", True),
        ("How much did we pay?", "We sold the sledge for 90 euros.", "90 euros", False),
        ("When did Ines sell the sledge?", "Emil bought the sledge of Ines in May.", "May", False),
        ("Who joined in 2019?", "Ruben left the choir in 2019.", "Ruben", True),
        ("Who bought the loom?", "The loom was sold to Mrs Roth.", "Mrs Roth", False),
        ("From whom did we buy the loom?", "Emil sold us the loom.", "Emil", False),
        ("Who did we sell the loom to?", "We bought the loom from Emil.", "Emil", True),
        ("Where can I buy yarn?", "Yarn is sold at the mill.", "mill", False),
        ("What did Ines learn from Ruth?", "Ruth taught Ines weaving.", "weaving", False),
        ("Which stop is nearest?", "The tour starts at Elm Street.", "Elm Street", False),
        ("How long does the exam take?", "Pupils are given two hours.", "two hours", False),
        ("When does the bus leave?", "Departs: 9:10; Arrives: 9:50", "9:10", False),
        ("When does the bus leave?", "Arrives: 9:50; Platform: 2", "9:50", True),
        ("When did the fair begin?", "The fair began on 3 May and ended on 5 May.", "3 May", False),
        (
            "When did the fair end?",
            "The fair began on 3 May and lasted until 5 May.",
            "5 May",
            False,
        ),
        ("When did the fair end?", "The fair began on 3 May.", "3 May", True),
        ("Where is the loom?", "The loom that we sold is in Oslo.", "Oslo", False),
    ],
)
def test_the_opposite_of_what_happened_does_not_answer(
    question: str, sentence: str, answer: str, opposite: bool
) -> None:
    assert tells_opposite_event(question, sentence, f"Notes\n{sentence}", answer) is opposite


def test_title_and_subject_of_a_pronoun_count() -> None:
    text = "It was painted in 1990."
    asked = "When was the windmill painted?"
    assert says_of_another(asked, text, "The bridge is old.", encode, "1990", "The bridge is old.")
    assert not says_of_another(asked, text, "Windmill", encode, "1990", "The bridge is old.")
    assert not says_of_another(asked, "It was.", "", encode)


@pytest.mark.parametrize(
    ("question", "text", "opposed"),
    [
        ("What is the shortest wait?", "and the longest is 40", True),
        ("What is the shortest wait?", "the shortest wait is 5 minutes", False),
        ("How wide is the gate?", "4 m high", True),
        ("How wide is the gate?", "2 m wide", False),
    ],
)
def test_opposite_and_other_measure(question: str, text: str, opposed: bool) -> None:
    assert is_opposed(question, text) is opposed


def test_long_questions_are_not_compared() -> None:
    asked, said = (f"Who has the {one}?" for one in ("bay 3, " * 3000, "bay 2, " * 3000))
    assert not says_of_another(asked, said, "", encode)
    assert restates(f"Is it {'a and b, ' * 3000}?", "a and b, " * 80) is None
