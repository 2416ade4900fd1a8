"""Training: models that a memory learns from its own content, and readers of short answers.

The functions stand with what they train and are imported at their first use.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

from memnet.lazy_names import lazy_names

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


if TYPE_CHECKING:
    from memnet.config import Config
    from memnet.documents.training.calibration import CalibrationReport, calibrate
    from memnet.documents.training.generate import reader_examples
    from memnet.documents.training.train import TextReport, train_text
    from memnet.encoders import Encoder
    from memnet.facts.training import FactReport, train_facts
    from memnet.reader.training.examples import (
        ReaderExample,
        ReaderPassage,
        read_reader_examples,
        retrieve_distractors,
    )
    from memnet.reader.training.train import train_reader
    from memnet.storage import MemoryStore
    from memnet.stories.training import train_stories
    from memnet.stories.training_data import read_story_data
    from memnet.training.loop import EpochReport

_HOMES = {
    "CalibrationReport": "memnet.documents.training.calibration",
    "EpochReport": "memnet.training.loop",
    "FactReport": "memnet.facts.training",
    "ReaderExample": "memnet.reader.training.examples",
    "ReaderPassage": "memnet.reader.training.examples",
    "TextReport": "memnet.documents.training.train",
    "calibrate": "memnet.documents.training.calibration",
    "read_reader_examples": "memnet.reader.training.examples",
    "read_story_data": "memnet.stories.training_data",
    "reader_examples": "memnet.documents.training.generate",
    "retrieve_distractors": "memnet.reader.training.examples",
    "train_facts": "memnet.facts.training",
    "train_reader": "memnet.reader.training.train",
    "train_stories": "memnet.stories.training",
    "train_text": "memnet.documents.training.train",
}

__all__ = [
    "CalibrationReport",
    "EpochReport",
    "FactReport",
    "ReaderExample",
    "ReaderPassage",
    "TextReport",
    "TrainableMemory",
    "TrainingProgress",
    "calibrate",
    "read_reader_examples",
    "read_story_data",
    "reader_examples",
    "retrieve_distractors",
    "train_facts",
    "train_reader",
    "train_stories",
    "train_text",
]

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    """The public names."""
    return __all__


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
