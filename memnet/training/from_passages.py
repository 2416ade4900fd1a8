"""Training examples made from passages of a memory."""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from memnet.storage import MemoryStore

Made = TypeVar("Made")


def made_from_passages(
    store: MemoryStore,
    most: int,
    chance: random.Random,
    make: Callable[[int], Sequence[Made]],
) -> list[Made]:
    """Examples from passages in an order of chance, until there are enough.

    Args:
        store: the memory.
        most: examples to make.
        chance: of the order.
        make: examples of a slot.
    """
    ids = store.passage_ids().tolist()
    chance.shuffle(ids)
    made: list[Made] = []
    for slot in ids:
        if len(made) >= most:
            break
        made += make(slot)
    return made[:most]
