"""Vectors of texts, each stored once under the digest of what it encodes."""

import hashlib
import random
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from memnet.storage.tables.checked import (
    IN_LIST,
    Values,
    checked_count,
    checked_rows,
    checked_units,
    checked_vectors,
    damaged,
    missing,
)
from memnet.storage.tables.connection import UNUSED_VECTOR, Connection, Part
from memnet.storage.values import (
    Encode,
    NewSlot,
    NewVector,
    PassageVectors,
    UnitKeys,
    VectorCounts,
    VectorData,
    VectorUse,
)

_BATCH = 1000  # vectors that are exchanged together


def digest_of(*parts: object) -> bytes:
    """16 bytes that stand for some values, in their order."""
    return hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=16).digest()


def packed(vectors: NDArray[np.float32]) -> list[VectorData]:
    """Each of vectors [N, D] float32 as it is stored."""
    return [VectorData(row.tobytes()) for row in np.ascontiguousarray(vectors, "<f2")]


def texts_of(slots: Iterable[NewSlot]) -> dict[bytes, str]:
    """What must be encoded for some slots: key texts and relations of statements, by digest."""
    texts: dict[bytes, str] = {}
    for slot in slots:
        texts[digest_of(slot.key_text)] = slot.key_text
        if slot.valid_from is not None:
            texts[digest_of(slot.relation)] = slot.relation
    return texts


def missing_digests(
    connection: Connection, digests: Iterable[bytes], *, quick_ones: bool = False
) -> list[bytes]:
    """Those of the digests under which no full vector is stored, or with ``quick_ones`` none."""
    digests = list(digests)
    stored = connection.vectors_by_digest(digests)
    return [
        digest
        for digest in digests
        if digest not in stored or not (quick_ones or stored[digest].full)
    ]


def add(connection: Connection, vectors: Iterable[NewVector]) -> None:
    """Store vectors; a full one takes the place of a quick one of the same text."""
    new = list(vectors)
    add_new(connection, new)
    replace_quick(connection, [vector for vector in new if vector.text is None])


def add_new(connection: Connection, vectors: Iterable[NewVector]) -> None:
    """Store vectors of texts that have none."""
    # Sorted: transactions that add the same ones wait for each other in one order.
    new = sorted(vectors, key=lambda one: one.digest)
    rows = _rows(new)
    connection.insert(
        "vector",
        ("digest", "data"),
        ((vector.digest, row) for vector, row in zip(new, rows, strict=True)),
        new_only=True,
    )
    beside: dict[str, Sequence[str | bytes | None]] = {
        "quick_vector": [vector.text for vector in new],
        "unit_key": [vector.units or None for vector in new],
    }
    for table, added in beside.items():
        connection.execute_many(
            # Another writer may have stored the full one, or a quick one, meanwhile.
            f"INSERT INTO {table} SELECT id, ? FROM vector WHERE digest = ? AND data = ? "
            "ON CONFLICT DO NOTHING",
            [
                (own, vector.digest, row)
                for own, vector, row in zip(added, new, rows, strict=True)
                if own is not None
            ],
        )


def replace_quick(connection: Connection, vectors: Iterable[NewVector]) -> None:
    """Put full vectors in the place of quick ones, if there are any, and note it for indexes."""
    if connection.one("SELECT 1 FROM quick_vector LIMIT 1") is None:
        return
    new = {vector.digest: vector for vector in vectors}
    stored = connection.vectors_by_digest(list(new))
    quick = [digest for digest in stored if not stored[digest].full]
    if not quick:
        return
    ids = [stored[digest].id for digest in quick]
    # A change of slots also within a transaction that adds none.
    with connection.transaction():
        _exchange(connection, ids, [new[digest] for digest in quick])
        connection.execute(f"DELETE FROM quick_vector WHERE vector {IN_LIST}", Values(ids))
        connection.note_replaced(ids)


def _exchange(connection: Connection, ids: Sequence[int], vectors: Sequence[NewVector]) -> None:
    """Put vectors, with the keys of their units, in the place of those with some ids."""
    replaced = list(zip(_rows(vectors), ids, strict=True))
    connection.execute_many("UPDATE vector SET data = ? WHERE id = ?", replaced)
    units = [(own, one.units) for own, one in zip(ids, vectors, strict=True) if one.units]
    connection.insert("unit_key", ("vector", "keys"), units, new_only=True)


def new_vectors(
    digests: Sequence[bytes], encoded: PassageVectors, texts: Sequence[str] | None = None
) -> list[NewVector]:
    """Vectors of passages by their digests; ``texts`` are to be encoded in full later."""
    n = len(digests)
    later: Sequence[str | None] = texts or [None] * n
    units = encoded.units or [b""] * n
    return [NewVector(*one) for one in zip(digests, encoded.vectors, later, units, strict=True)]


def vector_ids(connection: Connection, digests: Iterable[bytes]) -> dict[bytes, int]:
    """Ids of stored vectors by their digests; a MissingRowError where one is not stored."""
    wanted = set(digests)
    stored = connection.vectors_by_digest(list(wanted))
    if len(stored) < len(wanted):
        raise missing("a vector of a new slot")
    return {digest: vector.id for digest, vector in stored.items()}


def by_id(
    connection: Connection, ids: Sequence[int], dimension: int
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Digests and vectors [K, D] float32 by the vectors' own ids, in this order."""
    rows = connection.rows(f"SELECT id, digest, data FROM vector WHERE id {IN_LIST}", Values(ids))
    stored = {row[0]: row[1:] for row in checked_rows(rows, "a vector", int, bytes, bytes)}
    if not stored.keys() >= set(ids):
        raise missing("the vector of a relation")
    present = [stored[vector] for vector in ids]
    return [row[0] for row in present], checked_vectors([row[1] for row in present], dimension)


def encoded(
    connection: Connection, texts: Iterable[str], dimension: int, encode: Encode
) -> dict[str, NDArray[np.float32]]:
    """Full vectors [D] float32 of texts: stored ones, and those of all others from ``encode``."""
    found: dict[str, NDArray[np.float32]] = {}
    rest: list[str] = []
    for text in dict.fromkeys(texts):
        row = connection.one(
            "SELECT data FROM vector WHERE digest = ? "
            "AND NOT EXISTS (SELECT 1 FROM quick_vector WHERE quick_vector.vector = vector.id)",
            digest_of(text),
        )
        if row is None:
            rest.append(text)
        else:
            found[text] = checked_vectors(row, dimension)[0]
    return found | (dict(zip(rest, encode(rest), strict=True)) if rest else {})


def uses_after(connection: Connection, last: int, limit: int) -> list[VectorUse]:
    """At most ``limit`` vectors with ids above ``last``, by rising ids, and what each is of."""
    rows = connection.rows(
        "SELECT vector.id, vector.digest, quick_vector.text, "
        "(SELECT min(slot.id) FROM slot WHERE slot.vector = vector.id), "
        "(SELECT min(slot.relation) FROM slot WHERE slot.relation_vector = vector.id) FROM vector "
        "LEFT JOIN quick_vector ON quick_vector.vector = vector.id WHERE vector.id > ? "
        "ORDER BY vector.id LIMIT ?",
        last,
        limit,
    )
    return [VectorUse(*row) for row in rows]


def replace_all(
    connection: Connection, vectors: Iterable[NewVector], fingerprint: str, dimension: int
) -> None:
    """Put the vectors of another encoder in the place of all, within a transaction.

    ``vectors`` are those of all stored digests; others are ignored.

    Raises:
        StoreError: one is missing.
    """
    connection.execute(f"DELETE FROM vector WHERE {UNUSED_VECTOR}")
    connection.execute("DELETE FROM quick_vector")
    connection.execute("DELETE FROM unit_key")
    replaced = set[int]()
    given = iter(vectors)
    while batch := {one.digest: one for one in islice(given, _BATCH)}:
        stored = connection.vectors_by_digest(list(batch))
        ids = {digest: one.id for digest, one in stored.items() if one.id not in replaced}
        _exchange(connection, list(ids.values()), [batch[digest] for digest in ids])
        replaced.update(ids.values())
    if len(replaced) < connection.only("SELECT count(*) FROM vector")[0]:
        raise missing("a vector of another encoder")
    connection.set_property("encoder", fingerprint)
    connection.set_property("dimension", str(dimension))
    # No index of an earlier commit can be brought up to date; the end of this one is noted.
    connection.execute("DELETE FROM revision")
    connection.execute("DELETE FROM tombstone")


def units_of(connection: Connection, slots: Sequence[int]) -> UnitKeys:
    """Keys of the units of those of some slots that have any."""
    rows = connection.rows(
        "SELECT slot.id, unit_key.keys FROM slot JOIN unit_key ON unit_key.vector = slot.vector "
        f"WHERE slot.id {IN_LIST}",
        Values(slots),
    )
    return checked_units(rows)


def _rows(vectors: Sequence[NewVector]) -> list[VectorData]:
    return packed(np.stack([vector.data for vector in vectors])) if vectors else []


# Differs between processes, also forked ones, and leaves a caller's own seed alone.
_CHANCE = random.SystemRandom()


class QuickVectors(Part):
    """The quick vectors of a store; may be shared between threads."""

    def any(self) -> bool:
        """Whether there is one."""
        return self._connection.one("SELECT 1 FROM quick_vector LIMIT 1") is not None

    def counts(self) -> VectorCounts:
        """How many vectors there are, and how many of them are full."""
        row = self._connection.only(
            "SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM quick_vector)"
        )
        vectors, quick = map(checked_count, row)
        return VectorCounts(vectors, vectors - quick)

    def of_slots(self, ids: Iterable[int]) -> frozenset[int]:
        """Those of some slots whose key has a quick vector."""
        rows = self._connection.rows(
            "SELECT slot.id FROM slot JOIN quick_vector ON quick_vector.vector = slot.vector "
            f"WHERE slot.id {IN_LIST}",
            Values(ids),
        )
        return frozenset(row[0] for row in rows)

    def texts(self, limit: int) -> list[str]:
        """At most ``limit`` texts that have a quick vector, starting at a random one of them.

        So processes that replace them at the same time seldom encode the same texts.
        """
        connection = self._connection
        with connection.snapshot():
            last = connection.only("SELECT max(vector) FROM quick_vector")[0]
            first = _CHANCE.randint(0, checked_count(last or 0))
            found: list[tuple[str, bytes]] = []
            for condition in (">=", "<"):
                rows = connection.rows(
                    "SELECT quick_vector.text, vector.digest FROM quick_vector "
                    "JOIN vector ON vector.id = quick_vector.vector "
                    f"WHERE quick_vector.vector {condition} ? ORDER BY quick_vector.vector LIMIT ?",
                    first,
                    limit - len(found),
                )
                found += checked_rows(rows, "a quick vector", str, bytes)
        if any(digest_of(text) != digest for text, digest in found):
            raise damaged("a quick vector")
        return [text for text, _ in found]

    def replace(self, texts: Sequence[str], full: PassageVectors) -> None:
        """Put full vectors in the place of the quick ones of N texts that are still there."""
        with self._rows.changing():
            replace_quick(self._connection, new_vectors([digest_of(text) for text in texts], full))
