"""The story model: words as ids, the network that answers, and its checkpoints."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from pydantic import BaseModel
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from memnet.checkpoints import MODEL, load_checkpoint, save_checkpoint
from memnet.checkpoints.torch_modules import arrays_of, load_module, parse_description
from memnet.errors import ModelError
from memnet.ingest.babi import Story
from memnet.stories.layers import (
    PADDING,
    Decoded,
    SentenceEncoder,
    SequenceDecoder,
    StoryHops,
    StoryModelConfig,
    StoryState,
    StoryTrace,
    causal_mask,
)

KIND = "story"  # Kind of the model, as its description gives it
UNKNOWN, END = 1, 2  # Ids of a word unseen in training, and of the end of an answer
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


class StoryIds(NamedTuple):
    """B stories as token ids, T a sentence and L an answer; a single story has no axis B."""

    sentences: Tensor  # [B, N, T] int64, padded with ``PADDING``
    questions: Tensor  # [B, Q, T] int64; all ``PADDING`` where a story has fewer questions.
    after: Tensor  # [B, Q] int64: how many sentences come before each question
    answers: Tensor  # [B, Q, L] int64, closed by ``END``; Q = 0 where the answers are not known.

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


class StoryModel(nn.Module):
    """Answers questions about stories.

    The story is read once for all of its questions: no sentence sees a later one, and no sentence
    sees a question.
    """

    def __init__(self, vocabulary: Vocabulary, config: StoryModelConfig) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.config = config
        self.encoder = SentenceEncoder(len(vocabulary), config)
        # Embeddings of the two kinds of row, sentence and question.
        self.kinds = nn.Parameter(torch.randn(2, config.width) * 0.02)
        self.dropout = nn.Dropout(config.dropout)
        self.hops = StoryHops(config)
        self.decoder = SequenceDecoder(len(vocabulary), config.width)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.kinds.device

    def forward(
        self,
        batch: StoryIds,
        teacher_forcing: bool = False,
        hops: int | None = None,
        may_halt: bool = True,
    ) -> tuple[Decoded, StoryTrace]:
        """Answer all questions of a batch, in ``hops`` at most.

        With ``teacher_forcing`` the decoder gets the words of ``batch.answers`` as it goes, and
        writes as many; else as many as the configuration says. ``may_halt``: before the last hop.
        """
        texts = torch.cat([batch.sentences, batch.questions], dim=1)
        encoded = self.encoder(texts.flatten(0, 1)).view(*texts.shape[:2], -1)
        count = batch.sentences.shape[1]
        state = StoryState(
            self.dropout(encoded[:, :count] + self.kinds[0]),
            self.dropout(encoded[:, count:] + self.kinds[1]),
        )
        causal = causal_mask(batch.sentences[:, :, 0] != PADDING, batch.after)
        trace = self.hops(state, causal, hops, may_halt)
        decoded = self.decoder(
            trace.questions,
            trace.slots,
            causal.mask[:, count:],
            self.encoder.words,
            batch.answers.shape[2] if teacher_forcing else self.config.longest_answer,
            batch.answers if teacher_forcing else None,
        )
        return decoded, trace

    def encode(self, story: StoryWords) -> StoryIds:
        """A single story as token ids; what is too long for the model is cut."""
        length = self.config.longest_sentence
        return StoryIds(
            self._ids(story.sentences, length),
            self._ids(story.questions, length),
            torch.tensor(list(story.after), dtype=torch.int64),
            self._ids(story.answers, self.config.longest_answer, END),
        )

    def _ids(self, texts: Sequence[Sequence[str]], length: int, *end: int) -> Tensor:
        """Lists of words as [len(texts), length] int64, each closed by ``end``."""
        lines = [[*self.vocabulary.encode(words[: length - len(end)]), *end] for words in texts]
        padded = [[*line, *[PADDING] * (length - len(line))] for line in lines]
        return torch.tensor(padded, dtype=torch.int64).view(len(texts), length)


class _Description(BaseModel):
    config: StoryModelConfig
    vocabulary: tuple[str, ...]


def save_story_model(folder: Path, model: StoryModel, notes: Mapping[str, Any]) -> None:
    """Save a story model with JSON values about its training; ModelError if that can't be."""
    description = {
        "kind": KIND,
        "config": model.config.model_dump(),
        "vocabulary": list(model.vocabulary.words),
        "trained": dict(notes),
    }
    save_checkpoint(folder, MODEL, arrays_of(model.state_dict()), description)


def load_story_model(folder: Path) -> StoryModel:
    """A story model as it was saved, for inference; ModelError if the folder holds no whole one."""
    arrays, description = load_checkpoint(folder, MODEL)
    if description.get("kind") != KIND:
        raise ModelError(
            f"{folder} holds a model of kind {description.get('kind')!r}, expected one for "
            "stories; give a model that 'memnet train babi' made"
        )
    return story_model_of(folder, arrays, description)


def story_model_of(
    folder: Path, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
) -> StoryModel:
    """The story model of the checkpoint in a folder; ModelError if it is not one."""
    checked = parse_description(_Description, description, folder)
    vocabulary = Vocabulary(checked.vocabulary)
    return load_module(lambda: StoryModel(vocabulary, checked.config), arrays, folder)
