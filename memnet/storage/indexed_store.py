"""The vector index of a store, kept up to date with its rows and saved beside them."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.errors import StoreError
from memnet.storage.lexical.words import Words
from memnet.storage.opened_store import OpenedStore, same_rights
from memnet.storage.slots import Changes, Revision
from memnet.storage.vectors.build import IndexStamp
from memnet.storage.vectors.file import DamagedIndexError
from memnet.storage.vectors.index import IndexView, VectorIndex, kept_as_wanted, saved_stamp
from memnet.storage.vectors.parts import Hold

_log = logging.getLogger("memnet")
_INDEX = "vectors.faiss"
_INDEX_LOCK = "index.lock"


class IndexedStore(OpenedStore):
    """A store with its vector index, which is saved when a write ends."""

    def __init__(
        self,
        path: Path,
        fingerprint: str,
        dimension: int,
        create: bool,
        lock_seconds: float,
        config: StoreConfig,
        hold: Hold | None,
    ) -> None:
        """Open the store as it is; arguments and errors as for ``MemoryStore``."""
        self.fingerprint = fingerprint
        self.dimension = dimension
        self._config = config
        self._hold = hold
        self._stamp: IndexStamp | None = None
        self._index: VectorIndex | None = None
        super().__init__(path, create, lock_seconds)

    def close(self) -> None:
        """Close the store's files, once what other threads do right now has ended.

        So has the writing of an index beside. A thread that goes on to use the store is told that
        it is closed.
        """
        own = self._process == os.getpid()
        if own and self._index_writer is not None:
            self._index_writer.join()
        super().close()
        # In a forked child a thread of the parent may have held the guard for ever.
        if own:
            with self._index_guard:
                self._index = None

    @contextmanager
    def writing(self, wait: float | None = None) -> Iterator[None]:
        """Be the one writer of the store until the block ends.

        At its end the vector index is saved if its file lacks much by now.

        Args:
            wait: seconds to wait for another writer; None for as long as the store was told.

        Raises:
            StoreBusyError: another thread or process is writing.
            StoreError: the store is read-only.
        """
        self._acquire_writer(self._lock_seconds if wait is None else wait)
        process = self._process
        try:
            self._writer_depth += 1
            yield
            if self._writer_depth == 1:
                self._save_index()
        finally:
            if process == os.getpid():
                self._writer_depth -= 1
                self._file_lock.release()
                self._write_guard.release()

    def index_description(self) -> str:
        """Kind and size of the vector index, for people."""
        with self.reading(), self._index_guard:
            index = self._current_index()
            return f"{index.description}, {len(index)} vectors"

    def index_details(self) -> dict[str, Any]:
        """Kind of the vector index, how much of it is saved, and the recall it was built with."""
        with self._index_guard:
            return self._current_index().details()

    @property
    def _index_path(self) -> Path:
        return self.path / _INDEX

    def _start_process(self) -> None:
        """As ``OpenedStore`` says, without what the parent had searched for."""
        self._index = None
        self._index_revision: Revision | None = None
        self._index_writer: threading.Thread | None = None
        self._index_guard = threading.RLock()
        self._words = Words(self._config)
        super()._start_process()

    def _current_index(self) -> VectorIndex:
        """The vector index, brought up to date with the rows; the caller holds the guard."""
        with self._records.snapshot():
            revision = self._records.revision()
            if self._index is not None and self._index_revision == revision:
                return self._index
            index, of = self._index, self._index_revision
            loaded = index is None or of is None
            # What fails half-way, or sees a commit before it is one, must not stay for others.
            self._index = None
            if index is None:
                index, of = self._load_index()
            changes = self._index_changes(index, of)
            index.remove(changes.removed)
            for start in range(0, len(changes.added), 10_000):
                added = changes.added[start : start + 10_000].tolist()
                keys = self._records.keys(added, self.dimension)
                index.add(keys.ids, keys.vectors)
            if self._records.changing:
                return index
            self._index, self._index_revision = index, revision
            if loaded and (of is None or self._file_lacks_much()):
                self._offer_index(index, revision)
            return index

    def _indexed(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Vectors of slots, as far as the index of the commit that is read has them at hand.

        Args:
            ids: [K] int64.

        Returns:
            [K, D] float32, and [K] bool which of them are there.
        """
        rows = self._records
        with self._index_guard:
            current = not rows.changing and self._index_revision == rows.revision()
            index = self._index if current else None
        with suppress(DamagedIndexError):
            if index is not None:
                return index.view.vectors(ids)
        return np.zeros((len(ids), self.dimension), np.float32), np.zeros(len(ids), np.bool_)

    def _forget_index(self) -> None:
        """Make the index from the rows when it is wanted next; its file is not to be trusted."""
        self._index, self._index_revision = self._empty_index(), None

    def _index_changes(self, index: VectorIndex, revision: Revision | None) -> Changes:
        """What an index of an earlier commit lacks, and what it holds too much.

        A slot never changes its vector and no id is used twice, so ids say it all. Where the rows
        don't know the commit, as seen by a read that began before it, all ids are compared.
        """
        if revision is not None and self._records.revision_of(revision.mark) == revision:
            return self._records.changes_since(revision)
        wanted, held = self._records.passage_ids(), index.ids()
        return Changes(np.setdiff1d(wanted, held), np.setdiff1d(held, wanted))

    def _load_index(self) -> tuple[VectorIndex, Revision | None]:
        """The index as saved and its commit, or an empty one where it isn't one of these rows."""
        self._stamp = saved_stamp(self._index_path)
        loaded = self._opened_index()
        revision = None if loaded is None else self._records.revision_of(loaded[1].mark)
        if loaded is None or revision is None:
            return self._empty_index(), None
        return loaded[0], revision

    def _empty_index(self) -> VectorIndex:
        return VectorIndex(self.dimension, self._config.index, self._hold)

    def _opened_index(self) -> tuple[VectorIndex, IndexStamp] | None:
        return VectorIndex.load(
            self._index_path, self.fingerprint, self.dimension, self._config.index, self._hold
        )

    def _index_problems(self) -> list[str]:
        """What is wrong with the index file. It may lack the last changes: they are made up for."""
        loaded = self._opened_index()
        if loaded is None:
            return ["vector index: the file is missing or damaged"]
        try:
            loaded[0].check()
        except DamagedIndexError as error:
            return [f"vector index: the file is damaged: {error}"]
        revision = self._records.revision_of(loaded[1].mark)
        if revision is None:
            return ["vector index: the file was not made from these rows"]
        changes = self._records.changes_since(revision)
        ids = np.append(np.setdiff1d(loaded[0].ids(), changes.removed), changes.added)
        if not np.array_equal(np.sort(ids), self._records.passage_ids()):
            return ["vector index: does not hold the ids of the rows"]
        return []

    def _offer_index(self, index: VectorIndex, revision: Revision) -> None:
        """Save what a reader made up for, unless someone writes, or did since it read the file."""
        if self._read_only or self._writer_depth:
            return
        if len(index) > self._config.index.exact_up_to:
            self._write_index_beside()
            return
        with suppress(StoreError, Timeout, OSError), self._file_lock.acquire(timeout=0):
            if saved_stamp(self._index_path) == self._stamp:
                self._write_index(index, revision, index.view)

    def _save_index(self) -> None:
        """Save the index if its file lacks much, or is of another kind than the settings name.

        Called by the one writer, after its commits.

        The rows are safe by then: a file that can't be written costs time later, and no error.
        """
        try:
            as_wanted = kept_as_wanted(self._index_path, self._config.index)
            if as_wanted and not self._file_lacks_much():
                return
            with self._index_guard:
                size = len(self._current_index())
            if size > self._config.index.exact_up_to:
                self._write_index_beside()
            else:
                self._write_current_index()
        except (StoreError, MemoryError) as error:
            _log.warning("%s; until it is, readers make up for it from the rows", error)

    def _file_lacks_much(self) -> bool:
        stamp = saved_stamp(self._index_path)
        revision = None if stamp is None else self._records.revision_of(stamp.mark)
        if stamp is None or revision is None:
            return True
        changes = self._records.changes_since(revision)
        lacking = len(changes.added) + len(changes.removed)
        return lacking > 0 and lacking >= self._config.unsaved_share * stamp.slots

    def _write_index_beside(self) -> None:
        """Write the index file in a thread of its own, unless one is at it already."""
        with self._index_guard:
            if self._index_writer is None or not self._index_writer.is_alive():
                self._index_writer = threading.Thread(target=self._write_index_alone)
                self._index_writer.start()

    def _write_index_alone(self) -> None:
        """Write the index file, unless another process is at it; runs in a thread of its own."""
        try:
            with FileLock(self.path / _INDEX_LOCK, mode=0o600).acquire(timeout=0):
                self._write_current_index()
        except Timeout:
            pass
        except (StoreError, MemoryError) as error:
            _log.warning("%s; until it is, readers make up for it from the rows", error)

    def _write_current_index(self) -> None:
        """Write the index file, and forget what only older files needed."""
        try:
            revision = self._write_view()
        except DamagedIndexError:
            with self._index_guard:
                self._forget_index()
            revision = self._write_view()
        with self._records.transaction(advance=False):
            self._records.forget_revisions(revision)

    def _write_view(self) -> Revision:
        """Write the index as it is now; returns the commit that it is of.

        Raises:
            DamagedIndexError: the file that the index came from is not what was written.
            StoreError: the file can't be written.
        """
        with self._index_guard, self.reading():
            index = self._current_index()
            revision, view = self._records.revision(), index.view
        self._write_index(index, revision, view)
        return revision

    def _write_index(self, index: VectorIndex, revision: Revision, view: IndexView) -> None:
        stamp = IndexStamp(revision.mark, self.fingerprint, self.dimension, view.size)
        try:
            index.save(self._index_path, stamp, view)
            same_rights(self.path, (_INDEX, _INDEX_LOCK))
        except OSError as error:
            raise StoreError(
                f"the vector index could not be saved ({error}); the rows are safe: "
                "check free space and permissions"
            ) from error
