"""The engine: a memory one can fill, ask and keep."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import BinaryIO, Self, cast

from memnet.config import Config
from memnet.controllers import UntrainedController
from memnet.encoders import Encoder, MiniLMEncoder
from memnet.errors import InputError
from memnet.hops import HopLoop, HopTrace, hop_records
from memnet.ingest import Ingest, Input, Problem, Progress
from memnet.readers import Ranked, read_facts, read_sentences
from memnet.storage import MemoryStore
from memnet.types import (
    Answer,
    Candidate,
    Document,
    Evidence,
    Fact,
    IngestReport,
    StoreInfo,
    VerifyReport,
)

_log = logging.getLogger("memnet")


class Engine:
    """A memory store with the encoder, the controller and the readers that answer from it.

    May be shared between threads. Use it as a context manager, or call ``close``.
    """

    def __init__(self, store: MemoryStore, encoder: Encoder, config: Config) -> None:
        """Join the parts; ``Engine.open`` makes them."""
        self.config = config
        self._store = store
        self._encoder = encoder
        self._controller = UntrainedController(config.hop)
        self._loop = HopLoop(store, encoder.encode, self._controller, config.hop)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], create: bool = False, config: Config | None = None
    ) -> Self:
        """Open the store in the folder ``path``.

        Args:
            path: the store's folder.
            create: make the store if there is none.
            config: settings; None for the defaults.

        Raises:
            EncoderMismatchError: the store was made with another encoder.
            StoreError: there is no store, or it can't be opened.
            DependencyError: FAISS is not installed.
        """
        config = config or Config()
        encoder = MiniLMEncoder(threads=config.threads or len(os.sched_getaffinity(0)))
        store = MemoryStore(
            path,
            fingerprint=encoder.fingerprint,
            dimension=encoder.dimension,
            create=create,
            lock_seconds=config.lock_seconds,
        )
        return cls(store, encoder, config)

    def close(self) -> None:
        """Close the store's files."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def ingest(
        self,
        *inputs: Input | Iterable[Input],
        namespace: str = "",
        facts: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_problem: Callable[[Problem], None] | None = None,
    ) -> IngestReport:
        """Remember files, folders, binary streams, documents and facts.

        What is stored already and unchanged costs nothing; what changed replaces what it was; what
        a file or folder no longer holds is removed.

        Args:
            inputs: paths, open binary files, ``Document`` and ``Fact`` values, or lists of them.
            namespace: keeps memories apart in one store.
            facts: read all files as fact tables, whatever their names.
            on_progress: called after each batch that is safely stored.
            on_problem: called for each input that is skipped; None logs a warning.

        Raises:
            InputError: nothing at all could be used.
            StoreBusyError: another writer is at work.
            StoreError: the store can't be written.
        """
        run = Ingest(
            self._store,
            self._encoder.encode,
            self.config,
            namespace=namespace,
            facts=facts,
            on_progress=on_progress or (lambda _: None),
            on_problem=on_problem or (lambda problem: _log.warning("skipped: %s", problem)),
        )
        return run.run(_flat(inputs))

    def ask(
        self,
        question: str,
        *,
        hops: int | None = None,
        top_k: int | None = None,
        namespace: str | None = None,
    ) -> Answer:
        """Answer a question from the memory.

        Args:
            question: in plain language.
            hops: most reads of the memory; None for the configured number.
            top_k: pieces of evidence to return; None for the configured number.
            namespace: to look in; None for all.

        Raises:
            InputError: the question is blank, or ``hops`` or ``top_k`` is below 1.
        """
        started = time.perf_counter()
        if not question.strip():
            raise InputError("the question is empty; ask something in plain words")
        hops = self.config.hop.hops if hops is None else hops
        top_k = self.config.hop.evidence if top_k is None else top_k
        if hops < 1 or top_k < 1:
            raise InputError(f"hops is {hops} and top_k is {top_k}; both must be at least 1")
        with self._store.reading():
            trace = self._loop.run(question, hops, namespace)
            ranked = self._ranked(trace, top_k)
            records = hop_records(trace, self._store, top_k)
        candidates = self._candidates(question, ranked)
        return Answer(
            question=question,
            answer=candidates[0].text if candidates else None,
            confidence=None,
            abstained=not candidates,
            candidates=candidates,
            evidence=tuple(_evidence(item) for item in ranked[:top_k]),
            hops=records,
            model=self._controller.name,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def forget(self, *source_ids: str) -> int:
        """Remove documents and fact files, with all that was made from them.

        Args:
            source_ids: ids as evidence cites them; a path may be given relative to the current
                folder.

        Returns:
            How many slots were removed.

        Raises:
            InputError: an id is not in the store; nothing is removed then.
            StoreBusyError: another writer is at work.
        """
        with self._store.writing():
            known = self._store.known([*source_ids, *map(os.path.abspath, source_ids)])
            names = [name if name in known else os.path.abspath(name) for name in source_ids]
            unknown = [
                given for given, name in zip(source_ids, names, strict=True) if name not in known
            ]
            if unknown:
                raise InputError(
                    f"no source {unknown[0]!r} is stored, so nothing was forgotten; "
                    "source ids stand in the evidence of answers"
                )
            return self._store.delete(names)

    def info(self) -> StoreInfo:
        """What the store holds."""
        counts = self._store.counts()
        return StoreInfo(
            path=str(self._store.path),
            slots=counts.slots,
            documents=counts.documents,
            facts=counts.facts,
            symbols=counts.symbols,
            encoder=self._store.fingerprint,
            dimension=self._store.dimension,
            schema_version=self._store.schema_version,
            generation=counts.generation,
            index=self._store.index_description(),
            bytes=self._store.size_in_bytes(),
        )

    def verify(self, repair: bool = False) -> VerifyReport:
        """Check that rows, text search and vector index agree.

        Args:
            repair: make the text search and the vector index anew from the rows if they don't.
        """
        problems = self._store.verify()
        if problems and repair:
            self._store.rebuild()
            left = self._store.verify()
            return VerifyReport(problems=tuple(left or problems), repaired=not left)
        return VerifyReport(problems=tuple(problems), repaired=False)

    def _ranked(self, trace: HopTrace, top_k: int) -> list[Ranked]:
        """The best slots of the last hop; enough of them that a set of facts is whole."""
        last = trace.last
        scores = last.parts.total().tolist()
        similarity = last.similarity.tolist()
        first_hop = {
            slot: number
            for number, step in reversed(list(enumerate(trace.steps, start=1)))
            for slot in step.ids[:top_k]
        }
        slots = self._store.fetch(last.ids)
        return [
            Ranked(slot, score, cosine, first_hop.get(slot.id, len(trace.steps)))
            for slot, score, cosine in zip(slots, scores, similarity, strict=True)
        ]

    def _candidates(self, question: str, ranked: list[Ranked]) -> tuple[Candidate, ...]:
        """Possible answers, best first; none when the memory does not hold the answer."""
        settings = self.config.answer
        if not ranked:
            return ()
        if ranked[0].slot.kind != "passage":
            facts = [item for item in ranked if item.slot.kind != "passage"]
            return read_facts(question, facts, settings)
        passages = [item for item in ranked if item.slot.kind == "passage"][: settings.passages]
        if max(item.similarity for item in passages) < settings.support_floor:
            return ()
        return read_sentences(question, passages, settings)[: settings.passages]


def _evidence(item: Ranked) -> Evidence:
    slot = item.slot
    return Evidence(
        id=slot.id,
        kind="passage" if slot.kind == "passage" else "fact",
        source=slot.source,
        title=slot.title,
        start=slot.start,
        end=slot.end,
        text=slot.text,
        score=item.score,
        hop=item.hop,
    )


def _flat(inputs: Iterable[Input | Iterable[Input]]) -> Iterator[Input]:
    """Inputs one by one, whether given by themselves or in lists."""
    for given in inputs:
        if isinstance(given, (str, os.PathLike, Document, Fact)):
            yield given
        elif hasattr(given, "readline"):
            yield cast(BinaryIO, given)
        else:
            yield from given  # pyright: ignore[reportReturnType]
