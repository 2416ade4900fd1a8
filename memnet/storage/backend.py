"""What a store is kept in: a folder of this machine, or a database server."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import ClassVar, TypeVar

from memnet.config import StoreConfig
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.connections import Connections
from memnet.storage.vectors.dense import DenseIndex

Result = TypeVar("Result")


class WriterLock(ABC):
    """Held by one thread of one process at a time, which may take it again.

    In a forked child it is of no use, and releasing it does nothing: it is the parent's.
    """

    depth: int
    """How many blocks of the calling thread hold it."""

    @abstractmethod
    def check_writable(self) -> None:
        """Check that anyone may write to the store.

        Raises:
            StoreError: it is read-only.
        """

    @abstractmethod
    def acquire(self, timeout: float) -> None:
        """Take it.

        Args:
            timeout: seconds to wait for another.

        Raises:
            StoreBusyError: another thread or process has it.
            StoreError: the store is read-only.
        """

    @abstractmethod
    def release(self) -> None:
        """Undo one ``acquire``."""

    @contextmanager
    def held(self, timeout: float) -> Iterator[None]:
        """Hold it for the block; ``timeout`` and errors as for ``acquire``."""
        self.acquire(timeout)
        try:
            yield
        finally:
            self.release()


class Backend(ABC):
    """The place of a store, as one process has it open."""

    place: str
    """As messages name it."""
    folder: Path
    """Of the vector index's file, the models and the uploads."""
    read_only: bool
    many_writers: ClassVar[bool]
    """Whether sources may be written by many at once; else a writer locks all."""
    connections: Connections
    lock: WriterLock
    """Of whoever writes anything; with ``many_writers``, anything but sources."""

    @abstractmethod
    def again(self) -> "Backend":
        """The same place for a forked child of this process."""

    @abstractmethod
    def try_saving(self) -> AbstractContextManager[bool]:
        """Give True while nobody else may save the vector index, or False; does not wait."""

    @abstractmethod
    def check_copy(self, connection: Connection, dimension: int) -> None:
        """Check a store that came here as a copy, which may have been taken during a write.

        Raises:
            StoreError: it is not whole.
        """

    @abstractmethod
    def server_index(self, dimension: int, config: StoreConfig) -> DenseIndex | None:
        """The vector index that a server has; None where each process has its own.

        Args:
            dimension: D, width of the vectors.
            config: settings.
        """

    @abstractmethod
    def share_rights(self) -> None:
        """Let whoever may read the store read its index too."""

    @abstractmethod
    def size_in_bytes(self, connection: Connection) -> int:
        """Bytes of the store but for its models."""

    @abstractmethod
    def retrying(self, change: Callable[[], Result]) -> Result:
        """Make a change that may be made twice, once more where another writer was in its way."""
