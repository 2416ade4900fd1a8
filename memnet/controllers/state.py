"""What passes between memory and controller in a hop."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor


class Lead(NamedTuple):
    """A symbol to follow."""

    strength: float
    """0..1: the attention that the slot which mentions it got, relative to the best slot."""
    slot: int
    """The slot that mentions it."""


@dataclass(frozen=True)
class QueryState:
    """What the next hop looks for. K = candidates, D = width of a vector."""

    vector: Tensor
    """[D] float32, of length one: the question so far."""
    named: frozenset[str]
    """Symbols that the question itself names."""
    leads: Mapping[str, Lead]
    """Symbols that attended slots mention."""


@dataclass(frozen=True)
class Candidates:
    """The slots that addressing picked, with what each way of addressing says of them."""

    ids: tuple[int, ...]
    """[K] slot ids, each once."""
    keys: Tensor
    """[K, D] float32: key vectors."""
    values: Tensor
    """[K, D] float32: value vectors."""
    dense: Tensor
    """[K] float32: cosine of the query and the key."""
    lexical: Tensor
    """[K] float32: BM25 over the best BM25 of this question, 0..1."""
    named: Tensor
    """[K] float32: 1 where the question names what the slot is about, else 0."""
    led: Tensor
    """[K] float32: strength of the strongest lead to the slot, 0..1; 0 without one."""
    via: tuple[str | None, ...]
    """[K] the symbol of that lead, else the one that the question names, else None."""
    is_fact: Tensor
    """[K] bool: True for facts, whose ``dense`` compares the question with the relation only."""


class Parts(NamedTuple):
    """The score of each candidate, in its parts: each [K] float32."""

    dense: Tensor
    lexical: Tensor
    symbolic: Tensor

    def total(self) -> Tensor:
        """[K] float32."""
        return self.dense + self.lexical + self.symbolic
