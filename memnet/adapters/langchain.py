# pyright: reportMissingImports=false
"""A memory as a retriever and a vector store of LangChain; needs the extra "langchain"."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from memnet.adapters import missing_framework
from memnet.adapters.documents import StoredDocuments, passage_id, passage_metadata, title_of
from memnet.encoders.protocol import Encoder, document_encode, query_encode
from memnet.engine import Engine
from memnet.errors import InputError
from memnet.types import Document

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
except ImportError as error:
    raise missing_framework(__name__, "langchain-core", "langchain") from error

__all__ = ["MemnetEmbeddings", "MemnetRetriever", "MemnetVectorStore"]


class MemnetRetriever(BaseRetriever):
    """Finds passages in a memory, by hops, as documents of LangChain.

    ::

        MemnetRetriever(engine=memory, k=3).invoke("Who built the Orre Light?")

    A document's metadata is that of the source, with ``source``, ``title``, ``place``, ``start``
    and ``end`` (offsets in the source's text), ``hop`` and ``score``.
    """

    engine: Engine
    """The memory, which stays open."""
    k: int = 4
    """Passages to return."""
    hops: int | None = None
    """Most reads of the memory; None for the configured number."""
    namespace: str | None = None
    """To look in; None for all."""
    where: dict[str, Any] | None = None
    """Conditions on the metadata, as ``memnet.Scope`` describes them."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - of the interface
        k: int | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[LangChainDocument]:
        evidence = self.engine.search(
            query,
            self.k if k is None else k,
            hops=self.hops,
            namespace=self.namespace,
            where=self.where if where is None else where,
        )
        return [
            LangChainDocument(
                id=passage_id(item), page_content=item.text, metadata=passage_metadata(item)
            )
            for item in evidence
        ]


class MemnetEmbeddings(Embeddings):
    """The encoder of a memory as embeddings of LangChain."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """N texts -> N lists of D floats, each a vector of length one."""
        return document_encode(self._encoder)(texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        """A text -> D floats, a vector of length one."""
        return query_encode(self._encoder)([text])[0].tolist()  # type: ignore[no-any-return]


class MemnetVectorStore(VectorStore):
    """A memory as a vector store of LangChain.

    ::

        store = MemnetVectorStore(memory)
        store.add_documents([Document(id="a", page_content="Una Thale built the Orre Light.")])
        store.similarity_search("Who built the Orre Light?", k=1)

    Documents come back as they were added; what was ingested otherwise comes as passages. Their
    ``title`` in the metadata is what hops lead to. ``filter`` takes conditions on the metadata as
    ``memnet.Scope`` describes them. Texts must not be blank, and metadata must be JSON.
    """

    def __init__(self, engine: Engine, namespace: str = "") -> None:
        """Use a memory, which stays open, and one namespace of it."""
        self.engine = engine
        self._documents = StoredDocuments(engine, namespace)

    @property
    def embeddings(self) -> Embeddings:
        """The memory's encoder."""
        return MemnetEmbeddings(self.engine.encoder)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        engine: Engine | None = None,
        namespace: str = "",
        **kwargs: Any,
    ) -> Self:
        """Add texts to a memory, the required ``engine``, which encodes by itself.

        Raises:
            InputError: the memory is missing, or embeddings other than the memory's are given.
        """
        _refuse(kwargs)
        if engine is None:
            raise InputError("no memory is given; pass engine=Engine.open(...)")
        if embedding is not None and not isinstance(embedding, MemnetEmbeddings):
            raise InputError(
                f"the embedding is a {type(embedding).__name__}, but a memory encodes by itself; "
                "pass None, and choose the encoder in Engine.open"
            )
        store = cls(engine, namespace)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_documents(
        self,
        documents: list[LangChainDocument],
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add documents, or replace those of the same ids, in one transaction; returns the ids.

        ``ids`` take precedence over those of the documents; missing ones are made.

        Raises:
            InputError: the number of ids differs, or a document can't be stored; nothing is stored
                then.
        """
        _refuse(kwargs)
        if ids is not None and len(ids) != len(documents):
            raise InputError(
                f"{len(ids)} ids are given for {len(documents)} documents; give one for each"
            )
        names = [
            name or document.id or str(uuid.uuid4())
            for name, document in zip(ids or [None] * len(documents), documents, strict=True)
        ]
        self._documents.put(
            Document(
                id=name,
                text=document.page_content,
                title=title_of(document.metadata),
                metadata=document.metadata,
            )
            for name, document in zip(names, documents, strict=True)
        )
        return names

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents, ignoring unknown ids; returns True.

        Without ids all documents of the namespace go, also those from files; facts, statements and
        stories stay.
        """
        _refuse(kwargs)
        wanted = [source.id for source in self._documents.sources()] if ids is None else ids
        self._documents.delete(wanted)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[LangChainDocument]:
        """Those of some documents that are stored, each once."""
        found = (self._documents.get(name) for name in dict.fromkeys(ids))
        return [_document(document) for document in found if document is not None]

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - as in other vector stores
        hops: int | None = None,
        **kwargs: Any,
    ) -> list[LangChainDocument]:
        """The best documents, by hops over the memory; ``hops=1`` for similarity alone."""
        found = self.similarity_search_with_score(query, k, filter=filter, hops=hops, **kwargs)
        return [document for document, _ in found]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        hops: int | None = None,
        **kwargs: Any,
    ) -> list[tuple[LangChainDocument, float]]:
        """As ``similarity_search``, with the controller's scores: the larger, the better."""
        _refuse(kwargs)
        found = self._documents.search(query, k, hops=hops, where=filter)
        return [(_document(one.document), one.evidence.score) for one in found]

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> list[LangChainDocument]:
        """The documents nearest to a vector of ``embeddings``, which is not a search by hops."""
        _refuse(kwargs)
        return [_document(one.document) for one in self._documents.nearest(embedding, k, filter)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[LangChainDocument]:
        """As ``max_marginal_relevance_search_by_vector``, for a text."""
        vector = self.embeddings.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, **kwargs
        )

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Mapping[str, Any] | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> list[LangChainDocument]:
        """Documents near to a vector, [D] floats, and far from each other.

        ``lambda_mult`` is 1 for nearness alone, 0 for distance from each other alone. Source:
        Carbonell and Goldstein 1998.
        """
        _refuse(kwargs)
        found = self._documents.nearest(embedding, fetch_k, filter)
        keys = self.engine.store.existing_keys([one.evidence.id for one in found])
        chosen = maximal_marginal_relevance(
            np.asarray(embedding, np.float32), list(keys.vectors), lambda_mult, k
        )
        return [_document(found[index].document) for index in chosen]

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[LangChainDocument, float]]:
        """The nearest documents with their cosines: scores of hops have no fixed range."""
        where = kwargs.pop("filter", None)
        _refuse(kwargs)
        found = self._documents.nearest(self.embeddings.embed_query(query), k, where)
        return [(_document(one.document), min(max(one.evidence.score, 0.0), 1.0)) for one in found]


def _document(document: Document) -> LangChainDocument:
    return LangChainDocument(id=document.id, page_content=document.text, metadata=document.metadata)


def _refuse(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of other vector stores rather than ignore them."""
    if arguments:
        raise InputError(
            f"unexpected argument {next(iter(arguments))!r}; expected 'k', 'filter' or 'hops'"
        )
