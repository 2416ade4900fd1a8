"""Documents of other frameworks in a memory, which come back exactly as they were given."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from memnet.engine import Engine
from memnet.errors import InputError, Problem
from memnet.reader.passages import evidence_of
from memnet.storage import Scope
from memnet.types import Document, Evidence, Source

# Key of the metadata under which is kept what a memory itself does not store of a document.
_OWN = "_memnet"
_SPACE = re.compile(r"\s+")
# That a search begins with; several windows of one document are common among the best.
_EVIDENCE_PER_DOCUMENT = 4


class Found(NamedTuple):
    """What a search found."""

    # The document if it was put by an adapter, else the passage or fact alone, with the key
    # "source" in its metadata and an id that says where in the source it stands.
    document: Document
    # The best passage of it, without what adapters keep in the metadata.
    evidence: Evidence


class StoredDocuments:
    """The documents of one namespace of a memory."""

    def __init__(self, engine: Engine, namespace: str = "") -> None:
        self.engine = engine
        self.namespace = namespace

    def put(
        self, documents: Iterable[Document], extra: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        """Add documents, or replace those of the same ids, in one transaction.

        Args:
            documents: if several have the same id the last one counts.
            extra: by id, further JSON values to keep with a document, as ``all`` returns them.

        Raises:
            InputError: a document has no text, or metadata that is not JSON or beyond the limits;
                nothing is stored then.
        """
        given = {document.id: document for document in documents}
        if not given:
            return
        kept: dict[str, dict[str, Any]] = {name: {"id": name} for name in given}
        for name in kept.keys() & (extra or {}).keys():
            kept[name]["extra"] = dict((extra or {})[name])
        for document in given.values():
            _check_metadata(document)
        with self.engine.store.changing():
            self._ingest(given.values(), kept)
            spaced: list[Document] = []
            for name, document in given.items():
                if space := self._missing_space(document):
                    kept[name]["space"] = space
                    spaced.append(document)
            if spaced:
                self._ingest(spaced, kept)

    def get(self, document_id: str) -> Document | None:
        """A document as it was put, or a stored source as ``Engine.get`` gives it; None without."""
        found = self.engine.store.sources.get(document_id, self.namespace)
        return None if found is None or found[0].kind != "document" else _restored(*found)

    def known(self, ids: Iterable[str]) -> set[str]:
        """Those of some ids that are stored."""
        found = self.engine.store.sources.namespaces(ids)
        return {name for name, namespaces in found.items() if self.namespace in namespaces}

    def sources(self) -> Iterator[Source]:
        """The documents without their texts, in the order in which they first came."""
        return (
            source for source in self.engine.sources(self.namespace) if source.kind == "document"
        )

    def all(self) -> Iterator[tuple[Document, Mapping[str, Any]]]:
        """The documents with their extra values, in the order in which they first came."""
        for source in self.sources():
            found = self.engine.store.sources.get(source.id, self.namespace)
            if found is not None:  # it may have been deleted meanwhile
                yield _restored(*found), _own(found[0].metadata).get("extra", {})

    def delete(self, ids: Iterable[str]) -> int:
        """Delete documents, ignoring unknown ids; returns how many there were."""
        wanted = self.known(ids)
        if wanted:
            self.engine.store.delete(sorted(wanted), self.namespace)
        return len(wanted)

    def search(
        self,
        query: str,
        top_k: int,
        *,
        hops: int | None = None,
        where: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Found]:
        """The ``top_k`` best documents by ``Engine.search``, each once.

        ``ids`` limits the search to some of the documents that were put.
        """
        if ids is not None:
            if not ids:
                return []
            where = {**(where or {}), f"{_OWN}.id": list(ids)}
        search = partial(
            self.engine.search, query, hops=hops, namespace=self.namespace, where=where
        )
        return self._best(top_k, search)

    def nearest(
        self, vector: Sequence[float], top_k: int, where: Mapping[str, Any] | None = None
    ) -> list[Found]:
        """The ``top_k`` documents whose keys have the largest inner product with a vector.

        Args:
            vector: [D] floats of length one, from the memory's encoder.
            top_k: at least 1.
            where: conditions on the metadata.

        Returns:
            Each once, best first; the scores of the evidence are the inner products, -1..1.

        Raises:
            InputError: the vector has another width.
        """
        import numpy as np

        store = self.engine.store
        key = np.asarray(vector, np.float32)
        if key.shape != (store.dimension,):
            raise InputError(
                f"the vector has the shape {key.shape}, expected ({store.dimension},); make it "
                "with the encoder of the memory"
            )
        scope = Scope(self.namespace, where, frozenset({"document"}))

        def search(count: int) -> list[Evidence]:
            with store.reading():
                hits = store.search_dense(key, count, scope)
                slots = store.fetch_existing(hits.ids[hits.mask].tolist())
            scores = hits.scores[hits.mask].tolist()
            return [evidence_of(slot, score, 1) for slot, score in zip(slots, scores, strict=True)]

        return self._best(top_k, search)

    def _best(self, top_k: int, search: Callable[[int], Sequence[Evidence]]) -> list[Found]:
        """The best documents: more passages are asked for while several belong to one document."""
        limit = self.engine.config.limit.evidence
        wanted = min(_EVIDENCE_PER_DOCUMENT * top_k, limit)
        while True:
            evidence = search(wanted)
            found = self._documents(evidence)
            if len(found) >= top_k or len(evidence) < wanted or wanted == limit:
                return found[:top_k]
            wanted = min(2 * wanted, limit)

    def document_of(self, evidence: Evidence) -> Found:
        """What evidence of this namespace stands in."""
        whole = self.get(evidence.source) if _own(evidence.metadata) else None
        public = evidence.model_copy(update={"metadata": _public(evidence.metadata)})
        passage = Document(
            id=passage_id(public),
            text=public.text,
            title=public.title,
            metadata=passage_metadata(public),
        )
        return Found(whole or passage, public)

    def _documents(self, evidence: Iterable[Evidence]) -> list[Found]:
        """What each piece of evidence stands in; several of one document once."""
        found: dict[str, Found] = {}
        for item in evidence:
            name = item.source if _own(item.metadata) else passage_id(item)
            if name not in found:
                found[name] = self.document_of(item)
        return list(found.values())

    def _ingest(self, documents: Iterable[Document], kept: Mapping[str, Mapping[str, Any]]) -> None:
        problems: list[Problem] = []
        self.engine.ingest(
            [
                one.model_copy(update={"metadata": {**one.metadata, _OWN: kept[one.id]}})
                for one in documents
            ],
            namespace=self.namespace,
            on_problem=problems.append,
        )
        if problems:
            raise InputError(f"{problems[0]}; nothing was stored")

    def _missing_space(self, document: Document) -> list[tuple[int, str]]:
        """White space of a text that the store leaves out or changes, with its offsets."""
        found = self.engine.store.sources.get(document.id, self.namespace)
        stored = "" if found is None else found[1]
        if stored == document.text:
            return []
        missing = [
            (match.start(), match[0])
            for match in _SPACE.finditer(document.text)
            if stored[match.start() : match.end()] != match[0]
        ]
        if _with_space(stored, missing) != document.text:
            raise InputError(
                f"the text of document {document.id!r} can't be restored exactly; "
                "remove control characters from it; nothing was stored"
            )
        return missing


def passage_id(evidence: Evidence) -> str:
    """What tells a passage or fact from all others of its namespace."""
    return f"{evidence.source}#{evidence.start}-{evidence.end}"


def passage_metadata(evidence: Evidence) -> dict[str, Any]:
    """The metadata of the document that a passage stands in, and where it stands there."""
    return _public(evidence.metadata) | evidence.model_dump(
        include={"source", "title", "place", "start", "end", "hop", "score"}
    )


def title_of(metadata: Mapping[str, Any]) -> str:
    """The title that a framework's document has in its metadata, if any: hops lead to it."""
    title = metadata.get("title")
    return title if isinstance(title, str) else ""


def _own(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    own = metadata.get(_OWN)
    return own if isinstance(own, Mapping) else {}


def _public(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key != _OWN}


def _restored(source: Source, text: str) -> Document:
    return Document(
        id=source.id,
        text=_with_space(text, _own(source.metadata).get("space", [])),
        title=source.title,
        metadata=_public(source.metadata),
    )


def _with_space(text: str, space: Sequence[Sequence[Any]]) -> str:
    """A text with pieces of white space put over what stands at their offsets, in their order."""
    parts: list[str] = []
    end = 0
    for start, piece in space:
        parts += [text[end:start], piece]
        end = start + len(piece)
    return "".join([*parts, text[end:]])


def _check_metadata(document: Document) -> None:
    if _OWN in document.metadata:
        raise InputError(
            f"the metadata of document {document.id!r} has the key {_OWN!r}, which memnet uses "
            "itself; rename it"
        )
    try:
        json.dumps(document.metadata, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"the metadata of document {document.id!r} is not JSON ({error}); use strings, finite "
            "numbers, true, false, null, lists and objects, and ISO 8601 for dates"
        ) from error
