"""Answers about documents and facts: hops over the store, then a reader of what they found."""

import time
from collections.abc import Callable, Iterable, Mapping

from memnet.config import Config
from memnet.controllers import TextController
from memnet.hops import HopLoop, HopTrace, hop_records
from memnet.readers import Ranked, read_facts, read_sentences
from memnet.storage import Encode, MemoryStore
from memnet.types import Answer, Candidate, Evidence


class TextAnswers:
    """Answers from documents, facts and what was told."""

    def __init__(
        self,
        store: MemoryStore,
        encode: Encode,
        controller: TextController,
        name: str,
        config: Config,
        on_read: Callable[[Mapping[int, float]], None],
    ) -> None:
        """Join a memory and a controller.

        Args:
            store: the memory.
            encode: of its keys.
            controller: trained or not.
            name: of the model, as answers give it.
            config: settings.
            on_read: given the attention weights of told slots after each read.
        """
        self._name = name
        self._store = store
        self._config = config
        self._on_read = on_read
        self._loop = HopLoop(store, encode, controller, config.hop)

    def ask(self, question: str, hops: int | None, top_k: int, namespace: str | None) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        started = time.perf_counter()
        with self._store.reading():
            trace = self._loop.run(question, hops or self._config.hop.hops, namespace)
            ranked = self._ranked(trace, top_k)
            records = hop_records(trace, self._store, top_k)
        self._on_read(_told_weights(trace, ranked))
        candidates = self._candidates(question, ranked, bool(trace.steps[0].state.named))
        return Answer(
            question=question,
            answer=candidates[0].text if candidates else None,
            confidence=None,
            abstained=not candidates,
            candidates=candidates,
            evidence=tuple(_evidence(item) for item in ranked[:top_k]),
            hops=records,
            model=self._name,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def _ranked(self, trace: HopTrace, top_k: int) -> list[Ranked]:
        """The best slots of the last hop, and every fact, so that a set of facts is whole."""
        last = trace.last
        first_hop = {
            slot: number
            for number, step in reversed(list(enumerate(trace.steps, start=1)))
            for slot in step.ids[:top_k]
        }
        found = last.candidates
        facts = {slot for slot, fact in zip(found.ids, found.is_fact.tolist(), strict=True) if fact}
        most = max(top_k, self._config.answer.passages)
        chosen = [
            (slot, score, cosine)
            for place, (slot, score, cosine) in enumerate(
                zip(last.ids, last.parts.total().tolist(), last.similarity.tolist(), strict=True)
            )
            if place < most or slot in facts
        ]
        slots = self._store.fetch([slot for slot, _, _ in chosen])
        return [
            Ranked(slot, score, cosine, first_hop.get(slot.id, len(trace.steps)))
            for slot, (_, score, cosine) in zip(slots, chosen, strict=True)
        ]

    def _candidates(
        self, question: str, ranked: list[Ranked], named: bool
    ) -> tuple[Candidate, ...]:
        """Possible answers, best first; none when the memory does not hold the answer.

        Facts answer only a question that names something (``named``): what else shares words with
        a relation is not what is asked about.
        """
        settings = self._config.answer
        if not ranked:
            return ()
        if ranked[0].slot.kind != "passage" and named:
            facts = [item for item in ranked if item.slot.kind != "passage"]
            return read_facts(question, facts, settings)
        passages = [item for item in ranked if item.slot.kind == "passage"][: settings.passages]
        if max((item.similarity for item in passages), default=0.0) < settings.support_floor:
            return ()
        return read_sentences(question, passages, settings)[: settings.passages]


def _told_weights(trace: HopTrace, ranked: Iterable[Ranked]) -> dict[int, float]:
    """For each told slot the most that a hop attended to it."""
    told = {item.slot.id for item in ranked if item.slot.valid_from is not None}
    weights: dict[int, float] = {}
    for step in trace.steps:
        for slot, weight in zip(step.ids, step.weights.tolist(), strict=True):
            if slot in told:
                weights[slot] = max(weight, weights.get(slot, 0.0))
    return weights


def _evidence(item: Ranked) -> Evidence:
    slot = item.slot
    return Evidence(
        id=slot.id,
        kind="passage" if slot.kind == "passage" else "fact",
        source=slot.source,
        title=slot.title,
        start=slot.start,
        end=slot.end,
        text=slot.text,
        score=item.score,
        hop=item.hop,
    )
