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

    def __init__(self, word: str, sure: float) -> None:
        self.word, self.sure = word, sure

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        yes = self.sure if self.word == "yes" else 0.97 - self.sure
        return Reading((), yes, 0.97 - yes, 0.9)


def verdict(
    question: str,
    text: str,
    word: str,
    title: str = "Notes",
    attested: float = 1.0,
    sure: float = 0.95,
) -> Prediction:
    slot = Slot(1, "passage", "notes.md", "", title, text, 0, len(text), "", "")
    item = RankedSlot(slot, 1.0, 0.8, 1.0, 1)
    read = Prediction(
        (Candidate(text=text, score=0.9),), (item,), "statement",
        signals=Signals(0.9, 0.0, 0.9, 0.8, 0.5, False, 0, attested=attested),
        quotes=(Quotation(item, 0, len(text), 0.9),),
    )  # fmt: skip
    return read_alone(question, read, _Sure(word, sure), meanings([{"hen", "fowl"}]))


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


def test_what_leaves_it_open_keeps_its_chances() -> None:
    rule = "Barges may not carry fowl."
    for attested in (1.0, 0.0):  # 0: a code of the question that stands nowhere
        signals = verdict("May barges carry hens?", rule, "yes", attested=attested).signals
        assert signals is not None
        assert signals.left_open
        assert signals.attested == attested


def test_in_other_words_the_network_decides_if_it_is_sure() -> None:
    text = "They mended the jetty in May."
    assert verdict("Is the jetty repaired?", text, "yes").shown == f"Yes: {text}"
    unsure = verdict("Is the jetty repaired?", text, "yes", sure=0.5)
    assert unsure.shown == text
    assert not unsure.promised
