"""Any sentence-transformers model, by its name on the Hugging Face hub or its folder."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.encoders.protocol import MENTION, TokenStates
from memnet.errors import DependencyError, EncoderError, first_line

_PREFIX = "sentence-transformers/"
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_STORED = re.compile(rf"^{_PREFIX}(.+)/[0-9a-f]{{12}}$")


class SentenceTransformersEncoder:
    """A sentence-transformers model, by its name or folder (Reimers and Gurevych 2019)."""

    def __init__(self, name: str, device: str = "cpu", *, fetch: bool = True) -> None:
        """Load the model by its name or folder.

        ``fetch``: whether the library may download it. Never where a store names it: its author
        would choose what is downloaded, and from whom. DependencyError where sentence-transformers
        is not installed, EncoderError where there is no such model, or it would run foreign code.
        """
        if is_missing_folder(name):
            raise EncoderError(
                f"there is no folder {name!r}; expected the name or folder of a "
                "sentence-transformers model"
            )
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise DependencyError(
                f"the encoder {name!r} needs sentence-transformers; install it with: "
                "pip install 'memnet[models]'"
            ) from error
        source = name if fetch else _local_folder(name)
        _check_modules(Path(source))
        try:
            self._model: Any = SentenceTransformer(
                source, device=device, local_files_only=not fetch
            )
        except Exception as error:  # the library raises all kinds of them
            raise EncoderError(
                f"the encoder {name!r} can't be loaded ({first_line(error)}); "
                "expected the name or folder of a sentence-transformers model"
            ) from error
        self.dimension: int = len(self.encode([""])[0])
        self.releases_gil = False
        self.fingerprint = f"{_PREFIX}{name}/{_digest(self._model)}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts of any length -> [N, D] float32, rows of length one."""
        vectors = self._model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        )
        return np.asarray(vectors, np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        """Token states of N texts, truncated to the model's maximum length."""
        tokenizer = self._model.tokenizer
        masked = [text.replace(MENTION, tokenizer.mask_token or MENTION) for text in texts]
        found = self._model.encode(masked, output_value="token_embeddings", show_progress_bar=False)
        return [
            TokenStates(_unit(states.cpu().numpy()), _mentions(tokenizer, text, len(states)))
            for text, states in zip(masked, found, strict=True)
        ]


def _local_folder(name: str) -> str:
    """The folder of a model on this machine: the name itself, or one in the hub's cache.

    With ``local_files_only`` alone the hub's library still sends requests about other things.
    """
    from huggingface_hub import try_to_load_from_cache

    if Path(name).is_dir():
        return name
    cache = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    # The library's own models may be named without their organisation.
    for full in (name, f"sentence-transformers/{name}"):
        for file in ("modules.json", "config.json"):
            with suppress(ValueError):
                found = try_to_load_from_cache(full, file, cache_dir=cache)
                if isinstance(found, str):
                    return str(Path(found).parent)
    raise EncoderError(
        f"the store was made with the encoder {name!r}, which is not on this machine; if you trust "
        "its author, open the store with that encoder by name to fetch it (encoder=, or "
        "'memnet ingest --encoder')"
    )


def _check_modules(folder: Path) -> None:
    """Refuse a model folder that would run foreign code.

    sentence-transformers imports whatever class modules.json names, and calls its ``load``; a store
    from anywhere may name the folder.
    """
    try:
        modules = json.loads((folder / "modules.json").read_bytes())
        kinds = [str(module["type"]) for module in modules]
    except OSError:
        return
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise EncoderError(
            f"{folder / 'modules.json'} is not the description of a sentence-transformers model "
            f"({error!r}); save the model again"
        ) from error
    for kind in kinds:
        if not kind.startswith("sentence_transformers."):
            raise EncoderError(
                f"the encoder {str(folder)!r} wants to load {kind!r}, which is no part of "
                "sentence-transformers; use another model"
            )


def stored_encoder_name(fingerprint: str) -> str | None:
    """The model name in a fingerprint; None if another class of encoder made the store."""
    found = _STORED.match(fingerprint)
    return found.group(1) if found else None


def _unit(states: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (states / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit


def _mentions(tokenizer: Any, text: str, max_tokens: int) -> tuple[int, ...]:
    tokens = tokenizer(text, truncation=True, max_length=max_tokens)["input_ids"]
    mask = tokenizer.mask_token_id
    return tuple(i for i, token in enumerate(tokens[:max_tokens]) if token == mask)


def _digest(model: Any) -> str:
    """Start of the sha256 of all weights: what a name stands for may change."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]


def is_missing_folder(name: str | os.PathLike[str]) -> bool:
    """Whether a name can only mean a folder, as "./models/mine" does, and that does not exist."""
    hub = isinstance(name, str) and _HUB_NAME.fullmatch(name) is not None
    return not hub and not Path(name).exists()
