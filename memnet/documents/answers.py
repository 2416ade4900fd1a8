"""Answers about documents and facts: hops over the store, then a reader of what they found."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from memnet.config import Config
from memnet.documents.controller import TextController
from memnet.documents.evidence import bridged_hop, judged_first, with_bridged
from memnet.documents.fact_reading import read_facts
from memnet.documents.hops import HopLoop, HopTrace
from memnet.documents.records import hop_records
from memnet.encoders import Encoder
from memnet.reader.answers import read_spans
from memnet.reader.confidence import Signals
from memnet.reader.decompose.bridging import Bridged
from memnet.reader.decompose.comparison import asks_for_order
from memnet.reader.loading import LazyReader
from memnet.reader.passages import RankedSlot, evidence_of
from memnet.reader.sentences import read_sentences
from memnet.storage import EVERYWHERE, MemoryStore, Scope
from memnet.text.names import normalise
from memnet.types import Answer, AnswerKind, Candidate, Evidence


class Judged(NamedTuple):
    """Possible answers and what is thought of the best of them."""

    candidates: tuple[Candidate, ...] = ()
    """Best first."""
    confidence: float | None = None
    abstained: bool = False
    """Whether the memory is held not to know, whatever the candidates."""
    signals: Signals | None = None
    """By which confidence was judged; None where no reader of spans was at work."""
    bridged: Bridged | None = None
    """What was asked next, where the question held a phrase to be read first."""
    judged_by: tuple[RankedSlot, ...] = ()
    """The evidence that the best candidate was read or judged by, its own first."""
    kind: AnswerKind = "none"
    """Of the best candidate."""


class TextAnswers:
    """Answers from documents, facts and what was told."""

    def __init__(
        self,
        store: MemoryStore,
        encoder: Encoder,
        controller: TextController,
        reader: LazyReader,
        name: str,
        config: Config,
        on_read: Callable[[Mapping[int, float]], None],
    ) -> None:
        """Join a memory and a controller.

        Args:
            store: the memory.
            encoder: of its keys.
            controller: trained or not.
            reader: of short answers; where it has no weights, sentences are the answers.
            name: of the model, as answers give it.
            config: settings.
            on_read: given the attention weights of told slots after each read.
        """
        self._name = name
        self._reader = reader
        self._store = store
        self._config = config
        self._on_read = on_read
        self._loop = HopLoop(
            store,
            encoder.encode,
            controller,
            config.hop,
            beside=getattr(encoder, "releases_gil", False),
        )

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        started = time.perf_counter()
        with self._store.reading():
            trace, ranked = self._found(question, hops, top_k, scope)
            records = hop_records(trace, self._store, top_k)
        self._on_read(_told_weights(trace, ranked))
        judged = self._judged(question, ranked, bool(trace.steps[0].state.named), scope)
        further = len(records) + 1
        shown = with_bridged(ranked, judged.bridged, further)
        shown = judged_first(judged.judged_by, shown, further)[:top_k]
        if judged.bridged is not None:
            records = (*records, bridged_hop(judged.bridged, further))
        abstained = judged.abstained or not judged.candidates
        return Answer(
            question=question,
            kind="none" if abstained else judged.kind,
            answer=None if abstained else judged.candidates[0].text,
            confidence=judged.confidence,
            abstained=abstained,
            candidates=judged.candidates,
            evidence=tuple(evidence_of(item.slot, item.score, item.hop) for item in shown),
            hops=records,
            model=self._name,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def search(
        self, query: str, hops: int | None, top_k: int, scope: Scope
    ) -> tuple[Evidence, ...]:
        """What the hops find, best first, without a reader; arguments as for ``ask``."""
        with self._store.reading():
            _, ranked = self._found(query, hops, top_k, scope)
        return tuple(evidence_of(item.slot, item.score, item.hop) for item in ranked[:top_k])

    def judged(self, question: str) -> Judged:
        """What is answered to a question, and by which signals: to learn confidence from."""
        with self._store.reading():
            trace, ranked = self._found(question, None, self._config.hop.evidence, EVERYWHERE)
        return self._judged(question, ranked, bool(trace.steps[0].state.named), EVERYWHERE)

    def _found(
        self, question: str, hops: int | None, top_k: int, scope: Scope
    ) -> tuple[HopTrace, list[RankedSlot]]:
        trace = self._loop.run(question, hops or self._config.hop.hops, scope)
        return trace, self._ranked(trace, top_k)

    def _ranked(self, trace: HopTrace, top_k: int) -> list[RankedSlot]:
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
        chosen = [place for place, slot in enumerate(last.ids) if place < most or slot in facts]
        scores, cosines, weights = (
            part[chosen].tolist() for part in (last.parts.total(), last.similarity, last.weights)
        )
        slots = self._store.fetch_existing([last.ids[place] for place in chosen])
        return [
            RankedSlot(slot, score, cosine, weight, first_hop.get(slot.id, len(trace.steps)))
            for slot, score, cosine, weight in zip(slots, scores, cosines, weights, strict=True)
        ]

    def _judged(self, question: str, ranked: list[RankedSlot], named: bool, scope: Scope) -> Judged:
        """Possible answers, best first.

        Facts answer only a question that names something (``named``): what else shares words with
        a relation is not what is asked about. They come first where it names their subject; else
        passages do, if they are read with confidence.
        """
        if not ranked:
            return Judged()
        passages = [item for item in ranked if item.slot.kind == "passage"]
        facts: tuple[Candidate, ...] = ()
        by_facts = Judged()
        if ranked[0].slot.kind != "passage" and named:
            others = [item for item in ranked if item.slot.kind != "passage"]
            facts = read_facts(question, others, self._config.answer)
            by_facts = Judged(facts, judged_by=_holding(others, facts), kind="facts")
            if facts and _subject_named(question, others, facts):
                return by_facts
        read = self._read(question, passages, scope) if passages else Judged()
        unsure = read.abstained or not read.candidates or read.confidence is None
        return by_facts if facts and unsure else read

    def _read(self, question: str, passages: Sequence[RankedSlot], scope: Scope) -> Judged:
        settings = self._config.answer
        first = passages[: settings.passages]
        near = max(item.similarity for item in first) >= settings.support_floor
        loaded = self._reader.load(settings.tokens, self._config.cores())
        if loaded is None:
            found = read_sentences(question, first, settings)[: settings.passages]
            own = tuple(item for item in first if item.slot.id == found[0].evidence)
            return Judged(found, judged_by=own, kind="statement") if near else Judged()

        def find(further: str) -> list[RankedSlot]:
            with self._store.reading():
                _, ranked = self._found(further, None, settings.passages, scope)
            return [item for item in ranked if item.slot.kind == "passage"]

        answers = read_spans(question, passages, settings.passages, loaded.reader, find)
        confidence = None
        if loaded.calibration is not None:
            confidence = loaded.calibration.confidence(answers.signals)
        sure = answers.signals.answerable if confidence is None else confidence
        withheld = not near or sure < settings.threshold
        return Judged(
            answers.candidates,
            confidence,
            withheld,
            answers.signals,
            answers.bridged,
            answers.judged_by,
            _kind(answers.candidates[0]) if answers.candidates else "none",
        )


def _kind(answer: Candidate) -> AnswerKind:
    """The kind of an answer that a reader of spans gave."""
    if answer.evidence is None and answer.text == "yes":
        return "yes"
    return "no" if answer.evidence is None and answer.text == "no" else "value"


def _holding(
    facts: Sequence[RankedSlot], candidates: Sequence[Candidate]
) -> tuple[RankedSlot, ...]:
    """The facts that hold the answers, in the order of these."""
    values: dict[str, RankedSlot] = {}
    for item in facts:
        values.setdefault(item.slot.value, item)
    return tuple(values[one.text] for one in candidates)


def _subject_named(
    question: str, facts: Sequence[RankedSlot], candidates: Sequence[Candidate]
) -> bool:
    """Whether the question names the subject of the facts that answer, and asks for no order."""
    asked = f" {normalise(question)} "
    subjects = {item.slot.title for item in facts if item.slot.value == candidates[0].text}
    named = any(f" {normalise(subject)} " in asked for subject in subjects)
    return named and not asks_for_order(question)


def _told_weights(trace: HopTrace, ranked: Iterable[RankedSlot]) -> dict[int, float]:
    """For each told slot the most that a hop attended to it."""
    told = {item.slot.id for item in ranked if item.slot.valid_from is not None}
    weights: dict[int, float] = {}
    for step in trace.steps:
        for slot, weight in zip(step.ids, step.weights.tolist(), strict=True):
            if slot in told:
                weights[slot] = max(weight, weights.get(slot, 0.0))
    return weights
