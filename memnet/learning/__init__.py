"""What all trainings share: their loop, their progress, and the memory that they learn from."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from memnet.config import Config
    from memnet.encoders.protocol import Encoder
    from memnet.storage import MemoryStore

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


class TrainableMemory(Protocol):
    """What models are trained on: an ``Engine``, or anything with these parts of one."""

    @property
    def store(self) -> "MemoryStore":
        """The rows and indexes."""
        ...

    @property
    def encoder(self) -> "Encoder":
        """What made the store's vectors."""
        ...

    @property
    def config(self) -> "Config":
        """The settings."""
        ...
