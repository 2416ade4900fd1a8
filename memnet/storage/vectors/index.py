"""The vector index: a rebuildable cache of the key vectors, as they were saved and as they changed.

What was saved stays mapped from its file; what came since lies in memory and is compared with
every query; what went since is passed over. Saving writes one new file of all and goes on from it.
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.config import IndexConfig
from memnet.storage.values import Hits
from memnet.storage.vectors.build import IndexStamp, of_wanted_kind, saved_part, write_part
from memnet.storage.vectors.file import DamagedIndexError, IndexFile
from memnet.storage.vectors.parts import Part, ToDevice, best, import_faiss

_BLOCK = 16_384
"""Rows that are copied together: 25 MB."""


class IndexView(NamedTuple):
    """What an index holds at some time; nothing in it ever changes."""

    saved: Part
    saved_alive: NDArray[np.bool_]
    fresh: Part
    fresh_alive: NDArray[np.bool_]
    config: IndexConfig

    @property
    def parts(self) -> list[tuple[Part, NDArray[np.bool_]]]:
        """What was saved and what came since, each with those of it [N] bool that still count."""
        return [(self.saved, self.saved_alive), (self.fresh, self.fresh_alive)]

    @property
    def size(self) -> int:
        """How many vectors there are."""
        return sum(int(np.count_nonzero(alive)) for _, alive in self.parts)

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

        Raises:
            DamagedIndexError: the file is not what was written; make the index from the rows.
        """
        query = np.ascontiguousarray(query, np.float32)
        found = []
        for number, (part, alive) in enumerate(self.parts):
            if within is not None:
                alive = alive & (np.isin(part.ids, within) if number else _among(part.ids, within))
            found.append(part.search(query, limit, None if alive.all() else alive, self.config))
        ids, scores = best(found, limit)
        hits = Hits(np.zeros(limit, np.int64), np.zeros(limit, np.float32), np.zeros(limit, bool))
        hits.ids[: len(ids)], hits.scores[: len(ids)], hits.mask[: len(ids)] = ids, scores, True
        return hits

    def vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Vectors by their ids, as far as they are found at once.

        Args:
            ids: [K] int64.

        Returns:
            [K, D] float32, and [K] bool which of them are there: nearly all that the index holds.

        Raises:
            DamagedIndexError: the file is not what was written; the rows have the vectors too.
        """
        vectors = np.zeros((len(ids), self.saved.rows.shape[1]), np.float32)
        found = np.zeros(len(ids), np.bool_)
        for part, alive in self.parts:
            if len(part):
                # What came since the file may be out of order, and is then not always found.
                places = np.minimum(np.searchsorted(part.ids, ids), len(part) - 1)
                here = (part.ids[places] == ids) & alive[places]
                vectors[here] = part.read(places[here])
                found |= here
        return vectors, found


class VectorIndex:
    """Inner-product search over vectors with int64 ids.

    Searching needs no lock, while another thread changes or saves the index as well.
    """

    def __init__(
        self, dimension: int, config: IndexConfig | None = None, to_device: ToDevice | None = None
    ) -> None:
        """Make an empty index.

        Args:
            dimension: D, width of its vectors.
            config: settings; None for the defaults.
            to_device: copies the saved vectors to a GPU, to be compared there; None for the CPU.

        Raises:
            DependencyError: FAISS is not installed.
        """
        import_faiss()
        self._config = config or IndexConfig()
        self._dimension = dimension
        self._to_device = to_device
        self._guard = threading.Lock()
        self._saving = threading.Lock()
        self._said: dict[str, Any] = {}
        self._used = 0
        self._view: IndexView
        self._start_from(_empty(dimension))

    def __len__(self) -> int:
        return self._view.size

    @property
    def description(self) -> str:
        """Kind of the index and how well it finds, for people."""
        if self._view.saved.exact:
            where = ", on the device" if self._view.saved.elsewhere else ""
            return f"flat inner product (exact){where}"
        return (
            f"four-bit codes, the best {self._view.saved.rerank} or more compared exactly "
            f"(recall@10 {self._said['recall']:.3f} when built)"
        )

    def details(self) -> dict[str, Any]:
        """What the index is made of, and the recall that was measured when it was built."""
        view = self._view
        return {
            "kind": "flat" if view.saved.exact else "pq",
            "vectors": len(self),
            "fresh": int(np.count_nonzero(view.fresh_alive)),
            "removed": len(view.saved) - int(np.count_nonzero(view.saved_alive)),
            "recall": 1.0 if view.saved.exact else self._said["recall"],
        }

    def ids(self) -> NDArray[np.int64]:
        """The ids in the index, in no particular order: [N] int64."""
        return np.concatenate([part.ids[alive] for part, alive in self._view.parts])

    def add(self, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Add vectors [N, D] float32 under ids [N] int64 that the index does not hold."""
        if not len(ids):
            return
        with self._guard:
            end = self._used + len(ids)
            if end > len(self._fresh_ids):
                self._make_room(len(ids))
                end = self._used + len(ids)
            self._fresh_ids[self._used : end] = ids
            self._fresh_rows[self._used : end] = vectors
            self._used = end
            self._view = self._view._replace(
                fresh=Part(self._fresh_ids[:end], self._fresh_rows[:end]),
                fresh_alive=np.concatenate([self._view.fresh_alive, np.ones(len(ids), np.bool_)]),
            )

    def remove(self, ids: NDArray[np.int64]) -> None:
        """Remove the vectors with these ids; ids that are not there are passed over."""
        if not len(ids):
            return
        with self._guard:
            view = self._view
            self._view = view._replace(
                saved_alive=view.saved_alive & ~_among(view.saved.ids, ids),
                fresh_alive=view.fresh_alive & ~np.isin(view.fresh.ids, ids),
            )

    @property
    def view(self) -> IndexView:
        """What the index holds now, to be searched however it changes."""
        return self._view

    def search(
        self, query: NDArray[np.float32], limit: int, within: NDArray[np.int64] | None = None
    ) -> Hits:
        """As ``IndexView.search``, of what the index holds now."""
        return self._view.search(query, limit, within)

    def save(self, path: Path, stamp: IndexStamp, view: IndexView | None = None) -> None:
        """Write all vectors to one file, which appears whole or not at all, and go on from it.

        Takes seconds for a million vectors; the index may be searched and changed meanwhile.

        Args:
            path: of the file.
            stamp: what it will say of itself.
            view: of this index, what to write; None for what it holds now.

        Raises:
            OSError: it can't be written.
            DamagedIndexError: the file that the index came from is not what was written.
        """
        with self._saving:
            view = view or self._view
            said = write_part(path, stamp, _blocks(view), self._config)
            file = IndexFile(path)
            saved = saved_part(file, self._dimension, self._config, self._to_device)
            with self._guard:
                now, written = self._view, view.fresh.ids[view.fresh_alive]
                held = now.fresh.ids[now.fresh_alive]
                gone = view.saved.ids[view.saved_alive & ~now.saved_alive]
                since = np.flatnonzero(now.fresh_alive & ~np.isin(now.fresh.ids, written))
                gone = np.concatenate([gone, np.setdiff1d(written, held)])
                self._said = said
                self._start_from(saved, now.fresh.ids[since], now.fresh.rows[since], gone)

    @classmethod
    def load(
        cls,
        path: Path,
        fingerprint: str,
        dimension: int,
        config: IndexConfig | None = None,
        to_device: ToDevice | None = None,
    ) -> "tuple[VectorIndex, IndexStamp] | None":
        """Open a saved index; returns it with what its file says of itself.

        Returns None for a file that is missing, torn, foreign or of another encoder. Vectors are
        checked when they are first used.
        """
        index = cls(dimension, config, to_device)
        try:
            file = IndexFile(path)
            stamp = IndexStamp.of(file.said)
            if stamp.fingerprint != fingerprint or stamp.dimension != dimension:
                return None
            index._start_from(saved_part(file, dimension, index._config, to_device))
            index._said = file.said
        except (OSError, DamagedIndexError):
            return None
        return index, stamp

    def check(self) -> None:
        """Check all of the file that the index came from.

        Raises:
            DamagedIndexError: it is not what was written.
        """
        self._view.saved.check_all()

    def _start_from(
        self,
        saved: Part,
        ids: NDArray[np.int64] | None = None,
        rows: NDArray[np.float32] | None = None,
        gone: NDArray[np.int64] | None = None,
    ) -> None:
        """ToDevice what was saved, but what is gone since, and besides these vectors."""
        self._fresh_ids = np.empty(0, np.int64) if ids is None else ids
        self._fresh_rows = np.empty((0, self._dimension), np.float32) if rows is None else rows
        self._used = len(self._fresh_ids)
        self._view = IndexView(
            saved,
            np.ones(len(saved), np.bool_) if gone is None else ~_among(saved.ids, gone),
            Part(self._fresh_ids, self._fresh_rows),
            np.ones(self._used, np.bool_),
            self._config,
        )

    def _make_room(self, count: int) -> None:
        """Move the fresh vectors to arrays with room for ``count`` more, without removed ones."""
        view = self._view
        alive = np.flatnonzero(view.fresh_alive)
        room = max(64, 2 * len(alive), len(alive) + count)
        ids, rows = np.empty(room, np.int64), np.empty((room, self._dimension), np.float32)
        ids[: len(alive)], rows[: len(alive)] = view.fresh.ids[alive], view.fresh.rows[alive]
        self._fresh_ids, self._fresh_rows, self._used = ids, rows, len(alive)
        self._view = view._replace(
            fresh=Part(ids[: len(alive)], rows[: len(alive)]),
            fresh_alive=np.ones(len(alive), np.bool_),
        )


def saved_stamp(path: Path) -> IndexStamp | None:
    """What the index file at ``path`` says of itself, unchecked; None where there is none."""
    try:
        return IndexStamp.of(IndexFile(path).said)
    except (OSError, DamagedIndexError):
        return None


def kept_as_wanted(path: Path, config: IndexConfig) -> bool:
    """Whether the index file at ``path`` is of the kind that the settings name, if they name one.

    One that is missing or damaged is not.
    """
    try:
        return config.kind == "auto" or of_wanted_kind(IndexFile(path), config)
    except (OSError, DamagedIndexError):
        return False


def _empty(dimension: int) -> Part:
    return Part(np.empty(0, np.int64), np.empty((0, dimension), np.float32))


def _among(ordered: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the ids in rising order [N] are among others [M]: [N] bool."""
    found = np.zeros(len(ordered), np.bool_)
    if len(ordered):
        places = np.minimum(np.searchsorted(ordered, ids), len(ordered) - 1)
        found[places[ordered[places] == ids]] = True
    return found


def _blocks(view: IndexView) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """All vectors with their ids, by rising id."""
    ids = np.concatenate([part.ids for part, _ in view.parts])
    alive = np.concatenate([alive for _, alive in view.parts])
    places = np.flatnonzero(alive)
    places = places[np.argsort(ids[places], kind="stable")]
    for start in range(0, len(places), _BLOCK):
        block = places[start : start + _BLOCK]
        rows = np.empty((len(block), view.saved.rows.shape[1]), np.float32)
        old = block < len(view.saved)
        rows[old] = view.saved.read(block[old])
        rows[~old] = view.fresh.read(block[~old] - len(view.saved))
        yield ids[block], rows
