"""The engine: a memory one can fill, ask and keep."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import BinaryIO, Literal, Self, cast

from pydantic import ValidationError

from memnet.answerers import TEXT, load_answerer
from memnet.config import Config
from memnet.device import device_copier, find_device
from memnet.documents.answers import TextAnswers
from memnet.encoders import Encoder, MiniLMEncoder
from memnet.encoders.sentence_transformers import NamedEncoder, stored_encoder_name
from memnet.errors import InputError, ModelError, StoreError
from memnet.files import Problem
from memnet.ingest.inputs import Input
from memnet.ingest.limits import check_text
from memnet.ingest.pipeline import Ingest, Progress
from memnet.keeping import Keeping
from memnet.learning import Learning
from memnet.reader.loading import SPANS, LazyReader
from memnet.statements.parsing import subject_symbol
from memnet.statements.teller import UsageBuffer, tell
from memnet.storage import MemoryStore, import_bundle, stored_fingerprint
from memnet.types import (
    Answer,
    Document,
    Fact,
    IngestReport,
    Statement,
    TellReport,
)

_log = logging.getLogger("memnet")


class Engine(Keeping, Learning):
    """A memory store with the encoder, the controller and the readers that answer from it.

    May be shared between threads. Use it as a context manager, or call ``close``.
    """

    def __init__(
        self,
        store: MemoryStore,
        encoder: Encoder,
        config: Config,
        model: str | os.PathLike[str] = TEXT,
        reader: str | os.PathLike[str] = SPANS,
    ) -> None:
        """Join the parts; ``Engine.open`` makes them and says what they are.

        Raises:
            ModelError: there is no such model, or it can't be loaded.
            DeviceError: the device of the settings is not there.
        """
        self.config = config
        self._store = store
        self._encoder = encoder
        self._usage = UsageBuffer(store, config.tell)
        self._reader = LazyReader(reader, find_device(config.device), config.eight_bits)
        self._model = load_answerer(model, store, encoder, config, self._usage.add, self._reader)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        create: bool = False,
        config: Config | None = None,
        model: str | os.PathLike[str] = TEXT,
        reader: str | os.PathLike[str] = SPANS,
        encoder: str | None = None,
    ) -> Self:
        """Open the store in the folder ``path``.

        Args:
            path: the store's folder.
            create: make the store if there is none.
            config: settings; None for the defaults.
            model: what answers: the name of a shipped model such as "text" or "babi", a folder
                that ``memnet train`` made, or "untrained".
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
        chosen = _encoder(encoder, config, _stored_encoder(path))
        store = MemoryStore(
            path,
            fingerprint=chosen.fingerprint,
            dimension=chosen.dimension,
            create=create,
            lock_seconds=config.lock_seconds,
            config=config.store,
            to_device=device_copier(find_device(config.device)),
        )
        try:
            return cls(store, chosen, config, model, reader)
        except BaseException:
            store.close()
            raise

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
            for slot in self._store.told(subject_symbol(name), namespace)
            if slot.valid_from is not None
        )

    def prepare(self) -> None:
        """Start loading on another thread what the first question will need.

        What is wrong with it is said when a question is asked.
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
            return self._model.ask(question, hops, top_k, namespace)
        except ValidationError as error:
            field = ".".join(map(str, error.errors()[0]["loc"]))
            raise ModelError(
                f"the model gives an answer that can't be right ({field}: "
                f"{error.errors()[0]['msg']}); train it again"
            ) from error

    @staticmethod
    def restore(
        bundle: str | os.PathLike[str],
        path: str | os.PathLike[str],
        encoder: str | None = None,
    ) -> None:
        """Make a store from a bundle, which appears whole or not at all.

        Everything in the bundle is checked: it may come from anyone.

        Args:
            bundle: a file that ``export`` made.
            path: of the store's folder, new or empty.
            encoder: as for ``open``, of the encoder that made it.

        Raises:
            EncoderError: there is no such encoder.
            EncoderMismatchError: the bundle was made with another encoder.
            StoreError: the bundle is damaged, or the folder is not empty or can't be written.
            DependencyError: FAISS, or the library of a named model, is not installed.
        """
        chosen = _encoder(encoder, Config())
        import_bundle(bundle, path, fingerprint=chosen.fingerprint, dimension=chosen.dimension)

    def _check_namespace(self, namespace: str | None) -> None:
        if namespace is not None:
            check_text(namespace, "the namespace", self.config.limit.name)


def _stored_encoder(path: str | os.PathLike[str]) -> str | None:
    """The named encoder that a store was made with; None if there is no store, or another one."""
    made_with = stored_fingerprint(path)
    return None if made_with is None else stored_encoder_name(made_with)


def _encoder(name: str | None, config: Config, stored: str | None = None) -> Encoder:
    """The encoder that the user names, else the one that the store names, else the shipped one."""
    device = find_device(config.device)
    if name:
        return NamedEncoder(name, device)
    if stored:
        return NamedEncoder(stored, device, fetch=False)
    return MiniLMEncoder(threads=config.cores(), eight_bits=config.eight_bits, device=device)


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
