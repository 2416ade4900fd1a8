"""The memory store: rows as the truth, a vector index as their cache, one writer at a time."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.errors import EncoderMismatchError, StoreError
from memnet.storage.backend import Backend, DenseIndex, Result
from memnet.storage.files import ModelFolders, Uploads
from memnet.storage.lexical import Bm25Index
from memnet.storage.place import Address, is_address
from memnet.storage.sqlite.folder import FolderBackend
from memnet.storage.tables import checks, slots, sources
from memnet.storage.tables import vectors as text_vectors
from memnet.storage.tables.checked import checked_count, missing
from memnet.storage.tables.connection import SCHEMA_VERSION, Connection, keep_inherited
from memnet.storage.tables.contents import Contents, Facts
from memnet.storage.tables.journal import Journal
from memnet.storage.tables.messages import Messages
from memnet.storage.tables.sources import Sources
from memnet.storage.tables.statements import Statements
from memnet.storage.tables.vectors import QuickVectors
from memnet.storage.values import (
    EVERYWHERE,
    Encode,
    EncodePassages,
    Hits,
    IndexInfo,
    Keys,
    NewSlot,
    NewSource,
    NewVector,
    PutCounts,
    Scope,
    StoreCounts,
    ToDevice,
    UnitKeys,
)


@dataclass(frozen=True, slots=True)
class _Process:
    """What one process keeps open of a store; a forked child makes its own."""

    id: int
    backend: Backend
    index: DenseIndex
    bm25: Bm25Index


class MemoryStore(slots.SlotReads):
    """Slots on disk, searched by vector, by words and by symbol.

    May be used from several threads and processes at once. Any number read; one writes, and a
    second writer gets an error. A read sees the last commit, or that of ``reading``.
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
        to_device: ToDevice | None = None,
    ) -> None:
        """Open a store, or make it with ``create`` if there is none.

        Args:
            path: its folder, or its address, ``postgresql://user@host/database?schema=notes``.
            fingerprint: names the encoder that makes the vectors, with its version.
            dimension: D, width of its vectors.
            create: make the store if there is none.
            lock_seconds: how long a write waits for another writer.
            config: settings; None for the defaults.
            to_device: copies vectors to another device, to be compared there.

        Raises:
            EncoderMismatchError: the store was made with another encoder.
            StoreError: there is no store, or it can't be opened.
            DependencyError: FAISS is not installed.
        """
        self.fingerprint = fingerprint
        self.dimension = dimension
        self._lock_seconds = lock_seconds
        self._config = config or StoreConfig()
        self._to_device = to_device
        backend = open_backend(path, create, lock_seconds)
        self.place: Final = backend.place  # where the store is, as messages name it
        # The folder of its files: of all of them, or of those beside a database server.
        self.path: Final = backend.folder
        self.models = ModelFolders(self.path)
        self.uploads = Uploads(self.path)
        self._closed = False
        self._own = self._start_process(backend)
        self.sources = Sources(self)
        self.contents = Contents(self)
        self.facts = Facts(self)
        self.statements = Statements(self)
        self.journal = Journal(self, self.statements)
        self.messages = Messages(self, self.journal)
        self.quick = QuickVectors(self)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the store's files, once what other threads, and an index writer, do has ended."""
        # In a forked child a thread of the parent may hold the guard of the index for ever.
        if self._own.id == os.getpid():
            self._own.index.close()
        self._closed = True
        self._own.backend.connections.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Let every read of this thread inside the block see one and the same commit."""
        connection = self.connection
        with connection.snapshot():
            yield connection

    @contextmanager
    def writing(self, wait: float | None = None, *, sources_only: bool = False) -> Iterator[None]:
        """Be the one writer of the store until the block ends.

        At its end the vector index of a folder is saved if its file lacks much by now. ``wait`` is
        how many seconds another writer is waited for; None for the store's ``lock_seconds``. The
        rest is as ``Backend.writing``.
        """
        process = self._process
        timeout = self._lock_seconds if wait is None else wait
        with process.backend.writing(timeout, sources_only) as is_outermost:
            if is_outermost and self.connection.schema_version > 0:
                self._check_encoder()
            yield
            if is_outermost:
                self.connection.release_space()
                self._process.index.save_if_stale()  # another one after ``change_encoder``

    @contextmanager
    def changing(self, advance: bool = True) -> Iterator[None]:
        """Let every change inside the block be one commit; as ``Connection.transaction``."""
        with self.writing(), self.connection.transaction(advance):
            yield

    def change_encoder(
        self, fingerprint: str, dimension: int, vectors: Iterable[NewVector]
    ) -> None:
        """Put the vectors of another encoder in the place of all, in one commit.

        The caller holds ``writing``. Other stores that are open in this place raise an
        EncoderMismatchError from then on.

        Raises:
            StoreError: vectors of some stored digests are missing; the store stays as it is.
        """
        process = self._process
        with self.connection.transaction():
            text_vectors.replace_all(self.connection, vectors, fingerprint, dimension)
        self.fingerprint, self.dimension = fingerprint, dimension
        process.index.close()
        self._own = self._start_process(process.backend)

    def put(
        self,
        new: Sequence[NewSource],
        encode: Encode,
        files: Mapping[str, bytes] | None = None,
        namespace: str = "",
        encode_passages: EncodePassages | None = None,
    ) -> PutCounts:
        """Add sources, or replace those of the same name and namespace, in one transaction.

        A source whose digest is stored already is left alone. Of a changed source only the slots
        that differ are replaced, and only key texts never seen before are encoded. ``files`` are
        the digests of files, by path, all of whose sources are stored then. ``encode_passages``
        encodes the key texts of passages, where that is not ``encode``, and says whether full
        vectors are to replace its own (``quick``).
        """
        with self.writing(sources_only=True):
            return self._retrying(
                lambda: self._put(new, encode, files or {}, namespace, encode_passages)
            )

    def _put(
        self,
        new: Sequence[NewSource],
        encode: Encode,
        files: Mapping[str, bytes],
        namespace: str,
        encode_passages: EncodePassages | None,
    ) -> PutCounts:
        """As ``put``, by a writer."""
        connection = self.connection
        changed, counts = sources.changed(connection, new)
        vectors = (
            sources.new_vectors(connection, changed, encode, encode_passages) if changed else []
        )
        if not changed and not files:
            return counts
        if self._process.backend.many_writers and not connection.changing:
            # On their own: other writers of the same ones need not wait for all the rest.
            sources.add_shared(connection, changed, vectors)
        with connection.transaction(advance=bool(changed)):
            for where in {source.namespace for source in changed}:
                names = [source.name for source in changed if source.namespace == where]
                self.journal.take_back_messages(names, where)
            sources.put_all(connection, changed, vectors)
            sources.put_files(connection, files, namespace)
        return counts

    def append(self, source: NewSource, encode: Encode) -> list[int]:
        """Add slots to a source, new or stored, leaving those it has; returns their ids."""
        with self.changing():
            vectors = sources.new_vectors(self.connection, [source], encode)
            text_vectors.add(self.connection, vectors)
            return sources.put(self.connection, [source])[0]

    def add_slots(
        self, name: str, namespace: str, new: Sequence[NewSlot], encode: Encode
    ) -> list[int]:
        """Add slots to a stored source, which stays as it is otherwise; returns their ids."""
        with self.changing():
            return sources.add_slots(self.connection, name, namespace, new, encode)

    def delete(self, names: Iterable[str], namespace: str | None = None) -> int:
        """Delete sources and all that was made from them; returns how many slots were deleted.

        Unknown names are passed over; ``namespace`` None means all of them. What was learned from
        messages among them is taken back, and uploads that nothing is left of are removed.
        """
        names = list(names)
        with self.writing(sources_only=True):
            uploads = self.uploads.among(sources.origins(self.connection, names, namespace))
            deleted = self._retrying(lambda: self._delete(names, namespace))
            if uploads:
                self.uploads.remove(sources.unused_origins(self.connection, uploads))
        return deleted

    def _delete(self, names: Sequence[str], namespace: str | None) -> int:
        """As ``delete``, by a writer, but for uploads."""
        with self.connection.transaction():
            self.journal.take_back_messages(names, namespace)
            return sources.delete(self.connection, names, namespace)

    def _retrying(self, change: Callable[[], Result]) -> Result:
        """As ``Backend.retrying``; a part of a transaction is not made again by itself."""
        if self.connection.changing:
            return change()
        return self._process.backend.retrying(change)

    def fill(self, write: Callable[[Connection], None]) -> None:
        """Let ``write`` insert all rows of an empty store, in one commit."""
        with self.changing():
            if self.connection.one("SELECT 1 FROM source LIMIT 1") is not None:
                raise StoreError(f"{self.place} is not empty; choose a place without a store")
            write(self.connection)

    def rebuild(self) -> None:
        """Make the vector index and the text search anew from the rows."""
        with self.writing():
            with self.connection.transaction():
                self.connection.text.rebuild()
            self._process.index.rebuild()

    def search_dense(
        self, vector: NDArray[np.float32], limit: int, scope: Scope = EVERYWHERE
    ) -> Hits:
        """Slots whose keys have the largest inner product with ``vector`` [D] float32."""
        with self.reading():
            return self._process.index.search(
                vector, limit, slots.within(self.connection, scope), self.contents.hidden(scope)
            )

    def encoded(self, texts: Iterable[str], encode: Encode) -> dict[str, NDArray[np.float32]]:
        """Vectors [D] float32 of texts; only those that no slot has are encoded."""
        return text_vectors.encoded(self.connection, texts, self.dimension, encode)

    def nearest_statements(
        self, vector: NDArray[np.float32], limit: int, namespace: str | None
    ) -> list[int]:
        """Ids of the statements of a namespace, or all, whenever they held, by ``search_dense``."""
        nothing = np.zeros(0, np.int64)
        with self.reading():
            # Where most of what is near was told, a search of everything is several times as fast.
            hits = self._process.index.search(vector, 4 * limit, None, nothing)
            near: list[int] = hits.ids[hits.mask].tolist()
            own = self.statements.those_in(near, namespace)
            found = [slot for slot in near if slot in own]
            if len(found) < limit and hits.mask.all():
                told = self.statements.within_ever(namespace)
                hits = self._process.index.search(vector, limit, told, nothing)
                found = hits.ids[hits.mask].tolist()
        return found[:limit]

    def search_lexical(self, terms: Sequence[str], limit: int, scope: Scope = EVERYWHERE) -> Hits:
        """Slots that share words with the query, scored by BM25; any words are safe."""
        with self.reading():
            found, hidden = None, self.contents.hidden(scope)
            if scope.covers_all_sources:
                found = self._process.bm25.search(self.connection, terms, limit, hidden)
            if found is None:
                found = self.connection.text.search(terms, limit, scope, hidden)
        return Hits.padded([slot for slot, _ in found], [score for _, score in found], limit)

    def search_terms(self, terms: Iterable[str], max_slots: int) -> dict[str, NDArray[np.int64]]:
        """The slots whose title or text has each term, in any of its endings, whatever the scope.

        Ids [P] int64, rising, by term. A term that is in more than ``max_slots`` is left out.
        """
        with self.reading():
            return self._process.bm25.postings(self.connection, list(terms), max_slots)

    def unit_keys(self, ids: Sequence[int]) -> UnitKeys:
        """Keys of the units of those of some slots that have any."""
        return text_vectors.units_of(self.connection, ids)

    def passage_ids(self) -> NDArray[np.int64]:
        """Ids of all passages that hold now, in rising order: [N] int64."""
        with self.reading():
            ids = slots.dense_ids(self.connection)
            return np.setdiff1d(ids, self.contents.hidden(EVERYWHERE), assume_unique=True)

    def keys(self, ids: Sequence[int]) -> Keys:
        """Key vectors of those of the slots that are stored, in their order."""
        wanted = np.array(ids, np.int64)
        with self.reading():
            # Ten times as fast as from the rows.
            vectors, known = self._process.index.vectors(wanted)
            rest = slots.keys(self.connection, wanted[~known].tolist(), self.dimension)
        read = ~known & np.isin(wanted, rest.ids)
        vectors[read] = rest.vectors
        is_fact = np.zeros(len(wanted), np.bool_)
        is_fact[read] = rest.is_fact
        relations = np.full(len(wanted), "", object)
        relations[read] = rest.relations
        stored = known | read
        return Keys(wanted[stored], vectors[stored], is_fact[stored], tuple(relations[stored]))

    def existing_keys(self, ids: Sequence[int]) -> Keys:
        """Key vectors of the slots with these ids; errors as ``fetch_existing``."""
        keys = self.keys(ids)
        if len(keys.ids) != len(ids):
            raise missing("a slot that its indexes refer to")
        return keys

    def count_slots(self) -> int:
        """How many slots are stored."""
        return checked_count(self.connection.only("SELECT count(*) FROM slot")[0])

    def counts(self) -> StoreCounts:
        """How much is stored."""
        return slots.counts(self.connection)

    @property
    def schema_version(self) -> int:
        """Version of the database's schema."""
        return self.connection.schema_version

    def size_in_bytes(self) -> int:
        """Bytes that the store takes on disk."""
        size = self._process.backend.size_in_bytes(self.connection)
        return size + self.models.size_in_bytes()

    def index_info(self) -> IndexInfo:
        """What the vector index is made of."""
        return self._process.index.info()

    def verify(self) -> list[str]:
        """What is wrong with the store, a line each; empty when rows and caches agree."""
        problems = checks.problems(self.connection, self.dimension)
        with self.reading():
            return problems + self._process.index.problems()

    def count_unused(self) -> tuple[int, int]:
        """How many symbols and vectors nothing uses, as a write leaves them that was cut off."""
        with self.reading():
            symbols, vectors = checks.unused(self.connection)
        return len(symbols), len(vectors)

    def delete_unused(self) -> None:
        """Delete symbols and vectors that nothing uses."""
        with self.changing(advance=False):
            self.connection.delete_unused(*checks.unused(self.connection))

    @property
    def _process(self) -> _Process:
        """What this process keeps open: nothing that a parent process left is used."""
        if self._closed:
            raise StoreError(f"the store {self.place} is closed; open it again")
        if self._own.id != os.getpid():
            # Never closed here: the parent uses them, and any of its threads may have held a lock
            # when the process was forked.
            keep_inherited(self._own)
            self._own = self._start_process(self._own.backend.reopened())
        return self._own

    @property
    def connection(self) -> Connection:
        """The calling thread's own connection."""
        return self._process.backend.connections.connection()

    def _start_process(self, backend: Backend) -> _Process:
        index = backend.vector_index(
            self.fingerprint, self.dimension, self._config, self._to_device
        )
        return _Process(os.getpid(), backend, index, Bm25Index(self._config))

    def _prepare(self) -> None:
        """Bring the schema up to date and check that store and encoder belong together."""
        connection, backend = self.connection, self._process.backend
        if connection.schema_version < SCHEMA_VERSION or connection.property("encoder") is None:
            with self.writing():
                connection.migrate()
                if connection.property("encoder") is None:
                    with connection.transaction():
                        connection.set_property("encoder", self.fingerprint)
                        connection.set_property("dimension", str(self.dimension))
        self._check_encoder()
        backend.check_rows(connection, self.dimension)

    def _check_encoder(self) -> None:
        with self.reading() as connection:
            encoder, dimension = map(connection.property, ("encoder", "dimension"))
        known = (self.fingerprint, str(self.dimension))
        if encoder is not None and (encoder, dimension) != known:
            raise EncoderMismatchError(
                f"the store {self.place} was made with encoder {encoder}, not with "
                f"{self.fingerprint}; open it with that encoder, or change it by 'memnet encoder'"
            )


def open_backend(place: str | os.PathLike[str], create: bool, lock_seconds: float) -> Backend:
    """What the store is kept in: a folder, or a database by its address."""
    if is_address(place):
        address = Address.parse(place)
        # Whoever has no server need not have its driver.
        from memnet.storage.postgres.backend import PostgresBackend

        return PostgresBackend(address, create)
    return FolderBackend(Path(place), create, lock_seconds)
