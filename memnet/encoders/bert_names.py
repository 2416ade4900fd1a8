"""What BERT's published tensors are called here."""

_NAMES = (
    ("embeddings.word_embeddings.", "words."),
    ("embeddings.position_embeddings.", "positions."),
    ("embeddings.token_type_embeddings.", "segments."),
    ("embeddings.LayerNorm.", "norm."),
    ("encoder.layer.", "encoder.layers."),
    ("attention.self.", "attention."),
    ("attention.output.dense.", "attention.output."),
    ("attention.output.LayerNorm.", "attention_norm."),
    ("intermediate.dense.", "expand."),
    (".output.dense.", ".contract."),
    (".output.LayerNorm.", ".output_norm."),
)
"""Parts of BERT's published tensor names and the names of the same parts here, in this order."""


def own_name(name: str) -> str:
    """The name here of a tensor of a published one."""
    for published, own in _NAMES:
        name = name.replace(published, own)
    return name


def is_used(name: str) -> bool:
    """Whether a tensor of a published name is part of a network here."""
    return not name.startswith("pooler.") and not name.endswith("position_ids")
