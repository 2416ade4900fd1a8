"""What every neighbour is asked to do, each in a file of its own with a class ``Memory``."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol


class Passage(NamedTuple):
    """A text to remember."""

    id: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        """Title and text, as one text that all neighbours encode."""
        return f"{self.title}\n{self.text}"


class Memory(Protocol):
    """A store on disk that finds passages."""

    def __init__(self, folder: Path, model: Path) -> None:
        """Open the store in ``folder``, or make it; weights are in the folder ``model``."""
        ...

    def add(self, passages: Sequence[Passage]) -> None:
        """Remember passages; those of a known id are replaced where the tool can do so. Saves."""
        ...

    def find(self, question: str, most: int) -> list[str]:
        """Ids of the best passages, best first."""
        ...

    def delete(self, passage: str) -> None:
        """Remove a passage by its id, and save."""
        ...

    def count(self) -> int:
        """How many passages the store holds."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...
