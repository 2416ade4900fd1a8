"""The gate: from features of a question and of a memory to weights of the experts."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import top_k_softmax
from memnet.checkpoints import (
    SHIPPED,
    check_shapes,
    check_weights,
    load_checkpoint,
)
from memnet.errors import ModelError
from memnet.experts import EXPERTS, ExpertName
from memnet.experts.features import FEATURES

FloatArray = NDArray[np.float32]
GATE = "gate"
"""Name of the checkpoint, and of the folder that ships."""
HIDDEN = 24
"""Width of the hidden layer."""
KEPT = 2
"""Experts that get a weight."""
_MAX_DIMENSION = 100_000


class Gate:
    """A network of one hidden layer with a sparse softmax. E experts, F features, H hidden.

    The vector of the question is an input only where the memory has the encoder that the gate was
    trained with; training leaves it out at random, so that the gate works without it.

    Source: Shazeer et al. 2017, section 2.1: the k largest logits keep their weights. Noise is for
    training only.
    """

    def __init__(self, arrays: Mapping[str, FloatArray], encoder: str) -> None:
        """Take weights as ``gate_shapes`` names them, and the fingerprint of their encoder."""
        self.encoder = encoder
        self._arrays = dict(arrays)

    def weigh(
        self, features: FloatArray, vector: FloatArray | None, held: Collection[ExpertName]
    ) -> FloatArray:
        """The weights of the experts.

        Args:
            features: [F] float32.
            vector: [D] float32, the encoded question; None where another encoder made it.
            held: the experts that the memory has something for; all others are masked.

        Returns:
            [E] float32, which sum to one: zeros but for the best two.
        """
        mask = np.array([name in held for name in EXPERTS], np.bool_)
        return top_k_softmax(self.logits(features, vector), mask, KEPT)

    def logits(self, features: FloatArray, vector: FloatArray | None) -> FloatArray:
        """[E] float32, one for each expert, held or not; arguments as for ``weigh``."""
        arrays = self._arrays
        hidden = arrays["hidden.weight"] @ ((features - arrays["shift"]) / arrays["scale"])
        hidden = hidden + arrays["hidden.bias"]
        if vector is not None:
            hidden = hidden + arrays["vector.weight"] @ vector
        logits: FloatArray = arrays["gate.weight"] @ np.tanh(hidden) + arrays["gate.bias"]
        return logits.astype(np.float32)


def gate_shapes(dimension: int) -> dict[str, tuple[int, ...]]:
    """The arrays of a gate, float32, for vectors of a width."""
    return {
        "shift": (len(FEATURES),),
        "scale": (len(FEATURES),),
        "hidden.weight": (HIDDEN, len(FEATURES)),
        "hidden.bias": (HIDDEN,),
        "vector.weight": (HIDDEN, dimension),
        "gate.weight": (len(EXPERTS), HIDDEN),
        "gate.bias": (len(EXPERTS),),
    }


def load_gate(folder: Path) -> Gate:
    """The gate of a folder.

    Raises:
        ModelError: there is none, or it is of other features or experts.
    """
    arrays, description = load_checkpoint(folder, GATE)
    dimension = description.get("dimension")
    expected = [GATE, list(EXPERTS), list(FEATURES)]
    if [description.get(key) for key in ("kind", "experts", "features")] != expected or not (
        isinstance(dimension, int) and 0 < dimension <= _MAX_DIMENSION
    ):
        raise ModelError(
            f"the gate in {folder} is one of another version of memnet; "
            "train it again with 'python -m benchmarks.gate.train'"
        )
    shapes = {name: (shape, np.dtype(np.float32)) for name, shape in gate_shapes(dimension).items()}
    check_shapes(arrays, shapes, folder)
    check_weights(arrays, folder)
    return Gate(arrays, str(description.get("encoder")))


@lru_cache(maxsize=1)
def shipped_gate() -> Gate:
    """The gate that ships with memnet."""
    return load_gate(SHIPPED / GATE)
