"""Any sentence-transformers model, by its name on the Hugging Face hub or its folder."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.encoders.minilm import of_length_one
from memnet.encoders.protocol import MENTION, TokenStates
from memnet.errors import DependencyError, EncoderError, first_line, install

_PREFIX = "sentence-transformers/"
HUB = "hub:"  # Start of the name of a model that may be fetched
EXPECTED = "expected a folder, a model in the hub's cache, or hub:ORG/NAME to fetch one"
_STORED = re.compile(rf"^{_PREFIX}(.+)/[0-9a-f]{{12}}$")


class SentenceTransformersEncoder:
    """A sentence-transformers model, by its name or folder (Reimers and Gurevych 2019).

    Questions and texts to be stored get the prompts that its files give, or its name is known for.
    """

    def __init__(self, name: str, device: str = "cpu", *, fetch: bool = True) -> None:
        """Load the model by its folder, its name in the hub's cache, or "hub:ORG/NAME".

        ``fetch``: whether the library may download the last one. Never where a store names it: its
        author would choose what is downloaded, and from whom. DependencyError where
        sentence-transformers is not installed, EncoderError where there is no such model, or it
        would run foreign code.
        """
        cache = os.environ.get("SENTENCE_TRANSFORMERS_HOME")
        fetched = hub_name(name) if fetch else None
        # The library's own models may be named without their organisation.
        source = fetched or local_model(name, cache) or local_model(_PREFIX + name, cache)
        if source is None:
            raise EncoderError(
                f"the encoder {name!r} is not on this machine; {EXPECTED}"
                if fetch
                else f"the store was made with the encoder {name!r}, which is not on this machine; "
                "if you trust its author, open the store with the encoder 'hub:NAME' to fetch it "
                "(encoder=, or 'memnet ingest --encoder')"
            )
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise DependencyError(
                f"the encoder {name!r} needs sentence-transformers; run: {install('models')}"
            ) from error
        _check_modules(Path(source))
        try:
            self._model: Any = SentenceTransformer(
                source, device=device, local_files_only=fetched is None
            )
        except Exception as error:  # the library raises all kinds of them
            raise EncoderError(
                f"the encoder {name!r} can't be loaded ({first_line(error)}); "
                "expected the name or folder of a sentence-transformers model"
            ) from error
        known, own = _known(Path(fetched or name).name), self._model.prompts
        self.multilingual = "multilingual" in known
        self._prompts = _prompts_of(own if any(own.values()) else known)
        self.dimension: int = len(self.encode([""])[0])
        self.fingerprint = f"{_PREFIX}{fetched or name}/{_digest(self._model, self._prompts)}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts of any length -> [N, D] float32, rows of length one."""
        return self._vectors(self._model.encode, texts)

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``encode``, of questions."""
        return self._vectors(self._model.encode_query, texts, prompt=self._prompts[0])

    def encode_document(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``encode``, of texts to be stored."""
        return self._vectors(self._model.encode_document, texts, prompt=self._prompts[1])

    def _vectors(self, encode: Any, texts: Sequence[str], **prompt: str) -> NDArray[np.float32]:
        vectors = encode(list(texts), normalize_embeddings=True, show_progress_bar=False, **prompt)
        return np.asarray(vectors, np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        """Token states of N texts, truncated to the model's maximum length."""
        tokenizer = self._model.tokenizer
        masked = [text.replace(MENTION, tokenizer.mask_token or MENTION) for text in texts]
        found = self._model.encode(masked, output_value="token_embeddings", show_progress_bar=False)
        return [
            TokenStates(
                of_length_one(states.cpu().numpy()), _mentions(tokenizer, text, len(states))
            )
            for text, states in zip(masked, found, strict=True)
        ]


def hub_name(name: str | os.PathLike[str]) -> str | None:
    """The name of a model on the hub, of "hub:ORG/NAME": only that is fetched. None of others."""
    text = os.fspath(name)
    return text.removeprefix(HUB) if text.startswith(HUB) else None


def local_model(name: str | os.PathLike[str], cache: str | None = None) -> str | None:
    """The folder of a model on this machine: a path, or a name in the hub's cache; None without.

    With ``local_files_only`` alone the hub's library still sends requests about other things.
    """
    text = os.fspath(name)
    if Path(text).is_dir():
        return text
    with suppress(ImportError, ValueError):  # no library, no cache; or no name
        from huggingface_hub import try_to_load_from_cache

        for file in ("modules.json", "config.json"):
            found = try_to_load_from_cache(text, file, cache_dir=cache)
            if isinstance(found, str):
                return str(Path(found).parent)
    return None


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
                f"the encoder {str(folder)!r} wants to load {kind!r}, which is not part of "
                "sentence-transformers; use another model"
            )


def stored_encoder_name(fingerprint: str) -> str | None:
    """The model name in a fingerprint; None if another class of encoder made the store."""
    found = _STORED.match(fingerprint)
    return found.group(1) if found else None


def _prompts_of(given: Mapping[str, Any]) -> tuple[str, str]:
    """What stands before questions and before documents: some models' files say "passage"."""
    names = ("document", "passage", "corpus")
    return given.get("query") or "", next(filter(None, map(given.get, names)), "")


def _known(name: str) -> dict[str, Any]:
    text = Path(__file__).with_name("models.toml").read_text(encoding="utf-8")
    for model in tomllib.loads(text)["models"]:
        if any(fnmatchcase(name.lower(), one) for one in model["names"]):
            return dict(model)
    return {}


def _mentions(tokenizer: Any, text: str, max_tokens: int) -> tuple[int, ...]:
    tokens = tokenizer(text, truncation=True, max_length=max_tokens)["input_ids"]
    mask = tokenizer.mask_token_id
    return tuple(i for i, token in enumerate(tokens[:max_tokens]) if token == mask)


def _digest(model: Any, prompts: tuple[str, str]) -> str:
    """Start of the sha256 of all weights and prompts: what a name stands for may change."""
    digest = hashlib.sha256(json.dumps(prompts).encode() if any(prompts) else b"")
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]
