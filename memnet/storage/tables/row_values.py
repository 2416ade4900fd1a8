"""Values of columns: each is checked before it is used, for a store may come from anyone."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.errors import StoreError
from memnet.storage.scope import Scope
from memnet.storage.slots import Slot

SLOT_COLUMNS = """slot.id, slot.kind, source.name, source.namespace, slot.title, slot.text,
    slot.start, slot.end, slot.relation, slot.value, slot.valid_from, slot.valid_until,
    source.metadata"""
LISTED = "IN (SELECT value FROM json_each(?))"
_SLOT_TYPES = (int, str, str, str, str, str, int, int, str, str)
LATEST = 1e11
"""Seconds since the epoch: some 3,000 years."""
_MAX_NESTING = 100
"""Ingest lets metadata be half as deep; pydantic writes 255 levels as JSON."""
_HIGHEST = 2**62
"""No number that memnet counts up comes near, and the numbers after it fit into 64 bits."""
_HIGHEST_SYMBOL = 2**40
"""Symbols are numbered one after the other, so a store of any size stays below. Hops over facts
calculate with these numbers, and higher ones would overflow."""


def stored_slot(row: tuple[Any, ...]) -> Slot:
    """A slot from the columns ``SLOT_COLUMNS``.

    Raises:
        StoreError: a column does not hold what memnet puts there.
    """
    slot = Slot(*row[:12], *[stored_metadata(row[12])])
    times = (slot.valid_from or 0.0, slot.valid_until or 0.0)
    if (
        tuple(map(type, row[:10])) != _SLOT_TYPES
        or slot.kind not in ("passage", "fact", "reverse")
        or len(slot.text) != slot.end - slot.start
        or not all(isinstance(time, float) and 0 <= time <= LATEST for time in times)
    ):
        raise damaged(f"slot {slot.id!r}")
    return slot


def stored_metadata(value: object) -> dict[str, Any]:
    """The metadata of a source.

    Raises:
        StoreError: it is no JSON object.
    """
    if value == "{}":
        return {}
    try:
        metadata = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError) as error:
        raise damaged("the metadata of a source") from error
    if not isinstance(metadata, dict) or _nesting(metadata) > _MAX_NESTING:
        raise damaged("the metadata of a source")
    return metadata


def _nesting(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(_nesting, parts), default=0) + 1


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
        StoreError: it is none, or too large to have been counted.
    """
    try:
        number = int(str(value))
    except ValueError as error:
        raise damaged("a number") from error
    if not -(2**63) <= number < 2**63:
        raise damaged("a number")
    return number


def stored_count(value: object) -> int:
    """A number that memnet counts up from zero: of an id, or of names given.

    Raises:
        StoreError: it is none.
    """
    number = stored_integer(value)
    if not 0 <= number <= _HIGHEST:
        raise damaged("a number")
    return number


def stored_time(value: object) -> float:
    """Seconds since the epoch.

    Raises:
        StoreError: it is another value, or far in the future.
    """
    if not isinstance(value, float) or not 0 <= value <= LATEST:
        raise damaged("a time")
    return value


def stored_rows(
    rows: Sequence[tuple[Any, ...]], what: str, *types: type
) -> Sequence[tuple[Any, ...]]:
    """Rows whose columns hold values of these types, as their schema says but SQLite lets pass.

    Raises:
        StoreError: one holds another.
    """
    for row in rows:
        if tuple(map(type, row)) != types:
            raise damaged(what)
    return rows


def stored_links(rows: Sequence[tuple[Any, ...]], symbols: Sequence[int]) -> NDArray[np.int64]:
    """Rows of three integers as [M, 3] int64.

    Args:
        rows: of what facts lead from and to.
        symbols: which of the columns hold symbols.

    Raises:
        StoreError: one holds another value, or what can't be the number of a symbol.
    """
    # So many rows are read here that one pass in C over all values is worth its line.
    if not {*map(type, chain.from_iterable(rows))} <= {int}:
        raise damaged("a link")
    found = np.array(rows, np.int64).reshape(-1, 3)
    chosen = found[:, list(symbols)]
    if bool(((chosen < 1) | (chosen > _HIGHEST_SYMBOL)).any()):
        raise damaged("a link")
    return found


def lacking(what: str) -> StoreError:
    """The error of a row that must be there and is not."""
    return StoreError(
        f"the store lacks {what}; run 'memnet verify' on it, or restore it from a copy"
    )


def damaged(what: str) -> StoreError:
    """The error of a row that can't be right."""
    return StoreError(
        f"the store holds {what} that memnet did not write; run 'memnet verify' on it, or restore "
        "it from a copy"
    )


def links_within(scope: Scope) -> tuple[str, list[Any]]:
    """A condition on ``link.slot``, and its parameters."""
    within, parameters = scope.sql()
    if not within:
        return "", []
    return (
        "AND EXISTS (SELECT 1 FROM slot JOIN source ON source.id = slot.source "
        f"WHERE slot.id = link.slot{within}) ",
        parameters,
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
