"""What a store asks of whatever compares its vectors."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from memnet.storage.values import Hits, Within
from memnet.storage.vectors.index import IndexInfo


class DenseIndex(ABC):
    """The vectors of a store's passages, in one process; safe to use from many threads.

    Every method is of the commit that the calling thread reads, with what its transaction did.
    """

    @abstractmethod
    def prepare(self) -> None:
        """Make ready what the first search needs; the store's schema is up to date.

        Raises:
            StoreError: it can't be.
        """

    @abstractmethod
    def close(self) -> None:
        """Wait for what is being written or built, and drop what is in memory."""

    @abstractmethod
    def search(
        self,
        query: NDArray[np.float32],
        limit: int,
        within: Within | None,
        hidden: NDArray[np.int64],
    ) -> Hits:
        """The ``limit`` slots with the largest inner product with the query.

        Args:
            query: [D] float32.
            limit: K, at least 1.
            within: slots to choose from; None for all.
            hidden: ids to leave out, [H] int64.

        Returns:
            Hits of width K; scores are inner products with the vectors in full precision.
        """

    @abstractmethod
    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Vectors [K, D] float32 of slots [K] int64, and [K] bool which of them are at hand here.

        The others have to be read from the rows.
        """

    @abstractmethod
    def info(self) -> IndexInfo:
        """What it is made of."""

    @abstractmethod
    def problems(self) -> list[str]:
        """How it differs from the rows, a line each; being stale is none."""

    @abstractmethod
    def rebuild(self) -> None:
        """Make it anew from the rows; the caller is the store's one writer."""

    @abstractmethod
    def save_if_stale(self) -> None:
        """Save it if what is saved lacks much; called by a folder's one writer, after commits."""
