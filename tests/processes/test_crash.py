"""A store survives whatever befalls its process, its disk and its files."""

import random
from collections import Counter
from pathlib import Path

from tests import killed


def longest(seen: Counter[str]) -> float:
    """Seconds that a process may live: longer where it takes longer to commit something."""
    return 0.15 * (1 + seen["killed"] / (1 + seen["acknowledged"]))


def kill_again_and_again(path: Path, chance: random.Random, kills: int) -> Counter[str]:
    """Kill processes that change a store, one after the other; what the last lost is looked for."""
    seen = Counter[str]()
    model = killed.Model()
    for _ in range(kills):
        kill = killed.kill_one(path, model, chance, longest(seen))
        model = kill.held
        seen["killed"] += 1
        seen["acknowledged"] += kill.acknowledged
        seen["in doubt"] += kill.in_doubt is not None
    return seen


def test_a_killed_process_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    seen = kill_again_and_again(tmp_path / "store", random.Random(0), 8)
    assert seen["acknowledged"] > 0  # otherwise there was nothing to lose


def test_a_copy_taken_while_a_process_writes_is_right_or_refused(tmp_path: Path) -> None:
    counts = killed.copy_while_written(tmp_path, random.Random(0), 2)
    assert counts.total() == 2
