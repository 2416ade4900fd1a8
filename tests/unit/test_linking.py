"""What a question names."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.facts.model import link

NAMES = {
    "orre light", "orre", "light", "it", "who", "1990", "9", "tobias wrennick", "the grey heron",
    "grey heron", "thale", "kestle", "kestla",
}  # fmt: skip


def known(names: Iterable[str]) -> set[str]:
    return NAMES & set(names)


def named(question: str) -> list[dict[str, float]]:
    return [dict(mention.names) for mention in link(question, known).mentions]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who built the Orre Light?", ["orre light"]),
        ("who built the ORRE_LIGHT", ["orre light"]),
        ("Who built Órre Líght?", ["orre light"]),
        ("Did Tobias Wrennick see the Grey Heron?", ["tobias wrennick", "the grey heron"]),
        ("Which light was built by Thale in 1990?", ["light", "thale", "1990"]),
        ("Who acted in It?", ["who", "it"]),
        ("Who acted in 9?", ["9"]),
        ("Where is the Titanic?", []),
        ("", []),
    ],
)
def test_the_longest_names_that_are_known(question: str, expected: list[str]) -> None:
    assert named(question) == [{name: 1.0} for name in expected]


@pytest.mark.parametrize(
    "question",
    ["Tobias Wrennik", "Tobias Wrennnick", "Tobias Wrenmick", "Tobais Wrennick", "TobiasWrennick"],
)
def test_a_small_slip_of_spelling_is_forgiven(question: str) -> None:
    assert named(f"Where was {question} born?") == [{"tobias wrennick": 1.0}]


def test_two_slips_are_not() -> None:
    assert named("Where was Tobbias Wrenick born?") == []


def test_what_might_be_either_is_kept_as_weights() -> None:
    assert named("Where does Kestlo lie?") == [{"kestla": 0.5, "kestle": 0.5}]


def test_a_name_that_is_spelled_right_is_not_second_guessed() -> None:
    assert named("Where does Kestle lie?") == [{"kestle": 1.0}]


def test_short_words_are_not_taken_for_slips() -> None:
    assert named("where is orr") == []


@given(st.text(max_size=60))
def test_mentions_stand_where_they_say(question: str) -> None:
    linked = link(question, known)
    end = 0
    for mention in linked.mentions:
        assert end <= mention.start < mention.end <= len(linked.words)
        assert sum(mention.names.values()) == pytest.approx(1)
        words = " ".join(linked.words[mention.start : mention.end])
        assert words in mention.names or NAMES.isdisjoint([words])
        end = mention.end
