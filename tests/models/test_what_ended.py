"""What has ended is no answer to a question about what holds; what only asks is not told."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memnet import Engine
from memnet.errors import InputError
from memnet.statements.decisions import ends_an_item, list_items
from memnet.statements.parsing import RuleParser, is_question
from memnet.statements.presentation import Ended, without_ended
from memnet.statements.reading import FORMS, AnswerForm, Piece, StatementReading
from memnet.storage import Told


def _told(text: str, *values: str, slot: int = 1) -> Told:
    return Told(
        text=text, subject="", aliases=(), relation="", values=values, polarity=True,
        certainty="is", told=0.0, valid_from=0.0, valid_until=None,
        relation_vector=np.zeros(1, np.float32), id=slot,
    )  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "store", create=True) as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "values", "items"),
    [
        ("Bob likes tea, coffee and cocoa.", ("tea, coffee and cocoa",), "tea|coffee|cocoa"),
        ("Mia has a cat and a dog.", ("a cat", "and a dog"), "a cat|a dog"),
        ("I bought milk, eggs and bread.", ("milk", "eggs", "bread"), "milk|eggs|bread"),
        ("The choir has altos: Eva, Ida & Bea", ("altos: Eva, Ida & Bea",), "Eva|Ida|Bea"),
        ("Ann works at Siemens, since 1990.", ("Siemens", "since 1990"), ""),
        ("Ann lives in Rome.", ("Rome",), ""),
        ("Ann lives in Rome.", ("Paris and Rome",), ""),
        ("", (), ""),
    ],
)
def test_items_of_a_list(text: str, values: tuple[str, ...], items: str) -> None:
    assert "|".join(list_items(_told(text, *values))) == items


@pytest.mark.parametrize("text", ["Bob likes tea, coffee and cocoa.", "Ann has a cat and a dog."])
def test_rules_leave_lists_in_their_values(text: str) -> None:
    [parsed] = RuleParser().parse(text, 0.0, ())
    items = list_items(_told(text, *parsed.values))
    assert len(items) == text.count(",") + 2
    assert all(item in text for item in items)


@pytest.mark.parametrize(
    ("new", "ends"),
    [
        ("Bob doesn't like cocoa anymore.", True),
        ("Bob gave up coffee and tea.", True),
        ("Bob gave up tea, coffee and cocoa.", False),  # all of it
        ("Bob gave up drinking.", False),  # names none
    ],
)
def test_some_items_of_a_list_are_a_part_of_it(new: str, ends: bool) -> None:
    drinks = _told("Bob likes tea, coffee and cocoa.", "tea, coffee and cocoa")
    assert ends_an_item(_told(new), drinks) == ends
    assert not ends_an_item(_told(new), _told("Bob likes cocoa.", "cocoa"))


def _reading(form: str, told: Told, *pieces: str, statement: int = 0) -> StatementReading:
    found = tuple(
        Piece(statement, told.text.index(one), told.text.index(one) + len(one), 0.9 - 0.5 * rank)
        for rank, one in enumerate(pieces)
    )
    forms: dict[AnswerForm, float] = {name: 0.9 if name == form else 0.01 for name in FORMS}
    return StatementReading(forms, found, found if form == "list" else (), 0, (1.0, 1.0))


def test_pieces_that_have_ended_are_left_out() -> None:
    drinks = _told("Bob likes tea, coffee and cocoa.")
    no_cocoa = _told("Bob gave up cocoa.", slot=2)
    both = (drinks, no_cocoa)
    pair = [Ended(drinks, no_cocoa)]

    def items(reading: StatementReading, ended: list[Ended]) -> list[str]:
        left = without_ended(reading, both, ended)
        return [both[one.statement].text[one.start : one.end] for one in left.items]

    listed = _reading("list", drinks, "tea", "coffee", "cocoa")
    assert items(listed, pair) == ["tea", "coffee"]
    assert items(listed, []) == ["tea", "coffee", "cocoa"]
    gone = without_ended(_reading("list", drinks, "cocoa", "and cocoa"), both, pair)
    assert (gone.items, gone.pieces) == ((), ())
    # Of two items one is left, which is a value then.
    one = without_ended(_reading("list", drinks, "cocoa", "tea"), both, pair)
    assert (one.form, [piece.start for piece in one.pieces]) == (
        "value",
        [drinks.text.index("tea")],
    )

    value = without_ended(_reading("value", no_cocoa, "cocoa", statement=1), both, pair)
    assert (value.forms["none"], value.pieces) == (1.0, ())
    # What is left has to be likely.
    assert without_ended(_reading("value", drinks, "cocoa", "tea"), both, pair).forms["none"] == 1
    likely = _reading("value", drinks, "cocoa", "tea")
    likely = likely._replace(pieces=(likely.pieces[0], likely.pieces[1]._replace(probability=0.8)))
    assert without_ended(likely, both, pair).forms == likely.forms
    # Conditional on any form but "value", the list is likely.
    only_cocoa = likely._replace(pieces=likely.pieces[:1], items=listed.items)
    for as_list, form in ((0.3, "list"), (0.05, "none")):
        forms: dict[AnswerForm, float] = {**likely.forms, "list": as_list, "none": 0.2}
        found = without_ended(only_cocoa._replace(forms=forms), both, pair)
        assert max(found.forms, key=lambda one: found.forms[one]) == form
        assert sum(found.forms.values()) == pytest.approx(1)
        if form == "list":
            assert [both[0].text[one.start : one.end] for one in found.items] == ["tea", "coffee"]
    # Other statements, and other forms, are left alone.
    other = replace(no_cocoa, id=3)
    assert without_ended(likely, both, [Ended(other, other)]) is likely
    yes = _reading("yes", no_cocoa, "cocoa", statement=1)
    assert without_ended(yes, both, pair) is yes


def test_a_part_of_a_list_ends(memory: Engine) -> None:
    memory.tell("Bob likes tea, coffee and cocoa.")
    memory.tell("Bob doesn't like cocoa anymore.")
    assert memory.ask("What does Bob like?").answer == "tea, coffee"
    assert "cocoa" in (memory.ask("What did Bob like before?").answer or "")
    memory.undo()
    assert "cocoa" in (memory.ask("What does Bob like?").answer or "")


def test_a_part_that_is_given_away_leaves_the_rest(memory: Engine) -> None:
    memory.tell("Mia has a cat and a dog.")
    [decision] = memory.tell("Mia gave the dog away.").decisions
    assert decision.action == "end"
    assert "part" in decision.reason
    held, _ = memory.history()
    assert held.valid_until is None
    pets = memory.ask("Which pets does Mia have?").short or ""
    assert ("cat" in pets, "dog" in pets) == (True, False)


def test_what_ended_is_not_read_out_of_what_ended_it(memory: Engine) -> None:
    memory.tell("Tom and Jane are married.", at="2026-01-10")
    memory.tell("Tom and Jane divorced.", at="2026-02-10")
    assert memory.ask("Who is Tom married to?").abstained
    assert memory.ask("Who did Tom divorce?").short == "Jane"
    assert memory.ask("Are Tom and Jane married?").short == "no"
    assert memory.ask("Who is Tom married to?", as_of="2026-01-20").short == "Jane"


def test_what_happened_on_another_day_changes_nothing(memory: Engine) -> None:
    memory.tell("Una came by last Monday.", at="2026-03-11")
    [decision] = memory.tell("Bo came by last Tuesday.", at="2026-03-12").decisions
    assert decision.action == "add"
    assert memory.ask("Who came by last Monday?", as_of="2026-03-13").short == "Una"
    assert memory.ask("Who came by last Tuesday?", as_of="2026-03-13").short == "Bo"


@pytest.mark.parametrize(
    ("sentence", "asks"),
    [
        ("What is the wifi password?", True), ("  “And who is Ann?” ", True),
        ("Isn't Ann in Paris?", True), ("Did Ann move to Paris?", True),
        ("Ann moved to Paris.", False), ("The vet says 6.6, who's right?", False),
        ("What a day!", False), ("hives: A strong, B weak, C queenless?", False), ("?", False),
        ("", False),
    ],
)  # fmt: skip
def test_what_only_asks(sentence: str, asks: bool) -> None:
    assert is_question(sentence) == asks


def test_a_question_is_not_told(toy_engine: Engine) -> None:
    for text in ("What is X?", "Where is Ann? And who is Bo?"):
        with pytest.raises(InputError, match="is a question, so nothing was told; 'memnet ask'"):
            toy_engine.tell(text)
    assert toy_engine.history() == ()
    toy_engine.tell("Ann moved to Paris. Isn't that nice?")
    assert len(toy_engine.history()) == 2
