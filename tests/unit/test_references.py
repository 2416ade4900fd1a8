"""Cells that a question refers to by their row and column."""

import pytest

from memnet.reader.references import reference_in, whole_row
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
