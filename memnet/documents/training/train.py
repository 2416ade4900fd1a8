"""The text preset: learns what addressing is worth and which links to follow."""

import gzip
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from memnet.attention.arrays import softmax
from memnet.attention.either import linear
from memnet.checkpoints import SHIPPED, shipped_models
from memnet.config import Config, HopConfig
from memnet.documents.candidates import Candidates, FloatArray, Links
from memnet.documents.controller import (
    DIRECT_PREFIX,
    HOP_PREFIXES,
    KIND,
    SHARE,
    TextController,
    direct_logits,
    hop_scores,
    load_text_model,
    passages_with_units,
    save_text_model,
    share_features,
    without_previous,
)
from memnet.documents.hops import HopRead, read_in_hops
from memnet.documents.question import FullVectors, unit_projection
from memnet.documents.question import Question as AskedQuestion
from memnet.documents.training.generate import templated_questions, two_hop_questions
from memnet.encoders.protocol import Encoder, query_encode
from memnet.errors import InputError, ModelError
from memnet.ingest.pipeline import Ingest
from memnet.ingest.vectors import PassageEncoder
from memnet.learning import OnProgress, TrainableMemory, TrainingProgress, counted, no_progress
from memnet.learning.evaluation import Question, recall
from memnet.learning.loop import seeded, using_threads
from memnet.storage import MemoryStore
from memnet.storage.files import ASIDE
from memnet.types import Document

# Excerpts of three collections in the public domain, by ``benchmarks.questions.make_shipped``.
FILE = SHIPPED / "asked" / "asked.jsonl.gz"


class _Memory(NamedTuple):
    store: MemoryStore
    encoder: Encoder
    config: Config


@contextmanager
def people_questions(
    memory: TrainableMemory,
) -> Iterator[tuple[TrainableMemory, list[Question]]]:
    """A memory of the shipped documents, with encoder and settings of another, and questions."""
    lines = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore(
            Path(folder, "store"),
            fingerprint=memory.encoder.fingerprint,
            dimension=memory.encoder.dimension,
            create=True,
        )
        try:
            documents = [Document(id=one["id"], text=one["text"]) for one in lines]
            Ingest(store, memory.config, PassageEncoder(memory.encoder)).run(documents)
            asked = [Question(**question) for one in lines for question in one["questions"]]
            yield _Memory(store, memory.encoder, memory.config), asked
        finally:
            store.close()


# Wrong candidates of a question that are learned from: the likeliest, and some of the others.
_HARD_NEGATIVES, _RANDOM_NEGATIVES = 120, 80
_UPDATES = 120
_LEARNING_RATE = 2e-2
_WEIGHT_DECAY = 0.1
_GENERATED_QUESTIONS = 300  # Per kind, made from the documents if no others are given
_HELD_OUT = 5  # One question in five is held out while the report's recall is measured
_RECALL_AT = 5


class TextReport(NamedTuple):
    """Scores of a training."""

    questions: int
    """That were learned from."""
    unusable: int
    """Others, which give no source id of the store as "gold"."""
    measured_on: str
    """"held out" for a fifth of the questions given, "shipped" for questions as people ask them
    about documents that ship with memnet, where none are given."""
    recall_before: float
    """Recall@5 on these, 0..1, by the model that the store has used until now."""
    recall_trained: float
    """The same by a model that was trained without them."""
    installed: bool
    """Whether the store uses the trained model: only if it finds more. Else it is set aside."""


class Example(NamedTuple):
    """One question at one hop. K = candidates."""

    candidates: Candidates
    right: NDArray[np.float32]  # [K] float32: 1 for slots of a right source
    weight: float  # Weight of the question among all


def train_text(
    memory: TrainableMemory,
    groups: Sequence[Sequence[Question]],
    out: str | os.PathLike[str] | None = None,
    *,
    seed: int = 0,
    on_stage: Callable[[str], None] = lambda _: None,
    on_progress: OnProgress = no_progress,
) -> TextReport:
    """Train a controller on questions about the documents of a memory, and save it in ``out``.

    Args:
        memory: with the documents; training starts from the numbers of its ``config.hop``.
        groups: questions with the source ids of the documents that hold their answers. Each group
            counts as much as any other, however many questions it has. Without any, questions are
            made from the documents.
        out: folder of the model, to be given to ``Engine.open``; None for the store's own folder:
            the model then belongs to the store, which uses it if it finds more than the one before.
        seed: of all that is random.
        on_stage: called with what is being done.
        on_progress: called after each question and each update.

    Raises:
        InputError: no question can be learned from.
        ModelError: ``out`` can't be written.
    """
    store = memory.store
    made = not groups
    if made:
        on_stage("making questions from the documents")
        groups = [
            two_hop_questions(store, _GENERATED_QUESTIONS, seed),
            *templated_questions(store, _GENERATED_QUESTIONS, seed),
        ]
    known = store.sources.namespaces(
        {name for group in groups for asked in group for name in asked.gold}
    ).keys()
    usable = [[asked for asked in group if known & set(asked.gold)] for group in groups]
    weighted = [(asked, 1 / len(group)) for group in usable for asked in group]
    if not weighted:
        raise InputError(
            "there is nothing to learn from: no question gives a stored document as 'gold', "
            'expected {"question": str, "gold": [source id]}; or, without questions, no two '
            "documents share a name"
        )
    trainer = _Trainer(memory, seed, on_stage, on_progress)
    before = _controller_in_use(store, memory.config.hop)
    if made:
        controller = trainer.fit(weighted)
        with people_questions(memory) as (people, asked):
            judge = replace(trainer, memory=people)
            held_out = [(one, 1.0) for one in asked]
            recalls = [judge.recall(one, held_out) for one in (before, controller)]
    else:
        held_out = weighted[::_HELD_OUT]
        rest = [item for index, item in enumerate(weighted) if index % _HELD_OUT]
        trained = trainer.fit(rest or weighted)
        recalls = [trainer.recall(one, held_out) for one in (before, trained)]
        controller = trainer.fit(weighted)
    report = TextReport(
        questions=len(weighted),
        unusable=sum(map(len, groups)) - len(weighted),
        measured_on="shipped" if made else "held out",
        recall_before=recalls[0],
        recall_trained=recalls[1],
        installed=out is None and recalls[1] > recalls[0],
    )
    folder = store.models.new_folder(KIND + ASIDE) if out is None else Path(out)
    save_text_model(
        folder,
        controller,
        {
            "seed": seed,
            "encoder": memory.encoder.fingerprint,
            "date": date.today().isoformat(),
            **report._asdict(),
        },
    )
    if out is None:
        store.models.share_rights(KIND + ASIDE)
        if report.installed:
            store.models.use(KIND)
    return report


def _controller_in_use(store: MemoryStore, hop: HopConfig) -> TextController:
    """The store's own controller, or else the one that ships."""
    folders = [shipped_models()[KIND]]
    if KIND in store.models.names():
        folders.insert(0, store.models.folder(KIND))
    for folder in folders[:-1]:
        with suppress(ModelError):
            return load_text_model(folder, hop)
    return load_text_model(folders[-1], hop)


@dataclass(frozen=True)
class _Trainer:
    memory: TrainableMemory
    seed: int
    on_stage: Callable[[str], None]
    on_progress: OnProgress

    def fit(self, questions: Sequence[tuple[Question, float]]) -> TextController:
        """A controller trained hop by hop: the links of a hop depend on the hop before it."""
        with using_threads(1), seeded(self.seed):
            controller = TextController(self.memory.config.hop)
            for hop in range(len(HOP_PREFIXES)):
                self.on_stage(f"hop {hop + 1} of {len(questions)} questions")
                sampled = [
                    _sample(controller, example, hop, self.seed)
                    for example in self._examples(controller, questions, hop)
                ]
                controller = fit_hop(controller, hop, sampled, self.on_progress)
            self.on_stage("direct attention and its share")
            examples = self._examples(controller, questions, len(HOP_PREFIXES) - 1)
            return fit_mixture(controller, examples, self.on_progress)

    def recall(
        self, controller: TextController, questions: Sequence[tuple[Question, float]]
    ) -> float:
        recalls: list[float] = []
        for asked, _ in counted(questions, "questions held out", self.on_progress):
            read = last_read(self.memory, controller, asked.question, len(HOP_PREFIXES))
            slots = self.memory.store.fetch(read.ids)
            recalls.append(recall([slot.source for slot in slots], asked.gold, _RECALL_AT))
        return sum(recalls) / len(recalls)

    def _examples(
        self, controller: TextController, questions: Sequence[tuple[Question, float]], hop: int
    ) -> Iterable[Example]:
        for asked, weight in counted(questions, f"searching, hop {hop + 1}", self.on_progress):
            candidates = last_read(self.memory, controller, asked.question, hop + 1).candidates
            slots = self.memory.store.fetch(candidates.ids)
            right = np.array([slot.source in asked.gold for slot in slots], np.float32)
            if right.any():
                yield Example(candidates, right, weight)


def last_read(memory: TrainableMemory, controller: TextController, text: str, hops: int) -> HopRead:
    """What the last of some hops for a question attends to."""
    encoder, store = memory.encoder, memory.store
    with store.reading():
        full = FullVectors(projection=unit_projection(encoder))
        question = AskedQuestion(text, store, query_encode(encoder), full=full)
        return read_in_hops(question, controller, memory.config.hop, hops)[-1]


def _sample(controller: TextController, example: Example, hop: int, seed: int) -> Example:
    """The right candidates, the likeliest of the wrong ones and some of the others."""
    candidates = example.candidates
    scores = controller.score(candidates, hop).total()
    order = np.argsort(np.where(candidates.is_fact, np.inf, -scores), kind="stable").tolist()
    passages = order[: len(order) - int(candidates.is_fact.sum())]
    rest = np.random.default_rng(seed).permutation(passages[_HARD_NEGATIVES:])
    negatives = {*passages[:_HARD_NEGATIVES], *rest[:_RANDOM_NEGATIVES].tolist()}
    right = np.nonzero(example.right)[0].tolist()
    sample = np.array(sorted(negatives.union(right)), np.int64)
    return example._replace(candidates=_subset(candidates, sample), right=example.right[sample])


def _subset(candidates: Candidates, sample: NDArray[np.int64]) -> Candidates:
    index = np.full(len(candidates.ids), -1)
    index[sample] = np.arange(len(sample))
    links = candidates.links
    linked = index[links.candidate] >= 0
    return Candidates(
        ids=tuple(candidates.ids[slot] for slot in sample.tolist()),
        features=candidates.features[sample],
        named=(),
        is_fact=candidates.is_fact[sample],
        links=Links(
            index[links.candidate[linked]], links.sender[linked], links.kind[linked],
            links.features[linked], (),
        ),
    )  # fmt: skip


class _Batch(NamedTuple):
    """What is learned from at once. Q = questions, N = candidates of all of them."""

    features: Tensor  # [N, F]
    sizes: Tensor  # [Q] int64: candidates of each question
    question: Tensor  # [N] int64: the question of each candidate
    right: Tensor  # [N]: the right ones of a question share 1
    weight: Tensor  # [N]: of the question, as a share of all

    @staticmethod
    def of(
        features: Sequence[FloatArray], right: Sequence[FloatArray], weights: Sequence[float]
    ) -> "_Batch":
        """Of the features [K, F] of each question's candidates, which are right, and its weight."""
        sizes = torch.tensor([len(one) for one in right])
        question = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        weight = torch.tensor(weights)
        return _Batch(
            _joined(features),
            sizes,
            question,
            _joined([one / one.sum() for one in right]),
            (weight / weight.sum())[question],
        )

    def log_softmax(self, logits: Tensor) -> Tensor:
        """[N]: the logarithm of the attention within each question."""
        lowest = torch.full((len(self.sizes),), -torch.inf)
        highest = lowest.scatter_reduce(0, self.question, logits.detach(), "amax")
        moved = logits - highest[self.question]
        sums = torch.zeros(len(lowest)).index_add(0, self.question, moved.exp())
        return moved - sums.log()[self.question]


def fit_hop(
    controller: TextController, hop: int, examples: Sequence[Example], on_progress: OnProgress
) -> TextController:
    """A controller with one hop trained on all questions at once.

    The loss is the cross-entropy of attention and right slots.
    """
    prefix, found = HOP_PREFIXES[hop], [example.candidates.links for example in examples]
    batch = _Batch.of(
        [example.candidates.features for example in examples],
        [example.right for example in examples],
        [example.weight for example in examples],
    )
    starts = (batch.sizes.cumsum(dim=0) - batch.sizes).tolist()
    links = Links(
        _joined([one.candidate + start for one, start in zip(found, starts, strict=True)]),
        np.concatenate([one.sender for one in found]),
        _joined([one.kind for one in found]),
        _joined([one.features for one in found]),
        (),
    )
    inputs = {"correction": batch.features, "links.gate": links.features}
    weights = _begun(controller, prefix, inputs)

    def log_attention() -> Tensor:
        logits: Any = hop_scores(weights, prefix, batch.features, links).total()
        return batch.log_softmax(logits / controller.config.temperature)

    _descend(weights, batch, log_attention, on_progress)
    return _with_learned(controller, weights)


def fit_mixture(
    controller: TextController, examples: Iterable[Example], on_progress: OnProgress
) -> TextController:
    """A controller with direct attention and its gate trained, the hops as they are.

    ``examples`` are of the last hop, with all candidates: of these the passages teach, where some
    have keys of units. The loss is the cross-entropy of the mixture and right slots, so that each
    of the two learns from the questions that it answers (Jacobs et al. 1991, equation 1.3).
    """
    features, right, weights = list[FloatArray](), list[FloatArray](), list[float]()
    of_hops, given = list[FloatArray](), list[FloatArray]()
    for example in examples:
        passages = passages_with_units(example.candidates)
        if not example.right[passages].any():
            continue
        scores = controller.score(example.candidates, len(HOP_PREFIXES) - 1)
        features.append(example.candidates.features[passages])
        right.append(example.right[passages])
        weights.append(example.weight)
        of_hops.append(controller.logits(scores)[passages])
        link = scores.link[passages]
        given.append(share_features(softmax(of_hops[-1]), link, features[-1], controller.config))
    if not features:
        return controller
    batch = _Batch.of(features, right, weights)
    log_hops = batch.log_softmax(_joined(of_hops))
    inputs = torch.from_numpy(np.stack(given))
    shift, scale = inputs.mean(dim=0), inputs.std(dim=0, correction=0) + 1e-3
    inputs = (inputs - shift) / scale
    direct = _begun(controller, DIRECT_PREFIX, {"correction": without_previous(batch.features)})
    gate = {
        f"{SHARE}.weight": torch.zeros((1, len(shift)), requires_grad=True),
        f"{SHARE}.bias": torch.zeros(1, requires_grad=True),
    }

    def log_attention() -> Tensor:
        logits = direct_logits(direct, controller.config, batch.features)
        share: Tensor = linear(gate, SHARE, inputs)[batch.question, 0]
        return torch.logaddexp(
            functional.logsigmoid(share) + batch.log_softmax(logits),
            functional.logsigmoid(-share) + log_hops,
        )

    _descend(direct | gate, batch, log_attention, on_progress)
    with torch.no_grad():  # the gate is given its features as they are
        gate[f"{SHARE}.weight"] /= scale
        gate[f"{SHARE}.bias"] -= gate[f"{SHARE}.weight"] @ shift
    return _with_learned(controller, direct | gate)


def _descend(
    weights: Mapping[str, Tensor],
    batch: _Batch,
    log_attention: Callable[[], Any],
    on_progress: OnProgress,
) -> None:
    """Learn the weights that have gradients in place."""
    learned = [tensor for tensor in weights.values() if tensor.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=_LEARNING_RATE, weight_decay=_WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _LEARNING_RATE, total_steps=_UPDATES)
    on_progress(TrainingProgress("training", 0, 0.0))
    for update in range(1, _UPDATES + 1):
        loss = -(log_attention() * batch.right * batch.weight).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        on_progress(
            TrainingProgress(
                "training", update * len(batch.sizes), update / _UPDATES, float(loss.detach())
            )
        )


def _with_learned(controller: TextController, weights: Mapping[str, Tensor]) -> TextController:
    trained = {name: tensor.detach().numpy() for name, tensor in weights.items()}
    return TextController(controller.config, controller.arrays() | trained)


def _begun(
    controller: TextController, prefix: str, inputs: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The weights of a hop as its training begins: all but shift and scale have gradients.

    Corrections bring ``inputs`` like these to mean 0 and deviation 1, fewer than two excepted, and
    their hidden layers are drawn as those of ``torch.nn.Linear``.
    """
    own = {
        name: torch.from_numpy(array.copy())
        for name, array in controller.arrays().items()
        if name.startswith(prefix)
    }
    for part, given in inputs.items():
        name = f"{prefix}{part}."
        if f"{name}scale" not in own:
            continue
        if len(given) > 1:
            own[f"{name}shift"] = given.mean(dim=0)
            own[f"{name}scale"] = given.std(dim=0) + 1e-3
        bound = own[f"{name}hidden.weight"].shape[1] ** -0.5
        for kind in ("weight", "bias"):
            own[f"{name}hidden.{kind}"].uniform_(-bound, bound)
    for name, tensor in own.items():
        tensor.requires_grad_(not name.endswith(("shift", "scale")))
    return own


def _joined(arrays: Sequence[NDArray[Any]]) -> Tensor:
    return torch.from_numpy(np.concatenate(arrays))
