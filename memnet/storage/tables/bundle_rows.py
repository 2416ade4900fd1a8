"""Rows as a bundle holds them."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.storage.slots import Symbols
from memnet.storage.tables.row_values import stored_count, stored_rows
from memnet.storage.tables.slot_rows import SlotRows
from memnet.storage.tables.source_rows import SourceRows

_BUNDLED = (
    "id", "source", "kind", "title", "text", "start", "end", "relation", "value", "vector",
    "relation_vector", "digest", "valid_from", "valid_until", "usage", "used",
)  # fmt: skip


_VECTOR = int, bytes, bytes
_SOURCE = int, str, str, str, str, str, str, bytes


class BundleRows(SlotRows, SourceRows):
    """All rows in their order, to be written to a bundle or taken from one."""

    def bundle_head(self) -> dict[str, Any]:
        """What a bundle says of itself, but its format."""
        row = self._only(
            """SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM source),
                (SELECT count(*) FROM slot),
                (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'source'),
                (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'slot')"""
        )
        names = ("vectors", "sources", "slots", "last_source", "last_slot")
        return {
            "encoder": self.property("encoder"),
            "dimension": stored_count(self.property("dimension") or 0),
            "told": stored_count(self.property("told") or 0),
            **dict(zip(names, map(stored_count, row), strict=True)),
        }

    def bundled_vectors(self, rows: int) -> Iterator[list[tuple[int, bytes, bytes]]]:
        """Id, digest and float32 numbers of all vectors, so many at a time."""
        for page in self._pages("SELECT id, digest, data FROM vector WHERE id > ?", rows):
            yield [(row[0], row[1], row[2]) for row in stored_rows(page, "a vector", *_VECTOR)]

    def bundled_sources(self, rows: int) -> Iterator[dict[str, Any]]:
        """All columns of all sources."""
        names: tuple[str, ...] = (
            "id", "namespace", "name", "kind", "origin", "title", "metadata", "digest",
        )  # fmt: skip
        for page in self._pages(f"SELECT {', '.join(names)} FROM source WHERE id > ?", rows):
            for row in stored_rows(page, "a source", *_SOURCE):
                columns: dict[str, Any] = dict(zip(names, row, strict=True))
                yield columns

    def bundled_slots(self, rows: int) -> Iterator[dict[str, Any]]:
        """All columns of all slots, with the names of their symbols."""
        statement = f"SELECT {', '.join(_BUNDLED)} FROM slot WHERE id > ?"
        for page in self._pages(statement, rows):
            symbols = self.symbols(row[0] for row in page)
            for row in page:
                own = symbols.get(row[0], Symbols([], []))
                yield {
                    **dict(zip(_BUNDLED, row, strict=True)),
                    "keys": own.keys,
                    "mentions": own.values,
                }

    def restore_vectors(
        self, first: int, digests: Sequence[bytes], vectors: NDArray[np.float32]
    ) -> None:
        """Store vectors [B, D] float32 of a bundle, ``first`` being the place of the first."""
        self._restore(
            "INSERT INTO vector (id, digest, data) VALUES (?, ?, ?)",
            (
                (place, digest, vector.astype("<f4").tobytes())
                for place, (digest, vector) in enumerate(
                    zip(digests, vectors, strict=True), first + 1
                )
            ),
        )

    def restore_sources(self, sources: Iterable[tuple[int, Any]]) -> None:
        """Store the sources of a bundle (each a ``BundledSource``), by their places."""
        self._restore(
            "INSERT INTO source (id, namespace, name, kind, origin, title, metadata, digest) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    place + 1, source.namespace, source.name, source.kind, source.origin,
                    source.title, json.dumps(source.metadata, ensure_ascii=False),
                    bytes.fromhex(source.digest),
                )
                for place, source in sources
            ),
        )  # fmt: skip

    def restore_slots(self, slots: Sequence[Any]) -> None:
        """Store slots of a bundle (``BundledSlot``) under their own ids, which rise."""
        if not slots:
            return
        self._restore(
            f"INSERT INTO slot ({', '.join(_BUNDLED)}) VALUES ({', '.join('?' * len(_BUNDLED))})",
            (
                (
                    slot.id, slot.source + 1, slot.kind, slot.title, slot.text, slot.start,
                    slot.end, slot.relation, slot.value, slot.vector + 1,
                    None if slot.relation_vector is None else slot.relation_vector + 1,
                    bytes.fromhex(slot.digest), slot.valid_from, None, slot.usage, slot.used,
                )
                for slot in slots
            ),
        )  # fmt: skip
        # The end of a statement takes it out of the text search, as it did when it was told.
        self._restore(
            "UPDATE slot SET valid_until = ? WHERE id = ?",
            ((slot.valid_until, slot.id) for slot in slots if slot.valid_until is not None),
        )
        self._add_symbols("slot_key", ((slot.id, slot.keys) for slot in slots))
        self._add_symbols("mention", ((slot.id, slot.mentions) for slot in slots))
        self._add_links(slots[0].id)

    def restore_counters(self, last_source: int, last_slot: int, told: int) -> None:
        """Let ids and names of told sources go on where those of a bundle end."""
        self._connection.execute("DELETE FROM sqlite_sequence WHERE name IN ('source', 'slot')")
        self._connection.execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES ('source', ?), ('slot', ?)",
            (last_source, last_slot),
        )
        self.set_property("told", str(told))

    def _restore(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert rows of a bundle.

        Raises:
            ValueError: two of them are the same where they may not be.
        """
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.IntegrityError as error:
            raise ValueError(f"two of its rows are the same: {error}") from error

    def _pages(self, statement: str, rows: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a statement with a lowest id as its last condition, so many at a time."""
        last = -1
        while page := self._rows(f"{statement} ORDER BY id LIMIT {rows}", last):
            yield page
            last = page[-1][0]
