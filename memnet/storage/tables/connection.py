"""What the rows of a store are read and written through, whatever database holds them."""

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memnet.errors import StoreError
from memnet.storage.tables.checked import IN_LIST, Row, Values, missing
from memnet.storage.values import Revision, Scope

SCHEMA_VERSION = 1  # of every database; each has numbered steps that lead to it
Numbered = Literal["source", "slot", "tell", "eviction"]  # tables whose ids are never used twice

# SQL for the slots whose words are in the text index.
INDEXED_SLOTS = "FROM slot WHERE kind <> 'reverse'"
PAGE = 500  # slots whose texts are read, or split into words, at once
# SQL for a row of ``symbol`` that no slot uses.
UNUSED_SYMBOL = (
    "NOT EXISTS (SELECT 1 FROM slot_key WHERE slot_key.symbol = symbol.id) "
    "AND NOT EXISTS (SELECT 1 FROM mention WHERE mention.symbol = symbol.id)"
)
# SQL for a row of ``vector`` that no slot uses.
UNUSED_VECTOR = (
    "NOT EXISTS (SELECT 1 FROM slot WHERE slot.vector = vector.id) "
    "AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.relation_vector = vector.id)"
)


class StoredVector(NamedTuple):
    """A row of a vector."""

    id: int
    full: bool  # whether it is not a quick one, which a full one is to replace


def check_version(place: str, version: int, is_own: bool) -> None:
    """Check the schema version of a database, which may have the mark of a released one."""
    if version < 0 or (version and not is_own):
        raise StoreError(
            f"{place} was made by a version of memnet before 0.1.0 (schema {version}); ingest "
            "into a new store"
        )
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{place} has schema {version}, and this version of memnet knows schemas up to "
            f"{SCHEMA_VERSION}; upgrade memnet"
        )


def on_conflict(columns: Sequence[str], key: Sequence[str]) -> str:
    """The end of an "upsert", which gives a row of the same key the other columns; or nothing."""
    if not key:
        return ""
    values = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in key)
    return f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {values}"


class Connection(ABC):
    """A connection of one thread. Reads outside ``transaction`` see the last commit.

    Statements are in the SQL that SQLite and PostgreSQL share, with "?" for parameters.
    """

    changing: bool  # whether a transaction is under way that may change what is stored
    schema_version: int  # of the database; 0 for an empty one
    text: "TextIndex"
    # Single rows read in this snapshot; None outside of one.
    _snapshot_rows: dict[tuple[Any, ...], Row | None] | None = None
    # What a SELECT ends with whose rows no other transaction may change until this one ends.
    locking: ClassVar[str]
    # A subquery with the columns key, a and b, for a ``Values`` of lists of two integers.
    pairs: ClassVar[str]

    @staticmethod
    @abstractmethod
    def metadata(key: str, wanted: Any) -> tuple[str, list[Any]]:
        """A condition on the metadata of ``source`` for a key and a value of ``Scope.where``."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection, once the statement or transaction under way has ended."""

    @abstractmethod
    def migrate(self) -> None:
        """Bring the schema up to date; nobody else does so at the same time."""

    @abstractmethod
    def transaction(self, advance: bool = True) -> AbstractContextManager[None]:
        """Everything inside happens, or nothing does; a commit advances the generation.

        A transaction inside another is a part of it. Without ``advance`` no slot is added, ended or
        deleted: the vector index stays as it is.

        Raises:
            StoreError: the database can't be written (read-only, full, damaged).
        """

    def release_space(self) -> None:  # noqa: B027
        """Give the space of what was deleted or merged back, where it is much; after a write."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Every read inside sees the same commit."""

    @abstractmethod
    def execute(self, statement: str, *parameters: Any) -> None:
        """Run a statement that gives no rows; its errors are those of the transaction."""

    @abstractmethod
    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of parameters."""

    @abstractmethod
    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        new_only: bool = False,
        replacing: Sequence[str] = (),
    ) -> None:
        """Insert rows, which may be many; columns that are not given get their defaults.

        With ``new_only`` rows whose key is there already are passed over. ``replacing`` are the
        columns of a key: a row that has it already gets the other columns.

        Raises:
            DuplicateRowsError: two rows are the same where they may not be.
        """

    @abstractmethod
    def rows(self, statement: str, *parameters: Any) -> list[Row]:
        """All rows of a statement; a StoreError if they can't be read, or the store was closed."""

    @abstractmethod
    def new_ids(self, table: Numbered, count: int) -> list[int]:
        """Rising ids that no row ever had; to be inserted before more are asked for."""

    @abstractmethod
    def new_symbols(self, names: Iterable[str]) -> dict[str, int]:
        """Store symbols that were not found; gives their ids by name. Within a transaction."""

    @abstractmethod
    def last_id(self, table: Numbered) -> int:
        """The highest id that a row of a table ever had; 0 without any."""

    @abstractmethod
    def set_last_id(self, table: Numbered, last: int) -> None:
        """Let new ids of a table be higher than ``last``."""

    def continue_ids(self) -> None:  # noqa: B027
        """Let new symbols and vectors have higher ids than all that were inserted with theirs."""

    @abstractmethod
    def vectors_by_digest(self, digests: Sequence[bytes]) -> dict[bytes, StoredVector]:
        """Those of some vectors that are stored, by the digests of what they encode."""

    def delete_unused(self, symbols: Sequence[int], vectors: Sequence[int]) -> None:
        """Delete those of some symbols and vectors, given by id, that nothing uses."""
        self.execute(f"DELETE FROM symbol WHERE id {IN_LIST} AND {UNUSED_SYMBOL}", Values(symbols))
        self.execute(f"DELETE FROM vector WHERE id {IN_LIST} AND {UNUSED_VECTOR}", Values(vectors))

    @abstractmethod
    def revision(self) -> Revision:
        """The last commit that changed what is stored, of those that are seen."""

    def note_replaced(self, vectors: Sequence[int]) -> None:  # noqa: B027
        """Note that the passages that have one of some vectors, by id, have another now."""

    @abstractmethod
    def problems(self) -> list[str]:
        """What is wrong with the types and references of the rows, a line each."""

    def file_problems(self) -> list[str]:
        """What is wrong with the files of the database and its last commit, a line each."""
        return []

    def ids(self, statement: str, *parameters: Any) -> NDArray[np.int64]:
        """The rows of a statement that gives one integer each: [N] int64."""
        return np.fromiter((row[0] for row in self.rows(statement, *parameters)), np.int64)

    def one(self, statement: str, *parameters: Any) -> Row | None:
        """The first row of a statement, or None."""
        rows = self.rows(statement, *parameters)
        return rows[0] if rows else None

    def one_of_snapshot(self, statement: str, *parameters: Any) -> Row | None:
        """As ``one``; within a snapshot the same statement is run once."""
        known = self._snapshot_rows
        if known is None:
            return self.one(statement, *parameters)
        key = (statement, *parameters)
        if key not in known:
            known[key] = self.one(statement, *parameters)
        return known[key]

    def only(self, statement: str, *parameters: Any) -> Row:
        """The row of a statement that always gives one."""
        row = self.one(statement, *parameters)
        if row is None:
            raise missing("a row of its own description")
        return row

    def rows_of(self, statement: str, texts: Iterable[str]) -> list[Row]:
        """The rows of a statement that ends with a column which has to have one of some texts."""
        given = list(texts)
        rows = self.rows(f"{statement} {IN_LIST}", Values(given))
        for text in given:
            if "\0" in text:  # to SQLite's JSON a text ends there
                rows += self.rows(f"{statement} = ?", text)
        return rows

    def property(self, name: str) -> str | None:
        """The value of a named property of the store, or None."""
        row = self.one_of_snapshot("SELECT value FROM property WHERE name = ?", name)
        return None if row is None else str(row[0])

    def set_property(self, name: str, value: str) -> None:
        """Set a named property of the store."""
        self.insert("property", ("name", "value"), [(name, value)], replacing=("name",))


class TextIndex(ABC):
    """The words of slots, but for reverse facts, scored by BM25.

    Texts are split by ``memnet.storage.lexical``, and stemmed as by FTS5.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, slots: Sequence[tuple[int, str, str]]) -> None:  # noqa: B027
        """Index slots that were added: ids, titles and texts."""

    def remove(self, slots: Sequence[int]) -> None:  # noqa: B027
        """Remove slots, by id, before they are deleted."""

    @abstractmethod
    def search(
        self, terms: Sequence[str], limit: int, scope: Scope, hidden: NDArray[np.int64]
    ) -> list[tuple[int, float]]:
        """Slots with any of some distinct terms, best first, as (id, BM25); ties by rising ids.

        ``hidden`` are ids [H] int64 of statements that do not hold at the scope's time.
        """

    @abstractmethod
    def postings(
        self, term: str, max_postings: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """The slots with a term: ids [P] int64, rising, and BM25 [P] float64.

        None if more than ``max_postings`` slots have it. A term that the tokenizer splits is a
        phrase, and one that ``is_beginning`` stands for all words that begin with it.
        """

    @abstractmethod
    def rebuild(self) -> None:
        """Make the index anew from the slots, within a transaction."""

    @abstractmethod
    def agrees(self) -> bool:
        """Whether the index is sound, and is of the slots that it should hold, no others."""

    def _pages(self) -> Iterator[list[tuple[int, str, str]]]:
        """Ids, titles and texts of all slots that it should hold, by rising ids."""
        last = -1
        while rows := self._connection.rows(
            # In a damaged database titles and texts may be anything.
            "SELECT id, coalesce(CAST(title AS TEXT), ''), coalesce(CAST(text AS TEXT), '') "
            f"{INDEXED_SLOTS} AND id > ? ORDER BY id LIMIT ?",
            last,
            PAGE,
        ):
            yield [(slot, title, text) for slot, title, text in rows]
            last = rows[-1][0]


class Rows(Protocol):
    """What the parts of a store read and write its rows through."""

    dimension: int

    @property
    def connection(self) -> Connection:
        """The calling thread's own."""
        ...

    def changing(self, advance: bool = True) -> AbstractContextManager[None]:
        """A transaction of the store's one writer, as ``MemoryStore.changing``."""
        ...


class Part:
    """A part of a store; may be shared between threads."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @property
    def _connection(self) -> Connection:
        return self._rows.connection

    def _change(self, statement: str, *parameters: Any) -> None:
        """Run a statement that changes rows, as a transaction or a part of one."""
        with self._rows.changing():
            self._connection.execute(statement, *parameters)


# What a parent process opened, kept for the life of a forked child: SQLite forbids the child to
# close the parent's connections, and Python would close those that nothing refers to.
_INHERITED: list[object] = []


def keep_inherited(thing: object) -> None:
    """Keep a parent's resource from being closed in this process, which is a forked child."""
    _INHERITED.append(thing)


class _Owner:
    """Lives in the local storage of a thread, and dies with the thread."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection


class Connections:
    """The connections of the threads of one process to one database.

    A thread's connection is opened at its first use and closed when the thread ends, or by
    ``close``. A child that is forked needs connections of its own, made by a new object.
    """

    def __init__(self, open_connection: Callable[[], Connection], place: str) -> None:
        """Open nothing yet; ``place`` is as messages name it."""
        self._open_connection = open_connection
        self._place = place
        self._process = os.getpid()
        self._local = threading.local()
        # By identity. Changed by single dictionary operations, which need no lock: a lock could be
        # held by the thread in which the end of another thread is noticed.
        self._open: dict[int, Connection] = {}
        self._closed = False

    def connection(self) -> Connection:
        """The calling thread's own connection."""
        owner: _Owner | None = getattr(self._local, "owner", None)
        if owner is not None:
            return owner.connection
        connection = self._open_connection()
        owner = _Owner(connection)
        self._open[id(connection)] = connection
        end = weakref.finalize(owner, _end, connection, self._open, self._process)
        # A process that ends without closing the store leaves its files as they are.
        end.atexit = False
        self._local.owner = owner
        if self._closed:
            # ``close`` may have passed before the connection was entered.
            connection.close()
            raise StoreError(f"the store {self._place} is closed; open it again")
        return connection

    def close(self) -> None:
        """Close the connections of all threads, once what these do right now has ended.

        In a forked child nothing is closed: the connections are the parent's.
        """
        self._closed = True
        if self._process != os.getpid():
            return
        while self._open:
            self._open.popitem()[1].close()


def _end(connection: Connection, opened: dict[int, Connection], process: int) -> None:
    """Close the connection of a thread that has ended."""
    if process != os.getpid():
        # To a forked child all threads but one have ended; their connections are the parent's.
        keep_inherited(connection)
        return
    if opened.pop(id(connection), None) is not None:
        connection.close()
