"""Attention: scores, masked softmax, weighted reads, and the layers built from them."""

from memnet.attention.general import Attended, attend
from memnet.attention.multi_head import MultiHeadAttention
from memnet.attention.scores import scaled_dot_product_score
from memnet.attention.softmax import masked_softmax
from memnet.attention.transformer import TransformerEncoder, TransformerLayer

__all__ = [
    "Attended",
    "MultiHeadAttention",
    "TransformerEncoder",
    "TransformerLayer",
    "attend",
    "masked_softmax",
    "scaled_dot_product_score",
]
