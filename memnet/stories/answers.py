"""Answers about stories: of a model, of a store read as one story, and to questions in files."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import softmax
from memnet.config import LimitConfig, StoryConfig
from memnet.errors import InputError
from memnet.ingest.babi import Story, looks_like_stories, may_open_stories, parse_stories
from memnet.io import open_file, read_text
from memnet.learning.evaluation import f1, percentiles
from memnet.reader.passages import evidence_of
from memnet.storage import MemoryStore, Scope, Slot
from memnet.stories.network import StoryNetwork, StoryWords, tokenize, tokenize_story
from memnet.text.english import sentences
from memnet.types import Alignment, Answer, Candidate, Evaluation, Evidence, Hop, SlotWeight


@dataclass(frozen=True)
class StoryAnswer:
    """What a story model answers to a question. N = sentences of its story."""

    words: tuple[str, ...]
    probability: float  # Probability of these words by the model, not calibrated
    attention: NDArray[np.float32]  # [H, N]: what each hop attended to
    halting: NDArray[np.float32]  # [H]: how probable it was that the answer needed this many hops
    alignments: NDArray[np.float32]  # [L, N]: the sentences that each word was read from
    unknown: tuple[str, ...]  # Words of the question that are unseen in training


def answer_story(
    model: StoryNetwork, story: StoryWords, hops: int | None = None
) -> list[StoryAnswer]:
    """Answer the questions of a story."""
    read = model.read_story(story, hops)
    ids = read.logits[0].argmax(axis=-1)
    probabilities = softmax(read.logits[0]).max(axis=-1)
    answers: list[StoryAnswer] = []
    for row, question in enumerate(story.questions):
        words = model.vocabulary.decode(ids[row].tolist())
        answers.append(
            StoryAnswer(
                words=tuple(words),
                probability=float(probabilities[row, : len(words) + 1].prod()),
                attention=read.weights[0, :, row],
                halting=read.halting[0, :, row],
                alignments=read.alignments[0, row, : len(words)],
                unknown=tuple(model.vocabulary.unknown(question)),
            )
        )
    return answers


@dataclass(frozen=True)
class StoryAnswers:
    """Answers from the passages of a store, read in their order as one story.

    Abstains where the question has a word unseen in training: the model knows no others.
    """

    store: MemoryStore
    model: StoryNetwork
    name: str  # Name of the model
    config: StoryConfig

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        started = time.perf_counter()
        limit = self.config.longest
        with self.store.reading():
            slots = self.store.last_passages(limit, scope)
        story = [
            replace(slot, start=slot.start + start, end=slot.start + end, text=slot.text[start:end])
            for slot in slots
            for start, end in sentences(slot.text)
        ][-limit:]
        words = [tokenize(sentence.text) for sentence in story]
        asked = StoryWords(words, [tokenize(question)], [len(story)])
        answer = answer_story(self.model, asked, hops)[0]
        text = ",".join(answer.words)
        abstained = not story or bool(answer.unknown) or not text
        return Answer(
            question=question,
            kind="none" if abstained else "story",
            answer=None if abstained else text,
            short=None if abstained else text,
            confidence=None,
            abstained=abstained,
            candidates=() if abstained else (Candidate(text=text, score=answer.probability),),
            evidence=_evidence(story, answer, top_k),
            hops=tuple(
                Hop(hop=number, weights=_weights(story, weights, top_k))
                for number, weights in enumerate(answer.attention, start=1)
            ),
            alignments=tuple(
                Alignment(word=word, weights=_weights(story, weights, top_k))
                for word, weights in zip(answer.words, answer.alignments, strict=True)
            ),
            unknown_words=answer.unknown,
            model=self.name,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )


def _evidence(story: Sequence[Slot], answer: StoryAnswer, top_k: int) -> tuple[Evidence, ...]:
    """The sentences that some hop attended to most; a hop counts by how probably it was needed."""
    if not story:
        return ()
    needed = np.cumsum(answer.halting[::-1])[::-1]
    weighted = answer.attention * needed[:, None]
    best = weighted.max(axis=0)
    return tuple(
        evidence_of(
            replace(story[index], places=(), told=None),
            float(best[index]),
            int(weighted[:, index].argmax()) + 1,
        )
        for index in np.argsort(-best, kind="stable")[:top_k].tolist()
    )


def _weights(
    story: Sequence[Slot], weights: NDArray[np.float32], top_k: int
) -> tuple[SlotWeight, ...]:
    """The sentences that were attended to most, best first."""
    return tuple(
        SlotWeight(
            id=story[index].id,
            source=story[index].source,
            weight=float(weights[index]),
            title=story[index].text,
        )
        for index in np.argsort(-weights, kind="stable")[:top_k].tolist()
    )


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
    model: StoryNetwork,
    stories: Sequence[Story],
    *,
    hops: int | None = None,
    on_answer: Callable[[], None] = lambda: None,
) -> Evaluation:
    """Ask a model the questions of stories, each story by itself.

    Hits@1 and EM: the share of questions all of whose words are right, in their order. The latency
    is that of a story with all its questions. Recall is None: stories have no sources.
    """
    exact: list[bool] = []
    overlap: list[float] = []
    elapsed: list[float] = []
    for story in stories:
        if not story.questions:
            continue
        started = time.perf_counter()
        words = tokenize_story(story)
        answers = answer_story(model, words, hops)
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
        latency_ms=percentiles(elapsed),
    )
