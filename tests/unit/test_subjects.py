"""A value that is said of something else than is asked about has no confidence."""

import pytest

from memnet.reader.answers import Prediction
from memnet.reader.confidence import Signals
from memnet.reader.passages import RankedSlot
from memnet.reader.quotes import quote_around
from memnet.reader.support import without_others
from memnet.storage import Slot
from memnet.types import Candidate
from tests.reading import meanings

HARBOUR = (
    "The crane lifts 12 t and was built in 1968. The pilot boat lies at pier 4. It was painted by "
    "Ilmar Tamm. Vesna Horak sells the tickets; her dog is called Rex. Dario Pinto has a key to "
    "the store. My glove size is XL. The store holds 40 barrels and 90 kg of tar."
)
encode = meanings([{"hoist", "crane"}, {"casks", "barrels"}])


def confidence_left(question: str, short: str, text: str = HARBOUR, title: str = "Notes") -> float:
    slot = Slot(1, "passage", "notes.md", "", title, text, 0, len(text), "", "")
    item = RankedSlot(slot, 1.0, 0.8, 1.0, 1)
    start = text.index(short)
    best = Candidate(text=short, score=0.9, evidence=1, start=start, end=start + len(short))
    signals = Signals(0.9, 0.0, 0.9, 0.8, 0.5, False, 0)
    read = Prediction(
        (best,), (item,), "value", short=short, signals=signals,
        quotes=quote_around(item, start, start + len(short)),
    )  # fmt: skip
    left = without_others(question, read, encode).signals
    assert left is not None
    return left.attested


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How much does the pilot boat lift?", "12 t"),  # the notes speak of it elsewhere
        ("When was the lighthouse built?", "1968"),  # they don't
        ("Who painted the crane?", "Ilmar Tamm"),
        ("Which pier is the crane at?", "pier 4"),
        ("What is Dario Pinto's dog called?", "Rex"),
        ("What is my shoe size?", "XL"),
        ("What is the e-mail address of Vesna Horak?", "tickets"),
        ("When was the pilot boat painted?", "Ilmar Tamm"),
        ("How many anchors does the store hold?", "40"),
        ("How many anchors does the store hold?", "90 kg"),
    ],
)
def test_what_is_said_of_another_subject_does_not_answer(question: str, short: str) -> None:
    assert confidence_left(question, short) < 0.54  # shown, if at all, as no answer


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How much does the crane lift?", "12 t"),
        ("When was the hoist built?", "1968"),  # means the same
        ("When was that thing built?", "1968"),
        ("Who painted the pilot boat?", "Ilmar Tamm"),  # "it"
        ("What is Vesna Horak's dog called?", "Rex"),
        ("What is my glove size?", "XL"),
        ("Who sells the tickets?", "Vesna Horak"),
        ("How do I change my e-mail address?", "a key"),
        ("How many barrels does the store hold?", "40"),
        ("How many casks does the store hold?", "40"),
        ("How many people work in the store?", "40"),
        ("Is the ferry at pier 4?", "pier 4"),  # the verdict is looked at elsewhere
    ],
)
def test_what_is_said_of_the_same_subject_stays(question: str, short: str) -> None:
    assert confidence_left(question, short) == 1.0


def test_a_title_or_heading_names_the_subject() -> None:
    text = "Tariffs\n\nThe fee is 30 euros for a winter."
    assert confidence_left("What is the fee of the marina?", "30", text, "Marina") == 1.0
    assert confidence_left("What is the fee in the tariffs?", "30", text) == 1.0


BARGE = "Draught: 0.8 m. Bilge tank: 55 litres. Winch: 310 kg. Mooring: £1,240. Berths: 6."


@pytest.mark.parametrize(
    ("question", "short", "left"),
    [
        ("How heavy is the barge?", "310 kg", 1.0),
        ("How heavy is the barge?", "0.8 m", 0.0),
        ("How wide is the barge?", "55 litres", 0.0),
        ("What is the tank capacity?", "310 kg", 0.0),
        ("When was the barge built?", "£1,240", 0.0),
        ("Who owns the barge?", "£1,240", 0.0),
        ("How much does the barge cost?", "310 kg", 0.0),
        ("How many litres does the bilge tank hold?", "55 litres", 1.0),
        ("How many people does the barge sleep?", "310 kg", 0.0),
        ("How much is the mooring of the barge?", "£1,240", 1.0),
        ("How heavy is the dinghy?", "310 kg", 0.5),  # the title names another vessel
    ],
)
def test_a_value_is_of_the_quantity_that_is_asked_for(
    question: str, short: str, left: float
) -> None:
    assert confidence_left(question, short, BARGE, "Barge") == left
