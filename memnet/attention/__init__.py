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

_HOMES = {
    "AdditiveScore": "memnet.attention.functional",
    "Attended": "memnet.attention.functional",
    "FixedAttention": "memnet.attention.layers",
    "MultiHeadAttention": "memnet.attention.layers",
    "MultiLayerAttention": "memnet.attention.layers",
    "MultiplicativeScore": "memnet.attention.functional",
    "TransformerEncoder": "memnet.attention.layers",
    "TransformerLayer": "memnet.attention.layers",
    "attend": "memnet.attention.functional",
    "attend_selected": "memnet.attention.functional",
    "cosine_score": "memnet.attention.functional",
    "dot_product_score": "memnet.attention.functional",
    "kept_mass": "memnet.attention.functional",
    "masked_softmax": "memnet.attention.functional",
    "scaled_dot_product_score": "memnet.attention.functional",
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


# Attention over arrays needs no torch.
__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    """The public names."""
    return __all__
