"""The span reader's network on ONNX Runtime."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.encoders.onnx_model import Precision, calibrated, onnx_session, random_tokens
from memnet.encoders.weights import checked_folder, internal_name
from memnet.reader.spans import HEADS, MASKED_LOGIT, SpanScores

_POSITIONS = 512
_FLOAT_LAYERS = 4
"""First layers that stay in float32 where the rest is int8. Errors of early layers grow on the way
to the pointers: of 200 packs the best span is that of the float32 network in 186 with none, 194
with three and 199 with four, at 1.0, 1.5 and 1.7 times the time (2.0 in float32)."""
_BATCHES = ((2, 384), (4, 128), (4, 64))
"""Packs and tokens of the batches that ranges are observed on."""
_QUESTION_TOKENS, _PASSAGE_TOKENS, _SEP = 16, 120, 102


class OnnxSpanNetwork:
    """``SpanNetwork`` for inference. Thread-safe."""

    def __init__(self, model: bytes, threads: int = 1) -> None:
        """Load a model that ``span_model`` built, to run each call on some threads.

        Raises:
            DependencyError: ONNX Runtime is not installed.
        """
        self._session = onnx_session(model, threads)

    def __call__(
        self,
        token_ids: NDArray[np.int64],
        segments: NDArray[np.int64],
        answer_mask: NDArray[np.bool_],
    ) -> SpanScores:
        """Score tokens, as ``SpanNetwork.forward`` does without padding; arguments are [B, T]."""
        pointers, kinds = self._session.run(
            ["pointers", "kinds"], {"ids": token_ids, "segments": segments}
        )
        masked = np.where(answer_mask[:, :, None], pointers, np.float32(MASKED_LOGIT))
        scores = _log_softmax(masked, 1)
        return SpanScores(scores[:, :, 0], scores[:, :, 1], _log_softmax(kinds, 1))


def _log_softmax(logits: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    shifted: NDArray[np.float32] = logits - logits.max(axis=axis, keepdims=True)
    total: NDArray[np.float32] = np.exp(shifted).sum(axis=axis, keepdims=True)
    return shifted - np.log(total)


def span_model(weights: Mapping[str, NDArray[Any]], precision: Precision) -> bytes:
    """Build the ONNX model of a reader's network.

    It takes ids and segments [B, T] int64, no padding, and gives pointers [B, T, 2] and kinds
    [B, 4] float32, both logits.

    Args:
        weights: of a trained ``SpanNetwork`` by name, float32; those that are missing are the
            encoder's.
        precision: of the products; in "int8" those of the first layers stay in float32.

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
        graph = BertGraph(bert, float_layers=_FLOAT_LAYERS, **settings)
        tokens = graph.tokens(_POSITIONS, "segments")
        first = graph.add("Gather", tokens, graph.constant("first", np.int64(0)), axis=1)
        for name, states in (("pointers", tokens), ("kinds", first)):
            weight = graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)
            bias = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
            graph.add("Add", graph.add("MatMul", states, weight), bias, result=name)
        return graph.serialised(
            {"ids": ["B", "T"], "segments": ["B", "T"]},
            {"pointers": ["B", "T", HEADS["pointers"]], "kinds": ["B", HEADS["kinds"]]},
        )

    return calibrated(build, precision, _random_packs())


def _random_packs() -> Iterator[dict[str, NDArray[np.int64]]]:
    """Packs of random tokens: a question, then passages."""
    rng = np.random.default_rng(0)
    for packs, tokens in _BATCHES:
        ids = random_tokens(rng, packs, tokens)
        ids[:, _QUESTION_TOKENS::_PASSAGE_TOKENS] = _SEP
        segments = np.zeros_like(ids)
        segments[:, _QUESTION_TOKENS + 1 :] = 1
        yield {"ids": ids, "segments": segments}
