"""Yes or no by what is quoted: from the sentence that says it, and none where another one does."""

from collections.abc import Sequence

import pytest

from memnet.reader.answers import Prediction
from memnet.reader.confidence import Signals
from memnet.reader.loading import SPANS, LazyReader
from memnet.reader.passages import RankedSlot
from memnet.reader.quotes import Quotation
from memnet.reader.spans import Passage, Reader, Reading, answered_by
from memnet.reader.support import read_alone
from memnet.storage import Slot
from memnet.types import Candidate

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
    judge: Reader | None = None,
    judged: bool = True,
) -> Prediction:
    slot = Slot(1, "passage", "notes.md", "", title, text, 0, len(text), "", "")
    item = RankedSlot(slot, 1.0, 0.8, 1.0, 1)
    read = Prediction(
        (Candidate(text=text, score=0.9),), (item,), "statement",
        signals=Signals(0.9, 0.0, 0.9, 0.8, 0.5, False, 0, attested=attested),
        quotes=(Quotation(item, 0, len(text), 0.9),),
    )  # fmt: skip
    reader = _Sure(word, sure)
    return read_alone(question, read, reader, lambda: (judge or reader) if judged else None)


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
    ("question", "text", "wrong"),
    [
        ("Does Pip eat hay?", FEED, "no"),  # Another one is denied it.
        ("Does Pip eat hay?", "- Pip eats hay.\n- Moss eats no hay.", "no"),
        ("May I keep hens?", "Fowl may not be kept.", "yes"),
        ("Is the loft open to visitors in winter?", "The loft is closed from November on.", "yes"),
        ("Is the mooring fee 40 euros?", "The mooring fee is 60 euros a week.", "yes"),
        ("May I cook in the cabin?", "Music may be played in the cabin.", "yes"),
    ],
)
def test_the_shipped_network_contradicts_no_text(question: str, text: str, wrong: str) -> None:
    judge = LazyReader(SPANS).load_verdicts()
    assert verdict(question, text, wrong, judge=judge).kind != wrong


@pytest.mark.parametrize(
    ("question", "text", "word"),
    [
        ("May I moor a boat of 9 metres?", "Boats may be at most 7 metres long.", "no"),
        ("Can I moor a 6 m boat?", "Boats: up to 7 m", "yes"),
        ("Is a 13-year-old allowed to sail the boat?", "Whoever sails must be 14 or older.", None),
        ("Can a 13 year old sail?", "Whoever sails must be at least 14 years old.", "no"),
        (
            "Is my son of 15 years old enough to sail?",
            "To sail you must be at least 14 years old.",
            "yes",
        ),
        ("Can twelve people sail in the boat?", "No more than eight persons may sail.", "no"),
        ("Are 25 kg of luggage too heavy?", "Luggage must not exceed 20 kg.", "yes"),
        ("Can sixteen persons sail?", "At most 18 persons may sail.", "yes"),
        ("Is it forbidden to bring three dogs?", "At most two dogs may be brought along.", "yes"),
        # What is forbidden, reversed, dated, of another period, or what something costs
        ("Is a boat of 9 m allowed?", "Boats of 7 m or more are not allowed.", None),
        ("Can I moor a 6 m boat?", "A boat may be no shorter than 7 m.", "no"),
        ("Can I moor 2 weeks before?", "Apply to moor no later than 4 weeks before.", None),
        ("Can I sail with a card of 2027?", "Cards to sail must be at most 31.12.2026.", None),
        ("Can I moor for 300 euros a day?", "You may moor for up to 500 euros a week.", None),
        ("Can I moor a boat of 9 m?", "A boat of up to 7 m costs 4 pounds to moor.", None),
        ("Can I come to sail on 5 May?", "No more than 3 may come to sail.", None),
        # Another unit, another thing, a comparison, or no limit
        ("Can I moor for 9 days?", "Boats may be at most 7 metres long.", None),
        ("May I bring six hens?", "At most two dogs may be brought along.", None),
        ("May boats be longer than 9 metres?", "Boats may be at most 7 metres long.", None),
        ("May I moor a boat of 9 metres?", "The boat of the club is 7 metres long.", None),
        ("Can I park a lorry of 9 metres?", "Boats may be at most 7 metres long.", None),
    ],
)
def test_a_limit_decides_about_an_amount(question: str, text: str, word: str | None) -> None:
    unsure = verdict(question, text, "yes", title="Rules", sure=0.5)
    assert unsure.kind == (word or "statement")


def test_a_limit_is_of_what_stands_above_it() -> None:
    slot_text = "Saw\n\nAt least 16 years old.\n\nKiln\n\nAt least 18 years old."
    for machine, number, word in (("saw", 0, "yes"), ("kiln", 1, "no")):
        start = (slot_text.index("At least"), slot_text.rindex("At least"))[number]
        slot = Slot(1, "passage", "a.md", "", "Rules", slot_text, 0, len(slot_text), "", "")
        item = RankedSlot(slot, 1.0, 0.8, 1.0, 1)
        read = Prediction(
            (Candidate(text="At least", score=0.9),), (item,), "statement",
            signals=Signals(0.9, 0.0, 0.9, 0.8, 0.5, False, 0, attested=1.0),
            quotes=(Quotation(item, start, start + 22, 0.9),),
        )  # fmt: skip
        reader = _Sure("yes", 0.5)
        asked = f"May a 17-year-old use the {machine}?"
        assert read_alone(asked, read, reader, lambda: None).kind == word


def test_a_unit_is_read_under_its_heading_and_no_heading_alone() -> None:
    class Recording(_Sure):
        def read(self, question: str, passages: Sequence[Passage]) -> Reading:
            seen.extend(passages)
            return super().read(question, passages)

    seen: list[Passage] = []
    text = "Loft\n\nNot for hire. The stairs are steep."
    verdict("Can the loft be hired?", text, "no", title="Rooms", judge=Recording("no", 0.5))
    read = [one for one in seen if "\n" not in one.text]
    assert read == [
        Passage("Rooms > Loft", "Not for hire."),
        Passage("Rooms > Loft", "The stairs are steep."),
    ]


def test_what_leaves_it_open_keeps_its_chances() -> None:
    rule = "Barges may not carry fowl."
    for attested in (1.0, 0.0):  # 0: a code of the question that stands nowhere
        signals = verdict(
            "May barges carry hens?", rule, "yes", attested=attested, sure=0.5
        ).signals
        assert signals is not None
        assert signals.left_open
        assert signals.attested == attested


def test_in_other_words_the_network_decides_if_it_is_sure() -> None:
    text = "They mended the jetty in May."
    assert verdict("Is the jetty repaired?", text, "yes").shown == f"Yes: {text}"
    unsure = verdict("Is the jetty repaired?", text, "yes", sure=0.5)
    assert unsure.shown == text
    assert not unsure.promised


def test_what_judges_quotations_says_yes_or_no() -> None:
    text = "Lessons for beginners begin on Monday."
    asked = "Do beginners come early in the week?"
    assert verdict(asked, text, "no", judge=_Sure("yes", 0.95)).kind == "yes"
    assert verdict(asked, text, "yes", judge=_Sure("no", 0.95)).kind == "no"
    assert verdict(asked, text, "yes", judge=_Sure("yes", 0.5)).kind == "statement"


def test_what_judges_quotations_is_asked_whether_they_give_the_answer() -> None:
    judge = LazyReader(SPANS).load_verdicts()
    assert judge is not None
    text = "The blue kiln fires at 960 degrees, the grey one at 1180."
    right, wrong, other = (
        judge.read(answered_by(question, short), [Passage("Kilns", text)]).answerable
        for question, short in (
            ("How hot does the grey kiln get?", "1180"),
            ("How hot does the grey kiln get?", "960 degrees"),
            ("How heavy is the grey kiln?", "1180"),
        )
    )
    assert right > max(wrong, other)


def test_without_a_network_for_verdicts_own_words_alone_are_one() -> None:
    text = "Lessons for beginners begin on Monday."
    assert (
        verdict("Do lessons for beginners begin on Monday?", text, "yes", judged=False).kind
        == "yes"
    )
    asked = "Do beginners come early in the week?"
    assert verdict(asked, text, "yes", judged=False).kind == "statement"


class _ByText:
    """Reads "yes" or "no" with a probability in what begins with some words, elsewhere neither."""

    def __init__(self, **sure: tuple[str, float]) -> None:
        self.sure = sure

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        first = passages[0].text.split()[0]
        word, sure = self.sure.get(first, ("yes", 0.3))
        yes = sure if word == "yes" else 0.99 - sure
        return Reading((), yes, 0.99 - yes, 0.9)


@pytest.mark.parametrize(
    ("question", "text", "judge", "short", "shown"),
    [
        (
            "Can I bring my goat along?",
            "Goats are welcome on deck. Other beasts stay ashore.",
            _ByText(Goats=("yes", 0.97), Other=("no", 0.98)),
            "yes",
            "Yes: Goats are welcome on deck. Other beasts stay ashore.",
        ),
        (
            "Can I bring my goat along on Sunday?",
            "Goats are welcome on deck. No beast comes on a Sunday.",
            _ByText(Goats=("yes", 0.97), No=("no", 0.98)),
            None,
            "Goats are welcome on deck. No beast comes on a Sunday.",
        ),
        (
            "May I light a fire on the beach?",
            "Fires are forbidden in the wood. You may light a fire on the beach. "
            "Glass is forbidden on the beach.",
            _ByText(Fires=("no", 0.98), You=("yes", 0.97), Glass=("no", 0.99)),
            "yes",
            "Yes: You may light a fire on the beach. Glass is forbidden on the beach.",
        ),
        (
            "Is smoke allowed?",
            "Kaya has asthma. Smoke is fine for her.",
            _ByText(Smoke=("yes", 0.97)),
            "yes",
            "Yes: Smoke is fine for her.",
        ),
    ],
)
def test_a_verdict_is_that_of_one_sentence(
    question: str, text: str, judge: Reader, short: str | None, shown: str
) -> None:
    found = verdict(question, text, "yes", judge=judge)
    assert (found.short, found.shown) == (short, shown)


_KITES = "Kites are banned, except on the west meadow."
_CAMPING = "Camping is forbidden, apart from the lower field and on Sundays."


@pytest.mark.parametrize(
    ("question", "text", "short"),
    [
        ("May I fly kites on the west meadow?", _KITES, "yes"),
        ("May I fly kites?", _KITES, "no"),
        ("Is the sauna open on Tuesdays?", "The sauna is open daily except on Tuesdays.", "no"),
        ("May members fish?", "Nobody may fish unless they are members.", "yes"),
        ("May I camp here?", _CAMPING, "no"),
        ("Are carts allowed in the yard?",
         "Carts are not allowed in the yard, apart from hand carts.", "no"),
        ("May I camp on the lower field?", _CAMPING, "yes"),
        ("May I camp on Sundays?", _CAMPING, "yes"),
        ("Is the loft heated?", "All rooms except the loft are open.", "no"),
    ],
)  # fmt: skip
def test_an_exception_turns_a_verdict_round(question: str, text: str, short: str) -> None:
    network = LazyReader(SPANS).load_verdicts()
    assert network is not None
    assert verdict(question, text, "yes", judge=network).short in (short, None)
    sure = _ByText(**{text.split()[0]: ("yes" if "open" in text else "no", 0.98)})
    assert verdict(question, text, "yes", judge=sure).short == short
