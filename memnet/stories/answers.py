"""Answers about a story: what is stored, read in its order by a trained model."""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.config import StoryConfig
from memnet.storage import MemoryStore, Scope, Slot
from memnet.stories.inference import StoryAnswer, ask_story
from memnet.stories.model import StoryModel
from memnet.text.sentences import sentences
from memnet.types import Alignment, Answer, Candidate, Evidence, Hop, SlotWeight


class _Sentence(NamedTuple):
    slot: Slot
    start: int
    """Of the sentence in the text of its slot."""
    text: str


class StoryAnswers:
    """Answers from the passages of a store, read in their order as one story.

    A question with a word that the model never saw in training is not answered: its words are all
    that the model knows.
    """

    def __init__(
        self, store: MemoryStore, model: StoryModel, name: str, config: StoryConfig
    ) -> None:
        """Join a memory and a model in evaluation mode, known by ``name``."""
        self._store = store
        self._model = model
        self._name = name
        self._config = config

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        started = time.perf_counter()
        longest = self._config.longest
        with self._store.reading():
            slots = self._store.last_passages(longest, scope)
        story = [sentence for slot in slots for sentence in _sentences(slot)][-longest:]
        answer = ask_story(self._model, [sentence.text for sentence in story], question, hops)
        text = ",".join(answer.words)
        abstained = not story or bool(answer.unknown) or not text
        return Answer(
            question=question,
            answer=None if abstained else text,
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
                for word, weights in zip(answer.words, answer.alignments, strict=False)
            ),
            unknown_words=answer.unknown,
            model=self._name,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )


def _sentences(slot: Slot) -> list[_Sentence]:
    return [_Sentence(slot, start, slot.text[start:end]) for start, end in sentences(slot.text)]


def _evidence(story: Sequence[_Sentence], answer: StoryAnswer, top_k: int) -> tuple[Evidence, ...]:
    """The sentences that some hop attended to most; a hop counts as it was needed."""
    if not story:
        return ()
    needed = np.cumsum(answer.halting[::-1])[::-1]
    weighted = answer.attention * needed[:, None]
    best = weighted.max(axis=0)
    return tuple(
        Evidence(
            id=story[place].slot.id,
            kind="passage",
            source=story[place].slot.source,
            title=story[place].slot.title,
            start=story[place].slot.start + story[place].start,
            end=story[place].slot.start + story[place].start + len(story[place].text),
            text=story[place].text,
            score=float(best[place]),
            hop=int(weighted[:, place].argmax()) + 1,
        )
        for place in np.argsort(-best, kind="stable")[:top_k].tolist()
    )


def _weights(
    story: Sequence[_Sentence], weights: NDArray[np.float32], most: int
) -> tuple[SlotWeight, ...]:
    """The sentences that were attended to most, best first."""
    return tuple(
        SlotWeight(
            id=story[place].slot.id,
            source=story[place].slot.source,
            weight=float(weights[place]),
            title=story[place].text,
        )
        for place in np.argsort(-weights, kind="stable")[:most].tolist()
    )
