"""Answers of the experts that a gate chooses: a sparse mixture (Shazeer et al. 2017)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from memnet.documents.answers import TextAnswers
from memnet.documents.question import Question
from memnet.errors import ModelError
from memnet.experts import EXPERTS, ExpertName
from memnet.experts.contradictions import MessageContradictions
from memnet.experts.features import Known, features_of
from memnet.experts.gate import Gate
from memnet.experts.joined import answer_by_both
from memnet.experts.owned import OwnedModels
from memnet.experts.vectors import RecentVectors
from memnet.protocols import Answerer
from memnet.reader.answers import Prediction
from memnet.storage import MemoryStore, Scope
from memnet.types import Answer, Evidence, ExpertWeight, SourceKind

MIN_WEIGHT = 0.1
"""Of the second expert, for it to be run: below, it would win only against an abstention."""
_SURE = 0.8
"""Confidence of statements from which they answer what the experts that were chosen do not."""
_RELEVANT = 0.5
"""Relevance of each statement that they quote for it. What somebody said of himself in a chat is
little of the chat: read alone, something in it is soon taken for the answer."""
_QUICK = (
    "some passages have quick vectors until full ones are made, and may be missed; "
    "if no 'memnet ingest' or server is at it, run 'memnet ingest' again"
)
_TOLD = frozenset[SourceKind](("statement",))
_KIND_OF: dict[ExpertName, SourceKind] = {
    "documents": "document", "facts": "facts", "statements": "statement", "stories": "story",
}  # fmt: skip
_NOT_STORIES = frozenset[SourceKind](("document", "facts", "statement"))


class Stories(Protocol):
    """The expert for stories, loaded at its first question."""

    def words(self) -> frozenset[str]:
        """That its model knows."""
        ...

    def load(self) -> Answerer:
        """The answerer."""
        ...


class Routed(NamedTuple):
    """How a gate weighs the experts for a question."""

    weights: dict[ExpertName, float]
    """Of the experts that it chose, the best first."""
    held: tuple[ExpertName, ...]
    """Those that the memory has something for."""


class ExpertAnswers:
    """Answers from all that a store holds, each question by the experts that a gate chooses.

    - documents: passages; facts where the store has no fact model; statements beside them.
    - facts: a fact model that belongs to the store.
    - statements: what was told.
    - stories: what was ingested as stories, which no other expert reads.

    An expert is masked where the store holds nothing for it. The second best is run too where it
    has a weight of at least ``MIN_WEIGHT``; the answer with the larger product of weight and
    confidence wins. With one expert no gate is asked. Where none of them has an answer, or one that
    quotes a message in which it holds no longer, the expert for statements may have another.
    """

    def __init__(
        self,
        store: MemoryStore,
        vectors: RecentVectors,
        gate: Callable[[], Gate],
        documents: TextAnswers,
        statements: Answerer,
        owned: OwnedModels,
        load_facts: Callable[[], Answerer],
        stories: Stories,
        contradictions: MessageContradictions | None = None,
    ) -> None:
        """Join the experts.

        Args:
            store: the memory.
            vectors: its encoder, which ``documents`` has as well.
            gate: loads the gate.
            documents: the expert for documents.
            statements: the expert for what was told.
            owned: the models that belong to the store.
            load_facts: loads the expert for facts; ModelError if it can't be.
            stories: the expert for stories.
            contradictions: finds those between messages; None for none.
        """
        self._store = store
        self._contradictions = contradictions
        self._vectors = vectors
        self._gate = gate
        self._documents = documents
        self._statements = statements
        self._owned = owned
        self._load_facts = load_facts
        self._facts: Answerer | None = None
        self._stories = stories

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        started = time.perf_counter()
        with self._store.reading():
            joined = answer_by_both(
                question, top_k, scope, self._store, self._vectors,
                lambda part: self._ask_facts(part, hops, top_k, scope),
            )  # fmt: skip
            answers = [joined] if joined else self._ask_chosen(question, hops, top_k, scope)
            best = max(answers, key=lambda one: one.experts[0].weight * one.experts[0].confidence)
            if self._contradictions is not None and best.experts[0].name == "documents":
                own = _of_kinds(scope, frozenset(("document",)))
                best = self._contradictions.told_by(best, question, top_k, own)
            notes = [one.note for one in self._owned.current().values() if one.note]
            if self._store.quick.any():
                notes.append(_QUICK)
        others = [one.experts[0] for one in answers if one.experts[0] != best.experts[0]]
        return best.model_copy(
            update={
                "question": question,
                "experts": (*best.experts, *others),
                "notes": tuple(notes),
                "elapsed_ms": (time.perf_counter() - started) * 1000,
            }
        )

    def search(
        self, query: str, hops: int | None, top_k: int, scope: Scope
    ) -> tuple[Evidence, ...]:
        """What the hops over everything find; arguments as for ``Engine.search``."""
        return self._documents.search(query, hops, top_k, scope)

    def predict(self, question: str) -> Prediction:
        """Possible answers of the expert for documents, to learn confidence from."""
        return self._documents.predict(question)

    def route(self, question: str, scope: Scope) -> Routed:
        """The experts for a question, without asking them."""
        with self._store.reading():
            held = self._held(scope)
            if len(held) == 1:
                return Routed({held[0]: 1.0}, held)
            background = self._vectors.releases_gil
            asked = Question(question, self._store, self._vectors.encode, scope, background)
            gate = self._gate()
            known = Known(self._known_relations(), self._known_words(held))
            vector = asked.vector if gate.encoder == self._vectors.fingerprint else None
            weights = gate.weigh(features_of(asked, known), vector, held)
        by_weight = sorted(zip(EXPERTS, weights.tolist(), strict=True), key=lambda one: -one[1])
        chosen: dict[ExpertName, float] = {name: weight for name, weight in by_weight if weight}
        return Routed(chosen, held)

    def _ask_chosen(
        self, question: str, hops: int | None, top_k: int, scope: Scope
    ) -> list[Answer]:
        """The answers of the one or two experts that the gate chooses, each with its weight."""
        routed = self._loadable(question, scope)
        first = next(iter(routed.weights))
        answers: list[Answer] = []
        for name, weight in routed.weights.items():
            if name != first and weight < MIN_WEIGHT:
                continue
            answerer, own_scope = self._expert(name, scope, routed.held)
            answer = answerer.ask(question, hops, top_k, own_scope)
            answers.append(_weighted(answer, name, weight))
        return self._with_learned(answers, question, hops, top_k, scope)

    def _with_learned(
        self, answers: list[Answer], question: str, hops: int | None, top_k: int, scope: Scope
    ) -> list[Answer]:
        """The answers, or that of the statements where these have none, or one that is outdated.

        Of a chat the gate sees messages above all, not what was learned from them.
        """
        statements = self._store.statements
        if "statements" in {one.experts[0].name for one in answers}:
            return answers
        outdated = {index for index, one in enumerate(answers) if self._is_outdated(one, scope)}
        wanted = outdated or all(one.abstained for one in answers)
        if not wanted or not statements.last(scope.namespace, 1):
            return answers
        own = replace(_of_kinds(scope, _TOLD), learned=True)
        answer = self._statements.ask(question, hops, top_k, own)
        relevance = min((quote.weight for quote in answer.quotes), default=0.0)
        if confidence_of(answer) < _SURE or relevance < _RELEVANT:
            return answers
        # The passages that were found are still evidence, after what is quoted.
        quoted = {quote.evidence for quote in answer.quotes}
        own_first = sorted(answer.evidence, key=lambda one: one.id not in quoted)
        passages = [one for other in answers for one in other.evidence]
        ranked = [*own_first[: len(quoted)], *passages, *own_first[len(quoted) :]]
        evidence = tuple({one.id: one for one in ranked}.values())[:top_k]
        answer = answer.model_copy(update={"evidence": evidence})
        kept = [_unweighted(one) if index in outdated else one for index, one in enumerate(answers)]
        return [*kept, _weighted(answer, "statements", MIN_WEIGHT)]

    def _is_outdated(self, answer: Answer, scope: Scope) -> bool:
        """Whether an answer quotes a message where it says what holds no longer."""
        quotes = answer.quotes
        learned = self._store.statements.learned_from(
            {quote.source for quote in quotes}, scope.namespace
        )
        return any(
            one.source == quote.source and one.start < quote.end and quote.start < one.end
            for one in self._store.statements.told(learned)
            if one.valid_until is not None and one.valid_until <= scope.moment()
            for quote in quotes
        )

    def _loadable(self, question: str, scope: Scope) -> Routed:
        """As ``route``, with experts that can be loaded: a damaged model is masked."""
        routed = self.route(question, scope)
        if "facts" in routed.weights and self._fact_answerer() is None:
            routed = self.route(question, scope)
        return routed

    def _held(self, scope: Scope) -> tuple[ExpertName, ...]:
        """The experts that the memory has something for; documents where it has nothing."""
        kinds = self._store.contents.kinds(scope.namespace)
        held = {name for name, kind in _KIND_OF.items() if kind in kinds}
        if "facts" in held and not self._has_fact_model():
            held = (held - {"facts"}) | {"documents"}
        found: tuple[ExpertName, ...] = tuple(name for name in EXPERTS if name in held)
        return found or ("documents",)

    def _has_fact_model(self) -> bool:
        model = self._owned.current().get("facts")
        return model is not None and model.used

    def _known_relations(self) -> frozenset[str]:
        model = self._owned.current().get("facts")
        return model.relations if model is not None and model.used else frozenset()

    def _known_words(self, held: Sequence[ExpertName]) -> frozenset[str]:
        return self._stories.words() if "stories" in held else frozenset()

    def _expert(
        self, name: ExpertName, scope: Scope, held: Sequence[ExpertName]
    ) -> tuple[Answerer, Scope]:
        """An expert, and the part of a scope that it reads: all of it where it is alone."""
        if name == "documents":
            return self._documents, _of_kinds(scope, _NOT_STORIES) if "stories" in held else scope
        own = scope if len(held) == 1 else _of_kinds(scope, frozenset((_KIND_OF[name],)))
        if name == "statements":
            return self._statements, replace(own, learned=True)
        if name == "stories":
            return self._stories.load(), own
        facts = self._fact_answerer()
        return (self._documents, scope) if facts is None else (facts, scope)

    def _fact_answerer(self) -> Answerer | None:
        """The fact model of the store; None if there is none that can be used."""
        if self._facts is None and self._has_fact_model():
            try:
                self._facts = self._load_facts()
            except ModelError as error:
                self._owned.fail("facts", error)
        return self._facts if self._has_fact_model() else None

    def _ask_facts(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """The answer of the facts alone, by their model if there is one."""
        facts = self._fact_answerer()
        if facts is not None:
            answer = facts.ask(question, hops, top_k, scope)
            if not answer.abstained:
                return answer
        return self._documents.ask(question, hops, top_k, _of_kinds(scope, frozenset(("facts",))))


def _weighted(answer: Answer, name: ExpertName, weight: float) -> Answer:
    """An answer with the expert that gave it."""
    expert = ExpertWeight(name=name, weight=weight, confidence=confidence_of(answer))
    return answer.model_copy(update={"experts": (expert,)})


def _unweighted(answer: Answer) -> Answer:
    """An answer that wins against none."""
    first, *others = answer.experts
    return answer.model_copy(
        update={"experts": (first.model_copy(update={"weight": 0.0}), *others)}
    )


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


def _of_kinds(scope: Scope, kinds: frozenset[SourceKind]) -> Scope:
    return replace(scope, kinds=kinds)
