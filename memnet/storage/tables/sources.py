"""Sources: how they come and go with their slots, and which of them an ingest has seen."""

import json
import os
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.storage.tables import slots
from memnet.storage.tables.checked import IN_LIST, checked_rows, json_list
from memnet.storage.tables.database import Connection
from memnet.storage.values import Encode, NewSource, PutCounts, SourceState


class Sources:
    """Reads of the sources of a store, and which of them an ingest has seen."""

    def __init__(self, connection: Callable[[], Connection]) -> None:
        """Read nothing yet; ``connection`` gives the calling thread's own."""
        self._connection = connection

    def states(self, names: Iterable[str], namespace: str = "") -> dict[str, SourceState]:
        """Digest and origin of those of the named sources that are stored."""
        return states(self._connection(), names, namespace)

    def namespaces(self, names: Iterable[str]) -> dict[str, list[str]]:
        """For those of the names that are sources, the namespaces in which they are, in order."""
        return namespaces(self._connection(), names)

    def start_run(self) -> None:
        """Forget which sources this thread's ingest has seen; they are many, and kept on disk."""
        self._connection().execute(
            "CREATE TEMP TABLE IF NOT EXISTS seen "
            "(name TEXT PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID"
        )
        self._connection().execute("DELETE FROM temp.seen")

    def mark_seen(self, name: str, digest: bytes) -> bytes | None:
        """Note that the ingest sees a source; returns its digest if it was seen before."""
        row = self._connection().one("SELECT digest FROM temp.seen WHERE name = ?", name)
        if row is not None:
            return bytes(row[0])
        self._connection().execute("INSERT INTO temp.seen VALUES (?, ?)", name, digest)
        return None

    def not_seen(self, origin: str, namespace: str = "") -> dict[str, str]:
        """Names and origins of stored sources that the ingest has not seen.

        Args:
            origin: the file that they came from, or a folder above it.
            namespace: they are in.
        """
        # A folder's files lie between its name with a separator and with the next character.
        first = origin.rstrip(os.sep) + os.sep
        end = first[:-1] + chr(ord(first[-1]) + 1)
        query = (
            "SELECT name, origin FROM source WHERE namespace = ? AND {} "
            "AND name NOT IN (SELECT name FROM temp.seen)"
        )
        rows = self._connection().rows(
            f"{query.format('origin = ?')} UNION ALL {query.format('origin > ? AND origin < ?')}",
            namespace,
            origin,
            namespace,
            first,
            end,
        )
        return dict(checked_rows(rows, "a source", str, str))


def states(connection: Connection, names: Iterable[str], namespace: str) -> dict[str, SourceState]:
    """As ``Sources.states``."""
    rows = connection.rows(
        f"SELECT name, digest, origin FROM source WHERE namespace = ? AND name {IN_LIST}",
        namespace,
        json_list(names),
    )
    return {name: SourceState(digest, origin) for name, digest, origin in rows}


def namespaces(connection: Connection, names: Iterable[str]) -> dict[str, list[str]]:
    """As ``Sources.namespaces``."""
    rows = connection.rows(
        f"SELECT name, namespace FROM source WHERE name {IN_LIST} ORDER BY name, namespace",
        json_list(names),
    )
    found: dict[str, list[str]] = {}
    for name, namespace in checked_rows(rows, "a source", str, str):
        found.setdefault(name, []).append(namespace)
    return found


def changed(connection: Connection, new: Sequence[NewSource]) -> tuple[list[NewSource], PutCounts]:
    """The sources that differ from what is stored, and the counts that a ``put`` of them gives."""
    differing: list[NewSource] = []
    added = updated = 0
    for namespace in {source.namespace for source in new}:
        here = [source for source in new if source.namespace == namespace]
        stored = states(connection, [source.name for source in here], namespace)
        for source in here:
            state = stored.get(source.name)
            if state is not None and state == (source.digest, source.origin):
                continue
            differing.append(source)
            added += state is None
            updated += state is not None and state.digest != source.digest
    return differing, PutCounts(added, updated, len(new) - added - updated)


def new_vectors(
    connection: Connection, new: Sequence[NewSource], encode: Encode
) -> list[tuple[bytes, NDArray[np.float32]]]:
    """Encode what some sources need and the store lacks: vectors with their digests."""
    texts = slots.vector_texts(slot for source in new for slot in source.slots)
    digests = slots.missing_vectors(connection, texts)
    vectors = encode([texts[digest] for digest in digests]) if digests else ()
    return list(zip(digests, vectors, strict=True))


def put(connection: Connection, source: NewSource) -> tuple[list[int], list[int]]:
    """Give a source its slots, leaving those that it has already untouched.

    Slots that it should no longer have are for the caller to delete, once every source of the
    transaction is put: until then other sources may come to share their vectors.

    The vectors of its slots must be stored.

    Returns:
        Ids of the slots that were added, and of those that are to be deleted.
    """
    row = connection.only(
        """INSERT INTO source (namespace, name, kind, origin, title, metadata, digest)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (namespace, name) DO UPDATE SET kind = excluded.kind,
            origin = excluded.origin, title = excluded.title, metadata = excluded.metadata,
            digest = excluded.digest
        RETURNING id""",
        source.namespace,
        source.name,
        source.kind,
        source.origin,
        source.title,
        json.dumps(dict(source.metadata), ensure_ascii=False, default=str),
        source.digest,
    )
    source_id = int(row[0])
    stored: dict[bytes, int] = dict(
        connection.rows("SELECT digest, id FROM slot WHERE source = ?", source_id)
    )
    wanted = slots.by_content(source.slots)
    new = {digest: slot for digest, slot in wanted.items() if digest not in stored}
    outdated = [slot for digest, slot in stored.items() if digest not in wanted]
    return slots.add(connection, source_id, new), outdated


def delete(connection: Connection, names: Iterable[str], namespace: str | None) -> int:
    """As ``MemoryStore.delete``."""
    within = "" if namespace is None else "AND namespace = ?"
    chosen = connection.rows(
        f"SELECT id FROM source WHERE name {IN_LIST} {within}",
        json_list(names),
        *([] if namespace is None else [namespace]),
    )
    ids = json_list(row[0] for row in chosen)
    doomed = [row[0] for row in connection.rows(f"SELECT id FROM slot WHERE source {IN_LIST}", ids)]
    slots.delete(connection, doomed)
    connection.execute(f"DELETE FROM source WHERE id {IN_LIST}", ids)
    return len(doomed)
