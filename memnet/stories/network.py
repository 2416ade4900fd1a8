"""The story model: from a story and its questions to answers, and its checkpoints."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, model_validator

from memnet.attention.either import (
    Array,
    Weights,
    as_float,
    attend,
    distinct_rows,
    feed_forward,
    gated_unit,
    layer_norm,
    library,
    like,
    linear,
    multi_head,
    sigmoid,
)
from memnet.checkpoints import MODEL, check_tensors, load_checkpoint, parse_description, shapes_of
from memnet.errors import ModelError
from memnet.ingest.babi import Story
from memnet.types import Value

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


class StoryModelConfig(Value):
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


_MIN_CONTINUING = 0.001  # Probability of going on below which a question has halted
# The weights of a ``StoryModel``, and of one of its blocks, for ``checkpoints.shapes_of``.
_SHAPES = """
tensor 2,width kinds
tensor words,width encoder.words.weight
tensor longest_sentence,width encoder.places
tensor queries,width encoder.attention.queries
tensor hops,width hops.steps
tensor width decoder.start
tensor triple,double decoder.cell.weight_ih
tensor triple,width decoder.cell.weight_hh
tensor triple decoder.cell.bias_ih decoder.cell.bias_hh
layer width encoder.norm encoder.join_norm hops.norm
layer half,width encoder.values
layer width,joined encoder.join
layer double,width encoder.expand
layer width,double encoder.contract decoder.join
layer 1,width hops.halting.score
layer width,width decoder.query
layer words,width decoder.output
"""
_BLOCK = """
tensor heads #.recency
layer width #.attention_norm #.update_norm
layer width,width #.attention.query #.attention.key #.attention.value #.attention.output
layer inner,width #.expand
layer width,inner #.contract
"""


class StoryReading(NamedTuple):
    """The answers to Q questions about each of B stories of N sentences."""

    logits: Array  # [B, Q, L, V] float32: the score of each word at each position
    alignments: Array  # [B, Q, L, N] float32: the sentences that each word was read from
    weights: Array  # [B, H, Q, N] float32: attention of each hop, the mean over heads
    # [B, H, Q] float32: the probability of halting after each hop; sums to one over hops.
    halting: Array


class StoryNetwork:
    """Answers questions about stories, in NumPy or, while learning, in torch.

    A story is read once for all of its questions: no sentence sees a later one, and no sentence
    sees a question.
    """

    def __init__(
        self, weights: Weights, vocabulary: Vocabulary, config: StoryModelConfig,
        learner: Any = None,
    ) -> None:  # fmt: skip
        """Take the weights by their names; while learning, the module of torch that holds them."""
        self.vocabulary = vocabulary
        self.config = config
        self._weights = weights
        self._learner = learner

    def read(
        self, sentences: Array, questions: Array, after: Array, hops: int | None = None,
        answers: Array | None = None, may_halt: bool = True,
    ) -> StoryReading:  # fmt: skip
        """Hop until every question has halted, while training always to the end; then decode.

        Source: Dehghani et al. 2019, section 2 (one block for slots and queries, applied again and
        again, with the number of the step); Banino et al. 2021, equations 2 and 3 (halting);
        Press et al. 2022, section 3 (distance as a bias of the score), here with learned slopes.

        Args:
            sentences: [B, N, T] int64, padded with ``PADDING``.
            questions: [B, Q, T] int64; all ``PADDING`` where a story has fewer questions.
            after: [B, Q] int64: how many sentences come before each question.
            hops: at most; None for those of the configuration.
            answers: [B, Q, L] int64, the right words, each given to the decoder when it writes the
                next one (teacher forcing); None lets it go on from its own best words.
            may_halt: before the last hop.
        """
        weights, count, lib = self._weights, sentences.shape[1], library(sentences)
        learner = self._learner
        training = learner is not None and learner.training
        encoded = self._encoded(lib.concatenate([sentences, questions], 1))
        rows = lib.concatenate(
            [encoded[:, :count] + weights["kinds"][0], encoded[:, count:] + weights["kinds"][1]], 1
        )
        if learner is not None:
            rows = learner.dropout(rows)
        number = like(after, range(count))
        # How many sentences ago, of rows that are the N sentences, then the Q questions.
        last = lib.concatenate([0 * sentences[:, :, 0] + number, after - 1], 1)
        ago = last[:, :, None] - number
        mask = (ago >= 0) & (sentences[:, None, :, 0] != PADDING)
        distance = as_float(ago.clip(min=0))[:, None]
        most = self.config.hops if hops is None else min(hops, self.config.hops)
        states, continuing = 0 * rows[:, count:], 0 * rows[:, count:, 0] + 1
        first = rows[:, :count]
        attention: list[Array] = []
        halting: list[Array] = []
        for hop in range(most):
            name = f"hops.hops.{hop % self.config.blocks}."
            rows = rows + weights["hops.steps"][hop]
            normed = layer_norm(weights, f"{name}attention_norm", rows)
            bias = -lib.exp(weights[f"{name}recency"])[:, None, None] * distance
            read, attended = multi_head(
                weights, f"{name}attention", self.config.heads, normed, normed[:, :count], mask,
                bias,
            )  # fmt: skip
            rows = rows + read
            updated = layer_norm(weights, f"{name}update_norm", rows)
            rows = rows + feed_forward(weights, name, updated)
            asked = layer_norm(weights, "hops.norm", rows[:, count:])
            halts = continuing
            if hop < most - 1:
                halts = halts * sigmoid(linear(weights, "hops.halting.score", asked))[:, :, 0]
                halts = halts if may_halt else 0 * halts
            states = states + halts[:, :, None] * asked
            continuing = continuing - halts
            first = rows[:, :count] if hop == 0 else first
            attention.append(attended[:, :, count:].mean(1))
            halting.append(halts)
            if not training and bool((continuing < _MIN_CONTINUING).all()):
                break
        slots = layer_norm(weights, "hops.norm", first)
        logits, alignments = self._decoded(states, slots, mask[:, count:], answers)
        return StoryReading(logits, alignments, lib.stack(attention, 1), lib.stack(halting, 1))

    def _encoded(self, texts: Array) -> Array:
        """Texts [B, S, T] as vectors [B, S, D], equal ones once.

        Each learned query picks a role out of a sentence ("who", "what", "where to"); a two-layer
        network joins what the queries read.

        Source: Lin et al. 2017 (a sentence as the reads of several learned queries); Sukhbaatar et
        al. 2015, section 4.1 (the position of a word as part of its meaning).
        """
        weights = self._weights
        distinct, index = distinct_rows(texts.reshape(-1, texts.shape[-1]))
        words = weights["encoder.words.weight"][distinct]
        words = layer_norm(
            weights, "encoder.norm", words + weights["encoder.places"][: texts.shape[-1]]
        )
        queries, mask = weights["encoder.attention.queries"], (distinct != PADDING)[:, None]
        read, _ = attend(queries, words, linear(weights, "encoder.values", words), mask)
        joined = linear(weights, "encoder.join", read.reshape(read.shape[0], -1))
        normed = layer_norm(weights, "encoder.join_norm", joined)
        encoded = joined + feed_forward(weights, "encoder.", normed)
        return encoded[index].reshape(*texts.shape[:2], -1)

    def _decoded(
        self, states: Array, slots: Array, mask: Array, answers: Array | None
    ) -> tuple[Array, Array]:
        """Logits and alignments from query states [B, Q, D] and slots [B, N, D], word by word.

        Source: Bahdanau et al. 2015, section 3.1 (state, context and alignment at each word); Luong
        et al. 2015, equation 5 (state and context joined before the output).
        """
        weights, lib, state = self._weights, library(states), states
        previous, context = 0 * states + weights["decoder.start"], 0 * states
        logits: list[Array] = []
        alignments: list[Array] = []
        for position in range(self.config.longest_answer if answers is None else answers.shape[2]):
            given = lib.concatenate([previous, context], -1)
            state = gated_unit(weights, "decoder.cell", given, state)
            context, attended = attend(linear(weights, "decoder.query", state), slots, slots, mask)
            joined = linear(weights, "decoder.join", lib.concatenate([state, context], -1))
            logits.append(linear(weights, "decoder.output", lib.tanh(joined)))
            alignments.append(attended)
            word = logits[-1].argmax(-1) if answers is None else answers[..., position]
            previous = weights["encoder.words.weight"][word]
        return lib.stack(logits, 2), lib.stack(alignments, 2)

    def read_story(self, story: StoryWords, hops: int | None = None) -> StoryReading:
        """The answers to the questions about one story, B = 1; what is too long is cut."""
        after = np.array([list(story.after)], np.int64)
        texts, asked = self.ids(story.sentences), self.ids(story.questions)
        return self.read(texts[None], asked[None], after, hops)

    def ids(self, texts: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Texts [S] as ids of their words [S, T], padded."""
        length = self.config.longest_sentence
        ids = np.full((len(texts), length), PADDING, np.int64)
        for row, words in zip(ids, texts, strict=True):
            cut = words[:length]
            row[: len(cut)] = self.vocabulary.encode(cut)
        return ids


class _Description(BaseModel):
    config: StoryModelConfig
    vocabulary: tuple[str, ...]


def load_story_model(folder: Path) -> StoryNetwork:
    """A story model as it was saved; ModelError if the folder holds no whole one."""
    arrays, description = load_checkpoint(folder, MODEL)
    if description.get("kind") != KIND:
        raise ModelError(
            f"{folder} holds a model of kind {description.get('kind')!r}, expected one for "
            "stories; give a model that 'memnet train babi' made"
        )
    return story_model_of(folder, arrays, description)


def story_model_of(
    folder: Path, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]
) -> StoryNetwork:
    """The story model of the checkpoint in a folder; ModelError if it is not one."""
    checked = parse_description(_Description, description, folder)
    vocabulary = Vocabulary(checked.vocabulary)
    config = checked.config
    half = config.width // 2
    sizes = {
        **config.model_dump(exclude={"dropout"}), "words": len(vocabulary), "half": half,
        "joined": config.queries * half, "double": 2 * config.width, "triple": 3 * config.width,
    }  # fmt: skip
    blocks = (_BLOCK.replace("#", f"hops.hops.{block}") for block in range(config.blocks))
    check_tensors(arrays, shapes_of("".join([_SHAPES, *blocks]), sizes), folder)
    return StoryNetwork(arrays, vocabulary, config)
