"""Statements about different things leave each other, and what was told answers what is asked."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from memnet.statements.asked import decided, with_instead, without_others
from memnet.statements.parsing import RuleParser
from memnet.statements.reading import FORMS, AnswerForm, Piece, StatementReading
from memnet.statements.things import about_other_things, changes_now, parts_with
from memnet.storage import Told

_NOW = 1_000_000.0


def _told(text: str, subject: str | None = None) -> Told:
    """What rules make of a sentence told at ``_NOW``; ``subject`` where they don't find it."""
    one = RuleParser().parse(text, _NOW, ())[-1]
    return Told(
        one.text, one.subject if subject is None else subject, one.aliases, one.relation,
        one.values, one.polarity, one.certainty, _NOW, _NOW, one.valid_until,
        np.zeros(2, np.float32), act=one.act,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("earlier", "new", "apart"),
    [
        (("The ferry sails at 7.", "The ferry"), ("The tram goes at 9.", "The tram"), True),
        (("The ferry sails at 7.", "The ferry"), ("The ferry sails at 9.", "The ferry"), False),
        (("Crate A12 came on Monday.", "Crate A12"), ("Crate A13 came today.", "Crate A13"), True),
        (("Crate A12 is full.", "Crate A12"), ("The crate A12 is empty.", "crate A12"), False),
        (("The band plays on Mondays.", "The band"),
         ("The old men's band plays on Fridays.", "The old men's band"), True),
        (("The old men's band plays on Mondays.", "The old men's band"),
         ("The band plays on Fridays.", "The band"), False),
        (("The car is in the yard.", "The car"), ("My new car is in Rye.", "My new car"), False),
        (("Crate 9 leaked, dried.", "Crate 9"), ("Crate 9 burnt, is out.", "Crate 9"), False),
        (("The phone bill is due.", "phone bill"), ("The dog bill is due.", "dog bill"), True),
        (("The hall costs 80 euros.", "The hall"), ("The tent costs 9 euros.", "The tent"), True),
        (("Al's flight is at 5.", "Al's flight"), ("Mia's flight is at 6.", "Mia's flight"), True),
        (("My flight is at 5.", "My flight"), ("The new flight is at 6.", "new flight"), False),
        (("The lunch is on Monday.", "lunch"), ("Lunch with Bo is today.", "Lunch with Bo"), False),
        (("Lunch with Ida is on Monday.", "Lunch with Ida"),
         ("Lunch with Bo is on Friday.", "Lunch with Bo"), True),
        (("Ann has the torch.", "Ann"), ("Bob has the torch.", "Bob"), False),
        (("The boat has the torch.", "The boat"), ("The van has the torch.", "The van"), False),
        (("Ann plays chess.", "Ann"), ("Bob plays golf.", "Bob"), True),
        (("My kayak is a Pico.", "My kayak"), ("I lost the Pico.", "I"), False),
        (("I mended the fence on Monday.", "I"), ("I mended the shed on Friday.", "I"), True),
        (("I have yoga on Monday.", "I"), ("I have choir on Friday.", "I"), True),
        (("I filed the tax form.", "I"), ("I filed the loan form.", "I"), True),
        (("I moved the talk to Monday.", "I"), ("I moved the talk to Friday.", "I"), False),
        (("I teach in room 4 on Monday.", "I"), ("I teach in room 5 on Friday.", "I"), False),
        (("I drive a Pico.", "I"), ("I drive a Nero.", "I"), False),
        (("Bo fishes in the weir.", "Bo"), ("Bo does not fish in the bay.", "Bo"), True),
        (("Bo fishes in the weir.", "Bo"), ("Bo never fishes in the weir.", "Bo"), False),
        (("Bo fishes in the weir.", "Bo"), ("Bo doesn't fish in Rye any more.", "Bo"), False),
        (("The fee is 9 euros.", "The fee"), ("The fee is not 9 but 8.", "The fee"), False),
        (("I have a long oar.", "I"), ("I sold my short oar.", "I"), True),
        (("I have a big long oar.", "I"), ("I sold my big oar.", "I"), False),
        (("I have an oar.", "I"), ("I sold my short oar.", "I"), False),
    ],
)  # fmt: skip
def test_alike_sentences_may_be_about_different_things(
    earlier: tuple[str, str], new: tuple[str, str], apart: bool
) -> None:
    assert about_other_things(_told(*new), _told(*earlier)) is apart


@pytest.mark.parametrize(
    ("earlier", "new", "parts"),
    [
        ("My kayak is a Pico.", "I sold the Pico and bought a Nero.", True),
        ("My kayak is a Pico.", "I gave the Pico back and got a Nero.", True),
        ("I have a Pico.", "I traded my Pico in for a Nero.", True),
        ("I have a tuba.", "I gave away my tuba.", True),
        ("My kayak is a Pico.", "I sold the tuba.", False),
        ("My kayak is a Pico.", "I have not sold the Pico.", False),
        ("My kayak is a Pico.", "I almost sold the Pico.", False),
        ("My kayak is a Pico.", "I sold the Pico, not the tuba.", True),
        ("Bob's kayak is a Pico.", "I sold the Pico.", False),
        ("I met a Pico.", "I sold the Pico.", False),
        ("My kayak is a Pico.", "I washed the Pico.", False),
        ("I have a cat.", "I gave the cat a toy.", False),
        ("I sold my tub and bought a Pico.", "I sold the Pico.", True),
    ],
)
def test_what_is_sold_is_had_no_longer(earlier: str, new: str, parts: bool) -> None:
    assert parts_with(_told(new, "I"), _told(earlier)) is parts


@pytest.mark.parametrize(
    ("earlier", "new", "instead"),
    [
        ("Rex gets 4 mg of Tar a day.", "From today Rex only gets 3 mg of Tar a day.", True),
        ("Rex gets 4 mg of Tar a day.", "Rex now gets 3 mg of Tar a day.", True),
        ("Rex gets 4 mg of Tar a day.", "Rex gets 3 mg of Tar a day.", False),
        ("Rex gets 4 mg of Tar a day.", "From today Rex gets 3 mg of Rum a day.", False),
        ("Rex gets 4 mg of Tar a day.", "Rex now weighs 3 kg.", False),
    ],
)
def test_another_number_of_the_same_takes_its_place(earlier: str, new: str, instead: bool) -> None:
    assert changes_now(_told(new, "Rex"), _told(earlier, "Rex")) is instead


def test_what_used_to_be_is_over_when_it_is_told() -> None:
    now, before = RuleParser().parse("Our hut is green, it used to be grey.", _NOW, ())
    assert (now.subject, now.values, now.certainty) == ("Our hut", ("green",), "is")
    assert (before.subject, before.values, before.certainty) == ("Our hut", ("grey",), "was")
    assert (now.valid_until, before.valid_until) == (None, _NOW)
    [both] = RuleParser().parse("Ann used to be a cook and now she paints", _NOW, ())
    assert both.valid_until is None


def test_new_and_current_are_no_part_of_a_subject() -> None:
    texts = (
        "My current doctor is Bo.", "Ann's new favourite dish is pie.", "My new car is red.",
        "My new red car is fast.", "Nowadays my dentist is Al.",
    )  # fmt: skip
    subjects = [RuleParser().parse(text, _NOW, ())[0].subject for text in texts]
    assert subjects == [
        "My doctor",
        "Ann's favourite dish",
        "My car",
        "My new red car",
        "my dentist",
    ]


@pytest.mark.parametrize(
    ("question", "texts", "form"),
    [
        ("Has Ida been to Oslo?", ["Ida has never been to Oslo."], "no"),
        ("Is ticket 8 paid?", ["Ticket 8 is paid.", "Ticket 9 is not paid."], "yes"),
        ("Is ticket 9 paid?", ["Ticket 8 is paid.", "Ticket 9 is not paid."], "no"),
        ("Do I like rain?", ["I can't stand rain."], "no"),
        ("Does Ida like rain?", ["Ida loves rain."], "yes"),
        ("Does Ida smoke?", ["Ida used to smoke."], "no"),
        ("Was the shed painted?", ["I painted the shed on Monday."], "yes"),
        ("Do I like snow?", ["I hate rain."], "none"),
        ("Is Ida a cook?", ["Ida is a cook.", "Ida is not a cook."], "none"),
        ("Is Ida a cook?", ["Ida may be a cook."], "none"),
        ("Do I have an oar?", ["I have a long oar.", "I sold my short oar."], "yes"),
        ("Do I have an oar?", ["I sold my short oar."], "no"),
        ("Who is Ida?", ["Ida is a cook."], "none"),
    ],
)
def test_a_statement_decides_what_asks_for_just_that(
    question: str, texts: list[str], form: str
) -> None:
    reading = _decided(question, texts)
    assert [one for one in FORMS if reading.forms[one] == 1] == [form]


def _unlike(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.eye(len(texts), dtype=np.float32)


def _decided(question: str, texts: list[str], *read: Piece) -> StatementReading:
    """What is decided where the network has no answer, or has ``read`` one."""
    forms: dict[AnswerForm, float] = {
        one: float(one == ("value" if read else "none")) for one in FORMS
    }
    undecided = StatementReading(forms, read, (), 0, (0.0,) * len(texts))
    return decided(question, [_told(text) for text in texts], undecided, _NOW + 1, _unlike)


_RACE = "The race was put off until Monday."


@pytest.mark.parametrize(
    ("question", "texts", "when"),
    [
        ("When is the race?", [_RACE, "The talk is on Friday."], "Monday"),
        ("When does Liv finish her novel?", ["Liv finishes her novel in two weeks."],
         "in two weeks"),
        ("In which year did we plant the oak?", ["We planted the oak last year."], "last year"),
        ("How long is the weir shut?", ["The weir is shut until Friday."], "Friday"),
        ("When is the weir shut?", ["The weir is shut until Friday."], None),
        ("Until when is the weir shut?", ["The weir is shut on Friday."], None),
        ("When is the talk?", [_RACE], None),
        ("When is the race?", ["The race is not on Monday."], None),
        ("When is the race?", [_RACE, "The race in Rye is tomorrow."], None),
        ("When is the race?", ["We saw Liv after the race on Monday."], None),
        ("When is the race?", ["The race was moved to 4 May at 9:30."], "4 May at 9:30"),
        ("When is the race?", ["The race, shown at 9:30, was put off until 4 May 2024."], None),
        ("When is the race?", ["The race is on 4 May 2024.", "The race has been called off."],
         "The race has been called off."),
        ("When is the race?", ["The race is on 4 May 2024.", "The race is not cancelled."],
         "4 May 2024"),
        ("When is the race?", ["The race is on 4 May 2024.", "The talk is cancelled."],
         "4 May 2024"),
        ("When does Liv finish her novel?", ["Liv finishes her dress in two weeks."], None),
    ],
)  # fmt: skip
def test_a_statement_tells_when(question: str, texts: list[str], when: str | None) -> None:
    pieces = _decided(question, texts).pieces
    assert [texts[one.statement][one.start : one.end] for one in pieces] == [when] * bool(when)


def test_what_may_correct_a_time_is_left_to_the_network() -> None:
    other = Piece(1, 4, 13, 0.8)
    assert _decided("When is the race?", [_RACE, "No, on Tuesday."], other).pieces == (other,)


def _read_of(question: str, texts: list[str]) -> list[int]:
    """Which of some statements are read for a question."""
    told = [_told(text) for text in texts]
    return [told.index(one) for one in without_others(question, told, _NOW, _unlike)]


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("Is ticket 8 paid?", [0, 2, 3]),
        ("Is ticket 7 paid?", [0, 1, 2, 3]),
        ("What is Liv's lucky number?", [0, 1, 3]),
        ("What is Liv's lucky charm?", [0, 1, 3]),
        ("What is my lucky number?", [0, 1, 2, 3]),
    ],
)
def test_what_is_about_another_thing_is_not_read(question: str, read: list[int]) -> None:
    texts = ["Ticket 8 is paid.", "Ticket 9 is red.", "My lucky number is 4.", "Ann is tall."]
    assert _read_of(question, texts) == read


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("What is Tomas Rye's phone number?", [0]),
        ("phone number of Thomas Rye", [1]),
        ("Does Ann Rye grow leeks?", [2]),
        ("Who is Ann Rye's brother?", [3]),
        ("What does Tom Rye grow?", [0, 1, 2, 3, 4]),  # It may be Thomas or Tomas.
        ("What does Mrs Rye grow?", [0, 1, 2, 3, 4]),
        ("What does Thomas Fell mend?", [4]),
        ("What does Thomas mend?", [0, 1, 2, 3, 4]),
    ],
)
def test_namesakes_are_not_read_about_whoever_is_told_of(question: str, read: list[int]) -> None:
    texts = [
        "Tomas Rye's phone number is 40 17.",
        "Thomas Rye lives in Ulm.",
        "Ann Rye grows leeks.",
        "Tomas Rye is Ann Rye's brother.",
        "Thomas Fell mends clocks.",
    ]
    assert _read_of(question, texts) == read


def test_a_word_with_a_capital_may_be_no_name() -> None:
    texts = ["Liv rents a berth.", "Mooring costs 4 euros.", "Odo lives in Ulm."]
    assert _read_of("How much does Liv pay for mooring?", texts) == [0, 1]


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("What is the list price of the rope?", [0]),
        ("How high is the list price of the tar?", [1]),
        ("When does the pool open on Sundays?", [2]),
        ("When does the pool open on Mondays?", [3]),
        ("What is the list price?", [0, 1]),
        ("When does the pool open?", [2, 3]),
    ],
)
def test_what_is_told_of_another_thing_or_time_is_not_read(question: str, read: list[int]) -> None:
    texts = [
        "The list price of the rope is 4 euros.",
        "The list price of the tar was changed to 9 euros.",
        "On Sundays the pool opens at 10.",
        "The pool opens on Mondays at 7.",
    ]
    asked = range(2) if "price" in question else range(2, 4)
    assert [index for index in _read_of(question, texts) if index in asked] == read


@pytest.mark.parametrize(
    ("question", "said", "read"),
    [
        ("Which canoe does Liv have?", "I have a canoe.", False),
        ("Which canoe do I have?", "I have a canoe.", True),
        ("What's the code?", "I changed the code to 9.", True),
        ("What's the canoe called?", "I have the canoe Ida.", True),
        ("What did Rex's collar cost?", "Liv's collar cost 9 euros.", False),
        ("What did Liv's collar cost?", "Liv's collar cost 9 euros.", True),
        ("Who stopped rowing?", "Liv stopped rowing.", True),
        ("Who rows?", "Liv stopped rowing.", False),
    ],
)
def test_what_i_have_is_not_what_somebody_else_has(question: str, said: str, read: bool) -> None:
    assert bool(without_others(question, [_told(said)], _NOW, _unlike)) is read


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("Which colour was my hut before?", [1]),
        ("What hut did I have before?", [1]),
        ("Who smoked before?", [2]),
        ("What was my boat before?", [0, 1, 2]),
        ("Which colour is my hut?", [0, 1, 2]),
    ],
)
def test_what_has_ended_is_read_for_what_was_before(question: str, read: list[int]) -> None:
    texts = ["My hut is green.", "My hut used to be grey.", "Ann used to smoke."]
    told = [_told(text) for text in texts]
    assert without_others(question, told, _NOW, _unlike) == [told[index] for index in read]


@pytest.mark.parametrize(
    ("question", "said", "form"),
    [
        ("Does Ida like rain?", "I can't stand rain.", "none"),
        ("Do I like rain?", "Ida can't stand rain.", "none"),
        ("Has Ida seen a lynx?", "Ida has never seen a wolf.", "none"),
        ("Has Ida seen a wolf?", "Nobody saw the wolf but Ida.", "no"),
        ("Does Ida eat eggs?", "Ida must not have eggs.", "no"),
        ("Does Ida work here?", "Ida left the firm.", "no"),
    ],
)
def test_a_verdict_is_about_who_and_what_is_asked_for(question: str, said: str, form: str) -> None:
    forms: dict[AnswerForm, float] = {one: float(one == "no") for one in FORMS}
    reading = StatementReading(forms, (), (), 0, (0.9,))
    given = decided(question, [_told(said)], reading, _NOW + 1, _unlike).forms
    assert [one for one in FORMS if given[one] == 1] == [form]


def test_a_denial_of_something_else_is_in_no_conflict() -> None:
    forms: dict[AnswerForm, float] = {one: float(one == "conflict") for one in FORMS}
    told = [_told("Ida has never seen a wolf.")]
    reading = StatementReading(forms, (), (), 0, (0.9,))
    assert decided("Has Ida seen a lynx?", told, reading, _NOW + 1, _unlike).forms["none"] == 1


@pytest.mark.parametrize(
    ("question", "new", "now"),
    [
        ("Which kayak do I have?", "I sold the Pico and bought a red Nero.", "red Nero"),
        ("What kayak do I own now?", "I swapped the Pico for another Nero.", "Nero"),
        ("Which kayak do I have?", "I sold the Pico for a good price.", None),
        ("Which kayak does Ida have?", "I sold the Pico and bought a Nero.", None),
        ("Which tuba do I have?", "I sold the Pico and bought a Nero.", None),
    ],
)
def test_what_came_instead_is_had_now(question: str, new: str, now: str | None) -> None:
    kayak = replace(_told("My kayak is a Pico."), id=1, changed_by=2)
    reading = StatementReading(dict.fromkeys(FORMS, 0.0), (), (), 0, (0.0,))
    pieces = with_instead(question, [replace(_told(new), id=2)], [kayak], reading).pieces
    assert [new[one.start : one.end] for one in pieces] == [now] * bool(now)


def test_two_of_whom_the_same_is_said_are_told_apart() -> None:
    [ida, bo] = RuleParser().parse("Ida sings in Rye and Bo sings in Hay.", _NOW, ())
    assert (ida.subject, ida.text, bo.subject) == ("Ida", "Ida sings in Rye", "Bo")
    assert len(RuleParser().parse("Ida sings in Rye and Hay.", _NOW, ())) == 1
