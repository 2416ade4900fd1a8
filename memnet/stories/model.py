"""The story model in torch, for learning; ``StoryNetwork`` uses its weights."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from memnet.attention import FixedAttention, MultiHeadAttention
from memnet.checkpoints import MODEL, save_checkpoint
from memnet.learning.loop import arrays_of
from memnet.stories.network import (
    END,
    KIND,
    PADDING,
    StoryModelConfig,
    StoryNetwork,
    StoryReading,
    StoryWords,
    Vocabulary,
)


class SentenceEncoder(nn.Module):
    """Words to one vector a sentence."""

    def __init__(self, words: int, config: StoryModelConfig) -> None:
        super().__init__()
        width = config.width
        # Checkpoints name tensors by these attributes; ``places`` are position embeddings.
        self.words = nn.Embedding(words, width, padding_idx=PADDING)
        nn.init.normal_(self.words.weight, std=0.1)
        self.places = nn.Parameter(torch.randn(config.longest_sentence, width) * 0.02)
        self.norm = nn.LayerNorm(width)
        self.values = nn.Linear(width, width // 2)
        self.attention = FixedAttention(width, config.queries)
        self.join = nn.Linear(config.queries * (width // 2), width)
        self.join_norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 2 * width)
        self.contract = nn.Linear(2 * width, width)


class StoryHop(nn.Module):
    """One hop: each head prefers recent sentences by a slope of its own."""

    def __init__(self, config: StoryModelConfig) -> None:
        super().__init__()
        width, heads = config.width, config.heads
        self.attention_norm = nn.LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads)
        self.recency = nn.Parameter(torch.linspace(-8.0, 0.0, heads))
        self.update_norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, config.inner)
        self.contract = nn.Linear(config.inner, width)


class Halting(nn.Module):
    """How probable it is that a question has read enough; untrained 0.007."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.score = nn.Linear(width, 1)
        nn.init.constant_(self.score.bias, -5.0)


class StoryHops(nn.Module):
    """Hops with weights of their own, which take turns."""

    def __init__(self, config: StoryModelConfig) -> None:
        super().__init__()
        self.hops = nn.ModuleList(StoryHop(config) for _ in range(config.blocks))
        self.steps = nn.Parameter(torch.randn(config.hops, config.width) * 0.02)
        self.norm = nn.LayerNorm(config.width)
        self.halting = Halting(config.width)


class SequenceDecoder(nn.Module):
    """A recurrent decoder with attention over the slots that were read."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(width))
        self.cell = nn.GRUCell(2 * width, width)
        self.query = nn.Linear(width, width)
        self.join = nn.Linear(2 * width, width)
        self.output = nn.Linear(width, words)


class StoryIds(NamedTuple):
    """B stories as token ids, T a sentence and L an answer; a single story has no axis B."""

    sentences: Tensor  # [B, N, T] int64, padded with ``PADDING``
    questions: Tensor  # [B, Q, T] int64; all ``PADDING`` where a story has fewer questions.
    after: Tensor  # [B, Q] int64: how many sentences come before each question
    answers: Tensor  # [B, Q, L] int64, closed by ``END``; Q = 0 where the answers are not known.


def collate(stories: Sequence[StoryIds]) -> StoryIds:
    """Single stories as a batch, padded to the most sentences and to the longest sentence."""
    sentences, questions, after, answers = (
        pad_sequence(list(parts), batch_first=True, padding_value=PADDING)
        for parts in zip(*stories, strict=True)
    )
    used = torch.cat([sentences, questions], dim=1).ne(PADDING).any(dim=0).any(dim=0)
    length = max(1, int(used.sum()))
    return StoryIds(sentences[..., :length], questions[..., :length], after, answers)


class StoryModel(nn.Module):
    """The weights of a ``StoryNetwork`` as a module of torch."""

    def __init__(self, vocabulary: Vocabulary, config: StoryModelConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = SentenceEncoder(len(vocabulary), config)
        # Embeddings of the two kinds of row, sentence and question.
        self.kinds = nn.Parameter(torch.randn(2, config.width) * 0.02)
        self.dropout = nn.Dropout(config.dropout)
        self.hops = StoryHops(config)
        self.decoder = SequenceDecoder(len(vocabulary), config.width)
        self.network = StoryNetwork(dict(self.named_parameters()), vocabulary, config, self)

    def forward(
        self, batch: StoryIds, teacher_forcing: bool = False, may_halt: bool = True
    ) -> StoryReading:
        """Answer all questions of a batch; see ``StoryNetwork.read``.

        With ``teacher_forcing`` the decoder gets the words of ``batch.answers`` as it goes.
        """
        answers = batch.answers if teacher_forcing else None
        return self.network.read(*batch[:3], answers=answers, may_halt=may_halt)

    def encode(self, story: StoryWords) -> StoryIds:
        """A single story as token ids; what is too long for the model is cut."""
        longest = self.config.longest_answer
        answers = torch.zeros(len(story.answers), longest, dtype=torch.int64)
        for row, words in zip(answers, story.answers, strict=True):
            ids = [*self.network.vocabulary.encode(words[: longest - 1]), END]
            row[: len(ids)] = torch.tensor(ids)
        return StoryIds(
            torch.from_numpy(self.network.ids(story.sentences)),
            torch.from_numpy(self.network.ids(story.questions)),
            torch.tensor(list(story.after), dtype=torch.int64),
            answers,
        )


def save_story_model(folder: Path, model: StoryModel, notes: Mapping[str, Any]) -> None:
    """Save a story model with JSON values about its training; ModelError if that can't be."""
    description = {
        "kind": KIND,
        "config": model.config.model_dump(),
        "vocabulary": list(model.network.vocabulary.words),
        "trained": dict(notes),
    }
    save_checkpoint(folder, MODEL, arrays_of(model.state_dict()), description)
