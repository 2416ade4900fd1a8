"""Ingest: inputs are parsed, compared with what is stored, and what changed is written."""

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from memnet.config import Config
from memnet.encoders.protocol import document_encode
from memnet.errors import InputError, Problem
from memnet.ingest.formats import Parsed
from memnet.ingest.inputs import Input, InputReader, OriginComplete
from memnet.ingest.messages import Conversations, SpeakerText, recognise_turns, speaker_texts
from memnet.ingest.selection import ReadOptions
from memnet.ingest.slots import (
    Extractor,
    SlotProcess,
    chunking_fingerprint,
    document_source,
    facts_source,
)
from memnet.ingest.vectors import PassageEncoder, PendingVectors
from memnet.loaders.document import ParsedDocument
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import LoadLimits
from memnet.runtime.process import raised_gc_threshold
from memnet.storage import MemoryStore, NewSource
from memnet.types import IngestReport

_log = logging.getLogger("memnet")
# Gives what is to be written once messages are stored, in the same transaction.
Learn: TypeAlias = Callable[[Sequence[SpeakerText], str], Callable[[], None] | None]


class Progress(NamedTuple):
    """How far an ingest has come."""

    characters: int  # of input that are safely stored, unchanged ones included
    documents: int
    bytes: int = 0  # of the files they were read from, and of files that are unchanged
    kinds: Mapping[str, int] = MappingProxyType({})  # files by format: "PDF files", "Markdown"
    reading: str = ""  # the page that is read, where that takes seconds: "a.pdf, page 3 of 300"


@dataclass
class _Batch:
    """What is stored in one transaction: first it is collected, then prepared, then written."""

    # Inputs with the digests of what they were parsed to.
    items: list[tuple[Parsed, bytes]] = field(default_factory=list)
    characters: int = 0
    # Digests of files of which all is stored with this batch, by path.
    files: dict[str, bytes] = field(default_factory=dict)
    # Digests of those of its sources, by name, that may have come before in this run.
    unmarked: dict[str, bytes] = field(default_factory=dict)
    sources: list[NewSource] = field(default_factory=list)
    vectors: PendingVectors | None = None  # of the passages that changed, once it is prepared
    learn: Callable[[], None] | None = None

    def documents(self) -> list[ParsedDocument]:
        return [parsed for parsed, _ in self.items if isinstance(parsed, ParsedDocument)]


class _Problems:
    """Counts and reports problems; the only one of a run that used nothing becomes its error."""

    def __init__(self, report: Callable[[Problem], None] | None) -> None:
        self.reasons: Counter[str] = Counter()
        self._report = report or _log_problem
        self._first: Problem | None = None

    def add(self, problem: Problem) -> None:
        if not self.reasons:
            self._first = problem
        else:
            self._report_first()
            self._report(problem)
        self.reasons[problem.reason] += 1

    def finish(self, *, nothing_used: bool) -> None:
        """Report what was held back.

        Raises:
            InputError: nothing at all was used.
        """
        if nothing_used and self._first is not None:
            raise InputError(str(self._first))
        self._report_first()
        if nothing_used and self.reasons:
            counted = ", ".join(f"{count:,} {what}" for what, count in self.by_reason().items())
            raise InputError(
                f"nothing was ingested: all {self.reasons.total()} inputs were skipped"
                + (", see above" if self.reasons[""] else f" ({counted})")
            )

    def by_reason(self) -> dict[str, int]:
        """How many there were, most first; those where something is wrong as "errors"."""
        return {reason or "errors": count for reason, count in self.reasons.most_common()}

    def _report_first(self) -> None:
        if self._first is not None:
            self._report(self._first)
            self._first = None


def _log_problem(problem: Problem) -> None:
    _log.log(logging.INFO if problem.reason else logging.WARNING, "skipped: %s", problem)


class Ingest:
    """One run over some inputs.

    Documents are stored in batches, each batch in one transaction: after a kill everything up to
    the last batch is there, and the same run finishes the rest. While one batch is written the
    next one is read, cut into slots and encoded.
    """

    def __init__(
        self,
        store: MemoryStore,
        config: Config,
        passages: PassageEncoder,
        *,
        namespace: str = "",
        options: ReadOptions | None = None,
        extractor: Extractor | None = None,
        learn: Learn | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_problem: Callable[[Problem], None] | None = None,
    ) -> None:
        """Set up a run; ``extractor`` finds names in passages, ``learn`` learns from messages.

        Without ``on_problem`` each problem is a line of the log.
        """
        limits = config.limit
        self._store = store
        self._config = config
        self._passages = passages
        self._namespace = namespace
        self._extractor = extractor
        self._learn = learn
        self._on_progress = on_progress or (lambda _: None)
        self._loaders = LoaderProcess(
            LoadLimits(
                file=limits.file,
                characters=limits.document,
                title=limits.title,
                memory=limits.load_memory,
                seconds=limits.load_seconds,
            ),
            lambda name, page, pages: self._on_progress(
                self._progress._replace(reading=f"{Path(name).name}, page {page:,} of {pages:,}")
            ),
        )
        self._reader = InputReader(limits, options or ReadOptions(), self._loaders, self._is_known)
        self._slot_process = SlotProcess(config.window)
        self._conversations = Conversations(store, namespace)
        self._fingerprint = chunking_fingerprint(config.window, extractor).encode()
        self._problems = _Problems(on_problem)
        self._counts: Counter[str] = Counter()
        self._progress = Progress(0, 0)
        self._used_any = False
        # The first batches are smaller: until they are encoded there is nothing to write.
        self._batch_factor = 1
        self._batch = _Batch()
        self._prepared: _Batch | None = None  # the batch before, which is not written yet

    def run(self, inputs: Iterable[Input]) -> IngestReport:
        """Store everything that can be used; report and count what can't.

        Raises:
            InputError: nothing at all could be used.
            StoreBusyError, StoreError: the store can't be written.
        """
        started = time.perf_counter()
        with (
            raised_gc_threshold,
            self._loaders,
            closing(self._slot_process),
            self._store.writing(sources_only=True),
            self._passages.pool or nullcontext(),
        ):
            self._store.sources.start_run()
            for item in self._reader.read(inputs):
                if isinstance(item, Problem):
                    self._problems.add(item)
                elif isinstance(item, OriginComplete):
                    self._remove_vanished(item)
                    if item.digest:
                        self._batch.files[item.origin] = self._digest(item.digest)
                else:
                    self._add(item)
            self._store_batch()
            self._write_prepared()
            slots = self._store.counts().slots
        self._problems.finish(nothing_used=not (self._used_any or self._reader.follows))
        return IngestReport(
            **{name: self._counts[name] for name in ("added", "updated", "unchanged", "removed")},
            skipped=self._problems.reasons.total(),
            skipped_by_reason=self._problems.by_reason(),
            kinds=dict(self._reader.kinds),
            evicted=self._counts["evicted"],
            slots=slots,
            seconds=time.perf_counter() - started,
        )

    def _is_known(self, path: str, digest: bytes) -> bool:
        """Count the sources of a file as unchanged, if they were made of this content."""
        self._mark_seen()
        sources = self._store.sources
        unchanged = sources.mark_file_seen(path, self._digest(digest), self._namespace)
        self._counts["unchanged"] += unchanged
        self._used_any = self._used_any or unchanged > 0
        return unchanged > 0

    def _digest(self, content: bytes) -> bytes:
        """Of a content and of how slots are made of it."""
        return hashlib.blake2b(self._fingerprint + content, digest_size=16).digest()

    def _add(self, parsed: Parsed) -> None:
        """Put an input into the batch, unless its name is in it."""
        batch, digest = self._batch, self._digest(parsed.digest())
        self._used_any = True
        first = batch.unmarked.setdefault(parsed.name, digest)
        if first is not digest:
            self._report_repeated(parsed, digest, first)
            return
        batch.items.append((parsed, digest))
        batch.characters += parsed.size()
        limits, factor = self._config.ingest, self._batch_factor
        if (
            batch.characters >= factor * limits.batch_characters
            or len(batch.items) >= factor * limits.batch_sources
        ):
            most = 1 if self._passages.quick is None else limits.quick_batches
            self._batch_factor = min(2 * factor, most)
            self._store_batch(is_last=False)

    def _mark_seen(self) -> None:
        """Note what the batch holds, but for what came before in this run, which leaves it."""
        batch = self._batch
        if not batch.unmarked:
            return
        before = self._store.sources.mark_seen(batch.unmarked)
        kept: list[tuple[Parsed, bytes]] = []
        for parsed, digest in batch.items:
            # One that is marked already may be in the batch, too: it is the first.
            if parsed.name in before and batch.unmarked.get(parsed.name) is digest:
                self._report_repeated(parsed, digest, before[parsed.name])
            else:
                kept.append((parsed, digest))
        batch.items, batch.unmarked = kept, {}

    def _report_repeated(self, parsed: Parsed, digest: bytes, first: bytes) -> None:
        """Report what came before in this run, if it had another digest then."""
        if first != digest:
            what = (
                f"the id {parsed.name!r} came before in this run with other content; "
                "the first is kept: give each document an id of its own"
            )
            self._problems.add(Problem(parsed.origin or "input", what))

    def _store_batch(self, *, is_last: bool = True) -> None:
        """Prepare the batch, write the one before it meanwhile, and begin the next one."""
        self._mark_seen()
        batch, self._batch = self._batch, _Batch()
        has_messages = any(document.turn is not None for document in batch.documents())
        if has_messages:  # they are placed among those that are stored
            self._write_prepared()
        # Another process takes some time to start, and on one core both only wait for each other;
        # an extractor may be anything.
        in_process = (
            not has_messages
            and (not is_last or self._slot_process.is_running)
            and self._extractor is None
            and self._config.cores() > 1
        )
        self._prepare(batch, in_process)
        self._write_prepared()
        self._prepared = batch
        if has_messages or self._passages.pool is None:
            self._write_prepared()

    def _prepare(self, batch: _Batch, in_process: bool) -> None:
        """Make the sources of a batch: messages with what was said before them.

        The slots of what is stored and unchanged are not made. Those of the others are made and
        encoded from now on, where that is possible beside other work, by a process of their own
        if ``in_process``.
        """
        documents = iter(recognise_turns(batch.documents()))
        names = [parsed.name for parsed, _ in batch.items]
        stored = self._store.sources.states(names, self._namespace)
        evicted = self._evicted_before(names)
        now = max(time.time(), 1.0)
        changed: list[NewSource] = []
        said: list[SpeakerText] = []
        for parsed, digest in batch.items:
            if not isinstance(parsed, ParsedDocument):
                batch.sources.append(facts_source(parsed, digest, self._namespace))
                continue
            document = next(documents)
            if document.turn is not None and parsed.turn is None:
                digest = self._digest(document.digest())
            known = stored.get(document.name)
            replaced = known is not None and known.digest != digest
            document = self._conversations.link_to_previous(document, replaced)
            if document.turn is not None and evicted.get(document.name) == digest:
                self._counts["unchanged"] += 1
                continue
            window = self._config.window
            source = document_source(document, digest, self._namespace, window, self._extractor)
            is_new = known is None or known != (digest, document.origin)
            if document.turn is not None:
                source = replace(source, used=now)
                if is_new and not self._has_room(source):
                    continue
            if is_new:
                changed.append(source)
                said += speaker_texts(document) if self._learn is not None else ()
            batch.sources.append(source)
        make_slots = self._slot_process.fill if in_process else None
        batch.vectors = PendingVectors(self._passages, changed, make_slots)
        batch.learn = self._learn(said, self._namespace) if self._learn else None

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
        what = (
            f"the message {source.name!r} takes {len(source.slots):,} slots, and room is for "
            f"{capacity:,}; split it, or set a larger capacity"
        )
        self._problems.add(Problem(source.origin or "input", what))
        return False

    def _write_prepared(self) -> None:
        """Write what changed of a batch, and evict what it displaces, in one transaction."""
        batch, self._prepared = self._prepared, None
        if batch is None or batch.vectors is None:
            return
        batch.vectors.wait()
        said = [source for source in batch.sources if source.used]
        with self._store.changing(advance=False) if said or batch.learn else nullcontext():
            encode = document_encode(self._passages.encoder)
            counts = self._store.put(
                batch.sources, encode, batch.files, self._namespace, batch.vectors.encode
            )
            if batch.learn is not None:
                batch.learn()
            self._counts["evicted"] += self._evict(said)
        self._counts.update(counts._asdict())
        self._progress = Progress(
            self._progress.characters + batch.characters,
            self._progress.documents + len(batch.items),
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

    def _remove_vanished(self, read: OriginComplete) -> None:
        """Remove what came from this file, or from files of this folder, and does so no longer.

        What of a folder is left out now is removed, too.
        """
        self._mark_seen()
        vanished = [
            name
            for name, origin in self._store.sources.not_seen(read.origin, self._namespace).items()
            if read.digest
            or _is_missing(origin)
            or read.exclusions.cover(Path(origin).relative_to(read.origin))
        ]
        if vanished:
            self._store.delete(vanished, self._namespace)
            self._counts["removed"] += len(vanished)


def _is_missing(path: str) -> bool:
    """Whether a file does not exist; one in a folder that can't be read counts as existing."""
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
