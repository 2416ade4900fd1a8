"""Questions that ask for all of something are answered from all rows."""

from typing import Any

import pytest

from memnet import Document, Engine, Message

_SHEDS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("sheds/tar.md", "Tar", "The winch is greased with tar.", {"author": "Ola Reis"}),
    ("sheds/rope.md", "Rope", "Ropes hang by the door. Universe of knots.", {"author": "Mia Lund"}),
    ("sheds/paint.md", "Paint", "Red paint, and a winch for rent.", {"author": "Mia Lund"}),
    ("permits/a.txt", "Permit A", "Mooring.", {"date": "2021-04-02", "state": "valid", "fee": 40}),
    ("permits/b.txt", "Permit B", "Crane.",
     {"date": "2022-04-11", "state": "expired", "fee": "90 €"}),
    ("permits/c.txt", "Permit C", "Winch.", {"date": "2022-06-30", "state": "valid", "days": 9}),
    ("m1.eml", "Delivery", "At ten.", {"from": "Tor Vik <tor@vik.example>", "to": ["Mia Lund"]}),
    ("m2.eml", "Thanks", "See you.", {"from": "Mia Lund", "to": ["Tor Vik", "Ola Reis"]}),
]  # fmt: skip


@pytest.fixture
def yard(toy_engine: Engine) -> Engine:
    """Documents of some kinds, and a chat."""
    toy_engine.ingest(*(Document(id=i, title=t, text=text, metadata=m) for i, t, text, m in _SHEDS))
    said = [("Ida", "01-30", "The tide is late"), ("Kai", "02-01", "Bring tar"),
            ("Ida", "02-02", "Done")]  # fmt: skip
    toy_engine.remember([
        Message(id=f"c{n}", session="s", speaker=who, time=f"2023-{day}T10:00:00", text=text)
        for n, (who, day, text) in enumerate(said)
    ])  # fmt: skip
    return toy_engine


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Which notes mention the winch?", ["Tar", "Paint", "Permit C"]),
        ("Which sheds mention winches?", ["Tar", "Paint"]),
        ("List all permits", ["Permit A", "Permit B", "Permit C"]),
        ("Which permits are valid?", ["Permit A", "Permit C"]),
        ("Which valid permits are from 2022?", ["Permit C"]),
        ("How many permits are from April 2022?", ["1"]),
        ("How many notes did Mia write?", ["2"]),
        ("Which e-mails did Mia receive?", ["Delivery"]),
        ("which emails were sent to tor", ["Thanks"]),
        ("Who wrote the most notes?", ["Mia Lund"]),
        ("How many messages did Ida send in February?", ["1"]),
        ("Which messages mention tar?", ["Bring tar"]),
        ("List all permits since 2022", ["Permit B", "Permit C"]),
        ("Which permits were issued after April 2022?", ["Permit C"]),
        ("Which permits were issued until 11 April 2022?", ["Permit A", "Permit B"]),
        ("How many permits are dated before 2022-04-11?", ["1"]),
        ("Which permits are from between May 2021 and May 2022?", ["Permit B"]),
        ("Which permits cost over 40 euros?", ["Permit B"]),
        ("Which permits have a fee of at least 40?", ["Permit A", "Permit B"]),
        ("Which permits have fewer than 10 days?", ["Permit C"]),
        ("How many messages did Ida send since February 2023?", ["1"]),
        ("Who sent the fewest messages?", ["Kai"]),
    ],
)
def test_all_that_is_asked_for_is_listed_or_counted(
    yard: Engine, question: str, found: list[str]
) -> None:
    answer = yard.ask(question)
    assert sorted(one.text for one in answer.candidates) == sorted(found)
    assert answer.short == ", ".join(one.text for one in answer.candidates)
    assert answer.shown == "answer"
    assert answer.evidence


@pytest.mark.parametrize(
    "question",
    [
        "Which notes mention the university?",  # the same Porter stem as "universe"
        "Which permits are cheap?",
        "Which permits are not valid?",
        "Which permits are valid or expired?",
        "Which permits are over 20 metres?",
        "Which permits weigh over 20 kilos?",
        "Which permits are from between 2021 and last week?",
        "How many permits does the crane need?",
        "How many ropes hang by the door?",
        "Which e-mails are from Zoe?",
        "How many messages did Ida send since January?",
    ],
)
def test_a_question_with_a_word_that_nothing_decides_goes_the_usual_way(
    yard: Engine, question: str
) -> None:
    assert " of " not in (yard.ask(question).answer or "").partition("\n")[0]


def test_the_answer_says_what_was_counted_and_cites_it(yard: Engine) -> None:
    answer = yard.ask("Which permits are valid?")
    assert answer.answer == "2 of 3 permits with state = valid:\nPermit A\nPermit C"
    assert [one.source for one in answer.evidence] == ["permits/a.txt", "permits/c.txt"]


def test_a_tag_makes_notes_of_a_kind_but_no_things_that_one_has(toy_engine: Engine) -> None:
    note = Document(id="a.md", text="Three goats stay here.", metadata={"tags": ["goats"]})
    toy_engine.ingest(note)
    listed = [
        (toy_engine.ask(question).answer or "").startswith("1 of 1 goats")
        for question in ("How many goats are there?", "How many goats do we have?")
    ]
    assert listed == [True, False]


def test_more_names_than_are_shown_are_all_candidates(toy_engine: Engine) -> None:
    toy_engine.ingest(*(Document(id=f"logs/{n}.md", text=f"Day {n}.") for n in range(130)))
    answer = toy_engine.ask("List all logs")
    assert len(answer.candidates) == 130
    assert (answer.answer or "").endswith("\nand 110 more")
