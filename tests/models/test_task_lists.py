"""Questions about lists of tasks, by the shipped reader."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Document, Engine

_LISTS = """# Mountain hut

## Before the season

- [x] Sweep the chimney
- [ ] Repair the shutters of the dormitory
- [x] Order the firewood
- [ ] Write the letter to the forester
- [x] Hire the mule

The firewood comes from Ulm.

## After the season

☐ Drain the pipes
☑ Air the blankets
☐ Lock the cellar
"""
_BEGUN = """# Chapel

- [~] Scaffold the tower
- [ ] Gild the weathercock
- [x] Oil the bells
- [/] Plaster the vestry
"""


@pytest.fixture(scope="module")
def hut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A memory of one document; for reading only."""
    with Engine.open(tmp_path_factory.mktemp("hut") / "store", create=True) as engine:
        engine.ingest(Document(id="hut", title="Mountain hut", text=_LISTS))
        yield engine


@pytest.mark.parametrize(
    ("question", "short", "quoted"),
    [
        ("Has the chimney been swept?", "yes", ["- [x] Sweep the chimney"]),
        ("Are the shutters repaired?", "no", ["- [ ] Repair the shutters of the dormitory"]),
        ("Is the firewood ordered?", "yes", ["- [x] Order the firewood"]),
        ("Is the mule hired?", "yes", ["- [x] Hire the mule"]),
        ("Have the pipes been drained?", "no", ["☐ Drain the pipes"]),
        ("Have the blankets been aired?", "yes", ["☑ Air the blankets"]),
        (
            "Which tasks before the season are open?",
            "Repair the shutters of the dormitory, Write the letter to the forester",
            [
                "- [ ] Repair the shutters of the dormitory",
                "- [ ] Write the letter to the forester",
            ],
        ),
        (
            "What is left to do after the season?", "Drain the pipes, Lock the cellar",
            ["☐ Drain the pipes", "☐ Lock the cellar"],
        ),
        (
            "Which tasks are done?",
            "Sweep the chimney, Order the firewood, Hire the mule, Air the blankets",
            [
                "- [x] Sweep the chimney",
                "- [x] Order the firewood",
                "- [x] Hire the mule",
                "☑ Air the blankets",
            ],
        ),
        ("How many tasks after the season are not done yet?", "2", None),
        ("Are all tasks finished?", "no", None),
        ("Are the tasks finished?", "no", None),
        ("Are any tasks finished?", "yes", None),
        ("Which tasks after the season aren't done?", "Drain the pipes, Lock the cellar", None),
    ],
)  # fmt: skip
def test_the_state_of_tasks_answers(
    hut: Engine, question: str, short: str, quoted: list[str] | None
) -> None:
    answer = hut.ask(question)
    assert answer.short == short
    if quoted is not None:
        assert [quote.text for quote in answer.quotes] == quoted
    document = hut.get("hut")
    assert document is not None
    assert all(document.text[one.start : one.end] == one.text for one in answer.quotes)


@pytest.mark.parametrize(
    ("question", "open_ones"),
    [
        ("What still has to be done before we ski?", 4),
        ("What is still to be done for the hut?", 4),
        ("Which jobs after the season are left over?", 2),
        ("What does Ida still have on her to-do list?", 4),
        ("What still has to be done for the boat?", 0),
    ],
)
def test_what_is_to_be_done_is_found_among_other_documents(
    hut: Engine, question: str, open_ones: int
) -> None:
    hut.ingest(Document(id="ski", title="Ski trip", text="We ski at Malga Orn with Ida in March."))
    assert len(hut.ask(question).quotes if open_ones else ()) == open_ones


@pytest.mark.parametrize(
    ("question", "short"),
    [("Where does the firewood come from?", "Ulm"), ("Has the stove been cleaned?", None)],
)
def test_other_questions_are_read_as_usual(hut: Engine, question: str, short: str | None) -> None:
    assert hut.ask(question).short == short


def test_what_is_in_progress_is_neither_done_nor_all_that_is_open(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(Document(id="chapel", title="Chapel", text=_BEGUN))
        begun = engine.ask("Which jobs are still under way?").short
        denied = engine.ask("Which jobs are not under way?").short
        still_open = engine.ask("Which jobs are still open?").short
        whether = [
            engine.ask(question).short
            for question in ("Have the bells been oiled yet?", "Is the vestry already plastered?")
        ]
    assert begun == "Scaffold the tower, Plaster the vestry"
    assert denied != begun
    assert still_open == "Scaffold the tower, Gild the weathercock, Plaster the vestry"
    assert whether == ["yes", "no"]
