"""Vectors of texts, each stored once under the digest of what it encodes."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.storage.tables.checked import (
    IN_LIST,
    checked_rows,
    checked_vectors,
    json_list,
    missing,
)
from memnet.storage.tables.database import Connection
from memnet.storage.values import Encode, NewSlot, NewVector

_FULL = (
    "FROM vector WHERE digest = ? "
    "AND NOT EXISTS (SELECT 1 FROM quick_vector WHERE quick_vector.vector = vector.id)"
)


def digest_of(*parts: object) -> bytes:
    """16 bytes that stand for some values, in their order."""
    return hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=16).digest()


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
    stored = "SELECT 1 FROM vector WHERE digest = ?" if quick_ones else f"SELECT 1 {_FULL}"
    return [digest for digest in digests if connection.one(stored, digest) is None]


def add(connection: Connection, vectors: Iterable[NewVector]) -> None:
    """Store vectors; a full one takes the place of a quick one of the same text."""
    new = list(vectors)
    connection.execute_many(
        "INSERT OR IGNORE INTO vector (digest, data) VALUES (?, ?)",
        ((vector.digest, vector_bytes(vector.data)) for vector in new),
    )
    connection.execute_many(
        "INSERT INTO quick_vector SELECT id, ? FROM vector WHERE digest = ?",
        ((vector.text, vector.digest) for vector in new if vector.text is not None),
    )
    replace_quick(connection, [vector for vector in new if vector.text is None])


def replace_quick(connection: Connection, vectors: Iterable[NewVector]) -> None:
    """Put full vectors in the place of quick ones; those whose text has none are passed over.

    The slots that they are of are noted as changed, so that indexes follow.
    """
    if connection.one("SELECT 1 FROM quick_vector LIMIT 1") is None:
        return
    replaced: list[int] = []
    for vector in vectors:
        row = connection.one(
            "UPDATE vector SET data = ? WHERE digest = ? "
            "AND EXISTS (SELECT 1 FROM quick_vector WHERE quick_vector.vector = vector.id) "
            "RETURNING id",
            vector_bytes(vector.data),
            vector.digest,
        )
        if row is not None:
            replaced.append(row[0])
    chosen = json_list(replaced)
    connection.execute(f"DELETE FROM quick_vector WHERE vector {IN_LIST}", chosen)
    connection.execute(
        "INSERT OR IGNORE INTO gone SELECT property.value + 1, slot.id FROM slot, property "
        f"WHERE slot.vector {IN_LIST} AND slot.kind = 'passage' AND property.name = 'generation'",
        chosen,
    )


def vector_bytes(vector: NDArray[np.float32]) -> bytes:
    """A vector [D] float32 as ``checked_vectors`` reads it.

    One whose components are all numbers of half precision, as those of quick vectors are, is stored
    so, in half the room and without loss.
    """
    with np.errstate(over="ignore"):
        half = vector.astype("<f2")
    return (half if np.array_equal(half, vector) else vector.astype("<f4")).tobytes()


def by_id(
    connection: Connection, ids: Sequence[int], dimension: int
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Digests and vectors [K, D] float32 by the vectors' own ids, in this order.

    Raises:
        StoreError: one does not exist, though a row refers to it.
    """
    rows = connection.rows(
        f"SELECT id, digest, data FROM vector WHERE id {IN_LIST}", json_list(ids)
    )
    stored = {row[0]: row[1:] for row in checked_rows(rows, "a vector", int, bytes, bytes)}
    if not stored.keys() >= set(ids):
        raise missing("the vector of a relation")
    present = [stored[vector] for vector in ids]
    return [row[0] for row in present], checked_vectors([row[1] for row in present], dimension)


def encoded(
    connection: Connection, texts: Iterable[str], dimension: int, encode: Encode
) -> dict[str, NDArray[np.float32]]:
    """Full vectors [D] float32 of texts: stored ones, and those of all others from ``encode``.

    Args:
        connection: to read by.
        texts: in any order.
        dimension: D.
        encode: encodes texts that are not stored.
    """
    found: dict[str, NDArray[np.float32]] = {}
    rest: list[str] = []
    for text in dict.fromkeys(texts):
        row = connection.one(f"SELECT data {_FULL}", digest_of(text))
        if row is None:
            rest.append(text)
        else:
            found[text] = checked_vectors(row, dimension)[0]
    return found | (dict(zip(rest, encode(rest), strict=True)) if rest else {})
