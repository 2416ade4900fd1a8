"""The story model: sentences in their order, hops over them, and an answer word by word."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from memnet.config import Settings
from memnet.ingest.babi import Story
from memnet.stories.controller import StoryState, reach
from memnet.stories.decoder import Decoded, SequenceDecoder
from memnet.stories.encoder import SentenceEncoder
from memnet.stories.hops import StoryHops, StoryTrace
from memnet.stories.vocabulary import END, PADDING, Vocabulary, split_words


class StoryModelConfig(Settings):
    """The sizes of a story model."""

    width: int = Field(default=128, ge=2, le=4096)
    heads: int = Field(default=8, ge=1, le=64)
    inner: int = Field(default=256, ge=1, le=16384)
    hops: int = Field(default=6, ge=1, le=100)
    """Most reads of the story."""
    blocks: int = Field(default=3, ge=1, le=100)
    """Hops with weights of their own, which take turns."""
    queries: int = Field(default=8, ge=1, le=1024)
    """Learned queries that read a sentence."""
    longest_sentence: int = Field(default=16, ge=1, le=4096)
    """Words."""
    longest_answer: int = Field(default=4, ge=1, le=1024)
    """Words, and the end."""
    dropout: float = Field(default=0.05, ge=0, lt=1)
    """Of the encoded sentences, while training."""


class StoryBatch(NamedTuple):
    """Stories with their questions, as numbers. T = longest sentence, L = longest answer."""

    sentences: Tensor
    """[B, N, T] int64."""
    questions: Tensor
    """[B, Q, T] int64; all ``PADDING`` where a story has fewer questions."""
    after: Tensor
    """[B, Q] int64: how many sentences come before each question."""
    answers: Tensor
    """[B, Q, L] int64, with ``END``; all ``PADDING`` where the answer is not known."""

    def to(self, device: torch.device) -> "StoryBatch":
        """The same on a device."""
        return StoryBatch(*(tensor.to(device) for tensor in self))


class AskedStory(NamedTuple):
    """Words of a story and of what is asked about it."""

    sentences: Sequence[Sequence[str]]
    questions: Sequence[Sequence[str]]
    after: Sequence[int]
    answers: Sequence[Sequence[str]] = ()
    """One for each question, in training."""


class StoryOutput(NamedTuple):
    """What the model makes of a batch."""

    trace: StoryTrace
    decoded: Decoded


class StoryModel(nn.Module):
    """Answers questions about stories.

    The story is read once for all of its questions: no sentence sees a later one, and no sentence
    sees a question.
    """

    def __init__(self, vocabulary: Vocabulary, config: StoryModelConfig) -> None:
        """Make a model with untrained weights."""
        super().__init__()
        self.vocabulary = vocabulary
        self.config = config
        width = config.width
        self.encoder = SentenceEncoder(
            len(vocabulary), width, config.queries, config.longest_sentence
        )
        self.kinds = nn.Parameter(torch.randn(2, width) * 0.02)
        self.dropout = nn.Dropout(config.dropout)
        self.hops = StoryHops(width, config.heads, config.inner, config.hops, config.blocks)
        self.decoder = SequenceDecoder(len(vocabulary), width)

    def forward(
        self,
        batch: StoryBatch,
        teach: bool = False,
        hops: int | None = None,
        halting: bool = True,
    ) -> StoryOutput:
        """Answer all questions of a batch.

        Args:
            batch: stories and questions.
            teach: give the decoder the right words of ``batch.answers`` as it goes.
            hops: most hops; None for the model's own number.
            halting: whether questions may halt before the last hop.
        """
        asked = torch.cat([batch.sentences, batch.questions], dim=1)
        encoded = self.encoder(asked.flatten(0, 1)).view(*asked.shape[:2], -1)
        count = batch.sentences.shape[1]
        state = StoryState(
            self.dropout(encoded[:, :count] + self.kinds[0]),
            self.dropout(encoded[:, count:] + self.kinds[1]),
        )
        within = reach(batch.sentences[:, :, 0] != PADDING, batch.after)
        trace = self.hops(state, within, hops, halting)
        decoded = self.decoder(
            trace.questions,
            trace.slots,
            within.mask[:, count:],
            self.encoder.words,
            batch.answers.shape[2],
            batch.answers if teach else None,
        )
        return StoryOutput(trace, decoded)

    def numbers(self, story: AskedStory) -> StoryBatch:
        """A story as a batch of one; what is too long for the model is cut."""
        longest = self.config.longest_sentence
        return StoryBatch(
            self._numbers(story.sentences, longest),
            self._numbers(story.questions, longest),
            torch.tensor([list(story.after)], dtype=torch.int64),
            self._numbers(story.answers, self.config.longest_answer, END),
        )

    def _numbers(self, texts: Sequence[Sequence[str]], longest: int, *end: int) -> Tensor:
        """Lists of words as [1, len(texts), longest] int64, each closed by ``end``."""
        lines = [[*self.vocabulary.numbers(words[: longest - len(end)]), *end] for words in texts]
        padded = [[*line, *[PADDING] * (longest - len(line))] for line in lines]
        return torch.tensor(padded, dtype=torch.int64).view(1, len(texts), longest)


def asked_story(story: Story) -> AskedStory:
    """A story and its questions as words; each part of an answer is one word of it."""
    return AskedStory(
        [split_words(sentence) for sentence in story.sentences],
        [split_words(question.text) for question in story.questions],
        [question.after for question in story.questions],
        [[part.casefold() for part in question.answers] for question in story.questions],
    )


def joined(batches: Sequence[StoryBatch]) -> StoryBatch:
    """Batches as one, padded to the most sentences and questions, and no longer than their words.

    Answers keep their width, since a model writes as many words as they are wide.
    """
    sentences, questions, after, answers = (
        _stacked([batch[part] for batch in batches]) for part in range(4)
    )
    words = torch.cat([sentences, questions], dim=1).ne(PADDING).any(dim=0).any(dim=0)
    longest = max(1, int(words.sum()))
    return StoryBatch(sentences[..., :longest], questions[..., :longest], after, answers)


def _stacked(tensors: Sequence[Tensor]) -> Tensor:
    """[B_i, R_i, ...] tensors as one, with rows of ``PADDING`` to the most rows."""
    rows = max(tensor.shape[1] for tensor in tensors)
    return torch.cat(
        [
            nn.functional.pad(tensor, (*[0, 0] * (tensor.dim() - 2), 0, rows - tensor.shape[1]))
            for tensor in tensors
        ]
    )
