"""The engine: a memory one can fill, ask and keep."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import BinaryIO, Literal, Self, cast

from pydantic import ValidationError

from memnet.config import Config
from memnet.device import device_copier, find_device
from memnet.documents.answers import TextAnswers
from memnet.encoders import Encoder
from memnet.errors import InputError, ModelError, StoreError
from memnet.files import Problem
from memnet.ingest.inputs import Input
from memnet.ingest.limits import check_text, check_type
from memnet.ingest.pipeline import Ingest, Progress
from memnet.learning import Learning
from memnet.reader.loading import SPANS, LazyReader
from memnet.registry import TEXT, Answerer, load_answerer, load_encoder
from memnet.statements.parsing import subject_symbol
from memnet.statements.teller import UsageBuffer, tell
from memnet.storage import MemoryStore, Scope, import_bundle, stored_fingerprint
from memnet.types import (
    Answer,
    Document,
    Fact,
    IngestReport,
    Statement,
    StoreInfo,
    TellReport,
    VerifyReport,
)

_log = logging.getLogger("memnet")


class Engine(Learning):
    """A memory: a store with the encoder, the answerer and the reader that answer from it.

    May be shared between threads. Use it as a context manager, or call ``close``.
    """

    def __init__(
        self,
        store: MemoryStore,
        encoder: Encoder,
        config: Config,
        answerer: str | os.PathLike[str] = TEXT,
        reader: str | os.PathLike[str] = SPANS,
    ) -> None:
        """Join the parts; ``Engine.open`` makes them and says what they are.

        Raises:
            ModelError: there is no such model, or it can't be loaded.
            DeviceError: the device of the settings is not there.
        """
        self._config = config
        self._store = store
        self._encoder = encoder
        self._usage = UsageBuffer(store, config.tell)
        self._reader = LazyReader(reader, find_device(config.device), config.eight_bits)
        self._model = load_answerer(answerer, store, encoder, config, self._usage.add, self._reader)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        create: bool = False,
        config: Config | None = None,
        answerer: str | os.PathLike[str] = TEXT,
        reader: str | os.PathLike[str] = SPANS,
        encoder: str | None = None,
    ) -> Self:
        """Open the store in the folder ``path``.

        Args:
            path: the store's folder.
            create: make the store if there is none.
            config: settings; None for the defaults.
            answerer: the name of a shipped model such as "text" or "babi", a folder that
                ``memnet train`` made, or "untrained".
            reader: what reads short answers in documents: "spans", a folder that ``memnet train
                reader`` made, "sentences" for whole sentences, or the name or folder of an
                extractive model of the transformers library.
            encoder: name or folder of a sentence-transformers model; None for the one that the
                store was made with, or all-MiniLM-L6-v2 for a new one. Only a model that is named
                here is fetched from the network, never one that the store names.

        Raises:
            ModelError: there is no such model or reader, or it can't be loaded.
            DeviceError: the device of the settings is not there.
            EncoderError: there is no such encoder, or this machine does not have the one that the
                store was made with.
            EncoderMismatchError: the store was made with another encoder.
            StoreError: there is no store, or it can't be opened.
            DependencyError: FAISS, or the library of a named model, is not installed.
        """
        config = config or Config()
        loaded = load_encoder(encoder, config, stored_fingerprint(path))
        store = MemoryStore(
            path,
            fingerprint=loaded.fingerprint,
            dimension=loaded.dimension,
            create=create,
            lock_seconds=config.lock_seconds,
            config=config.store,
            to_device=device_copier(find_device(config.device)),
        )
        try:
            return cls(store, loaded, config, answerer, reader)
        except BaseException:
            store.close()
            raise

    @property
    def store(self) -> MemoryStore:
        """The rows and indexes that the answers come from."""
        return self._store

    @property
    def encoder(self) -> Encoder:
        """What makes the store's vectors."""
        return self._encoder

    @property
    def config(self) -> Config:
        """The settings."""
        return self._config

    @property
    def reader(self) -> LazyReader:
        """What reads short answers in documents; it loads at the first question."""
        return self._reader

    @property
    def answerer(self) -> Answerer:
        """What answers questions."""
        return self._model

    def close(self) -> None:
        """Close the store's files, first keeping what usage it learned if nobody is writing."""
        with suppress(StoreError, OSError):
            self._usage.save(wait=0)
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
        read_as: Literal["text"] | None = None,
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
            read_as: "text" reads files of an unknown kind as plain text; None skips them.
            on_progress: called after each batch that is safely stored.
            on_problem: called for each input that is skipped; None logs a warning.

        Raises:
            InputError: nothing at all could be used, or an input is of another type.
            StoreBusyError: another writer is at work.
            StoreError: the store can't be written.
        """
        check_text(namespace, "the namespace", self.config.limit.name)
        for given in inputs:
            _check_input(given, Iterable)
        run = Ingest(
            self._store,
            self._encoder.encode,
            self.config,
            namespace=namespace,
            facts=facts,
            read_as=read_as,
            on_progress=on_progress or (lambda _: None),
            on_problem=on_problem or (lambda problem: _log.warning("skipped: %s", problem)),
        )
        return run.run(_flat(inputs))

    def tell(self, text: str, *, namespace: str = "") -> TellReport:
        """Remember sentences, comparing each with earlier statements about its subject.

        A sentence is added, merged with one that says the same, or put in the place of one that it
        makes out of date, which stays as history. "Ann no longer lives in Paris" and "Ann left
        Paris" close what they end; "Forget that Ann lives in Paris" deletes it. Everything that a
        text changes is one transaction.

        Args:
            text: one or more sentences in plain words.
            namespace: keeps memories apart in one store.

        Returns:
            Each decision with its reason.

        Raises:
            InputError: the text holds no words, is too long, or asks to forget a statement that
                is not stored.
            StoreBusyError: another writer is at work.
            StoreError: the store can't be written.
        """
        check_text(text, "the text", self.config.limit.tell)
        check_text(namespace, "the namespace", self.config.limit.name)
        started = time.perf_counter()
        self._usage.save()
        decisions = tell(self._store, self._encoder.encode, self.config.tell, text, namespace)
        return TellReport(
            decisions=decisions,
            slots=self._store.counts().slots,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def history(self, name: str, *, namespace: str | None = None) -> tuple[Statement, ...]:
        """The statements about someone or something, oldest first, with their validity.

        Args:
            name: of their subject, in any case.
            namespace: to look in; None for all.

        Raises:
            InputError: the name is too long.
        """
        check_text(name, "the name", self.config.limit.name)
        self._check_namespace(namespace)
        return tuple(
            Statement(
                id=slot.id,
                source=slot.source,
                text=slot.text,
                valid_from=slot.valid_from,
                valid_until=slot.valid_until,
            )
            for slot in self._store.statements.about(subject_symbol(name), namespace)
            if slot.valid_from is not None
        )

    def preload(self) -> None:
        """Start loading on another thread what the first question will need.

        Its errors are raised when a question is asked.
        """
        if isinstance(self._model, TextAnswers):
            self._reader.load_early(self.config.answer.tokens, self.config.cores())

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
            InputError: the question is blank or too long, or ``hops`` or ``top_k`` is below 1 or
                beyond its limit.
            ModelError: the model gives no numbers.
        """
        limits = self.config.limit
        check_text(question, "the question", limits.question)
        if not question.strip():
            raise InputError("the question is empty; ask something in plain words")
        self._check_namespace(namespace)
        top_k = self.config.hop.evidence if top_k is None else top_k
        if not (
            _is_count(top_k, limits.evidence) and (hops is None or _is_count(hops, limits.hops))
        ):
            raise InputError(
                f"hops is {hops!r} and top_k is {top_k!r}; they must be at least 1, and at most "
                f"{limits.hops} and {limits.evidence:,}"
            )
        try:
            return self._model.ask(question, hops, top_k, Scope(namespace))
        except ValidationError as error:
            field = ".".join(map(str, error.errors()[0]["loc"]))
            raise ModelError(
                f"the model gives an answer that can't be right ({field}: "
                f"{error.errors()[0]['msg']}); train it again"
            ) from error

    def forget(self, *source_ids: str, namespace: str = "") -> int:
        """Remove documents and fact files, with all that was made from them.

        Args:
            source_ids: ids as evidence cites them; a path may be given relative to the current
                folder.
            namespace: where they are; sources of the same ids elsewhere stay.

        Returns:
            How many slots were removed.

        Raises:
            InputError: an id is not in that namespace; nothing is removed then.
            StoreBusyError: another writer is at work.
        """
        check_text(namespace, "the namespace", self.config.limit.name)
        for given in source_ids:
            check_type(given, "a source id")
        with self._store.writing():
            paths = [os.path.abspath(given) for given in source_ids]
            known = self._store.sources.namespaces([*source_ids, *paths])
            names: list[str] = []
            for given, path in zip(source_ids, paths, strict=True):
                here = [name for name in (given, path) if namespace in known.get(name, ())]
                if not here:
                    elsewhere = known.get(given) or known.get(path) or []
                    raise InputError(_not_stored(given, namespace, elsewhere))
                names.append(here[0])
            return self._store.delete(names, namespace)

    def export_bundle(self, path: str | os.PathLike[str]) -> int:
        """Write the memory as one file, from which ``import_bundle`` makes it again anywhere.

        It holds what was committed when the call began, whoever writes meanwhile, and appears
        whole or not at all. Equal memories give equal bytes.

        Args:
            path: of the bundle; a file that is there is replaced.

        Returns:
            How many slots it holds.

        Raises:
            StoreError: the file can't be written, or the store can't be read.
        """
        with suppress(StoreError, OSError):
            self._usage.save(wait=0)
        return self._store.export(path)

    def info(self) -> StoreInfo:
        """What the store holds."""
        counts, index = self._store.counts(), self._store.index_details()
        return StoreInfo(
            path=str(self._store.path),
            slots=counts.slots,
            superseded=counts.superseded,
            documents=counts.documents,
            facts=counts.facts,
            symbols=counts.symbols,
            encoder=self._store.fingerprint,
            dimension=self._store.dimension,
            schema_version=self._store.schema_version,
            generation=counts.generation,
            index=self._store.index_description(),
            index_kind=index["kind"],
            index_recall=index["recall"],
            device=find_device(self.config.device),
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

    @staticmethod
    def import_bundle(
        bundle: str | os.PathLike[str],
        path: str | os.PathLike[str],
        encoder: str | None = None,
    ) -> None:
        """Make a store from a bundle, which appears whole or not at all.

        Everything in the bundle is checked: it may come from anyone.

        Args:
            bundle: a file that ``export_bundle`` made.
            path: of the store's folder, new or empty.
            encoder: as for ``open``, of the encoder that made it.

        Raises:
            EncoderError: there is no such encoder.
            EncoderMismatchError: the bundle was made with another encoder.
            StoreError: the bundle is damaged, or the folder is not empty or can't be written.
            DependencyError: FAISS, or the library of a named model, is not installed.
        """
        loaded = load_encoder(encoder, Config())
        import_bundle(bundle, path, fingerprint=loaded.fingerprint, dimension=loaded.dimension)

    def _check_namespace(self, namespace: str | None) -> None:
        if namespace is not None:
            check_text(namespace, "the namespace", self.config.limit.name)


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and 1 <= value <= most


def _check_input(given: object, *others: type) -> None:
    """Check the type of one input; values of ``others`` may stand for inputs as well.

    Raises:
        InputError: it is of another type.
    """
    single = isinstance(given, (str, os.PathLike, Document, Fact)) or hasattr(given, "readline")
    if not single and not isinstance(given, others):
        raise InputError(
            f"an input is of type {type(given).__name__}; expected paths, open binary files, "
            "Document and Fact values, or lists of them"
        )


def _flat(inputs: Iterable[Input | Iterable[Input]]) -> Iterator[Input]:
    """Inputs one by one, whether given by themselves or in lists."""
    for given in inputs:
        if isinstance(given, (str, os.PathLike, Document, Fact)):
            yield given
        elif hasattr(given, "readline"):
            yield cast(BinaryIO, given)
        else:
            for one in given:
                _check_input(one)
                yield one  # pyright: ignore[reportReturnType]


def _not_stored(source_id: str, namespace: str, elsewhere: list[str]) -> str:
    """What is said of a source that a namespace does not hold, but others may."""
    where = f" in namespace {namespace!r}" if namespace else ""
    if elsewhere:
        found = ", ".join(repr(name) for name in elsewhere)
        return (
            f"no source {source_id!r} is stored{where or ' in the default namespace'}, so nothing "
            f"was forgotten; it is in namespace {found}: name that one"
        )
    return (
        f"no source {source_id!r} is stored{where}, so nothing was forgotten; "
        "source ids stand in the evidence of answers"
    )
