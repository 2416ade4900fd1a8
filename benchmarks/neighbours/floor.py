"""The floor: sentence-transformers and a flat FAISS index, with the ids in a JSON file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
from sentence_transformers import SentenceTransformer

from benchmarks.neighbours.adapter import Passage


class Memory:
    """As ``adapter.Memory``."""

    def __init__(self, folder: Path, model: Path) -> None:
        """Load the model and, if it is there, the index."""
        self._folder = folder
        self._model = SentenceTransformer(str(model), device="cpu")
        self._texts: list[tuple[str, str]] = []
        self._index: Any = faiss.IndexFlatIP(384)
        if folder.exists():
            self._index = faiss.read_index(str(folder / "index.faiss"))
            self._texts = json.loads((folder / "texts.json").read_text())

    def add(self, passages: Sequence[Passage]) -> None:
        """Encode, append and save; known ids are not looked for."""
        texts = [passage.whole for passage in passages]
        self._index.add(self._model.encode(texts, normalize_embeddings=True))
        self._texts += [(passage.id, passage.whole) for passage in passages]
        self._save()

    def find(self, question: str, most: int) -> list[str]:
        """Search."""
        vector = self._model.encode([question], normalize_embeddings=True)
        _, places = self._index.search(vector, most)
        return [self._texts[place][0] for place in places[0] if place >= 0]

    def delete(self, passage: str) -> None:
        """Remove by place, and save."""
        place = [known for known, _ in self._texts].index(passage)
        self._index.remove_ids(faiss.IDSelectorRange(place, place + 1))
        del self._texts[place]
        self._save()

    def count(self) -> int:
        """Vectors of the index."""
        return int(self._index.ntotal)

    def close(self) -> None:
        """Nothing is open."""

    def _save(self) -> None:
        self._folder.mkdir(exist_ok=True)
        faiss.write_index(self._index, str(self._folder / "index.faiss"))
        (self._folder / "texts.json").write_text(json.dumps(self._texts))
