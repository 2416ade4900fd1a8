# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
"""A memory as a document store and as components of Haystack; needs the extra "haystack"."""

import asyncio
import functools
import inspect
import json
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, ParamSpec, Self, TypeVar

from memnet.adapters import missing_framework
from memnet.adapters.documents import Found, StoredDocuments, title_of
from memnet.engine import Engine
from memnet.errors import InputError
from memnet.storage.place import place_name
from memnet.types import Answer, Candidate, Document, Evidence

try:
    from haystack import component, default_from_dict, default_to_dict
    from haystack.dataclasses import Document as HaystackDocument
    from haystack.dataclasses import ExtractedAnswer
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.utils.filters import document_matches_filter
except ImportError as error:
    raise missing_framework(__name__, "haystack-ai", "haystack") from error

__all__ = ["MemnetAnswerer", "MemnetDocumentStore", "MemnetRetriever"]

_KEPT = ("embedding", "sparse_embedding", "blob", "score")  # of no use for a memory, given back
_P = ParamSpec("_P")
_R = TypeVar("_R")


def _on_thread(method: Callable[_P, _R]) -> Callable[_P, Coroutine[Any, Any, _R]]:
    @functools.wraps(method)
    async def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await asyncio.to_thread(method, *args, **kwargs)

    return call


class _Written:
    """What pipelines write down by the arguments that it was made with."""

    def to_dict(self) -> dict[str, Any]:
        """The arguments as values of JSON."""
        _, *names = inspect.signature(type(self).__init__).parameters
        return default_to_dict(self, **{one: getattr(self, one) for one in names})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """What ``to_dict`` described."""
        return default_from_dict(cls, data)


class MemnetDocumentStore(_Written):
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

        The password of an address is left out: set PGPASSWORD or use ~/.pgpass.
        """
        written = super().to_dict()
        written["init_parameters"]["path"] = place_name(self.path)
        return written

    def count_documents(self) -> int:
        """How many documents there are."""
        return sum(1 for _ in self.documents.sources())

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[HaystackDocument]:
        """The documents that match filters of Haystack, in the order in which they were added.

        Raises:
            FilterError: the filters are invalid.
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
        """Write documents in one transaction; returns how many were written.

        The policy NONE is FAIL.

        Raises:
            DuplicateDocumentError: an id is stored already, or given twice, and the policy is FAIL.
            ValueError: the argument is not a list of documents.
            InputError: a document has no text, or ``meta`` that is not JSON.
        """
        if not isinstance(documents, list) or not all(
            isinstance(document, HaystackDocument) for document in documents
        ):
            raise ValueError("expected a list of Haystack's Document values")
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
        """Delete documents; unknown ids are ignored."""
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
        return {_key_of(field): len(_unique_values(metas, field)) for field in metadata_fields}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The type of each field of ``meta``: "boolean", "int", "float" or "keyword"."""
        return {
            key: {"type": _type(value)}
            for meta in self._metas()
            for key, value in meta.items()
            if value is not None
        }

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The smallest and largest value of a field, "min" and "max".

        None without any, and where numbers and strings can't be compared.
        """
        values = _values(self._metas(), metadata_field)
        values = [value for value in values if isinstance(value, int | float | str)]
        try:
            return {"min": min(values, default=None), "max": max(values, default=None)}
        except TypeError:
            return {"min": None, "max": None}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Values of a field that contain a term, sorted as strings, and how many there are.

        Of these ``size`` are returned, after the first ``from_``.
        """
        values = _unique_values(self._metas(filters), metadata_field)
        if search_term:
            values = [one for one in values if search_term.casefold() in str(one).casefold()]
        return values[from_ : from_ + size], len(values)

    count_documents_async = _on_thread(count_documents)
    filter_documents_async = _on_thread(filter_documents)
    write_documents_async = _on_thread(write_documents)
    delete_documents_async = _on_thread(delete_documents)

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


@component
class MemnetRetriever(_Written):
    """Finds documents in a ``MemnetDocumentStore``, by hops; their scores are the controller's."""

    def __init__(
        self,
        document_store: MemnetDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        hops: int | None = None,
    ) -> None:
        """Set up a retriever of ``top_k`` documents, by at most ``hops`` reads of the memory.

        With filters of Haystack only documents that were written by Haystack are found, and at most
        10,000 may match.
        """
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.hops = hops

    @component.output_types(documents=list[HaystackDocument])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[HaystackDocument]]:
        """Find "documents", best first, without their embeddings.

        Arguments that are None are those of the component.
        """
        filters = self.filters if filters is None else filters
        ids = None
        if filters:
            ids = [one.id for one in self.document_store.filter_documents(filters)]
        found = self.document_store.documents.search(
            query, self.top_k if top_k is None else top_k, hops=self.hops, ids=ids
        )
        return {"documents": [_found_document(one) for one in found]}


@component
class MemnetAnswerer(_Written):
    """Answers questions from a ``MemnetDocumentStore``, where other pipelines have a reader.

    Answers are verbatim pieces of documents, as of Haystack's ``ExtractiveReader``.
    """

    def __init__(
        self, document_store: MemnetDocumentStore, top_k: int = 5, hops: int | None = None
    ) -> None:
        """Set up an answerer of at most ``top_k`` answers, by at most ``hops`` reads."""
        self.document_store = document_store
        self.top_k = top_k
        self.hops = hops

    @component.output_types(answers=list[ExtractedAnswer])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[ExtractedAnswer]]:
        """Answer a question with possible "answers", best first.

        They have their documents, and offsets in these and in the passage that is the context;
        ``meta`` has the "kind" of the answer, its "confidence" and whether memnet "abstained". If
        it did, the only answer has the ``data`` None.
        """
        answer = self.document_store.engine.ask(
            query, hops=self.hops, namespace=self.document_store.namespace
        )
        return {"answers": self._answers(answer)[: self.top_k if top_k is None else top_k]}

    def _answers(self, answer: Answer) -> list[ExtractedAnswer]:
        meta = answer.model_dump(include={"kind", "confidence", "abstained", "answer"})
        if answer.answer is None:
            sure = 1.0 - (answer.confidence or 0.0)
            return [ExtractedAnswer(query=answer.question, score=sure, data=None, meta=meta)]
        candidates = answer.candidates
        # "yes", a definition or a list stands in no single span that competed with others.
        if not candidates or answer.short not in (None, candidates[0].text):
            said = Candidate(
                text=answer.short or answer.answer,
                score=1.0 if answer.confidence is None else answer.confidence,
                evidence=answer.quotes[0].evidence if answer.quotes else None,
            )
            candidates = (said, *candidates)
        by_id: dict[int | None, Evidence] = {item.id: item for item in answer.evidence}
        return [
            self._extracted(answer.question, one, by_id.get(one.evidence), meta)
            for one in candidates
        ]

    def _extracted(
        self, query: str, candidate: Candidate, evidence: Evidence | None, meta: dict[str, Any]
    ) -> ExtractedAnswer:
        found = None if evidence is None else self.document_store.documents.document_of(evidence)
        in_document = in_context = None
        if (
            found is not None
            and candidate.start is not None
            and candidate.end is not None
            and found.evidence.start <= candidate.start
            and candidate.end <= found.evidence.end
        ):
            start, end = candidate.start, candidate.end
            first = found.evidence.start
            in_context = ExtractedAnswer.Span(start - first, end - first)
            whole = found.document.id == found.evidence.source
            in_document = ExtractedAnswer.Span(start, end) if whole else in_context
        return ExtractedAnswer(
            query=query,
            score=candidate.score,
            data=candidate.text,
            document=None if found is None else _found_document(found),
            context=None if found is None else found.evidence.text,
            document_offset=in_document,
            context_offset=in_context,
            meta=dict(meta),
        )


def _found_document(found: Found) -> HaystackDocument:
    return HaystackDocument(
        id=found.document.id,
        content=found.document.text,
        meta=found.document.metadata,
        score=found.evidence.score,
    )


def _key_of(field: str) -> str:
    """The key of a field that may be written as "meta.year"."""
    return field.removeprefix("meta.")


def _unique_values(metas: Iterable[Mapping[str, Any]], field: str) -> list[Any]:
    """The values of a field but null, sorted as strings; 1, 1.0, true and "1" are four values."""
    values = _values(metas, field)
    unique = {(type(value).__name__, json.dumps(value, sort_keys=True)): value for value in values}
    return [unique[key] for key in sorted(unique, key=lambda key: (str(unique[key]), key[0]))]


def _values(metas: Iterable[Mapping[str, Any]], field: str) -> list[Any]:
    key = _key_of(field)
    return [meta[key] for meta in metas if meta.get(key) is not None]


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return {int: "int", float: "float"}.get(type(value), "keyword")
