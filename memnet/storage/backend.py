"""What a store is kept in, a folder or a database, and what compares its vectors."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.storage.tables.connection import Connection, Connections
from memnet.storage.values import Hits, IndexInfo, ToDevice, Within

Result = TypeVar("Result")


class DenseIndex(ABC):
    """The vectors of a store's passages, in one process; safe to use from many threads.

    Every method is of the commit that the calling thread reads, with what its transaction did.
    """

    @abstractmethod
    def search(
        self,
        query: NDArray[np.float32],
        limit: int,
        within: Within | None,
        hidden: NDArray[np.int64],
    ) -> Hits:
        """The ``limit`` slots of ``within`` with the largest inner product with ``query`` [D].

        Ids that are ``hidden``, [H] int64, are left out. Scores are inner products with the stored
        vectors.
        """

    @abstractmethod
    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Vectors [K, D] float32 of slots [K] int64, and [K] bool which of them are at hand."""

    @abstractmethod
    def info(self) -> IndexInfo:
        """What it is made of."""

    @abstractmethod
    def problems(self) -> list[str]:
        """How it differs from the rows, a line each; being stale is none."""

    @abstractmethod
    def rebuild(self) -> None:
        """Make it again from the rows; the caller is the store's one writer."""

    def save_if_stale(self) -> None:  # noqa: B027
        """Save it if what is saved lacks much; called by the store's one writer, after commits."""

    def close(self) -> None:  # noqa: B027
        """Wait for what is being written or built, and drop what is in memory."""


class Backend(ABC):
    """The place of a store, as one process has it open."""

    # Whether sources may be written by many at once; else a writer locks all.
    many_writers: ClassVar[bool] = False
    place: str  # as messages name it
    folder: Path  # of the models, the uploads and what else is kept as files
    connections: Connections

    @abstractmethod
    def reopened(self) -> "Backend":
        """The same place for a forked child of this process."""

    @abstractmethod
    def vector_index(
        self, fingerprint: str, dimension: int, config: StoreConfig, to_device: ToDevice | None
    ) -> DenseIndex:
        """What compares vectors [D] in this process; ``to_device`` copies them elsewhere."""

    @abstractmethod
    def writing(self, timeout: float, sources_only: bool) -> AbstractContextManager[bool]:
        """Be allowed to write for the block; blocks of one thread may be nested.

        Waits ``timeout`` seconds for another writer. With ``sources_only`` the block only puts and
        deletes sources, which many may do at once where there may be ``many_writers``. Gives
        whether the calling thread is the one writer and this is its outermost block.

        Raises:
            StoreBusyError: another thread or process is writing.
            StoreError: the store is read-only.
        """

    @abstractmethod
    def size_in_bytes(self, connection: Connection) -> int:
        """Bytes of the store but for its models."""

    def check_rows(self, connection: Connection, dimension: int) -> None:  # noqa: B027
        """Check rows that came here without memnet, such as a folder that was copied."""

    def retrying(self, change: Callable[[], Result]) -> Result:
        """Make a change that may be made twice, once more where another writer was in its way."""
        return change()
