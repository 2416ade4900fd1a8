"""Networks in eight bits, where ONNX Runtime is installed, and the sentence encoder so."""

import hashlib
import importlib.util
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from memnet.encoders.weights import WEIGHTS_SHA256
from memnet.errors import DependencyError

_VERSION = 2
"""Of the graph: it changes with anything that changes a vector."""
_DIGEST_BYTES = 32
_NEEDED = ("onnxruntime", "onnx")


def eight_bits_installed() -> bool:
    """Whether the packages are there; neither is imported."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def onnx_wanted(eight_bits: bool | None, device: str) -> bool:
    """Whether ONNX Runtime is to calculate in eight bits: as said, else where it is faster."""
    return (device == "cpu" and eight_bits_installed()) if eight_bits is None else eight_bits


def eight_bit_model(weights: Path) -> bytes:
    """The ONNX model of checked weights, made anew.

    Args:
        weights: the safetensors file.

    Raises:
        DependencyError: the package onnx is not installed.
    """
    _require()
    from memnet.encoders.eight_bit_graph import eight_bit_graph

    return eight_bit_graph(weights)


class EightBitNetwork:
    """Token ids to one vector a text, as ``SentenceNetwork.embed``, in eight bits. Thread-safe.

    Each call runs on the thread that makes it.
    """

    def __init__(self, model: bytes) -> None:
        """Load an ONNX model that ``eight_bit_model`` made.

        Raises:
            DependencyError: ONNX Runtime is not installed.
        """
        self._session = session_of(model)

    def embed(self, token_ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Encode texts of equal length: [B, T] int64 -> [B, D] float32, rows of length one."""
        (vectors,) = self._session.run(["vectors"], {"ids": token_ids})
        return np.asarray(vectors, np.float32)

    @classmethod
    def load(cls, weights: Path, cache: Path | None = None) -> "EightBitNetwork":
        """The network of checked weights: made at the first use, kept in the user's cache folder.

        Args:
            weights: the safetensors file.
            cache: folder to keep it in; None for the user's.

        Raises:
            DependencyError: a package is not installed.
        """
        return cls(kept_model("encoder", WEIGHTS_SHA256, lambda: eight_bit_model(weights), cache))


def kept_model(
    kind: str, weights: str, make: Callable[[], bytes], cache: Path | None = None
) -> bytes:
    """An ONNX model, made at the first use and kept in the user's cache folder.

    Args:
        kind: of network.
        weights: their sha256.
        make: makes the model of these weights.
        cache: folder to keep it in; None for the user's.
    """
    name = f"{kind}-{weights[:12]}-eight-bit-{_VERSION}.checked"
    path = (cache or user_cache_path("memnet")) / name
    model = _kept(path)
    if model is None:
        model = make()
        # Without a place to keep it, it is made at each start: slower by about a second.
        with suppress(OSError):
            _keep(path, model)
    return model


def session_of(model: bytes) -> Any:
    """An ONNX Runtime session of a model, each call of which runs on the thread that makes it.

    Raises:
        DependencyError: ONNX Runtime is not installed.
    """
    _require()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _require() -> None:
    if not eight_bits_installed():
        raise DependencyError(
            f"an encoder in eight bits needs {' and '.join(_NEEDED)}; install them with: "
            "pip install 'memnet[onnx]'"
        )


def _kept(path: Path) -> bytes | None:
    """A model that was kept; None where there is none, or it is not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, model = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return model if hashlib.sha256(model).digest() == digest else None


def _keep(path: Path, model: bytes) -> None:
    """Write a model with its sha256 in one step: a reader sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(hashlib.sha256(model).digest() + model)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
