"""Attention: scores, masked softmax, weighted reads, and the layers built from them."""

from typing import TYPE_CHECKING

from memnet.runtime import lazy_names

if TYPE_CHECKING:
    from memnet.attention.functional import (
        AdditiveScore,
        Attended,
        MultiplicativeScore,
        attend,
        attend_selected,
        cosine_score,
        dot_product_score,
        kept_mass,
        masked_softmax,
        scaled_dot_product_score,
    )
    from memnet.attention.layers import (
        FixedAttention,
        MultiHeadAttention,
        MultiLayerAttention,
        TransformerEncoder,
        TransformerLayer,
    )

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

_LAYERS = (
    "FixedAttention MultiHeadAttention MultiLayerAttention TransformerEncoder TransformerLayer"
)
_HOMES = dict.fromkeys(__all__, "memnet.attention.functional") | dict.fromkeys(
    _LAYERS.split(), "memnet.attention.layers"
)
# Attention over arrays needs no torch.
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
