"""Haystack with its in-memory document store, saved to a file."""

from collections.abc import Sequence
from pathlib import Path

from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.components.embedders.sentence_transformers import (
    SentenceTransformersDocumentEmbedder,
    SentenceTransformersTextEmbedder,
)

from benchmarks.neighbours.adapter import Passage


class Memory:
    """As ``adapter.Memory``."""

    def __init__(self, folder: Path, model: Path) -> None:
        """Load the store if it is there."""
        self._file = folder / "store.json"
        self._model = str(model)
        self._store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        if self._file.exists():
            self._store = InMemoryDocumentStore.load_from_disk(str(self._file))
        self._asking: SentenceTransformersTextEmbedder | None = None
        self._retriever = InMemoryEmbeddingRetriever(self._store)

    def add(self, passages: Sequence[Passage]) -> None:
        """Embed, write over what has the same id, and save."""
        embedder = SentenceTransformersDocumentEmbedder(
            model=self._model, normalize_embeddings=True, progress_bar=False
        )
        embedder.warm_up()
        documents = [Document(id=passage.id, content=passage.whole) for passage in passages]
        self._store.write_documents(
            embedder.run(documents)["documents"], policy=DuplicatePolicy.OVERWRITE
        )
        self._save()

    def find(self, question: str, most: int) -> list[str]:
        """Embed and retrieve."""
        if self._asking is None:
            self._asking = SentenceTransformersTextEmbedder(
                model=self._model, normalize_embeddings=True, progress_bar=False
            )
            self._asking.warm_up()
        vector = self._asking.run(question)["embedding"]
        found = self._retriever.run(query_embedding=vector, top_k=most)["documents"]
        return [document.id for document in found]

    def delete(self, passage: str) -> None:
        """Delete and save."""
        self._store.delete_documents([passage])
        self._save()

    def count(self) -> int:
        """Documents of the store."""
        return int(self._store.count_documents())

    def close(self) -> None:
        """Nothing is open."""

    def _save(self) -> None:
        self._file.parent.mkdir(exist_ok=True)
        self._store.save_to_disk(str(self._file))
