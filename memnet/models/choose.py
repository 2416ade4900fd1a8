"""Which model answers: the one place that knows them all."""

import os
from collections.abc import Callable, Mapping
from typing import Protocol

from memnet.config import Config
from memnet.controllers import TextController
from memnet.device import find_device
from memnet.encoders import Encoder
from memnet.models.reader import LazyReader
from memnet.models.stored import UNTRAINED, load_model, model_folder
from memnet.models.text_answers import TextAnswers
from memnet.storage import MemoryStore
from memnet.types import Answer


class Answers(Protocol):
    """What answers questions about a memory."""

    def ask(self, question: str, hops: int | None, top_k: int, namespace: str | None) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        ...


def answers_of(
    model: str | os.PathLike[str],
    store: MemoryStore,
    encoder: Encoder,
    config: Config,
    on_read: Callable[[Mapping[int, float]], None],
    reader: LazyReader,
) -> Answers:
    """A model at work on a memory.

    Args:
        model: "untrained", the name of a shipped model, or the folder of another.
        reader: of short answers about documents.
        store: the memory.
        encoder: the one it was made with.
        config: settings.
        on_read: given the attention weights of told slots after each read.

    Raises:
        ModelError: there is no such model, or it can't be loaded.
        DeviceError: the device of the settings is not there.
    """
    untrained = str(model) == UNTRAINED
    loaded = (
        TextController(config.hop) if untrained else load_model(model_folder(model), config.hop)
    )
    if isinstance(loaded, TextController):
        return TextAnswers(store, encoder, loaded, reader, str(model), config, on_read)
    # Models of facts and of stories are torch's, which takes a second to import.
    from memnet.models.fact_answers import FactAnswers
    from memnet.models.story_answers import StoryAnswers

    if not isinstance(loaded, tuple):
        loaded.to(find_device(config.device))
        return StoryAnswers(store, loaded, str(model), config.story)
    return FactAnswers(store, encoder, *loaded, str(model), config.facts)
