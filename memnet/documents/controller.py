"""The controller for documents: what each way of addressing is worth, and which links to follow."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.config import HopConfig
from memnet.documents.state import (
    KEY,
    LINK_FEATURES,
    SLOT_FEATURES,
    Candidates,
    Links,
    Parts,
    QueryState,
    Scores,
)

Numbers = NDArray[np.float32]
KINDS = 3
"""Of links."""
HIDDEN = 16
"""Width of a correction's hidden layer."""
LEAST = 1e-6
"""Attention below which a gradient would be lost in rounding."""


class TextController:
    """Scores slots by the ways of addressing them and by links from what was attended to.

    As it is made it knows nothing but the named numbers of ``HopConfig``: a slot's score is a
    weighted sum of cosine, BM25, whether the question names it, and the strongest attended slot
    that mentions it. A ``TextLearner`` learns other weights for the first hop and for later ones, a
    gate for links, and a small correction that starts at zero.

    The query vector never changes: adding what was read to it lowered recall on training questions,
    and so did asking with the names that were read. What a hop learns, it learns as links.

    Source: the hop is that of Miller et al. 2016, section 3.1, with key hashing by symbol repeated
    after each read.
    """

    def __init__(self, config: HopConfig, arrays: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Take weights.

        Args:
            config: gives the starting weights.
            arrays: what was learned, float32, with the names and shapes that ``arrays`` gives;
                None for nothing.
        """
        self.config = config
        self._arrays = _untrained(config) if arrays is None else dict(arrays)
        self._first = _HopScorer(_within(self._arrays, "first."))
        self._later = _HopScorer(_within(self._arrays, "later."))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All weights by name, float32."""
        return dict(self._arrays)

    def start(self, vector: Numbers, names: Sequence[str]) -> QueryState:
        """The state before the first hop.

        Args:
            vector: [D] float32, the encoded question.
            names: symbols that the question names.
        """
        return QueryState(vector, frozenset(names), (), {})

    def score(self, candidates: Candidates, hop: int) -> Scores:
        """Score candidates.

        Args:
            candidates: of one hop.
            hop: its number, counted from 0.
        """
        scorer = self._later if hop else self._first
        scores = scorer.score(candidates.features, candidates.links)
        if not candidates.is_fact.any():
            return scores
        return Scores(self._beside_facts(scores.parts, candidates), scores.link)

    def logits(self, parts: Parts) -> Numbers:
        """[K] float32: scores as logits of the attention."""
        return parts.total() / np.float32(self.config.temperature)

    def update(self, state: QueryState, ids: Sequence[int], logits: Numbers) -> QueryState:
        """The state after a read.

        Args:
            state: the state that was read with.
            ids: [K] the slots that were scored, best first.
            logits: [K] float32, in that order.
        """
        relative = (logits - logits[:1]).tolist()
        before = dict(zip(ids, relative, strict=True))
        return QueryState(state.vector, state.named, tuple(ids[: self.config.attended]), before)

    def _beside_facts(self, passages: Parts, candidates: Candidates) -> Parts:
        """Parts [K] where facts are among the candidates.

        Facts are scored by named numbers alone. So that passages compare with them, all passages
        are moved alike, the best one to where named numbers see the best one.
        """
        config = self.config
        facts = candidates.is_fact
        dense, lexical, named = (candidates.feature(name) for name in ("dense", "lexical", "named"))
        links = candidates.links
        led, _ = _strongest(links.strength, links.candidate, links.kind == KEY, len(dense))
        known = (
            config.dense_weight * dense
            + config.lexical_weight * lexical
            + config.question_symbol_weight * named
            + config.read_symbol_weight * led
        )
        moved = _highest(known, ~facts) - _highest(passages.total(), ~facts)
        fact = np.maximum(config.question_fact_weight * named, config.read_fact_weight * led)
        nothing = np.float32(0)
        return Parts(
            np.where(facts, np.float32(config.relation_weight) * dense, passages.dense),
            np.where(facts, nothing, passages.lexical),
            np.where(facts, fact.astype(np.float32), passages.symbolic),
            np.where(facts, nothing, passages.learned + np.float32(moved)),
        )


class _HopScorer:
    """The weights of one hop. K = candidates, E = links, F and G = features of each."""

    def __init__(self, arrays: Mapping[str, Numbers]) -> None:
        self._weights = arrays["weights"]
        self._correction = _Corrector(_within(arrays, "correction."))
        links = _within(arrays, "links.")
        self._links = _LinkScorer(links) if links else None

    def score(self, features: Numbers, links: Links) -> Scores:
        """Score candidates of features [K, F] float32 with links to them."""
        weighted = features * self._weights
        named = weighted[:, 2]
        if self._links is None:
            led, best = features[:, :0], np.full(len(features), -1)
        else:
            worth, led, best = self._links.follow(links, len(features))
            named = named + worth
        learned = self._correction(features, led) + weighted[:, 3:].sum(axis=1)
        return Scores(Parts(weighted[:, 0], weighted[:, 1], named, learned), best)


class _LinkScorer:
    """How far each link is to be followed, and what that is worth."""

    def __init__(self, arrays: Mapping[str, Numbers]) -> None:
        self._weights = arrays["weights"]
        self._sharpness = max(0.0, float(arrays["sharpness"]))
        self._gate = _Corrector(_within(arrays, "gate."))

    def follow(self, links: Links, slots: int) -> tuple[Numbers, Numbers, NDArray[np.int64]]:
        """Follow links.

        Args:
            links: of one hop.
            slots: K, how many candidates there are.

        Returns:
            What the links to each candidate are worth [K]; the strongest of each kind and, as a
            logarithm, the sum of all [K, 4]; and the strongest link to each [K], else -1.
        """
        attention = np.maximum(links.strength, np.float32(LEAST)) ** np.float32(self._sharpness)
        strength = 2 * _sigmoid(self._gate(links.features)) * attention
        kinds = [
            _strongest(strength, links.candidate, links.kind == kind, slots)
            for kind in range(KINDS)
        ]
        led = np.stack([led for led, _ in kinds], axis=1)
        places = np.stack([place for _, place in kinds], axis=1)
        best = places[np.arange(slots), led.argmax(axis=1)]
        number = np.bincount(links.candidate, strength, slots).astype(np.float32)
        found = np.concatenate([led, np.log1p(number)[:, None]], axis=1)
        return led @ self._weights, found, best


class _Corrector:
    """Features [N, F] float32, brought to one scale, to a number [N]."""

    def __init__(self, arrays: Mapping[str, Numbers]) -> None:
        self._arrays = arrays

    def __call__(self, features: Numbers, *also: Numbers) -> Numbers:
        """The number [N] of features [N, F] and of further columns [N, ...], taken as they are."""
        own = self._arrays
        inputs = np.concatenate(((features - own["shift"]) / own["scale"], *also), axis=1)
        hidden = _gelu(inputs @ own["hidden.weight"].T + own["hidden.bias"])
        numbers: Numbers = (hidden @ own["output.weight"].T + own["output.bias"])[:, 0]
        return numbers


def _sigmoid(numbers: Numbers) -> Numbers:
    result: Numbers = np.reciprocal(1 + np.exp(-numbers))
    return result


def _gelu(numbers: Numbers) -> Numbers:
    """Each number times the share of the normal distribution that lies below it.

    Source: Hendrycks and Gimpel 2016; the distribution by Abramowitz and Stegun 1964, 7.1.26, which
    is right to 1.5e-7.
    """
    half = np.abs(numbers) * np.float32(math.sqrt(1 / 2))
    near = np.reciprocal(1 + np.float32(0.3275911) * half)
    tail = np.zeros_like(near)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail = (tail + np.float32(factor)) * near
    within = np.sign(numbers) * (1 - tail * np.exp(-half * half))
    below: Numbers = ((1 + within) / 2).astype(np.float32)
    return numbers * below


def _strongest(
    strength: Numbers, candidate: NDArray[np.int64], chosen: NDArray[np.bool_], slots: int
) -> tuple[Numbers, NDArray[np.int64]]:
    """For each slot the largest strength [K] of the chosen links to it, and that link [K].

    Without one they are 0 and -1.
    """
    led, place = np.zeros(slots, np.float32), np.full(slots, -1)
    (links,) = np.nonzero(chosen)
    np.maximum.at(led, candidate[links], strength[links])
    # The best link of a slot is the one that reaches its maximum; of equal ones the last.
    reached = links[strength[links] >= led[candidate[links]]]
    place[candidate[reached]] = reached
    return led, place


def _highest(scores: NDArray[np.floating[Any]], chosen: NDArray[np.bool_]) -> float:
    """The highest of the chosen scores [K]; 0 where none is chosen."""
    return float(scores[chosen].max()) if chosen.any() else 0.0


def _within(arrays: Mapping[str, Numbers], start: str) -> dict[str, Numbers]:
    """Those of some arrays whose names start so, by the rest of their names."""
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


def _untrained(config: HopConfig) -> dict[str, Numbers]:
    """The weights that the configuration gives, with corrections that are zero."""
    known = {
        "dense": config.dense_weight,
        "lexical": config.lexical_weight,
        "named": config.question_symbol_weight,
    }
    weights = np.array([known.get(name, 0.0) for name in SLOT_FEATURES], np.float32)
    return {
        "first.weights": weights,
        **_no_correction("first.correction", len(SLOT_FEATURES), len(SLOT_FEATURES)),
        "later.weights": weights,
        **_no_correction("later.correction", len(SLOT_FEATURES), len(SLOT_FEATURES) + KINDS + 1),
        "later.links.weights": np.array([config.read_symbol_weight, 0.0, 0.0], np.float32),
        "later.links.sharpness": np.ones((), np.float32),
        **_no_correction("later.links.gate", len(LINK_FEATURES), len(LINK_FEATURES)),
    }


def _no_correction(name: str, features: int, inputs: int) -> dict[str, Numbers]:
    zeros = np.zeros
    return {
        f"{name}.shift": zeros(features, np.float32),
        f"{name}.scale": np.ones(features, np.float32),
        f"{name}.hidden.weight": zeros((HIDDEN, inputs), np.float32),
        f"{name}.hidden.bias": zeros(HIDDEN, np.float32),
        f"{name}.output.weight": zeros((1, HIDDEN), np.float32),
        f"{name}.output.bias": zeros(1, np.float32),
    }
