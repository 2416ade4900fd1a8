"""The memory store: rows as the truth, a vector index as their cache, one writer at a time."""

import hashlib
import logging
import os
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from filelock import BaseFileLock, FileLock, Timeout
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.errors import EncoderMismatchError, StoreBusyError, StoreError
from memnet.storage.bundle import open_bundle, restore_rows, write_bundle
from memnet.storage.index_build import IndexStamp
from memnet.storage.index_file import DamagedIndexError
from memnet.storage.records import Records
from memnet.storage.schema import SCHEMA_VERSION
from memnet.storage.slots import (
    Changes,
    DigestedSlot,
    Hits,
    Keys,
    NewSlot,
    NewSource,
    PutCounts,
    Revision,
    Slot,
    SourceState,
    StoreCounts,
    Symbols,
)
from memnet.storage.terms import query_terms
from memnet.storage.vector_index import IndexView, VectorIndex, saved_stamp
from memnet.storage.words import Words

_log = logging.getLogger("memnet")

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts -> their vectors [N, D] float32, of length one."""

_DATABASE = "memory.sqlite3"
_INDEX = "vectors.faiss"
_LOCK = "writer.lock"
_INDEX_LOCK = "index.lock"


def stored_fingerprint(path: str | os.PathLike[str]) -> str | None:
    """The fingerprint of the encoder that a store was made with; None if there is no store.

    Raises:
        StoreError: the store can't be read.
    """
    folder = Path(path)
    if not (folder / _DATABASE).is_file():
        return None
    records = Records(folder / _DATABASE, read_only=not os.access(folder, os.W_OK))
    try:
        return records.property("encoder") if records.schema_version else None
    finally:
        records.close()


class MemoryStore:
    """Slots on disk, searched by vector, by words and by symbol.

    May be used from several threads and processes at once. Any number read; one writes, and a
    second writer is told so. A read sees the last commit.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        fingerprint: str,
        dimension: int,
        create: bool = False,
        lock_seconds: float = 2.0,
        config: StoreConfig | None = None,
    ) -> None:
        """Open the store in the folder ``path``.

        Args:
            path: the store's folder.
            fingerprint: names the encoder that makes the vectors, with its version.
            dimension: D, width of its vectors.
            create: make the store if there is none.
            lock_seconds: how long a write waits for another writer.
            config: settings; None for the defaults.

        Raises:
            EncoderMismatchError: the store was made with another encoder.
            StoreError: there is no store, or it can't be opened.
            DependencyError: FAISS is not installed.
        """
        self.path = Path(path)
        self.fingerprint = fingerprint
        self.dimension = dimension
        self._lock_seconds = lock_seconds
        self._config = config or StoreConfig()
        self._stamp: IndexStamp | None = None
        _check_folder(self.path, create)
        self._read_only = not os.access(self.path, os.W_OK)
        self._closed = False
        self._file_lock: BaseFileLock
        self._changing: bool
        self._inherited: list[object] = []
        self._connections: list[Records] = []
        self._start_process()
        self._prepare()

    def close(self) -> None:
        """Close the store's files, once what other threads do right now has ended.

        So has the writing of an index beside. A thread that goes on to use the store is told that
        it is closed.
        """
        if self._process == os.getpid() and self._index_writer is not None:
            self._index_writer.join()
        self._closed = True
        if self._process == os.getpid():
            for records in self._connections:
                records.close()
            self._connections.clear()

    # Writing --------------------------------------------------------------------------------

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

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Let every change inside the block be one commit; such blocks may be nested.

        Raises:
            StoreBusyError, StoreError: as ``writing``.
        """
        with self.writing():
            if self._changing:
                yield
                return
            self._changing = True
            try:
                with self._records.transaction():
                    yield
            finally:
                self._changing = False

    def put(self, sources: Sequence[NewSource], encode: Encode) -> PutCounts:
        """Add sources, or replace those of the same name and namespace, in one transaction.

        A source whose digest is stored already is left alone. Of a changed source only the slots
        that differ are replaced, and only key texts never seen before are encoded.

        Raises:
            StoreBusyError, StoreError: as ``writing``.
        """
        with self.writing():
            changed, counts = self._changed(sources)
            if not changed:
                return counts
            vectors = self._new_vectors(changed, encode)
            with self.changing():
                outdated: list[int] = []
                self._records.add_vectors(vectors)
                for source in changed:
                    outdated += self._records.put_source(source, _with_digests(source.slots))[1]
                self._records.delete_slots(outdated)
        return counts

    def delete(self, names: Iterable[str], namespace: str | None = None) -> int:
        """Delete sources and everything made from them; returns how many slots went.

        Args:
            names: source names; unknown ones are passed over.
            namespace: where to look for them; None for everywhere.
        """
        with self.changing():
            return len(self._records.delete_sources(names, namespace))

    # Told statements ------------------------------------------------------------------------

    def new_told_name(self) -> str:
        """A source name for something told that no source has, or had for something told."""
        with self.changing():
            return self._records.new_told_name()

    def append(self, source: NewSource, encode: Encode) -> list[int]:
        """Add slots to a source, new or stored, leaving those it has; returns their ids."""
        with self.changing():
            self._records.add_vectors(self._new_vectors([source], encode))
            return self._records.put_source(source, _with_digests(source.slots))[0]

    def end(self, ids: Sequence[int], at: float) -> None:
        """Close the validity of told slots: they can be fetched, and are found no more."""
        with self.changing():
            self._records.end_slots(ids, at)

    def erase(self, ids: Sequence[int]) -> None:
        """Delete slots for good, and told sources that have none left."""
        with self.changing():
            self._records.erase_slots(ids)

    def told(self, symbol: str, namespace: str | None = None) -> list[Slot]:
        """Told statements about a symbol, those that ended as well, in the order of their times."""
        return self._records.told(symbol, namespace)

    def relation_vectors(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Relation vectors of told slots, [K, D] float32 in the order of the ids."""
        return self._records.relation_vectors(ids, self.dimension)

    def latest_time(self) -> float:
        """The latest time at which a told statement began or ended; 0 without any."""
        return self._records.latest_time()

    def use(self, weights: Mapping[int, float], at: float, half_life: float) -> None:
        """Raise the usage of told slots; ids of other slots are passed over.

        Args:
            weights: attention weight that each slot got, summed over reads.
            at: now, in seconds since the epoch.
            half_life: seconds in which usage halves.

        Source: Graves et al. 2016, Methods, "Dynamic memory allocation": what is written or read
        with a weight is used by so much. Reads free nothing here, and usage decays with time.
        """
        with self.writing(), self._usage_transaction():
            self._records.set_usage(
                [
                    (used.id, used.decayed(at, half_life) + weights[used.id])
                    for used in self._records.usage(weights)
                ],
                at,
            )

    def surplus(
        self, capacity: int, at: float, half_life: float, keep: Collection[int] = ()
    ) -> list[int]:
        """Told slots beyond ``capacity``: first what ended, then the least used, then the oldest.

        Args:
            capacity: most told slots that should stay.
            at: now, in seconds since the epoch.
            half_life: seconds in which usage halves.
            keep: ids of slots that stay in any case.
        """
        told = self._records.usage()
        free = [used for used in told if used.id not in keep]
        free.sort(key=lambda used: (used.valid, used.decayed(at, half_life), used.id))
        return [used.id for used in free[: max(0, len(told) - capacity)]]

    # Reading --------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let every read of this thread inside the block see one and the same commit."""
        with self._records.snapshot():
            yield

    def search_dense(
        self, vector: NDArray[np.float32], limit: int, namespace: str | None = None
    ) -> Hits:
        """Valid slots whose keys have the largest inner product with ``vector`` [D] float32."""
        with self.reading():
            within = None if namespace is None else self._records.namespace_ids(namespace)
            with self._index_guard:
                view = self._current_index().view
            try:
                return view.search(vector, limit, within)
            except DamagedIndexError:
                with self._index_guard:
                    self._forget_index()
                    return self._current_index().search(vector, limit, within)

    def search_lexical(self, text: str, limit: int, namespace: str | None = None) -> Hits:
        """Valid slots that share words with ``text``, scored by BM25; any text is a safe query."""
        terms = query_terms(text)
        with self.reading():
            rows, found = self._records, None
            if namespace is None:
                found = self._words.best(rows, terms, limit)
            if found is None:
                found = rows.lexical(terms, limit, namespace)
        return _hits([slot for slot, _ in found], [score for _, score in found], limit)

    def search_symbolic(
        self, names: Iterable[str], limit: int, namespace: str | None = None
    ) -> dict[str, list[int]]:
        """Ids of the valid slots about each of the named symbols.

        At most ``limit`` passages a name, and as many facts of each of its relations: one relation
        with very many facts hides no other.
        """
        return self._records.keyed(names, limit, namespace)

    def fetch(self, ids: Sequence[int]) -> list[Slot]:
        """The slots with these ids, in their order, valid or not; others are left out."""
        return self._records.slots([int(slot) for slot in ids])

    def last_passages(self, limit: int, namespace: str | None = None) -> list[Slot]:
        """The last ``limit`` passages that are valid now, in the order in which they were told.

        Sources follow each other as they first came, and passages as they stand in their source.
        """
        return self._records.last_passages(namespace, limit)

    def keys(self, ids: Sequence[int]) -> Keys:
        """Key vectors of those of the slots that are stored, in their order.

        Those that the vector index has are taken from it, which is ten times as fast.
        """
        wanted = np.array(ids, np.int64)
        with self.reading():
            vectors, known = self._indexed(wanted)
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

    def search_mentions(
        self, names: Iterable[str], most: int, namespace: str | None = None
    ) -> dict[str, list[int]]:
        """Ids of the valid passages that mention each name.

        A name that more than ``most`` slots mention says little and is left out.
        """
        return self._records.mentioning(names, most, namespace)

    def search_terms(self, terms: Iterable[str], most: int) -> dict[str, NDArray[np.int64]]:
        """The valid slots whose title or text holds each term, in any of its endings.

        Args:
            terms: as ``query_terms`` gives them.
            most: a term that more slots hold is left out.

        Returns:
            Ids [P] int64, rising, by term.
        """
        with self.reading():
            return self._words.holding(self._records, list(terms), most)

    def linked(self, names: Iterable[str]) -> dict[str, int]:
        """Those of the named symbols that some fact is about, with their ids."""
        return self._records.linked(names)

    def outgoing(self, symbols: Iterable[int], namespace: str | None = None) -> NDArray[np.int64]:
        """The relations of the facts about some symbols.

        Args:
            symbols: ids.
            namespace: to look in; None for all.

        Returns:
            [G, 3] int64: symbol, relation, and how many facts about the one have the other. A
            relation's number is that of its key vector.
        """
        return self._records.outgoing(symbols, namespace)

    def followed(
        self, pairs: Iterable[tuple[int, int]], namespace: str | None = None
    ) -> NDArray[np.int64]:
        """Where facts lead.

        Args:
            pairs: (symbol, relation).
            namespace: to look in; None for all.

        Returns:
            [M, 3] int64: place of the pair, the symbol of the fact's value, and its slot.
        """
        return self._records.followed(pairs, namespace)

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

    def source_states(self, names: Iterable[str], namespace: str = "") -> dict[str, SourceState]:
        """Digest and origin of those of the named sources that are stored."""
        return self._records.source_states(names, namespace)

    def start_run(self) -> None:
        """Forget which sources a run of this thread has met: so many that they are kept on disk."""
        self._records.start_run()

    def meet(self, name: str, digest: bytes) -> bytes | None:
        """Note that the run meets a source; returns its digest if the run has met it before."""
        return self._records.meet(name, digest)

    def not_met(self, origin: str, namespace: str = "") -> dict[str, str]:
        """Names and origins of stored sources that the run has not met.

        Args:
            origin: the file that they came from, or a folder above it.
            namespace: they are in.
        """
        return self._records.not_met(namespace, origin)

    def known(self, names: Iterable[str]) -> set[str]:
        """Those of the names that are sources in some namespace."""
        return self._records.existing_names(names)

    def counts(self) -> StoreCounts:
        """How much is stored."""
        return self._records.counts()

    @property
    def schema_version(self) -> int:
        """Version of the database's schema."""
        return self._records.schema_version

    def size_in_bytes(self) -> int:
        """Bytes that the store takes on disk."""
        return sum(file.stat().st_size for file in self.path.iterdir() if file.is_file())

    def index_description(self) -> str:
        """Kind and size of the vector index, for people."""
        with self.reading(), self._index_guard:
            index = self._current_index()
            return f"{index.description}, {len(index)} vectors"

    def index_details(self) -> dict[str, Any]:
        """Kind of the vector index, how much of it is saved, and the recall it was built with."""
        with self._index_guard:
            return self._current_index().details()

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write everything as one bundle, of one commit; returns how many slots it holds.

        Raises:
            StoreError: the file can't be written, or the store can't be read.
        """
        with self._records.snapshot():
            return write_bundle(self._records, Path(path)).slots

    # Checking -------------------------------------------------------------------------------

    def verify(self) -> list[str]:
        """What is wrong with the store, a line each; empty when rows and caches agree."""
        problems = self._records.problems(self.dimension)
        with self.reading():
            return problems + self._index_problems()

    def rebuild(self) -> None:
        """Make the vector index and the text search anew from the rows."""
        with self.writing():
            with self._records.transaction():
                self._records.rebuild_text()
            with self._index_guard:
                self._forget_index()
            self._write_current_index()

    # Private --------------------------------------------------------------------------------

    @property
    def _records(self) -> Records:
        """The calling thread's own connection."""
        self._check_open()
        records: Records | None = getattr(self._local, "records", None)
        if records is None:
            records = Records(self.path / _DATABASE, read_only=self._read_only)
            self._local.records = records
            self._connections.append(records)
        return records

    def _check_open(self) -> None:
        """See that the store is open, and that nothing is used that a parent process left."""
        if self._closed:
            raise StoreError(f"the store {self.path} is closed; open it again")
        if self._process != os.getpid():
            self._start_process()

    def _start_process(self) -> None:
        """Take locks and connections of this process's own.

        Those of a parent are kept out of use and never closed: the parent uses them, and any of its
        threads may have held a lock when the process was forked.
        """
        if self._connections:
            self._inherited += [*self._connections, self._file_lock]
        self._connections = []
        self._local = threading.local()
        self._index: VectorIndex | None = None
        self._index_revision: Revision | None = None
        self._index_writer: threading.Thread | None = None
        self._index_guard = threading.RLock()
        self._words = Words(self._config)
        self._write_guard = threading.RLock()
        self._file_lock = FileLock(self.path / _LOCK, mode=0o600)
        self._writer_depth = 0
        self._changing = False
        self._process = os.getpid()

    @property
    def _index_path(self) -> Path:
        return self.path / _INDEX

    def _prepare(self) -> None:
        """Bring the schema up to date and check that store and encoder belong together."""
        records = self._records
        if records.schema_version < SCHEMA_VERSION or records.property("encoder") is None:
            with self.writing():
                records.migrate()
                if records.property("encoder") is None:
                    with records.transaction():
                        records.set_property("encoder", self.fingerprint)
                        records.set_property("dimension", str(self.dimension))
        made_with = records.property("encoder")
        if made_with != self.fingerprint or records.property("dimension") != str(self.dimension):
            raise EncoderMismatchError(
                f"the store {self.path} was made with encoder {made_with}, not with "
                f"{self.fingerprint}; open it with that encoder, or ingest into a new store"
            )
        self._check_copy()

    def _check_copy(self) -> None:
        """See that a store that came here as a copy is whole.

        A copy that was taken while something wrote to the store may have old and new pages.

        Raises:
            StoreError: it is not whole.
        """
        file = (self.path / _DATABASE).stat()
        place = f"{file.st_dev} {file.st_ino}"
        if self._records.property("place") == place:
            return
        problems = self._records.problems(self.dimension)
        if problems:
            raise StoreError(
                f"the store {self.path} is damaged ({problems[0]}), as a copy is that was taken "
                "while something wrote to the store; copy it again when nothing does"
            )
        if not self._read_only:
            with (
                suppress(StoreBusyError),
                self.writing(),
                self._records.transaction(advance=False),
            ):
                self._records.set_property("place", place)

    def _usage_transaction(self) -> AbstractContextManager[None]:
        """The transaction under way, or one that leaves the vector index as it is."""
        return nullcontext() if self._changing else self._records.transaction(advance=False)

    def _acquire_writer(self, wait: float) -> None:
        self._check_open()
        if self._read_only:
            raise StoreError(f"the store {self.path} is read-only; make its folder writable first")
        if not self._write_guard.acquire(timeout=wait):
            raise StoreBusyError(
                "another thread is writing to this store; try again when it is done"
            )
        try:
            self._file_lock.acquire(timeout=wait)
        except Timeout as error:
            self._write_guard.release()
            raise StoreBusyError(
                f"another process is writing to the store {self.path}; "
                "reading goes on, try this write again when it is done"
            ) from error
        except BaseException:
            self._write_guard.release()
            raise

    def _changed(self, sources: Sequence[NewSource]) -> tuple[list[NewSource], PutCounts]:
        """The sources that differ from what is stored, and the counts a ``put`` of them gives."""
        changed: list[NewSource] = []
        added = updated = 0
        for namespace in {source.namespace for source in sources}:
            here = [source for source in sources if source.namespace == namespace]
            states = self._records.source_states([source.name for source in here], namespace)
            for source in here:
                state = states.get(source.name)
                if state is not None and state == (source.digest, source.origin):
                    continue
                changed.append(source)
                added += state is None
                updated += state is not None and state.digest != source.digest
        return changed, PutCounts(added, updated, len(sources) - added - updated)

    def _new_vectors(
        self, sources: Sequence[NewSource], encode: Encode
    ) -> list[tuple[bytes, NDArray[np.float32]]]:
        slots = [slot for source in sources for slot in source.slots]
        told = [slot.relation for slot in slots if slot.valid_from is not None]
        texts = {_digest(text): text for text in (*(slot.key_text for slot in slots), *told)}
        missing = self._records.missing_vectors(texts)
        digests = [digest for digest in texts if digest in missing]
        if not digests:
            return []
        return list(zip(digests, encode([texts[digest] for digest in digests]), strict=True))

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
        self._index, self._index_revision = VectorIndex(self.dimension, self._config.index), None

    def _index_changes(self, index: VectorIndex, revision: Revision | None) -> Changes:
        """What an index of an earlier commit lacks, and what it holds too much.

        A slot never changes its vector and no id is used twice, so ids say it all. Where the rows
        don't know the commit, as seen by a read that began before it, all ids are compared.
        """
        if revision is not None and self._records.revision_of(revision.mark) == revision:
            return self._records.changes_since(revision)
        wanted, held = self._records.dense_ids(), index.ids()
        return Changes(np.setdiff1d(wanted, held), np.setdiff1d(held, wanted))

    def _load_index(self) -> tuple[VectorIndex, Revision | None]:
        """The index as saved and its commit, or an empty one where it isn't one of these rows."""
        self._stamp = saved_stamp(self._index_path)
        loaded = self._opened_index()
        revision = None if loaded is None else self._records.revision_of(loaded[1].mark)
        if loaded is None or revision is None:
            return VectorIndex(self.dimension, self._config.index), None
        return loaded[0], revision

    def _opened_index(self) -> tuple[VectorIndex, IndexStamp] | None:
        return VectorIndex.load(
            self._index_path, self.fingerprint, self.dimension, self._config.index
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
        if not np.array_equal(np.sort(ids), self._records.dense_ids()):
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
        """Save the index if its file lacks much; called by the one writer, after its commits.

        The rows are safe by then: a file that can't be written costs time later, and no error.
        """
        try:
            if not self._file_lacks_much():
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
        finally:
            self._connections.remove(self._records)
            self._records.close()

    def _write_current_index(self) -> None:
        """Write the index file, and forget what only older files needed."""
        with self._index_guard, self.reading():
            index = self._current_index()
            revision, view = self._records.revision(), index.view
        try:
            self._write_index(index, revision, view)
        except DamagedIndexError:
            with self._index_guard, self.reading():
                self._forget_index()
                index = self._current_index()
                revision, view = self._records.revision(), index.view
            self._write_index(index, revision, view)
        with self._records.transaction(advance=False):
            self._records.forget_revisions(revision)

    def _write_index(self, index: VectorIndex, revision: Revision, view: IndexView) -> None:
        stamp = IndexStamp(revision.mark, self.fingerprint, self.dimension, view.size)
        try:
            index.save(self._index_path, stamp, view)
            _same_rights(self.path)
        except OSError as error:
            raise StoreError(
                f"the vector index could not be saved ({error}); the rows are safe: "
                "check free space and permissions"
            ) from error


def _same_rights(folder: Path) -> None:
    """Let whoever may read the rows of a store read its other files, and nobody else."""
    rights = stat.S_IMODE((folder / _DATABASE).stat().st_mode)
    for file in folder.iterdir():
        if file.is_file() and stat.S_IMODE(file.stat().st_mode) != rights:
            file.chmod(rights)


def import_bundle(
    bundle: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    fingerprint: str,
    dimension: int,
) -> None:
    """Make a store from a bundle, in the folder ``path``, where it appears whole or not at all.

    Args:
        bundle: a file that ``MemoryStore.export`` made; nothing in it is trusted.
        path: of a folder that is new or empty.
        fingerprint: of the encoder that is to be used with the store.
        dimension: D, width of its vectors.

    Raises:
        EncoderMismatchError: the bundle's vectors are of another encoder.
        StoreError: the bundle is damaged, or the folder is not empty or can't be written.
        DependencyError: FAISS is not installed.
    """
    folder = Path(path).absolute()
    try:
        if folder.exists() and any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty; import into a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(prefix=f".{folder.name}.", suffix=".import", dir=folder.parent))
    except OSError as error:
        raise StoreError(f"the store folder {folder} can't be made: {error}") from error
    try:
        with open_bundle(Path(bundle)) as reader:
            reader.check_encoder(fingerprint, dimension)
            store = MemoryStore(part, fingerprint=fingerprint, dimension=dimension, create=True)
            try:
                with store.writing(), store._records.transaction():
                    restore_rows(store._records, reader)
            finally:
                store.close()
        part.rename(folder)
    except OSError as error:
        raise StoreError(f"the store {folder} can't be put in its place: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _check_folder(path: Path, create: bool) -> None:
    if path.exists() and not path.is_dir():
        raise StoreError(f"{path} is a file, but a store is a folder; choose another path")
    if (path / _DATABASE).is_file():
        return
    if not create:
        raise StoreError(f"there is no memnet store at {path}; make one with 'memnet ingest'")
    if path.is_dir() and any(file.name != _LOCK for file in path.iterdir()):
        raise StoreError(
            f"{path} holds other files and no memnet store; choose a new or an empty folder"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o700)
        # Made here, since SQLite would leave who may read it to the umask; its log follows it.
        os.close(os.open(path / _DATABASE, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"the store folder {path} can't be made: {error}") from error


def _hits(ids: Sequence[int], scores: Sequence[float], width: int) -> Hits:
    count = len(ids)
    result = Hits(np.zeros(width, np.int64), np.zeros(width, np.float32), np.arange(width) < count)
    result.ids[:count] = ids
    result.scores[:count] = scores
    return result


def _with_digests(slots: Sequence[NewSlot]) -> list[DigestedSlot]:
    return [
        DigestedSlot(
            slot,
            _digest(
                slot.kind, slot.title, slot.text, slot.start, slot.end, slot.relation, slot.value,
                slot.key_text, *slot.key_symbols, "", *slot.value_symbols,
            ),
            _digest(slot.key_text),
            None if slot.valid_from is None else _digest(slot.relation),
        )
        for slot in slots
    ]  # fmt: skip


def _digest(*parts: object) -> bytes:
    return hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=16).digest()
