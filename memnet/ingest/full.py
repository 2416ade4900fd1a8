"""Full vectors in the place of the quick ones that a large ingest left."""

from collections.abc import Callable

import numpy as np

from memnet.storage import Encode, MemoryStore

_SLICE = 16
"""Texts between two looks at whether to go on: 0.2 s of one core."""


def encode_full(
    store: MemoryStore,
    encode: Encode,
    limit: int,
    may_go_on: Callable[[], bool] | None = None,
) -> int:
    """Replace the quick vectors of some texts in one commit.

    Nothing is locked while they are encoded: others ask and write meanwhile.

    Args:
        store: to read texts from, and to write to.
        encode: encodes them.
        limit: most texts.
        may_go_on: asked from time to time; it may wait. Nothing is stored once it says no.

    Returns:
        How many were replaced; 0 where there are none, or it was told to stop.

    Raises:
        StoreBusyError, StoreError: as ``MemoryStore.writing``.
    """
    texts = store.quick.texts(limit)
    if not texts:
        return 0
    if may_go_on is None:
        store.quick.replace(texts, encode(texts))
        return len(texts)
    # An encoder takes texts of like length together.
    texts.sort(key=len)
    parts = []
    for start in range(0, len(texts), _SLICE):
        if not may_go_on():
            return 0
        parts.append(encode(texts[start : start + _SLICE]))
    store.quick.replace(texts, np.concatenate(parts))
    return len(texts)
