"""A store survives whatever befalls its process, its disk and its files."""

import random
from collections import Counter
from pathlib import Path

from tests import killed


def longest(seen: Counter[object]) -> float:
    """Seconds that a process may live: longer where it takes longer to commit something."""
    return 0.15 * (1 + seen["killed"] / (1 + seen["acknowledged"]))


def test_a_killed_process_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(0)
    seen = Counter[object]()
    for number in range(4):
        model = killed.Model()
        for _ in range(12):
            kill = killed.kill_one(tmp_path / str(number), model, chance, longest(seen))
            model = kill.held
            seen.update(["killed", kill.in_doubt, kill.index_file])
            seen["acknowledged"] += kill.acknowledged
    # Otherwise the kills came when there was nothing to lose.
    assert seen["acknowledged"] > 12
    assert seen[False] + seen[True] > 2


def test_a_copy_taken_while_a_process_writes_is_right_or_refused(tmp_path: Path) -> None:
    counts = killed.copy_while_written(tmp_path, random.Random(0), 5)
    assert counts.total() == 5
