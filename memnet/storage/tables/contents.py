"""What a store holds, read once per commit: kinds, which statements hold when, and its facts."""

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memnet.storage.tables import vectors as text_vectors
from memnet.storage.tables.checked import (
    IN_LIST,
    Values,
    checked_count,
    checked_kind,
    checked_links,
    checked_places,
    checked_rows,
    of_namespace,
)
from memnet.storage.tables.connection import Connection, Part, Rows
from memnet.storage.values import EVERYWHERE, Scope
from memnet.types import SourceKind

_MAX_CACHED = 64
_NONE = np.zeros(0, np.int64)
_Value = TypeVar("_Value")


class _Times(NamedTuple):
    """When some statements hold. N = how many."""

    ids: NDArray[np.int64]  # [N] int64, rising
    begin: NDArray[np.float64]  # [N] float64, seconds since the epoch; so the next
    end: NDArray[np.float64]  # infinite while it holds


class Contents(Part):
    """Kinds of sources, of slots and of relations; may be shared between threads."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self._cached: dict[Hashable, tuple[int, object]] = {}

    def kinds(self, namespace: str | None = None) -> frozenset[SourceKind]:
        """The kinds of the sources of a namespace; None for all."""
        within, own = of_namespace(namespace, "WHERE")

        def read() -> frozenset[SourceKind]:
            rows = self._connection.rows(f"SELECT DISTINCT kind FROM source {within}", *own)
            found = checked_rows(rows, "a kind of source", str)
            return frozenset(checked_kind(kind) for (kind,) in found)

        return self._of_commit(("kinds", namespace), read)

    def has_key(self, symbol: str) -> bool:
        """Whether any slot is about a symbol."""
        statement = (
            "SELECT 1 FROM slot_key JOIN symbol ON symbol.id = slot_key.symbol "
            "WHERE symbol.name = ? LIMIT 1"
        )
        return self._of_commit(
            ("key", symbol), lambda: self._connection.one(statement, symbol) is not None
        )

    def relations(self) -> dict[str, str]:
        """The relations of all facts: what names each in any store (32 hex digits), and its words.

        Those that a model knows it knows by these digits.
        """
        return self._of_commit("relations", self._relations)

    def fact_subjects(self, source: str, namespace: str, limit: int) -> list[str]:
        """The subjects of the facts of a source, as written, in their order."""
        rows = self._connection.rows(
            "SELECT slot.title FROM slot JOIN source ON source.id = slot.source "
            "WHERE source.name = ? AND source.namespace = ? AND slot.kind = 'fact' "
            "GROUP BY slot.title ORDER BY min(slot.id) LIMIT ?",
            source,
            namespace,
            limit,
        )
        return [row[0] for row in checked_rows(rows, "a title", str)]

    def names(self, prefix: str, limit: int) -> list[str]:
        """Names, as titles write them, that slots are about with a normalised prefix; in order."""
        rows = self._connection.rows(
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

    def places(
        self, source: str, namespace: str, first: int = 0, last: int = sys.maxsize
    ) -> list[tuple[int, int, str]]:
        """The places of the passages of a source: start and end in its text, and the place.

        Those of passages that share a character with the part of the text from ``first`` to
        ``last``.
        """
        rows = self._connection.rows(
            "SELECT slot.start, slot.end, slot.places FROM slot "
            "JOIN source ON source.id = slot.source WHERE source.name = ? AND source.namespace = ? "
            "AND slot.kind = 'passage' AND slot.end > ? AND slot.start < ? ORDER BY slot.start",
            source,
            namespace,
            first,
            last,
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
        rows = self._connection.rows(
            "SELECT slot.id, source.kind FROM slot JOIN source ON source.id = slot.source "
            f"WHERE slot.id {IN_LIST}",
            Values(slots),
        )
        found = checked_rows(rows, "the kind of a source", int, str)
        return {slot: checked_kind(kind) for slot, kind in found}

    def hidden(self, scope: Scope) -> NDArray[np.int64]:
        """Ids [H] int64, rising, of the statements that a scope does not cover.

        They do not hold at its time, or messages made them, which are found themselves.
        """
        learned = _NONE if scope.learned else self._of_commit("learned", self._learned)
        if scope.past:
            return learned
        # Most questions look at what holds now, and few statements have ended: only these are read.
        ended = scope.as_of is None
        times = self._of_commit(("times", ended), lambda: self._times(ended))
        at = scope.moment()
        if scope.as_of is None:
            holds = (times.end > at) & (times.end > times.begin)
        else:
            holds = (times.begin <= at) & (times.end > at)
        return np.union1d(times.ids[~holds], learned) if len(learned) else times.ids[~holds]

    def _of_commit(self, key: Hashable, read: Callable[[], _Value]) -> _Value:
        """What was read for a key at this commit, else what is read now."""
        connection = self._connection
        with connection.snapshot():
            generation = checked_count(connection.property("generation") or 0)
            known = self._cached.get(key)
            if known is not None and known[0] == generation and not connection.changing:
                return known[1]  # type: ignore[return-value]
            value = read()
        if not connection.changing:
            if len(self._cached) >= _MAX_CACHED:
                self._cached.clear()
            self._cached[key] = generation, value
        return value

    def _relations(self) -> dict[str, str]:
        rows = self._connection.rows(
            "SELECT vector.digest, min(slot.relation) FROM slot "
            "JOIN vector ON vector.id = slot.vector WHERE slot.kind <> 'passage' "
            "GROUP BY vector.id"
        )
        found = checked_rows(rows, "a relation", bytes, str)
        return {digest.hex(): words for digest, words in found}

    def _learned(self) -> NDArray[np.int64]:
        """Of the statements that messages made: ids [L] int64, rising."""
        return self._connection.ids(
            "SELECT slot FROM statement WHERE speaker IS NOT NULL ORDER BY slot"
        )

    def _times(self, ended: bool) -> _Times:
        """Of the statements that have an end, or of all."""
        column = "valid_until" if ended else "valid_from"
        rows = self._connection.rows(
            "SELECT id, valid_from, coalesce(valid_until, ?) FROM slot "
            f"WHERE {column} IS NOT NULL ORDER BY id",
            math.inf,
        )
        checked_rows(rows, "a time", int, float, float)
        columns = np.array(rows, np.float64).reshape(-1, 3)
        return _Times(columns[:, 0].astype(np.int64), columns[:, 1], columns[:, 2])


class Facts(Part):
    """Reads of the facts of a store. A symbol is its id."""

    def subjects(self, names: Iterable[str]) -> dict[str, int]:
        """Those of the named symbols that some fact is about, with their ids."""
        rows = self._connection.rows(
            f"SELECT name, id FROM symbol WHERE name {IN_LIST} "
            "AND EXISTS (SELECT 1 FROM link WHERE link.subject = symbol.id)",
            Values(names),
        )
        return dict(checked_rows(rows, "a symbol", str, int))

    def outgoing(self, symbols: Iterable[int], scope: Scope = EVERYWHERE) -> NDArray[np.int64]:
        """The relations of the facts about some symbols.

        [G, 3] int64: symbol, relation, and how many facts about the one have the other. A
        relation's number is that of its key vector.
        """
        connection = self._connection
        within, parameters = _within(connection, scope)
        rows = connection.rows(
            f"SELECT subject, relation, count(*) FROM link WHERE subject {IN_LIST} {within}"
            "GROUP BY subject, relation",
            Values(symbols),
            *parameters,
        )
        return checked_links(rows, symbols=[0])

    def follow(
        self, pairs: Iterable[tuple[int, int]], scope: Scope = EVERYWHERE
    ) -> NDArray[np.int64]:
        """The facts of some pairs of a symbol and a relation.

        [M, 3] int64: index of the pair, the symbol of the fact's object, and its slot.
        """
        connection = self._connection
        within, parameters = _within(connection, scope)
        rows = connection.rows(
            f"SELECT pair.key, link.object, link.slot FROM {connection.pairs} AS pair "
            f"CROSS JOIN link WHERE link.subject = pair.a AND link.relation = pair.b {within}",
            Values(map(list, pairs)),
            *parameters,
        )
        return checked_links(rows, symbols=[1])

    def all(self) -> NDArray[np.int64]:
        """Every fact once, forward and reverse: [M, 3] int64 symbol, relation, symbol; sorted."""
        rows = self._connection.rows(
            "SELECT DISTINCT subject, relation, object FROM link ORDER BY 1, 2, 3"
        )
        return checked_links(rows, symbols=[0, 2])

    def relation_keys(self, relations: Sequence[int]) -> tuple[list[str], NDArray[np.float32]]:
        """What names each of R relations in any store (32 hex digits), and its key [R, D]."""
        digests, vectors = text_vectors.by_id(self._connection, relations, self._rows.dimension)
        return [digest.hex() for digest in digests], vectors


def _within(connection: Connection, scope: Scope) -> tuple[str, list[Any]]:
    """A scope as a condition on ``link.slot``, and its parameters."""
    conditions, parameters = scope.sql(connection.metadata)
    if not conditions:
        return "", []
    return (
        "AND EXISTS (SELECT 1 FROM slot JOIN source ON source.id = slot.source "
        f"WHERE slot.id = link.slot{conditions}) ",
        parameters,
    )
