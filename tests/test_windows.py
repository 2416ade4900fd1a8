from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.ingest.slots import windows
from memnet.text.english import sentences

_TEXTS = st.text(
    alphabet=st.one_of(st.sampled_from(" .!?\n\tabAB\"'"), st.characters(codec="utf-8")),
    max_size=400,
)


def test_sentences_have_exact_spans() -> None:
    text = "  Dr. Orre sailed. He came back!\n\nÉl nació 東京。 End"
    parts = [text[start:end] for start, end in sentences(text)]
    assert parts[:2] == ["Dr. Orre sailed.", "He came back!"]
    assert parts[-1] == "End"


def test_windows_join_whole_sentences() -> None:
    text = "One is here. Two is here. Three is here."
    assert [text[a:b] for a, b in windows(text, 27)] == [
        "One is here. Two is here.",
        "Three is here.",
    ]


def test_sentences_of_a_long_text_have_exact_spans() -> None:
    lines = [f"Line {number} tells of the Orre Light." for number in range(2_000)]
    text = "\n\n".join(lines)
    assert [text[start:end] for start, end in sentences(text)] == lines
    text = " ".join(lines)
    assert [text[start:end] for start, end in sentences(text)] == lines


def test_a_long_sentence_is_cut_between_words() -> None:
    text = "word " * 50
    parts = [text[a:b] for a, b in windows(text, 24)]
    assert " ".join(parts) == text.strip()
    assert max(map(len, parts)) <= 24


def test_a_long_word_is_cut_anywhere() -> None:
    assert windows("x" * 25, 10) == [(0, 10), (10, 20), (20, 25)]


@given(_TEXTS, st.integers(1, 60))
def test_windows_keep_every_word_in_order(text: str, longest: int) -> None:
    spans = windows(text, longest)
    assert all(0 < end - start <= longest for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)
    kept = "".join(text[a:b] for a, b in spans)
    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.parametrize("space", [chr(code) for code in range(0x3001) if chr(code).isspace()])
def test_any_white_space_may_stand_between_sentences(space: str) -> None:
    # The segmenter takes what is beside an initial's period to be a byte wide.
    text = f"Seen by A{space}.{space}B. Orre was lit.{space}{space}It rained."
    spans = sentences(text)
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert text[spans[-1][0] :] == "It rained."


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_nothing_to_cut(text: str) -> None:
    assert windows(text, 10) == []
