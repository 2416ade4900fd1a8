"""What a told statement says, against what is asked: relatives, changes, denials and days."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Engine
from memnet.statements.asked import is_of_other_kin
from memnet.statements.reading import whole_words


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


_TOLD = [
    "Nell lives in Ely.", "Nell's brother Odo lives in Ripon.", "Nellie lives in Wells.",
    "Odo now works as a roofer.", "Piet broke his arm last Friday.", "Una sings at the abbey.",
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Where did Nellie live before Wells?", None),
        ("What does Nellie work as?", None),
        ("Where does Nell's brother live?", "Ripon"),
        ("Where does Nellie live?", "Wells"),
        ("What does Odo work as?", "a roofer"),
        ("When did Una break her arm?", None),
    ],
)
def test_what_is_told_of_somebody_else_answers_nothing(
    memory: Engine, question: str, short: str | None
) -> None:
    for text in _TOLD:
        memory.tell(text)
    assert memory.ask(question).short == short


@pytest.mark.parametrize(
    ("told", "question", "short"),
    [
        (["Ann sings in the choir.", "Bo does not sing in the choir."],
         "Do Ann and Bo both sing in the choir?", "no"),
        (["Piet starts work at 8.", "Una starts work at 7."],
         "Does Piet start work earlier than Una?", "no"),
        (["The garden hose is in the garden."], "Where is the garden hose?", "the garden"),
        (["My flu shot is on Friday."], "When is my flu shot?", "Friday, 9 May 2025"),
    ],
)  # fmt: skip
def test_all_who_are_asked_about_count(
    memory: Engine, told: list[str], question: str, short: str
) -> None:
    for text in told:
        memory.tell(text, at="2025-05-05")
    assert memory.ask(question, as_of="2025-05-06").short == short


def test_what_ends_something_is_quoted(memory: Engine) -> None:
    memory.tell("Runa takes fencing lessons on Fridays.", at="2025-05-08")
    memory.tell("Runa no longer takes fencing lessons.", at="2025-06-08")
    assert memory.ask("Does Runa still take fencing lessons?").answer == (
        "No. Runa no longer takes fencing lessons."
    )


@pytest.mark.parametrize(
    ("told", "question", "short"),
    [
        ("The sloop is green.", "Is the sloop red?", "no"),
        ("Runa left Oban.", "Where does Runa live?", None),
        ("Runa left Oban.", "Does Runa live in Oban?", "no"),
        ("Runa lives in Oban.", "Where does Runa work?", None),
        ("Runa owns a harp. Runa sold the harp to Ivo.", "Does Ivo own the harp?", "yes"),
        ("Runa owns a harp. Runa sold the harp to Ivo.", "Does Runa own a harp?", "no"),
        ("Runa owns a harp. Runa sold the harp.", "Does Runa still own the harp?", "no"),
        ("Runa owns a harp. Runa sold the harp.", "Is Runa still the owner of the harp?", "no"),
        ("I sold my moped and bought a trike.", "Do I have a moped?", "no"),
        ("I sold my moped and bought a trike.", "Do I have a trike?", "yes"),
    ],
)
def test_only_what_is_said_of_what_is_asked_answers(
    memory: Engine, told: str, question: str, short: str | None
) -> None:
    memory.tell(told, at="2025-05-08")
    assert memory.ask(question).short == short


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Where did Runa live in 2021?", "Oban"),
        ("Where did Runa live in 2023?", "Mallaig"),
        ("Where did Runa live before March 2022?", "Oban"),
        ("Where has Runa lived since 2025?", "Nairn"),
        ("Where did Ivo race before 2022?", "Skye"),
        ("Where did Ivo race after 2023?", "Arran"),
    ],
)
def test_what_held_on_the_days_that_are_asked_about(
    memory: Engine, question: str, short: str
) -> None:
    for at, told in (
        ("2020-02-01", "Runa lives in Oban."),
        ("2021-08-01", "Ivo raced off Skye in July 2021."),
        ("2022-05-15", "Runa moved to Mallaig."),
        ("2024-06-20", "Ivo raced off Arran in June 2024."),
        ("2025-01-20", "Runa moved to Nairn."),
    ):
        memory.tell(told, at=at)
    assert memory.ask(question).short == short


@pytest.mark.parametrize("question", ["Is the kiln expensive?", "Is the kiln fast?"])
def test_a_verdict_by_another_state_is_little_likely(memory: Engine, question: str) -> None:
    memory.tell("The kiln is cracked.")
    answer = memory.ask(question)
    assert answer.abstained or (answer.confidence or 0) <= 0.41


def test_what_was_forgotten_has_changed_nothing(memory: Engine) -> None:
    memory.tell("Runa lives in Oban.", at="2024-05-08")
    memory.tell("Runa moved to Nairn.", at="2025-05-08")
    memory.tell("Forget that Runa moved to Nairn.")
    assert memory.ask("Where does Runa live?").short == "Oban"
    memory.tell("Runa gave away the harp.", at="2025-06-08")
    assert memory.tell("Forget that Runa gave away the harp.").decisions[0].action == "erase"


def test_documents_answer_where_what_was_told_does_not(memory: Engine, tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text("# Mill\n\nThe winch is in the loft. It was made in 1911.\n")
    memory.ingest(tmp_path / "mill.md")
    memory.tell("The winch is loud.")
    assert "loft" in (memory.ask("Where is the winch?").short or "")
    assert memory.ask("Is the winch loud?").short == "yes"


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
