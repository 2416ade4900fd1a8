"""Tests of the pairs by which the network for verdicts learns to tell answers apart."""

from collections.abc import Sequence

from benchmarks.reader_data.answered import answered
from benchmarks.reader_data.verdicts import checked
from memnet.reader.spans import Passage, Reading, ReadUnit, Span
from memnet.text.english import units

_SHED = "The oak shed cost 300 crowns. The tin shed cost 120 crowns."


class _Finding:
    """Points at all of some words in all passages."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        spans = [
            Span(number, start, start + len(word), 0.5)
            for number, one in enumerate(passages)
            for word in self.words
            if (start := one.text.find(word)) >= 0
        ]
        read = [
            ReadUnit(number, unit, 1.0)
            for number, one in enumerate(passages)
            for unit in units(one.text)
        ]
        return Reading(tuple(spans), 0.0, 0.0, 0.9, tuple(read))


def _example(**changed: object) -> dict[str, object]:
    return {
        "question": "What did the tin shed cost?",
        "answers": ["120 crowns"],
        "quotes": ["The tin shed cost 120 crowns."],
        "passages": [{"title": "Sheds", "text": _SHED}],
        **changed,
    }


def test_what_the_reader_finds_is_right_only_where_it_is_quoted() -> None:
    reader = _Finding("120 crowns", "300 crowns", "crowns")
    found = {(one.question, one.verdict) for one in answered([_example()], reader)}
    asked = "What did the tin shed cost? ="
    assert (f"{asked} 120 crowns", "answers") in found
    assert (f"{asked} 300 crowns", "open") in found
    assert (f"{asked} crowns", "open") not in found  # a part of the answer is neither
    assert {verdict for question, verdict in found if question == asked} == {"answers", "open"}


def test_nothing_is_right_in_passages_that_do_not_answer() -> None:
    other = {"title": "Boats", "text": "The skiff cost 120 crowns."}
    pairs = [*answered([_example(others=[other])], _Finding("120 crowns"))]
    assert {one.verdict for one in pairs if one.title == "Boats"} == {"open"}


def test_cells_of_the_row_that_is_quoted_are_told_apart() -> None:
    table = "Shed | Price | Size\ntin | 120 | 6\noak | 300 | 9"
    example = _example(
        answers=["120"], quotes=["tin | 120 | 6"], kind="value",
        passages=[{"title": "Sheds", "text": table}],
    )  # fmt: skip
    pairs = [one for one in answered([example], _Finding()) if "Shed:" in one.text]
    by = {(one.question.rpartition(" = ")[2], one.text): one.verdict for one in pairs}
    assert by == {
        ("120", "Shed: tin; Price: 120; Size: 6"): "answers",
        ("tin", "Shed: tin; Price: 120; Size: 6"): "open",
        ("6", "Shed: tin; Price: 120; Size: 6"): "open",
        ("300", "Shed: oak; Price: 300; Size: 9"): "open",
    }


def test_written_pairs_have_their_answer_in_their_text() -> None:
    pairs = [*checked()]
    assert all(one.question.rpartition(" = ")[2] in one.text for one in pairs)
    right = sum(one.verdict == "answers" for one in pairs) / len(pairs)
    assert 0.3 < right < 0.5
