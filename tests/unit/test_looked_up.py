"""What a question is looked up by."""

import pytest

from memnet import Document, Engine, Fact
from memnet.documents.question import FetchedSlots, grouped, looked_up, mended
from memnet.storage import EVERYWHERE, Scope


@pytest.fixture
def filled(toy_engine: Engine) -> Engine:
    toy_engine.ingest(
        Document(id="a", text="The harbour office rents moorings. Gravel was delivered."),
        Fact(subject="Mona Trell", relation="keeps", object="the lamp"),
        Fact(subject="Abel Korn", relation="keeps", object="the boat"),
        Fact(subject="Abel Quint", relation="keeps", object="the gate"),
    )
    return toy_engine


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who rents morings?", "Who rents moorings?"),
        ("Where is the Harbuor office?", "Where is the harbour office?"),
        ("What does Mona keep?", "What does Mona Trell keep?"),
        ("What does Mona Trell keep?", "What does Mona Trell keep?"),
        ("What does Abel keep?", "What does Abel keep?"),  # there are two
        ("Who sells travel?", "Who sells travel?"),  # of another first letter than "gravel"
        ("Who has a lemp?", "Who has a lemp?"),  # too short
        ("Who owns the harbor?", "Who owns the harbor?"),  # a word of English
        ("What are moorings?", "What are moorings?"),
        ("moor1ngs m%_(", "moor1ngs m%_("),
        ("", ""),
    ],
)
def test_slips_and_parts_of_names(filled: Engine, question: str, expected: str) -> None:
    with filled.store.reading():
        assert looked_up(question, FetchedSlots(filled.store), EVERYWHERE) == expected


def test_a_slip_finds_what_is_meant_and_the_question_stays(filled: Engine) -> None:
    answer = filled.ask("Who rents morings?")
    assert answer.question == "Who rents morings?"
    assert answer.evidence[0].source == "a"
    assert {hop.query for hop in answer.hops} == {"Who rents moorings?"}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who rents morings", "who rents moorings"),
        ("Wher is the harbour office?", "where is the harbour office?"),
        ("whcih stall sells gravel", "which stall sells gravel"),
        ("Where is the Harbuor office?", "Where is the Harbuor office?"),  # it may be a name
        ("who owns the harbor", "who owns the harbor"),
        ("Wo ist das Bot?", "Wo ist das Bot?"),
    ],
)
def test_slips_but_in_names_are_mended_for_what_reads(
    filled: Engine, question: str, expected: str
) -> None:
    with filled.store.reading():
        assert mended(question, FetchedSlots(filled.store)) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Whose is NL91ABNA0417164300?", "Whose is NL91 ABNA 0417 1643 00?"),
        ("Whose is NL91 ABNA 0417 1643 00?", "Whose is NL91 ABNA 0417 1643 00?"),
        ("Whose is NL91ABNA0417164311?", "Whose is NL91ABNA0417164311?"),
        ("Whose is 0317 555 0199?", "Whose is 03175550199?"),
        ("What was built in 2016 2017 2018?", "What was built in 2016 2017 2018?"),
    ],
)
def test_a_long_code_is_written_as_in_the_memory(
    toy_engine: Engine, question: str, expected: str
) -> None:
    toy_engine.ingest(Document(id="a", text="Ida Moe has NL91 ABNA 0417 1643 00."))
    toy_engine.ingest(Document(id="b", text="Bo Lund has 03175550199 and NL91 ABNA 0417 1634 00."))
    toy_engine.ingest(Document(id="c", text="NL91ABNA0417164311"), namespace="other")
    with toy_engine.store.reading():
        found = grouped(question, FetchedSlots(toy_engine.store), Scope(""))
        assert found == expected


def test_a_slip_with_the_stem_of_a_word_is_one(toy_engine: Engine) -> None:
    toy_engine.ingest(Document(id="a", text="The settlement of debts is free."))
    with toy_engine.store.reading():
        found = mended("when is the settlment", FetchedSlots(toy_engine.store))
    assert found == "when is the settlement"
