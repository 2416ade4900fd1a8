"""Answers from facts, by a trained model: a set of values and the chains that lead to them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memnet.config import AnswerConfig, FactConfig
from memnet.encoders.protocol import TokenEncoder
from memnet.facts.hops import Facts, HopStep, HopTrace, Outgoing, RelationKeys
from memnet.facts.model import (
    AnswerRule,
    FactBatch,
    FactModel,
    FactScores,
    LinkedQuestion,
    asked_stems,
    content_stems,
    fact_batch,
    grouped_softmax,
    link,
)
from memnet.reader.passages import evidence_of
from memnet.storage import MemoryStore, Scope, Slot
from memnet.types import Answer, Candidate, Evidence, Hop, SlotWeight

# Share of the attention below which a chain is not shown as a reason, nor a hop shown at all.
_MIN_SHOWN = 0.1
_Weights: TypeAlias = NDArray[np.float32]
_PROMISE = 0.5  # Confidence from which a value is shown as the answer, else the facts alone


class _PathStep(NamedTuple):
    """A fact on the way to an answer."""

    slot: int
    hop: int  # Counted from 1
    score: float  # Score of the answer it leads to
    unseen: bool  # Whether its relation was unseen in training


@dataclass(frozen=True)
class StoreGraph:
    """The facts of a store, as of one read of it. An entity is a symbol."""

    store: MemoryStore
    scope: Scope
    numbers: Mapping[str, int]  # Numbers of the relations seen in training, by name

    def outgoing(self, entities: NDArray[np.int64]) -> Outgoing:
        """See ``FactGraph.outgoing``."""
        rows = self.store.facts.outgoing(entities.tolist(), self.scope)
        entity = np.searchsorted(entities, rows[:, 0])
        order = np.argsort(entity, kind="stable")
        relations, relation = np.unique(rows[order, 1], return_inverse=True)
        names, vectors = self.store.facts.relation_keys(relations.tolist())
        numbers = np.array([self.numbers.get(name, 0) for name in names], np.int64)
        keys = RelationKeys(vectors, numbers)
        return Outgoing(entity[order], relation, rows[order, 2], relations, keys)

    def facts(self, entities: NDArray[np.int64], relations: NDArray[np.int64]) -> Facts:
        """See ``FactGraph.facts``."""
        pairs = zip(entities.tolist(), relations.tolist(), strict=True)
        return Facts(*self.store.facts.follow(pairs, self.scope).T)


@dataclass(frozen=True)
class FactAnswers:
    """Answers from the facts of a store."""

    store: MemoryStore
    encoder: TokenEncoder  # The one that the store was made with
    model: FactModel
    rule: AnswerRule
    name: str  # Name of the model
    config: FactConfig
    answering: AnswerConfig

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        started = time.perf_counter()
        candidates: list[Candidate] = []
        paths: list[list[_PathStep]] = []
        attended: list[list[tuple[int, float]]] = []
        slots: dict[int, Slot] = {}
        with self.store.reading():
            linked = link(question, self.store.facts.subjects)
            batch = self._batch(linked)
            if batch is not None:
                numbers = {name: n for n, name in enumerate(self.model.relations, start=1)}
                graph = StoreGraph(self.store, scope, numbers)
                scores, trace = self.model.score(batch, graph, self.config.budget, hops)
                importance = grouped_softmax(trace.importance, batch.question)
                chosen = self._chosen(scores)
                value_slots = _value_slots(trace, importance)
                paths = [_path(trace, importance, *answer) for answer in chosen[:top_k]]
                attended = [_most_attended(step, importance, top_k) for step in trace.steps]
                shown = {step.slot for steps in paths for step in steps}
                shown.update(slot for weights in attended for slot, _ in weights)
                shown.update(value_slots[entity] for entity, _ in chosen)
                slots = {slot.id: slot for slot in self.store.fetch_existing(list(shown))}
                candidates = [
                    Candidate(text=slots[value_slots[entity]].value, score=weight)
                    for entity, weight in chosen
                ]
        path = paths[0] if paths else []
        best = [slots[step.slot] for step in path]
        unseen = dict.fromkeys(slots[step.slot].relation for step in path if step.unseen)
        confidence = None
        if candidates:
            confidence = self._confidence(linked, candidates[0].score, best, unseen=bool(unseen))
        abstained = confidence is None or confidence < self.answering.threshold
        least = self.answering.answer_threshold
        promised = confidence is not None and confidence >= (_PROMISE if least is None else least)
        value = candidates[0].text if promised and not abstained else None
        facts = "\n".join(dict.fromkeys(" ".join(slot.text.split()) for slot in best))
        return Answer(
            question=question,
            kind="none" if abstained else "facts" if promised else "statement",
            answer=None if abstained else value or facts,
            short=value,
            shown="answer" if promised else "passage",
            confidence=confidence,
            abstained=abstained,
            candidates=tuple(candidates),
            evidence=_evidence(paths, slots, top_k),
            hops=tuple(
                Hop(
                    hop=hop, weights=tuple(_weight(slots[slot], weight) for slot, weight in weights)
                )
                for hop, weights in enumerate(attended, start=1)
                if weights
            ),
            unseen_relations=tuple(unseen),
            model=self.name,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def _confidence(
        self, linked: LinkedQuestion, weight: float, path: Sequence[Slot], *, unseen: bool
    ) -> float:
        """How likely the answer at the end of a path is right, lower for what training lacked."""
        asked = asked_stems(linked)
        known = self.rule.words.union(*(content_stems(slot.relation) for slot in path))
        unknown = len(asked - known) / len(asked) if asked and self.rule.words else 0.0
        misspelled = any(
            " ".join(linked.words[one.start : one.end]) not in one.names for one in linked.mentions
        )
        return self.rule.confidence(weight, unknown, unseen, misspelled)

    def _batch(self, linked: LinkedQuestion) -> FactBatch | None:
        """The question as seen from each name in it; None if it names nothing that is stored."""
        names = {name for mention in linked.mentions for name in mention.names}
        entities = self.store.facts.subjects(names)
        chains = self.model.chains(linked, entities)
        if not chains:
            return None
        texts = list(dict.fromkeys(chain.text for chain in chains))
        encoded = dict(zip(texts, self.encoder.encode_tokens(texts), strict=True))
        return fact_batch([chains], encoded)

    def _chosen(self, scores: FactScores) -> list[tuple[int, float]]:
        """The entities that are answers, with their weights, best first."""
        order = np.argsort(-scores.weight, kind="stable")
        weights = scores.weight[order]
        kept = weights >= self.rule.threshold * weights[:1]
        entities = scores.entity[order][kept]
        return list(zip(entities.tolist(), weights[kept].tolist(), strict=True))


def _value_slots(trace: HopTrace, importance: _Weights) -> dict[int, int]:
    """For each entity the slot of the fact that leads to it with the largest weight."""
    best: dict[int, tuple[float, int]] = {}
    for step in trace.steps:
        facts = step.facts
        weights = facts.weight * (importance * step.halting)[facts.chain]
        rows = zip(facts.object.tolist(), weights.tolist(), facts.slot.tolist(), strict=True)
        for entity, weight, slot in rows:
            if entity not in best or weight > best[entity][0]:
                best[entity] = weight, slot
    return {entity: slot for entity, (_, slot) in best.items()}


def _path(trace: HopTrace, importance: _Weights, entity: int, score: float) -> list[_PathStep]:
    """The facts that lead to an answer, in each important chain, from its start on."""
    last_hops: dict[int, tuple[float, int]] = {}
    for hop, step in enumerate(trace.steps):
        for index in np.flatnonzero(step.reached.entity == entity).tolist():
            chain = int(step.reached.chain[index])
            weight = float(step.reached.weight[index] * step.halting[chain])
            if chain not in last_hops or weight > last_hops[chain][0]:
                last_hops[chain] = weight, hop
    important = [chain for chain in sorted(last_hops) if importance[chain] >= _MIN_SHOWN]
    path: list[_PathStep] = []
    for chain in important or sorted(last_hops, key=lambda chain: -importance[chain])[:1]:
        path += reversed(list(_backwards(trace, chain, last_hops[chain][1], entity, score)))
    return path


def _backwards(
    trace: HopTrace, chain: int, last_hop: int, entity: int, score: float
) -> Iterator[_PathStep]:
    """The heaviest fact that leads to an entity, then the one that leads to its subject, ..."""
    for hop in range(last_hop, -1, -1):
        facts = trace.steps[hop].facts
        leads_there = (facts.chain == chain) & (facts.object == entity)
        best = int(np.where(leads_there, facts.weight, -1.0).argmax())
        yield _PathStep(int(facts.slot[best]), hop + 1, score, bool(facts.unseen[best]))
        entity = int(facts.subject[best])


def _most_attended(step: HopStep, importance: _Weights, top_k: int) -> list[tuple[int, float]]:
    """Slots of the facts that a hop attended to most, with weights whose sum is at most 1.

    A fact counts by its chain's importance and by the probability that the chain had not halted.
    """
    weights = step.facts.weight * (importance * step.continuing)[step.facts.chain]
    weights = weights / max(1.0, weights.sum())
    if weights.sum() < _MIN_SHOWN:
        return []
    found = np.argsort(-weights, kind="stable")[:top_k]
    return list(zip(step.facts.slot[found].tolist(), weights[found].tolist(), strict=True))


def _evidence(
    paths: Sequence[Sequence[_PathStep]], slots: Mapping[int, Slot], top_k: int
) -> tuple[Evidence, ...]:
    """The facts that lead to the answers, each once, those of the best answer first."""
    first: dict[int, _PathStep] = {}
    for step in chain.from_iterable(paths):
        first.setdefault(step.slot, step)
    steps = list(first.values())[:top_k]
    return tuple(evidence_of(slots[step.slot], step.score, step.hop) for step in steps)


def _weight(slot: Slot, weight: float) -> SlotWeight:
    arrow = f"--{slot.relation}-->" if slot.kind == "fact" else f"<--{slot.relation}--"
    return SlotWeight(
        id=slot.id, source=slot.source, weight=weight, title=f"{slot.title} {arrow} {slot.value}"
    )
