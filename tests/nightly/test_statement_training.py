"""The training of the network for statements, to where it fits what it learns from."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.statements import scenarios
from benchmarks.statements.examples import answer_examples
from benchmarks.statements.train import train_statements
from memnet.checkpoints import SHIPPED
from memnet.reader.checkpoint import load_weights
from memnet.statements.loading import load_statement_reader
from memnet.statements.reading import STATEMENTS


@pytest.mark.parametrize("start", ["spans", "statements"])
def test_the_network_fits_a_few_scenarios(tmp_path: Path, start: str) -> None:
    learned, _ = scenarios()
    few = learned[:2]
    errors: list[float] = []
    score = train_statements(
        few, few, tmp_path, start=SHIPPED / start, passes=6, learning_rate=3e-4, threads=2,
        on_epoch=lambda report: errors.append(report.error),
    )  # fmt: skip
    assert len(errors) == 6
    assert score == pytest.approx(1 - min(errors))
    assert min(errors[3:]) < max(0.5, errors[0])
    weights = load_weights(tmp_path, STATEMENTS)
    before = load_weights(SHIPPED / "statements", STATEMENTS)
    assert weights.keys() == before.keys()
    assert not np.allclose(weights["kinds.weight"], before["kinds.weight"])
    reader = load_statement_reader(tmp_path)
    right = [
        reading.form == one.form or (one.form == "none" and reading.forms["none"] > 1 / 2)
        for scenario in few
        for one in answer_examples(scenario)
        if (reading := reader.answer(one.question, one.tells)) is not None
    ]
    assert sum(right) >= 0.7 * len(right)
