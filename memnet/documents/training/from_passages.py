"""Training examples made from passages of a memory."""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from memnet.storage import MemoryStore
from memnet.training.progress import OnProgress, TrainingProgress, no_progress

Made = TypeVar("Made")


def made_from_passages(
    store: MemoryStore,
    most: int,
    chance: random.Random,
    make: Callable[[int], Sequence[Made]],
    on_progress: OnProgress = no_progress,
) -> list[Made]:
    """Examples from passages in an order of chance, until there are enough.

    Args:
        store: the memory.
        most: examples to make.
        chance: of the order.
        make: examples of a slot.
        on_progress: called after each slot.
    """
    ids = store.passage_ids().tolist()
    chance.shuffle(ids)
    made: list[Made] = []
    for slot in ids:
        if len(made) >= most:
            break
        made += make(slot)
        on_progress(TrainingProgress("making examples", len(made), min(1.0, len(made) / most)))
    return made[:most]
