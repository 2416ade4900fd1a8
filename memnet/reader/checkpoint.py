"""Readers as folders: weights in int8, on ONNX Runtime, and the calibration of confidence.

The encoder's embeddings are not trained, so they are not saved but taken from its package.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from memnet.checkpoints import check_shapes, check_weights, load_checkpoint, save_checkpoint
from memnet.encoders.onnx_model import Precision, cached_model, calibrated, onnx_session
from memnet.encoders.weights import (
    WEIGHTS_SHA256,
    checked_folder,
    internal_name,
    is_network_tensor,
    load_tokenizer,
)
from memnet.errors import ModelError
from memnet.reader.confidence import FEATURES, PROMISES, Calibration
from memnet.reader.spans import HEADS, MASKED_LOGIT, Packer, Passage, SpanScores


class NetworkKind(NamedTuple):
    """A network of the encoder's Transformer with linear layers above it."""

    name: str  # Of its checkpoint within its folder
    heads: Mapping[str, int]  # Outputs of each linear layer


READER = NetworkKind("reader", HEADS)  # The reader of passages
_CONFIDENCE = "confidence"  # Name of the calibration's checkpoint within the same folder
# Weights that are those of the encoder's package.
EMBEDDINGS = ("encoder.words.weight", "encoder.positions.weight")
_WIDTH = 384
_SCALE = ".scale"
_MAX_INT8 = 127
_MIN_SCALE = 1e-12


def save_weights(
    folder: Path,
    weights: Mapping[str, NDArray[np.float32]],
    notes: Mapping[str, Any],
    kind: NetworkKind = READER,
) -> None:
    """Save a network, matrices as int8 with a float32 scale a row."""
    tensors: dict[str, NDArray[Any]] = {}
    for name, array in weights.items():
        if name in EMBEDDINGS:
            continue
        if array.ndim < 2:
            tensors[name] = array
            continue
        largest = np.abs(array).max(axis=1, keepdims=True)
        scale = np.maximum(largest, np.float32(_MIN_SCALE)) / np.float32(_MAX_INT8)
        tensors[name] = np.round(array / scale).astype(np.int8)
        tensors[name + _SCALE] = scale
    description = {"kind": kind.name, "encoder": WEIGHTS_SHA256, "trained": dict(notes)}
    save_checkpoint(folder, kind.name, tensors, description)


def load_quantised(folder: Path, kind: NetworkKind = READER) -> tuple[dict[str, NDArray[Any]], str]:
    """The tensors of a network as they are saved, and the sha256 of their file.

    ModelError where the folder holds no whole network, or one of another encoder.
    """
    tensors, description = load_checkpoint(folder, kind.name)
    if description.get("kind") != kind.name or description.get("encoder") != WEIGHTS_SHA256:
        found = str(description.get("encoder"))[:12]
        raise ModelError(
            f"{folder} holds a {kind.name} network of the encoder {found}, "
            f"expected one of {WEIGHTS_SHA256[:12]}; train it again with this version"
        )
    return tensors, description["sha256"]


def dequantised(
    tensors: Mapping[str, NDArray[Any]], folder: Path, kind: NetworkKind = READER
) -> dict[str, NDArray[Any]]:
    """The float32 weights of a network by name, but for the embeddings.

    ModelError where they are not those of such a network, EncoderError where the encoder's package
    is missing or damaged.
    """
    weights: dict[str, NDArray[Any]] = {}
    for name, array in tensors.items():
        if name.endswith(_SCALE):
            continue
        scale = tensors.get(name + _SCALE)
        if scale is not None and (array.ndim < 1 or scale.shape != (len(array), 1)):
            raise ModelError(
                f"the {kind.name} network in {folder} is damaged: tensor {name} has shape "
                f"{array.shape} and scales of shape {scale.shape}; restore it or train it again"
            )
        weights[name] = array if scale is None else array * scale
    check_shapes(weights, _shapes(kind.heads), folder)
    check_weights(weights, folder)
    return weights


def load_weights(folder: Path, kind: NetworkKind = READER) -> dict[str, NDArray[Any]]:
    """The float32 weights of a saved network; errors as ``load_quantised`` and ``dequantised``."""
    tensors, _ = load_quantised(folder, kind)
    return dequantised(tensors, folder, kind)


def _shapes(heads: Mapping[str, int]) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and dtype of each weight: the encoder's but for the embeddings, and the heads."""
    with safe_open(checked_folder() / "model.safetensors", "numpy") as published:
        shapes = {
            f"encoder.{internal_name(name)}": tuple(published.get_slice(name).get_shape())
            for name in published.keys()  # noqa: SIM118 (it is no mapping)
            if is_network_tensor(name)
        }
    shapes |= {f"{name}.weight": (size, _WIDTH) for name, size in heads.items()}
    shapes |= {f"{name}.bias": (size,) for name, size in heads.items()}
    dtype = np.dtype(np.float32)
    return {name: (shape, dtype) for name, shape in shapes.items() if name not in EMBEDDINGS}


def copy_reader(folder: Path, out: Path) -> None:
    """Copy the network of a folder to another one; ModelError where it is not whole."""
    if folder.resolve() != out.resolve():
        tensors, description = load_checkpoint(folder, READER.name)
        save_checkpoint(out, READER.name, tensors, description)


def save_calibration(folder: Path, calibration: Calibration, notes: Mapping[str, Any]) -> None:
    """Save a calibration in its reader's folder; ModelError if that can't be written."""
    weights = np.array(calibration.weights, np.float64)
    promises = np.array([calibration.promises[kind] for kind in PROMISES], np.float64)
    tensors = {"weights": weights, "promises": promises}
    save_checkpoint(folder, _CONFIDENCE, tensors, {"trained": dict(notes)})


def load_calibration(folder: Path) -> Calibration | None:
    """The calibration of a folder's reader, if there is one; ModelError if it is damaged."""
    if not (folder / f"{_CONFIDENCE}.json").is_file():
        return None
    tensors, _ = load_checkpoint(folder, _CONFIDENCE)
    found = [tensors.get(name, np.zeros(0)) for name in ("weights", "promises")]
    shapes, expected = [one.shape for one in found], [(FEATURES,), (len(PROMISES),)]
    if shapes != expected or not all(np.isfinite(one).all() for one in found):
        raise ModelError(
            f"the calibration in {folder} has arrays of shapes {shapes}, expected finite ones of "
            f"{expected}; delete its {_CONFIDENCE}.json and make it again with "
            "'memnet train confidence'"
        )
    weights, promises = (one.tolist() for one in found)
    return Calibration(weights, dict(zip(PROMISES, promises, strict=True)))


_POSITIONS = 512
# Questions and passages that ranges are observed on: this project's own pages and examples. On
# random words, which do for the encoder, scores are a third further from those in float32.
_OBSERVED = Path(__file__).with_name("observed.jsonl")
_PACK_TOKENS = 384


class HeadsOnnx:
    """A network of the encoder's Transformer with two linear layers. Thread-safe."""

    def __init__(self, model: bytes, threads: int = 1) -> None:
        self._session = onnx_session(model, threads)

    def __call__(
        self, token_ids: NDArray[np.int64], segments: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Logits of each token [B, T, P] and of the first [B, K], from ids and segments [B, T]."""
        tokens, first = self._session.run(
            ["pointers", "kinds"], {"ids": token_ids, "segments": segments}
        )
        return tokens, first


class OnnxSpanNetwork:
    """``SpanNetwork`` for inference. Thread-safe."""

    def __init__(self, model: bytes, threads: int = 1) -> None:
        self._heads = HeadsOnnx(model, threads)

    def __call__(
        self,
        token_ids: NDArray[np.int64],
        segments: NDArray[np.int64],
        answer_mask: NDArray[np.bool_],
    ) -> SpanScores:
        """Score tokens, as ``SpanNetwork.forward`` does without padding; arguments are [B, T]."""
        pointers, kinds = self._heads(token_ids, segments)
        masked = np.where(answer_mask[:, :, None], pointers[:, :, :2], np.float32(MASKED_LOGIT))
        scores = _log_softmax(masked, 1)
        relevance = pointers[:, :, 2]
        return SpanScores(scores[:, :, 0], scores[:, :, 1], relevance, _log_softmax(kinds, 1))


def _log_softmax(logits: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    shifted: NDArray[np.float32] = logits - logits.max(axis=axis, keepdims=True)
    total: NDArray[np.float32] = np.exp(shifted).sum(axis=axis, keepdims=True)
    return shifted - np.log(total)


def span_model(weights: Mapping[str, NDArray[Any]], precision: Precision) -> bytes:
    """Build the ONNX model of a reader's network.

    It takes ids and segments [B, T] int64, no padding, and gives pointers [B, T, P] and kinds
    [B, K] float32, all logits. ``weights`` are float32, by name; those that are missing are the
    encoder's. DependencyError where ONNX Runtime or onnx is not installed.
    """
    from safetensors.numpy import load_file

    from memnet.encoders.onnx_graph import BertGraph

    published = load_file(checked_folder() / "model.safetensors")
    bert = {
        name: weights.get(f"encoder.{internal_name(name)}", published[name]) for name in published
    }

    def build(**settings: Any) -> bytes:
        graph = BertGraph(bert, **settings)
        tokens = graph.tokens(_POSITIONS, "segments")
        first = graph.add("Gather", tokens, graph.constant("first", np.int64(0)), axis=1)
        for name, states in (("pointers", tokens), ("kinds", first)):
            weight = graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)
            bias = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
            graph.add("Add", graph.add("MatMul", states, weight), bias, result=name)
        return graph.serialised(
            {"ids": ["B", "T"], "segments": ["B", "T"]},
            {
                "pointers": ["B", "T", len(weights["pointers.bias"])],
                "kinds": ["B", len(weights["kinds.bias"])],
            },
        )

    return calibrated(build, precision, _observed_packs())


def trained_model(folder: Path, kind: NetworkKind, precision: Precision) -> bytes:
    """The ONNX model of a saved network, built once for its weights."""
    tensors, sha256 = load_quantised(folder, kind)
    return cached_model(
        kind.name, sha256, precision,
        lambda: span_model(dequantised(tensors, folder, kind), precision),
    )  # fmt: skip


def _observed_packs() -> Iterator[dict[str, NDArray[np.int64]]]:
    packer = Packer(load_tokenizer(checked_folder()), _PACK_TOKENS)
    for line in _OBSERVED.read_text(encoding="utf-8").splitlines():
        example = json.loads(line)
        passages = [Passage(one["title"], one["text"]) for one in example["passages"]]
        for pack in packer.packs(example["question"], passages):
            ids, segments, _ = pack.inputs()
            yield {"ids": ids, "segments": segments}
