"""The weights of the story model as modules of torch, for learning; ``StoryNetwork`` uses them."""

import torch
from torch import nn

from memnet.attention import FixedAttention, MultiHeadAttention
from memnet.stories.words import PADDING, StoryModelConfig


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
