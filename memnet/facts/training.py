"""The facts preset: learns to follow one's own facts from questions with their answers."""

import hashlib
import math
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor, nn

from memnet.attention import TransformerEncoder
from memnet.attention.arrays import fit_logistic, log_odds
from memnet.attention.layers import HopLayer
from memnet.checkpoints import MODEL, save_checkpoint
from memnet.encoders.protocol import TokenEncoder, TokenStates, token_encoder
from memnet.errors import InputError
from memnet.facts.hops import (
    MAX_DISTANCE,
    Entities,
    FactController,
    FactModelConfig,
    Facts,
    MentionBatch,
    Outgoing,
    RelationKeys,
    expand_ranges,
)
from memnet.facts.model import (
    KIND,
    LEAST,
    PREFIX,
    AnswerRule,
    Chain,
    FactBatch,
    FactModel,
    FactScores,
    LinkedQuestion,
    asked_stems,
    fact_batch,
    grouped_softmax,
    link,
)
from memnet.learning import OnProgress, TrainableMemory, counted, no_progress
from memnet.learning.evaluation import Question
from memnet.learning.loop import (
    EpochReport,
    Training,
    TrainingConfig,
    arrays_of,
    seeded,
    using_threads,
)
from memnet.storage import MemoryStore
from memnet.text.names import symbol


class FactLearner(nn.Module):
    """The weights of a ``FactController`` as a module of torch."""

    def __init__(self, config: FactModelConfig, encoded: int, relations: int) -> None:
        width = config.width
        super().__init__()
        # Checkpoints name tensors by these attributes; ``places`` are position embeddings.
        self.input = nn.Linear(encoded, width)
        self.roles = nn.Embedding(3, width)
        self.places = nn.Embedding(2 * MAX_DISTANCE + 1, width)
        self.encoder = TransformerEncoder(1, width, config.heads, config.inner)
        self.hop = HopLayer(width, config.heads, config.inner)
        self.steps = nn.Parameter(torch.randn(config.hops, width) * 0.1)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(encoded, width)
        self.learned = nn.Embedding(relations + 1, width, padding_idx=0)
        self.likeness = nn.Parameter(torch.tensor(10.0))
        self.read = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.halt, self.back, self.weigh = (nn.Linear(width, 1) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.roles, self.places):
            nn.init.normal_(table.weight, std=0.1)
        nn.init.zeros_(self.learned.weight)

    def without_some(self, learned: Tensor) -> Tensor:
        """Embeddings [R, D] without those of relations that are drawn at random."""
        return learned * (torch.rand(len(learned), 1) >= self.dropout.p)


def new_fact_model(
    config: FactModelConfig, encoded: int, relations: Sequence[str],
    common_names: frozenset[str] = frozenset(), unused_names: frozenset[str] = frozenset(),
) -> FactModel:  # fmt: skip
    """A model with untrained weights; ``encoded`` is the width of an encoded token."""
    learner = FactLearner(config, encoded, len(relations))
    controller = FactController(dict(learner.named_parameters()), config, learner)
    return FactModel(config, controller, tuple(relations), common_names, unused_names)


def as_tensors(batch: FactBatch) -> FactBatch:
    """A batch of arrays as tensors."""
    mentions, start = (map(torch.from_numpy, part) for part in batch[:2])
    question = torch.from_numpy(batch.question)
    return FactBatch(MentionBatch(*mentions), Entities(*start), question)


def save_fact_model(
    folder: Path, model: FactModel, rule: AnswerRule, notes: Mapping[str, Any]
) -> None:
    """Save a fact model with JSON values about its training; ModelError if that can't be."""
    learner: FactLearner = model.controller.learner
    description = {
        "kind": KIND,
        "config": model.config.model_dump(),
        "encoded": learner.input.in_features,
        "relations": model.relations,
        "common_names": sorted(model.common_names),
        "unused_names": sorted(model.unused_names),
        "rule": {**rule._asdict(), "words": sorted(rule.words)},
        "trained": dict(notes),
    }
    arrays = arrays_of(learner.state_dict())
    save_checkpoint(
        folder, MODEL, {f"{PREFIX}{name}": one for name, one in arrays.items()}, description
    )


_ENCODE_BATCH = 4096  # Texts that are encoded between two reports of progress
_COMMON_SHARE = 0.002
# A name is common when this share of the training questions and this many of them hold it.
_COMMON_COUNT = 5


class ArrayGraph:
    """A graph of facts in arrays; entities and relations count from 0."""

    def __init__(self, symbols: Tensor, facts: Tensor, keys: RelationKeys) -> None:
        """Index facts [M, 3] int64 entity, relation, entity; sorted, distinct.

        ``symbols`` [N] int64, rising, are those of the entities in the store; ``keys`` of all
        relations.
        """
        self.symbols = symbols
        self._object = facts[:, 2].contiguous()
        pairs, self._count = torch.unique_consecutive(facts[:, :2], dim=0, return_counts=True)
        self._first = torch.cumsum(self._count, 0) - self._count
        self._relation = pairs[:, 1].contiguous()
        self._relations = len(keys.numbers)
        self._pair = pairs[:, 0] * self._relations + pairs[:, 1]
        bounds = torch.arange(len(symbols) + 1) * self._relations
        self._bounds = torch.searchsorted(self._pair, bounds)
        self._keys = keys

    @classmethod
    def of_store(cls, store: MemoryStore) -> tuple[Self, tuple[str, ...]]:
        """The facts of a store, and the names of the relations numbered 1, 2, ... in their keys."""
        links = torch.from_numpy(store.facts.all())
        symbols, entities = torch.unique(links[:, [0, 2]], return_inverse=True)
        relation_ids, relations = torch.unique(links[:, 1], return_inverse=True)
        # Sorted as the links are, for ids are numbered in their order.
        facts = torch.stack([entities[:, 0], relations, entities[:, 1]], dim=1)
        names, vectors = store.facts.relation_keys(relation_ids.tolist())
        keys = RelationKeys(torch.from_numpy(vectors), torch.arange(1, len(names) + 1))
        return cls(symbols, facts, keys), tuple(names)

    def entities(self, symbols: Iterable[int]) -> list[int]:
        """The entities of symbols of the store; symbols without facts are left out."""
        wanted = torch.tensor(list(symbols), dtype=torch.int64)
        index = torch.searchsorted(self.symbols, wanted).clamp(max=len(self.symbols) - 1)
        found: list[int] = index[self.symbols[index] == wanted].tolist()
        return found

    def outgoing(self, entities: Tensor) -> Outgoing:
        """See ``FactGraph.outgoing``."""
        entity, pair = expand_ranges(self._bounds[entities], self._bounds[entities + 1])
        relations, relation = torch.unique(self._relation[pair], return_inverse=True)
        keys = RelationKeys(*(part[relations] for part in self._keys))
        return Outgoing(entity, relation, self._count[pair], relations, keys)

    def facts(self, entities: Tensor, relations: Tensor) -> Facts:
        """See ``FactGraph.facts``."""
        pair = torch.searchsorted(self._pair, entities * self._relations + relations)
        first = self._first[pair]
        group, index = expand_ranges(first, first + self._count[pair])
        return Facts(group, self._object[index], torch.zeros_like(group))


class FactExample(NamedTuple):
    """A question as it is trained on."""

    chains: list[Chain]
    answers: list[int]  # Entities; right answers that are not in the facts are left out.
    question: Question


def common_names(linked: Sequence[LinkedQuestion]) -> frozenset[str]:
    """The names that many of the training questions hold."""
    counts = Counter(
        name for question in linked for mention in question.mentions for name in mention.names
    )
    minimum = max(_COMMON_COUNT, _COMMON_SHARE * len(linked))
    return frozenset(name for name, count in counts.items() if count >= minimum)


def encode_texts(
    encoder: TokenEncoder, examples: Iterable[FactExample], on_progress: OnProgress
) -> dict[str, TokenStates]:
    """The tokens of each text of a chain, in float16: all are in memory at once."""
    texts = list(dict.fromkeys(chain.text for example in examples for chain in example.chains))
    starts = range(0, len(texts), _ENCODE_BATCH)
    batches = [texts[start : start + _ENCODE_BATCH] for start in starts]
    return {
        text: TokenStates(state.states.astype("float16"), state.mentions)
        for batch in counted(batches, "encoding questions", on_progress)
        for text, state in zip(batch, encoder.encode_tokens(batch), strict=True)
    }


_BATCH_SIZE = 64
# Facts that a hop follows in one chain while training; an untrained controller follows all.
_BUDGET = 4000
# Weight in the loss of an answer that no hop reaches: it keeps logarithms finite.
_MIN_WEIGHT = 1e-3
_UNUSED_SHARE = 0.02  # A common name whose importance in no dev question is as large is unused
_UPDATES = 3000
# The number of epochs is what makes ``_UPDATES``, within these bounds.
_MIN_EPOCHS, _MAX_EPOCHS = 6, 40
_WARM_UP = 100
_MIN_FITTED = 10  # Dev questions from which confidence is fitted
_THRESHOLDS = tuple(step / 20 for step in range(1, 20))


class FactReport(NamedTuple):
    """What came of a training."""

    questions: int
    """Training questions."""
    no_name: int
    """Training questions that name nothing in the facts: nothing is learned from them."""
    no_answer: int
    """Others none of whose answers is in the facts: nothing is learned from them either."""
    hits_at_1: float = 0.0
    """Share of dev questions whose best answer is right, 0..1."""
    f1: float = 0.0
    """Mean F1 of the sets of answers to dev questions, 0..1."""
    hop_accuracy: float | None = None
    """Share of dev questions answered after as many hops as their file says; None if none says."""


def train_facts(
    memory: TrainableMemory,
    train: Sequence[Question],
    dev: Sequence[Question],
    out: str | os.PathLike[str] | None = None,
    *,
    seed: int = 0,
    epochs: int | None = None,
    on_epoch: Callable[[EpochReport], None] = lambda _: None,
    on_progress: OnProgress = no_progress,
) -> FactReport:
    """Train a controller to hop over the facts of a memory, and save the best in ``out``.

    Only questions and answers are learned from; which facts lead from the one to the other, the
    controller has to find.

    Args:
        memory: with the facts.
        train: questions with their answers.
        dev: others, to choose the best weights by.
        out: folder of the model, to be given to ``Engine.open``; a run that was stopped is
            resumed from it. None for the store's own folder: the model then belongs to the store.
        seed: of all that is random.
        epochs: passes over the questions; None chooses by how many there are.
        on_epoch: called after each epoch.
        on_progress: called after each question that is made ready, and after each batch.

    Raises:
        InputError: the store holds no facts, or no question can be learned from.
        ModelError: ``out`` can't be written, or holds another unfinished run.
    """
    folder = memory.store.models.new_folder(KIND) if out is None else Path(out)
    if not memory.store.counts().facts:
        raise InputError("the store holds no facts; ingest a fact table first")
    task = FactTask(memory, train, dev, seed, on_progress)
    config = TrainingConfig(epochs=epochs or task.epochs(), warm_up=_WARM_UP, seed=seed)
    digest = _digest([*train, *dev], task.model.relations)
    identity = {"preset": "facts", "data": digest, "torch": torch.__version__}

    def save(report: EpochReport) -> None:
        task.best = task.latest
        notes = {
            **identity,
            "encoder": memory.encoder.fingerprint,
            "date": date.today().isoformat(),
            "training": config.model_dump(),
            "epoch": report.epoch,
        }
        save_fact_model(folder, task.model, task.rule, {**notes, **task.best._asdict()})

    with using_threads(memory.config.threads or None):
        Training(task.model.controller.learner, task, config, folder, save, identity).run(
            on_epoch, on_progress
        )
    if out is None:
        memory.store.models.share_rights(KIND)
    return task.best


class FactTask:
    """Questions over facts, as the training loop sees them."""

    def __init__(
        self, memory: TrainableMemory, train: Sequence[Question], dev: Sequence[Question],
        seed: int, on_progress: OnProgress,
    ) -> None:  # fmt: skip
        store, encoder = memory.store, memory.encoder
        self._seed = seed
        self._graph, relations = ArrayGraph.of_store(store)
        linked = [
            link(question.question, store.facts.subjects)
            for question in counted(train, "linking questions", on_progress)
        ]
        with seeded(seed):
            self.model = new_fact_model(
                FactModelConfig(), encoder.dimension, relations, common_names(linked)
            )
        linked += [link(question.question, store.facts.subjects) for question in dev]
        examples = [
            self._example(question, names, store)
            for question, names in zip([*train, *dev], linked, strict=True)
        ]
        all_train, self._dev = examples[: len(train)], examples[len(train) :]
        self._train = [example for example in all_train if example.chains and example.answers]
        if not self._train:
            raise InputError(
                f"none of the {len(train)} training questions names something in the facts of "
                "the store and has an answer there; ingest the facts first"
            )
        self._encoded = encode_texts(
            token_encoder(encoder), [*self._train, *self._dev], on_progress
        )
        self._words = frozenset(one for names in linked[: len(train)] for one in asked_stems(names))
        self.rule = AnswerRule(0.5, 1.0, 0.0, self._words)
        no_name = sum(not example.chains for example in all_train)
        # Report of the last epoch.
        self.latest = FactReport(len(train), no_name, len(train) - no_name - len(self._train))
        self.best = self.latest  # Report of the saved weights

    def epochs(self) -> int:
        """How many epochs make a good number of updates."""
        batches = math.ceil(len(self._train) / _BATCH_SIZE)
        return min(_MAX_EPOCHS, max(_MIN_EPOCHS, round(_UPDATES / batches)))

    def batches(self, epoch: int) -> Iterator[list[FactExample]]:
        """All questions in a random order."""
        order = list(self._train)
        random.Random(f"{self._seed}/{epoch}").shuffle(order)
        return (order[start : start + _BATCH_SIZE] for start in range(0, len(order), _BATCH_SIZE))

    def loss(self, examples: list[FactExample], _: float) -> Tensor:
        """Cross-entropy of what the hops reach and an equal share for each right answer."""
        batch = self._batch(examples)
        scores = self.model.score(batch, self._graph, _BUDGET)[0]
        return _cross_entropy(scores, [example.answers for example in examples])

    @torch.no_grad()
    def valid_errors(self) -> dict[str, float]:
        """The share of dev questions whose best answer is wrong.

        Also fits the rule of answers and the unused names, and sets the latest report.
        """
        best: list[tuple[float, bool]] = []  # Largest weight, and whether it is of a right answer
        right_hops: list[bool] = []
        largest: dict[str, float] = {}  # Largest importance of each name
        f1 = torch.zeros(len(_THRESHOLDS))
        linked = [example for example in self._dev if example.chains]
        for start in range(0, len(linked), _BATCH_SIZE):
            examples = linked[start : start + _BATCH_SIZE]
            batch = self._batch(examples)
            scores, trace = self.model.score(batch, self._graph, _BUDGET)
            importance = grouped_softmax(trace.importance, batch.question)
            names = [chain.name for example in examples for chain in example.chains]
            for name, share in zip(names, importance.tolist(), strict=True):
                largest[name] = max(largest.get(name, 0.0), share)
            for row, example in enumerate(examples):
                found = scores.question == row
                entities, weights = scores.entity[found], scores.weight[found]
                if len(weights):
                    is_right = int(entities[weights.argmax()]) in example.answers
                    best.append((float(weights.max()), is_right))
                    answers = torch.tensor(example.answers, dtype=torch.int64)
                    f1 += _f1(entities, weights, answers, len(set(example.question.answers)))
                if example.question.hops is not None:
                    others = batch.question != row
                    main = int(trace.importance.masked_fill(others, -math.inf).argmax())
                    hops = int(trace.halting[main].argmax()) + 1
                    right_hops.append(hops == example.question.hops)
        self.rule = AnswerRule(_THRESHOLDS[int(f1.argmax())], *_platt(best), self._words)
        self.model.unused_names = frozenset(
            name for name in self.model.common_names if largest.get(name, 1.0) < _UNUSED_SHARE
        )
        questions = max(1, len(self._dev))
        error = 1 - sum(is_right for _, is_right in best) / questions
        self.latest = self.latest._replace(
            hits_at_1=1 - error,
            f1=float(f1.max()) / questions,
            hop_accuracy=sum(right_hops) / len(right_hops) if right_hops else None,
        )
        return {"dev": error}

    def _example(
        self, question: Question, linked: LinkedQuestion, store: MemoryStore
    ) -> FactExample:
        """A question as the model sees it, with the entities of the store's facts."""
        answers = store.facts.subjects({symbol(answer) for answer in question.answers})
        symbols = store.facts.subjects({name for item in linked.mentions for name in item.names})
        entities = dict(zip(symbols, self._graph.entities(symbols.values()), strict=True))
        chains = self.model.chains(linked, entities)
        return FactExample(chains, sorted(self._graph.entities(answers.values())), question)

    def _batch(self, examples: Sequence[FactExample]) -> FactBatch:
        return as_tensors(fact_batch([example.chains for example in examples], self._encoded))

    def state(self) -> dict[str, Any]:
        """The scores of the saved weights: a run may resume after its best epoch."""
        return {"best": self.best._asdict()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resume with such scores."""
        self.best = self.best._replace(**state["best"])


def _cross_entropy(scores: FactScores, answers: Sequence[Sequence[int]]) -> Tensor:
    """Mean over questions of the cross-entropy [] of their entities' shares of the weight."""
    total = torch.zeros(len(answers)).index_add(0, scores.question, scores.weight)
    question = torch.tensor([row for row, right in enumerate(answers) for _ in right])
    wanted = torch.tensor([entity for right in answers for entity in right])
    target = torch.tensor([1 / len(right) for right in answers for _ in right])
    width = int(torch.cat([scores.entity, wanted]).max()) + 1
    reached = scores.question * width + scores.entity
    index = torch.searchsorted(reached, question * width + wanted).clamp(max=len(reached) - 1)
    is_reached = reached[index] == question * width + wanted
    weight = torch.where(is_reached, scores.weight[index], _MIN_WEIGHT)
    log_share = weight.log() - total.clamp(min=_MIN_WEIGHT).log()[question]
    return -(log_share * target).sum() / len(answers)


def _platt(best: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """Scale and shift of the log-odds of the largest weights, some of them of right answers.

    Source: Platt 1999, section 2.2: targets short of 0 and 1, which a few dev questions don't show.
    """
    right = sum(is_right for _, is_right in best)
    targets = {True: (right + 1) / (right + 2), False: 1 / (len(best) - right + 2)}
    features = [(1.0, log_odds(weight, LEAST)) for weight, _ in best]
    if len(features) < _MIN_FITTED:
        return 1.0, 0.0
    shift, scale = fit_logistic(features, [targets[is_right] for _, is_right in best])
    return max(0.0, scale), shift


def _f1(entities: Tensor, weights: Tensor, answers: Tensor, count: int) -> Tensor:
    """F1 [thresholds] of the entities whose weight, relative to the best, is high enough.

    ``count`` is the number of right answers, those that are not in the facts included.
    """
    chosen = weights >= torch.tensor(_THRESHOLDS).unsqueeze(1) * weights.max()
    right = (chosen & torch.isin(entities, answers)).sum(dim=1)
    return 2 * right / (chosen.sum(dim=1) + count)


def _digest(questions: Iterable[Question], relations: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(relations).encode())
    for question in questions:
        digest.update(question.model_dump_json().encode())
    return digest.hexdigest()
