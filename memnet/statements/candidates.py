"""A new statement as it will be stored, and the earlier ones that it is compared with."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.statements.protocol import ParsedStatement
from memnet.storage import MemoryStore, NewSlot, Told

NEAREST = 16  # Statements with the nearest keys that a new one is compared with
LAST = 3  # Statements told just before, which a parser knows and a new one is always compared with
# Statements about each of its names that a new one is compared with, the last ones. Whoever has
# more told of them is mostly found by key.
_ABOUT = 128


def told_of(
    sentence: ParsedStatement,
    told: float,
    namespace: str,
    relation: NDArray[np.float32],
    standing: bool = False,
) -> Told:
    """A new statement.

    Args:
        sentence: parsed.
        told: when, in seconds since the epoch.
        namespace: to tell it in.
        relation: [D] float32, the vector of its relation.
        standing: whether it is never evicted.
    """
    valid_from = told if sentence.valid_from is None else sentence.valid_from
    until = sentence.valid_until
    return Told(
        text=sentence.text,
        subject=sentence.subject,
        aliases=sentence.aliases,
        relation=sentence.relation,
        values=sentence.values,
        polarity=sentence.polarity,
        certainty=sentence.certainty,
        told=told,
        valid_from=valid_from,
        valid_until=None if until is None else max(until, valid_from),
        relation_vector=relation,
        namespace=namespace,
        standing=standing,
        act=sentence.act,
    )


def candidate_ids(
    store: MemoryStore, slot: NewSlot, near: Sequence[int], namespace: str, last: int = LAST
) -> list[int]:
    """Ids of statements to compare with: about the same, near, or told just before.

    Args:
        store: the memory.
        slot: of the new statement.
        near: ids of statements with near keys, some of which may be gone by now.
        namespace: that it is told in.
        last: how many of those told just before.
    """
    about = store.statements.ids_about(slot.key_symbols, namespace, _ABOUT)
    return [*about, *near, *store.statements.last(namespace, last)]
