"""Training: models that a memory learns from its own content, and readers of short answers.

The functions stand with what they train and are imported at their first use.
"""

from typing import TYPE_CHECKING

from memnet.runtime import lazy_names

if TYPE_CHECKING:
    from memnet.documents.training.calibration import CalibrationReport, calibrate
    from memnet.documents.training.generate import reader_examples
    from memnet.documents.training.headings import heading_examples
    from memnet.documents.training.train import TextReport, train_text
    from memnet.facts.training import FactReport, train_facts
    from memnet.learning import TrainableMemory, TrainingProgress
    from memnet.learning.loop import EpochReport
    from memnet.reader.training.examples import (
        ReaderExample,
        ReaderPassage,
        read_reader_examples,
        retrieve_distractors,
    )
    from memnet.reader.training.train import ReaderReport, train_reader
    from memnet.stories.training import read_story_data, train_stories

_OF_MODULES = {
    "memnet.documents.training.calibration": "CalibrationReport calibrate",
    "memnet.documents.training.generate": "reader_examples",
    "memnet.documents.training.headings": "heading_examples",
    "memnet.documents.training.train": "TextReport train_text",
    "memnet.facts.training": "FactReport train_facts",
    "memnet.learning": "TrainableMemory TrainingProgress",
    "memnet.learning.loop": "EpochReport",
    "memnet.reader.training.examples": "ReaderExample ReaderPassage read_reader_examples "
    "retrieve_distractors",
    "memnet.reader.training.train": "ReaderReport train_reader",
    "memnet.stories.training": "read_story_data train_stories",
}
_HOMES = {name: module for module, names in _OF_MODULES.items() for name in names.split()}

__all__ = [
    "CalibrationReport",
    "EpochReport",
    "FactReport",
    "ReaderExample",
    "ReaderPassage",
    "ReaderReport",
    "TextReport",
    "TrainableMemory",
    "TrainingProgress",
    "calibrate",
    "heading_examples",
    "read_reader_examples",
    "read_story_data",
    "reader_examples",
    "retrieve_distractors",
    "train_facts",
    "train_reader",
    "train_stories",
    "train_text",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
