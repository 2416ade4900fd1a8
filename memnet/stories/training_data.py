"""Training stories: their files, and which of them, renamed, an epoch trains on."""

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from memnet.errors import InputError
from memnet.ingest.babi import Story, parse_stories
from memnet.stories.model import StoryIds
from memnet.stories.words import Vocabulary

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
        self, groups: Mapping[str, Sequence[Group]], words: Mapping[str, Iterable[str]],
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
            for task, used in ((task, set(used)) for task, used in words.items())
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
