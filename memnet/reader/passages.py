"""What readers read."""

from dataclasses import dataclass

from memnet.reader.spans import Passage
from memnet.storage import Slot
from memnet.text.names import without_brackets
from memnet.types import Evidence


@dataclass(frozen=True)
class Ranked:
    """A slot with its place among the evidence."""

    slot: Slot
    score: float
    """The controller's score."""
    similarity: float
    """Cosine of the slot's key and the question."""
    attention: float
    """Weight of the slot in the last hop's attention, 0..1."""
    hop: int
    """The first hop, counted from 1, that ranked the slot as evidence."""

    @property
    def passage(self) -> Passage:
        """The slot as readers take it."""
        return Passage(self.slot.title, self.slot.text)

    @property
    def subject(self) -> str:
        """What the slot is about: its title, but for brackets."""
        return without_brackets(self.slot.title)


def evidence_of(slot: Slot, score: float, hop: int) -> Evidence:
    """A slot as evidence."""
    return Evidence(
        id=slot.id,
        kind="passage" if slot.kind == "passage" else "fact",
        source=slot.source,
        title=slot.title,
        start=slot.start,
        end=slot.end,
        text=slot.text,
        score=score,
        hop=hop,
    )
