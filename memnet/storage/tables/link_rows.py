"""Facts, as they are followed."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from memnet.storage.scope import Scope
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.row_values import LISTED, links_within, listed, stored_links, stored_rows


class LinkRows(Connection):
    """Links from symbol to symbol, one for each fact and each reverse fact."""

    def linked(self, names: Iterable[str]) -> dict[str, int]:
        """Those of the named symbols that some fact is about, with their ids."""
        rows = self._rows(
            f"SELECT name, id FROM symbol WHERE name {LISTED} "
            "AND EXISTS (SELECT 1 FROM link WHERE link.subject = symbol.id)",
            listed(names),
        )
        return dict(stored_rows(rows, "a symbol", str, int))

    def outgoing(self, subjects: Iterable[int], scope: Scope) -> NDArray[np.int64]:
        """Symbol, relation and number of facts [G, 3] int64 of each relation of some symbols."""
        chosen, parameters = links_within(scope)
        rows = self._rows(
            f"SELECT subject, relation, count(*) FROM link WHERE subject {LISTED} {chosen}"
            "GROUP BY subject, relation",
            listed(subjects),
            *parameters,
        )
        return stored_links(rows, symbols=[0])

    def followed(self, pairs: Iterable[tuple[int, int]], scope: Scope) -> NDArray[np.int64]:
        """Place of the pair, object and slot [M, 3] int64 of the facts of (symbol, relation)."""
        chosen, parameters = links_within(scope)
        rows = self._rows(
            "SELECT pair.key, link.object, link.slot FROM json_each(?) AS pair "
            "CROSS JOIN link ON link.subject = json_extract(pair.value, '$[0]') "
            f"AND link.relation = json_extract(pair.value, '$[1]') WHERE true {chosen}",
            listed(pairs),
            *parameters,
        )
        return stored_links(rows, symbols=[1])

    def all_links(self) -> NDArray[np.int64]:
        """Subject, relation and object [M, 3] int64 of all facts, in this order, each once."""
        rows = self._rows("SELECT DISTINCT subject, relation, object FROM link ORDER BY 1, 2, 3")
        return stored_links(rows, symbols=[0, 2])
