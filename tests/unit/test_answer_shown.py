"""How an answer looks in an interactive session and in a notebook."""

from typing import Any

import pytest

from memnet import Answer
from memnet.text.citations import certainty
from memnet.types import Quote


def answer(**fields: Any) -> Answer:
    quote = Quote(evidence=1, source="a<b>.md", start=0, end=9, text="Orre & Co <x>", weight=1.0)
    given: dict[str, Any] = {
        "question": "Who <made> it?", "answer": "Orre & Co <x>", "short": "Orre & Co",
        "confidence": 0.8123, "abstained": False, "candidates": (), "evidence": (), "hops": (),
        "quotes": (quote,), "model": "text", "elapsed_ms": 1.0,
    }  # fmt: skip
    return Answer(**{**given, **fields})


def test_a_repr_is_one_short_line() -> None:
    assert repr(answer()) == str(answer()) == (
        "Answer(question='Who <made> it?', answer='Orre & Co <x>', confidence=0.81, "
        "shown='answer', 0 evidence)"
    )  # fmt: skip
    assert "confidence=None" in repr(answer(confidence=None))


def test_a_notebook_shows_the_value_bold_and_everything_escaped() -> None:
    shown = answer()._repr_html_()
    assert "<b>Orre &amp; Co</b> &lt;x&gt;" in shown
    assert "Who &lt;made&gt; it?" in shown
    assert "<q>Orre &amp; Co &lt;x&gt;</q> (a&lt;b&gt;.md)" in shown


@pytest.mark.parametrize(
    "fields",
    [{"shown": "passage"}, {"shown": "passage", "short": None},
     {"answer": None, "short": None, "abstained": True}],
)  # fmt: skip
def test_what_is_no_answer_has_nothing_bold(fields: dict[str, Any]) -> None:
    shown = answer(**fields)._repr_html_()
    assert "<b>" not in shown
    assert ("does not hold the answer" in shown) == ("abstained" in fields)


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(0.897, "0.90, almost certain"), (0.894, "0.89, likely"), (0.697, "0.70, likely")],
)
def test_the_words_fit_the_number_as_it_is_shown(confidence: float, words: str) -> None:
    assert certainty(answer(confidence=confidence)) == f"(confidence {words})"


def test_a_value_that_does_not_stand_in_the_text_comes_first() -> None:
    assert "<p><b>7 May</b>: Orre &amp; Co &lt;x&gt;</p>" in answer(short="7 May")._repr_html_()
