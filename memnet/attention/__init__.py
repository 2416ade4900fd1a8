"""Attention: scores, masked softmax, weighted reads, and the layers built from them."""

from typing import TYPE_CHECKING

from memnet.lazy_names import lazy_names

if TYPE_CHECKING:
    from memnet.attention.fixed import FixedAttention
    from memnet.attention.general import Attended, attend
    from memnet.attention.multi_head import MultiHeadAttention
    from memnet.attention.multi_layer import MultiLayerAttention
    from memnet.attention.scores import cosine_score, dot_product_score, scaled_dot_product_score
    from memnet.attention.softmax import masked_softmax
    from memnet.attention.transformer import TransformerEncoder, TransformerLayer
    from memnet.nn.learned_scores import AdditiveScore, MultiplicativeScore
    from memnet.nn.sparse import attend_selected, kept_mass

_HOMES = {
    "AdditiveScore": "memnet.nn.learned_scores",
    "Attended": "memnet.attention.general",
    "FixedAttention": "memnet.attention.fixed",
    "MultiHeadAttention": "memnet.attention.multi_head",
    "MultiLayerAttention": "memnet.attention.multi_layer",
    "MultiplicativeScore": "memnet.nn.learned_scores",
    "TransformerEncoder": "memnet.attention.transformer",
    "TransformerLayer": "memnet.attention.transformer",
    "attend": "memnet.attention.general",
    "attend_selected": "memnet.nn.sparse",
    "cosine_score": "memnet.attention.scores",
    "dot_product_score": "memnet.attention.scores",
    "kept_mass": "memnet.nn.sparse",
    "masked_softmax": "memnet.attention.softmax",
    "scaled_dot_product_score": "memnet.attention.scores",
}

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


__getattr__ = lazy_names(__name__, _HOMES)
"""Attention over arrays needs no torch."""


def __dir__() -> list[str]:
    """The public names."""
    return __all__
