"""A thousand kills of processes that change a store."""

import random
from pathlib import Path

import pytest

from tests import killed
from tests.processes.test_crash import kill_again_and_again


@pytest.mark.parametrize("seed", range(20))
def test_killed_processes_lose_nothing_they_acknowledged(tmp_path: Path, seed: int) -> None:
    seen = kill_again_and_again(tmp_path / "store", random.Random(seed), 50)
    assert seen["acknowledged"] > 12
    assert seen["in doubt"] > 2


def test_copies_taken_while_a_process_writes_are_right_or_refused(tmp_path: Path) -> None:
    assert killed.copy_while_written(tmp_path, random.Random(1), 40).total() == 40
