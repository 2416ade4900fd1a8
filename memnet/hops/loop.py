"""Hops over a store: address, attend, read, update."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from memnet.attention import attend
from memnet.config import HopConfig
from memnet.controllers import Candidates, Parts, QueryState, UntrainedController
from memnet.hops.addressing import Addressing
from memnet.hops.reading import read_in_hops
from memnet.ingest.names import longest, possible_names
from memnet.storage import Encode, MemoryStore


@dataclass(frozen=True)
class HopStep:
    """What one hop saw and did. K = candidates, best first."""

    state: QueryState
    """What it looked with."""
    ids: tuple[int, ...]
    """[K] slots."""
    weights: Tensor
    """[K] float32: attention weights."""
    parts: Parts
    """The scores, in their parts: each [K] float32."""
    similarity: Tensor
    """[K] float32: cosine of question and key, before any weight."""
    via: tuple[str | None, ...]
    """[K] the symbol that led to each slot, where one did."""
    read: Tensor
    """[D] float32: the weighted sum of the values."""


@dataclass(frozen=True)
class HopTrace:
    """All hops of one question."""

    steps: tuple[HopStep, ...]

    @property
    def last(self) -> HopStep:
        """The hop whose scores rank the evidence: it has seen everything that was read."""
        return self.steps[-1]


class HopLoop:
    """Reads a store several times for one question.

    Source: Sukhbaatar et al. 2015, section 2.2 (hops); Miller et al. 2016, section 3.1 (key
    hashing, key addressing, value reading).
    """

    def __init__(
        self, store: MemoryStore, encode: Encode, controller: UntrainedController, config: HopConfig
    ) -> None:
        """Join a memory and a controller."""
        self._store = store
        self._encode = encode
        self._controller = controller
        self._config = config

    def run(self, question: str, hops: int, namespace: str | None = None) -> HopTrace:
        """Read the memory up to ``hops`` times; fewer when a read brings up nothing new.

        Args:
            question: in plain language.
            hops: at least 1.
            namespace: to look in; None for all.
        """
        addressing = Addressing(self._store, self._encode, question, self._config, namespace)

        def hop(state: QueryState, _: int) -> tuple[HopStep, QueryState]:
            step = self._hop(state, addressing.candidates(state))
            return step, self._controller.update(state, *self._read_symbols(step))

        steps, _ = read_in_hops(self._start(question, namespace), hop, _nothing_new, hops)
        return HopTrace(tuple(steps))

    def _start(self, question: str, namespace: str | None) -> QueryState:
        vector: NDArray[np.float32] = self._encode([question])[0]
        known = self._store.search_symbolic(possible_names(question), 1, namespace)
        return self._controller.start(torch.from_numpy(vector), longest(known))

    def _hop(self, state: QueryState, candidates: Candidates) -> HopStep:
        parts = self._controller.score(candidates)
        logits = self._controller.logits(parts)
        attended = attend(logits[None], candidates.values)
        order = torch.argsort(logits, descending=True, stable=True)
        places = order.tolist()
        return HopStep(
            state=state,
            ids=tuple(candidates.ids[place] for place in places),
            weights=attended.weights[0, order],
            parts=Parts(*(part[order] for part in parts)),
            similarity=candidates.dense[order],
            via=tuple(candidates.via[place] for place in places),
            read=attended.read[0],
        )

    def _read_symbols(self, step: HopStep) -> tuple[dict[int, float], dict[int, list[str]]]:
        """Weights of the slots attended to most, and the symbols that each of them gives."""
        top = step.ids[: self._config.attended]
        weights = dict(zip(top, step.weights.tolist(), strict=False))
        mentioned = self._store.value_symbols(top)
        return weights, {slot: longest(names) for slot, names in mentioned.items()}


def _nothing_new(before: QueryState, after: QueryState) -> bool:
    return before.leads.keys() == after.leads.keys()
