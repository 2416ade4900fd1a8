"""The vector index: a rebuildable cache of the key vectors, and the only place that knows FAISS."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.errors import DependencyError
from memnet.storage.slots import Hits


class IndexStamp(NamedTuple):
    """What an index file must say of itself to be trusted."""

    mark: int
    """Of the commit of the rows that it was made from."""
    fingerprint: str
    """Of the encoder."""
    dimension: int
    slots: int
    """How many vectors it holds."""


class VectorIndex:
    """Exact inner-product search over vectors with int64 ids; the store guards it from threads."""

    description = "flat inner product (exact)"

    def __init__(self, dimension: int) -> None:
        """Make an empty index for vectors of width ``dimension``.

        Raises:
            DependencyError: FAISS is not installed.
        """
        self._faiss = _import_faiss()
        self._index = self._faiss.IndexIDMap2(self._faiss.IndexFlatIP(dimension))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def ids(self) -> NDArray[np.int64]:
        """The ids in the index, in no particular order: [N] int64."""
        ids: NDArray[np.int64] = self._faiss.vector_to_array(self._index.id_map)
        return ids

    def add(self, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add vectors [N, D] float32 under new ids [N] int64."""
        if len(ids):
            self._index.add_with_ids(np.ascontiguousarray(vectors), np.ascontiguousarray(ids))

    def remove(self, ids: NDArray[np.int64]) -> None:
        """Remove the vectors with these ids; ids that are not there are passed over."""
        if len(ids):
            self._index.remove_ids(np.ascontiguousarray(ids))

    def search(
        self, query: NDArray[np.float32], limit: int, within: NDArray[np.int64] | None = None
    ) -> Hits:
        """The ``limit`` vectors with the largest inner product with the query.

        Args:
            query: [D] float32.
            limit: K, at least 1.
            within: ids to choose from, [M] int64; None for all.

        Returns:
            Hits of width K; scores are inner products.
        """
        options = None
        if within is not None:
            selector = self._faiss.IDSelectorBatch(np.ascontiguousarray(within))
            options = self._faiss.SearchParameters(sel=selector)
        scores, ids = self._index.search(query[None], limit, params=options)
        mask = ids[0] >= 0
        return Hits(
            np.where(mask, ids[0], 0), np.where(mask, scores[0], 0).astype(np.float32), mask
        )

    def save(self, path: Path, stamp: IndexStamp) -> None:
        """Write the index, then its stamp with a checksum; each appears whole or not at all.

        One process at a time may save.
        """
        for left_by_a_kill in path.parent.glob(f"{path.stem}.*.part"):
            left_by_a_kill.unlink()
        data = self._faiss.serialize_index(self._index).tobytes()
        _write_whole(path, data)
        _write_whole(
            _stamp_path(path),
            json.dumps({**stamp._asdict(), "sha256": hashlib.sha256(data).hexdigest()}).encode(),
        )

    @classmethod
    def load(
        cls, path: Path, fingerprint: str, dimension: int
    ) -> "tuple[VectorIndex, IndexStamp] | None":
        """Read a saved index and what it says of itself.

        Returns None for a file that is missing, torn, foreign or of another encoder.
        """
        try:
            said: Any = json.loads(_stamp_path(path).read_bytes())
            data = path.read_bytes()
            stamp = _stamp(said)
            trusted = (
                said["sha256"] == hashlib.sha256(data).hexdigest()
                and stamp.fingerprint == fingerprint
                and stamp.dimension == dimension
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not trusted:
            return None
        index = cls(dimension)
        index._index = index._faiss.deserialize_index(np.frombuffer(data, np.uint8))
        return index, stamp


def saved_stamp(path: Path) -> IndexStamp | None:
    """What the index file at ``path`` says of itself, unchecked; None where there is none."""
    try:
        path.stat()
        return _stamp(json.loads(_stamp_path(path).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _stamp(said: Any) -> IndexStamp:
    return IndexStamp(
        int(said["mark"]), str(said["fingerprint"]), int(said["dimension"]), int(said["slots"])
    )


def _stamp_path(path: Path) -> Path:
    return path.with_suffix(".json")


def _write_whole(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _import_faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise DependencyError(
            "FAISS is not installed; install it with \"pip install 'memnet[cpu]'\" "
            "or, for an NVIDIA GPU, \"pip install 'memnet[gpu]'\" (one of the two, never both)"
        ) from error
    return faiss
