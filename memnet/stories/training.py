"""The story preset: learns to answer questions about stories from files in the bAbI format."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from memnet.ingest.babi import Story
from memnet.learning import OnProgress, no_progress
from memnet.learning.loop import EpochReport, Training, TrainingConfig, seeded, using_threads
from memnet.stories.model import StoryIds, StoryModel, collate, save_story_model
from memnet.stories.training_data import (
    BABI_NAMES,
    NameShuffler,
    StoryData,
    StoryExample,
    TaskSampler,
    in_batches,
    read_name_groups,
)
from memnet.stories.words import (
    PADDING,
    UNKNOWN,
    StoryModelConfig,
    Vocabulary,
    story_words,
    tokenize_story,
)

# Share of the run before which every question makes all hops. Learned from the start, halting after
# the first hop won everywhere, and the later hops were never learned.
_HALTING_FROM = 0.6
# Loss of one more hop, once halting is learned: of two ways to an answer the shorter wins.
_HOP_LOSS = 1e-3
# Weight of the loss of attention to other than the supporting sentences. Without it induction (task
# 16) stayed at chance for nine epochs of its own. To ask only that some hop attends to each of them
# was not enough: the hops then visited one person of the story after the other.
_SUPPORT_LOSS = 0.3
_EPSILON = 1e-6  # It keeps logarithms finite
# Share of words that are hidden while training, so that an unseen word does no harm.
_UNKNOWN_SHARE = 0.0003


def train_stories(
    data: StoryData,
    out: Path,
    model_config: StoryModelConfig,
    config: TrainingConfig,
    on_epoch: Callable[[EpochReport], None] = lambda _: None,
    supports: bool = True,
    renaming: bool = True,
    device: str = "cpu",
    threads: int | None = None,
    on_progress: OnProgress = no_progress,
) -> float:
    """Train one model on all tasks together, and keep the best by valid error in ``out``.

    Args:
        data: stories to train on and to choose the best weights by.
        out: folder of the model, and of the run's state until it ends.
        model_config: sizes of the model.
        config: how to train.
        on_epoch: called after each epoch.
        supports: learn also to attend to the sentences that the files name as supporting an
            answer; else from answers alone.
        renaming: permute the names of people, rooms and things in each story, where the
            tasks are those of bAbI.
        device: of torch, that is there.
        threads: processor cores to use; None for torch's own number.
        on_progress: called after each batch.

    Returns:
        The lowest mean valid error over tasks, 0..1.

    Raises:
        ModelError: ``out`` can't be written, or holds another unfinished run.
    """
    stories = chain.from_iterable(data.train.values())
    vocabulary = Vocabulary.from_stories(map(tokenize_story, stories))
    with seeded(config.seed):
        model = StoryModel(vocabulary, model_config).to(device)
    identity = {
        "preset": "babi",
        "data": data.digest,
        "supports": supports,
        "renaming": renaming,
        "model": model_config.model_dump(),
        "torch": torch.__version__,
    }

    def save(report: EpochReport) -> None:
        notes = {**identity, "training": config.model_dump(), "epoch": report.epoch}
        save_story_model(out, model, {**notes, "valid_errors": dict(report.errors)})

    task = StoryTask(model, data, config.seed, supports, renaming)
    with using_threads(threads):
        return Training(model, task, config, out, save, identity).run(on_epoch, on_progress)


class StoryTask:
    """Questions about stories, as the training loop sees them.

    Each epoch trains more on the tasks whose running training error is large.
    """

    def __init__(
        self,
        model: StoryModel,
        data: StoryData,
        seed: int,
        supports: bool = True,
        renaming: bool = True,
    ) -> None:
        """Encode all words once; ``supports`` and ``renaming`` as for ``train_stories``."""
        self._model = model
        self._seed = seed
        self._supports = supports
        self._train = [
            self._example(task, story) for task, stories in data.train.items() for story in stories
        ]
        self._valid = {
            task: [self._example(task, story) for story in stories]
            for task, stories in data.valid.items()
        }
        rows = Counter[str]()
        for example in self._train:
            rows[example.task] += example.rows
        self._sampler = TaskSampler(rows)
        self._shuffler = _name_shuffler(model.network.vocabulary, data) if renaming else None

    def batches(self, epoch: int) -> Iterator[list[StoryExample]]:
        """Stories of about one length together, the batches in a random order."""
        rng = random.Random(f"{self._seed}/{epoch}")
        examples = self._sampler.sample(self._train, rng)
        if self._shuffler is not None:
            examples = [self._shuffler.rename(example, rng) for example in examples]
        batches = in_batches(examples, rng)
        rng.shuffle(batches)
        return iter(batches)

    def loss(self, examples: list[StoryExample], progress: float) -> Tensor:
        """Cross-entropy of the answers' words, and a little for each hop."""
        batch = self._batch(examples)
        hidden = torch.rand(batch.sentences.shape, device=batch.sentences.device) < _UNKNOWN_SHARE
        sentences = batch.sentences.masked_fill(hidden & (batch.sentences != PADDING), UNKNOWN)
        length = int((batch.answers != PADDING).any(dim=0).any(dim=0).sum())
        answers = batch.answers[..., :length]
        read = self._model(
            batch._replace(sentences=sentences, answers=answers),
            teacher_forcing=True,
            may_halt=progress >= _HALTING_FROM,
        )
        is_question = batch.questions[..., 0] != PADDING
        self._update_errors(examples, right_answers(read.logits, answers), is_question)
        number = torch.arange(1, read.halting.shape[1] + 1, device=answers.device)
        hops = (read.halting * number.view(1, -1, 1)).sum(dim=1)
        word_loss: Tensor = nn.functional.cross_entropy(
            read.logits.flatten(0, 2), answers.flatten(), ignore_index=PADDING
        )
        loss: Tensor = word_loss + _HOP_LOSS * hops[is_question].mean()
        if self._supports:
            loss = loss + _SUPPORT_LOSS * support_loss(read.weights, examples)
        return loss

    @torch.no_grad()
    def valid_errors(self) -> dict[str, float]:
        """The share of questions of each valid file whose whole answer is not right."""
        errors: dict[str, float] = {}
        for task, examples in self._valid.items():
            right = count = 0
            for chosen in in_batches(examples):
                batch = self._batch(chosen)
                logits = self._model(batch).logits
                is_question = batch.questions[..., 0] != PADDING
                right += int((right_answers(logits, batch.answers) & is_question).sum())
                count += int(is_question.sum())
            errors[task] = 1 - right / count
        return errors

    def state(self) -> dict[str, Any]:
        """The running training errors."""
        return dict(self._sampler.errors)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from running training errors."""
        self._sampler.errors = dict(state)

    def _example(self, task: str, story: Story) -> StoryExample:
        supports = [question.supports for question in story.questions]
        return StoryExample(task, self._model.encode(tokenize_story(story)), supports)

    def _batch(self, examples: Sequence[StoryExample]) -> StoryIds:
        return collate([example.ids for example in examples]).to(self._model.device)

    def _update_errors(
        self, examples: Sequence[StoryExample], right: Tensor, is_question: Tensor
    ) -> None:
        wrong = (~right & is_question).sum(dim=1).tolist()
        counts = is_question.sum(dim=1).tolist()
        for task in {example.task for example in examples}:
            rows = [row for row, example in enumerate(examples) if example.task == task]
            error = sum(wrong[row] for row in rows) / max(1, sum(counts[row] for row in rows))
            self._sampler.update(task, error)


def right_answers(logits: Tensor, answers: Tensor) -> Tensor:
    """Whether each answer is right to its end: [B, Q] bool of [B, Q, L, V] and [B, Q, L]."""
    return ((logits.argmax(dim=-1) == answers) | (answers == PADDING)).all(dim=-1)


def support_loss(weights: Tensor, examples: Sequence[StoryExample]) -> Tensor:
    """Cross-entropy [] of the hops' mean attention and an equal share for each supporting sentence.

    Args:
        weights: [B, H, Q, N] float32, what each hop of a question attends to.
        examples: B stories.
    """
    mean = weights.mean(dim=1)
    target = torch.zeros_like(mean)
    for row, example in enumerate(examples):
        for column, supports in enumerate(example.supports):
            distinct = list(set(supports))
            target[row, column, distinct] = 1 / max(1, len(distinct))
    questions = target.sum(dim=2) > 0
    loss: Tensor = -(target * (mean + _EPSILON).log()).sum() / questions.sum().clamp(min=1)
    return loss


def _name_shuffler(vocabulary: Vocabulary, data: StoryData) -> NameShuffler:
    words = {
        task: set[str]().union(*(story_words(tokenize_story(story)) for story in stories))
        for task, stories in data.train.items()
    }
    return NameShuffler(read_name_groups(BABI_NAMES), words, vocabulary)
