"""Ingest: inputs are parsed, compared with what is stored, and what changed is written."""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from memnet.config import Config
from memnet.errors import Problem
from memnet.ingest.formats import Parsed
from memnet.ingest.inputs import Input, InputReader, ReadToEnd
from memnet.ingest.messages import Conversations, SaidMessage, said_messages, with_turns
from memnet.ingest.problems import Problems
from memnet.ingest.selection import ReadOptions
from memnet.ingest.slot_process import SlotProcess
from memnet.ingest.slots import Extractor, document_source, facts_source, recipe
from memnet.ingest.vectors import Begun, PassageEncoder
from memnet.loaders.document import ParsedDocument
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import LoadLimits
from memnet.runtime.process import collecting_seldom
from memnet.storage import Encode, MemoryStore, NewSource, PutCounts
from memnet.types import IngestReport


class Learner(Protocol):
    """Learns from messages."""

    def prepare(self, messages: Sequence[SaidMessage], namespace: str) -> Callable[[], None] | None:
        """What is to be written once the messages are stored, in the same transaction."""
        ...


class Progress(NamedTuple):
    """How far an ingest has come."""

    characters: int
    """Characters of input that are safely stored, unchanged ones included."""
    documents: int
    bytes: int = 0
    """Of the files that they were read from, and of files that were compared and are unchanged."""
    kinds: Mapping[str, int] = MappingProxyType({})
    """Files by what people call their format: "PDF files", "Markdown"."""


class Ingest:
    """One run over some inputs.

    Documents are stored in batches, each batch in one transaction: after a kill everything up to
    the last batch is there, and the same run finishes the rest.
    """

    def __init__(
        self,
        store: MemoryStore,
        encode: Encode,
        config: Config,
        passages: PassageEncoder,
        *,
        namespace: str = "",
        options: ReadOptions | None = None,
        extractor: Extractor | None = None,
        learner: Learner | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_problem: Callable[[Problem], None] | None = None,
    ) -> None:
        """Set up a run; ``extractor`` finds names in passages, ``learner`` learns from messages.

        ``passages`` encodes passages, ``encode`` all else. Without ``on_problem`` each problem is
        a line of the log.
        """
        self._store = store
        self._encode = encode
        self._passages = passages
        self._max_factor = config.ingest.quick_batches if passages.is_quick else 1
        self._factor = 1
        """As many times as large is a batch. The first ones are smaller: until they are encoded
        there is nothing to write."""
        self._config = config
        self._namespace = namespace
        self._extractor = extractor
        self._learner = learner
        self._said: list[SaidMessage] = []
        """The new messages of the batch."""
        self._prepared: _Prepared | None = None
        """A batch before the present one, which is not written yet."""
        limits = config.limit
        self._loaders = LoaderProcess(
            LoadLimits(
                file=limits.file,
                characters=limits.document,
                title=limits.title,
                memory=limits.load_memory,
                seconds=limits.load_seconds,
            )
        )
        self._slot_process = SlotProcess(config.window)
        # An extractor may be anything; and on one core processes only wait for each other.
        self._may_use_process = extractor is None and config.cores() > 1
        self._reader = InputReader(limits, options or ReadOptions(), self._loaders, self._is_known)
        self._on_progress = on_progress or (lambda _: None)
        self._problems = Problems(on_problem)
        self._added = self._updated = self._unchanged = self._removed = 0
        self._progress = Progress(0, 0)
        self._used = False
        self._evicted = 0
        self._conversations = Conversations(store, namespace)
        self._batch: list[tuple[Parsed, bytes]] = []
        """With the digests of what they were parsed to."""
        self._batch_characters = 0
        self._unmarked: dict[str, bytes] = {}
        """Digests of those sources of the batch, by name, that may have come before it."""
        self._files: dict[str, bytes] = {}
        """Digests of files of which all is stored with this batch, by path."""
        self._salt = recipe(config.window, extractor).encode()

    def run(self, inputs: Iterable[Input]) -> IngestReport:
        """Store everything that can be used; report and count what can't.

        Raises:
            InputError: nothing at all could be used.
            StoreBusyError, StoreError: the store can't be written.
        """
        started = time.perf_counter()
        with (
            collecting_seldom(),
            self._loaders,
            closing(self._slot_process),
            self._store.writing(sources_only=True),
            self._passages.running(),
        ):
            self._store.sources.start_run()
            for item in self._reader.read(inputs):
                if isinstance(item, Problem):
                    self._problems.add(item)
                elif isinstance(item, ReadToEnd):
                    self._remove_vanished(item)
                    if item.digest:
                        self._files[item.origin] = self._file_digest(item.digest)
                else:
                    self._add(item)
            self._store_batch()
            self._write_prepared()
            slots = self._store.counts().slots
        self._problems.finish(nothing_used=not (self._used or self._reader.follows))
        return IngestReport(
            added=self._added,
            updated=self._updated,
            unchanged=self._unchanged,
            removed=self._removed,
            skipped=self._problems.count,
            skipped_by_reason=self._problems.by_reason(),
            kinds=dict(self._reader.kinds),
            evicted=self._evicted,
            slots=slots,
            seconds=time.perf_counter() - started,
        )

    def _is_known(self, path: str, digest: bytes) -> bool:
        """Count the sources of a file as unchanged, if they were made of this content."""
        self._mark_seen()
        unchanged = self._store.sources.mark_file_seen(
            path, self._file_digest(digest), self._namespace
        )
        self._unchanged += unchanged
        self._used = self._used or unchanged > 0
        return unchanged > 0

    def _file_digest(self, content: bytes) -> bytes:
        return hashlib.blake2b(self._salt + content, digest_size=16).digest()

    def _add(self, parsed: Parsed) -> None:
        """Put an input into the batch, unless its name is in it."""
        digest = hashlib.blake2b(self._salt + parsed.digest(), digest_size=16).digest()
        self._used = True
        first = self._unmarked.setdefault(parsed.name, digest)
        if first is not digest:
            self._report_repeated(parsed, digest, first)
            return
        self._batch.append((parsed, digest))
        self._batch_characters += parsed.size()
        limits = self._config.ingest
        if (
            self._batch_characters >= self._factor * limits.batch_characters
            or len(self._batch) >= self._factor * limits.batch_sources
        ):
            self._factor = min(2 * self._factor, self._max_factor)
            self._store_batch(is_last=False)

    def _mark_seen(self) -> None:
        """Note what the batch holds, but for what came before in this run, which leaves it."""
        if not self._unmarked:
            return
        before = self._store.sources.mark_seen(self._unmarked)
        kept: list[tuple[Parsed, bytes]] = []
        for parsed, digest in self._batch:
            # One that is marked already may be in the batch, too: it is the first.
            if parsed.name in before and self._unmarked.get(parsed.name) is digest:
                self._report_repeated(parsed, digest, before[parsed.name])
            else:
                kept.append((parsed, digest))
        self._batch = kept
        self._unmarked = {}

    def _report_repeated(self, parsed: Parsed, digest: bytes, first: bytes) -> None:
        """Report what came before in this run, if it had another digest then."""
        if first != digest:
            self._problems.add(
                Problem(
                    parsed.origin or "input",
                    f"the id {parsed.name!r} came before in this run with other content; "
                    "the first is kept: give each document an id of its own",
                )
            )

    def _sources(
        self, batch: Sequence[tuple[Parsed, bytes]]
    ) -> tuple[list[NewSource], list[NewSource]]:
        """Sources of a batch, its messages with what was said before them; documents that changed.

        The slots of the others are not made.
        """
        documents = iter(
            with_turns([parsed for parsed, _ in batch if isinstance(parsed, ParsedDocument)])
        )
        names = [parsed.name for parsed, _ in batch]
        stored = self._store.sources.states(names, self._namespace)
        evicted = self._evicted_before(names)
        now = max(time.time(), 1.0)
        sources: list[NewSource] = []
        documents_changed: list[NewSource] = []
        for parsed, digest in batch:
            if not isinstance(parsed, ParsedDocument):
                sources.append(facts_source(parsed, digest, self._namespace))
                continue
            document = next(documents)
            if document.turn is not None and parsed.turn is None:
                digest = hashlib.blake2b(self._salt + document.digest(), digest_size=16).digest()
            known = stored.get(document.name)
            replaced = known is not None and known.digest != digest
            document = self._conversations.placed(document, replaced)
            if document.turn is not None and evicted.get(document.name) == digest:
                self._unchanged += 1
                continue
            window = self._config.window
            source = document_source(document, digest, self._namespace, window, self._extractor)
            changed = known is None or known != (digest, document.origin)
            if document.turn is not None:
                source = replace(source, used=now)
                if changed and not self._has_room(source):
                    continue
            if changed and self._learner is not None:
                self._said += said_messages(document)
            if changed:
                documents_changed.append(source)
            sources.append(source)
        return sources, documents_changed

    def _evicted_before(self, names: Sequence[str]) -> dict[str, bytes]:
        """The digests of those of some sources that were evicted; where there is room, of none."""
        capacity, messages = self._config.messages.capacity, self._store.messages
        if capacity is None or messages.count_slots() < capacity:
            return {}
        return messages.evicted(names, self._namespace)

    def _has_room(self, source: NewSource) -> bool:
        """Whether a message fits the capacity by itself; a problem where it does not."""
        capacity = self._config.messages.capacity
        if capacity is None or len(source.slots) <= capacity:
            return True
        self._problems.add(
            Problem(
                source.origin or "input",
                f"the message {source.name!r} takes {len(source.slots):,} slots, and room is for "
                f"{capacity:,}; split it, or set a larger capacity",
            )
        )
        return False

    def _store_batch(self, *, is_last: bool = True) -> None:
        """Write the batch; or begin to encode it, and write the one before it meanwhile.

        Args:
            is_last: whether nothing more is to come.
        """
        self._mark_seen()
        has_messages = any(
            isinstance(parsed, ParsedDocument) and parsed.turn is not None
            for parsed, _ in self._batch
        )
        if has_messages:  # they are placed among those that are stored
            self._write_prepared()
        # Another process takes some time to start.
        in_process = not has_messages and (not is_last or self._slot_process.is_running)
        prepared = self._prepare(in_process and self._may_use_process)
        self._write_prepared()
        self._prepared = prepared
        if not self._passages.is_ahead or has_messages:
            self._write_prepared()

    def _prepare(self, in_process: bool) -> "_Prepared":
        """What is to be written of the batch; the next one begins.

        Args:
            in_process: whether another process makes the slots.
        """
        sources, changed = self._sources(self._batch)
        begun = self._passages.begin(changed, self._slot_process.fill if in_process else None)
        learn = self._learner.prepare(self._said, self._namespace) if self._learner else None
        prepared = _Prepared(
            sources, self._files, learn, begun, self._batch_characters, len(self._batch)
        )
        self._said, self._batch, self._batch_characters, self._files = [], [], 0, {}
        return prepared

    def _write_prepared(self) -> None:
        """Write what changed of a batch, and evict what it displaces, in one transaction."""
        if self._prepared is None:
            return
        sources, files, learn, begun, characters, documents = self._prepared
        self._prepared = None
        begun.wait()
        said = [source for source in sources if source.used]
        with self._store.changing(advance=False) if said or learn else nullcontext():
            counts = self._store.put(sources, self._encode, files, self._namespace, begun.encode)
            if learn is not None:
                learn()
            self._evicted += self._evict(said)
        self._count(counts, characters, documents)

    def _count(self, counts: PutCounts, characters: int, documents: int) -> None:
        """Count what is stored, and report the progress."""
        self._added += counts.added
        self._updated += counts.updated
        self._unchanged += counts.unchanged
        self._progress = Progress(
            self._progress.characters + characters,
            self._progress.documents + documents,
            self._reader.bytes,
            dict(self._reader.kinds),
        )
        self._on_progress(self._progress)

    def _evict(self, said: Sequence[NewSource]) -> int:
        """Evict messages beyond the capacity, but not the last of a batch; returns how many."""
        capacity = self._config.messages.capacity
        if capacity is None or not said:
            return 0
        half_life = self._config.tell.usage_half_life
        last = said[-1]
        return self._store.messages.evict(capacity, last.used, half_life, last.name, last.namespace)

    def _remove_vanished(self, read: ReadToEnd) -> None:
        """Remove what came from this file, or from files of this folder, and does so no longer.

        What of a folder is left out now is removed, too.
        """
        self._mark_seen()
        vanished = [
            name
            for name, origin in self._store.sources.not_seen(read.origin, self._namespace).items()
            if not read.is_folder
            or _is_missing(origin)
            or read.exclusions.cover(Path(origin).relative_to(read.origin))
        ]
        if vanished:
            self._store.delete(vanished, self._namespace)
            self._removed += len(vanished)


class _Prepared(NamedTuple):
    """A batch that is ready to be written."""

    sources: list[NewSource]
    files: Mapping[str, bytes]
    """Digests of files of which all is stored with it, by path."""
    learn: Callable[[], None] | None
    begun: Begun
    characters: int
    documents: int
    """And facts."""


def _is_missing(path: str) -> bool:
    """Whether a file does not exist; one in a folder that can't be read counts as existing."""
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
