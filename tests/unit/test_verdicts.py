"""Yes or no by what is quoted: from the sentence that says it, and none where another one does."""

from collections.abc import Sequence

import pytest

from memnet.reader.answers import Prediction
from memnet.reader.confidence import Signals
from memnet.reader.passages import RankedSlot
from memnet.reader.quotes import Quotation
from memnet.reader.spans import Passage, Reading
from memnet.reader.support import read_alone
from memnet.storage import Slot
from memnet.types import Candidate
from tests.reading import meanings

FEED = "- Pip eats a little hay.\n- Moss eats no hay."
POST = "Yes, to Cyprus, but not to Malta."


class _Sure:
    """Reads one of both words in everything."""

    def __init__(self, word: str) -> None:
        self.word = word

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        yes = 0.95 if self.word == "yes" else 0.02
        return Reading((), yes, 0.97 - yes, 0.9)


def verdict(
    question: str, text: str, word: str, title: str = "Notes", attested: float = 1.0
) -> Prediction:
    slot = Slot(1, "passage", "notes.md", "", title, text, 0, len(text), "", "")
    item = RankedSlot(slot, 1.0, 0.8, 1.0, 1)
    read = Prediction(
        (Candidate(text=text, score=0.9),), (item,), "statement",
        signals=Signals(0.9, 0.0, 0.9, 0.8, 0.5, False, 0, attested=attested),
        quotes=(Quotation(item, 0, len(text), 0.9),),
    )  # fmt: skip
    return read_alone(question, read, _Sure(word), meanings([{"hen", "fowl"}]))


@pytest.mark.parametrize(
    ("question", "text", "word", "shown"),
    [
        ("Does Moss eat hay?", FEED, "no", "No: - Moss eats no hay."),
        ("Do you post to Malta?", POST, "no", "No: but not to Malta."),
        ("Do you post to Cyprus?", POST, "no", POST),
        ("Is towing included?", "Tyres: included\nTowing: none", "no", "No: Towing: none"),
    ],
)
def test_what_says_it_is_quoted(question: str, text: str, word: str, shown: str) -> None:
    assert verdict(question, text, word, "Do you post parcels?").shown == shown


@pytest.mark.parametrize(
    ("question", "text", "word"),
    [
        ("Does Pip eat hay?", FEED, "no"),  # another one is denied it
        ("May I keep hens?", "Fowl may not be kept.", "yes"),
    ],
)
def test_no_verdict_is_taken_from_another_clause(question: str, text: str, word: str) -> None:
    read = verdict(question, text, word, "Do you post parcels?")
    assert not read.promised
    assert read.shown == text


def test_a_passage_about_something_like_it_is_worth_more_than_one_about_something_else() -> None:
    rule = "Barges may not carry fowl."
    for question, attested in (("May barges carry hens?", 1.0), ("May barges carry coal?", 0.5)):
        signals = verdict(question, rule, "no").signals
        assert signals is not None
        assert signals.left_open
        assert signals.attested == attested
    unsaid = verdict("May barges carry hens?", rule, "no", attested=0.0).signals
    assert unsaid is not None
    assert unsaid.attested == 0.0  # A code of the question that stands nowhere
