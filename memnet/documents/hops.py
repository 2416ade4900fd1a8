"""Hops over a store: address, attend, read, update."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import attend_once
from memnet.attention.reading import read_in_hops
from memnet.config import HopConfig
from memnet.documents.addressing import Addressing
from memnet.documents.controller import TextController
from memnet.documents.state import Candidates, Parts, QueryState
from memnet.storage import EVERYWHERE, Encode, MemoryStore, Scope


@dataclass(frozen=True)
class HopStep:
    """What one hop saw and did. K = candidates, best first."""

    state: QueryState
    """What it looked with."""
    candidates: Candidates
    """What addressing picked, in no order."""
    ids: tuple[int, ...]
    """[K] slots."""
    weights: NDArray[np.float32]
    """[K] float32: attention weights."""
    parts: Parts
    """The scores, in their parts: each [K] float32."""
    similarity: NDArray[np.float32]
    """[K] float32: cosine of question and key, before any weight."""
    via: tuple[str | None, ...]
    """[K] the name that led to each slot, or by which the question names it, where one did."""
    senders: tuple[int | None, ...]
    """[K] the slot that gave that name; None where it was the question."""
    read: NDArray[np.float32]
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
        self,
        store: MemoryStore,
        encode: Encode,
        controller: TextController,
        config: HopConfig,
        beside: bool = False,
    ) -> None:
        """Join a memory and a controller.

        Args:
            store: the memory.
            encode: encodes questions.
            controller: trained or not.
            config: settings.
            beside: whether to encode a question while its words are looked up.
        """
        self._store = store
        self._encode = encode
        self._controller = controller
        self._config = config
        self._beside = beside

    def run(self, question: str, hops: int, scope: Scope = EVERYWHERE) -> HopTrace:
        """Read the memory up to ``hops`` times; fewer when a read brings up nothing new.

        All hops see the same commit.

        Args:
            question: in plain language.
            hops: at least 1.
            scope: which sources to look in.
        """

        def hop(state: QueryState, number: int) -> tuple[HopStep, QueryState]:
            return self._hop(state, addressing.candidates(state), number)

        # A model or settings of no sense may give numbers that are none: no news to a terminal.
        with self._store.reading(), np.errstate(all="ignore"):
            addressing = Addressing(
                self._store, self._encode, question, self._config, scope, self._beside
            )
            start = self._controller.start(addressing.vector, addressing.named)
            steps, _ = read_in_hops(start, hop, _nothing_new, hops)
        return HopTrace(tuple(steps))

    def _hop(
        self, state: QueryState, candidates: Candidates, number: int
    ) -> tuple[HopStep, QueryState]:
        scores = self._controller.score(candidates, number)
        logits = self._controller.logits(scores.parts)
        read, weights = attend_once(logits, candidates.values)
        order = np.argsort(-logits, kind="stable")
        ids = tuple(candidates.ids[place] for place in order.tolist())
        via, senders = _ways(candidates, scores.link[order].tolist(), order.tolist())
        step = HopStep(
            state=state,
            candidates=candidates,
            ids=ids,
            weights=weights[order],
            parts=Parts(*(part[order] for part in scores.parts)),
            similarity=candidates.feature("dense")[order],
            via=via,
            senders=senders,
            read=read,
        )
        return step, self._controller.update(state, ids, logits[order])


def _ways(
    candidates: Candidates, links: list[int], places: list[int]
) -> tuple[tuple[str | None, ...], tuple[int | None, ...]]:
    """For each candidate the name that leads to it, and the slot that gives the name."""
    names, given = candidates.links.names, candidates.links.sender.tolist()
    via = [
        candidates.named[place] if link < 0 else names[link]
        for link, place in zip(links, places, strict=True)
    ]
    senders = [None if link < 0 else given[link] for link in links]
    return tuple(via), tuple(senders)


def _nothing_new(before: QueryState, after: QueryState) -> bool:
    return set(before.attended) == set(after.attended)
