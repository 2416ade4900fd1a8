# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
"""Components of Haystack's pipelines that search a memory and answer from it."""

from typing import Any, Self

from memnet.adapters.dependencies import missing_framework
from memnet.adapters.documents import Found
from memnet.adapters.haystack.document_store import MemnetDocumentStore
from memnet.types import Answer, Candidate, Evidence

try:
    from haystack import component, default_from_dict, default_to_dict
    from haystack.dataclasses import Document, ExtractedAnswer
except ImportError as error:
    raise missing_framework(__name__, "haystack-ai", "haystack") from error


@component
class MemnetRetriever:
    """Finds documents in a ``MemnetDocumentStore``, by hops; their scores are the controller's."""

    def __init__(
        self,
        document_store: MemnetDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        hops: int | None = None,
    ) -> None:
        """Set up a retriever.

        Args:
            document_store: to look in.
            filters: of Haystack; None for all documents. With filters only documents that were
                written by Haystack are found, and they may match at most 10,000.
            top_k: documents to return.
            hops: most reads of the memory; None for the configured number.
        """
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.hops = hops

    def to_dict(self) -> dict[str, Any]:
        """The component as values of JSON."""
        written: dict[str, Any] = default_to_dict(
            self,
            document_store=self.document_store,
            filters=self.filters,
            top_k=self.top_k,
            hops=self.hops,
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that ``to_dict`` described."""
        made: Self = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Find documents.

        Args:
            query: in plain language.
            filters: None for those of the component.
            top_k: None for that of the component.

        Returns:
            Under "documents" the documents, best first, without their embeddings.
        """
        filters = self.filters if filters is None else filters
        ids = None
        if filters:
            ids = [one.id for one in self.document_store.filter_documents(filters)]
        found = self.document_store.documents.search(
            query, self.top_k if top_k is None else top_k, hops=self.hops, ids=ids
        )
        return {"documents": [_document(one) for one in found]}


@component
class MemnetAnswerer:
    """Answers questions from a ``MemnetDocumentStore``, where other pipelines have a reader.

    Answers are verbatim pieces of documents, as of Haystack's ``ExtractiveReader``.
    """

    def __init__(
        self, document_store: MemnetDocumentStore, top_k: int = 5, hops: int | None = None
    ) -> None:
        """Set up an answerer.

        Args:
            document_store: to look in.
            top_k: most answers.
            hops: most reads of the memory; None for the configured number.
        """
        self.document_store = document_store
        self.top_k = top_k
        self.hops = hops

    def to_dict(self) -> dict[str, Any]:
        """The component as values of JSON."""
        written: dict[str, Any] = default_to_dict(
            self, document_store=self.document_store, top_k=self.top_k, hops=self.hops
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component that ``to_dict`` described."""
        made: Self = default_from_dict(cls, data)
        return made

    @component.output_types(answers=list[ExtractedAnswer])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[ExtractedAnswer]]:
        """Answer a question.

        Args:
            query: in plain language.
            top_k: None for that of the component.

        Returns:
            Under "answers" possible answers, best first, with their documents, their offsets in
            them and in the passage that is the context; ``meta`` has the "kind" of the answer, its
            "confidence" and whether memnet "abstained". Where it did, the only answer has the
            ``data`` None.
        """
        answer = self.document_store.engine.ask(
            query, hops=self.hops, namespace=self.document_store.namespace
        )
        return {"answers": self._answers(answer)[: self.top_k if top_k is None else top_k]}

    def _answers(self, answer: Answer) -> list[ExtractedAnswer]:
        meta = {
            "kind": answer.kind,
            "confidence": answer.confidence,
            "abstained": answer.abstained,
            "answer": answer.answer,
        }
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
        by_id = {item.id: item for item in answer.evidence}
        return [
            self._extracted(
                answer.question,
                one,
                None if one.evidence is None else by_id.get(one.evidence),
                meta,
            )
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
            document=None if found is None else _document(found),
            context=None if found is None else found.evidence.text,
            document_offset=in_document,
            context_offset=in_context,
            meta=dict(meta),
        )


def _document(found: Found) -> Document:
    return Document(
        id=found.document.id,
        content=found.document.text,
        meta=found.document.metadata,
        score=found.evidence.score,
    )
