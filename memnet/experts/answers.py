"""Answers of the experts that a gate chooses: a sparse mixture (Shazeer et al. 2017)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memnet.documents.answers import TextAnswers
from memnet.documents.question import Question, RecentVectors
from memnet.errors import ModelError
from memnet.experts.contradictions import MessageContradictions
from memnet.experts.gate import EXPERTS, KINDS, ExpertName, Gate, ModelVocabulary, features_of
from memnet.experts.joined import answer_by_both
from memnet.experts.stored import OwnedModel, OwnedModels
from memnet.protocols import Answerer
from memnet.reader.answers import Prediction, asks_whether
from memnet.storage import MemoryStore, Scope
from memnet.types import Answer, Evidence, ExpertWeight, SourceKind

# Min. weight of the second expert to be run: below, it would win only against an abstention.
MIN_WEIGHT = 0.1
# Confidence of statements from which they answer what the experts that were chosen do not.
_SURE = 0.8
# Relevance of each statement that they quote for it. What somebody said of himself in a chat is
# little of the chat: read alone, something in it is soon taken for the answer.
_RELEVANT = 0.75
_QUICK = (
    "some passages have quick vectors until full ones are made, and may be missed; "
    "'memnet serve' makes them in the background, or 'memnet ingest --finish'"
)
_KIND_OF = dict(zip(EXPERTS, KINDS, strict=True))


class Routed(NamedTuple):
    """How a gate weighs the experts for a question."""

    weights: dict[ExpertName, float]  # Of the experts that it chose, the best first
    held: tuple[ExpertName, ...]  # Those that the memory has something for


class Given(NamedTuple):
    """An answer, and how much the expert that gave it counts."""

    answer: Answer
    expert: ExpertWeight

    @property
    def probability(self) -> float:
        """Its confidence times the weight of the expert, 0..1."""
        return self.expert.weight * self.expert.confidence


@dataclass
class ExpertAnswers:
    """Answers from all that a store holds, each question by the experts that a gate chooses.

    - documents: passages; facts where the store has no fact model; statements beside them.
    - facts: a fact model that belongs to the store.
    - statements: what was told.
    - stories: what was ingested as stories, which no other expert reads.

    An expert is masked where the store holds nothing for it. The second best is run too where it
    has a weight of at least ``MIN_WEIGHT``; the answer with the larger product of weight and
    confidence wins. With one expert no gate is asked. Where none of them has an answer, or one that
    quotes a message in which it holds no longer, the expert for statements may have another; where
    that one alone was chosen, documents and facts may.
    """

    store: MemoryStore
    vectors: RecentVectors  # Its encoder, which ``documents`` has as well
    gate: Callable[[], Gate]
    documents: TextAnswers
    statements: Answerer  # Answers from what was told
    owned: OwnedModels  # The models that belong to the store
    load_facts: Callable[[], Answerer]  # Loaded once; ModelError if it can't be
    load_stories: Callable[[], Answerer]
    story_words: Callable[[], frozenset[str]]  # That the model of stories knows
    contradictions: MessageContradictions | None = None

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        started = time.perf_counter()
        with self.store.reading():
            asked = self.documents.question(question, scope)
            given = self._by_both(asked, hops, top_k) or self._by_chosen(asked, hops, top_k)
            best = max(given, key=lambda one: one.probability)
            answer = self._with_contradiction(best, asked, top_k)
            notes = [one.note for one in self.owned.current().values() if one.note]
            if self.store.quick.any():
                notes.append(_QUICK)
        own = best.answer.experts or (best.expert,)
        return answer.model_copy(
            update={
                "question": question,
                "experts": (*own, *(one.expert for one in given if one.expert != best.expert)),
                "notes": tuple(notes),
                "elapsed_ms": (time.perf_counter() - started) * 1000,
            }
        )

    def search(
        self, query: str, hops: int | None, top_k: int, scope: Scope
    ) -> tuple[Evidence, ...]:
        """What the hops over everything find; arguments as for ``Engine.search``."""
        return self.documents.search(query, hops, top_k, scope)

    def predict(self, question: str) -> Prediction:
        """Possible answers of the expert for documents, to learn confidence from."""
        return self.documents.predict(question)

    def route(self, question: str, scope: Scope) -> Routed:
        """The experts for a question, without asking them."""
        with self.store.reading():
            return self._route(self.documents.question(question, scope))

    def _route(self, question: Question) -> Routed:
        held = self._held(question.scope)
        if len(held) == 1:
            return Routed({held[0]: 1.0}, held)
        gate = self.gate()
        model = self._fact_model()
        known = ModelVocabulary(
            frozenset() if model is None else model.relations,
            self.story_words() if "stories" in held else frozenset(),
        )
        vector = None
        if gate.encoder == self.store.fingerprint:
            [vector] = self.vectors.encode([question.sought])  # as the gate has learned from them
        weights = gate.weigh(features_of(question, known), vector, held)
        by_weight = sorted(zip(EXPERTS, weights.tolist(), strict=True), key=lambda one: -one[1])
        return Routed({name: weight for name, weight in by_weight if weight}, held)

    def _by_both(self, question: Question, hops: int | None, top_k: int) -> list[Given]:
        """The answer to a question that needs facts and documents; none where it does not."""
        kinds = self.store.contents.kinds(question.scope.namespace)
        if " of " not in question.text.lower() or not {"document", "facts"} <= kinds:
            return []  # "Which of the ships ..." asks for both
        answer = answer_by_both(
            question.text, top_k, question.scope, self.store, self.vectors,
            lambda part: self._ask_facts(part, hops, top_k, question.scope),
        )  # fmt: skip
        return [] if answer is None else [Given(answer, answer.experts[0])]

    def _by_chosen(self, question: Question, hops: int | None, top_k: int) -> list[Given]:
        """The answers of the one or two experts that the gate chooses."""
        routed = self._route(question)
        if "facts" in routed.weights and self._fact_answerer() is None:
            routed = self._route(question)  # a model that can't be loaded is masked now
        first = next(iter(routed.weights))
        given = [
            _given(self._answer_of(name, question, hops, top_k, routed.held), name, weight)
            for name, weight in routed.weights.items()
            if name == first or weight >= MIN_WEIGHT
        ]
        abstained = [one.expert.name for one in given if one.answer.abstained]
        if abstained == ["statements"] and len(given) == 1 and "documents" in routed.held:
            own = question.within(_of_kinds(question.scope, "document", "facts"))
            given.append(_given(self.documents.answer(own, hops, top_k), "documents", MIN_WEIGHT))
        may_hold = "statements" in routed.held or question.has_messages
        if may_hold and "statements" not in {one.expert.name for one in given}:
            return self._with_learned(given, question, hops, top_k)
        return given

    def _with_learned(
        self, given: list[Given], question: Question, hops: int | None, top_k: int
    ) -> list[Given]:
        """The answers, or that of the statements where these have none, or one that is outdated.

        Of a chat the gate sees messages above all, not what was learned from them.
        """
        scope = question.scope
        outdated = {index for index, one in enumerate(given) if self._is_outdated(one, scope)}
        wanted = outdated or all(one.answer.abstained for one in given)
        if not wanted or not self.store.statements.last(scope.namespace, 1):
            return given
        own = replace(_of_kinds(scope, "statement"), learned=True)
        answer = self.statements.ask(question.text, hops, top_k, own)
        relevance = min((quote.weight for quote in answer.quotes), default=0.0)
        if confidence_of(answer) < _SURE or relevance < _RELEVANT:
            return given
        # The passages that were found are still evidence, after what is quoted.
        quoted = {quote.evidence for quote in answer.quotes}
        own_first = sorted(answer.evidence, key=lambda one: one.id not in quoted)
        passages = [one for other in given for one in other.answer.evidence]
        ranked = [*own_first[: len(quoted)], *passages, *own_first[len(quoted) :]]
        evidence = tuple({one.id: one for one in ranked}.values())[:top_k]
        answer = answer.model_copy(update={"evidence": evidence})
        kept = [
            # An outdated answer wins against none.
            one._replace(expert=one.expert.model_copy(update={"weight": 0.0}))
            if index in outdated
            else one
            for index, one in enumerate(given)
        ]
        return [*kept, _given(answer, "statements", MIN_WEIGHT)]

    def _with_contradiction(self, best: Given, question: Question, top_k: int) -> Answer:
        """An answer of documents, which tells two messages that contradict each other on it."""
        looked_for = best.expert.name == "documents" and asks_whether(question.text)
        if self.contradictions is None or not looked_for:
            return best.answer
        own = question.within(_of_kinds(question.scope, "document"))
        return self.contradictions.annotate(best.answer, own, top_k)

    def _is_outdated(self, given: Given, scope: Scope) -> bool:
        """Whether an answer quotes a message where it says what holds no longer."""
        quotes = given.answer.quotes
        learned = self.store.statements.learned_from(
            {quote.source for quote in quotes}, scope.namespace
        )
        if not learned:
            return False
        return any(
            one.source == quote.source and one.start < quote.end and quote.start < one.end
            for one in self.store.statements.told(learned)
            if one.has_ended(scope.moment())
            for quote in quotes
        )

    def _held(self, scope: Scope) -> tuple[ExpertName, ...]:
        """The experts that the memory has something for; documents where it has nothing."""
        kinds = self.store.contents.kinds(scope.namespace)
        held = {name for name, kind in _KIND_OF.items() if kind in kinds}
        if "facts" in held and self._fact_model() is None:
            held = (held - {"facts"}) | {"documents"}
        return tuple(name for name in EXPERTS if name in held) or ("documents",)

    def _fact_model(self) -> OwnedModel | None:
        model = self.owned.current().get("facts")
        return model if model is not None and model.used else None

    def _answer_of(
        self,
        name: ExpertName,
        question: Question,
        hops: int | None,
        top_k: int,
        held: Sequence[ExpertName],
    ) -> Answer:
        """The answer of an expert, which reads its part of the scope, or all of it if alone."""
        text, scope = question.text, question.scope
        own = scope if len(held) == 1 else _of_kinds(scope, _KIND_OF[name])
        if name == "statements":
            return self.statements.ask(text, hops, top_k, replace(own, learned=True))
        if name == "stories":
            return self.load_stories().ask(text, hops, top_k, own)
        facts = self._fact_answerer() if name == "facts" else None
        if facts is not None:
            return facts.ask(text, hops, top_k, own)
        if name == "documents" and "stories" in held:
            question = question.within(_of_kinds(scope, "document", "facts", "statement"))
        return self.documents.answer(question, hops, top_k)

    def _fact_answerer(self) -> Answerer | None:
        """The fact model of the store; None if there is none that can be used."""
        if self._fact_model() is not None:
            try:
                return self.load_facts()
            except ModelError as error:
                self.owned.fail("facts", error)
        return None

    def _ask_facts(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """The answer of the facts alone, by their model if there is one."""
        facts = self._fact_answerer()
        if facts is not None:
            answer = facts.ask(question, hops, top_k, scope)
            if not answer.abstained:
                return answer
        return self.documents.ask(question, hops, top_k, _of_kinds(scope, "facts"))


def _given(answer: Answer, name: ExpertName, weight: float) -> Given:
    return Given(answer, ExpertWeight(name=name, weight=weight, confidence=confidence_of(answer)))


def confidence_of(answer: Answer) -> float:
    """By which answers of experts compete, 0..1.

    A calibrated confidence where there is one, else what the model gives its best candidate.
    """
    if answer.abstained:
        return 0.0
    if answer.confidence is not None:
        return answer.confidence
    best = answer.candidates[0].score if answer.candidates else 0.0
    return min(1.0, max(0.0, best))


def _of_kinds(scope: Scope, *kinds: SourceKind) -> Scope:
    return replace(scope, kinds=frozenset(kinds))
