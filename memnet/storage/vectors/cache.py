"""The vector index as a cache of a store's rows: loaded, brought up to date, saved, rebuilt.

The file of the index may be missing, stale, torn or foreign at any time: what it lacks is read from
the rows, and one that can't be trusted is not used. What may hold of a file is checked when it is
loaded.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.errors import EncoderMismatchError, StoreError
from memnet.storage.backend import DenseIndex
from memnet.storage.tables import slots
from memnet.storage.tables.checked import checked_integer, checked_rows
from memnet.storage.tables.connection import Connection
from memnet.storage.values import Changes, Hits, IndexInfo, Revision, ToDevice, Within
from memnet.storage.vectors.file import IndexHeader, read_header
from memnet.storage.vectors.index import VectorIndex
from memnet.storage.vectors.search import uses_pq

INDEX_FILE = "vectors.faiss"
INDEX_LOCK = "index.lock"

_log = logging.getLogger("memnet")
_BATCH = 10_000  # vectors that are read from the rows at once: 15 MB


class IndexCache(DenseIndex):
    """The vectors of a store's passages as FAISS compares them in this process."""

    def __init__(
        self,
        folder: Path,
        fingerprint: str,
        dimension: int,
        config: StoreConfig,
        to_device: ToDevice | None,
        *,
        connection: Callable[[], Connection],
        try_writing: Callable[[], AbstractContextManager[bool]],
        on_saved: Callable[[], None],
    ) -> None:
        """Read nothing yet: the index is loaded when it is first used.

        ``connection`` gives the calling thread's own. ``try_writing`` gives, without waiting,
        whether the caller is the store's one writer for a block. ``on_saved`` is called when the
        file has been replaced.
        """
        self._folder = folder
        self._path = folder / INDEX_FILE
        self._fingerprint = fingerprint
        self._dimension = dimension
        self._config = config
        self._to_device = to_device
        self._connection = connection
        self._try_writing = try_writing
        self._on_saved = on_saved
        self._guard = threading.RLock()
        self._index: VectorIndex | None = None
        # The commit of the index; None while it holds nothing of the rows yet.
        self._revision: Revision | None = None
        self._loaded_header: IndexHeader | None = None  # of the file when it was last loaded
        self._writer: threading.Thread | None = None

    def close(self) -> None:
        if self._writer is not None:
            self._writer.join()
        with self._guard:
            self._index, self._revision = None, None

    def info(self) -> IndexInfo:
        return self._current().info()

    def search(
        self,
        query: NDArray[np.float32],
        limit: int,
        within: Within | None,
        hidden: NDArray[np.int64],
    ) -> Hits:
        ids = None if within is None else within.ids()
        return self._current().remove(hidden).search(query, limit, ids)

    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """As ``DenseIndex.vectors``; none where no index of the commit that is read is loaded."""
        connection = self._connection()
        with self._guard:
            index, revision = self._index, self._revision
        if index is not None and not connection.changing and revision == connection.revision():
            return index.vectors(ids)
        return np.zeros((len(ids), self._dimension), np.float32), np.zeros(len(ids), np.bool_)

    def problems(self) -> list[str]:
        connection, index = self._connection(), self._load()
        if index is None or index.header is None:
            return ["vector index: the file is missing or damaged"]
        revision = find_commit(connection, index.header.commit_id)
        if revision is None:
            return ["vector index: the file was not made from these rows"]
        changes = _changes_since(connection, revision)
        ids = np.append(np.setdiff1d(index.ids(), changes.removed), changes.added)
        if not np.array_equal(np.sort(ids), slots.dense_ids(connection)):
            return ["vector index: does not hold the ids of the rows"]
        # A damaged vector is a problem of the rows, which say so themselves.
        with suppress(StoreError):
            kept = np.setdiff1d(index.ids(), changes.removed)
            for start in range(0, len(kept), _BATCH):
                batch = kept[start : start + _BATCH].tolist()
                rows = slots.keys(connection, batch, self._dimension)
                if not index.agrees(rows.ids, rows.vectors):
                    return ["vector index: does not hold the vectors of the rows"]
        return []

    def rebuild(self) -> None:
        with self._guard:
            self._index, self._revision = self._empty(), None
        self._write_current(lock_seconds=-1)

    def save_if_stale(self) -> None:
        with _warning_on_failure():
            if self._is_of_wanted_kind() and not self._is_stale():
                return
            if len(self._current()) > self._config.index.max_flat:
                self._write_in_background()
            else:
                self._write_current()

    def _current(self) -> VectorIndex:
        connection = self._connection()
        with self._guard, connection.snapshot():
            revision = connection.revision()
            index, of = self._index, self._revision
            if index is not None and of == revision:
                return index
            encoder = connection.property("encoder")
            if encoder not in (None, self._fingerprint):
                raise EncoderMismatchError(
                    f"the vectors of the store {self._folder} are of encoder {encoder} now; "
                    "open it again"
                )
            first = of is None
            if index is None or not self._leads_to(of, revision):
                index, of = self._load_known()
            index = self._catch_up(index, of)
            if connection.changing:
                # Not committed: other threads must not see it.
                return index
            self._index, self._revision = index, revision
            if first and (of is None or self._is_stale()):
                self._offer(index, revision)
            return index

    def _catch_up(self, index: VectorIndex, revision: Revision | None) -> VectorIndex:
        changes = self._changes(index, revision)
        ids = np.empty(len(changes.added), np.int64)
        vectors = np.empty((len(ids), self._dimension), np.float32)
        count = 0
        for start in range(0, len(ids), _BATCH):
            batch = changes.added[start : start + _BATCH].tolist()
            keys = slots.keys(self._connection(), batch, self._dimension)
            end = count + len(keys.ids)
            ids[count:end], vectors[count:end] = keys.ids, keys.vectors
            count = end
        return index.remove(changes.removed).add(ids[:count], vectors[:count])

    def _leads_to(self, of: Revision | None, revision: Revision) -> bool:
        """Whether an index of a commit can be made one of another, which is read now.

        Not where the rows have forgotten what changed since, as after another process saved the
        file: some of its vectors may have been replaced.
        """
        if of is None or of.generation > revision.generation:
            return True
        return find_commit(self._connection(), of.commit_id) == of

    def _changes(self, index: VectorIndex, revision: Revision | None) -> Changes:
        """Slots to add to an index of another commit, and to remove from it.

        A read that began before the commit compares ids, of which none is used twice: it may see
        vectors that replaced those of its own commit, until the index goes on to a later one.
        """
        connection = self._connection()
        if revision is not None and find_commit(connection, revision.commit_id) == revision:
            return _changes_since(connection, revision)
        wanted, indexed = slots.dense_ids(connection), index.ids()
        return Changes(np.setdiff1d(wanted, indexed), np.setdiff1d(indexed, wanted))

    def _read_vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return slots.vectors(self._connection(), ids, self._dimension)

    def _load(self) -> VectorIndex | None:
        return VectorIndex.load(
            self._path,
            self._fingerprint,
            self._dimension,
            self._config.index,
            self._read_vectors,
            self._to_device,
        )

    def _load_known(self) -> tuple[VectorIndex, Revision | None]:
        """The index of the file and its commit, or an empty one where it isn't of these rows."""
        self._loaded_header = read_header(self._path)
        index = self._load()
        if index is not None and index.header is not None:
            revision = find_commit(self._connection(), index.header.commit_id)
            if revision is not None:
                return index, revision
        return self._empty(), None

    def _empty(self) -> VectorIndex:
        return VectorIndex.empty(self._dimension, self._config.index)

    def _is_stale(self) -> bool:
        """Whether the file lacks enough changes to be worth writing again."""
        header, connection = read_header(self._path), self._connection()
        revision = None if header is None else find_commit(connection, header.commit_id)
        if header is None or revision is None:
            return True
        missing = _count_changes_since(connection, revision)
        return missing > 0 and missing >= self._config.unsaved_share * header.count

    def _is_of_wanted_kind(self) -> bool:
        """Whether the file is of the kind that the settings name, if they name one."""
        config = self._config.index
        if config.kind == "auto":
            return True
        header = read_header(self._path)
        return header is not None and bool(header.code_size) == uses_pq(header.count, config)

    def _offer(self, index: VectorIndex, revision: Revision) -> None:
        """Save what a reader has loaded, unless someone writes, or did since it loaded the file."""
        with suppress(StoreError, Timeout), self._try_writing() as writing:
            if not writing:
                return
            if len(index) > self._config.index.max_flat:
                self._write_in_background()
            elif read_header(self._path) == self._loaded_header:
                self._write(index, revision)

    def _write_in_background(self) -> None:
        """Write the file in a thread of its own, unless one is at it already."""
        with self._guard:
            if self._writer is None or not self._writer.is_alive():
                self._writer = threading.Thread(target=_warning_on_failure()(self._write_current))
                self._writer.start()

    def _write_current(self, lock_seconds: float = 0) -> None:
        """Write the file, and drop the record of changes that only older files needed.

        A Timeout where another thread or process is at it for longer than ``lock_seconds``; -1
        waits.
        """
        connection = self._connection()
        # Its vectors may be read from the rows of its own commit until it is written.
        with connection.snapshot():
            index, revision = self._current(), connection.revision()
            self._write(index, revision, lock_seconds)
        # Of this commit the one index file is.
        with connection.transaction(advance=False):
            connection.execute("DELETE FROM revision WHERE generation < ?", revision.generation)
            connection.execute("DELETE FROM tombstone WHERE generation <= ?", revision.generation)

    def _write(self, index: VectorIndex, revision: Revision, lock_seconds: float = 0) -> None:
        """Write the index of a commit, and go on from the file; errors as ``_write_current``."""
        try:
            with FileLock(self._folder / INDEX_LOCK, mode=0o600).acquire(timeout=lock_seconds):
                index.save(self._path, revision.commit_id, self._fingerprint)
                saved = self._load()
            self._on_saved()
        except Timeout:
            raise
        except OSError as error:
            raise StoreError(
                f"the vector index could not be saved ({error}); the rows are safe: "
                "check free space and permissions"
            ) from error
        if saved is not None:
            with self._guard:
                # Commits that came meanwhile are read from the rows again.
                self._index, self._revision = saved, revision


@contextmanager
def _warning_on_failure() -> Iterator[None]:
    """Log a file that can't be written; leave it to another thread or process that is at it."""
    try:
        yield
    except Timeout:
        pass
    except (StoreError, MemoryError) as error:
        _log.warning("%s; until it is, readers make up for it from the rows", error)


# The commits of a database file: there is one writer, and ids rise from commit to commit. The
# following read within a snapshot.


def find_commit(connection: Connection, commit_id: int) -> Revision | None:
    """A commit by its id, if the rows still know it."""
    row = connection.one(
        "SELECT generation, commit_id, last_slot FROM revision WHERE commit_id = ?", commit_id
    )
    return None if row is None else Revision(*map(checked_integer, row))


def _changes_since(connection: Connection, revision: Revision) -> Changes:
    """How the slots that vector search covers differ from those of an earlier commit.

    A slot whose vector was replaced is removed and added. Statements that ended stay, and a
    search leaves them out. No id is used twice: what was added since has a higher id, and what
    was removed is listed in the table ``tombstone``.
    """
    added = connection.ids(
        "SELECT id FROM slot WHERE id > ? AND kind = 'passage' UNION "
        "SELECT slot.id FROM tombstone JOIN slot ON slot.id = tombstone.slot "
        "WHERE tombstone.generation > ?",
        revision.last_slot,
        revision.generation,
    )
    removed = connection.rows(
        "SELECT slot FROM tombstone WHERE generation > ?", revision.generation
    )
    checked_rows(removed, "a slot", int)
    return Changes(added, np.fromiter((row[0] for row in removed), np.int64))


def _count_changes_since(connection: Connection, revision: Revision) -> int:
    """About how many slots ``_changes_since`` gives: replaced ones count twice."""
    row = connection.only(
        "SELECT (SELECT count(*) FROM slot WHERE id > ? AND kind = 'passage') + "
        "(SELECT count(*) FROM tombstone WHERE generation > ?)",
        revision.last_slot,
        revision.generation,
    )
    return checked_integer(row[0])
