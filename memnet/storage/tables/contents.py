"""What kinds of things a store holds."""

import sys
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from memnet.storage.tables.checked import (
    IN_LIST,
    Values,
    checked_count,
    checked_kind,
    checked_places,
    checked_rows,
)
from memnet.storage.tables.connection import Connection
from memnet.types import SourceKind

_MAX_CACHED = 64
_Value = TypeVar("_Value")


class Contents:
    """Kinds of sources, of slots and of relations; may be shared between threads."""

    def __init__(self, connection: Callable[[], Connection]) -> None:
        """Read nothing yet; ``connection`` gives the calling thread's own."""
        self._connection = connection
        self._cached: dict[Hashable, tuple[int, object]] = {}

    def kinds(self, namespace: str | None = None) -> frozenset[SourceKind]:
        """The kinds of the sources of a namespace; None for all."""
        return self._of_commit(("kinds", namespace), lambda: self._kinds(namespace))

    def has_key(self, symbol: str) -> bool:
        """Whether any slot is about a symbol."""
        return self._of_commit(("key", symbol), lambda: self._has_key(symbol))

    def relations(self) -> dict[str, str]:
        """The relations of all facts: what names each in any store (32 hex digits), and its words.

        Those that a model knows it knows by these digits.
        """
        return self._of_commit("relations", self._relations)

    def fact_subjects(self, source: str, namespace: str, limit: int) -> list[str]:
        """The subjects of the facts of a source, as written, in their order."""
        rows = self._connection().rows(
            "SELECT slot.title FROM slot JOIN source ON source.id = slot.source "
            "WHERE source.name = ? AND source.namespace = ? AND slot.kind = 'fact' "
            "GROUP BY slot.title ORDER BY min(slot.id) LIMIT ?",
            source,
            namespace,
            limit,
        )
        return [row[0] for row in checked_rows(rows, "a title", str)]

    def names(self, prefix: str, limit: int) -> list[str]:
        """Names that slots are about and that start with a normalised prefix, in their order.

        As a title of their slots writes them, if one does; else in small letters.
        """
        rows = self._connection().rows(
            "SELECT symbol.name, coalesce((SELECT slot.title FROM slot_key JOIN slot "
            "ON slot.id = slot_key.slot WHERE slot_key.symbol = symbol.id LIMIT 1), '') "
            "FROM symbol WHERE symbol.name >= ? AND symbol.name < ? "
            "AND EXISTS (SELECT 1 FROM slot_key WHERE slot_key.symbol = symbol.id) "
            "ORDER BY symbol.name LIMIT ?",
            prefix,
            prefix + chr(sys.maxunicode),
            limit,
        )
        found = checked_rows(rows, "a name", str, str)
        return [title if title.casefold() == name else name for name, title in found]

    def source_ids(self, prefix: str, namespace: str, limit: int) -> list[str]:
        """The first ids of the sources of a namespace that start with a prefix, in their order."""
        rows = self._connection().rows(
            "SELECT name FROM source WHERE namespace = ? AND name >= ? AND name < ? "
            "ORDER BY name LIMIT ?",
            namespace,
            prefix,
            prefix + chr(sys.maxunicode),
            limit,
        )
        return [row[0] for row in checked_rows(rows, "a source id", str)]

    def namespaces(self, limit: int) -> list[str]:
        """The first namespaces in their order, without the default one."""
        rows = self._connection().rows(
            "SELECT DISTINCT namespace FROM source WHERE namespace <> '' "
            "ORDER BY namespace LIMIT ?",
            limit,
        )
        return [row[0] for row in checked_rows(rows, "a namespace", str)]

    def places(self, source: str, namespace: str) -> list[tuple[int, int, str]]:
        """The places of the passages of a source: start and end in its text, and the place."""
        rows = self._connection().rows(
            "SELECT slot.start, slot.end, slot.places FROM slot "
            "JOIN source ON source.id = slot.source WHERE source.name = ? "
            "AND source.namespace = ? AND slot.kind = 'passage' ORDER BY slot.start",
            source,
            namespace,
        )
        found: list[tuple[int, int, str]] = []
        for start, end, stored in checked_rows(rows, "the place of a slot", int, int, str):
            places = checked_places(stored)
            ends = [start + offset for offset, _ in places[1:]] + [end]
            found += [
                (start + offset, last, place)
                for (offset, place), last in zip(places, ends, strict=False)
            ]
        return found

    def kinds_of(self, slots: Sequence[int]) -> dict[int, SourceKind]:
        """The kind of the source of each slot that is stored."""
        rows = self._connection().rows(
            "SELECT slot.id, source.kind FROM slot JOIN source ON source.id = slot.source "
            f"WHERE slot.id {IN_LIST}",
            Values(slots),
        )
        found = checked_rows(rows, "the kind of a source", int, str)
        return {slot: checked_kind(kind) for slot, kind in found}

    def _of_commit(self, key: Hashable, read: Callable[[], _Value]) -> _Value:
        """What was read for a key at this commit, else what is read now."""
        connection = self._connection()
        with connection.snapshot():
            generation = checked_count(connection.property("generation") or 0)
            known = self._cached.get(key)
            if known is not None and known[0] == generation:
                return known[1]  # type: ignore[return-value]
            value = read()
        if len(self._cached) >= _MAX_CACHED:
            self._cached.clear()
        self._cached[key] = generation, value
        return value

    def _has_key(self, symbol: str) -> bool:
        statement = (
            "SELECT 1 FROM slot_key JOIN symbol ON symbol.id = slot_key.symbol "
            "WHERE symbol.name = ? LIMIT 1"
        )
        return self._connection().one(statement, symbol) is not None

    def _kinds(self, namespace: str | None) -> frozenset[SourceKind]:
        within = "" if namespace is None else "WHERE namespace = ?"
        parameters = () if namespace is None else (namespace,)
        rows = self._connection().rows(f"SELECT DISTINCT kind FROM source {within}", *parameters)
        return frozenset(
            checked_kind(row[0]) for row in checked_rows(rows, "a kind of source", str)
        )

    def _relations(self) -> dict[str, str]:
        rows = self._connection().rows(
            "SELECT vector.digest, min(slot.relation) FROM slot "
            "JOIN vector ON vector.id = slot.vector WHERE slot.kind <> 'passage' "
            "GROUP BY vector.id"
        )
        found = checked_rows(rows, "a relation", bytes, str)
        return {digest.hex(): words for digest, words in found}
