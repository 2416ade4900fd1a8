import pytest

from memnet.scores import exact_match, f1, recall


@pytest.mark.parametrize(
    ("answer", "right", "exact", "overlap"),
    [
        ("The Orre Light!", ["orre light"], 1, 1),
        ("Orre", ["Kestle", "orre"], 1, 1),
        ("in the town of Kestle", ["Kestle"], 0, 0.4),
        ("", ["Kestle"], 0, 0),
        ("the", ["a"], 1, 1),
        ("one two two", ["two two three"], 0, 2 / 3),
    ],
)
def test_answers_are_scored_as_squad_does(
    answer: str, right: list[str], exact: float, overlap: float
) -> None:
    assert exact_match(answer, right) == exact
    assert f1(answer, right) == pytest.approx(overlap)


def test_recall_counts_distinct_sources() -> None:
    found = ["a", "a", "b", "c"]
    assert recall(found, ["b"], 1) == 0
    assert recall(found, ["b"], 2) == 1
    assert recall(found, ["b", "z"], 3) == 0.5
