"""Copies a store from one place to another: between folders, or to and from PostgreSQL."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from typing import Any, NamedTuple

from memnet.errors import InputError, StoreError
from memnet.storage.backend import Backend
from memnet.storage.models import ModelFolders
from memnet.storage.overview import connected
from memnet.storage.place import StorePlace, files_folder, place_name, store_place
from memnet.storage.postgres.address import is_address
from memnet.storage.store import MemoryStore, open_backend
from memnet.storage.tables.checked import IN_LIST, Values, checked_count, damaged
from memnet.storage.tables.checks import COPYING
from memnet.storage.tables.connection import SCHEMA_VERSION, Connection, Numbered
from memnet.storage.tables.digests import (
    TABLES,
    UPLOADS,
    RowDigest,
    Table,
    TableDigest,
    count_rows,
    key_of,
    moved,
    pages,
    table_digest,
)
from memnet.storage.uploads import Uploads
from memnet.storage.vectors.cache import INDEX_FILE

_NUMBERED: tuple[Numbered, ...] = ("source", "slot", "tell", "eviction")
_LOCK_SECONDS = 2.0
_CLEARED_SLOTS = 5_000
"""Slots that are taken out of the text index together."""


class CopyReport(NamedTuple):
    """What a copy did."""

    source: str
    """As messages name it."""
    target: str
    digests: dict[str, TableDigest]
    """Of the rows of both, by table."""
    resumed: bool
    """Whether it went on with one that was interrupted."""


class _Copied(NamedTuple):
    """What is in the target of the rows of a table."""

    last: list[Any]
    """The key of the last row, in the source."""
    rows: int
    digest: str


class _Progress(NamedTuple):
    """What the property ``copying`` of an unfinished copy says."""

    source: str
    """Its full name."""
    commit: int
    """Id of the commit that was copied last."""
    tables: dict[str, _Copied]

    @classmethod
    def parse(cls, text: str) -> "_Progress":
        """From the value of the property."""
        try:
            source, commit, tables = json.loads(text)
            return cls(source, commit, {name: _Copied(*one) for name, one in tables.items()})
        except (ValueError, TypeError, AttributeError) as error:
            raise damaged("a note of a copy") from error


def copy_store(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    on_progress: Callable[[int, int], None] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> CopyReport:
    """Copy all of a store, as it is at one commit; others may go on to read and write it.

    Every row is copied as it is, with its id; but paths of uploads lead to those of the target.
    Models and uploads are copied as files. At the end both stores are compared by digests. If it
    is interrupted, no store can be opened at the target, and the same call goes on with it.

    Args:
        source: its folder, or its address on PostgreSQL.
        target: a folder or an address where there is no store, an empty one, or an unfinished copy
            of the source.
        on_progress: called now and then with the number of rows copied or compared, and of all
            that are to be.
        on_note: called with a line about what is copied again, as the source has changed since.

    Raises:
        InputError: an address can't be used, or both are the same place.
        StoreError: there is no store to copy, something else is at the target, a text has U+0000
            and the target is on PostgreSQL, or rows can't be read or written.
        StoreBusyError: something else writes to the target.
        DependencyError: one is on PostgreSQL, and psycopg is not installed.
    """
    source, target = store_place(source), store_place(target)
    if _full_name(source) == _full_name(target):
        raise InputError(f"{place_name(source)} can't be copied to itself; choose another place")
    with connected(source) as found:
        if found is None:
            raise StoreError(f"there is no memnet store at {place_name(source)}; nothing is copied")
        reading = found
        if reading.schema_version < SCHEMA_VERSION:
            raise StoreError(
                f"{place_name(source)} has schema {reading.schema_version}, and only schema "
                f"{SCHEMA_VERSION} is copied; 'memnet info' on it brings it up to date"
            )
        with reading.snapshot():
            if is_address(target):
                _check_texts(reading, place_name(source))
            backend = open_backend(target, create=True, lock_seconds=_LOCK_SECONDS)
            with closing(backend.connections), backend.lock.held(_LOCK_SECONDS):
                copy = _Copy(source, reading, target, backend, on_progress, on_note)
                report = copy.run()
            encoder = reading.property("encoder")
            dimension = checked_count(reading.property("dimension") or 0)
    if encoder is not None:
        _save_index(target, encoder, dimension)
    return report


def _save_index(target: StorePlace, encoder: str, dimension: int) -> None:
    """Make the vector index of a copy in a folder; on a server whoever searches does so."""
    store = MemoryStore(target, fingerprint=encoder, dimension=dimension)
    # The end of a write saves it.
    with closing(store), store.writing():
        pass


class _Copy:
    """A copy under way, by the writer of its target."""

    def __init__(
        self,
        source: StorePlace,
        reading: Connection,
        target: StorePlace,
        backend: Backend,
        on_progress: Callable[[int, int], None] | None,
        on_note: Callable[[str], None] | None,
    ) -> None:
        self._source, self._target = source, target
        self._reading, self._writing = reading, backend.connections.connection()
        self._backend = backend
        self._uploads_there = Uploads(files_folder(source))
        self._uploads_here = Uploads(files_folder(target))
        self._on_progress = on_progress or (lambda _done, _all: None)
        self._on_note = on_note or (lambda _line: None)
        self._done = self._all = 0

    def run(self) -> CopyReport:
        """Copy all."""
        progress, resumed = self._begin()
        self._all = 2 * sum(count_rows(self._reading, table) for table in TABLES)
        digests: dict[str, TableDigest] = {}
        for table in TABLES:
            digests[table.name] = self._copy_table(table, progress)
        self._compare(digests)
        self._copy_files()
        self._end()
        names = place_name(self._source), place_name(self._target)
        return CopyReport(*names, digests, resumed)

    def _begin(self) -> tuple[_Progress, bool]:
        """Mark the target; gives what it has of the source, and whether that was interrupted."""
        writing, here = self._writing, place_name(self._target)
        source, commit = _full_name(self._source), self._reading.history.latest().commit_id
        noted = writing.property(COPYING) if writing.schema_version else None
        if noted is not None:
            before = _Progress.parse(noted)
            if before.source != source and self._reading.history.find(before.commit) is None:
                raise StoreError(
                    f"{here} is an unfinished copy of {before.source}, not of "
                    f"{place_name(self._source)}; run that copy again, or delete it"
                )
            if writing.schema_version < SCHEMA_VERSION:
                raise StoreError(
                    f"{here} is an unfinished copy that another version of memnet began; delete "
                    "it, and run the copy again"
                )
            return _Progress(source, commit, before.tables), True
        self._make_empty()
        # What is left there of another store would be found not to be of these rows.
        (files_folder(self._target) / INDEX_FILE).unlink(missing_ok=True)
        progress = _Progress(source, commit, {})
        with writing.transaction():
            _clear(writing, TABLES)
            self._note(progress)
        return progress, False

    def _make_empty(self) -> None:
        """Make a store at the target; one that is there must be empty and of the same encoder."""
        writing, here = self._writing, place_name(self._target)
        # Every schema has this table; others come with the migration.
        tables = ["source"] if writing.schema_version else []
        if not self._has_rows(tables):
            writing.migrate()
            tables = [table.name for table in TABLES if table.name != "property"]
        if self._has_rows(tables):
            raise StoreError(
                f"{here} holds a store already; choose a new folder, or a schema without a store"
            )
        encoder = writing.property("encoder")
        if encoder not in (None, self._reading.property("encoder")):
            raise StoreError(
                f"{here} is an empty store of encoder {encoder}, and {place_name(self._source)} "
                f"has {self._reading.property('encoder')}; choose a place without a store"
            )

    def _has_rows(self, tables: Sequence[str]) -> bool:
        return any(self._writing.one(f"SELECT 1 FROM {table} LIMIT 1") for table in tables)

    def _copy_table(self, table: Table, progress: _Progress) -> TableDigest:
        """Copy those rows of a table that the target lacks; gives the digest of all of them."""
        found = RowDigest()
        copied = progress.tables.get(table.name)
        if copied is not None:
            for page in pages(self._reading, table, last=copied.last):
                found.add(self._portable(table, page))
                self._advance(len(page))
            if found.result() != (copied.rows, copied.digest):
                self._begin_again(table, progress)
                self._advance(-found.result().rows)
                found, copied = RowDigest(), None
        for page in pages(self._reading, table, after=copied and copied.last):
            found.add(self._portable(table, page))
            here = moved(table, page, self._uploads_there.prefix, self._uploads_here.prefix)
            progress.tables[table.name] = _Copied(key_of(table, page[-1]), *found.result())
            with self._writing.transaction():
                self._writing.insert(table.name, list(table.columns), here)
                if table.name == "slot":
                    self._add_words(table, here)
                self._note(progress)
            self._advance(len(page))
        return found.result()

    def _begin_again(self, first: Table, progress: _Progress) -> None:
        """Delete the rows of a table, which the source has no longer so, and of all after it."""
        tables = TABLES[TABLES.index(first) :]
        self._on_note(
            f"{place_name(self._source)} has changed since the copy began: its tables from "
            f"{first.name!r} on are copied anew"
        )
        for table in tables:
            progress.tables.pop(table.name, None)
        with self._writing.transaction():
            _clear(self._writing, tables)
            self._note(progress)

    def _add_words(self, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Put slots into the text index."""
        names = list(table.columns)
        kind, *places = (names.index(name) for name in ("kind", "id", "title", "text"))
        chosen = (row for row in rows if row[kind] != "reverse")
        self._writing.text.add([(row[places[0]], row[places[1]], row[places[2]]) for row in chosen])

    def _compare(self, expected: dict[str, TableDigest]) -> None:
        """Check that the target holds the rows with these digests."""
        with self._writing.snapshot():
            for table in TABLES:
                found = table_digest(self._writing, table, self._uploads_here.prefix)
                if found != expected[table.name]:
                    raise StoreError(
                        f"{place_name(self._target)} does not hold what was copied to it: "
                        f"{table.name} differs, as where something else writes there; delete it, "
                        "and run the copy again"
                    )
                self._advance(found.rows)

    def _copy_files(self) -> None:
        try:
            self._uploads_there.copy_to(self._uploads_here)
            ModelFolders(files_folder(self._source)).copy_to(
                ModelFolders(files_folder(self._target))
            )
        except OSError as error:
            raise StoreError(
                f"the models and uploads of {place_name(self._source)} can't be copied ({error}); "
                "run the copy again when they can"
            ) from error

    def _end(self) -> None:
        """Let the target be a store."""
        reading, writing = self._reading, self._writing
        with writing.transaction():
            for table in _NUMBERED:
                writing.set_last_id(table, reading.last_id(table))
            writing.continue_ids()
            writing.execute("DELETE FROM property WHERE name = ?", COPYING)
        writing.history.forget_before(writing.history.latest())
        self._backend.check_copy(writing, checked_count(writing.property("dimension") or 0))

    def _note(self, progress: _Progress) -> None:
        self._writing.set_property(COPYING, json.dumps(progress, ensure_ascii=False))

    def _portable(self, table: Table, page: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows as they are compared."""
        return moved(table, page, self._uploads_there.prefix, UPLOADS)

    def _advance(self, rows: int) -> None:
        self._done += rows
        self._on_progress(self._done, self._all)


def _full_name(place: StorePlace) -> str:
    """A place as messages name it, whatever the current folder."""
    return place_name(place) if is_address(place) else os.path.realpath(place)


def _check_texts(connection: Connection, place: str) -> None:
    """Check that no source has a text which PostgreSQL can't hold."""
    chosen = {table.name: table for table in TABLES}
    for name, owner in (("source", "id"), ("slot", "source")):
        table = chosen[name]
        owners = list(table.columns).index(owner)
        for row in chain.from_iterable(pages(connection, table)):
            if any("\0" in value for value in row if isinstance(value, str)):
                found = connection.only("SELECT name FROM source WHERE id = ?", row[owners])
                raise StoreError(
                    f"the source {found[0]!r} of {place} has the character U+0000, which "
                    "PostgreSQL can't hold; forget it, or ingest it again without, and run the "
                    "copy again"
                )


def _clear(connection: Connection, tables: Sequence[Table]) -> None:
    """Delete all rows of some tables, given in the order of ``TABLES``, within a transaction."""
    for table in reversed(tables):
        if table.name == "slot":
            for ids in _slots(connection):
                connection.text.remove(ids)
                connection.execute(f"DELETE FROM slot WHERE id {IN_LIST}", Values(ids))
        else:
            connection.execute(f"DELETE FROM {table.name} WHERE {table.condition}")


def _slots(connection: Connection) -> Iterator[list[int]]:
    """The ids of all slots, some at a time, each of which is deleted before the next."""
    while rows := connection.rows(f"SELECT id FROM slot ORDER BY id LIMIT {_CLEARED_SLOTS}"):
        yield [row[0] for row in rows]
