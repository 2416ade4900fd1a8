"""Slow, obvious twins of the fast paths: loops over float64."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def softmax(scores: Array, mask: NDArray[np.bool_]) -> Array:
    """One row [K]: weights of the permitted slots, zeros elsewhere."""
    weights = np.zeros(len(scores))
    permitted = [place for place in range(len(scores)) if mask[place]]
    if not permitted:
        return weights
    highest = max(scores[place] for place in permitted)
    total = sum(math.exp(scores[place] - highest) for place in permitted)
    for place in permitted:
        weights[place] = math.exp(scores[place] - highest) / total
    return weights


def attention(
    query: Array, keys: Array, values: Array, mask: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Of [Q, D], [K, D], [K, V] under [Q, K]: read [Q, V] and weights [Q, K]."""
    read = np.zeros((len(query), values.shape[1]))
    weights = np.zeros((len(query), len(keys)))
    for q in range(len(query)):
        scores = np.array(
            [
                sum(query[q, d] * key[d] for d in range(len(key))) / math.sqrt(len(key))
                for key in keys
            ]
        )
        weights[q] = softmax(scores, mask[q])
        for k in range(len(keys)):
            for v in range(values.shape[1]):
                read[q, v] += weights[q, k] * values[k, v]
    return read, weights


def linear(inputs: Array, weight: Array, bias: Array) -> Array:
    """[T, I] -> [T, O], a sum at a time."""
    return np.array(
        [
            [
                bias[o] + sum(row[i] * weight[o, i] for i in range(len(row)))
                for o in range(len(bias))
            ]
            for row in inputs
        ]
    )


def multi_head(
    query: Array,
    keys: Array,
    values: Array,
    mask: NDArray[np.bool_],
    heads: int,
    projections: Mapping[str, tuple[Array, Array]],
) -> Array:
    """Multi-head attention of [Q, D] over [K, D], one head after the other -> [Q, D]."""
    projected = {
        name: linear(inputs, *projections[name])
        for name, inputs in (("query", query), ("key", keys), ("value", values))
    }
    size = query.shape[1] // heads
    joined = np.zeros((len(query), query.shape[1]))
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        joined[:, part], _ = attention(
            projected["query"][:, part],
            projected["key"][:, part],
            projected["value"][:, part],
            mask,
        )
    return linear(joined, *projections["output"])


def layer_norm(tokens: Array, weight: Array, bias: Array, epsilon: float) -> Array:
    """[T, D] -> [T, D]."""
    result = np.zeros_like(tokens)
    for t, token in enumerate(tokens):
        mean = sum(token) / len(token)
        variance = sum((value - mean) ** 2 for value in token) / len(token)
        for d in range(len(token)):
            result[t, d] = (token[d] - mean) / math.sqrt(variance + epsilon) * weight[d] + bias[d]
    return result


def gelu(inputs: Array) -> Array:
    """Exact GELU (Hendrycks and Gimpel 2016)."""
    flat = [value * 0.5 * (1 + math.erf(value / math.sqrt(2))) for value in inputs.ravel()]
    return np.array(flat).reshape(inputs.shape)


def bm25(documents: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
    """BM25 of each document for the query, as SQLite's FTS5 documents it (k1 1.2, b 0.75)."""
    mean_length = sum(map(len, documents)) / len(documents)
    scores = [0.0] * len(documents)
    for term in query:
        holding = sum(term in document for document in documents)
        weight = math.log((len(documents) - holding + 0.5) / (holding + 0.5))
        weight = weight if weight > 0 else 1e-6
        for place, document in enumerate(documents):
            frequency = Counter(document)[term]
            length = 1 - 0.75 + 0.75 * len(document) / mean_length
            scores[place] += weight * frequency * 2.2 / (frequency + 1.2 * length)
    return scores
