"""Progress of a training, for whoever waits for it."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

Item = TypeVar("Item")


class TrainingProgress(NamedTuple):
    """Progress of one stage of a training."""

    stage: str
    """What is being done, such as "training"."""
    examples: int
    """Processed since the stage began, or since a stopped run was resumed."""
    share: float
    """Of the whole stage that is done, 0..1."""
    loss: float | None = None
    """Mean of the epoch so far; None where nothing is learned."""


OnProgress: TypeAlias = Callable[[TrainingProgress], None]


def no_progress(_: TrainingProgress) -> None:
    """Report nothing."""


def counted(items: Sequence[Item], stage: str, on_progress: OnProgress) -> Iterator[Item]:
    """The same items; reports before the first and after each."""
    on_progress(TrainingProgress(stage, 0, 0.0))
    for number, item in enumerate(items, start=1):
        yield item
        on_progress(TrainingProgress(stage, number, number / len(items)))
