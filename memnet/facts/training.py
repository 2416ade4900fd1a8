"""The facts preset: learns to follow one's own facts from questions with their answers."""

import hashlib
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from memnet.encoders import Encoder, TokenStates, encode_tokens
from memnet.errors import InputError
from memnet.evaluation.questions import Question
from memnet.facts.checkpoint import save_fact_model
from memnet.facts.linking import LinkedQuestion, link
from memnet.facts.memory import FactGraph
from memnet.facts.model import (
    AnswerRule,
    Chain,
    FactModel,
    FactModelConfig,
    FactScores,
    fact_batch,
    shares,
)
from memnet.storage import MemoryStore
from memnet.text.names import symbol
from memnet.training.loop import EpochReport, Training, TrainingConfig
from memnet.training.progress import OnProgress, counted, no_progress
from memnet.training.torch_state import seeded, using_threads

_BATCH = 64
"""Questions."""
_ENCODED = 4096
"""Texts that are encoded between two reports of progress."""
_BUDGET = 4000
"""Facts that a hop follows in one chain while training; an untrained controller follows all."""
_MISSED = 1e-3
"""Weight that an answer which no hop reaches is held to have: it keeps logarithms finite."""
_FAMILIAR_SHARE = 0.002
_FAMILIAR_COUNT = 5
"""A name is familiar when this share of the questions and this many of them hold it."""
_UNSURE = 0.01
"""Share of the right answers to dev questions whose weight may be less than twice the floor of
answers. The weight of a right answer differs: a way back to its own start is discounted."""
_HIGHEST_FLOOR = 0.1
_IDLE = 0.02
"""A familiar name that never has so large a share in a dev question is idle."""
_UPDATES = 3000
_FEWEST_EPOCHS, _MOST_EPOCHS = 6, 40
"""Epochs are as many as make so many updates, within these bounds."""
_WARM_UP = 100
_THRESHOLDS = tuple(step / 20 for step in range(1, 20))


class _Example(NamedTuple):
    chains: list[Chain]
    answers: list[int]
    """The entities that are right answers; those that are not in the facts are left out."""
    asked: Question


class FactData(NamedTuple):
    """Questions over the facts of a store."""

    train: Sequence[Question]
    dev: Sequence[Question]


class _Scores(NamedTuple):
    """What the kept weights reached on the dev questions; the fields are those of the report."""

    hits_at_1: float = 0.0
    f1: float = 0.0
    hop_accuracy: float | None = None


class FactReport(NamedTuple):
    """What came of a training."""

    questions: int
    """Training questions."""
    no_name: int
    """Training questions that name nothing in the facts: nothing is learned from them."""
    no_answer: int
    """Others none of whose answers is in the facts: nothing is learned from them either."""
    hits_at_1: float
    """Share of dev questions whose best answer is right, 0..1."""
    f1: float
    """Mean F1 of the sets of answers to dev questions, 0..1."""
    hop_accuracy: float | None
    """Share of dev questions answered after as many hops as their file says; None if none says."""


def train_facts(
    store: MemoryStore,
    encoder: Encoder,
    data: FactData,
    out: Path,
    seed: int = 0,
    epochs: int | None = None,
    on_epoch: Callable[[EpochReport], None] = lambda _: None,
    threads: int | None = None,
    on_progress: OnProgress = no_progress,
) -> FactReport:
    """Train a controller to hop over the facts of a store, and keep the best in ``out``.

    Only questions and answers are learned from; which facts lead from the one to the other, the
    controller has to find.

    Args:
        store: with the facts.
        encoder: the one that the store was made with.
        data: questions with answers, to train on and to choose the best weights by.
        out: folder of the model, and of the run's state until it ends.
        seed: of all that is random.
        epochs: passes over the questions; None chooses by how many there are.
        on_epoch: called after each epoch.
        threads: processor cores to use; None for torch's own number.
        on_progress: called after each question that is made ready, and after each batch.

    Raises:
        InputError: the store holds no facts, or no question can be learned from.
        ModelError: ``out`` can't be written, or holds another unfinished run.
    """
    if not store.counts().facts:
        raise InputError("the store holds no facts; ingest a fact table first")
    graph, relations = FactGraph.of(store)
    task = FactTask(store, encoder, graph, relations, data, seed, on_progress)
    config = TrainingConfig(epochs=epochs or task.epochs(), warm_up=_WARM_UP, seed=seed)
    identity = {"preset": "facts", "data": _digest(data, relations), "torch": torch.__version__}

    def keep(report: EpochReport) -> None:
        task.best = _Scores(1 - report.error, task.f1, task.hop_accuracy)
        notes = {**identity, "training": config.model_dump(), "epoch": report.epoch}
        save_fact_model(out, task.model, task.rule, {**notes, **task.report()._asdict()})

    with using_threads(threads):
        Training(task.model, task, config, out, keep, identity).run(on_epoch, on_progress)
    return task.report()


class FactTask:
    """Questions over facts, as the training loop sees them."""

    def __init__(
        self, store: MemoryStore, encoder: Encoder, graph: FactGraph,
        relations: Sequence[str], data: FactData, seed: int, on_progress: OnProgress = no_progress,
    ) -> None:  # fmt: skip
        """Link and encode all questions once; the arguments are those of ``train_facts``."""
        self._seed = seed
        self._store = store
        self._graph = graph
        linked = [
            link(question.question, store.facts.subjects)
            for question in counted(data.train, "linking questions", on_progress)
        ]
        with seeded(seed):
            self.model = FactModel(
                FactModelConfig(), encoder.dimension, relations, _familiar(linked)
            )
        train = [self._example(*pair) for pair in zip(data.train, linked, strict=True)]
        self._dev = [
            self._example(question, link(question.question, store.facts.subjects))
            for question in data.dev
        ]
        self.no_name = sum(not example.chains for example in train)
        self.no_answer = sum(bool(example.chains) and not example.answers for example in train)
        self._train = [example for example in train if example.chains and example.answers]
        if not self._train:
            raise InputError(
                f"none of the {len(train)} training questions names something in the facts of "
                "the store and has an answer there; ingest the facts first"
            )
        self._questions = len(train)
        self._encoded = _encoded(encoder, [*self._train, *self._dev], on_progress)
        self.best = _Scores()
        self.rule, self.f1 = AnswerRule(0.5, 0.0), 0.0
        self.hop_accuracy: float | None = None

    def report(self) -> FactReport:
        """What has come of the training so far."""
        return FactReport(self._questions, self.no_name, self.no_answer, *self.best)

    def epochs(self) -> int:
        """How many epochs make a good number of updates."""
        batches = math.ceil(len(self._train) / _BATCH)
        return min(_MOST_EPOCHS, max(_FEWEST_EPOCHS, round(_UPDATES / batches)))

    def batches(self, epoch: int) -> Iterator[list[_Example]]:
        """All questions in a random order."""
        order = list(self._train)
        random.Random(f"{self._seed}/{epoch}").shuffle(order)
        return (order[start : start + _BATCH] for start in range(0, len(order), _BATCH))

    def loss(self, examples: list[_Example], _: float) -> Tensor:
        """Cross-entropy of what the hops reach and an equal share for each right answer."""
        batch = fact_batch([example.chains for example in examples], self._encoded)
        scores, _ = self.model(batch, self._graph, _BUDGET)
        return _cross_entropy(scores, [example.answers for example in examples])

    @torch.no_grad()
    def valid_errors(self) -> dict[str, float]:
        """The share of dev questions whose best answer is wrong; notes the other measures too."""
        right: list[bool] = []
        hops: list[bool] = []
        sure: list[float] = []
        used: dict[str, float] = {}
        f1 = torch.zeros(len(_THRESHOLDS))
        asked = [example for example in self._dev if example.chains]
        for start in range(0, len(asked), _BATCH):
            examples = asked[start : start + _BATCH]
            batch = fact_batch([example.chains for example in examples], self._encoded)
            scores, trace = self.model(batch, self._graph, _BUDGET)
            importance = shares(trace.importance, batch.question).tolist()
            starts = [chain.name for example in examples for chain in example.chains]
            for name, share in zip(starts, importance, strict=True):
                used[name] = max(used.get(name, 0.0), share)
            for row, example in enumerate(examples):
                chosen = scores.question == row
                entities, weights = scores.entity[chosen], scores.weight[chosen]
                wanted = torch.tensor(example.answers, dtype=torch.int64)
                best = int(weights.argmax()) if len(weights) else 0
                right.append(bool(len(weights)) and int(entities[best]) in example.answers)
                sure += [float(weights[best])] if right[-1] else []
                f1 += _f1(entities, weights, wanted, len(set(example.asked.answers)))
                if example.asked.hops is not None:
                    main = _main_chain(trace.importance, batch.question == row)
                    hops.append(int(trace.halting[main].argmax()) + 1 == example.asked.hops)
        best_threshold = int(f1.argmax())
        floor = torch.tensor(sure or [0.0]).quantile(_UNSURE).item() / 2
        self.rule = AnswerRule(_THRESHOLDS[best_threshold], min(_HIGHEST_FLOOR, floor))
        self.f1 = float(f1[best_threshold]) / max(1, len(self._dev))
        self.hop_accuracy = sum(hops) / len(hops) if hops else None
        self.model.idle = frozenset(
            name for name in self.model.familiar if used.get(name, 1.0) < _IDLE
        )
        return {"dev": 1 - sum(right) / max(1, len(self._dev))}

    def state(self) -> dict[str, Any]:
        """The scores of the kept weights: a run may go on after its best epoch."""
        return {"best": self.best._asdict()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with such scores."""
        # An unfinished run of an earlier version kept none.
        self.best = _Scores(**state.get("best", {}))

    def _example(self, question: Question, linked: LinkedQuestion) -> _Example:
        names = {name for mention in linked.mentions for name in mention.names}
        answers = self._store.facts.subjects({symbol(answer) for answer in question.answers})
        symbols = self._store.facts.subjects(names)
        entities = dict(zip(symbols, self._graph.entities(symbols.values()), strict=True))
        chains = self.model.chains(linked, entities)
        return _Example(chains, sorted(self._graph.entities(answers.values())), question)


def _familiar(linked: Sequence[LinkedQuestion]) -> frozenset[str]:
    counts = Counter(
        name for question in linked for mention in question.mentions for name in mention.names
    )
    least = max(_FAMILIAR_COUNT, _FAMILIAR_SHARE * len(linked))
    return frozenset(name for name, count in counts.items() if count >= least)


def _encoded(
    encoder: Encoder, examples: Sequence[_Example], on_progress: OnProgress
) -> dict[str, TokenStates]:
    texts = list(dict.fromkeys(chain.text for example in examples for chain in example.chains))
    parts = [texts[start : start + _ENCODED] for start in range(0, len(texts), _ENCODED)]
    states = [
        state
        for part in counted(parts, "encoding questions", on_progress)
        for state in encode_tokens(encoder, part)
    ]
    return {
        text: TokenStates(state.states.astype("float16"), state.mentions)
        for text, state in zip(texts, states, strict=True)
    }


def _cross_entropy(scores: FactScores, answers: Sequence[Sequence[int]]) -> Tensor:
    """Mean over questions of the cross-entropy [] of their entities' shares of the weight."""
    total = torch.zeros(len(answers)).index_add(0, scores.question, scores.weight)
    question = torch.tensor([row for row, right in enumerate(answers) for _ in right])
    wanted = torch.tensor([entity for right in answers for entity in right])
    share = torch.tensor([1 / len(right) for right in answers for _ in right])
    width = int(torch.cat([scores.entity, wanted]).max()) + 1
    have = scores.question * width + scores.entity
    place = torch.searchsorted(have, question * width + wanted).clamp(max=len(have) - 1)
    reached = have[place] == question * width + wanted
    weight = torch.where(reached, scores.weight[place], _MISSED)
    nats = weight.log() - total.clamp(min=_MISSED).log()[question]
    return -(nats * share).sum() / len(answers)


def _f1(entities: Tensor, weights: Tensor, wanted: Tensor, right: int) -> Tensor:
    """F1 [thresholds] of the entities whose weight, relative to the best, is high enough."""
    if not len(weights):
        return torch.zeros(len(_THRESHOLDS))
    chosen = weights >= torch.tensor(_THRESHOLDS).unsqueeze(1) * weights.max()
    found = (chosen & torch.isin(entities, wanted)).sum(dim=1)
    return 2 * found / (chosen.sum(dim=1) + right)


def _main_chain(importance: Tensor, chosen: Tensor) -> int:
    """The most important of the chosen chains."""
    return int(importance.masked_fill(~chosen, -math.inf).argmax())


def _digest(data: FactData, relations: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(relations).encode())
    for questions in data:
        for question in questions:
            digest.update(question.model_dump_json().encode())
    return digest.hexdigest()
