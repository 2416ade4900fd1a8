"""Chroma, persistent, with its sentence-transformers embedding function."""

from collections.abc import Sequence
from pathlib import Path

import chromadb
from chromadb.config import Settings
from chromadb.utils.embedding_functions import SentenceTransformerEmbeddingFunction

from benchmarks.neighbours.adapter import Passage

_BATCH = 1000
"""Passages of one call; Chroma takes a bounded number."""


class Memory:
    """As ``adapter.Memory``."""

    def __init__(self, folder: Path, model: Path) -> None:
        """Open or make the collection."""
        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self._collection = client.get_or_create_collection(
            "passages",
            embedding_function=SentenceTransformerEmbeddingFunction(
                model_name=str(model), device="cpu", normalize_embeddings=True
            ),
        )

    def add(self, passages: Sequence[Passage]) -> None:
        """Upsert, which is saved as it goes."""
        for start in range(0, len(passages), _BATCH):
            part = passages[start : start + _BATCH]
            self._collection.upsert(
                [passage.id for passage in part], documents=[passage.whole for passage in part]
            )

    def find(self, question: str, most: int) -> list[str]:
        """Query."""
        found = self._collection.query(query_texts=[question], n_results=most)
        return list(found["ids"][0])

    def delete(self, passage: str) -> None:
        """Delete."""
        self._collection.delete([passage])

    def count(self) -> int:
        """Rows of the collection."""
        return int(self._collection.count())

    def close(self) -> None:
        """Chroma closes by itself."""
