"""Readers as folders: weights in int8, on ONNX Runtime, and the calibration of confidence.

The encoder's embeddings are not trained, so they are not saved but those that ship.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memnet.checkpoints import check_tensors, load_checkpoint, save_checkpoint
from memnet.encoders.minilm import shipped_weights
from memnet.encoders.onnx_graph import BertGraph, Shape, Weights, onnx_session, quantised
from memnet.encoders.weights import WEIGHTS_SHA256, internal_name, load_tokenizer
from memnet.errors import ModelError
from memnet.reader.confidence import FEATURES, Calibration
from memnet.reader.spans import HEADS, MASKED_LOGIT, Packer, Passage, ScorePacks, SpanScores


class NetworkKind(NamedTuple):
    """A network of the encoder's Transformer with linear layers above it."""

    name: str  # Of its checkpoint within its folder
    heads: Mapping[str, int]  # Outputs of each linear layer


READER = NetworkKind("reader", HEADS)  # The reader of passages
_CONFIDENCE = "confidence"  # Name of the calibration's checkpoint within the same folder
# Start of BERT's names of the weights that are the encoder's.
EMBEDDINGS = ("embeddings.word_embeddings.", "embeddings.position_embeddings.")
_WIDTH = 384


def save_weights(
    folder: Path,
    weights: Mapping[str, NDArray[np.float32]],
    notes: Mapping[str, Any],
    kind: NetworkKind = READER,
) -> None:
    """Save a network of float32 weights by their names in torch, its products as int8."""
    bert = (name for name in shipped_weights() if name.endswith((".weight", ".bias")))
    named = {name: weights[f"encoder.{internal_name(name)}"] for name in bert}
    named |= {name: weights[name] for name in _head_shapes(kind.heads)}
    tensors = {
        name: array
        for name, array in quantised(named, span_model, _observed_packs()).items()
        if not name.startswith(EMBEDDINGS)
    }
    description = {"kind": kind.name, "encoder": WEIGHTS_SHA256, "trained": dict(notes)}
    save_checkpoint(folder, kind.name, tensors, description)


def load_weights(folder: Path, kind: NetworkKind = READER) -> dict[str, NDArray[Any]]:
    """The weights of a saved network by BERT's names, as ``quantised`` gives them.

    ModelError where the folder holds no whole network, or one of another encoder.
    """
    tensors, description = load_checkpoint(folder, kind.name)
    if description.get("kind") != kind.name or description.get("encoder") != WEIGHTS_SHA256:
        found = str(description.get("encoder"))[:12]
        raise ModelError(
            f"{folder} holds a {kind.name} network of the encoder {found}, "
            f"expected one of {WEIGHTS_SHA256[:12]}; train it again with this version"
        )
    shipped = shipped_weights()
    expected: dict[str, tuple[Any, ...]] = {
        name: (array.shape, array.dtype)
        for name, array in shipped.items()
        if not name.startswith(EMBEDDINGS)
    }
    check_tensors(tensors, expected | _head_shapes(kind.heads), folder)
    return {**shipped, **tensors}


def _head_shapes(heads: Mapping[str, int]) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and dtype of the weights of the linear layers."""
    dtype = np.dtype(np.float32)
    shapes = {f"{name}.weight": ((size, _WIDTH), dtype) for name, size in heads.items()}
    return {**shapes, **{f"{name}.bias": ((size,), dtype) for name, size in heads.items()}}


def copy_reader(folder: Path, out: Path) -> None:
    """Copy the network of a folder to another one; ModelError where it is not whole."""
    if folder.resolve() != out.resolve():
        tensors, description = load_checkpoint(folder, READER.name)
        save_checkpoint(out, READER.name, tensors, description)


def save_calibration(folder: Path, calibration: Calibration, notes: Mapping[str, Any]) -> None:
    """Save a calibration in its reader's folder; ModelError if that can't be written."""
    weights = np.array(calibration.weights, np.float64)
    promise = np.array([calibration.promise], np.float64)
    tensors = {"weights": weights, "promise": promise}
    save_checkpoint(folder, _CONFIDENCE, tensors, {"trained": dict(notes)})


def load_calibration(folder: Path) -> Calibration | None:
    """The calibration of a folder's reader, if there is one; ModelError if it is damaged."""
    if not (folder / f"{_CONFIDENCE}.json").is_file():
        return None
    tensors, _ = load_checkpoint(folder, _CONFIDENCE)
    found = [tensors.get(name, np.zeros(0)) for name in ("weights", "promise")]
    shapes, expected = [one.shape for one in found], [(FEATURES,), (1,)]
    if shapes != expected or not all(np.isfinite(one).all() for one in found):
        raise ModelError(
            f"the calibration in {folder} has arrays of shapes {shapes}, expected finite ones of "
            f"{expected}; delete its {_CONFIDENCE}.json and make it again with "
            "'memnet train confidence'"
        )
    weights, promise = found
    return Calibration(weights.tolist(), promise.item())


_POSITIONS = 512
# Questions and passages that ranges are observed on: this project's own pages and examples. On
# random words, which do for the encoder, scores are a third further from those in float32.
_OBSERVED = Path(__file__).with_name("observed.jsonl")
_PACK_TOKENS = 384
# Logits of each token [B, T, P] and of the first [B, K], from ids and segments [B, T].
ScoreHeads: TypeAlias = Callable[
    [NDArray[np.int64], NDArray[np.int64]], tuple[NDArray[np.float32], NDArray[np.float32]]
]


def onnx_heads(model: bytes, threads: int = 1) -> ScoreHeads:
    """A network of the encoder's Transformer with two linear layers. Thread-safe."""
    session = onnx_session(model, threads)

    def score(
        token_ids: NDArray[np.int64], segments: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        inputs = {"ids": token_ids, "segments": segments}
        tokens, first = session.run(["pointers", "kinds"], inputs)
        return tokens, first

    return score


def onnx_scores(model: bytes, threads: int = 1) -> ScorePacks:
    """``SpanNetwork.forward`` without padding. Thread-safe."""
    heads = onnx_heads(model, threads)

    def score(
        token_ids: NDArray[np.int64], segments: NDArray[np.int64], answer_mask: NDArray[np.bool_]
    ) -> SpanScores:
        pointers, kinds = heads(token_ids, segments)
        masked = np.where(answer_mask[:, :, None], pointers[:, :, :2], np.float32(MASKED_LOGIT))
        scores = _log_softmax(masked, 1)
        relevance = pointers[:, :, 2]
        return SpanScores(scores[:, :, 0], scores[:, :, 1], relevance, _log_softmax(kinds, 1))

    return score


def _log_softmax(logits: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    shifted: NDArray[np.float32] = logits - logits.max(axis=axis, keepdims=True)
    total: NDArray[np.float32] = np.exp(shifted).sum(axis=axis, keepdims=True)
    return shifted - np.log(total)


def span_model(weights: Weights, observe: bool = False) -> bytes:
    """Build the ONNX model of a reader's network; arguments as for ``BertGraph``.

    It takes ids and segments [B, T] int64, no padding, and gives pointers [B, T, P] and kinds
    [B, K] float32, all logits.
    """
    graph = BertGraph(weights, observe)
    tokens = graph.tokens(_POSITIONS, "segments")
    first = graph.add("Gather", tokens, graph.constant("first", np.int64(0)), axis=1)
    for name, states in (("pointers", tokens), ("kinds", first)):
        weight = graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)
        product = graph.add("MatMul", states, weight)
        graph.add("Add", product, graph.weight(f"{name}.bias"), result=name)
    outputs: dict[str, Shape] = {
        "pointers": ["B", "T", len(weights["pointers.bias"])],
        "kinds": ["B", len(weights["kinds.bias"])],
    }
    return graph.serialised({"ids": ["B", "T"], "segments": ["B", "T"]}, outputs)


def _observed_packs() -> Iterator[dict[str, NDArray[np.int64]]]:
    packer = Packer(load_tokenizer(), _PACK_TOKENS)
    for line in _OBSERVED.read_text(encoding="utf-8").splitlines():
        example = json.loads(line)
        passages = [Passage(one["title"], one["text"]) for one in example["passages"]]
        for pack in packer.packs(example["question"], passages):
            ids, segments, _ = pack.inputs()
            yield {"ids": ids, "segments": segments}
