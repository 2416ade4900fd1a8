"""Stories as words with ids, and the sizes of a model of stories."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from pydantic import Field, model_validator

from memnet.config import Settings
from memnet.ingest.babi import Story

KIND = "story"  # Kind of the model, as its description gives it
# Ids of no word, of a word unseen in training, and of the end of an answer.
PADDING, UNKNOWN, END = 0, 1, 2
_SPECIAL = ("<padding>", "<unknown>", "<end>")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def tokenize(text: str) -> list[str]:
    """The words of a text in their order, case-folded, without punctuation."""
    return _WORD.findall(text.casefold())


class StoryWords(NamedTuple):
    """Words of a story and of its questions."""

    sentences: Sequence[Sequence[str]]
    questions: Sequence[Sequence[str]]
    after: Sequence[int]  # Number of sentences before each question
    answers: Sequence[Sequence[str]] = ()  # One for each question, in training


def tokenize_story(story: Story) -> StoryWords:
    """A story and its questions as words; each part of an answer is one word of it."""
    return StoryWords(
        [tokenize(sentence) for sentence in story.sentences],
        [tokenize(question.text) for question in story.questions],
        [question.after for question in story.questions],
        [[part.casefold() for part in question.answers] for question in story.questions],
    )


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


class StoryModelConfig(Settings):
    """The sizes of a story model."""

    width: int = Field(default=128, ge=2, le=4096)
    heads: int = Field(default=8, ge=1, le=64)
    inner: int = Field(default=256, ge=1, le=16384)
    hops: int = Field(default=6, ge=1, le=100)  # Reads of the story, at most
    blocks: int = Field(default=3, ge=1, le=100)  # Hops with weights of their own, which take turns
    queries: int = Field(default=8, ge=1, le=1024)  # Learned queries that read a sentence
    longest_sentence: int = Field(default=16, ge=1, le=4096)  # Words
    longest_answer: int = Field(default=4, ge=1, le=1024)  # Words, and the end
    dropout: float = Field(default=0.05, ge=0, lt=1)  # Dropout of encoded sentences, while training

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} can't be split into {self.heads} equal heads")
        return self
