"""Answers from facts, by a trained model: a set of values and the chains that lead to them."""

import time
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor

from memnet.config import FactConfig
from memnet.device import one_thread_each
from memnet.encoders import Encoder, encode_tokens
from memnet.facts.hops import FactStep, FactTrace
from memnet.facts.linking import link
from memnet.facts.memory import StoredFacts
from memnet.facts.model import AnswerRule, FactBatch, FactModel, FactScores, fact_batch, shares
from memnet.reader.passages import evidence_of
from memnet.storage import MemoryStore, Scope, Slot
from memnet.types import Answer, Candidate, Evidence, Hop, SlotWeight

_COUNTS = 0.1
"""Share of the attention below which a chain is not shown as a reason, nor a hop shown at all."""


class _Link(NamedTuple):
    """A fact on the way to an answer."""

    hop: int
    """Counted from 0."""
    place: int
    """Among the facts that the hop followed."""
    slot: int
    weight: float
    """Of the answer it leads to."""
    seen: bool
    """Whether training saw its relation."""


class FactAnswers:
    """Answers from the facts of a store."""

    def __init__(
        self,
        store: MemoryStore,
        encoder: Encoder,
        model: FactModel,
        rule: AnswerRule,
        name: str,
        config: FactConfig,
    ) -> None:
        """Join a memory and a model.

        Args:
            store: the memory.
            encoder: the one it was made with.
            model: in evaluation mode.
            rule: which of the entities that are reached are answers.
            name: of the model.
            config: settings.
        """
        self._store = store
        self._encoder = encoder
        self._model = model
        self._rule = rule
        self._name = name
        self._config = config

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        started = time.perf_counter()
        with self._store.reading(), one_thread_each, torch.inference_mode():
            batch = self._batch(question)
            if batch is None:
                return self._answer(question, started, (), (), (), ())
            memory = StoredFacts(self._store, scope, self._model.known())
            scores, trace = self._model(batch, memory, self._config.budget, hops)
            chosen = self._chosen(scores)
            share = shares(trace.importance, batch.question)
            leading = _leading(trace, share)
            ways = [list(_way(trace, share, entity, weight)) for entity, weight in chosen[:top_k]]
            attended = [_most(step, share, top_k) for step in trace.steps]
            shown = {link.slot for way in ways for link in way}
            shown.update(
                int(step.facts.slot[place])
                for step, places in zip(trace.steps, attended, strict=True)
                for place in places
            )
            shown.update(leading[entity] for entity, _ in chosen)
            slots = {slot.id: slot for slot in self._store.fetch_existing(list(shown))}
        candidates = tuple(
            Candidate(text=slots[leading[entity]].value, score=weight) for entity, weight in chosen
        )
        evidence = tuple(_evidence(ways, slots, top_k))
        abstained = not chosen or chosen[0][1] < self._rule.floor
        unseen = dict.fromkeys(
            slots[step.slot].relation for way in ways[:1] for step in way if not step.seen
        )
        return self._answer(
            question,
            started,
            () if abstained else candidates,
            evidence,
            tuple(_hops(trace, attended, slots)),
            tuple(unseen),
        )

    def _batch(self, question: str) -> FactBatch | None:
        """The question as seen from each name in it; None if it names nothing that is stored."""
        linked = link(question, self._store.facts.subjects)
        entities = self._store.facts.subjects(
            {name for item in linked.mentions for name in item.names}
        )
        chains = self._model.chains(linked, entities)
        if not chains:
            return None
        texts = list(dict.fromkeys(chain.text for chain in chains))
        encoded = dict(zip(texts, encode_tokens(self._encoder, texts), strict=True))
        return fact_batch([chains], encoded)

    def _chosen(self, scores: FactScores) -> list[tuple[int, float]]:
        """The entities that are answers, with their weights, best first."""
        if not len(scores.entity):
            return []
        weights, order = torch.sort(scores.weight, descending=True, stable=True)
        kept = weights >= self._rule.threshold * weights[0]
        entities = scores.entity[order][kept]
        return list(zip(entities.tolist(), weights[kept].tolist(), strict=True))

    def _answer(
        self,
        question: str,
        started: float,
        candidates: tuple[Candidate, ...],
        evidence: tuple[Evidence, ...],
        hops: tuple[Hop, ...],
        unseen: tuple[str, ...],
    ) -> Answer:
        return Answer(
            question=question,
            answer=candidates[0].text if candidates else None,
            confidence=None,
            abstained=not candidates,
            candidates=candidates,
            evidence=evidence,
            hops=hops,
            unseen_relations=unseen,
            model=self._name,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )


def _leading(trace: FactTrace, share: Tensor) -> dict[int, int]:
    """For each entity the slot of the fact that leads to it most surely."""
    best: dict[int, tuple[float, int]] = {}
    for step in trace.steps:
        facts = step.facts
        weights = facts.weight * (share * step.halting)[facts.chain]
        found = zip(facts.object.tolist(), weights.tolist(), facts.slot.tolist(), strict=True)
        for entity, weight, slot in found:
            if entity not in best or weight > best[entity][0]:
                best[entity] = weight, slot
    return {entity: slot for entity, (_, slot) in best.items()}


def _way(trace: FactTrace, share: Tensor, entity: int, weight: float) -> Iterator[_Link]:
    """The facts that lead to an answer, in each chain that counts, from its start on."""
    found: dict[int, tuple[float, int]] = {}
    for hop, step in enumerate(trace.steps):
        for place in (step.reached.entity == entity).nonzero().flatten().tolist():
            chain = int(step.reached.chain[place])
            reached = float(step.reached.weight[place] * step.halting[chain])
            if chain not in found or reached > found[chain][0]:
                found[chain] = reached, hop
    counting = [chain for chain in sorted(found) if share[chain] >= _COUNTS]
    for chain in counting or sorted(found, key=lambda chain: -share[chain])[:1]:
        yield from reversed(list(_back(trace, chain, found[chain][1], entity, weight)))


def _back(trace: FactTrace, chain: int, hop: int, entity: int, weight: float) -> Iterator[_Link]:
    """The heaviest fact that leads to an entity, then the one that leads to its subject, ..."""
    for number in range(hop, -1, -1):
        step = trace.steps[number]
        facts = step.facts
        leads = (facts.chain == chain) & (facts.object == entity)
        place = int(facts.weight.masked_fill(~leads, -1.0).argmax())
        seen = not bool(step.unseen[facts.relation[place]])
        yield _Link(number, place, int(facts.slot[place]), weight, seen)
        entity = int(facts.subject[place])


def _evidence(ways: list[list[_Link]], slots: dict[int, Slot], top_k: int) -> Iterator[Evidence]:
    """The facts that lead to the answers, each once, those of the best answer first."""
    links: dict[int, _Link] = {}
    for way in ways[:top_k]:
        for step in way:
            links.setdefault(step.slot, step)
    for slot_id, step in islice(links.items(), top_k):
        yield evidence_of(slots[slot_id], step.weight, step.hop + 1)


def _hops(
    trace: FactTrace, attended: list[dict[int, float]], slots: dict[int, Slot]
) -> Iterator[Hop]:
    for number, (step, places) in enumerate(zip(trace.steps, attended, strict=True), start=1):
        if places:
            yield Hop(
                hop=number,
                weights=tuple(
                    _slot_weight(slots[int(step.facts.slot[place])], weight)
                    for place, weight in places.items()
                ),
            )


def _slot_weight(slot: Slot, weight: float) -> SlotWeight:
    arrow = f"--{slot.relation}-->" if slot.kind == "fact" else f"<--{slot.relation}--"
    return SlotWeight(
        id=slot.id, source=slot.source, weight=weight, title=f"{slot.title} {arrow} {slot.value}"
    )


def _most(step: FactStep, share: Tensor, most: int) -> dict[int, float]:
    """Places of the facts that a hop attended to most, with their weights, which sum to at most 1.

    A fact counts by its chain's share, and by the probability that the chain had not halted.
    """
    weights = step.facts.weight * (share * step.going_on)[step.facts.chain]
    weights = weights / weights.sum().clamp(min=1.0)
    if not len(weights) or weights.sum() < _COUNTS:
        return {}
    found = torch.topk(weights, min(most, len(weights)))
    return dict(zip(found.indices.tolist(), found.values.tolist(), strict=True))
