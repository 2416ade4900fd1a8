"""The engine: a memory to fill, to ask and to look into."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import date
from functools import partial
from typing import Any, Final, Self

from memnet.config import Config
from memnet.documents.answers import TextAnswers
from memnet.documents.requests import as_direct_question, ask_both, greeted
from memnet.encoders.protocol import Encoder, document_encode
from memnet.errors import InputError, ModelError, Problem, StoreBusyError, StoreError
from memnet.experts.answers import ExpertAnswers
from memnet.experts.registry import (
    check_members,
    find_quick,
    find_reader,
    load_answerer,
    load_encoder,
    load_experts,
)
from memnet.experts.stored import (
    check_store,
    describe,
    existing_sources,
    find_sources,
    stored_document,
    summary,
)
from memnet.ingest.inputs import Input, flatten_inputs
from memnet.ingest.pipeline import Ingest, Progress
from memnet.ingest.reencoding import encode_anew
from memnet.ingest.selection import ReadOptions
from memnet.ingest.vectors import PassageEncoder, encode_full
from memnet.protocols import (
    Answerer,
    Extractor,
    Name,
    Reader,
    Searcher,
    StatementJudge,
    StatementParser,
)
from memnet.reader.loading import SPANS
from memnet.reader.remote import is_remote
from memnet.runtime.device import device_copier, find_device
from memnet.statements.loading import LazyStatementReader
from memnet.statements.memory import StatementMemory
from memnet.storage import (
    MemoryStore,
    existing_encoder,
    export_bundle,
    import_bundle,
    stored_encoder,
)
from memnet.storage.place import is_address, place_name, store_place
from memnet.text.checks import (
    check_messages,
    check_namespace,
    check_question,
    check_text,
    damaged_model_errors,
)
from memnet.text.citations import carrying
from memnet.types import (
    Answer,
    Document,
    Eviction,
    Evidence,
    IngestReport,
    Message,
    Source,
    Statement,
    StoreInfo,
    TellReport,
    UndoReport,
    VerifyReport,
)


class InFlight:
    """Counts the calls that are under way, on any threads."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    @contextmanager
    def track(self) -> Iterator[None]:
        """Count a call while the block runs."""
        with self._changed:
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def wait_for_none(self, seconds: float) -> bool:
        """Wait until no call is under way; False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._count, seconds)


class Engine:
    """A memory: a store with the encoder, the reader and the answerer that answer from it.

    Use it as a context manager, or call ``close``. May be shared between threads. Its parts are
    ``store``, ``encoder``, ``reader``, ``answerer`` and ``config``. A ``namespace`` keeps sources
    apart in one store: what is written goes into the default one, "", and questions look in all,
    None, unless one is named. Arguments that can't be used raise InputError, a store that can't be
    read or written StoreError, and one that another thread or process writes to StoreBusyError.
    """

    def __init__(
        self,
        store: MemoryStore,
        encoder: Encoder,
        config: Config,
        answerer: Name | Answerer | None = None,
        reader: Name | Reader = SPANS,
        extractor: Extractor | None = None,
        parser: StatementParser | None = None,
        judge: StatementJudge | None = None,
    ) -> None:
        """Join the parts; ``Engine.open`` makes them and says what they are."""
        check_members(extractor, "extractor", "fingerprint", "extract")
        check_members(parser, "parser", "parse")
        check_members(judge, "judge", "judge")
        # Custom readers do not load the statement network; remote readers only read documents.
        own = reader == SPANS or is_remote(reader)
        statements = LazyStatementReader() if own else None
        self._told = StatementMemory(
            store, document_encode(encoder), config, parser, judge, statements
        )
        self._extractor = extractor
        self._encode_quick = find_quick(encoder)
        self.questions: Final = InFlight()
        """The questions that are being answered now."""
        self.config: Final = config
        self.store: Final = store
        self.encoder: Final = encoder
        self.reader: Final = find_reader(reader, config)
        parts = (store, encoder, config, self._told.usage.add, self.reader)
        self.answerer: Final[Answerer] = (
            load_experts(*parts, statements)
            if answerer is None
            else load_answerer(answerer, *parts)
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        create: bool = False,
        config: Config | None = None,
        answerer: Name | Answerer | None = None,
        reader: Name | Reader = SPANS,
        encoder: Name | Encoder | None = None,
        extractor: Extractor | None = None,
        parser: StatementParser | None = None,
        judge: StatementJudge | None = None,
    ) -> Self:
        """Open the store in the folder, or at the address, ``path``.

        Instead of names, objects that fulfil a protocol of ``memnet.protocols`` may be given.

        Args:
            path: the store's folder, or its address on PostgreSQL as a text:
                "postgresql://user@host/database?schema=notes".
            create: make the store if there is none.
            config: settings.
            answerer: None for all that the store has something for, each question by the experts
                that a gate chooses, with the models that belong to the store; or one alone: the
                name of a shipped model such as "text" or "babi", a folder that ``memnet train``
                made, or "untrained".
            reader: what reads short answers in documents: "spans", a folder that ``memnet train
                reader`` made, "sentences" for whole sentences, an extractive model of the
                transformers library, named as an encoder is, or "openai:URL#MODEL" for a model on a
                server of that interface, which gets the passages and may only quote them.
            encoder: a sentence-transformers model by its folder or name in the hub's cache, or
                "hub:ORG/NAME" to fetch it; "multilingual" for multilingual-e5-small; "static" for
                all-MiniLM-L6-v2 with a table for passages, which takes a fraction of the time; None
                for the one that the store was made with, or all-MiniLM-L6-v2 for a new one. What a
                store names is never fetched.
            extractor: what finds the names in documents that are ingested; None for runs of
                capitalised words.
            parser: what takes told sentences apart; None for the statement network.
            judge: what compares them with earlier ones; None for the statement network.

        Raises:
            ModelError, EncoderError: there is none of that name, or it can't be loaded.
            EncoderMismatchError: the store was made with another encoder.
            DeviceError: the device of the settings is not there.
            DependencyError: FAISS, psycopg for an address, or the library of a named model is not
                installed.
        """
        path = store_place(path)
        config = config or Config()
        stored = stored_encoder(path)
        loaded = load_encoder(encoder, config, stored and stored[0])
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
            return cls(store, loaded, config, answerer, reader, extractor, parser, judge)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the store's files, after saving what was used, if nobody else writes now."""
        with suppress(StoreError, OSError):
            self._told.usage.save(wait=0)
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ingest(
        self,
        *inputs: Input | Iterable[Input],
        namespace: str = "",
        facts: bool = False,
        key: str | None = None,
        read_as: str | None = None,
        exclude: Sequence[str] = (),
        full: bool = True,
        learn: bool | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_problem: Callable[[Problem], None] | None = None,
    ) -> IngestReport:
        """Remember files, folders, binary streams, documents and facts.

        What is stored already and unchanged costs nothing; what changed replaces what it was; what
        a file or folder no longer holds is removed. Where there are many new passages, they are
        stored with quick vectors first, so that other threads and processes can ask about them, and
        full vectors follow.

        Args:
            inputs: paths, open binary files, ``Document``, ``Message`` and ``Fact``
                values, or lists of them.
            namespace: to put them into.
            facts: make facts of all files, of each line or of each cell of a table.
            key: with ``facts`` the column of the subjects; None for the first of each table.
            read_as: format, such as "text", of files of unknown kind or named by themselves.
            exclude: patterns as in a .gitignore of each folder; what matches is removed, too.
            full: False to return once all is stored, and leave full vectors to ``encode_full``.
            learn: whether what speakers say of themselves in messages that are stored now becomes
                statements; None for what is configured (``Config.messages``), by default no.
            on_progress: called after each batch that is safely stored.
            on_problem: called for each input that is skipped; None logs it.

        Raises:
            InputError: nothing at all could be used, or an input is of another type.
        """
        check_text(namespace, "the namespace", self.config.limit.name)
        self._told.usage.save()
        learn = self.config.messages.learn if learn is None else learn
        encoder = self.encoder
        passages = PassageEncoder(
            encoder,
            self.config.ingest.min_quick,
            self._encode_quick,
            quick_is_final=getattr(encoder, "quick_is_final", False),
            in_background=getattr(encoder, "releases_gil", False),
        )
        report = Ingest(
            self.store,
            self.config,
            passages,
            namespace=namespace,
            options=ReadOptions(facts, key, read_as, exclude),
            extractor=self._extractor,
            learn=self._told.learn if learn else None,
            on_progress=on_progress,
            on_problem=on_problem,
        ).run(flatten_inputs(inputs))
        if full:
            # What is stored is stored. Another ingest, which writes now, goes on with the rest.
            with suppress(StoreBusyError):
                self.encode_full()
        return report

    def encode_full(
        self,
        most: int | None = None,
        *,
        on_progress: Callable[[int], None] | None = None,
        may_go_on: Callable[[], bool] | None = None,
    ) -> int:
        """Put full vectors in the place of the quick ones that a large ingest left.

        Nothing is locked but while some hundreds of them are committed; others ask and write
        meanwhile, and may do the same. What is committed stays, however this ends.

        Args:
            most: vectors to replace; None for all.
            on_progress: called after each commit with the number of those that were replaced.
            may_go_on: called every 16 texts; may block; returns False to stop.

        Returns:
            How many were replaced.

        Raises:
            StoreBusyError: something else writes for longer than a write waits.
        """
        done = 0
        while most is None or done < most:
            limit = self.config.ingest.commit_vectors
            limit = limit if most is None else min(limit, most - done)
            count = encode_full(self.store, self.encoder, limit, may_go_on)
            if not count:
                break
            done += count
            if on_progress is not None:
                on_progress(done)
        return done

    def remember(
        self,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        namespace: str = "",
        learn: bool | None = None,
    ) -> IngestReport:
        """Remember messages of conversations, all at once or turn by turn.

        Those of one session follow each other as they are given. One whose id is stored already is
        left alone, or replaced where it differs; blank ones are skipped. Beyond the capacity
        (``Config.messages``) the least used messages are evicted, the oldest first. ``learn`` and
        vectors as with ``ingest``.

        Raises:
            InputError: a field is missing or of another type; nothing is stored then.
        """
        checked = check_messages(messages)
        # A few are encoded in full at once, and do not wait for what another ingest left.
        full = len(checked) >= self.config.ingest.min_quick
        return self.ingest(checked, namespace=namespace, full=full, learn=learn)

    def tell(
        self,
        text: str,
        *,
        at: str | date | None = None,
        namespace: str = "",
        standing: bool = False,
    ) -> TellReport:
        """Remember sentences, comparing each with earlier statements about its subject.

        A sentence is added, merged with one that says the same, or put in the place of one that it
        makes out of date, which stays as history. It holds from its telling on, or as it says:
        "from tomorrow", "since 2019", "until Friday", "for two weeks". "Ann no longer lives in
        Paris" and "Ann left Paris" close what they end; "Forget that Ann lives in Paris" deletes
        it. Everything that a text changes is one transaction.

        Args:
            text: in plain language.
            at: when it was told, and from when it holds: ISO 8601, a datetime, a date, or days as
                "March 2024", which mean their start. Without a zone the local time; None for now.
                An entry about an earlier time holds until what was told of a later one.
            namespace: to tell it in.
            standing: whether it is never evicted, whatever the capacity (``Config.tell``); so is
                what takes its place.

        Returns:
            Each decision with its reason.

        Raises:
            InputError: the text holds no words, only asks, is too long, or wants a statement
                forgotten that is not stored; ``at`` is not a time, before 1970, or over a century
                ahead; or standing statements leave no room for it. Nothing is written then.
        """
        return self._told.tell(text, at, namespace, standing)

    def undo(self, *, namespace: str = "") -> UndoReport:
        """Take back the last ``tell`` in a namespace; once more, the one before it.

        What it added is deleted, what it ended or replaced holds again. It does not matter which
        process told it.

        Raises:
            InputError: nothing is left, or something was erased, which is for good.
        """
        return self._told.undo(namespace)

    def history(
        self, name: str | None = None, *, namespace: str | None = None
    ) -> tuple[Statement, ...]:
        """Statements in the order in which they began to hold, with what happened to them.

        Args:
            name: of their subject, or another name of it; None for all that was told.
            namespace: to look in; None for all.
        """
        return self._told.history(name, namespace)

    def evictions(self, *, namespace: str | None = None) -> tuple[Eviction, ...]:
        """Messages and statements that the capacity evicted, in order; their texts are gone.

        Args:
            namespace: to look in; None for all.
        """
        return self._told.evictions(namespace)

    def preload(self) -> None:
        """Start loading on a thread what a question needs; errors are raised by the question."""
        if isinstance(self.answerer, TextAnswers | ExpertAnswers):
            self.reader.load_early()

    def ask(
        self,
        question: str,
        *,
        hops: int | None = None,
        top_k: int | None = None,
        namespace: str | None = None,
        where: Mapping[str, Any] | None = None,
        as_of: str | date | None = None,
    ) -> Answer:
        """Answer a question from the memory.

        Args:
            question: in plain language; "yesterday" and the like are of the time ``as_of``.
            hops: most reads of the memory; None for the configured number.
            top_k: pieces of evidence to return; None for the configured number.
            namespace: to look in.
            where: conditions on the metadata of documents, as ``memnet.Scope`` describes them:
                ``{"author": "Ann", "year": {"from": 1990}}``.
            as_of: a time as ``tell`` takes it, of a day, month or year its end: of what was told,
                and of the versions of a document, look at what held then; None for what holds now.
                Facts have no time.

        Raises:
            ModelError: the model is damaged, so that its numbers are none.
        """
        top_k, scope = check_question(question, hops, top_k, namespace, where, self.config, as_of)
        with damaged_model_errors(), self.questions.track():
            said = greeted(question, self.store.sources.all(namespace))
            answer = said or ask_both(
                as_direct_question(question),
                top_k,
                lambda part: self.answerer.ask(part, hops, top_k, scope),
            )
        return answer.model_copy(update={"question": question, "carrying": carrying(answer)})

    def ask_many(
        self,
        questions: Iterable[str],
        *,
        hops: int | None = None,
        top_k: int | None = None,
        namespace: str | None = None,
        where: Mapping[str, Any] | None = None,
        as_of: str | date | None = None,
    ) -> Iterator[Answer]:
        """Answer questions in their order, on as many threads as the settings allow cores.

        Arguments and errors are those of ``ask``; an error is raised at its question's turn.
        """
        ask = partial(
            self.ask, hops=hops, top_k=top_k, namespace=namespace, where=where, as_of=as_of
        )
        with ThreadPoolExecutor(self.config.cores()) as pool:
            yield from pool.map(ask, questions)

    def search(
        self,
        query: str,
        top_k: int | None = None,
        *,
        hops: int | None = None,
        namespace: str | None = None,
        where: Mapping[str, Any] | None = None,
        as_of: str | date | None = None,
    ) -> tuple[Evidence, ...]:
        """Find evidence for a query, best first, without reading an answer in it.

        Arguments and errors are those of ``ask``.

        Raises:
            ModelError: the answerer can't search: those of stories and of trained facts can't.
        """
        top_k, scope = check_question(query, hops, top_k, namespace, where, self.config, as_of)
        answerer = self.answerer
        if not isinstance(answerer, Searcher):
            raise ModelError(
                "the answerer of this memory can't search; open it with the answerer 'text'"
            )
        with damaged_model_errors(), self.questions.track():
            return answerer.search(query, hops, top_k, scope)

    def forget(self, *source_ids: str, namespace: str = "") -> int:
        """Remove documents and fact files, with all that was made from them.

        Args:
            source_ids: as evidence cites them; a path may be relative to the current folder.
            namespace: that they are in.

        Returns:
            How many slots were removed.

        Raises:
            InputError: an id is not in that namespace; nothing is removed then.
        """
        with self.store.writing():
            from memnet.loaders.pdf.scans import forget_scans

            names = existing_sources(self.store, source_ids, namespace, self.config.limit)
            forget_scans()  # which may hold its text
            return self.store.delete(names, namespace)

    def export_bundle(self, path: str | os.PathLike[str]) -> int:
        """Write the memory as one file, from which ``import_bundle`` makes it again anywhere.

        It holds what was committed when the call began, whoever writes meanwhile, and appears
        whole or not at all. Equal memories give equal bytes. A file that is there is replaced.

        Returns:
            How many slots it holds.
        """
        with suppress(StoreError, OSError):
            self._told.usage.save(wait=0)
        return export_bundle(self.store, path)

    def sources(self, namespace: str | None = None) -> Iterator[Source]:
        """What is stored, in the order in which it first came."""
        check_namespace(namespace, self.config.limit)
        return self.store.sources.all(namespace)

    def get(self, source_id: str, namespace: str = "") -> Document | None:
        """A stored source as a document that can be ingested again; None if it is not stored.

        Its text is what the slots hold, with line breaks where they leave something out, such as
        the headings of Markdown: offsets of evidence count in it. A path may be relative to the
        current folder.
        """
        return stored_document(self.store, source_id, namespace, self.config.limit)

    def __contains__(self, source_id: object) -> bool:
        """Whether a source is stored in the default namespace."""
        names = [source_id] if isinstance(source_id, str) else []
        return any(find_sources(self.store, names, "", self.config.limit))

    def __len__(self) -> int:
        """Number of slots."""
        return self.store.counts().slots

    def __bool__(self) -> bool:
        """True: an empty memory is a memory, too."""
        return True

    def __repr__(self) -> str:
        return f"<memnet.Engine{summary(self.store)}>"

    def info(self) -> StoreInfo:
        """What the store holds."""
        return describe(self.store, self.config)

    def verify(self, repair: bool = False) -> VerifyReport:
        """Check that rows, text search and vector index agree.

        Args:
            repair: whether to rebuild the last two if they do not, and to delete what nothing uses.
        """
        return check_store(self.store, repair)

    @staticmethod
    def encode_anew(
        path: str | os.PathLike[str],
        encoder: Name | Encoder,
        *,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Encode all that a store in a folder holds anew, by another encoder; gives how many texts.

        Questions are answered meanwhile, by the old one; whoever has the store open when the new
        vectors take the place of the old ones in one commit gets an EncoderMismatchError, and opens
        it again. What was interrupted goes on. Models that were trained on the store are of the old
        encoder and not used any longer.

        Args:
            path: of the store, a folder.
            encoder: as of ``open``.
            on_progress: called with how many texts are encoded, and how many there are.

        Raises:
            InputError: the store is on a server.
            StoreError: there is no store, or it can't be written.
            StoreBusyError: something else writes for longer than a write waits.
            EncoderError, DependencyError: the encoder can't be loaded.
        """
        place = store_place(path)
        if is_address(place):
            raise InputError(
                f"the store {place_name(place)} is on a server; copy it to a folder with 'memnet "
                "copy', change its encoder there, and copy it into an empty schema"
            )
        name, dimension = existing_encoder(place)
        loaded = load_encoder(encoder, Config())
        final = getattr(loaded, "quick_is_final", False)
        with closing(MemoryStore(place, fingerprint=name, dimension=dimension)) as store:
            return encode_anew(store, loaded, find_quick(loaded) if final else None, on_progress)

    @staticmethod
    def import_bundle(
        bundle: str | os.PathLike[str],
        path: str | os.PathLike[str],
        encoder: Name | Encoder | None = None,
    ) -> None:
        """Make a store from a bundle; it appears whole or not at all.

        ``path`` is a new or empty folder, or an address whose schema is new or empty.

        Everything in the bundle is checked: it may come from anyone.

        Raises:
            EncoderMismatchError: the bundle was made with another encoder.
            StoreError: the bundle is damaged, or the folder is not empty or can't be written.
        """
        path = store_place(path)
        loaded = load_encoder(encoder, Config())
        import_bundle(bundle, path, fingerprint=loaded.fingerprint, dimension=loaded.dimension)
