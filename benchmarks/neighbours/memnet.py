"""memnet, through its library."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.neighbours.adapter import Passage
from memnet import Document, Engine


class Memory:
    """As ``adapter.Memory``; ``memnet_one_hop`` differs in the settings."""

    hops: int | None = None

    def __init__(self, folder: Path, model: Path) -> None:
        """Open or make the store; the weights are those of the same model, in int8."""
        del model
        # The others find passages and read no short answers in them: neither does this one.
        self._engine = Engine.open(folder, create=True, reader="sentences")

    def add(self, passages: Sequence[Passage]) -> None:
        """Ingest."""
        self._engine.ingest(
            Document(id=passage.id, title=passage.title, text=passage.text) for passage in passages
        )

    def find(self, question: str, most: int) -> list[str]:
        """Ask, and give the sources of the evidence."""
        answer = self._engine.ask(question, hops=self.hops, top_k=2 * most)
        return list(dict.fromkeys(item.source for item in answer.evidence))[:most]

    def delete(self, passage: str) -> None:
        """Forget."""
        self._engine.forget(passage)

    def count(self) -> int:
        """Stored documents."""
        return self._engine.info().documents

    def close(self) -> None:
        """Close the store."""
        self._engine.close()
