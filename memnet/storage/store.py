"""The memory store: rows as the truth, a vector index as their cache, one writer at a time."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.errors import EncoderMismatchError, StoreBusyError, StoreError
from memnet.storage.opened_store import DATABASE
from memnet.storage.readable_store import ReadableStore
from memnet.storage.slots import NewSource, PutCounts
from memnet.storage.tables.digests import digest_of, with_digests
from memnet.storage.tables.schema import SCHEMA_VERSION
from memnet.storage.vectors.search import ToDevice

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts -> their vectors [N, D] float32, of length one."""


class MemoryStore(ReadableStore):
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
        to_device: ToDevice | None = None,
    ) -> None:
        """Open the store in the folder ``path``.

        Args:
            path: the store's folder.
            fingerprint: names the encoder that makes the vectors, with its version.
            dimension: D, width of its vectors.
            create: make the store if there is none.
            lock_seconds: how long a write waits for another writer.
            config: settings; None for the defaults.
            to_device: copies vectors to a GPU, to be compared there; None for the CPU.

        Raises:
            EncoderMismatchError: the store was made with another encoder.
            StoreError: there is no store, or it can't be opened.
            DependencyError: FAISS is not installed.
        """
        super().__init__(
            Path(path),
            fingerprint,
            dimension,
            create,
            lock_seconds,
            config or StoreConfig(),
            to_device,
        )
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

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
                    outdated += self._records.put_source(source, with_digests(source.slots))[1]
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

    def new_statement_source(self) -> str:
        """A source name for something told that no source has, or had for something told."""
        with self.changing():
            return self._records.new_told_name()

    def append(self, source: NewSource, encode: Encode) -> list[int]:
        """Add slots to a source, new or stored, leaving those it has; returns their ids."""
        with self.changing():
            self._records.add_vectors(self._new_vectors([source], encode))
            return self._records.put_source(source, with_digests(source.slots))[0]

    def end(self, ids: Sequence[int], at: float) -> None:
        """Close the validity of told slots: they can be fetched, and are found no more.

        One that began later than ``at``, by a clock that ran ahead, ends as it begins.
        """
        with self.changing():
            self._records.end_slots(ids, at)

    def erase(self, ids: Sequence[int]) -> None:
        """Delete slots for good, and told sources that have none left."""
        with self.changing():
            self._records.erase_slots(ids)

    def add_usage(self, weights: Mapping[int, float], at: float, half_life: float) -> None:
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

    def evictable(
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

    def start_run(self) -> None:
        """Forget which sources a run of this thread has met: so many that they are kept on disk."""
        self._records.start_run()

    def mark_seen(self, name: str, digest: bytes) -> bytes | None:
        """Note that the run meets a source; returns its digest if the run has met it before."""
        return self._records.meet(name, digest)

    def not_seen(self, origin: str, namespace: str = "") -> dict[str, str]:
        """Names and origins of stored sources that the run has not met.

        Args:
            origin: the file that they came from, or a folder above it.
            namespace: they are in.
        """
        return self._records.not_met(namespace, origin)

    def verify(self) -> list[str]:
        """What is wrong with the store, a line each; empty when rows and caches agree."""
        problems = self._records.problems(self.dimension)
        with self.reading():
            return problems + self._index.problems()

    def rebuild(self) -> None:
        """Make the vector index and the text search anew from the rows."""
        with self.writing():
            with self._records.transaction():
                self._records.rebuild_text()
            self._index.rebuild()

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
        file = (self.path / DATABASE).stat()
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
        texts = {digest_of(text): text for text in (*(slot.key_text for slot in slots), *told)}
        missing = self._records.missing_vectors(texts)
        digests = [digest for digest in texts if digest in missing]
        if not digests:
            return []
        return list(zip(digests, encode([texts[digest] for digest in digests]), strict=True))
