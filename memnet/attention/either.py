"""Layers over arrays of NumPy or tensors of torch: the same lines learn and answer.

Weights are given by the names that they have in modules of torch.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from memnet.attention import arrays

Array: TypeAlias = Any  # An array of NumPy, or a tensor of torch that may have gradients

Weights: TypeAlias = Mapping[str, Any]


def library(like: Array) -> Any:
    """NumPy or torch, as the array is one of."""
    return np if isinstance(like, np.ndarray) else sys.modules["torch"]


def without_gradient(values: Array) -> Array:
    """The same numbers, through which no gradient flows."""
    return values if isinstance(values, np.ndarray) else values.detach()


def largest_of(count: int, index: Array, values: Array, least: float = 0.0) -> Array:
    """[N] float32, N = ``count``: the largest of the values [M] of each index [M], or ``least``."""
    if isinstance(values, np.ndarray):
        found = np.full(count, least, np.float32)
        np.maximum.at(found, index, values)
        return found
    return values.new_full((count,), least).scatter_reduce(0, index, values, "amax")


def sum_of(count: int, index: Array, values: Array) -> Array:
    """[N] float32, N = ``count``: the sum of the values [M] of each index [M]."""
    if isinstance(values, np.ndarray):
        return np.bincount(index, values, count).astype(np.float32)
    return values.new_zeros(count).index_add(0, index, values)


def sigmoid(values: Array) -> Array:
    """The logistic function of each number."""
    return arrays.sigmoid(values) if isinstance(values, np.ndarray) else values.sigmoid()


def gelu(values: Array) -> Array:
    """The GELU of each number (Hendrycks and Gimpel 2016)."""
    own = isinstance(values, np.ndarray)
    return arrays.gelu(values) if own else library(values).nn.functional.gelu(values)


def masked_softmax(scores: Array, mask: Array) -> Array:
    """The softmax of scores [..., K] where a mask of their shape is True; elsewhere 0."""
    if isinstance(scores, np.ndarray):
        return arrays.softmax(scores, mask)
    from memnet.attention import functional

    return functional.masked_softmax(scores, mask)


def stable_order(values: Array) -> Array:
    """Indices [M] that sort values [M]; of equal ones the first comes first."""
    if isinstance(values, np.ndarray):
        return np.argsort(values, kind="stable")
    return values.argsort(stable=True)


def repeated(values: Array, counts: Array) -> Array:
    """Each of values [F] as often as counts [F] say: [M]."""
    if isinstance(values, np.ndarray):
        return np.repeat(values, counts)
    return values.repeat_interleave(counts)


def linear(weights: Weights, name: str, values: Array) -> Array:
    """Values [..., I] by the linear layer ``name``: [..., O]."""
    return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def layer_norm(weights: Weights, name: str, values: Array, epsilon: float = 1e-5) -> Array:
    """Values [..., D] of mean 0 and variance 1, scaled and shifted (Ba et al. 2016)."""
    centred = values - values.mean(axis=-1, keepdims=True)
    deviation = ((centred * centred).mean(axis=-1, keepdims=True) + epsilon) ** 0.5
    return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def feed_forward(weights: Weights, prefix: str, values: Array) -> Array:
    """Values [..., D] by the two layers "expand" and "contract", with a GELU between: [..., D]."""
    return linear(weights, f"{prefix}contract", gelu(linear(weights, f"{prefix}expand", values)))


def attend(
    query: Array, keys: Array, values: Array, mask: Array, bias: Array | None = None
) -> tuple[Array, Array]:
    """The read [..., Q, V] of values [..., K, V] and its weights [..., Q, K].

    By scaled dot products of queries [..., Q, D] and keys [..., K, D], with a bias of the scores.

    Source: Vaswani et al. 2017, equation 1.
    """
    scores = (query * (1 / math.sqrt(query.shape[-1]))) @ keys.swapaxes(-1, -2)
    weights = masked_softmax(scores if bias is None else scores + bias, mask)
    return weights @ values, weights


def multi_head(
    weights: Weights, name: str, heads: int, query: Array, keys: Array, mask: Array,
    bias: Array | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """``MultiHeadAttention`` of queries [..., Q, D] over slots [..., K, D], keys and values in one.

    Returns the read [..., Q, D] and the weights of each head [..., H, Q, K]; ``mask`` fits
    [..., Q, K] and ``bias`` [..., H, Q, K].
    """

    def split(part: str, values: Array) -> Array:
        projected = linear(weights, f"{name}.{part}", values)
        width = projected.shape[-1] // heads
        return projected.reshape(*values.shape[:-1], heads, width).swapaxes(-2, -3)

    read, attended = attend(
        split("query", query), split("key", keys), split("value", keys), mask[..., None, :, :], bias
    )
    joined = read.swapaxes(-2, -3).reshape(query.shape)
    return linear(weights, f"{name}.output", joined), attended


def gated_unit(weights: Weights, name: str, given: Array, state: Array) -> Array:
    """The next state [..., D] of a gated recurrent unit (Cho et al. 2014), as in torch."""
    new = given @ weights[f"{name}.weight_ih"].T + weights[f"{name}.bias_ih"]
    old = state @ weights[f"{name}.weight_hh"].T + weights[f"{name}.bias_hh"]
    width = state.shape[-1]
    reset, kept = (
        sigmoid(new[..., part] + old[..., part]) for part in (slice(width), slice(width, 2 * width))
    )
    value = library(state).tanh(new[..., 2 * width :] + reset * old[..., 2 * width :])
    return value + kept * (state - value)


def distinct_rows(rows: Array) -> tuple[Array, Array]:
    """The distinct rows [U, T] of rows [S, T], and which of them each is: [S]."""
    if isinstance(rows, np.ndarray):
        distinct, index = np.unique(rows, axis=0, return_inverse=True)
        return distinct, index.reshape(-1)
    distinct, index = library(rows).unique(rows, dim=0, return_inverse=True)
    return distinct, index


def as_float(values: Array) -> Array:
    """Whole numbers or truth values as float32."""
    return values.astype(np.float32) if isinstance(values, np.ndarray) else values.float()


def like(values: Array, numbers: range) -> Array:
    """Numbers as an array of the library, dtype and device of ``values``."""
    if isinstance(values, np.ndarray):
        return np.array(numbers, values.dtype)
    return values.new_tensor(numbers)
