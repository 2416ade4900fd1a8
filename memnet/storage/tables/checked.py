"""Values of columns, each checked before it is used: a store may come from anyone.

Each ``checked_`` function raises a StoreError for what memnet does not write.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from types import NoneType
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from memnet.errors import StoreError
from memnet.storage.values import UNIT_WIDTH, ChangeBy, Slot, Told, UnitKeys
from memnet.types import Certainty, Change, SourceKind

Row = tuple[Any, ...]
# SQL for being among the values of a ``Values``, which may be many more than parameters.
IN_LIST = "IN (SELECT value FROM json_each(?))"
SLOT_COLUMNS = """slot.id, slot.kind, source.name, source.namespace, slot.title, slot.text,
    slot.start, slot.end, slot.relation, slot.value, slot.valid_from, slot.valid_until,
    slot.places, source.metadata, CASE WHEN slot.valid_from IS NOT NULL
    THEN (SELECT told_at FROM statement WHERE statement.slot = slot.id) END,
    slot.valid_from IS NOT NULL OR slot.used_at > 0"""
# Fields of a statement, as ``Statements`` reads them.
_TOLD_COLUMNS = (
    "id source namespace text subject aliases relation values polarity certainty told valid_from "
    "valid_until changed_by change reason standing speaker start end"
).split()
_SLOT_TYPES = (int, str, str, str, str, str, int, int, str, str)
_MAX_TIME = 1e11  # seconds since the epoch: some 3,000 years
_MAX_NESTING = 100  # ingest lets metadata be half as deep; pydantic writes 255 levels as JSON
# Characters of a source: a row of a foreign store could ask for any amount of memory.
_MAX_OFFSET = 2**28
# No number that memnet counts up comes near, and the numbers after it fit into 64 bits.
_MAX_COUNT = 2**62
# Symbols are numbered one after the other, so a store of any size stays below. Hops over facts
# calculate with these numbers, and higher ones would overflow.
_MAX_SYMBOL = 2**40


def of_namespace(
    namespace: str | None, before: str = "AND", column: str = "namespace"
) -> tuple[str, list[Any]]:
    """SQL for rows of a namespace, and its parameters; nothing for None, which means all."""
    return ("", []) if namespace is None else (f"{before} {column} = ?", [namespace])


class MissingRowError(StoreError):
    """A row that must exist does not, or another writer deleted it meanwhile."""


class DuplicateRowsError(StoreError):
    """Two rows of a table would be the same where they may not be."""

    def __init__(self, table: str, reason: str) -> None:
        """Say so of a table; ``reason`` is the database's own error."""
        self.reason = reason
        super().__init__(
            f"two rows of {table} would be the same ({reason}); nothing of this step was kept: "
            "'memnet verify' may say what is damaged"
        )


class Values:
    """Values as ``IN_LIST`` takes them: an array, or for SQLite its JSON."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = list(items)

    def __conform__(self, _: object) -> str:
        """What ``sqlite3`` binds."""
        return json.dumps(self.items)


def checked_rows(rows: Sequence[Row], what: str, *types: type) -> Sequence[Row]:
    """Rows whose columns hold values of these types, as their schema says but SQLite lets pass."""
    for row in rows:
        if tuple(map(type, row)) != types:
            raise damaged(what)
    return rows


def checked_slot(row: Row) -> Slot:
    """A slot from the columns ``SLOT_COLUMNS``."""
    slot = Slot(
        *row[:12], *[checked_places(row[12]), checked_metadata(row[13]), row[14], bool(row[15])]
    )
    times = (slot.valid_from or 0.0, slot.valid_until or 0.0, slot.told or 0.0)
    if (
        tuple(map(type, row[:10])) != _SLOT_TYPES
        or slot.kind not in ("passage", "fact", "reverse")
        or len(slot.text) != slot.end - slot.start
        or not all(isinstance(time, float) and 0 <= time <= _MAX_TIME for time in times)
    ):
        raise damaged(f"slot {slot.id!r}")
    return slot


def checked_told(
    row: Row, relation_vector: NDArray[np.float32], changes: tuple[ChangeBy, ...]
) -> Told:
    """A statement from its columns, in the order of ``Statements``."""
    told = dict(zip(_TOLD_COLUMNS, row[:-1], strict=True))
    text, change = told["text"], told["change"]
    if (
        tuple(map(type, row[:10])) != (int, str, str, str, str, str, str, str, int, str)
        or told["polarity"] not in (0, 1)
        or told["certainty"] not in get_args(Certainty)
        or type(told["changed_by"]) not in (int, NoneType)
        or change not in (None, *get_args(Change))
        or type(told["reason"]) not in (str, NoneType)
        or told["standing"] not in (0, 1)
        or type(told["speaker"]) not in (str, NoneType)
        or not (isinstance(told["start"], int) and isinstance(told["end"], int))
        or told["end"] - told["start"] != len(text)
        or any(one.change not in get_args(Change) for one in changes)
    ):
        raise damaged(f"statement {told['id']!r}")
    if change is None and changes:
        told |= changes[-1]._asdict()
    until = told["valid_until"]
    return Told(
        **told
        | {
            "aliases": checked_texts(told["aliases"]),
            "values": checked_texts(told["values"]),
            "polarity": bool(told["polarity"]),
            "told": checked_time(told["told"]),
            "valid_from": checked_time(told["valid_from"]),
            "valid_until": None if until is None else checked_time(until),
            "standing": bool(told["standing"]),
        },
        relation_vector=relation_vector,
        changes=changes,
    )


def _parsed(value: object, what: str) -> Any:
    """The value of a column of JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError) as error:
        raise damaged(what) from error


def checked_texts(value: object) -> tuple[str, ...]:
    """Texts from a column of JSON."""
    if value == "[]":
        return ()
    texts = _parsed(value, "a list of a statement")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise damaged("a list of a statement")
    return tuple(texts)


def checked_places(value: object) -> tuple[tuple[int, str], ...]:
    """Rising offsets with texts, from a column of JSON."""
    if value == "[]":
        return ()
    pairs = _parsed(value, "the place of a slot")
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and tuple(map(type, pair)) == (int, str) for pair in pairs
    ):
        raise damaged("the place of a slot")
    offsets = [offset for offset, _ in pairs]
    if offsets[:1] < [0] or offsets[-1:] > [_MAX_OFFSET] or offsets != sorted(set(offsets)):
        raise damaged("the place of a slot")
    return tuple((offset, text) for offset, text in pairs)


def checked_metadata(value: object) -> dict[str, Any]:
    """The metadata of a source, from a column of JSON."""
    if value == "{}":
        return {}
    metadata = _parsed(value, "the metadata of a source")
    if not isinstance(metadata, dict) or _nesting(metadata) > _MAX_NESTING:
        raise damaged("the metadata of a source")
    return metadata


def _nesting(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(_nesting, parts), default=0) + 1


def checked_vectors(blobs: Sequence[Any], dimension: int) -> NDArray[np.float32]:
    """Stored vectors as [K, D] float32, from rows of float16, which must be finite."""
    if not {*map(type, blobs)} <= {bytes} or not {*map(len, blobs)} <= {2 * dimension}:
        raise damaged("a vector")
    rows = np.frombuffer(b"".join(blobs), "<f2").astype(np.float32).reshape(-1, dimension)
    if not np.isfinite(rows).all():
        raise damaged("a vector")
    return rows


def checked_units(rows: Sequence[Row]) -> UnitKeys:
    """The keys of units, from rows of a slot and a column of int8."""
    rows = checked_rows(rows, "keys of units", int, bytes)
    sizes = np.array([len(keys) for _, keys in rows], np.int64)
    if (sizes == 0).any() or (sizes % UNIT_WIDTH).any():
        raise damaged("keys of units")
    ids = np.array([slot for slot, _ in rows], np.int64)
    stored = np.frombuffer(b"".join(keys for _, keys in rows), np.int8)
    units = stored.reshape(-1, UNIT_WIDTH).astype(np.float32)
    units /= np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1)
    return UnitKeys(ids, (np.cumsum(sizes) - sizes) // UNIT_WIDTH, units)


def checked_links(rows: Sequence[Row], symbols: Sequence[int]) -> NDArray[np.int64]:
    """Rows of three integers as [M, 3] int64; ``symbols`` are the columns that hold symbols."""
    # So many rows are read here that one pass in C over all values is worth its line.
    if not {*map(type, chain.from_iterable(rows))} <= {int}:
        raise damaged("a link")
    links = np.array(rows, np.int64).reshape(-1, 3)
    chosen = links[:, list(symbols)]
    if bool(((chosen < 1) | (chosen > _MAX_SYMBOL)).any()):
        raise damaged("a link")
    return links


def checked_kind(value: object) -> SourceKind:
    """The kind of a source."""
    if value not in get_args(SourceKind):
        raise damaged(f"a source of kind {value!r}")
    return cast(SourceKind, value)


def checked_integer(value: object) -> int:
    """An integer of 64 bits from a column of any type."""
    try:
        number = int(str(value))
    except ValueError as error:
        raise damaged("a number") from error
    if not -(2**63) <= number < 2**63:
        raise damaged("a number")
    return number


def checked_count(value: object) -> int:
    """A number that memnet counts up from zero, such as an id."""
    number = checked_integer(value)
    if not 0 <= number <= _MAX_COUNT:
        raise damaged("a number")
    return number


def checked_time(value: object) -> float:
    """Seconds since the epoch."""
    if not isinstance(value, float) or not 0 <= value <= _MAX_TIME:
        raise damaged("a time")
    return value


def missing(what: str) -> MissingRowError:
    """The error for a row that must exist and does not."""
    return MissingRowError(
        f"the store lacks {what}; run 'memnet verify' on it, or restore it from a copy"
    )


def damaged(what: str) -> StoreError:
    """The error for a row that can't be right."""
    return StoreError(
        f"the store holds {what} that memnet did not write; run 'memnet verify' on it, or restore "
        "it from a copy"
    )
