"""Answers of a story model, as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from memnet.encoders.vocabulary import END, split_words
from memnet.models.story import AskedStory, StoryModel, StoryOutput, joined


@dataclass(frozen=True)
class StoryAnswer:
    """What a story model answers to a question. N = sentences of its story."""

    words: tuple[str, ...]
    probability: float
    """Of these words, by the model: how sure it is, which is not how often it is right."""
    attention: NDArray[np.float32]
    """[H, N]: what each hop attended to."""
    halting: NDArray[np.float32]
    """[H]: how probable it was that the answer needed this many hops."""
    alignments: NDArray[np.float32]
    """[L, N]: the sentences that each word was read from."""
    unknown: tuple[str, ...]
    """Words of the question that the model never saw in training."""


@torch.no_grad()
def answer_stories(
    model: StoryModel, stories: Sequence[AskedStory], hops: int | None = None
) -> list[list[StoryAnswer]]:
    """Answer the questions of some stories, all in one batch.

    Args:
        model: in evaluation mode.
        stories: their answers, if they have any, are not looked at.
        hops: most hops; None for the model's own number.

    Returns:
        For each story the answers to its questions.
    """
    blank = [story._replace(answers=[()] * len(story.questions)) for story in stories]
    output = model(joined([model.numbers(story) for story in blank]), hops=hops)
    return [
        [_answer(model, output, story, row, place) for place in range(len(story.questions))]
        for row, story in enumerate(stories)
    ]


def _answer(
    model: StoryModel, output: StoryOutput, story: AskedStory, row: int, place: int
) -> StoryAnswer:
    scores = output.decoded.logits[row, place].log_softmax(dim=-1)
    best, numbers = scores.max(dim=-1)
    listed = numbers.tolist()
    length = listed.index(END) if END in listed else len(listed)
    count = len(story.sentences)
    return StoryAnswer(
        words=tuple(model.vocabulary.spelled(listed)),
        probability=float(best[: length + 1].sum().exp()),
        attention=output.trace.weights[row, :, place, :count].numpy(),
        halting=output.trace.halting[row, :, place].numpy(),
        alignments=output.decoded.alignments[row, place, :length, :count].numpy(),
        unknown=tuple(model.vocabulary.unknown(story.questions[place])),
    )


def ask_story(
    model: StoryModel, sentences: Sequence[str], question: str, hops: int | None = None
) -> StoryAnswer:
    """Answer one question after the last of some sentences."""
    story = AskedStory(
        [split_words(sentence) for sentence in sentences], [split_words(question)], [len(sentences)]
    )
    return answer_stories(model, [story], hops)[0][0]
