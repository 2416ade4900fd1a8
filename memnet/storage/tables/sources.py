"""Sources: how they come and go with their slots, and which of them an ingest has seen."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from memnet.storage.tables import slots
from memnet.storage.tables import vectors as text_vectors
from memnet.storage.tables.checked import (
    IN_LIST,
    Values,
    checked_count,
    checked_kind,
    checked_metadata,
    checked_places,
    checked_rows,
    damaged,
    missing,
    of_namespace,
)
from memnet.storage.tables.connection import Connection, Part
from memnet.storage.values import (
    EVERY_SOURCE,
    Encode,
    EncodePassages,
    NewSlot,
    NewSource,
    NewVector,
    PutCounts,
    SourceFilter,
    SourceState,
)
from memnet.types import Source

_PAGE = 1000  # sources that are read together
_DATES = ("date", "time", "first", "last")  # in metadata, as loaders and messages name them
_MAX_CHARACTERS = 2**28  # of a source: a row of a foreign store could ask for any amount of memory


class Sources(Part):
    """Reads of the sources of a store, and which of them an ingest has seen."""

    def all(self, namespace: str | None = None) -> Iterator[Source]:
        """All sources in the order in which they first came, page by page; None for all."""
        after = 0
        while page := self.page(after, _PAGE, SourceFilter(namespace)):
            yield from (source for _, source in page)
            after = page[-1][0]

    def page(
        self, after: int, limit: int, wanted: SourceFilter = EVERY_SOURCE
    ) -> list[tuple[int, Source]]:
        """Some sources with their numbers, in the order in which they first came.

        ``after`` is the number of the last one before them, 0 for the first ones.
        """
        conditions, parameters = _conditions(self._connection, wanted)
        rows = self._connection.rows(
            "SELECT id, name, namespace, kind, title, origin, metadata, "
            "(SELECT count(*) FROM slot WHERE slot.source = source.id) FROM source WHERE id > ? "
            f"{conditions} ORDER BY id LIMIT ?",
            after,
            *parameters,
            limit,
        )
        found = checked_rows(rows, "a source", int, str, str, str, str, str, str, int)
        return [
            (
                number,
                Source(
                    id=name,
                    kind=checked_kind(kind),
                    title=title,
                    namespace=namespace,
                    slots=slots,
                    metadata=checked_metadata(metadata),
                    origin=origin or None,
                ),
            )
            for number, name, namespace, kind, title, origin, metadata, slots in found
        ]

    def count(self, wanted: SourceFilter = EVERY_SOURCE) -> int:
        """Number of the sources on all pages of ``page``."""
        conditions, parameters = _conditions(self._connection, wanted)
        row = self._connection.only(
            f"SELECT count(*) FROM source WHERE true {conditions}", *parameters
        )
        return checked_count(row[0])

    def get(self, name: str, namespace: str = "") -> tuple[Source, str] | None:
        """A source with its text, as far as it is stored; None if it is not.

        Where headings and slots leave a gap the text has as many line breaks, so that
        ``text[slot.start:slot.end] == slot.text``.
        """
        connection = self._connection
        with connection.snapshot():
            page = self.page(0, 1, SourceFilter(namespace, name=name))
            return (page[0][1], _text(connection, page[0][0])) if page else None

    def head(self, name: str, namespace: str, characters: int) -> str:
        """The first characters of the text of a source; "" if it is not stored."""
        connection = self._connection
        with connection.snapshot():
            found = connection.one(
                "SELECT id FROM source WHERE name = ? AND namespace = ?", name, namespace
            )
            return "" if found is None else _text(connection, found[0], characters)

    def headings(self, name: str, namespace: str = "") -> list[tuple[int, str]]:
        """The headings of a source outside its slots, each with its offset in the text."""
        row = self._connection.one(
            "SELECT headings FROM source WHERE name = ? AND namespace = ?", name, namespace
        )
        return [] if row is None else [*checked_places(row[0])]

    def states(self, names: Iterable[str], namespace: str = "") -> dict[str, SourceState]:
        """Digest and origin of those of the named sources that are stored."""
        return states(self._connection, names, namespace)

    def namespaces(self, names: Iterable[str]) -> dict[str, list[str]]:
        """For those of the names that are sources, the namespaces in which they are, in order."""
        rows = self._connection.rows(
            f"SELECT name, namespace FROM source WHERE name {IN_LIST} ORDER BY name, namespace",
            Values(names),
        )
        found: dict[str, list[str]] = {}
        for name, namespace in checked_rows(rows, "a source", str, str):
            found.setdefault(name, []).append(namespace)
        return found

    def start_run(self) -> None:
        """Forget which sources this thread's ingest has seen; they are many, and kept on disk."""
        self._connection.execute(
            "CREATE TEMP TABLE IF NOT EXISTS seen (name TEXT PRIMARY KEY, digest BLOB NOT NULL)"
        )
        self._connection.execute("DELETE FROM temp.seen")

    def mark_seen(self, names: Mapping[str, bytes]) -> dict[str, bytes]:
        """Note that the ingest sees sources, given with digests; gives those that it saw before."""
        connection = self._connection
        before: dict[str, bytes] = dict(
            connection.rows_of("SELECT name, digest FROM temp.seen WHERE name", names)
        )
        connection.insert(
            "seen", ("name", "digest"), [one for one in names.items() if one[0] not in before]
        )
        return before

    def mark_file_seen(self, path: str, digest: bytes, namespace: str = "") -> int:
        """Note the sources of a file as seen if they are of this content; gives how many."""
        connection = self._connection
        stored = connection.one(
            "SELECT digest FROM file WHERE namespace = ? AND path = ?", namespace, path
        )
        if stored is None or stored[0] != digest:
            return 0
        rows = connection.rows(
            "INSERT INTO temp.seen SELECT name, digest FROM source "
            "WHERE namespace = ? AND origin = ? ON CONFLICT DO NOTHING RETURNING 1",
            namespace,
            path,
        )
        return len(rows)

    def not_seen(self, origin: str, namespace: str = "") -> dict[str, str]:
        """Names and origins of the sources below a path that the ingest has not seen."""
        unseen = "AND name NOT IN (SELECT name FROM temp.seen)"
        return self._from_path(origin, namespace, unseen)

    def from_path(self, path: str, namespace: str = "") -> list[str]:
        """Names of the stored sources that came from a file, or from files below a folder."""
        return list(self._from_path(path, namespace))

    def _from_path(self, path: str, namespace: str, condition: str = "") -> dict[str, str]:
        """Names and origins of the sources that came from a file, or from files below a folder."""
        # A folder's files lie between its name with a separator and with the next character.
        first = path.rstrip(os.sep) + os.sep
        end = first[:-1] + chr(ord(first[-1]) + 1)
        query = f"SELECT name, origin FROM source WHERE namespace = ? AND {{}} {condition}"
        rows = self._connection.rows(
            f"{query.format('origin = ?')} UNION ALL {query.format('origin > ? AND origin < ?')}",
            namespace,
            path,
            namespace,
            first,
            end,
        )
        return dict(checked_rows(rows, "a source", str, str))


def add_shared(
    connection: Connection, new: Iterable[NewSource], vectors: Iterable[NewVector]
) -> None:
    """Store the vectors and symbols of new sources, which other sources may share, in commits."""
    symbols = {
        name
        for source in new
        for slot in source.slots
        for name in (*slot.key_symbols, *slot.value_symbols)
    }
    with connection.transaction(advance=False):
        text_vectors.add_new(connection, vectors)
    with connection.transaction(advance=False):
        # Sorted: transactions that add the same ones wait for each other in one order.
        connection.insert("symbol", ("name",), ((name,) for name in sorted(symbols)), new_only=True)


def put_all(connection: Connection, new: Sequence[NewSource], vectors: Iterable[NewVector]) -> None:
    """Put sources with the vectors that their slots lack, and delete what they no longer have."""
    by_digest = {vector.digest: vector for vector in vectors}
    lacking = text_vectors.missing_digests(connection, by_digest)
    # Most are there, if they were added on their own before.
    text_vectors.add(connection, [by_digest[digest] for digest in lacking])
    # Last: until all are put, one may come to share the vectors of another.
    slots.delete(connection, put(connection, new)[1])


def put_files(connection: Connection, files: Mapping[str, bytes], namespace: str) -> None:
    """Note that all sources of some files are stored, with the digests of the files' contents."""
    connection.insert(
        "file",
        ("namespace", "path", "digest"),
        [(namespace, path, digest) for path, digest in files.items()],
        replacing=("namespace", "path"),
    )


def states(connection: Connection, names: Iterable[str], namespace: str) -> dict[str, SourceState]:
    """As ``Sources.states``."""
    rows = connection.rows(
        f"SELECT name, digest, origin FROM source WHERE namespace = ? AND name {IN_LIST}",
        namespace,
        Values(names),
    )
    return {name: SourceState(digest, origin) for name, digest, origin in rows}


def changed(connection: Connection, new: Sequence[NewSource]) -> tuple[list[NewSource], PutCounts]:
    """The sources that differ from what is stored, and the counts that a ``put`` of them gives."""
    differing: list[NewSource] = []
    added = updated = 0
    for namespace in dict.fromkeys(source.namespace for source in new):
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
    connection: Connection,
    new: Sequence[NewSource],
    encode: Encode,
    encode_passages: EncodePassages | None = None,
) -> list[NewVector]:
    """Encode what some sources need and the store lacks; ``encode_passages`` is for documents."""
    quickly = [one for one in new if encode_passages is not None and one.kind != "facts"]
    others = [one for one in new if encode_passages is None or one.kind == "facts"]
    passages, texts = (
        text_vectors.texts_of(slot for one in some for slot in one.slots)
        for some in (quickly, others)
    )
    vectors: list[NewVector] = []
    digests = [digest for digest in passages if digest not in texts]
    digests = text_vectors.missing_digests(connection, digests, quick_ones=True)
    if digests and encode_passages is not None:
        own = [passages[digest] for digest in digests]
        encoded = encode_passages(own)
        vectors = text_vectors.new_vectors(digests, encoded, own if encoded.quick else None)
    return vectors + _encoded(connection, texts, encode)


def _encoded(connection: Connection, texts: Mapping[bytes, str], encode: Encode) -> list[NewVector]:
    """Vectors of those of some texts, by digest, that have no full one."""
    digests = text_vectors.missing_digests(connection, texts)
    vectors = encode([texts[digest] for digest in digests]) if digests else ()
    return [NewVector(*one) for one in zip(digests, vectors, strict=True)]


def put(connection: Connection, new: Sequence[NewSource]) -> tuple[list[int], list[int]]:
    """Give sources, each of another name or namespace, their slots, leaving those that they have.

    In a transaction, and with the vectors of their slots stored. Gives ids of the slots that were
    added, and of those that they should no longer have. These are for the caller to delete, once
    every source of the transaction is put: until then other sources may come to share their
    vectors.
    """
    names = [(source.namespace, source.name) for source in new]
    before = _ids(connection, names)
    connection.execute_many(
        "DELETE FROM file WHERE namespace = ? AND path = (SELECT origin FROM source WHERE id = ?)",
        [(namespace, source) for (namespace, _), source in before.items()],
    )
    connection.insert(
        "source",
        ("namespace", "name", "kind", "origin", "title", "metadata", "digest", "headings"),
        [
            (
                source.namespace, source.name, source.kind, source.origin, source.title,
                json.dumps(dict(source.metadata), ensure_ascii=False, default=str),
                source.digest, json.dumps(list(source.headings), ensure_ascii=False),
            )
            for source in new
        ],
        replacing=("namespace", "name"),
    )  # fmt: skip
    if connection.one("SELECT 1 FROM evicted_source LIMIT 1") is not None:
        connection.execute_many(
            "DELETE FROM evicted_source WHERE namespace = ? AND name = ?", names
        )
    ids = _ids(connection, names)
    stored: dict[int, dict[bytes, int]] = {}
    for source_id, digest, slot in connection.rows(
        f"SELECT source, digest, id FROM slot WHERE source {IN_LIST}", Values(ids.values())
    ):
        stored.setdefault(source_id, {})[digest] = slot
    added: list[slots.SourceSlots] = []
    outdated: list[int] = []
    for name, source in zip(names, new, strict=True):
        wanted, own = slots.by_content(source.slots), stored.get(ids[name], {})
        lacking = {digest: slot for digest, slot in wanted.items() if digest not in own}
        added.append(slots.SourceSlots(ids[name], lacking, source.namespace, source.used))
        outdated += [slot for digest, slot in own.items() if digest not in wanted]
    return slots.add(connection, added), outdated


def _ids(connection: Connection, names: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Ids of those of some sources, given by namespace and name, that are stored."""
    by_namespace: dict[str, list[str]] = {}
    found: dict[tuple[str, str], int] = {}
    for namespace, name in names:
        if "\0" not in name:
            by_namespace.setdefault(namespace, []).append(name)
            continue
        # To SQLite's JSON a text ends at a NUL.
        row = connection.one(
            "SELECT id FROM source WHERE namespace = ? AND name = ?", namespace, name
        )
        if row is not None:
            found[namespace, name] = checked_count(row[0])
    for namespace, some in sorted(by_namespace.items()):
        for name, source in connection.rows(
            # In one order: writers of the same ones wait for each other here.
            f"SELECT name, id FROM source WHERE namespace = ? AND name {IN_LIST} "
            f"ORDER BY name {connection.locking}",
            namespace,
            Values(some),
        ):
            found[namespace, name] = checked_count(source)
    return found


def add_slots(
    connection: Connection, name: str, namespace: str, new: Sequence[NewSlot], encode: Encode
) -> list[int]:
    """As ``MemoryStore.add_slots``."""
    row = connection.one("SELECT id FROM source WHERE namespace = ? AND name = ?", namespace, name)
    if row is None:
        raise missing("the source of a slot")
    text_vectors.add(connection, _encoded(connection, text_vectors.texts_of(new), encode))
    own = slots.SourceSlots(checked_count(row[0]), slots.by_content(new), namespace)
    return slots.add(connection, [own])


def delete(connection: Connection, names: Iterable[str], namespace: str | None) -> int:
    """As ``MemoryStore.delete``."""
    names = list(names)
    within, own = of_namespace(namespace)
    chosen = connection.rows(
        f"SELECT id FROM source WHERE name {IN_LIST} {within} {connection.locking}",
        Values(names),
        *own,
    )
    ids = Values(row[0] for row in chosen)
    doomed = [row[0] for row in connection.rows(f"SELECT id FROM slot WHERE source {IN_LIST}", ids)]
    slots.delete(connection, doomed)
    connection.execute(
        "DELETE FROM file WHERE (namespace, path) IN "
        f"(SELECT namespace, origin FROM source WHERE id {IN_LIST})",
        ids,
    )
    connection.execute(f"DELETE FROM source WHERE id {IN_LIST}", ids)
    for table, name in (("evicted_source", "name"), ("eviction", "source")):
        connection.execute(
            f"DELETE FROM {table} WHERE {name} {IN_LIST} {within}", Values(names), *own
        )
    return len(doomed)


def origins(connection: Connection, names: Iterable[str], namespace: str | None) -> list[str]:
    """The files that some sources came from; ``namespace`` None means those of all."""
    within, own = of_namespace(namespace)
    rows = connection.rows(
        f"SELECT origin FROM source WHERE origin <> '' AND name {IN_LIST} {within}",
        Values(names),
        *own,
    )
    # Made distinct here: to do so SQLite would go through the index of the origins of all sources.
    return list(dict.fromkeys(row[0] for row in checked_rows(rows, "the origin of a source", str)))


def unused_origins(connection: Connection, found: Sequence[str]) -> list[str]:
    """Those of some files that no source came from."""
    rows = connection.rows(
        f"SELECT DISTINCT origin FROM source WHERE origin {IN_LIST}", Values(found)
    )
    used = {row[0] for row in checked_rows(rows, "the origin of a source", str)}
    return [origin for origin in found if origin not in used]


def _conditions(connection: Connection, wanted: SourceFilter) -> tuple[str, list[Any]]:
    """What a row of ``source`` must be, "AND ..." or none, and the parameters."""
    chosen: dict[str, Any] = dict(zip(wanted._fields, wanted[:3], strict=False))
    conditions = [(f"{name} = ?", [value]) for name, value in chosen.items() if value is not None]
    if wanted.query:
        held = "%{}%".format(re.sub("[!%_]", r"!\g<0>", wanted.query))
        either = "(lower(title) LIKE lower(?) ESCAPE '!' OR lower(name) LIKE lower(?) ESCAPE '!')"
        conditions.append((either, [held, held]))
    if wanted.word:  # the case of others than A to Z is not known
        said = "%{}%".format(re.sub("[^a-z0-9]", "_", wanted.word))
        conditions.append(("lower(title || name || metadata) LIKE ?", [said]))
    if wanted.days:
        within = {"from": wanted.days[0], "to": f"{wanted.days[1]}~"}  # behind times of that day
        dated, values = zip(*(connection.metadata(key, within) for key in _DATES), strict=True)
        # A chat may begin before these days and end after them.
        begins, until = connection.metadata("first", {"to": within["to"]})
        ends, since = connection.metadata("last", {"from": within["from"]})
        held = f"({' OR '.join(dated)} OR ({begins} AND {ends}))"
        conditions.append((held, [*chain(*values), *until, *since]))
    return "".join(f"AND {condition} " for condition, _ in conditions), [
        value for _, values in conditions for value in values
    ]


def _text(connection: Connection, source_id: int, characters: int | None = None) -> str:
    """The text of a source: its headings and slots, with line breaks where they leave a gap.

    Of no more than its first ``characters`` the other slots are not read.
    """
    headings = connection.only("SELECT headings FROM source WHERE id = ?", source_id)
    rows = connection.rows(
        "SELECT start, text FROM slot WHERE source = ? AND kind <> 'reverse' AND start < ? "
        "ORDER BY start",
        source_id,
        _MAX_CHARACTERS + 1 if characters is None else characters,
    )
    parts: list[str] = []
    end = 0
    stored = [*checked_places(headings[0]), *checked_rows(rows, "a slot", int, str)]
    for start, text in sorted(stored):
        if not 0 <= start <= _MAX_CHARACTERS:
            raise damaged(f"a text of source {source_id}")
        parts += ["\n" * (start - end), text[max(0, end - start) :]]
        end = max(end, start + len(text))
    return "".join(parts)[:characters]
