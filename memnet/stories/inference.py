"""Answers of a story model, as plain values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from memnet.device import one_thread_each
from memnet.stories.model import AskedStory, StoryModel, joined
from memnet.stories.vocabulary import split_words


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
        model: in evaluation mode, on any device.
        stories: their answers, if they have any, are not looked at.
        hops: most hops; None for the model's own number.

    Returns:
        For each story the answers to its questions.
    """
    blank = [story._replace(answers=[()] * len(story.questions)) for story in stories]
    with one_thread_each:
        batch = joined([model.numbers(story) for story in blank])
        output = model(batch.to(model.kinds.device), hops=hops)
    best, numbers = output.decoded.logits.log_softmax(dim=-1).max(dim=-1)
    attention = output.trace.weights.transpose(1, 2).cpu().numpy()
    halting = output.trace.halting.transpose(1, 2).cpu().numpy()
    alignments = output.decoded.alignments.cpu().numpy()
    answers: list[list[StoryAnswer]] = []
    for row, (story, logs, words) in enumerate(
        zip(stories, best.tolist(), numbers.tolist(), strict=True)
    ):
        count = len(story.sentences)
        answers.append([])
        for place, question in enumerate(story.questions):
            spelled = model.vocabulary.spelled(words[place])
            answers[-1].append(
                StoryAnswer(
                    words=tuple(spelled),
                    probability=math.exp(sum(logs[place][: len(spelled) + 1])),
                    attention=attention[row, place, :, :count],
                    halting=halting[row, place],
                    alignments=alignments[row, place, : len(spelled), :count],
                    unknown=tuple(model.vocabulary.unknown(question)),
                )
            )
    return answers


def ask_story(
    model: StoryModel, sentences: Sequence[str], question: str, hops: int | None = None
) -> StoryAnswer:
    """Answer one question after the last of some sentences."""
    story = AskedStory(
        [split_words(sentence) for sentence in sentences], [split_words(question)], [len(sentences)]
    )
    return answer_stories(model, [story], hops)[0][0]
