"""The story model: sentences in their order, hops over them, an answer word by word."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError
from torch import Tensor, nn

from memnet.attention import FixedAttention, attend, scaled_dot_product_score
from memnet.checkpoints import MODEL, load_checkpoint, save_checkpoint
from memnet.checkpoints.torch_modules import arrays_of, invalid_description, load_module
from memnet.config import Settings
from memnet.errors import ModelError
from memnet.stories.hops import StoryHops, StoryState, StoryTrace, causal_mask
from memnet.stories.vocabulary import END, PADDING, StoryIds, StoryWords, Vocabulary

KIND = "story"
"""Kind of the model, as its description gives it."""


class StoryModelConfig(Settings):
    """The sizes of a story model."""

    width: int = Field(default=128, ge=2, le=4096)
    heads: int = Field(default=8, ge=1, le=64)
    inner: int = Field(default=256, ge=1, le=16384)
    hops: int = Field(default=6, ge=1, le=100)
    """Reads of the story, at most."""
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


class SentenceEncoder(nn.Module):
    """Words to one vector a sentence: fixed attention over words and their positions.

    Each learned query picks a role out of a sentence ("who", "what", "where to"); a two-layer
    network joins what the queries read. Sentences that are equal are encoded once.

    Source: Lin et al. 2017 (a sentence as the reads of several learned queries); Sukhbaatar et al.
    2015, section 4.1 (the position of a word as part of its meaning).
    """

    def __init__(self, words: int, width: int, queries: int, max_length: int) -> None:
        """Make the encoder.

        Args:
            words: size of the vocabulary.
            width: D, width of words and of the result.
            queries: number of learned queries.
            max_length: words of a sentence.
        """
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=PADDING)
        nn.init.normal_(self.words.weight, std=0.1)
        self.places = nn.Parameter(torch.randn(max_length, width) * 0.02)
        self.norm = nn.LayerNorm(width)
        self.values = nn.Linear(width, width // 2)
        self.attention = FixedAttention(width, queries)
        self.join = nn.Linear(queries * (width // 2), width)
        self.join_norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 2 * width)
        self.contract = nn.Linear(2 * width, width)

    def forward(self, sentences: Tensor) -> Tensor:
        """Encode sentences.

        Args:
            sentences: [S, T] int64, padded with ``PADDING``, T at most ``max_length``.

        Returns:
            [S, D] float32; one vector of no meaning for a sentence without words.
        """
        distinct, index = torch.unique(sentences, dim=0, return_inverse=True)
        words = self.norm(self.words(distinct) + self.places[: distinct.shape[1]])
        mask = (distinct != PADDING).unsqueeze(1)
        joined = self.join(self.attention(words, self.values(words), mask).read)
        hidden = nn.functional.gelu(self.expand(self.join_norm(joined)))
        encoded: Tensor = joined + self.contract(hidden)
        return encoded[index]


class Decoded(NamedTuple):
    """Answers, word by word."""

    logits: Tensor
    """[B, Q, L, V] float32: the score of each word at each position."""
    alignments: Tensor
    """[B, Q, L, N] float32: the slots that each word was read from."""


class SequenceDecoder(nn.Module):
    """A recurrent decoder with attention over the slots that were read.

    Source: Bahdanau et al. 2015, section 3.1 (state, context and alignment at each word); Luong et
    al. 2015, equation 5 (state and context joined before the output).
    """

    def __init__(self, words: int, width: int) -> None:
        """Make a decoder into ``words`` words from states of ``width``."""
        super().__init__()
        self.start = nn.Parameter(torch.zeros(width))
        self.cell = nn.GRUCell(2 * width, width)
        self.query = nn.Linear(width, width)
        self.join = nn.Linear(2 * width, width)
        self.output = nn.Linear(width, words)

    def forward(
        self,
        questions: Tensor,
        slots: Tensor,
        mask: Tensor,
        embeddings: nn.Embedding,
        length: int,
        answers: Tensor | None = None,
    ) -> Decoded:
        """Write answers of ``length`` words.

        Args:
            questions: [B, Q, D] float32, the final query states.
            slots: [B, N, D] float32.
            mask: [B, Q, N] bool: the slots that each question may attend to.
            embeddings: of the words, V x D.
            length: L, words to write.
            answers: [B, Q, L] int64, the right words, each given to the decoder when it writes the
                next one (teacher forcing); None lets it go on from its own best words.
        """
        shape = questions.shape
        state = questions.flatten(0, 1)
        previous = self.start.expand_as(state)
        context = torch.zeros_like(state)
        logits: list[Tensor] = []
        alignments: list[Tensor] = []
        for position in range(length):
            state = self.cell(torch.cat([previous, context], dim=-1), state)
            scores = scaled_dot_product_score(self.query(state).view(shape), slots)
            read, weights = attend(scores, slots, mask)
            context = read.flatten(0, 1)
            scored = self.output(torch.tanh(self.join(torch.cat([state, context], dim=-1))))
            logits.append(scored.view(*shape[:2], -1))
            alignments.append(weights)
            word = scored.argmax(dim=-1) if answers is None else answers[..., position].flatten()
            previous = embeddings(word)
        return Decoded(torch.stack(logits, dim=2), torch.stack(alignments, dim=2))


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
        # Token types: sentence, question.
        self.kinds = nn.Parameter(torch.randn(2, width) * 0.02)
        self.dropout = nn.Dropout(config.dropout)
        self.hops = StoryHops(width, config.heads, config.inner, config.hops, config.blocks)
        self.decoder = SequenceDecoder(len(vocabulary), width)

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
        """Answer all questions of a batch.

        Args:
            batch: stories and questions.
            teacher_forcing: give the decoder the words of ``batch.answers`` as it goes, and write
                as many; else as many as the configuration says.
            hops: at most; None for the model's own maximum.
            may_halt: whether questions may halt before the last hop.
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
    """Save a story model.

    Args:
        folder: made if it is not there.
        model: with its weights, of any device.
        notes: JSON values about how it was trained.

    Raises:
        ModelError: the folder can't be written.
    """
    description = {
        "kind": KIND,
        "config": model.config.model_dump(),
        "vocabulary": list(model.vocabulary.words),
        "trained": dict(notes),
    }
    save_checkpoint(folder, MODEL, arrays_of(model.state_dict()), description)


def load_story_model(folder: Path) -> StoryModel:
    """A story model as it was saved, for inference.

    Raises:
        ModelError: the folder holds no whole story model.
    """
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
    """The story model of a checkpoint.

    Args:
        folder: where it comes from, for errors.
        arrays: by name.
        description: as ``save_story_model`` wrote it.

    Raises:
        ModelError: the description is not one of a story model, or does not fit the arrays.
    """
    try:
        checked = _Description.model_validate(description)
    except ValidationError as error:
        raise invalid_description(folder, error) from error

    def make() -> StoryModel:
        return StoryModel(Vocabulary(checked.vocabulary), checked.config)

    return load_module(make, arrays, folder)
