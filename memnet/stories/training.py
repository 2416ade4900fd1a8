"""The story preset: learns to answer questions about stories from files in the bAbI format."""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from memnet.errors import InputError
from memnet.ingest.babi import Story, parse_stories
from memnet.stories.checkpoint import save_story_model
from memnet.stories.model import (
    StoryBatch,
    StoryModel,
    StoryModelConfig,
    asked_story,
    joined,
)
from memnet.stories.renaming import BABI_NAMES, Renaming, read_names
from memnet.stories.sampling import TaskSampler
from memnet.stories.vocabulary import PADDING, UNKNOWN, Vocabulary
from memnet.training.loop import EpochReport, Training, TrainingConfig, seeded, using_threads
from memnet.training.progress import OnProgress, no_progress

_BATCH_ROWS = 256
"""Sentences and questions of a batch, padding included. It is the number of updates that counts:
path finding (task 19) stayed at chance for ten epochs of 512 and was learned in ten of 256."""
_HALTING_FROM = 0.6
"""Of the run: before it every question makes all hops. Learned from the start, halting after the
first hop won everywhere, and the later hops were never learned."""
_PONDER = 1e-3
"""Loss of one more hop, once halting is learned: of two ways to an answer the shorter wins."""
_SUPPORT = 0.3
"""Loss of attention that goes elsewhere than to the supporting sentences. Without it induction
(task 16) stayed at chance for nine epochs of its own. To ask only that some hop attends to each of
them was not enough: the hops then visited one person of the story after the other."""
_NEARLY_NONE = 1e-6
"""It keeps logarithms finite."""
_UNKNOWN_SHARE = 0.0003
"""Of the words that are hidden while training, so that a word never seen does no harm."""


class StoryFile(NamedTuple):
    """A file of stories that are one task, such as ``qa1``."""

    task: str
    stories: list[Story]


class _Example(NamedTuple):
    task: str
    numbers: StoryBatch
    supports: Sequence[Sequence[int]]
    """For each question the sentences that support its answer, where the file names them."""

    @property
    def rows(self) -> int:
        """Sentences and questions."""
        return self.numbers.sentences.shape[1] + self.numbers.questions.shape[1]


@dataclass(frozen=True)
class StoryData:
    """Training and valid files of a folder."""

    train: list[StoryFile]
    valid: list[StoryFile]
    digest: str
    """sha256 over the contents of all files."""


def read_story_data(folder: Path) -> StoryData:
    """The files ``<task>_train.txt`` and ``<task>_valid.txt`` of a folder.

    Raises:
        InputError: there are none of a kind, or one has a mistake.
    """
    digest = hashlib.sha256()
    found: dict[str, list[StoryFile]] = {}
    for split in ("train", "valid"):
        paths = sorted(folder.glob(f"*_{split}.txt"))
        if not paths:
            raise InputError(
                f"{folder} holds no file named <task>_{split}.txt; expected bAbI stories, one "
                "file a task and split"
            )
        found[split] = [_read(path, digest.update) for path in paths]
    return StoryData(found["train"], found["valid"], digest.hexdigest())


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
        renaming: let names that mean nothing by themselves change places in each story anew,
            where the tasks are those of bAbI.
        device: of torch, that is there.
        threads: processor cores to use; None for torch's own number.
        on_progress: called after each batch.

    Returns:
        The lowest mean valid error over tasks, 0..1.

    Raises:
        ModelError: ``out`` can't be written, or holds another unfinished run.
    """
    asked = [asked_story(story) for file in data.train for story in file.stories]
    vocabulary = Vocabulary.of(
        words
        for story in asked
        for texts in (story.sentences, story.questions, story.answers)
        for words in texts
    )
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

    def keep(report: EpochReport) -> None:
        notes = {**identity, "training": config.model_dump(), "epoch": report.epoch}
        save_story_model(out, model, {**notes, "valid_errors": dict(report.errors)})

    task = StoryTask(model, data, config.seed, supports, renaming)
    with using_threads(threads):
        return Training(model, task, config, out, keep, identity).run(on_epoch, on_progress)


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
        """Number all words once; ``supports`` and ``renaming`` as for ``train_stories``."""
        self._model = model
        self._seed = seed
        self._supports = supports
        self._train = [
            self._example(file.task, story) for file in data.train for story in file.stories
        ]
        self._valid = {
            file.task: [self._example(file.task, story) for story in file.stories]
            for file in data.valid
        }
        rows = Counter[str]()
        for example in self._train:
            rows[example.task] += example.rows
        self._sampler = TaskSampler(rows)
        self._renaming = _renaming(model.vocabulary, data) if renaming else None

    def batches(self, epoch: int) -> Iterator[list[_Example]]:
        """Stories of about one length together, the batches in a random order."""
        choice = random.Random(f"{self._seed}/{epoch}")
        chosen = self._sampler.chosen(self._train, choice)
        if self._renaming is not None:
            chosen = [_renamed(example, self._renaming, choice) for example in chosen]
        batches = _in_batches(chosen, choice)
        choice.shuffle(batches)
        return iter(batches)

    def loss(self, examples: list[_Example], progress: float) -> Tensor:
        """Cross-entropy of the answers' words, and a little for each hop."""
        halting = progress >= _HALTING_FROM
        batch = self._joined(examples)
        hidden = torch.rand(batch.sentences.shape, device=batch.sentences.device) < _UNKNOWN_SHARE
        sentences = batch.sentences.masked_fill(hidden & (batch.sentences != PADDING), UNKNOWN)
        longest = int((batch.answers != PADDING).any(dim=0).any(dim=0).sum())
        answers = batch.answers[..., :longest]
        output = self._model(
            batch._replace(sentences=sentences, answers=answers), teach=True, halting=halting
        )
        logits = output.decoded.logits
        asked = batch.questions[..., 0] != PADDING
        self._note(examples, right_answers(logits, answers), asked)
        number = torch.arange(1, output.trace.halting.shape[1] + 1, device=logits.device)
        hops = (output.trace.halting * number.view(1, -1, 1)).sum(dim=1)
        wrong: Tensor = nn.functional.cross_entropy(
            logits.flatten(0, 2), answers.flatten(), ignore_index=PADDING
        )
        loss: Tensor = wrong + _PONDER * hops[asked].mean()
        if self._supports:
            loss = loss + _SUPPORT * _astray(output.trace.weights, examples)
        return loss

    @torch.no_grad()
    def valid_errors(self) -> dict[str, float]:
        """The share of questions of each valid file whose whole answer is not right."""
        errors: dict[str, float] = {}
        for task, examples in self._valid.items():
            right = asked = 0
            for chosen in _in_batches(examples):
                batch = self._joined(chosen)
                logits = self._model(batch).decoded.logits
                real = batch.questions[..., 0] != PADDING
                right += int((right_answers(logits, batch.answers) & real).sum())
                asked += int(real.sum())
            errors[task] = 1 - right / asked
        return errors

    def state(self) -> dict[str, Any]:
        """The running training errors."""
        return dict(self._sampler.errors)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from running training errors."""
        self._sampler.errors = dict(state)

    def _example(self, task: str, story: Story) -> _Example:
        supports = [question.supports for question in story.questions]
        return _Example(task, self._model.numbers(asked_story(story)), supports)

    def _joined(self, examples: Sequence[_Example]) -> StoryBatch:
        batch = joined([example.numbers for example in examples])
        return batch.to(self._model.kinds.device)

    def _note(self, examples: Sequence[_Example], right: Tensor, asked: Tensor) -> None:
        """Update the running training errors."""
        wrong = (~right & asked).sum(dim=1).tolist()
        counts = asked.sum(dim=1).tolist()
        for task in {example.task for example in examples}:
            rows = [row for row, example in enumerate(examples) if example.task == task]
            error = sum(wrong[row] for row in rows) / max(1, sum(counts[row] for row in rows))
            self._sampler.note(task, error)


def right_answers(logits: Tensor, answers: Tensor) -> Tensor:
    """Whether each answer is right to its end: [B, Q] bool of [B, Q, L, V] and [B, Q, L]."""
    return ((logits.argmax(dim=-1) == answers) | (answers == PADDING)).all(dim=-1)


def _renaming(vocabulary: Vocabulary, data: StoryData) -> Renaming:
    words = {
        file.task: {
            word
            for story in map(asked_story, file.stories)
            for texts in (story.sentences, story.questions, story.answers)
            for text in texts
            for word in text
        }
        for file in data.train
    }
    return Renaming(read_names(BABI_NAMES), words, vocabulary)


def _renamed(example: _Example, renaming: Renaming, choice: random.Random) -> _Example:
    words = renaming.draw(example.task, choice)
    numbers = example.numbers
    return example._replace(
        numbers=numbers._replace(
            sentences=words[numbers.sentences],
            questions=words[numbers.questions],
            answers=words[numbers.answers],
        )
    )


def _astray(weights: Tensor, examples: Sequence[_Example]) -> Tensor:
    """Cross-entropy [] of the hops' mean attention and an equal share for each supporting sentence.

    Args:
        weights: [B, H, Q, N] float32, what each hop of a question attends to.
        examples: B stories.
    """
    mean = weights.mean(dim=1)
    shares = torch.zeros_like(mean)
    for row, example in enumerate(examples):
        for place, sentences in enumerate(example.supports):
            named = list(set(sentences))
            shares[row, place, named] = 1 / max(1, len(named))
    questions = shares.sum(dim=2) > 0
    loss: Tensor = -(shares * (mean + _NEARLY_NONE).log()).sum() / questions.sum().clamp(min=1)
    return loss


def _in_batches(
    examples: Sequence[_Example], choice: random.Random | None = None
) -> list[list[_Example]]:
    """Examples of one task and about one length together, at most ``_BATCH_ROWS`` rows a batch.

    The loss is a mean over a batch: among stories with eight questions each (task 17), one with a
    single question (task 16) would hardly count.
    """
    jitter = (choice.random() for _ in examples) if choice else (0.0 for _ in examples)
    keys = ((example.task, example.rows, next(jitter)) for example in examples)
    batches: list[list[_Example]] = []
    for key, example in sorted(zip(keys, examples, strict=True), key=lambda pair: pair[0]):
        task, rows, _ = key
        full = not batches or rows * (len(batches[-1]) + 1) > _BATCH_ROWS
        if full or batches[-1][0].task != task:
            batches.append([])
        batches[-1].append(example)
    return batches


def _read(path: Path, digest: Callable[[bytes], None]) -> StoryFile:
    try:
        content = path.read_bytes()
        stories = parse_stories(content.decode(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}") from error
    digest(content)
    if not any(story.questions for story in stories):
        raise InputError(f"{path} holds no question; expected '<question><tab><answer>' lines")
    return StoryFile(path.stem.rpartition("_")[0], stories)
