"""The excerpts of conversations that are read for a question."""

from typing import Any
from unittest.mock import patch

from memnet import Engine
from memnet.documents import answers
from memnet.documents.excerpts import Excerpt, excerpt_of
from memnet.reader.answers import Prediction


def excerpts_read(engine: Engine, question: str) -> list[Excerpt]:
    """What is read when the question is asked; the answer is that without it."""
    found: list[Excerpt] = []

    def look_at(asked: Any, passages: Any, *others: Any) -> Prediction:
        if (excerpt := excerpt_of(asked, passages)) is not None:
            found.append(excerpt)
        read: Prediction = others[-1]
        return read

    with patch.object(answers, "read_excerpts", look_at):
        engine.ask(question)
    return found
