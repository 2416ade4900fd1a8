"""Facts as a graph: links from symbol to symbol, one for each fact and each reverse fact."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.storage.scope import EVERYWHERE, Scope
from memnet.storage.tables import vectors as text_vectors
from memnet.storage.tables.checked import IN_LIST, Values, checked_links, checked_rows
from memnet.storage.tables.connection import Connection, Part


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

        Returns:
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
        """The facts of some subjects and relations.

        Args:
            pairs: (symbol, relation).
            scope: which sources to look in.

        Returns:
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
        """For each relation what names it in any store (32 hex digits), and its key vector.

        Returns:
            R names, and [R, D] float32.
        """
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
