"""The span reader's network on ONNX Runtime."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.encoders.onnx_model import Precision, cached_model, calibrated, onnx_session
from memnet.encoders.weights import checked_folder, internal_name, load_tokenizer
from memnet.reader.checkpoint import NetworkKind, dequantised, load_quantised
from memnet.reader.spans import MASKED_LOGIT, Packer, Passage, SpanScores

_POSITIONS = 512
_OBSERVED = Path(__file__).with_name("observed.jsonl")
"""Questions and passages that ranges are observed on: this project's own pages and examples.
On random words, which do for the encoder, scores are a third further from those in float32."""
_PACK_TOKENS = 384


class HeadsOnnx:
    """A network of the encoder's Transformer with two linear layers. Thread-safe."""

    def __init__(self, model: bytes, threads: int = 1) -> None:
        """Load a model that ``span_model`` built, to run each call on some threads.

        Raises:
            DependencyError: ONNX Runtime is not installed.
        """
        self._session = onnx_session(model, threads)

    def __call__(
        self, token_ids: NDArray[np.int64], segments: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Logits of each token [B, T, P] and of the first ones [B, K] float32.

        Args:
            token_ids: [B, T] int64, without padding.
            segments: [B, T] int64.
        """
        tokens, first = self._session.run(
            ["pointers", "kinds"], {"ids": token_ids, "segments": segments}
        )
        return tokens, first


class OnnxSpanNetwork:
    """``SpanNetwork`` for inference. Thread-safe."""

    def __init__(self, model: bytes, threads: int = 1) -> None:
        """Load a model, as ``HeadsOnnx``."""
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
    [B, K] float32, all logits.

    Args:
        weights: of a trained network of this shape by name, float32; those that are missing are the
            encoder's.
        precision: of the products.

    Raises:
        DependencyError: ONNX Runtime or onnx is not installed.
        EncoderError: the encoder's package is missing or damaged.
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
    """The ONNX model of a saved network, built once for its weights; errors as ``load_quantised``.

    Raises:
        DependencyError: ONNX Runtime or onnx is not installed.
    """
    tensors, sha256 = load_quantised(folder, kind)
    return cached_model(
        kind.name, sha256, precision,
        lambda: span_model(dequantised(tensors, folder, kind), precision),
    )  # fmt: skip


def _observed_packs() -> Iterator[dict[str, NDArray[np.int64]]]:
    """Packs of the texts that ranges are observed on."""
    packer = Packer(load_tokenizer(checked_folder()), _PACK_TOKENS)
    for line in _OBSERVED.read_text(encoding="utf-8").splitlines():
        example = json.loads(line)
        passages = [Passage(one["title"], one["text"]) for one in example["passages"]]
        for pack in packer.packs(example["question"], passages):
            ids, segments, _ = pack.inputs()
            yield {"ids": ids, "segments": segments}
