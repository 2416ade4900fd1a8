"""Networks on ONNX Runtime, and the sentence encoder as one of them."""

import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from memnet.encoders.weights import WEIGHTS_SHA256
from memnet.errors import DependencyError

Precision = Literal["int8", "float32"]  # Precision of a network's products; all else is float32
# Version of the int8 graphs in names of cached files: raise it when their results change.
_VERSION = 5
_DIGEST_BYTES = 32
_PACKAGES = ("onnxruntime", "onnx")
_POSITIONS, _WIDTH = 256, 384
_BATCHES = ((16, 128), (32, 32), (32, 8))  # Texts and tokens of the calibration batches
_CLS, _SEP, _FIRST_WORD, _VOCABULARY = 101, 102, 999, 30522


def onnx_installed() -> bool:
    """Whether ONNX Runtime and onnx are installed; neither is imported."""
    return all(importlib.util.find_spec(name) is not None for name in _PACKAGES)


def onnx_precision(eight_bits: bool | None, device: str) -> Precision | None:
    """The precision for ONNX Runtime; None where torch runs the network.

    True for int8, False for float32, None for int8 where that is faster: on the CPU, with ONNX
    Runtime installed.
    """
    if eight_bits:
        return "int8"
    if device != "cpu" or not onnx_installed():
        return None
    return "int8" if eight_bits is None else "float32"


def encoder_model(weights: Path, precision: Precision) -> bytes:
    """Build the ONNX model of the encoder, from ids [B, T] int64 without padding.

    It gives "vectors" [B, 384] and the "states" [B, T, 384] whose mean each is, before its length
    became one. DependencyError where ONNX Runtime or onnx is not installed.
    """
    _require()
    from safetensors.numpy import load_file

    from memnet.encoders.onnx_graph import BertGraph

    tensors = load_file(weights)

    def build(**settings: Any) -> bytes:
        graph = BertGraph(tensors, **settings)
        states = graph.add("Identity", graph.tokens(_POSITIONS), result="states")
        mean = graph.add("ReduceMean", states, graph.constant("axis", np.array([1])), keepdims=0)
        graph.add("LpNormalization", mean, axis=-1, p=2, result="vectors")
        outputs: dict[str, list[str | int]] = {
            "vectors": ["B", _WIDTH],
            "states": ["B", "T", _WIDTH],
        }
        return graph.serialised({"ids": ["B", "T"]}, outputs)

    return calibrated(build, precision, ({"ids": ids} for ids in _random_texts()))


def calibrated(
    build: Callable[..., bytes],
    precision: Precision,
    batches: Iterator[Mapping[str, NDArray[np.int64]]],
) -> bytes:
    """Build a model; an int8 one is calibrated on batches through its float32 twin.

    ``build`` takes keyword arguments of ``BertGraph``; batches are inputs of the model by name.
    """
    if precision == "float32":
        return build()
    from memnet.encoders.onnx_graph import RANGE_PREFIX

    session = onnx_session(build(observe=True))
    names = [output.name for output in session.get_outputs()]
    ranges: dict[str, NDArray[np.float32]] = {}
    for inputs in batches:
        for name, output in zip(names, session.run(names, inputs), strict=True):
            if name.startswith(RANGE_PREFIX):
                weight = name.removeprefix(RANGE_PREFIX)
                largest = np.asarray(output, np.float32)
                ranges[weight] = np.maximum(ranges.get(weight, largest), largest)
    return build(ranges=ranges)


def _random_texts() -> Iterator[NDArray[np.int64]]:
    """Batches of texts of random words, [B, T] int64, with [CLS] and [SEP], to calibrate on.

    Their ranges are close to those of real texts, and no text has to be shipped. BERT's vocabulary
    is ordered by frequency, so ranks are drawn log-uniformly (Zipf's law).
    """
    rng = np.random.default_rng(0)
    for shape in _BATCHES:
        ranks = np.exp(rng.uniform(0, np.log(_VOCABULARY - _FIRST_WORD), shape))
        ids = np.minimum(_FIRST_WORD + ranks.astype(np.int64), _VOCABULARY - 1)
        ids[:, 0], ids[:, -1] = _CLS, _SEP
        yield ids


class OnnxEncoder:
    """Token ids to one vector a text, as ``BertNetwork.embed``. Thread-safe."""

    def __init__(self, model: bytes) -> None:
        self._session = onnx_session(model)

    def embed(self, token_ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Token ids of texts of equal length [B, T] int64 -> [B, D] float32, of length one."""
        (vectors,) = self._session.run(["vectors"], {"ids": token_ids})
        return np.asarray(vectors, np.float32)

    def embed_states(
        self, token_ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """As ``embed``, with the token states [B, T, D] float32 that each vector is the mean of."""
        vectors, states = self._session.run(["vectors", "states"], {"ids": token_ids})
        return np.asarray(vectors, np.float32), np.asarray(states, np.float32)

    @classmethod
    def load(cls, weights: Path, precision: Precision) -> "OnnxEncoder":
        """Build the network, or read it from the cache, as ``cached_model``."""
        build = partial(encoder_model, weights, precision)
        return cls(cached_model("encoder", WEIGHTS_SHA256, precision, build))


def cached_model(
    kind: str, weights: str, precision: Precision, build: Callable[[], bytes]
) -> bytes:
    """A model; one in int8 is built at the first use and kept in the user's cache folder.

    ``weights`` is the sha256 of those from which ``build`` makes it.
    """
    # In float32 the file would be a copy of the weights, built as fast as it is read.
    if precision == "float32":
        return build()
    name = f"{kind}-{weights[:12]}-{precision}-{_VERSION}.checked"
    path = user_cache_path("memnet") / name
    model = _read(path)
    if model is None:
        model = build()
        # Without a writable cache it is built at each start, which takes about a second.
        with suppress(OSError):
            _write(path, model)
    return model


def onnx_session(model: bytes, threads: int = 1) -> Any:
    """An ONNX Runtime session of a serialised model; DependencyError if it is not installed.

    ``threads`` share the work of one call, the calling one among them.
    """
    _require()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # A thread that spins while it waits takes the core from the calls of other threads.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _require() -> None:
    if not onnx_installed():
        raise DependencyError(
            f"networks on ONNX Runtime need {' and '.join(_PACKAGES)}; install them with: "
            "pip install 'memnet[onnx]'"
        )


def _read(path: Path) -> bytes | None:
    """A cached model; None if it is missing or damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, model = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return model if hashlib.sha256(model).digest() == digest else None


def _write(path: Path, model: bytes) -> None:
    """Write a sha256 and the model atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(hashlib.sha256(model).digest() + model)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
