import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.learning.evaluation import area_under_roc, exact_match, f1, recall


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


@given(
    st.lists(
        st.tuples(st.one_of(st.integers(-2, 2), st.floats(allow_nan=False)), st.booleans()),
        max_size=40,
    )
)
def test_area_under_roc_is_the_share_of_pairs_in_order(judged: list[tuple[float, bool]]) -> None:
    high = [score for score, positive in judged if positive]
    low = [score for score, positive in judged if not positive]
    pairs = [(one > other) + 0.5 * (one == other) for one in high for other in low]
    area = area_under_roc([score for score, _ in judged], [positive for _, positive in judged])
    assert area == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)


def test_area_under_roc_takes_memory_for_the_scores_and_not_for_the_pairs() -> None:
    scores = [float(number % 1_000) for number in range(8_000)]
    tracemalloc.start()
    area = area_under_roc(scores, [number % 2 == 0 for number in range(8_000)])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert area == pytest.approx(0.5, abs=0.01)
    assert most < 2_000_000  # a matrix of the pairs takes 128 MB


def test_scores_without_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="2 scores and 1 labels"):
        area_under_roc([0.1, 0.2], [True])
