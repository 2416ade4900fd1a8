"""The layers of the story model: a sentence encoder, hops over sentences, a decoder of answers."""

from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from memnet.attention import FixedAttention, MultiHeadAttention, attend, scaled_dot_product_score
from memnet.config import Settings

PADDING = 0  # Id of no word
_MIN_CONTINUING = 0.001  # Probability of going on below which a question has halted


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


class SentenceEncoder(nn.Module):
    """Words to one vector a sentence: fixed attention over words and their positions.

    Each learned query picks a role out of a sentence ("who", "what", "where to"); a two-layer
    network joins what the queries read. Sentences that are equal are encoded once.

    Source: Lin et al. 2017 (a sentence as the reads of several learned queries); Sukhbaatar et al.
    2015, section 4.1 (the position of a word as part of its meaning).
    """

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

    def forward(self, sentences: Tensor) -> Tensor:
        """Encode sentences [S, T] int64, padded with ``PADDING``: [S, D] float32.

        T is at most ``longest_sentence``; a sentence without words gets one vector of no meaning.
        """
        distinct, index = torch.unique(sentences, dim=0, return_inverse=True)
        words = self.norm(self.words(distinct) + self.places[: distinct.shape[1]])
        mask = (distinct != PADDING).unsqueeze(1)
        joined = self.join(self.attention(words, self.values(words), mask).read)
        hidden = nn.functional.gelu(self.expand(self.join_norm(joined)))
        encoded: Tensor = joined + self.contract(hidden)
        return encoded[index]


class StoryState(NamedTuple):
    """What a hop starts from and ends with."""

    slots: Tensor  # [B, N, D] float32: sentences, with what they have read of earlier ones
    questions: Tensor  # [B, Q, D] float32: query states


class CausalMask(NamedTuple):
    """What may be attended to from where: rows are the N slots, then the Q questions."""

    # [B, N + Q, N] bool: a sentence sees itself and those before it, a question those before.
    mask: Tensor
    distance: Tensor  # [B, N + Q, N] float32: how many sentences ago; zero where masked.


def causal_mask(is_sentence: Tensor, after: Tensor) -> CausalMask:
    """What sentences, [B, N] bool, and questions, after [B, Q] int64 of them, may attend to."""
    number = torch.arange(is_sentence.shape[1], device=is_sentence.device)
    last = torch.cat([number.expand(is_sentence.shape), after - 1], dim=1)
    ago = last.unsqueeze(2) - number
    return CausalMask((ago >= 0) & is_sentence.unsqueeze(1), ago.clamp(min=0).float())


class StoryTrace(NamedTuple):
    """The H hops over a batch of stories."""

    # [B, Q, D] float32: the mean of the query states, by the probability of halting at each.
    questions: Tensor
    # [B, N, D] float32: the sentences after the first hop, the only one that all questions make.
    slots: Tensor
    weights: Tensor  # [B, H, Q, N] float32: attention of each hop, the mean over heads
    # [B, H, Q] float32: the probability of halting after each hop; sums to one over hops.
    halting: Tensor


class StoryHop(nn.Module):
    """One hop: sentences and questions attend to what came before, and are updated by the read.

    Each head has a learned preference for recent sentences, so that "the last one that matches" is
    easily learned.

    Source: Sukhbaatar et al. 2015, section 2.2 (the hop); Dehghani et al. 2019, section 2.1 (one
    block for slots and query, applied again and again); Press et al. 2022, section 3 (distance as a
    bias of the score), here with learned slopes.
    """

    def __init__(self, config: StoryModelConfig) -> None:
        super().__init__()
        width, heads = config.width, config.heads
        self.attention_norm = nn.LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads)
        self.recency = nn.Parameter(torch.linspace(-8.0, 0.0, heads))
        self.update_norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, config.inner)
        self.contract = nn.Linear(config.inner, width)

    def forward(self, state: StoryState, causal: CausalMask) -> tuple[StoryState, Tensor]:
        """Read and update once.

        Returns:
            The next state, and the weights of the questions [B, Q, N], the mean over heads.
        """
        count = state.slots.shape[1]
        rows = torch.cat([state.slots, state.questions], dim=1)
        normed = self.attention_norm(rows)
        slots = normed[:, :count]
        bias = -self.recency.exp().view(1, -1, 1, 1) * causal.distance.unsqueeze(1)
        read, weights = self.attention(normed, slots, slots, causal.mask, bias)
        rows = rows + read
        rows = rows + self.contract(nn.functional.gelu(self.expand(self.update_norm(rows))))
        return StoryState(rows[:, :count], rows[:, count:]), weights[:, :, count:].mean(dim=1)


class Halting(nn.Module):
    """How probable it is that a question has read enough.

    Source: Banino et al. 2021, equations 2 and 3 (the conditional probability of halting); Graves
    2016 (the answer's state as the mean under these probabilities).
    """

    def __init__(self, width: int) -> None:
        """Make the unit; untrained, it halts at a hop with probability 0.007."""
        super().__init__()
        self.score = nn.Linear(width, 1)
        nn.init.constant_(self.score.bias, -5.0)

    def forward(self, questions: Tensor) -> Tensor:
        """Probability [B, Q] float32 of halting now, for query states [B, Q, D]."""
        probability: Tensor = torch.sigmoid(self.score(questions)).squeeze(-1)
        return probability


class StoryHops(nn.Module):
    """Reads a story in as many hops as its questions need.

    Source: Dehghani et al. 2019, section 2 (one block applied in turn to all positions, with the
    number of the step); Banino et al. 2021, section 2 (halting).
    """

    def __init__(self, config: StoryModelConfig) -> None:
        super().__init__()
        self.hops = nn.ModuleList(StoryHop(config) for _ in range(config.blocks))
        self.steps = nn.Parameter(torch.randn(config.hops, config.width) * 0.02)
        self.norm = nn.LayerNorm(config.width)
        self.halting = Halting(config.width)

    def forward(
        self,
        state: StoryState,
        causal: CausalMask,
        max_hops: int | None = None,
        may_halt: bool = True,
    ) -> StoryTrace:
        """Hop until every question has halted, while training always to the end."""
        count = len(self.steps) if max_hops is None else min(max_hops, len(self.steps))
        continuing = torch.ones_like(state.questions[..., 0])
        answers = torch.zeros_like(state.questions)
        first_slots = state.slots
        weights: list[Tensor] = []
        halting: list[Tensor] = []
        for hop in range(count):
            before = StoryState(*(rows + self.steps[hop] for rows in state))
            state, attention = self.hops[hop % len(self.hops)](before, causal)
            questions = self.norm(state.questions)
            if hop == count - 1:
                halts = continuing
            elif may_halt:
                halts = continuing * self.halting(questions)
            else:
                halts = torch.zeros_like(continuing)
            answers = answers + halts.unsqueeze(-1) * questions
            continuing = continuing - halts
            first_slots = state.slots if hop == 0 else first_slots
            weights.append(attention)
            halting.append(halts)
            if not self.training and bool((continuing < _MIN_CONTINUING).all()):
                break
        return StoryTrace(
            answers,
            self.norm(first_slots),
            torch.stack(weights, dim=1),
            torch.stack(halting, dim=1),
        )


class Decoded(NamedTuple):
    """Answers, word by word."""

    logits: Tensor  # [B, Q, L, V] float32: the score of each word at each position
    alignments: Tensor  # [B, Q, L, N] float32: the slots that each word was read from


class SequenceDecoder(nn.Module):
    """A recurrent decoder with attention over the slots that were read.

    Source: Bahdanau et al. 2015, section 3.1 (state, context and alignment at each word); Luong et
    al. 2015, equation 5 (state and context joined before the output).
    """

    def __init__(self, words: int, width: int) -> None:
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
            embeddings: of the V words.
            length: L.
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
