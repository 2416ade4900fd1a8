"""The sentence encoder on ONNX Runtime, and the weights of it that ship."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.checkpoints import SHIPPED, check_weights, load_checkpoint
from memnet.encoders.onnx_file import Shape, onnx_session
from memnet.encoders.onnx_graph import BertGraph, Weights
from memnet.encoders.weights import WEIGHTS_SHA256
from memnet.errors import ModelError

MINILM = "minilm"  # Name of the checkpoint of the encoder's weights in int8, and of its folder
_POSITIONS, _WIDTH = 256, 384
_BATCHES = ((16, 128), (32, 32), (32, 8))  # Texts and tokens of the batches ranges are observed on
_CLS, _SEP, _FIRST_WORD, _VOCABULARY = 101, 102, 999, 30522


@lru_cache(maxsize=1)
def shipped_weights() -> Mapping[str, NDArray[Any]]:
    """The weights that ship, as ``onnx_graph.quantised`` gives them; ModelError if damaged."""
    folder = SHIPPED / MINILM
    arrays, description = load_checkpoint(folder, MINILM)
    if description.get("encoder") != WEIGHTS_SHA256:
        raise ModelError(f"the weights in {folder} are of another encoder; reinstall memnet")
    check_weights(arrays, folder)
    return arrays


def encoder_model(weights: Weights, observe: bool = False, positions: int = _POSITIONS) -> bytes:
    """Build the ONNX model of the encoder, from ids [B, T] int64 without padding.

    It gives "vectors" [B, 384] and the "states" [B, T, 384] whose mean each is, before its length
    became one. ``positions`` is the most tokens of a text; the rest is as for ``BertGraph``.
    """
    graph = BertGraph(weights, observe)
    states = graph.add("Identity", graph.tokens(positions), result="states")
    mean = graph.add("ReduceMean", states, graph.constant("axis", np.array([1])), keepdims=0)
    graph.add("LpNormalization", mean, axis=-1, p=2, result="vectors")
    outputs: dict[str, Shape] = {"vectors": ["B", _WIDTH], "states": ["B", "T", _WIDTH]}
    return graph.serialised({"ids": ["B", "T"]}, outputs)


def random_texts(
    first: int = _CLS, last: int = _SEP, word: int = _FIRST_WORD, vocabulary: int = _VOCABULARY
) -> Iterator[dict[str, NDArray[np.int64]]]:
    """Batches of texts of random words, ids [B, T] int64 with [CLS] and [SEP], to observe.

    Their ranges are close to those of real texts, and no text has to be shipped. The vocabulary
    is ordered by frequency from ``word`` on, so ranks are drawn log-uniformly (Zipf's law).
    """
    rng = np.random.default_rng(0)
    for shape in _BATCHES:
        ranks = np.exp(rng.uniform(0, np.log(vocabulary - word), shape))
        ids = np.minimum(word + ranks.astype(np.int64), vocabulary - 1)
        ids[:, 0], ids[:, -1] = first, last
        yield {"ids": ids}


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
