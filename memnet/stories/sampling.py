"""How much of each task an epoch trains on."""

import random
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

_EPOCH_ROWS = 240_000
"""Sentences and questions that an epoch trains on."""
_MOST_PASSES = 8.0
"""Over a task's examples in an epoch."""
_LEAST_ERROR = 0.005
"""A task whose training error is lower is trained on as if it were this."""
_MEMORY = 0.95
"""Of the running training error, kept at each batch."""


class TaskExample(Protocol):
    """An example of one of several tasks."""

    @property
    def task(self) -> str:
        """The task's name."""
        ...

    @property
    def rows(self) -> int:
        """How much work it is."""
        ...


Example = TypeVar("Example", bound=TaskExample)


class TaskSampler:
    """Shares each epoch among tasks: the larger a task's running training error, the more of it.

    Rows are shared by the square root of the error. One pass over all examples would spend most
    of its time on the tasks with the longest examples, and little on the hard ones.
    """

    def __init__(self, rows: Mapping[str, int]) -> None:
        """Set up for tasks with so many rows of examples."""
        self._rows = dict(rows)
        self.errors = dict.fromkeys(rows, 1.0)
        """Running training error of each task, 0..1."""

    def passes(self) -> dict[str, float]:
        """How often the next epoch goes over each task's examples."""
        shares = {task: max(error, _LEAST_ERROR) ** 0.5 for task, error in self.errors.items()}
        unit = _EPOCH_ROWS / sum(shares.values())
        return {
            task: min(_MOST_PASSES, unit * share / self._rows[task])
            for task, share in shares.items()
        }

    def chosen(self, examples: Sequence[Example], choice: random.Random) -> list[Example]:
        """The examples of an epoch, some several times."""
        passes = self.passes()
        return [
            example
            for example in examples
            for _ in range(int(passes[example.task] + choice.random()))
        ]

    def note(self, task: str, error: float) -> None:
        """Take a batch's share of wrong answers, 0..1, into a task's running error."""
        self.errors[task] = _MEMORY * self.errors[task] + (1 - _MEMORY) * error
