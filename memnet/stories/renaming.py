"""Renaming: more stories out of given ones, by letting names change places."""

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from memnet.errors import InputError
from memnet.stories.vocabulary import Vocabulary

BABI_NAMES = Path(__file__).with_name("babi_names.txt")
"""The names of the bAbI tasks."""

Group = Sequence[Sequence[str]]
"""Items that may change places, all of one word or all of several that change together."""


def read_names(path: Path) -> dict[str, list[Group]]:
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


class Renaming:
    """Lets the names of a task change places at random."""

    def __init__(
        self, groups: Mapping[str, Sequence[Group]], words: Mapping[str, Iterable[str]],
        vocabulary: Vocabulary,
    ) -> None:  # fmt: skip
        """Number the names.

        Args:
            groups: of each task; a task without any stays as it is.
            words: that the stories of each task use: names of other tasks are left out.
            vocabulary: of the model.
        """
        self._words = len(vocabulary)
        self._groups = {
            task: [_numbers(group, set(words[task]), vocabulary) for group in groups.get(task, ())]
            for task in words
        }

    def draw(self, task: str, choice: random.Random) -> Tensor:
        """What each word becomes: [V] int64, a permutation of the vocabulary."""
        renamed = list(range(self._words))
        for group in self._groups[task]:
            changed = dict(_permuted(group, choice))
            renamed = [changed.get(word, word) for word in renamed]
        return torch.tensor(renamed)


def _numbers(group: Group, used: set[str], vocabulary: Vocabulary) -> list[list[int]]:
    """The items of a group whose first word a task uses."""
    return [vocabulary.numbers(item) for item in group if item[0] in used]


def _permuted(group: list[list[int]], choice: random.Random) -> Iterable[tuple[int, int]]:
    for item, other in zip(group, choice.sample(group, len(group)), strict=True):
        yield from zip(item, other, strict=True)
