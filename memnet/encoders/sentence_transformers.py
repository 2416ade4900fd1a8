"""Any sentence-transformers model as the encoder of a store."""

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

from memnet.encoders.model_names import is_missing_folder
from memnet.encoders.protocol import MENTION, TokenStates
from memnet.errors import DependencyError, EncoderError, first_line

_PREFIX = "sentence-transformers/"
_STORED = re.compile(rf"^{_PREFIX}(.+)/[0-9a-f]{{12}}$")


class NamedEncoder:
    """A sentence-transformers model, by its name or folder.

    Source: Reimers and Gurevych 2019.
    """

    def __init__(self, name: str, device: str = "cpu", *, fetch: bool = True) -> None:
        """Load the model.

        Args:
            name: or folder of the model.
            device: of torch, that is there.
            fetch: whether the library may fetch the model from the network. Never where the name
                comes from a store: its author would choose what is fetched, and from whom.

        Raises:
            DependencyError: sentence-transformers is not installed.
            EncoderError: there is no such model, or it would run code that is not the library's.
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
        place = name if fetch else _fetched_before(name)
        _check_modules(Path(place))
        try:
            self._model: Any = SentenceTransformer(place, device=device, local_files_only=not fetch)
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
        """Each token of N texts by itself; what is beyond the model's longest text is cut off."""
        tokenizer = self._model.tokenizer
        masked = [text.replace(MENTION, tokenizer.mask_token or MENTION) for text in texts]
        found = self._model.encode(masked, output_value="token_embeddings", show_progress_bar=False)
        return [
            TokenStates(_unit(states.cpu().numpy()), _places(tokenizer, text, len(states)))
            for text, states in zip(masked, found, strict=True)
        ]


def _fetched_before(name: str) -> str:
    """The folder of a model that is on this machine, given by itself or in the hub's cache.

    With ``local_files_only`` alone the hub's library still asks the network about other things.

    Raises:
        EncoderError: it is not on this machine.
    """
    from huggingface_hub import try_to_load_from_cache

    if Path(name).is_dir():
        return name
    cache = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
    # The library's own models go by their last name alone, too.
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
    """Let a model's folder, which a store from anywhere may name, load nothing but its library.

    The library imports whatever class the folder asks for, and calls its ``load``.

    Raises:
        EncoderError: it asks for another.
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
    """The model that a store was made with, if it was made with a ``NamedEncoder``."""
    found = _STORED.match(fingerprint)
    return found.group(1) if found else None


def _unit(states: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    unit: NDArray[np.float32] = (states / np.maximum(lengths, 1e-12)).astype(np.float32)
    return unit


def _places(tokenizer: Any, text: str, most: int) -> tuple[int, ...]:
    tokens = tokenizer(text, truncation=True, max_length=most)["input_ids"]
    mask = tokenizer.mask_token_id
    return tuple(place for place, token in enumerate(tokens[:most]) if token == mask)


def _digest(model: Any) -> str:
    """Start of the sha256 of all weights: the same name may come to mean another model."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]
