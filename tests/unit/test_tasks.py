"""Lists of tasks: which items are done."""

import pytest

from memnet.reader.tasks import tasks_of
from tests.reading import ranked


@pytest.mark.parametrize(
    ("line", "what", "done"),
    [
        ("- [ ] Wax the skis", "Wax the skis", False),
        ("- [x] Wax the skis", "Wax the skis", True),
        ("* [X] Wax the skis", "Wax the skis", True),
        ("  12. [x] Wax the skis", "Wax the skis", True),
        ("- [-] Wax the skis", "Wax the skis", False),
        ("- [~] Wax the skis", "Wax the skis", False),
        ("- [/] Wax the skis", "Wax the skis", False),
        ("[ ] Wax the skis", "Wax the skis", False),
        ("☐ Wax the skis", "Wax the skis", False),
        ("• ☑ Wax the skis", "Wax the skis", True),
        ("☒ Wax the skis", "Wax the skis", True),
        ("TODO Wax the skis", "Wax the skis", False),
        ("DONE Wax the skis", "Wax the skis", True),
    ],
)
def test_a_box_before_an_item_is_its_state(line: str, what: str, done: bool) -> None:
    [item] = ranked({"Skiing": f"For the trip:\n\n{line}\n"})
    [task] = tasks_of(item)
    assert (task.what, task.done, task.caption.strip()) == (what, done, "For the trip:")
    assert task.quotation.text == line.strip()


@pytest.mark.parametrize(
    "line",
    [
        "- Wax the skis", "- [1] Wax the skis", "- [ ]", "[x]y is an element of the matrix",
        "Todo lists are long.", "- [link] Wax", "The TODO list", "a[ ] = b", "- [ ]Wax",
    ],
)  # fmt: skip
def test_what_is_no_task(line: str) -> None:
    [item] = ranked({"Skiing": line})
    assert list(tasks_of(item)) == []


def test_each_list_has_its_own_caption() -> None:
    text = "May\n\n- [ ] a b\n- [x] c d\n\nJune\nFor all:\n- [ ] e f"
    [item] = ranked({"Plans": text})
    assert [task.caption.strip() for task in tasks_of(item)] == ["May", "May", "June\nFor all:"]
