"""A process that stores batches which another one has read, on this machine or another."""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from memnet.config import Config
from memnet.errors import StoreBusyError, StoreError
from memnet.ingest.formats import Parsed
from memnet.ingest.parsed import unpacked
from memnet.ingest.passages import PassageEncoder
from memnet.ingest.slots import Extractor, document_source, facts_source, recipe
from memnet.loaders.document import ParsedDocument
from memnet.storage import MemoryStore, NewSource, PutCounts

if TYPE_CHECKING:
    from memnet.storage.postgres.queue import Share, WorkQueue

_log = logging.getLogger("memnet")
_PAUSE = 0.1
"""Seconds between two looks at whether there is something to do."""
_Problems = list[tuple[str, str]]


class Worker:
    """Takes batches of any run that makes slots as it does, and full vectors after them."""

    def __init__(
        self,
        store: MemoryStore,
        queue: "WorkQueue",
        config: Config,
        new_encoder: Callable[[], PassageEncoder],
        extractor: Extractor | None = None,
    ) -> None:
        """Take nothing yet.

        Args:
            store: to write to.
            queue: of the same store.
            config: settings.
            new_encoder: makes the encoder of passages for a batch.
            extractor: as for ``Ingest``.
        """
        self._store = store
        self._queue = queue
        self._config = config
        self._new_encoder = new_encoder
        self._extractor = extractor
        self._recipe = recipe(config.window, extractor)

    def work(self, run: int | None = None) -> None:
        """Work until a run is over, or for ever.

        Args:
            run: to work for; None for all, of which there may be none yet.

        Raises:
            StoreError: the server is gone for longer than a read waits for it.
        """
        while True:
            share = self._queue.claim(self._recipe, run)
            if share is not None:
                self._store_share(share)
            elif not self._encode_block():
                if run is not None and not self._queue.is_alive(run):
                    return
                time.sleep(_PAUSE)

    def _store_share(self, share: "Share") -> None:
        from memnet.storage.postgres.queue import ShareResult

        problems: _Problems = []
        passages = self._new_encoder()
        passages.encoded = share.encoded
        counts = PutCounts(0, 0, 0)
        try:
            sources = self._sources(share, problems)
            counts = self._put(sources, passages, problems)
        except StoreBusyError:
            raise
        except StoreError as error:
            problems.append(("a batch", str(error)))
        encoded = passages.encoded - share.encoded
        self._queue.finish(share, ShareResult(*counts, encoded, problems))
        _log.info("a batch: %d added, %d updated, %d encoded", *counts[:2], encoded)

    def _sources(self, share: "Share", problems: _Problems) -> list[NewSource]:
        """The sources of a batch, those left out of which no slots can be made."""
        sources: list[NewSource] = []
        for parsed, digest in unpacked(share.content):
            try:
                source = self._source(parsed, digest, share.namespace)
                # Slots are made when they are first looked at.
                len(source.slots)
            except Exception as error:
                # Whatever is wrong with one document, the others of the ingest are stored.
                _log.exception("no slots can be made of %s", parsed.name)
                what = f"no slots can be made of it ({type(error).__name__}: {error}); report it"
                problems.append((parsed.origin or parsed.name, what))
            else:
                sources.append(source)
        return sources

    def _source(self, parsed: Parsed, digest: bytes, namespace: str) -> NewSource:
        if isinstance(parsed, ParsedDocument):
            window = self._config.window
            return document_source(parsed, digest, namespace, window, self._extractor)
        return facts_source(parsed, digest, namespace)

    def _put(
        self, sources: list[NewSource], passages: PassageEncoder, problems: _Problems
    ) -> PutCounts:
        """Store sources together, or one by one where that fails."""
        if not sources:
            return PutCounts(0, 0, 0)
        try:
            return self._store.put(
                sources, passages.encode, encode_passages=passages.begin(sources).encode
            )
        except StoreBusyError:
            raise
        except StoreError as error:
            if len(sources) == 1:
                problems.append((sources[0].origin or sources[0].name, str(error)))
                return PutCounts(0, 0, 0)
        each = [self._put([source], passages, problems) for source in sources]
        return PutCounts(*map(sum, zip(*each, strict=True)))

    def _encode_block(self) -> bool:
        """Replace the quick vectors of some texts; False where there are none to replace."""
        block = self._queue.claim_vectors(self._config.ingest.commit_vectors)
        if block is None:
            return False
        number, texts = block
        try:
            if texts:
                self._store.quick.replace(texts, self._new_encoder().encode(texts))
        except StoreBusyError as error:
            _log.info("full vectors are tried again: %s", error)
        finally:
            self._queue.free_vectors(number)
        return True
