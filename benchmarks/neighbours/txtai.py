"""txtai: an embeddings database with content, its defaults otherwise."""

from collections.abc import Sequence
from pathlib import Path

from txtai import Embeddings

from benchmarks.neighbours.adapter import Passage


class Memory:
    """As ``adapter.Memory``."""

    def __init__(self, folder: Path, model: Path) -> None:
        """Load the database if it is there."""
        self._folder = folder
        self._embeddings = Embeddings(path=str(model), content=True)
        if folder.exists():
            self._embeddings.load(str(folder))

    def add(self, passages: Sequence[Passage]) -> None:
        """Index, or upsert into what is there, and save."""
        rows = [(passage.id, passage.whole, None) for passage in passages]
        if self._folder.exists():
            self._embeddings.upsert(rows)
        else:
            self._embeddings.index(rows)
        self._embeddings.save(str(self._folder))

    def find(self, question: str, most: int) -> list[str]:
        """Search."""
        return [found["id"] for found in self._embeddings.search(question, most)]

    def delete(self, passage: str) -> None:
        """Delete and save."""
        self._embeddings.delete([passage])
        self._embeddings.save(str(self._folder))

    def count(self) -> int:
        """Rows of the database."""
        return int(self._embeddings.count())

    def close(self) -> None:
        """Close the database."""
        self._embeddings.close()
