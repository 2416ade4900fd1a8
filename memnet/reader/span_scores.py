"""What a span reader's network is given and gives, as arrays."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_ANSWER, SPAN, YES, NO = range(4)
"""Kinds of answers."""
HEADS = {"pointers": 2, "kinds": 4}
"""Logits of each layer above the encoder: of the first and the last token, and of the kinds."""
NEVER = -1e4
"""Logit of a token that no answer may hold: finite, so that a text without any is no error."""


class SpanScores(NamedTuple):
    """What the network makes of questions, each with its passages. T = tokens of both."""

    start: NDArray[np.float32]
    """[B, T]: log-probability that the answer starts at a token, if it is a span."""
    end: NDArray[np.float32]
    """[B, T]: the same for its last token."""
    kind: NDArray[np.float32]
    """[B, 4]: log-probability of no answer, a span, yes and no."""


ReadArrays = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]], SpanScores]
"""A network for reading only: takes token ids, segments and allowed tokens, each [B, T]."""
