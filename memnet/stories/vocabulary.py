"""Stories as words and as token ids."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from memnet.ingest.babi import Story

PADDING, UNKNOWN, END = 0, 1, 2
"""Ids of no word, of a word unseen in training, and of the end of an answer."""
_SPECIAL = ("<padding>", "<unknown>", "<end>")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def tokenize(text: str) -> list[str]:
    """The words of a text in their order, case-folded, without punctuation."""
    return _WORD.findall(text.casefold())


class StoryWords(NamedTuple):
    """Words of a story and of its questions."""

    sentences: Sequence[Sequence[str]]
    questions: Sequence[Sequence[str]]
    after: Sequence[int]
    """For each question the number of sentences before it."""
    answers: Sequence[Sequence[str]] = ()
    """One for each question, in training."""


def tokenize_story(story: Story) -> StoryWords:
    """A story and its questions as words; each part of an answer is one word of it."""
    return StoryWords(
        [tokenize(sentence) for sentence in story.sentences],
        [tokenize(question.text) for question in story.questions],
        [question.after for question in story.questions],
        [[part.casefold() for part in question.answers] for question in story.questions],
    )


class StoryIds(NamedTuple):
    """B stories as token ids, T a sentence and L an answer; a single story has no axis B."""

    sentences: Tensor
    """[B, N, T] int64, padded with ``PADDING``."""
    questions: Tensor
    """[B, Q, T] int64; all ``PADDING`` where a story has fewer questions."""
    after: Tensor
    """[B, Q] int64: how many sentences come before each question."""
    answers: Tensor
    """[B, Q, L] int64, closed by ``END``; Q = 0 where the answers are not known."""

    def to(self, device: torch.device) -> "StoryIds":
        """The same on a device."""
        return StoryIds(*(tensor.to(device) for tensor in self))


def collate(stories: Sequence[StoryIds]) -> StoryIds:
    """Single stories as a batch, padded to the most sentences and to the longest sentence."""
    sentences, questions, after, answers = (
        pad_sequence(list(parts), batch_first=True, padding_value=PADDING)
        for parts in zip(*stories, strict=True)
    )
    used = torch.cat([sentences, questions], dim=1).ne(PADDING).any(dim=0).any(dim=0)
    length = max(1, int(used.sum()))
    return StoryIds(sentences[..., :length], questions[..., :length], after, answers)


class Vocabulary:
    """Words with their ids."""

    def __init__(self, words: Sequence[str]) -> None:
        """Number ``words`` in their order, after the special ones."""
        self.words = tuple(words)
        self._all = (*_SPECIAL, *self.words)
        self._ids = {word: number for number, word in enumerate(self._all)}

    @classmethod
    def from_stories(cls, stories: Iterable[StoryWords]) -> "Vocabulary":
        """The vocabulary of some stories, their questions and answers, in alphabetical order."""
        return cls(sorted(set[str]().union(*map(story_words, stories))))

    def __len__(self) -> int:
        return len(self._all)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The id of each word; ``UNKNOWN`` for those that are not in the vocabulary."""
        return [self._ids.get(word, UNKNOWN) for word in words]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of an answer up to its end."""
        words: list[str] = []
        for number in ids:
            if number in (END, PADDING):
                break
            words.append(self._all[number])
        return words

    def unknown(self, words: Iterable[str]) -> list[str]:
        """Words that are not in the vocabulary, each once, in their order."""
        return list(dict.fromkeys(word for word in words if word not in self._ids))


def story_words(story: StoryWords) -> set[str]:
    """All words of a story, its questions and answers."""
    texts = (*story.sentences, *story.questions, *story.answers)
    return {word for text in texts for word in text}
