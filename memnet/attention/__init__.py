"""Attention: scores, masked softmax, weighted reads, and the layers built from them."""

from memnet.attention.fixed import FixedAttention
from memnet.attention.general import Attended, attend
from memnet.attention.learned_scores import AdditiveScore, MultiplicativeScore
from memnet.attention.multi_head import MultiHeadAttention
from memnet.attention.multi_layer import MultiLayerAttention
from memnet.attention.scores import cosine_score, dot_product_score, scaled_dot_product_score
from memnet.attention.softmax import masked_softmax
from memnet.attention.sparse import attend_selected, kept_mass
from memnet.attention.transformer import TransformerEncoder, TransformerLayer

__all__ = [
    "AdditiveScore",
    "Attended",
    "FixedAttention",
    "MultiHeadAttention",
    "MultiLayerAttention",
    "MultiplicativeScore",
    "TransformerEncoder",
    "TransformerLayer",
    "attend",
    "attend_selected",
    "cosine_score",
    "dot_product_score",
    "kept_mass",
    "masked_softmax",
    "scaled_dot_product_score",
]
