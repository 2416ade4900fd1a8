"""What a told statement says, against what is asked: relatives, changes, denials and days."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Engine
from memnet.statements.reading import whole_words
from memnet.text.kin import is_of_other_kin


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "store", create=True) as engine:
        yield engine


@pytest.mark.parametrize(
    ("told", "question", "short"),
    [
        ("Tilda sings at the abbey.", "Where does Tilda's aunt sing?", None),
        ("Tilda sings at the abbey.", "Where does Tilda sing?", "the abbey"),
        ("The berth fee rose from 70 to 85 euros.", "What is the berth fee?", "85 euros"),
        ("The berth fee rose from 70 to 85 euros.", "What was the berth fee before?", "70"),
        ("The outing was moved from 2 July to 16 July", "When is the outing?", "16 July"),
        ("Runa does not have the ladder. Ivo has it.", "Who has the ladder?", "Ivo"),
        ("We sold the loom to Runa for £2,350.", "When was the loom sold?", "8 May 2025"),
        ("The new door code is 5512.", "Has the door code changed?", "yes"),
    ],
)
def test_a_statement_answers_what_is_asked(
    memory: Engine, told: str, question: str, short: str | None
) -> None:
    memory.tell(told, at="2025-05-08")
    assert memory.ask(question).short == short


def test_what_ends_something_is_quoted(memory: Engine) -> None:
    memory.tell("Runa takes fencing lessons on Fridays.", at="2025-05-08")
    memory.tell("Runa no longer takes fencing lessons.", at="2025-06-08")
    assert memory.ask("Does Runa still take fencing lessons?").answer == (
        "No. Runa no longer takes fencing lessons."
    )


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("Who is Ivo's sister?", "Alma, sister of Ivo", False),
        ("Who is Ivo's sister?", "Ivo's cousin Alma paints.", True),
        ("Does Ivo have children?", "Ivo's daughter Alma paints.", False),
        ("What does Ivo paint?", "Ivo's daughter Alma paints boats.", True),
        ("What does Ivo's sister paint?", "Alma paints boats.", False),
    ],
)
def test_relatives_are_told_apart(question: str, text: str, other: bool) -> None:
    assert is_of_other_kin(question, text) is other


def test_a_number_is_not_cut() -> None:
    assert whole_words("It cost £6,200.", [(9, 11)]) == ((8, 14),)
