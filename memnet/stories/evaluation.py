"""Answering the questions that stand in story files."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from memnet.config import LimitConfig
from memnet.errors import InputError
from memnet.ingest.babi import Story, looks_like_stories, may_open_stories, parse_stories
from memnet.io import open_file, read_text
from memnet.learning.evaluation import f1
from memnet.stories.answers import answer_stories
from memnet.stories.model import StoryModel, tokenize_story
from memnet.types import Evaluation

_MAX_BYTES = LimitConfig().document


def read_story_questions(path: str | os.PathLike[str]) -> list[Story] | None:
    """The stories of a file; None if it is not in the story format.

    Raises:
        InputError: it is, but has a mistake or holds no question with an answer.
    """
    try:
        with open_file(path) as file:
            if not may_open_stories(file.readline(_MAX_BYTES).decode(errors="replace")):
                return None
        text = read_text(Path(path), _MAX_BYTES)
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
        hops: at most; None for the model's own maximum.
        on_answer: called after each story.

    Returns:
        hits@1 and EM: the share of questions all of whose words are right, in their order. The
        latency is that of a story with all its questions. Recall is None: stories have no sources.
    """
    exact: list[bool] = []
    overlap: list[float] = []
    elapsed: list[float] = []
    for story in stories:
        if not story.questions:
            continue
        started = time.perf_counter()
        words = tokenize_story(story)
        (answers,) = answer_stories(model, [words], hops)
        elapsed.append((time.perf_counter() - started) * 1000)
        for right, answer in zip(words.answers, answers, strict=True):
            if right:
                exact.append(tuple(right) == answer.words)
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
