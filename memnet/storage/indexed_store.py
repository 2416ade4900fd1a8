"""A store with a vector index, which is saved when a write ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import Timeout

from memnet.config import StoreConfig
from memnet.storage.lexical.words import Words
from memnet.storage.opened_store import OpenedStore, same_rights
from memnet.storage.vectors.cache import INDEX_FILE, INDEX_LOCK, IndexCache
from memnet.storage.vectors.index import IndexInfo
from memnet.storage.vectors.search import ToDevice


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
        to_device: ToDevice | None,
    ) -> None:
        """Open the store as it is; arguments and errors as for ``MemoryStore``."""
        self.fingerprint = fingerprint
        self.dimension = dimension
        self._config = config
        self._to_device = to_device
        super().__init__(path, create, lock_seconds)

    def close(self) -> None:
        """Close the store's files, once what other threads do right now has ended.

        So has the writing of an index in the background. A thread that goes on to use the store is
        told that it is closed.
        """
        # In a forked child a thread of the parent may hold its guard for ever.
        if self._process == os.getpid():
            self._own_index.close()
        super().close()

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
                self._index.save_if_stale()
        finally:
            if process == os.getpid():
                self._writer_depth -= 1
                self._file_lock.release()
                self._write_guard.release()

    def index_info(self) -> IndexInfo:
        """What the vector index is made of."""
        return self._index.info()

    @property
    def _index(self) -> IndexCache:
        """The vector index of this process."""
        self._check_open()
        return self._own_index

    def _start_process(self) -> None:
        """As ``OpenedStore`` says, without what the parent had searched for."""
        self._own_index = IndexCache(
            self.path,
            self.fingerprint,
            self.dimension,
            self._config,
            self._to_device,
            rows=lambda: self._records,
            try_writing=self._try_writing,
            on_saved=lambda: same_rights(self.path, (INDEX_FILE, INDEX_LOCK)),
        )
        self._words = Words(self._config)
        super()._start_process()

    @contextmanager
    def _try_writing(self) -> Iterator[bool]:
        """Be the store's one writer, if that needs no waiting; gives whether it is so."""
        if self._read_only or self._writer_depth:
            yield False
            return
        try:
            lock = self._file_lock.acquire(timeout=0)
        except (Timeout, OSError):
            yield False
            return
        with lock:
            yield True
