"""Values of columns: each is checked before it is used, for a store may come from anyone."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.errors import StoreError
from memnet.storage.slots import Slot

SLOT_COLUMNS = """slot.id, slot.kind, source.name, source.namespace, slot.title, slot.text,
    slot.start, slot.end, slot.relation, slot.value, slot.valid_from, slot.valid_until"""
LISTED = "IN (SELECT value FROM json_each(?))"
_SLOT_TYPES = (int, str, str, str, str, str, int, int, str, str)
_LATEST = 1e11
"""Seconds since the epoch: some 3,000 years."""


def stored_slot(row: tuple[Any, ...]) -> Slot:
    """A slot from the columns ``SLOT_COLUMNS``.

    Raises:
        StoreError: a column does not hold what memnet puts there.
    """
    slot = Slot(*row)
    times = (slot.valid_from or 0.0, slot.valid_until or 0.0)
    if (
        tuple(map(type, row[:10])) != _SLOT_TYPES
        or slot.kind not in ("passage", "fact", "reverse")
        or len(slot.text) != slot.end - slot.start
        or not all(isinstance(time, float) and 0 <= time <= _LATEST for time in times)
    ):
        raise damaged(f"slot {slot.id!r}")
    return slot


def stored_vectors(blobs: Sequence[Any], dimension: int) -> NDArray[np.float32]:
    """Stored vectors as [K, D] float32.

    Raises:
        StoreError: one has another width, or holds what is no number.
    """
    if any(type(blob) is not bytes or len(blob) != 4 * dimension for blob in blobs):
        raise damaged("a vector")
    rows = np.frombuffer(b"".join(blobs), "<f4").reshape(-1, dimension).astype(np.float32)
    if not np.isfinite(rows).all():
        raise damaged("a vector")
    return rows


def stored_integer(value: object) -> int:
    """A number that stands in a column of any type.

    Raises:
        StoreError: it is none.
    """
    try:
        return int(str(value))
    except ValueError as error:
        raise damaged("a number") from error


def damaged(what: str) -> StoreError:
    """The error of a row that can't be right."""
    return StoreError(
        f"the store holds {what} that memnet did not write; run 'memnet verify' on it, or restore "
        "it from a copy"
    )


def in_namespace(namespace: str | None) -> tuple[str, list[str]]:
    """A condition on ``link.slot``, and its parameters."""
    if namespace is None:
        return "", []
    return (
        "AND EXISTS (SELECT 1 FROM slot JOIN source ON source.id = slot.source "
        "WHERE slot.id = link.slot AND source.namespace = ?) ",
        [namespace],
    )


def grouped(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[int]]:
    """Pairs of a name and a slot, by their names."""
    found: dict[str, list[int]] = {}
    for name, slot in rows:
        found.setdefault(name, []).append(slot)
    return found


def listed(values: Iterable[Any]) -> str:
    """Values as ``LISTED`` takes them."""
    return json.dumps(list(values))
