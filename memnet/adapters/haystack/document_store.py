# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
"""A namespace of a memory as a document store of Haystack."""

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, Self

from memnet.adapters.dependencies import missing_framework
from memnet.adapters.documents import StoredDocuments, title_of
from memnet.adapters.haystack import metadata
from memnet.engine import Engine
from memnet.errors import InputError
from memnet.storage.place import place_name
from memnet.types import Document

try:
    from haystack import default_from_dict, default_to_dict
    from haystack.dataclasses import Document as HaystackDocument
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.utils.filters import document_matches_filter
except ImportError as error:
    raise missing_framework(__name__, "haystack-ai", "haystack") from error

_KEPT = ("embedding", "sparse_embedding", "blob", "score")
"""Fields that a memory has no use for, and gives back."""


class MemnetDocumentStore:
    """Documents of Haystack in a memory.

    ::

        store = MemnetDocumentStore("memory")
        store.write_documents([Document(content="Una Thale built the Orre Light.")])

    All fields of a document come back as they were written. The memory makes vectors with its own
    encoder: embeddings are kept, and not searched. ``meta["title"]`` is what hops lead to.
    Documents that were ingested otherwise are among them, with the ids of their sources. A document
    must have text, and its ``meta`` must be JSON.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, namespace: str = "", encoder: str | None = None
    ) -> None:
        """Prepare to open a memory, or make it, at the first use.

        Args:
            path: the store's folder, or its address on PostgreSQL.
            namespace: to write to and to look in.
            encoder: as for ``Engine.open``.
        """
        self.path = os.fspath(path)
        self.namespace = namespace
        self.encoder = encoder
        self._engine: Engine | None = None
        self._opening = Lock()

    @classmethod
    def of(cls, engine: Engine, namespace: str = "") -> Self:
        """A store for a memory that is open; written down as a pipeline, it has the path alone."""
        store = cls(engine.store.place, namespace=namespace)
        store._engine = engine
        return store

    @property
    def engine(self) -> Engine:
        """The memory, which is opened now if it is not open yet."""
        with self._opening:
            if self._engine is None:
                self._engine = Engine.open(self.path, create=True, encoder=self.encoder)
            return self._engine

    @property
    def documents(self) -> StoredDocuments:
        """The documents of the namespace."""
        return StoredDocuments(self.engine, self.namespace)

    def close(self) -> None:
        """Close the memory, if it is open; the next use opens it again."""
        with self._opening:
            if self._engine is not None:
                self._engine.close()
            self._engine = None

    def to_dict(self) -> dict[str, Any]:
        """Path, namespace and encoder, by which ``from_dict`` makes the store again.

        The password of an address is left out: whoever reads it has it in PGPASSWORD or ~/.pgpass.
        """
        written: dict[str, Any] = default_to_dict(
            self, path=place_name(self.path), namespace=self.namespace, encoder=self.encoder
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The store that ``to_dict`` described."""
        store: Self = default_from_dict(cls, data)
        return store

    def count_documents(self) -> int:
        """How many documents there are."""
        return sum(1 for _ in self.documents.sources())

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[HaystackDocument]:
        """The documents that match filters of Haystack, in the order in which they first came.

        Args:
            filters: see Haystack's ``DocumentStore``; None or nothing for all documents.

        Raises:
            FilterError: the filters are none of Haystack's.
        """
        return [
            document
            for document in (_document(one, extra) for one, extra in self.documents.all())
            if not filters or document_matches_filter(filters, document)
        ]

    def write_documents(
        self,
        documents: list[HaystackDocument],
        policy: DuplicatePolicy = DuplicatePolicy.NONE,
    ) -> int:
        """Write documents in one transaction.

        Args:
            documents: with text.
            policy: what to do about ids that are stored; NONE is FAIL.

        Returns:
            How many were written.

        Raises:
            DuplicateDocumentError: an id is stored already, or comes twice, and the policy is FAIL.
            ValueError: what is given is no list of documents.
            InputError: a document has no text, or ``meta`` that is no JSON.
        """
        if not isinstance(documents, list) or not all(
            isinstance(document, HaystackDocument) for document in documents
        ):
            raise ValueError("the documents are no list of Haystack's Document values; give one")
        with self.engine.store.writing():
            known = self.documents.known([document.id for document in documents])
            chosen: dict[str, HaystackDocument] = {}
            written = 0
            for document in documents:
                if policy != DuplicatePolicy.OVERWRITE and document.id in known:
                    if policy != DuplicatePolicy.SKIP:
                        raise DuplicateDocumentError(
                            f"a document with the id {document.id!r} is stored already, so nothing "
                            "was written; choose DuplicatePolicy.OVERWRITE or SKIP"
                        )
                    continue
                known.add(document.id)
                chosen[document.id] = document
                written += 1
            self._put(chosen.values())
        return written

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; unknown ids are passed over."""
        self.documents.delete(document_ids)

    def delete_all_documents(self) -> None:
        """Delete all documents of the namespace; facts, statements and stories stay."""
        with self.engine.store.writing():
            self.documents.delete([source.id for source in self.documents.sources()])

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match filters; returns how many there were."""
        with self.engine.store.writing():
            return self.documents.delete([one.id for one in self.filter_documents(filters)])

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Add to the ``meta`` of the documents that match filters; returns how many there were."""
        with self.engine.store.writing():
            found = self.filter_documents(filters)
            self._put(replace(one, meta={**one.meta, **meta}) for one in found)
        return len(found)

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """How many documents match filters."""
        return len(self.filter_documents(filters))

    def count_unique_metadata_by_filter(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """For each field of ``meta`` the number of its values in documents that match filters."""
        metas = self._metas(filters)
        return {
            metadata.key_of(field): len(metadata.unique_values(metas, field))
            for field in metadata_fields
        }

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The type of each field of ``meta``: "boolean", "int", "float" or "keyword"."""
        return metadata.types(self._metas())

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The smallest and largest value of a field, "min" and "max"; None without any."""
        return metadata.extremes(self._metas(), metadata_field)

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Values of a field, sorted as strings, and how many there are in all.

        Args:
            metadata_field: its name, with or without "meta." before it.
            search_term: a part of the values in any case; None for all values.
            from_: how many to leave out.
            size: at most so many.
            filters: of the documents to look in; None for all.
        """
        values = metadata.unique_values(self._metas(filters), metadata_field)
        if search_term:
            values = [one for one in values if search_term.casefold() in str(one).casefold()]
        return values[from_ : from_ + size], len(values)

    async def count_documents_async(self) -> int:
        """As ``count_documents``, on a thread."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(
        self, filters: dict[str, Any] | None = None
    ) -> list[HaystackDocument]:
        """As ``filter_documents``, on a thread."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self,
        documents: list[HaystackDocument],
        policy: DuplicatePolicy = DuplicatePolicy.NONE,
    ) -> int:
        """As ``write_documents``, on a thread."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """As ``delete_documents``, on a thread."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    def _metas(self, filters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        return [document.meta for document in self.filter_documents(filters)]

    def _put(self, documents: Iterable[HaystackDocument]) -> None:
        given = list(documents)
        self.documents.put(map(_stored, given), {one.id: _extra(one) for one in given})


def _stored(document: HaystackDocument) -> Document:
    if document.content is None:
        raise InputError(
            f"document {document.id!r} has no text, and a memory holds texts; convert it, or leave "
            "it out; nothing was stored"
        )
    return Document(
        id=document.id,
        text=document.content,
        title=title_of(document.meta),
        metadata=document.meta,
    )


def _extra(document: HaystackDocument) -> dict[str, Any]:
    fields = document.to_dict(flatten=False)
    return {name: fields[name] for name in _KEPT if fields[name] is not None}


def _document(document: Document, extra: Mapping[str, Any]) -> HaystackDocument:
    return HaystackDocument.from_dict(
        {"id": document.id, "content": document.text, "meta": document.metadata, **extra}
    )
