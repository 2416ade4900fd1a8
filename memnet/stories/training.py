"""The story preset: learns to answer questions about stories from files in the bAbI format."""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from memnet.errors import InputError
from memnet.ingest.babi import Story, parse_stories
from memnet.learning import OnProgress, no_progress
from memnet.learning.loop import EpochReport, Training, TrainingConfig, seeded, using_threads
from memnet.stories.model import StoryIds, StoryModel, collate, save_story_model
from memnet.stories.network import (
    PADDING,
    UNKNOWN,
    StoryModelConfig,
    Vocabulary,
    story_words,
    tokenize_story,
)

BABI_NAMES = Path(__file__).with_name("babi_names.txt")  # The names of the bAbI tasks
# Sentences and questions of a batch, padding included. It is the number of updates that counts:
# path finding (task 19) stayed at chance for ten epochs of 512 and was learned in ten of 256.
_BATCH_ROWS = 256
_EPOCH_ROWS = 240_000  # Sentences and questions that an epoch trains on
_MAX_PASSES = 8.0  # Over a task's examples in an epoch
_MIN_ERROR = 0.005  # A task whose training error is lower is trained on as if it were this
_DECAY = 0.95  # Decay of the running training error at each batch

# Items that may be permuted: all of one word, or all of several that change together.
Group = Sequence[Sequence[str]]


class StoryData(NamedTuple):
    """Training and valid stories of a folder, by their task, such as ``qa1``."""

    train: Mapping[str, Sequence[Story]]
    valid: Mapping[str, Sequence[Story]]
    digest: str  # sha256 over the contents of all files


def read_story_data(folder: Path) -> StoryData:
    """The files ``<task>_train.txt`` and ``<task>_valid.txt`` of a folder.

    Raises:
        InputError: there are none of a kind, or one has a mistake.
    """
    digest = hashlib.sha256()
    tasks: dict[str, dict[str, list[Story]]] = {"train": {}, "valid": {}}
    for split, stories in tasks.items():
        for path in sorted(folder.glob(f"*_{split}.txt")):
            try:
                content = path.read_bytes()
                parsed = parse_stories(content.decode(), str(path))
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"{path} can't be read: {error}") from error
            if not any(story.questions for story in parsed):
                raise InputError(
                    f"{path} holds no question; expected '<question><tab><answer>' lines"
                )
            digest.update(content)
            stories[path.stem.removesuffix(f"_{split}")] = parsed
        if not stories:
            raise InputError(
                f"{folder} holds no file named <task>_{split}.txt; expected bAbI stories, one "
                "file a task and split"
            )
    return StoryData(**tasks, digest=digest.hexdigest())


class StoryExample(NamedTuple):
    """A story as it is trained on."""

    task: str
    ids: StoryIds
    # The sentences that support the answer to each question, where the file names them.
    supports: Sequence[Sequence[int]]

    @property
    def rows(self) -> int:
        """Sentences and questions."""
        return len(self.ids.sentences) + len(self.ids.questions)


class TaskSampler:
    """Shares each epoch among tasks: the larger a task's running training error, the more of it.

    Rows are shared by the square root of the error. One pass over all examples would spend most
    of its time on the tasks with the longest examples, and little on the hard ones.
    """

    def __init__(self, rows: Mapping[str, int]) -> None:
        self._rows = dict(rows)
        self.errors = dict.fromkeys(rows, 1.0)  # Running training error of each task, 0..1

    def passes(self) -> dict[str, float]:
        """How often the next epoch goes over each task's examples."""
        shares = {task: max(error, _MIN_ERROR) ** 0.5 for task, error in self.errors.items()}
        unit = _EPOCH_ROWS / sum(shares.values())
        return {
            task: min(_MAX_PASSES, unit * share / self._rows[task])
            for task, share in shares.items()
        }

    def sample(self, examples: Sequence[StoryExample], rng: random.Random) -> list[StoryExample]:
        """The examples of an epoch, some several times."""
        passes = self.passes()
        return [
            example for example in examples for _ in range(int(passes[example.task] + rng.random()))
        ]

    def update(self, task: str, error: float) -> None:
        """Take a batch's share of wrong answers, 0..1, into a task's running error."""
        self.errors[task] = _DECAY * self.errors[task] + (1 - _DECAY) * error


def in_batches(
    examples: Sequence[StoryExample], rng: random.Random | None = None
) -> list[list[StoryExample]]:
    """Examples of one task and about one length together, at most ``_BATCH_ROWS`` rows a batch.

    The loss is a mean over a batch: among stories with eight questions each (task 17), one with a
    single question (task 16) would hardly count.

    ``rng`` decides the order of examples of one length; None keeps it.
    """
    keyed = [
        (example.task, example.rows, rng.random() if rng else index, example)
        for index, example in enumerate(examples)
    ]
    batches: list[list[StoryExample]] = []
    for task, rows, _, example in sorted(keyed, key=lambda item: item[:3]):
        full = not batches or rows * (len(batches[-1]) + 1) > _BATCH_ROWS
        if full or batches[-1][0].task != task:
            batches.append([])
        batches[-1].append(example)
    return batches


def read_name_groups(path: Path) -> dict[str, list[Group]]:
    """The groups of names of each task in a file of lines ``<tasks>: <items>``.

    Raises:
        InputError: a line has no tasks, fewer than two items, or items of unequal length.
    """
    groups: dict[str, list[Group]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        tasks, _, items = line.partition(":")
        group = [item.split("/") for item in items.split()]
        if not tasks.split() or len(group) < 2 or len(set(map(len, group))) > 1:
            raise InputError(f"{path}, line {number}: expected '<tasks>: <item> <item> ...'")
        for task in tasks.split():
            groups.setdefault(task, []).append(group)
    return groups


class NameShuffler:
    """Augments stories: permutes the names of a task at random."""

    def __init__(
        self, groups: Mapping[str, Sequence[Group]], words: Mapping[str, Collection[str]],
        vocabulary: Vocabulary,
    ) -> None:  # fmt: skip
        """Look up the ids of names in a model's vocabulary.

        A task without ``groups`` stays as it is; names are left out that are not among the
        ``words`` that the stories of a task use.
        """
        self._size = len(vocabulary)
        self._groups = {
            task: [
                [vocabulary.encode(item) for item in group if item[0] in used]
                for group in groups.get(task, ())
            ]
            for task, used in words.items()
        }

    def draw(self, task: str, rng: random.Random) -> Tensor:
        """What each word becomes: [V] int64, a permutation of the vocabulary."""
        renamed = list(range(self._size))
        for group in self._groups[task]:
            changed: dict[int, int] = {}
            for item, other in zip(group, rng.sample(group, len(group)), strict=True):
                changed.update(zip(item, other, strict=True))
            renamed = [changed.get(word, word) for word in renamed]
        return torch.tensor(renamed)

    def rename(self, example: StoryExample, rng: random.Random) -> StoryExample:
        """An example with the names of its task permuted."""
        renamed = self.draw(example.task, rng)
        sentences, questions, after, answers = example.ids
        ids = StoryIds(renamed[sentences], renamed[questions], after, renamed[answers])
        return example._replace(ids=ids)


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
        self, model: StoryModel, data: StoryData, seed: int, supports: bool, renaming: bool
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
        wrong = ~right_answers(read.logits, answers) & is_question
        # All examples of a batch are of one task.
        error = int(wrong.sum()) / max(1, int(is_question.sum()))
        self._sampler.update(examples[0].task, error)
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
        batch = collate([example.ids for example in examples])
        return StoryIds(*(part.to(self._model.kinds.device) for part in batch))


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
