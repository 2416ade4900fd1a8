"""What is read from a store."""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memnet.storage.bundle.export import write_bundle
from memnet.storage.indexed_store import IndexedStore
from memnet.storage.scope import EVERYWHERE, Scope
from memnet.storage.slots import (
    Hits,
    Keys,
    Slot,
    SourceState,
    StoreCounts,
    Symbols,
)
from memnet.storage.tables.row_values import lacking
from memnet.types import Source

_PAGE = 1000
"""Sources that are read together."""


class ReadableStore(IndexedStore):
    """A store as readers see it: every read sees the last commit, or that of ``reading``."""

    def search_dense(
        self, vector: NDArray[np.float32], limit: int, scope: Scope = EVERYWHERE
    ) -> Hits:
        """Valid slots whose keys have the largest inner product with ``vector`` [D] float32."""
        with self.reading():
            within = None if scope.covers_everything else self._records.dense_ids(scope)
            return self._index.search(vector, limit, within)

    def search_lexical(self, terms: Sequence[str], limit: int, scope: Scope = EVERYWHERE) -> Hits:
        """Valid slots that share words with the query, scored by BM25; any words are safe."""
        with self.reading():
            rows, found = self._records, None
            if scope.covers_everything:
                found = self._words.best(rows, terms, limit)
            if found is None:
                found = rows.lexical(terms, limit, scope)
        return _hits([slot for slot, _ in found], [score for _, score in found], limit)

    def search_symbolic(
        self, names: Iterable[str], limit: int, scope: Scope = EVERYWHERE
    ) -> dict[str, list[int]]:
        """Ids of the valid slots about each of the named symbols.

        At most ``limit`` passages a name, and as many facts of each of its relations: one relation
        with very many facts hides no other.
        """
        return self._records.keyed(names, limit, scope)

    def search_mentions(
        self, names: Iterable[str], most: int, scope: Scope = EVERYWHERE
    ) -> dict[str, list[int]]:
        """Ids of the valid passages that mention each name.

        A name that more than ``most`` slots mention says little and is left out.
        """
        return self._records.mentioning(names, most, scope)

    def search_terms(self, terms: Iterable[str], most: int) -> dict[str, NDArray[np.int64]]:
        """The valid slots whose title or text holds each term, in any of its endings.

        Args:
            terms: distinct words.
            most: a term that more slots hold is left out.

        Returns:
            Ids [P] int64, rising, by term.
        """
        with self.reading():
            return self._words.holding(self._records, list(terms), most)

    def fetch(self, ids: Sequence[int]) -> list[Slot]:
        """The slots with these ids, in their order, valid or not; others are left out."""
        return self._records.slots([int(slot) for slot in ids])

    def fetch_existing(self, ids: Sequence[int]) -> list[Slot]:
        """The slots with these ids, in their order, which a search of the same commit found.

        Raises:
            StoreError: one is not stored, though something in the store refers to it.
        """
        slots = self.fetch(ids)
        if len(slots) != len(ids):
            raise lacking("a slot that its indexes refer to")
        return slots

    def existing_keys(self, ids: Sequence[int]) -> Keys:
        """Key vectors of the slots with these ids, which a search of the same commit found.

        Raises:
            StoreError: as ``fetch_existing``.
        """
        keys = self.keys(ids)
        if len(keys.ids) != len(ids):
            raise lacking("a slot that its indexes refer to")
        return keys

    def last_passages(self, limit: int, scope: Scope = EVERYWHERE) -> list[Slot]:
        """The last ``limit`` passages that are valid now, in the order in which they were told.

        Sources follow each other as they first came, and passages as they stand in their source.
        """
        return self._records.last_passages(scope, limit)

    def keys(self, ids: Sequence[int]) -> Keys:
        """Key vectors of those of the slots that are stored, in their order.

        Those that the vector index has are taken from it, which is ten times as fast.
        """
        wanted = np.array(ids, np.int64)
        with self.reading():
            vectors, known = self._index.vectors(wanted)
            rest = self._records.keys(wanted[~known].tolist(), self.dimension)
        read = ~known & np.isin(wanted, rest.ids)
        vectors[read] = rest.vectors
        is_fact = np.zeros(len(wanted), np.bool_)
        is_fact[read] = rest.is_fact
        relations = np.full(len(wanted), "", object)
        relations[read] = rest.relations
        there = known | read
        return Keys(wanted[there], vectors[there], is_fact[there], tuple(relations[there]))

    def passage_ids(self) -> NDArray[np.int64]:
        """Ids of all valid passages, in rising order: [N] int64."""
        return self._records.dense_ids()

    def symbols(self, ids: Iterable[int]) -> dict[int, Symbols]:
        """What each slot is about, and what it mentions; slots without any symbol are left out."""
        return self._records.symbols(int(slot) for slot in ids)

    def fact_subjects(self, names: Iterable[str]) -> dict[str, int]:
        """Those of the named symbols that some fact is about, with their ids."""
        return self._records.linked(names)

    def outgoing(self, symbols: Iterable[int], scope: Scope = EVERYWHERE) -> NDArray[np.int64]:
        """The relations of the facts about some symbols.

        Args:
            symbols: ids.
            scope: which sources to look in.

        Returns:
            [G, 3] int64: symbol, relation, and how many facts about the one have the other. A
            relation's number is that of its key vector.
        """
        return self._records.outgoing(symbols, scope)

    def follow(
        self, pairs: Iterable[tuple[int, int]], scope: Scope = EVERYWHERE
    ) -> NDArray[np.int64]:
        """Where facts lead.

        Args:
            pairs: (symbol, relation).
            scope: which sources to look in.

        Returns:
            [M, 3] int64: place of the pair, the symbol of the fact's value, and its slot.
        """
        return self._records.followed(pairs, scope)

    def all_links(self) -> NDArray[np.int64]:
        """Every fact once, forward and reverse: [M, 3] int64 symbol, relation, symbol; sorted."""
        return self._records.all_links()

    def symbol_names(self, symbols: Iterable[int]) -> dict[int, str]:
        """The names of symbols by their ids."""
        return self._records.symbol_names(symbols)

    def relation_keys(self, relations: Sequence[int]) -> tuple[list[str], NDArray[np.float32]]:
        """For each relation what names it in any store (32 hex digits), and its key vector.

        Returns:
            R names, and [R, D] float32.
        """
        digests, vectors = self._records.vectors(relations, self.dimension)
        return [digest.hex() for digest in digests], vectors

    def statements(self, symbol: str, namespace: str | None = None) -> list[Slot]:
        """Told statements about a symbol, those that ended as well, as they were told."""
        return self._records.told(symbol, namespace)

    def relation_vectors(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Relation vectors of told slots, [K, D] float32 in the order of the ids."""
        return self._records.relation_vectors(ids, self.dimension)

    def latest_time(self) -> float:
        """The latest time at which a told statement began or ended; 0 without any."""
        return self._records.latest_time()

    def source_states(self, names: Iterable[str], namespace: str = "") -> dict[str, SourceState]:
        """Digest and origin of those of the named sources that are stored."""
        return self._records.source_states(names, namespace)

    def namespaces(self, names: Iterable[str]) -> dict[str, list[str]]:
        """For those of the names that are sources, the namespaces in which they are, in order."""
        return self._records.namespaces(names)

    def sources(self, namespace: str | None = None) -> Iterator[Source]:
        """All sources in the order in which they first came; None for those of all namespaces.

        They are read page by page: those that come or go meanwhile may be among them or not.
        """
        after = 0
        while page := self._records.sources(after, _PAGE, namespace):
            yield from (source for _, source in page)
            after = page[-1][0]

    def source(self, name: str, namespace: str = "") -> tuple[Source, str] | None:
        """A source with its text, as far as its slots hold it; None if it is not stored.

        Where the slots leave a gap, as at the headings of Markdown, the text has as many line
        breaks, so that ``text[slot.start:slot.end] == slot.text``.
        """
        with self.reading():
            found = self._records.sources(0, 1, namespace, name)
            return (found[0][1], self._records.source_text(found[0][0])) if found else None

    def counts(self) -> StoreCounts:
        """How much is stored."""
        return self._records.counts()

    @property
    def schema_version(self) -> int:
        """Version of the database's schema."""
        return self._records.schema_version

    def size_in_bytes(self) -> int:
        """Bytes that the store takes on disk."""
        return sum(_size(file) for file in self.path.iterdir())

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write everything as one bundle, of one commit; returns how many slots it holds.

        Raises:
            StoreError: the file can't be written, or the store can't be read.
        """
        with self._records.snapshot():
            return write_bundle(self._records, Path(path)).slots


def _size(path: Path) -> int:
    """Bytes of a file; none of a folder, or of a file that was replaced or removed meanwhile."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _hits(ids: Sequence[int], scores: Sequence[float], width: int) -> Hits:
    count = len(ids)
    result = Hits(np.zeros(width, np.int64), np.zeros(width, np.float32), np.arange(width) < count)
    result.ids[:count] = ids
    result.scores[:count] = scores
    return result
