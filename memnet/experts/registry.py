"""Encoders and answerers by name: the one module that knows every kind of trained model."""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from memnet.checkpoints import MODEL, SHIPPED, load_checkpoint, shipped_models
from memnet.config import Config, HopConfig
from memnet.documents.answers import TextAnswers
from memnet.documents.controller import KIND, TextController, load_text_model, text_model_of
from memnet.documents.question import FullVectors, RecentVectors, unit_projection
from memnet.encoders.hub import SentenceTransformersEncoder, hub_name, stored_encoder_name
from memnet.encoders.minilm import (
    STATIC,
    STATIC_PREFIX,
    MiniLMEncoder,
    StaticEncoder,
    load_token_table,
    shipped_token_table,
)
from memnet.encoders.multilingual import MULTILINGUAL, MultilingualEncoder
from memnet.encoders.protocol import Encoder, QuickEncoder, TokenEncoder, token_encoder
from memnet.errors import EncoderError, EncoderMismatchError, InputError, ModelError
from memnet.experts.answers import ExpertAnswers
from memnet.experts.contradictions import MessageContradictions
from memnet.experts.gate import shipped_gate
from memnet.experts.stored import OwnedModels
from memnet.facts.answers import FactAnswers
from memnet.facts.model import AnswerRule, FactModel, fact_model_of
from memnet.protocols import Answerer, Name, Reader
from memnet.reader.loading import LazyReader
from memnet.runtime.device import find_device
from memnet.statements.answers import StatementAnswers
from memnet.statements.loading import LazyStatementReader
from memnet.storage import Encode, MemoryStore
from memnet.stories.answers import StoryAnswers
from memnet.stories.network import StoryNetwork, story_model_of

TEXT = KIND  # Name of the shipped model for documents and facts, and kind of all such models
# Name of the controller that knows nothing but the configuration's numbers, which is not a folder.
UNTRAINED = "untrained"
# Names of the encoder whose weights ship.
_DEFAULT = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
STORIES = "babi"  # Name of the shipped model for stories
_STORY, _FACTS = "story", "facts"
_PASSAGES_KEPT = 5_000  # Passages whose full vectors stay in memory, 1.5 kB each and their texts


def load_encoder(
    encoder: Name | Encoder | None, config: Config, stored: str | None = None
) -> Encoder:
    """The encoder of a store, whose fingerprint is ``stored``.

    "static", "multilingual", name or folder of a sentence-transformers model, or an encoder; None
    for the one that the store was made with, or all-MiniLM-L6-v2.

    Raises:
        EncoderError: there is no such encoder, or this machine does not have the store's, or an
            object gives no vectors of its dimension.
        EncoderMismatchError: the store was made with one of another name.
        DependencyError: the library of a named model is not installed.
        DeviceError: the device of the settings is not there.
        InputError: an object is not an encoder.
        ModelError: what ships with memnet is damaged.
    """
    if encoder is not None and not isinstance(encoder, (str, os.PathLike)):
        check_members(encoder, "encoder", "fingerprint", "dimension", "encode")
        _check_vectors(encoder)
        return encoder
    device = find_device(config.device)
    default = MiniLMEncoder(threads=config.cores(), device=device)
    if encoder == STATIC or (encoder is None and (stored or "").startswith(STATIC_PREFIX)):
        return load_static_encoder(SHIPPED / STATIC, default)
    if encoder == MULTILINGUAL or (encoder is None and stored == MultilingualEncoder.fingerprint):
        return MultilingualEncoder(config.cores())
    stored_name = stored_encoder_name(stored) if stored is not None else None
    if encoder:
        name = os.fspath(encoder)
        if name in _DEFAULT and stored_name not in _DEFAULT and not Path(name).is_dir():
            return default
        if stored is not None and (hub_name(name) or name) != stored_name:
            # The fingerprint holds the name: no model need be loaded or fetched to compare it.
            raise EncoderMismatchError(
                f"the store was made with encoder {stored}, not with {name!r}; open it with that "
                "encoder, or change it by 'memnet encoder'"
            )
        return SentenceTransformersEncoder(name, device)
    if stored_name:
        # The store may come from anyone, who must not choose what is fetched from the network.
        return SentenceTransformersEncoder(stored_name, device, fetch=False)
    return default


def load_static_encoder(folder: Path, full: MiniLMEncoder) -> StaticEncoder:
    """The encoder with the table of a folder; ModelError if there is none, or it is damaged."""
    arrays, digest = load_token_table(folder)
    return StaticEncoder(arrays, digest[:12], full)


def find_quick(encoder: Encoder) -> Encode | None:
    """What encodes the passages of a large ingest until full vectors follow; None for nothing.

    all-MiniLM-L6-v2 has the table of the encoder "static", which is loaded at the first use.
    """
    if isinstance(encoder, QuickEncoder):
        return encoder.encode_quick
    if not isinstance(encoder, MiniLMEncoder):
        return None
    return lambda texts: shipped_token_table().encode_quick(texts)


def _check_vectors(encoder: Encoder) -> None:
    # Rows of another width would be stored as they are, and be found damaged when they are read.
    vectors: object = encoder.encode(["memnet"])
    found = f"a value of type {type(vectors).__name__}"
    if isinstance(vectors, np.ndarray):
        if vectors.shape == (1, encoder.dimension) and np.isfinite(vectors).all():
            return
        found = f"an array of shape {vectors.shape}, or numbers that are not finite,"
    raise EncoderError(
        f"the encoder {encoder.fingerprint!r} gives {found} for one text; expected a NumPy array "
        f"of shape (1, {encoder.dimension}); correct its 'encode' or its 'dimension'"
    )


def find_reader(reader: Name | Reader, config: Config) -> LazyReader:
    """A reader by its name or folder, or a given one; errors as for ``load_encoder``."""
    if not isinstance(reader, (str, os.PathLike)):
        check_members(reader, "reader", "read")
    device = find_device(config.device)
    return LazyReader(reader, device, config.answer.tokens, config.cores())


def check_members(part: object, what: str, *members: str) -> None:
    """InputError if an object, where there is one, lacks what its protocol demands."""
    missing = [one for one in members if part is not None and not hasattr(part, one)]
    if missing:
        raise InputError(
            f"the {what} is of type {type(part).__name__}, which has no {missing[0]!r}; expected "
            f"an object like memnet.protocols.{what.capitalize()}"
        )


def load_answerer(
    model: Name | Answerer,
    store: MemoryStore,
    encoder: Encoder,
    config: Config,
    on_read: Callable[[Mapping[int, float]], None],
    reader: LazyReader,
    name: str | None = None,
) -> Answerer:
    """Load a model and join it with a memory, whose ``encoder`` it is.

    "untrained", the name of a shipped model, the folder of another, or an answerer. ``on_read``
    gets the attention weights of statements and messages after each question; ``name`` is what
    answers call the model, None for ``model``.

    Raises:
        ModelError: there is no such model, or it can't be loaded.
        DeviceError: the device of the settings is not there.
        EncoderError: a model of facts needs another encoder.
        InputError: an object is not an answerer.
    """
    if not isinstance(model, (str, os.PathLike)):
        check_members(model, "answerer", "ask")
        return model
    name = name or str(model)
    untrained = str(model) == UNTRAINED
    loaded = (
        TextController(config.hop) if untrained else load_model(model_folder(model), config.hop)
    )
    if isinstance(loaded, TextController):
        full = _full_vectors(encoder)
        return TextAnswers(store, encoder, loaded, reader, name, config, on_read, full=full)
    if not isinstance(loaded, tuple):
        return StoryAnswers(store, loaded, name, config.story)
    return FactAnswers(store, token_encoder(encoder), *loaded, name, config.facts, config.answer)


def load_experts(
    store: MemoryStore,
    encoder: Encoder,
    config: Config,
    on_read: Callable[[Mapping[int, float]], None],
    reader: LazyReader,
    statements: LazyStatementReader | None,
) -> ExpertAnswers:
    """The mixture of all experts that a store can have; arguments as for ``load_answerer``.

    Without a reader of statements, these are read as passages are.

    A model that belongs to the store takes the place of the shipped one, if it fits; models of
    facts and stories are loaded at the first question for them.

    Raises:
        ModelError: what ships with memnet is damaged.
    """
    owned = OwnedModels(store)
    vectors = RecentVectors(encoder)
    name, controller = _documents_model(store, owned, config.hop)
    full = _full_vectors(encoder)
    documents = TextAnswers(store, vectors, controller, reader, name, config, on_read, full=full)

    @lru_cache(maxsize=1)
    def load_facts() -> Answerer:
        folder = store.models.folder(_FACTS)
        if not isinstance(encoder, TokenEncoder):
            raise ModelError(f"the encoder {encoder.fingerprint!r} has no 'encode_tokens'")
        return load_answerer(folder, store, encoder, config, on_read, reader, f"models/{_FACTS}")

    @lru_cache(maxsize=1)
    def load_stories() -> Answerer:
        return load_answerer(STORIES, store, encoder, config, on_read, reader)

    told: Answerer = documents
    contradictions = None
    if statements is not None:
        told = StatementAnswers(store, vectors, statements, documents.ask, on_read)
        contradictions = MessageContradictions(store, vectors, documents, reader, statements)
    return ExpertAnswers(
        store, vectors, shipped_gate, documents, told, owned, load_facts, load_stories,
        story_words, contradictions,
    )  # fmt: skip


def _full_vectors(encoder: Encoder) -> FullVectors:
    """What questions are compared by beside the stored vectors of passages."""
    vectors = RecentVectors(encoder, _PASSAGES_KEPT)
    of_all = getattr(encoder, "quick_is_final", False)
    multilingual = getattr(encoder, "multilingual", False)
    projection = unit_projection(encoder)
    return FullVectors(
        vectors.encode_document, of_all, projection, multilingual, words=vectors.encode
    )


def _documents_model(
    store: MemoryStore, owned: OwnedModels, hop: HopConfig
) -> tuple[str, TextController]:
    """The store's own model for documents if it fits, else the one that ships."""
    own = owned.current().get(TEXT)
    if own is not None and own.used:
        try:
            return f"models/{TEXT}", load_text_model(store.models.folder(TEXT), hop)
        except ModelError as error:
            owned.fail(TEXT, error)
    return TEXT, load_text_model(model_folder(TEXT), hop)


@lru_cache(maxsize=1)
def story_words() -> frozenset[str]:
    """The words that the shipped model of stories knows, by its description."""
    _, description = load_checkpoint(model_folder(STORIES), MODEL)
    return frozenset(description["vocabulary"])


def model_folder(name: Name) -> Path:
    """The folder of a model that ships, or else of the path ``name``; ModelError without either."""
    shipped = shipped_models()
    folder = shipped.get(str(name), Path(name))
    if not folder.is_dir():
        names = ", ".join(sorted([UNTRAINED, *shipped]))
        raise ModelError(
            f"there is no model {str(name)!r}; expected the name of a shipped one ({names}) or a "
            "folder that 'memnet train' made"
        )
    return folder


def load_model(
    folder: Path, hop: HopConfig
) -> StoryNetwork | TextController | tuple[FactModel, AnswerRule]:
    """A model as it was saved, for inference; a fact model with the rule by which it answers.

    ModelError if the folder holds no whole one.
    """
    arrays, description = load_checkpoint(folder, MODEL)
    kind = description.get("kind")
    if kind == TEXT:
        return text_model_of(folder, arrays, hop)
    if kind == _STORY:
        return story_model_of(folder, arrays, description)
    if kind == _FACTS:
        return fact_model_of(folder, arrays, description)
    raise ModelError(
        f"{folder} holds a model of kind {kind!r}, expected {_STORY!r}, {_FACTS!r} or {TEXT!r}; "
        "give a model that 'memnet train' made"
    )
