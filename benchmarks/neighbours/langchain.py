"""LangChain with its FAISS vector store."""

from collections.abc import Sequence
from pathlib import Path

from langchain_community.vectorstores import FAISS
from langchain_huggingface import HuggingFaceEmbeddings

from benchmarks.neighbours.adapter import Passage


class Memory:
    """As ``adapter.Memory``."""

    def __init__(self, folder: Path, model: Path) -> None:
        """Load the store if it is there; its own format needs leave to unpickle."""
        self._folder = folder
        self._embeddings = HuggingFaceEmbeddings(
            model_name=str(model),
            model_kwargs={"device": "cpu"},
            encode_kwargs={"normalize_embeddings": True},
        )
        self._store: FAISS | None = None
        if folder.exists():
            self._store = FAISS.load_local(
                str(folder), self._embeddings, allow_dangerous_deserialization=True
            )

    def add(self, passages: Sequence[Passage]) -> None:
        """Add texts, deleting those of the same ids first, which it asks for; and save."""
        texts, ids = [passage.whole for passage in passages], [passage.id for passage in passages]
        if self._store is None:
            self._store = FAISS.from_texts(texts, self._embeddings, ids=ids)
        else:
            known = set(self._store.index_to_docstore_id.values())
            if stale := [own for own in ids if own in known]:
                self._store.delete(stale)
            self._store.add_texts(texts, ids=ids)
        self._store.save_local(str(self._folder))

    def find(self, question: str, most: int) -> list[str]:
        """Search."""
        assert self._store is not None  # noqa: S101
        return [str(found.id) for found in self._store.similarity_search(question, k=most)]

    def delete(self, passage: str) -> None:
        """Delete and save."""
        assert self._store is not None  # noqa: S101
        self._store.delete([passage])
        self._store.save_local(str(self._folder))

    def count(self) -> int:
        """Vectors of the index."""
        return 0 if self._store is None else int(self._store.index.ntotal)

    def close(self) -> None:
        """Nothing is open."""
