from pathlib import Path

import numpy as np
import pytest

from benchmarks.statements import scenarios
from benchmarks.statements.train import train_statements
from memnet.checkpoints import SHIPPED
from memnet.errors import InputError
from memnet.reader.checkpoint import load_weights
from memnet.statements.loading import load_statement_reader
from memnet.statements.reading import STATEMENTS


def test_a_pass_over_one_scenario_is_saved(tmp_path: Path) -> None:
    few = scenarios()[0][:1]
    train_statements(few, few, tmp_path, start=SHIPPED / "statements", passes=1, threads=2)
    weights = load_weights(tmp_path, STATEMENTS)
    before = load_weights(SHIPPED / "statements", STATEMENTS)
    assert weights.keys() == before.keys()
    assert not np.allclose(weights["kinds.weight"], before["kinds.weight"])
    assert load_statement_reader(tmp_path) is not None


def test_there_must_be_questions(tmp_path: Path) -> None:
    learned, _ = scenarios()
    silent = [learned[0].model_copy(update={"questions": ()})]
    with pytest.raises(InputError, match="expected scenarios with statements and questions"):
        train_statements(silent, silent, tmp_path, start=SHIPPED / "spans")
