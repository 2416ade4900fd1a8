"""Negation, and answers that the evidence denies."""

from itertools import pairwise

import pytest

from memnet.reader.decompose.negation import clauses, drop_denied, negated, without_denied
from memnet.reader.passages import slot_candidate
from memnet.types import Candidate
from tests.reading import ranked


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Ann sailed to Orre.", "Ann sailed to Orre."),
        ("Ann never sailed to Orre.", ""),
        ("Ann didn't sail to Orre, but Bo sailed to Holm.", "but Bo sailed to Holm"),
        ("Ann, who never sailed, lives in Orre.", "Ann lives in Orre"),
        ("Ann was a poet who never married.", "Ann was a poet"),
        ("Ann was not a poet and she lived in Orre.", "and she lived in Orre"),
        ("The light did not burn until 1912.", "until 1912"),
        ("It was not bettered for nearly three hundred years.", "for nearly three hundred years"),
        ("A fifth of the ships had no crew.", "A fifth of the ships had"),
        ("Ann left without a word.", "Ann left"),
        ("Not only Ann sailed; no fewer than 9 did.", "Not only Ann sailed ; no fewer than 9 did"),
        ("It goes with or without sails.", "It goes with or without sails."),
        ("No. 5 Squadron flew.", "No. 5 Squadron flew."),
        ("Ann sailed. Bo never did. Cy sailed.", "Ann sailed Cy sailed"),
        ("Tar is used to seal the deck.", "Tar is used to seal the deck."),
        ("The load must not exceed 90 kg.", "exceed 90 kg"),
        ("The berth is not free before 15:00.", "before 15:00"),
        ("Don't forget to bring a lamp.", "Don't forget to bring a lamp."),
        ("Bo and not Ann steers.", "Bo"),
        ("", ""),
    ],
)
def test_a_negation_governs_its_clause(text: str, left: str) -> None:
    assert _words(without_denied(text)) == _words(left)


def _words(text: str) -> list[str]:
    return [word.strip(".,;") for word in text.split() if word.strip(".,;")]


@pytest.mark.parametrize(
    ("question", "denied"),
    [
        ("Where does Clara work?", True),
        ("Where is Clara employed now?", True),
        ("Where did Clara work?", False),
        ("Where was Clara before?", False),
    ],
)
def test_what_is_so_no_longer_was_so(question: str, denied: bool) -> None:
    text = "Clara no longer works at Siemens"
    assert [one.denied for one in clauses(text, question)] == [denied]
    assert all(one.denied for one in clauses("Clara never worked at Siemens", question))


def test_clauses_cover_a_text() -> None:
    text = "Ann did not sail, but Bo did (in 1912). No one knew. Why? Because she never told."
    parts = clauses(text)
    assert [parts[0].start, parts[-1].end] == [0, len(text)]
    for one, other in pairwise(parts):
        assert one.start < one.end <= other.start
        assert not text[one.end : other.start].strip()


def test_negated_questions() -> None:
    assert negated("Which of them aren't Dutch?")
    assert negated("Who never sailed?")
    assert not negated("Who wrote Nota Bene, Ann or Norman?")


WORKS, WORKED = "Where does Clara work?", "Where did Clara work?"


@pytest.mark.parametrize(
    ("texts", "question", "kept"),
    [
        (["Clara no longer works at Siemens."], WORKS, []),
        (["Clara works at Siemens.", "Clara no longer works at Siemens."], WORKS, []),
        (["Clara works at Siemens. She doesn't work there any more."], WORKS, []),
        (["Clara works at Siemens."], WORKS, ["Siemens"]),
        # Another one, or something else, is denied.
        (["Clara works at Siemens.", "Bo never worked at Siemens."], WORKS, ["Siemens"]),
        (["Clara works at Siemens.", "Clara does not drive to Holm."], WORKS, ["Siemens"]),
        (["Clara does not sing, but she works at Siemens."], WORKS, ["Siemens"]),
        (["Clara never worked at Siemens."], "Where did Clara never work?", ["Siemens"]),
        # The question itself is denied.
        (["Siemens is large.", "Clara never worked."], WORKED, []),
        (["Siemens is large.", "Clara never worked in June."], WORKED, ["Siemens"]),
    ],
)  # fmt: skip
def test_denied_spans_are_dropped(texts: list[str], question: str, kept: list[str]) -> None:
    passages = ranked({str(number): text for number, text in enumerate(texts)})
    spans = [
        Candidate(
            text="Siemens",
            score=0.4,
            evidence=item.slot.id,
            start=100 + item.slot.text.index("Siemens"),
            end=107 + item.slot.text.index("Siemens"),
        )
        for item in passages
        if "Siemens" in item.slot.text
    ]
    left, share = drop_denied(question, spans, passages)
    assert sorted({one.text for one in left}) == kept
    assert share == pytest.approx(len(left) / len(spans))


def test_what_the_sentence_of_an_answer_denies_costs_it_nothing() -> None:
    old, new = "Supper starts at 18:00.", "Supper starts at 19:00, not 18:00."
    passages = ranked({"first": old, "later": new})
    spans = [
        slot_candidate(item.slot, item.slot.text.index(time), item.slot.text.index(time) + 5, score)
        for item, time, score in zip(passages, ("18:00", "19:00"), (0.6, 0.3), strict=True)
    ]
    left, share = drop_denied("When does supper start?", spans, passages)
    assert ([one.text for one in left], share) == (["19:00"], 1.0)


def test_a_span_that_says_the_denial_itself_stays() -> None:
    passages = ranked({"Lamp codes": "A red lamp means that entry is refused. Entry is not free."})
    slot = passages[0].slot
    spans = [
        slot_candidate(slot, start, start + len(piece), 0.5)
        for piece in ("Entry is not free", "free")
        for start in [slot.text.index(piece)]
    ]
    left, _ = drop_denied("What of the entry?", spans, passages)
    assert [one.text for one in left] == ["Entry is not free"]
