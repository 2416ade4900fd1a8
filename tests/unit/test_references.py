"""Cells that a question refers to by their row and column, and units linked by a name."""

from collections.abc import Sequence

import pytest

from memnet.reader.answers import Prediction
from memnet.reader.references import read_linked, reference_in, whole_row
from memnet.reader.spans import Passage, Reading, Span
from tests.reading import ranked

CREW = """\
Name | Mentor | Cabin | Since
Ida Holm | Per Vik | 12 | 2019
Per Vik | Ola Strand | 7 | 2008
Ola Strand | | 3 | 1999
Ida Berg | Ola Strand | 9 | 2021
"""
SHEETS = {
    "Crew": CREW,
    "Fjord": "Trip: Fjord; Guide: Per Vik; Price: 90",
    "Glacier": "Trip: Glacier; Guide: Ida Berg; Price: 140",
}


@pytest.mark.parametrize(
    ("question", "further"),
    [
        ("Which cabin has Ida Holm's mentor?", "Which cabin has Per Vik?"),
        ("Since when is the mentor of Ida Holm aboard?", "Since when is Per Vik aboard?"),
        ("Where does Per's mentor sleep?", "Where does Ola Strand sleep?"),
        ("What is the cabin of the guide of the Glacier?", "What is the cabin of Ida Berg?"),
        ("Who is the mentor of Ida Holm's mentor?", "Who is the mentor of Per Vik?"),
        ("Which cabin has Ola Strand's mentor?", "Which cabin has ?"),  # the cell is empty
    ],
)
def test_a_cell_takes_the_place_of_what_refers_to_it(question: str, further: str) -> None:
    found = reference_in(question, ranked(SHEETS))
    assert found is not None
    assert found.question == further
    assert found.name in further
    row = whole_row(found.row).text
    assert row.splitlines() == [row]  # one row, whole


@pytest.mark.parametrize(
    "question",
    [
        "Who is Ida Holm's mentor?",
        "What is the name of Ida Holm's mentor?",
        "What is Ida Holm's cabin number?",  # nothing is asked of a number
        "Where does Ida's mentor sleep?",  # whose? two are called so
        "Is Ida Holm's mentor Per Vik?",
        "Which mentor has cabin 12?",
        "Where does Nils' mentor sleep?",
        "What does the guide cost?",
    ],
)
def test_what_is_asked_of_a_cell_itself_or_of_none_is_no_reference(question: str) -> None:
    assert reference_in(question, ranked(SHEETS)) is None


def test_rows_that_differ_refer_to_nothing() -> None:
    other = "Name: Ida Holm; Mentor: Nils Aas; Cabin: 4"
    found = reference_in("Which cabin has Ida Holm's mentor?", ranked({"A": CREW, "B": other}))
    assert found is None


class Pointing:
    """Points at a word, in whatever it is given, and notes that."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.read_so_far: list[list[str]] = []

    def read(self, _question: str, passages: Sequence[Passage]) -> Reading:
        self.read_so_far.append([one.text for one in passages])
        spans = tuple(
            Span(number, place, place + len(self.word), 0.9)
            for number, one in enumerate(passages)
            if (place := one.text.find(self.word)) >= 0
        )
        return Reading(spans, 0.0, 0.0, 1.0)


LINKED = {
    "Stalls": "The waffle stall is kept by the Heather club. It opens at nine. The plant stall is "
    "kept by the Juniper club.",
    "Clubs": "The Juniper club meets in the barn. The Heather club meets in the mill. They sing.",
}


def test_units_with_a_name_in_common_are_read_alone() -> None:
    reader = Pointing("mill")
    question = "Where does the club that keeps the waffle stall meet?"
    found = read_linked(question, ranked(LINKED), reader, None)
    assert found.short == "mill"
    leads = "The waffle stall is kept by the Heather club. It opens at nine."
    says = "The Heather club meets in the mill. They sing."
    assert [leads, says] in reader.read_so_far
    assert [one.text for one in found.quotes] == [says.removesuffix(" They sing."), leads]
    assert found.candidates[0].evidence == 1
    start, end = found.candidates[0].start, found.candidates[0].end
    assert start is not None
    assert end is not None
    assert LINKED["Clubs"][start - 100 : end - 100] == "mill"


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Where does the Heather club meet?", "mill"),  # one unit says it all
        ("When does the stall of the Heather club open?", "nine"),
        ("Where does the club that keeps the waffle stall meet?", "Heather"),  # only links them
        ("Where does the club that keeps the book stall dance?", "mill"),
    ],
)
def test_units_that_are_not_needed_together_give_no_answer(question: str, word: str) -> None:
    assert read_linked(question, ranked(LINKED), Pointing(word), None) == Prediction()
