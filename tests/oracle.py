"""Obvious twins of the fast paths, in float64."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.documents.candidates import LinkFeature, SlotFeature

Array = NDArray[np.float64]


def softmax(scores: Array, mask: NDArray[np.bool_] | None = None) -> Array:
    """One row [K]: weights of the permitted slots, zeros elsewhere."""
    permitted = np.ones(len(scores), bool) if mask is None else mask
    highest = scores.max(where=permitted, initial=-math.inf)
    weights = np.where(permitted, np.exp(np.where(permitted, scores - highest, 0.0)), 0.0)
    weights /= max(1.0, weights.sum())
    return weights


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


def passage_score(arrays: Any, candidates: Any, place: int, prefix: str) -> float:
    """Score of one passage by those arrays of a text controller that begin with ``prefix``."""
    number = int(prefix == "later.")
    features = candidates.features[place].tolist()
    weights = arrays[f"{prefix}weights"].tolist()
    score: float = sum(weight * value for weight, value in zip(weights, features, strict=True))
    led = [0.0, 0.0, 0.0]
    everything = 0.0
    if number:
        links = candidates.links
        power = max(0.0, float(arrays["later.links.sharpness"]))
        for link in range(len(links.names)):
            if int(links.candidate[link]) == place:
                known = links.features[link].tolist()
                gate = 1 / (1 + math.exp(-corrected(arrays, "later.links.gate.", known, [])))
                strength = 2 * gate * max(1e-6, known[LinkFeature.STRENGTH]) ** power
                kind = int(links.kind[link])
                led[kind] = max(led[kind], strength)
                everything += strength
        worth = arrays["later.links.weights"].tolist()
        score += sum(weight * value for weight, value in zip(worth, led, strict=True))
    also = [*led, math.log1p(everything)] if number else []
    return score + corrected(arrays, f"{prefix}correction.", features, also)


def share_features(
    of_hops: Sequence[float],
    plain: Sequence[float],
    link: Sequence[int],
    features: Sequence[Sequence[float]],
) -> list[float]:
    """What the gate to direct attention is given, for K candidates.

    Args:
        of_hops: [K] attention of the hops.
        plain: [K] attention by similarity.
        link: [K] the strongest link to each, -1 without one.
        features: [K][F] of the candidates.
    """
    hop, near = of_hops.index(max(of_hops)), plain.index(max(plain))
    return [
        of_hops[hop],
        plain[near],
        sum(min(one, other) for one, other in zip(of_hops, plain, strict=True)),
        plain[hop],
        of_hops[near],
        features[hop][SlotFeature.COVERED],
        features[near][SlotFeature.COVERED],
        sum(weight for weight, one in zip(of_hops, link, strict=True) if one >= 0),
        float(link[hop] >= 0),
        -sum(weight * math.log(weight) for weight in of_hops if weight),
        -sum(weight * math.log(weight) for weight in plain if weight),
    ]


def message_context(config: Any, messages: Any, found: Sequence[float], place: int) -> float:
    """What the messages around one are worth, and its length.

    Args:
        config: the settings of the hops.
        messages: ``MessageFeatures`` of K candidates.
        found: [K] cosine and BM25 of each, weighted.
        place: of a message among the candidates.
    """
    before, after = [], []
    for one, other in messages.beside.T.tolist():
        if other == place:
            before.append(one)
        if one == place:
            after.append(other)
    own = [k for k in range(len(found)) if messages.is_message[k]]
    same = [k for k in own if messages.session[k] == messages.session[place]]
    asked = [found[k] for k in before if messages.asks[k]]
    short = min(300, max(1, float(messages.characters[place])))
    return float(
        config.exchange_weight * max([0.0, *(found[k] for k in before + after)])
        + config.reply_weight * max([0.0, *asked])
        + config.session_weight * (max(found[k] for k in same) - max(found[k] for k in own))
        + config.length_weight * math.log(short / 300)
    )


def corrected(arrays: Any, prefix: str, features: list[float], also: list[float]) -> float:
    """A correction's number for one row."""
    shift, scale, hidden, hidden_bias, output, output_bias = (
        arrays[f"{prefix}{name}"].tolist()
        for name in (
            "shift", "scale", "hidden.weight", "hidden.bias", "output.weight", "output.bias",
        )
    )  # fmt: skip
    row = [(value - low) / wide for value, low, wide in zip(features, shift, scale, strict=True)]
    row += also
    total: float = output_bias[0]
    for weights, bias, worth in zip(hidden, hidden_bias, output[0], strict=True):
        value = bias + sum(weight * one for weight, one in zip(weights, row, strict=True))
        total += worth * value * (1 + math.erf(value / math.sqrt(2))) / 2
    return total


def best_spans(
    start: list[float],
    end: list[float],
    weight: float,
    places: list[tuple[int, int, int] | None],
    longest: int,
) -> list[tuple[int, int, int, float]]:
    """Every span within one passage: passage, first character, end, probability; best first."""
    found: list[tuple[int, int, int, float]] = []
    for first in range(len(start)):
        for last in range(first, min(first + longest, len(end))):
            one, other = places[first], places[last]
            if one is not None and other is not None and one[0] == other[0]:
                probability = math.exp(start[first] + end[last] + weight)
                found.append((one[0], one[1], other[2], probability))
    return sorted(found, key=lambda span: -span[3])


def top_k_gate(scores: Array, mask: NDArray[np.bool_], kept: int) -> Array:
    """One row [E]: the softmax over the best permitted scores, of equal ones the first."""
    permitted = [place for place in range(len(scores)) if mask[place]]
    best = sorted(permitted, key=lambda place: -scores[place])[:kept]
    return softmax(scores, np.array([place in best for place in range(len(scores))]))


def gate_logits(arrays: Mapping[str, Any], features: Array, vector: Array | None) -> list[float]:
    """The logits [E] of a gate."""
    given = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
    total = given["hidden.weight"] @ ((features - given["shift"]) / given["scale"])
    if vector is not None:
        total += given["vector.weight"] @ vector
    hidden = np.tanh(total + given["hidden.bias"])
    logits: list[float] = (given["gate.weight"] @ hidden + given["gate.bias"]).tolist()
    return logits


def logistic(
    weights: Array, values: Mapping[str, float], names: Sequence[str], probabilities: Sequence[str]
) -> float:
    """A logistic regression over named values, some of which are probabilities taken as logits."""
    total = 0.0
    for weight, name in zip(weights.tolist(), names, strict=True):
        value = values[name]
        total += weight * (math.log(value / (1 - value)) if name in probabilities else value)
    return 1 / (1 + math.exp(-total))


def table_vector(arrays: Mapping[str, Any], tokens: list[int]) -> list[float]:
    """The quick vector [D] of a text."""
    rows = arrays["table"][tokens].astype(np.float64) * arrays["scale"][tokens, None]
    vector = (rows @ arrays["projection"].astype(np.float64)).sum(axis=0)
    listed: list[float] = (vector / np.linalg.norm(vector)).tolist()
    return listed
