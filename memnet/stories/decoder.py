"""The sequence decoder: an answer word by word, attending to the memory at each."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.attention import attend, scaled_dot_product_score


class Decoded(NamedTuple):
    """An answer, word by word."""

    logits: Tensor
    """[B, Q, L, V] float32: the score of each word at each place."""
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
                next one; None lets it go on from its own best words.
        """
        shape = questions.shape
        state = questions.flatten(0, 1)
        previous = self.start.expand_as(state)
        context = torch.zeros_like(state)
        logits: list[Tensor] = []
        alignments: list[Tensor] = []
        for place in range(length):
            state = self.cell(torch.cat([previous, context], dim=-1), state)
            scores = scaled_dot_product_score(self.query(state).view(shape), slots)
            read, weights = attend(scores, slots, mask)
            context = read.flatten(0, 1)
            scored = self.output(torch.tanh(self.join(torch.cat([state, context], dim=-1))))
            logits.append(scored.view(*shape[:2], -1))
            alignments.append(weights)
            word = scored.argmax(dim=-1) if answers is None else answers[..., place].flatten()
            previous = embeddings(word)
        return Decoded(torch.stack(logits, dim=2), torch.stack(alignments, dim=2))
