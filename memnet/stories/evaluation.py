"""Answering the questions that stand in story files."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from memnet.config import LimitConfig
from memnet.errors import InputError
from memnet.evaluation.metrics import f1
from memnet.files import open_file, read_text
from memnet.ingest.babi import Story, looks_like_stories, opens_like_a_story, parse_stories
from memnet.stories.inference import answer_stories
from memnet.stories.model import StoryModel, asked_story
from memnet.types import Evaluation

_LONGEST = LimitConfig().document


def read_story_questions(path: str | os.PathLike[str]) -> list[Story] | None:
    """The stories of a file; None if it is not in the story format.

    Raises:
        InputError: it is, but has a mistake or holds no question with an answer.
    """
    try:
        with open_file(path) as file:
            if not opens_like_a_story(file.readline(_LONGEST).decode(errors="replace")):
                return None
        text = read_text(Path(path), _LONGEST)
    except (OSError, ValueError, InputError) as error:
        raise InputError(f"the question file {path} can't be read: {error}") from error
    if not looks_like_stories(text):
        return None
    stories = parse_stories(text, str(path))
    if not any(question.answers for story in stories for question in story.questions):
        raise InputError(f"{path} holds no answer; expected '<question><tab><answer>' lines")
    return stories


def evaluate_stories(
    model: StoryModel,
    stories: Sequence[Story],
    *,
    hops: int | None = None,
    on_answer: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Ask a model the questions of stories, each story by itself.

    Args:
        model: in evaluation mode.
        stories: with at least one question that has an answer.
        hops: most hops; None for the model's own number.
        on_answer: called after each story.

    Returns:
        hits@1 and EM: the share of questions all of whose words are right, in their order. The
        latency is that of a story with all its questions. Recall is None: stories have no sources.
    """
    exact: list[float] = []
    overlap: list[float] = []
    elapsed: list[float] = []
    for story in stories:
        if not story.questions:
            continue
        started = time.perf_counter()
        answers = answer_stories(model, [asked_story(story)], hops)[0]
        elapsed.append((time.perf_counter() - started) * 1000)
        for question, answer in zip(story.questions, answers, strict=True):
            if question.answers:
                right = [part.casefold() for part in question.answers]
                exact.append(float(right == list(answer.words)))
                overlap.append(f1(" ".join(answer.words), [" ".join(right)]))
        on_answer()
    mean = float(np.mean(exact))
    return Evaluation(
        n=len(exact),
        recall_at_1=None,
        recall_at_2=None,
        recall_at_5=None,
        recall_at_10=None,
        hits_at_1=mean,
        em=mean,
        f1=float(np.mean(overlap)),
        answerable_auroc=None,
        ece=None,
        latency_ms={
            "p50": float(np.percentile(elapsed, 50)),
            "p95": float(np.percentile(elapsed, 95)),
        },
    )
