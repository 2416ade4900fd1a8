"""What parses sentences and judges them: protocols, and the values that they exchange.

K = earlier statements.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memnet.storage import Told
from memnet.storage.values import Act
from memnet.text.names import normalise, subject_symbol
from memnet.types import Certainty


@dataclass(frozen=True)
class ParsedStatement:
    """One sentence, parsed."""

    text: str
    """``source_text[start:end]``, exactly."""
    start: int
    end: int
    subject: str
    """As written, with pronouns resolved; empty where none was found."""
    relation: str
    """Words of the relation, without negation: "moved to"."""
    values: tuple[str, ...] = ()
    """As written. Relation and values in their order are all that it says of its subject."""
    aliases: tuple[str, ...] = ()
    """Other names of the subject, as written: "my sister" and "Clara" of "my sister Clara"."""
    polarity: bool = True
    """False where it is denied, or said to hold no longer."""
    certainty: Certainty = "is"
    act: Act = "tell"
    template: str = ""
    """What the relation vector encodes: "X moved to Y"; empty for the relation between X and Y."""
    valid_from: float | None = None
    """Seconds since the epoch at which it began to hold; None for when it was told."""
    valid_until: float | None = None
    """Seconds since the epoch at which it ceases to hold; None where it does not say so."""

    @property
    def about(self) -> str:
        """The subject, normalised; without one, all of the sentence. Empty without any word."""
        return subject_symbol(self.subject) or normalise(predicate_of(self.relation, self.values))

    @property
    def relation_words(self) -> str:
        """What the relation vector encodes."""
        return self.template or f"X {self.relation} Y"


def predicate_of(relation: str, values: Sequence[str]) -> str:
    """What a statement says of its subject, without negation."""
    return " ".join(filter(None, (relation, *values)))


class Label(IntEnum):
    """What a new statement does to an earlier one: columns of what a judge gives."""

    NONE = 0
    SUPERSEDE = 1
    """The earlier one held until the new one began to."""
    CORRECT = 2
    """The earlier one never held; the new one did since the earlier was said to."""
    END = 3
    """The earlier one holds no longer, and nothing takes its place."""
    MERGE = 4
    """Both say the same."""
    CONTRADICT = 5
    """Both can't hold, and neither is known to be wrong."""


# Labels after which the earlier statement, or a part of it, is no longer valid.
ENDING = (Label.SUPERSEDE, Label.CORRECT, Label.END)


class Judgement(NamedTuple):
    """What a new statement does to K earlier ones."""

    labels: NDArray[np.float32]
    """[K, 6] probabilities of each ``Label``; the likeliest one counts."""
    partly: NDArray[np.bool_]
    """[K] where only a part of what an earlier one says is changed, and the rest holds on."""


class StatementParser(Protocol):
    """What takes sentences apart. May be called from several threads at once."""

    def parse(self, text: str, at: float, earlier: Sequence[Told]) -> list[ParsedStatement]:
        """The statements of a text, in their order.

        Args:
            text: as told.
            at: when, in seconds since the epoch.
            earlier: the last statements that were told before, oldest first.

        Raises:
            InputError: it asks for something that can't be done.
        """
        ...


class StatementJudge(Protocol):
    """What compares a statement with earlier ones. May be called from several threads at once."""

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        """What a new statement does to each of the earlier ones.

        Of a statement that is to be forgotten, those are erased with which it would be merged.

        Args:
            new: is not stored yet.
            earlier: K candidates that had not ended when the new one begins to hold, in the order
                in which they were told; some of them may begin later.
        """
        ...
