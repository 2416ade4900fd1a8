"""The vector index as a cache of a store's rows: loaded, brought up to date, saved, rebuilt.

The file of the index may be missing, stale, torn or foreign at any time: what it lacks is read from
the rows, and what can't be trusted is made from them anew.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.errors import StoreError
from memnet.storage.values import Changes, Hits, Keys, Revision
from memnet.storage.vectors.build import IndexStamp
from memnet.storage.vectors.file import DamagedIndexError
from memnet.storage.vectors.index import IndexView, VectorIndex, kept_as_wanted, saved_stamp
from memnet.storage.vectors.parts import ToDevice

INDEX_FILE = "vectors.faiss"
INDEX_LOCK = "index.lock"

_log = logging.getLogger("memnet")
_BATCH = 10_000
"""Vectors that are read from the rows at once."""


class VectorRows(Protocol):
    """The rows of a store, as far as the index is made of them; of one thread."""

    changing: bool
    """Whether a transaction is under way that may change what is stored."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Every read inside sees the same commit."""

    def transaction(self, advance: bool = True) -> AbstractContextManager[None]:
        """Everything inside happens, or nothing; ``advance`` as the slots change."""

    def revision(self) -> Revision:
        """The last commit that changed the slots."""

    def revision_of(self, commit_id: int) -> Revision | None:
        """The commit with this id; None where it is unknown."""

    def changes_since(self, revision: Revision) -> Changes:
        """Slots that were added and removed since a commit."""

    def forget_revisions(self, before: Revision) -> None:
        """Drop the record of changes before a commit."""

    def dense_ids(self) -> NDArray[np.int64]:
        """Ids of all slots in the index, rising: [N] int64."""

    def keys(self, ids: Sequence[int], dimension: int) -> Keys:
        """Key vectors of slots."""


class IndexCache:
    """The vector index of the rows of a store, in one process; safe to use from many threads."""

    def __init__(
        self,
        folder: Path,
        fingerprint: str,
        dimension: int,
        config: StoreConfig,
        to_device: ToDevice | None,
        *,
        rows: Callable[[], VectorRows],
        try_writing: Callable[[], AbstractContextManager[bool]],
        on_saved: Callable[[], None],
    ) -> None:
        """Read nothing yet: the index is loaded when it is first used.

        Args:
            folder: of the store.
            fingerprint: of the encoder.
            dimension: D, width of the vectors.
            config: settings.
            to_device: copies vectors to another device; None for the processor.
            rows: gives the calling thread's connection to the rows.
            try_writing: gives True while the caller is the store's one writer, or False where
                someone else is, or nobody may be; it does not wait.
            on_saved: called when the file has been replaced.
        """
        self._folder = folder
        self._path = folder / INDEX_FILE
        self._fingerprint = fingerprint
        self._dimension = dimension
        self._config = config
        self._to_device = to_device
        self._rows = rows
        self._try_writing = try_writing
        self._on_saved = on_saved
        self._guard = threading.RLock()
        self._index: VectorIndex | None = None
        self._revision: Revision | None = None
        self._stamp: IndexStamp | None = None
        """Of the file when it was last loaded."""
        self._writer: threading.Thread | None = None

    def close(self) -> None:
        """Wait for a file that is being written, and drop the index from memory."""
        if self._writer is not None:
            self._writer.join()
        with self._guard:
            self._index = None

    @property
    def description(self) -> str:
        """Kind and size of the index, for people."""
        with self._rows().snapshot(), self._guard:
            index = self._current()
            return f"{index.description}, {len(index)} vectors"

    def details(self) -> dict[str, Any]:
        """Kind of the index, how much of it is saved, and the recall it was built with."""
        with self._guard:
            return self._current().details()

    def search(
        self, query: NDArray[np.float32], limit: int, within: NDArray[np.int64] | None = None
    ) -> Hits:
        """As ``IndexView.search``, of the commit that the calling thread reads."""
        with self._guard:
            view = self._current().view
        try:
            return view.search(query, limit, within)
        except DamagedIndexError:
            with self._guard:
                self._discard()
                return self._current().search(query, limit, within)

    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Vectors of slots, as far as the index of the commit that is read has them in memory.

        Args:
            ids: [K] int64.

        Returns:
            [K, D] float32, and [K] bool which of them were found.
        """
        rows = self._rows()
        with self._guard:
            current = not rows.changing and self._revision == rows.revision()
            index = self._index if current else None
        with suppress(DamagedIndexError):
            if index is not None:
                return index.view.vectors(ids)
        return np.zeros((len(ids), self._dimension), np.float32), np.zeros(len(ids), np.bool_)

    def problems(self) -> list[str]:
        """What is wrong with the file; changes that it lacks are no problem."""
        rows, loaded = self._rows(), self._load()
        if loaded is None:
            return ["vector index: the file is missing or damaged"]
        index, stamp = loaded
        try:
            index.check()
        except DamagedIndexError as error:
            return [f"vector index: the file is damaged: {error}"]
        revision = rows.revision_of(stamp.commit_id)
        if revision is None:
            return ["vector index: the file was not made from these rows"]
        changes = rows.changes_since(revision)
        ids = np.append(np.setdiff1d(index.ids(), changes.removed), changes.added)
        if not np.array_equal(np.sort(ids), rows.dense_ids()):
            return ["vector index: does not hold the ids of the rows"]
        return []

    def rebuild(self) -> None:
        """Make the index and its file from the rows; the caller is the store's one writer."""
        with self._guard:
            self._discard()
        self._write_current()

    def save_if_stale(self) -> None:
        """Save the index if its file lacks much, or is of another kind than the settings name.

        Called by the store's one writer, after its commits. The rows are safe by then: a file that
        can't be written is a warning.
        """
        try:
            as_wanted = kept_as_wanted(self._path, self._config.index)
            if as_wanted and not self._is_stale():
                return
            with self._guard:
                size = len(self._current())
            if size > self._config.index.max_flat:
                self._write_in_background()
            else:
                self._write_current()
        except (StoreError, MemoryError) as error:
            _log.warning("%s; until it is, readers make up for it from the rows", error)

    def _current(self) -> VectorIndex:
        """The index, brought up to date with the rows; the caller holds the guard."""
        rows = self._rows()
        with rows.snapshot():
            revision = rows.revision()
            if self._index is not None and self._revision == revision:
                return self._index
            index, of = self._index, self._revision
            loaded = index is None or of is None
            # Dropped while it is updated: on failure, or inside an open transaction, other threads
            # must not see it.
            self._index = None
            if index is None:
                index, of = self._load_known()
            changes = self._changes(index, of)
            index.remove(changes.removed)
            for start in range(0, len(changes.added), _BATCH):
                keys = rows.keys(changes.added[start : start + _BATCH].tolist(), self._dimension)
                index.add(keys.ids, keys.vectors)
            if rows.changing:
                return index
            self._index, self._revision = index, revision
            if loaded and (of is None or self._is_stale()):
                self._offer(index, revision)
            return index

    def _changes(self, index: VectorIndex, revision: Revision | None) -> Changes:
        """What an index of an earlier commit lacks, and what it holds too much.

        A slot never changes its vector and no id is used twice, so ids are enough. Where the rows
        don't know the commit, as seen by a read that began before it, all ids are compared.
        """
        rows = self._rows()
        if revision is not None and rows.revision_of(revision.commit_id) == revision:
            return rows.changes_since(revision)
        wanted, indexed = rows.dense_ids(), index.ids()
        return Changes(np.setdiff1d(wanted, indexed), np.setdiff1d(indexed, wanted))

    def _load(self) -> tuple[VectorIndex, IndexStamp] | None:
        return VectorIndex.load(
            self._path, self._fingerprint, self._dimension, self._config.index, self._to_device
        )

    def _load_known(self) -> tuple[VectorIndex, Revision | None]:
        """The index of the file and its commit, or an empty one where it isn't of these rows."""
        self._stamp = saved_stamp(self._path)
        loaded = self._load()
        revision = None if loaded is None else self._rows().revision_of(loaded[1].commit_id)
        if loaded is None or revision is None:
            return self._empty(), None
        return loaded[0], revision

    def _empty(self) -> VectorIndex:
        return VectorIndex(self._dimension, self._config.index, self._to_device)

    def _discard(self) -> None:
        """Make the index from the rows when it is next used; its file is not to be trusted."""
        self._index, self._revision = self._empty(), None

    def _is_stale(self) -> bool:
        """Whether the file lacks so many changes that it is worth writing again."""
        stamp, rows = saved_stamp(self._path), self._rows()
        revision = None if stamp is None else rows.revision_of(stamp.commit_id)
        if stamp is None or revision is None:
            return True
        changes = rows.changes_since(revision)
        missing = len(changes.added) + len(changes.removed)
        return missing > 0 and missing >= self._config.unsaved_share * stamp.slots

    def _offer(self, index: VectorIndex, revision: Revision) -> None:
        """Save what a reader made, unless someone writes, or did since it loaded the file."""
        # A damaged file shows again in the search that follows, which makes the index anew.
        with suppress(StoreError, DamagedIndexError), self._try_writing() as writing:
            if not writing:
                return
            if len(index) > self._config.index.max_flat:
                self._write_in_background()
            elif saved_stamp(self._path) == self._stamp:
                self._write(index, revision, index.view)

    def _write_in_background(self) -> None:
        """Write the file in a thread of its own, unless one is at it already."""
        with self._guard:
            if self._writer is None or not self._writer.is_alive():
                self._writer = threading.Thread(target=self._write_alone)
                self._writer.start()

    def _write_alone(self) -> None:
        """Write the file, unless another process is at it; runs in a thread of its own."""
        try:
            with FileLock(self._folder / INDEX_LOCK, mode=0o600).acquire(timeout=0):
                self._write_current()
        except Timeout:
            pass
        except (StoreError, MemoryError) as error:
            _log.warning("%s; until it is, readers make up for it from the rows", error)

    def _write_current(self) -> None:
        """Write the file, and drop the record of changes that only older files needed."""
        try:
            revision = self._write_view()
        except DamagedIndexError:
            with self._guard:
                self._discard()
            revision = self._write_view()
        rows = self._rows()
        with rows.transaction(advance=False):
            rows.forget_revisions(revision)

    def _write_view(self) -> Revision:
        """Write the index as it is now; returns the commit that it is of.

        Raises:
            DamagedIndexError: the file that the index came from is not what was written.
            StoreError: the file can't be written.
        """
        rows = self._rows()
        with self._guard, rows.snapshot():
            index = self._current()
            revision, view = rows.revision(), index.view
        self._write(index, revision, view)
        return revision

    def _write(self, index: VectorIndex, revision: Revision, view: IndexView) -> None:
        stamp = IndexStamp(revision.commit_id, self._fingerprint, self._dimension, view.size)
        try:
            index.save(self._path, stamp, view)
            self._on_saved()
        except OSError as error:
            raise StoreError(
                f"the vector index could not be saved ({error}); the rows are safe: "
                "check free space and permissions"
            ) from error
