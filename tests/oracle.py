"""Slow, obvious twins of the fast paths: loops over float64."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.documents.candidates import LinkFeature

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


def cosines(query: Array, keys: Array) -> Array:
    """Of [Q, D] and [K, D]: [Q, K], zero for a vector of zeros."""
    result = np.zeros((len(query), len(keys)))
    for q, asked in enumerate(query):
        for k, key in enumerate(keys):
            lengths = math.sqrt(sum(a * a for a in asked)) * math.sqrt(sum(b * b for b in key))
            if lengths:
                result[q, k] = sum(a * b for a, b in zip(asked, key, strict=True)) / lengths
    return result


def multiplicative(query: Array, keys: Array, weight: Array) -> Array:
    """Of [Q, E], [K, D] and [D, E]: s^T W h [Q, K]."""
    result = np.zeros((len(query), len(keys)))
    for q, asked in enumerate(query):
        for k, key in enumerate(keys):
            for d in range(len(key)):
                for e in range(len(asked)):
                    result[q, k] += asked[e] * weight[d, e] * key[d]
    return result


def additive(
    query: Array, keys: Array, query_weight: Array, key_weight: Array, output: Array
) -> Array:
    """Of [Q, E], [K, D], [I, E], [I, D] and [I]: v^T tanh(W1 h + W2 s) [Q, K]."""
    result = np.zeros((len(query), len(keys)))
    for q, asked in enumerate(query):
        for k, key in enumerate(keys):
            for i in range(len(output)):
                hidden = sum(key_weight[i, d] * key[d] for d in range(len(key)))
                hidden += sum(query_weight[i, e] * asked[e] for e in range(len(asked)))
                result[q, k] += output[i] * math.tanh(hidden)
    return result


def selected(
    query: Array,
    keys: Array,
    values: Array,
    ids: NDArray[np.int64],
    mask: NDArray[np.bool_],
) -> tuple[Array, Array]:
    """Of [Q, D], [N, D], [N, V] over [Q, C] candidates: read [Q, V] and weights [Q, C]."""
    read, weights = np.zeros((len(query), values.shape[1])), np.zeros(ids.shape)
    for q in range(len(query)):
        places = {ids[q, c]: c for c in reversed(range(ids.shape[1])) if mask[q, c]}
        chosen = list(places)
        every = np.ones((1, len(chosen)), dtype=bool)
        read[q : q + 1], found = attention(query[q : q + 1], keys[chosen], values[chosen], every)
        weights[q, list(places.values())] = found[0]
    return read, weights


def by_content(memory: Array, key: Array, strength: float) -> Array:
    """Of [N, W], [W] and a number: weights [N] (Graves et al. 2016, content-based addressing)."""
    every = np.ones(len(memory), dtype=bool)
    return softmax(strength * cosines(key[None], memory)[0], every)


def allocation(usage: Array) -> Array:
    """Of [N]: weights [N] of the slots to write to, the least used first."""
    free_list = sorted(range(len(usage)), key=lambda n: usage[n])
    weights = np.zeros(len(usage))
    for j, slot in enumerate(free_list):
        weights[slot] = 1 - usage[slot]
        for before in free_list[:j]:
            weights[slot] *= usage[before]
    return weights


def memory_step(
    before: Mapping[str, Array], asked: Mapping[str, Array]
) -> tuple[dict[str, Array], Array]:
    """One step of one memory, by the equations of Graves et al. 2016, Methods.

    ``before`` has the names of ``MemoryState`` and ``asked`` those of ``Interface``, both without
    the batch. Gives the new state and reads [R, W].
    """
    slots, width = before["memory"].shape
    heads = len(asked["read_keys"])
    now = {name: np.zeros_like(part) for name, part in before.items()}
    for n in range(slots):
        usage, written = before["usage"][n], before["write_weights"][n]
        now["usage"][n] = usage + written - usage * written
        for r in range(heads):
            now["usage"][n] *= 1 - asked["free_gates"][r] * before["read_weights"][r, n]
    free = allocation(now["usage"])
    similar = by_content(before["memory"], asked["write_key"], float(asked["write_strength"]))
    gate, allocate = float(asked["write_gate"]), float(asked["allocation_gate"])
    for n in range(slots):
        weight = gate * (allocate * free[n] + (1 - allocate) * similar[n])
        now["write_weights"][n] = weight
        for w in range(width):
            kept = before["memory"][n, w] * (1 - weight * asked["erase"][w])
            now["memory"][n, w] = kept + weight * asked["write"][w]
    weights, precedence = now["write_weights"], before["precedence"]
    for i in range(slots):
        now["precedence"][i] = (1 - sum(weights)) * precedence[i] + weights[i]
        for j in range(slots):
            if i != j:
                kept = (1 - weights[i] - weights[j]) * before["links"][i, j]
                now["links"][i, j] = kept + weights[i] * precedence[j]
    reads = np.zeros((heads, width))
    for r in range(heads):
        last = before["read_weights"][r]
        strength = float(asked["read_strengths"][r])
        similar = by_content(now["memory"], asked["read_keys"][r], strength)
        backward, content, forward = asked["read_modes"][r]
        for n in range(slots):
            later = sum(now["links"][i, n] * last[i] for i in range(slots))
            earlier = sum(now["links"][n, j] * last[j] for j in range(slots))
            weight = backward * later + content * similar[n] + forward * earlier
            now["read_weights"][r, n] = weight
            reads[r] += weight * now["memory"][n]
    return now, reads


def lstm_step(
    inputs: Array,
    hidden: Array,
    cell: Array,
    of_inputs: tuple[Array, Array],
    of_hidden: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Of [I], [H] and [H]: the next hidden and cell values of an LSTM, in torch's gate order."""
    size = len(hidden)
    sums = linear(inputs[None], *of_inputs)[0] + linear(hidden[None], *of_hidden)[0]
    new_hidden, new_cell = np.zeros(size), np.zeros(size)
    for i in range(size):
        enter, forget, leave = (1 / (1 + math.exp(-sums[gate * size + i])) for gate in (0, 1, 3))
        new_cell[i] = forget * cell[i] + enter * math.tanh(sums[2 * size + i])
        new_hidden[i] = leave * math.tanh(new_cell[i])
    return new_hidden, new_cell


def passage_score(controller: Any, candidates: Any, place: int, number: int) -> float:
    """Score of one passage by a text controller at hop ``number``, with plain loops."""
    scorer = controller.later if number else controller.first
    features = candidates.features[place].tolist()
    score: float = sum(
        weight * value for weight, value in zip(scorer.weights.tolist(), features, strict=True)
    )
    led = [0.0, 0.0, 0.0]
    everything = 0.0
    if number:
        links = candidates.links
        for link in range(len(links.names)):
            if int(links.candidate[link]) == place:
                known = links.features[link].tolist()
                gate = 1 / (1 + math.exp(-corrected(scorer.links.gate, known, [])))
                power = max(0.0, float(scorer.links.sharpness.detach()))
                strength = 2 * gate * known[LinkFeature.STRENGTH] ** power
                kind = int(links.kind[link])
                led[kind] = max(led[kind], strength)
                everything += strength
        score += sum(w * value for w, value in zip(scorer.links.weights.tolist(), led, strict=True))
    also = [*led, math.log1p(everything)] if number else []
    return score + corrected(scorer.correction, features, also)


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


def corrected(corrector: Any, features: list[float], also: list[float]) -> float:
    """A corrector's number for one row."""
    row = [
        (value - shift) / scale
        for value, shift, scale in zip(
            features, corrector.shift.tolist(), corrector.scale.tolist(), strict=True
        )
    ] + also
    array = np.asarray(row)[None]
    hidden = gelu(linear(array, _numbers(corrector.hidden.weight), _numbers(corrector.hidden.bias)))
    output = linear(hidden, _numbers(corrector.output.weight), _numbers(corrector.output.bias))
    return float(output[0, 0])


def _numbers(tensor: Any) -> Array:
    return np.asarray(tensor.tolist(), np.float64)


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
    """The logits [E] of a gate, a neuron at a time."""
    hidden: list[float] = []
    for h in range(len(arrays["hidden.bias"])):
        total = float(arrays["hidden.bias"][h])
        for f in range(len(features)):
            scaled = (features[f] - float(arrays["shift"][f])) / float(arrays["scale"][f])
            total += float(arrays["hidden.weight"][h, f]) * scaled
        for d in range(0 if vector is None else len(vector)):
            total += float(arrays["vector.weight"][h, d]) * vector[d]  # type: ignore[index]
        hidden.append(math.tanh(total))
    return [
        float(arrays["gate.bias"][e])
        + sum(float(arrays["gate.weight"][e, h]) * hidden[h] for h in range(len(hidden)))
        for e in range(len(arrays["gate.bias"]))
    ]


def logistic(
    weights: Array, values: Mapping[str, float], names: Sequence[str], probabilities: Sequence[str]
) -> float:
    """A logistic regression over named values, some of which are probabilities taken as logits."""
    total = 0.0
    for weight, name in zip(weights.tolist(), names, strict=True):
        value = values[name]
        total += weight * (math.log(value / (1 - value)) if name in probabilities else value)
    return 1 / (1 + math.exp(-total))


def table_vector(arrays: Mapping[str, Any], tokens: Sequence[int]) -> list[float]:
    """The quick vector [D] of a text, a token and a number at a time."""
    table, scale, projection = arrays["table"], arrays["scale"], arrays["projection"]
    vector = [0.0] * projection.shape[1]
    for token in tokens:
        for r in range(len(projection)):
            weight = float(table[token, r]) * float(scale[token])
            for d in range(len(vector)):
                vector[d] += weight * float(projection[r, d])
    length = math.sqrt(sum(number * number for number in vector))
    return [number / length for number in vector]
