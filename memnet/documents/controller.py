"""The controller for documents: what each way of addressing is worth, and which links to follow."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import softmax
from memnet.attention.either import (
    Array,
    Weights,
    gelu,
    largest_of,
    library,
    linear,
    sigmoid,
    sum_of,
)
from memnet.checkpoints import MODEL, check_tensors, load_checkpoint, save_checkpoint
from memnet.config import HopConfig
from memnet.documents.candidates import (
    Candidates,
    FloatArray,
    IntArray,
    LinkFeature,
    LinkKind,
    Links,
    MessageFeatures,
    QueryState,
    Scores,
    SlotFeature,
)

HOP_PREFIXES = "first.", "later."  # Prefixes of the weights of the first hop and of all later ones
DIRECT_PREFIX, SHARE = "direct.", "share"  # Weights of direct attention, and of the gate to it
KIND = "text"  # Kind of the model, as the description of its checkpoint gives it
_HIDDEN = 16  # Width of a correction's hidden layer
# Arrays of a correction.
_CORRECTION = (
    "shift", "scale", "hidden.weight", "hidden.bias", "output.weight", "output.bias",
)  # fmt: skip
_MIN_ATTENTION = 1e-6  # Attention below which a gradient would be lost in rounding
# Softmax temperature over plain similarities: 0.03 and 0.05 are worse for chains, 0.12 for
# documents.
_PLAIN_TEMPERATURE = 0.1
_MIN_MIXTURE = 1e-30
_LONG_MESSAGE = 300  # Characters from which the length of a message says nothing more


class ShareFeature(IntEnum):
    """What the gate between the attention of the hops and direct attention is given."""

    HOPS_BEST = 0  # The largest weight of the hops' attention
    PLAIN_BEST = 1  # The same by similarity alone
    COMMON = 2  # What the two have in common: the sum of the smaller weights
    PLAIN_OF_HOPS = 3  # Weight by similarity of the slot that the hops attend to most
    HOPS_OF_PLAIN = 4  # Weight by the hops of the most similar slot
    HOPS_COVERED = 5  # ``SlotFeature.COVERED`` of the slot that the hops attend to most
    PLAIN_COVERED = 6  # The same of the most similar slot
    LINKED = 7  # Weight of all slots that links lead to, by the hops
    BEST_LINKED = 8  # 1 where a link leads to the slot that the hops attend to most
    HOPS_ENTROPY = 9  # In nats
    PLAIN_ENTROPY = 10


class TextController:
    """Scores slots by the ways of addressing them and by links from what was attended to.

    As it is made it knows nothing but the named numbers of ``HopConfig``: a slot's score is a
    weighted sum of cosine, BM25, whether the question names it, and the strongest attended slot
    that mentions it. Training learns other weights for the first hop and for later ones, a gate for
    links, and a small correction that starts at zero; then the same for direct attention, and what
    share it has.

    A hop updates the query by symbols and attention, not by the vector that it could read: adding
    that to the question's lowered recall (docs/decisions/003-untrained-controller.md).

    Source: the hop is that of Miller et al. 2016, section 3.1, with key hashing by symbol repeated
    after each read.
    """

    def __init__(self, config: HopConfig, arrays: Weights | None = None) -> None:
        """Take learned weights as ``arrays`` gives them; None for those of the configuration."""
        self.config = config
        self._arrays = _untrained(config) if arrays is None else dict(arrays)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All weights by name, float32."""
        return dict(self._arrays)

    def score(self, candidates: Candidates, hop: int) -> Scores:
        """Score the candidates of a hop; hops are counted from 0."""
        scores = hop_scores(
            self._arrays, HOP_PREFIXES[hop > 0], candidates.features, candidates.links
        )
        if candidates.is_fact.any() or candidates.messages is not None:
            scores = self._comparable(scores, candidates)
        return scores

    def logits(self, scores: Scores) -> FloatArray:
        """[K] float32: scores as logits of the attention."""
        return scores.total() / np.float32(self.config.temperature)

    def mixed(self, scores: Scores, candidates: Candidates, share: float | None = None) -> Scores:
        """Scores whose attention is a mixture: of that of the hops and of a direct one.

        The direct one knows what the question says of a passage alone: what was learned from chains
        costs questions that one passage answers. A learned gate gives its share from what the two
        attend to, so that a hop that brings nothing counts for little. Facts and messages keep
        their scores, the highest score of a passage stays, and nothing changes where passages have
        no keys of units.

        With a ``share`` [0, 1] nothing learned is used beside the hops: plain similarity has it.

        Source: mixtures of experts (Jacobs et al. 1991).
        """
        passages = passages_with_units(candidates)
        if not passages.any():
            return scores
        features, total = candidates.features[passages], scores.total()[passages]
        of_hops = softmax(self.logits(scores)[passages])
        if share is None:
            direct = softmax(direct_logits(self._arrays, self.config, features))
            given = share_features(of_hops, scores.link[passages], features, self.config)
            own = float(sigmoid(linear(self._arrays, SHARE, given[None]))[0, 0])
        else:
            direct, own = softmax(plain_logits(features, self.config)), share
        mixture = own * direct + (1 - own) * of_hops
        wanted = np.float32(self.config.temperature) * np.log(np.maximum(mixture, _MIN_MIXTURE))
        learned = scores.learned.copy()
        learned[passages] += wanted - total + (total.max() - wanted.max())
        return scores._replace(learned=learned)

    def update(self, ids: Sequence[int], logits: FloatArray) -> QueryState:
        """The state after a hop over slots ``ids``, best first, with their logits [K] float32."""
        relative = (logits - logits[:1]).tolist()
        attended = tuple(ids[: self.config.attended])
        return QueryState(attended, dict(zip(ids, relative, strict=True)))

    def _comparable(self, passages: Scores, candidates: Candidates) -> Scores:
        """Scores where facts or messages are candidates; ``passages`` holds those of passages.

        Facts and messages have no trained score. The scores of all other passages are shifted by
        one constant, so that the best gets its untrained score: that makes all comparable.
        """
        config, facts, links = self.config, candidates.is_fact, candidates.links
        dense, lexical, named = (
            candidates.features[:, column]
            for column in (SlotFeature.DENSE, SlotFeature.LEXICAL, SlotFeature.NAMED)
        )
        strength = links.features[:, LinkFeature.STRENGTH]
        key = links.kind == LinkKind.KEY
        linked = largest_of(len(dense), links.candidate[key], strength[key])
        untrained = (
            config.dense_weight * dense
            + config.lexical_weight * lexical
            + config.question_symbol_weight * named
            + config.read_symbol_weight * linked
        )
        others = candidates.is_passage
        shift = _highest(untrained, others) - _highest(passages.total(), others)
        symbolic = np.maximum(config.question_fact_weight * named, config.read_fact_weight * linked)
        zero = np.float32(0)
        scores = Scores(
            np.where(facts, np.float32(config.relation_weight) * dense, passages.dense),
            np.where(facts, zero, passages.lexical),
            np.where(facts, symbolic.astype(np.float32), passages.symbolic),
            np.where(facts, zero, passages.learned + np.float32(shift)),
            passages.link,
        )
        found = candidates.messages
        return scores if found is None else self._with_messages(scores, found)

    def _with_messages(self, scores: Scores, messages: MessageFeatures) -> Scores:
        """Scores where those of messages are sums of their own; nothing links to a message."""
        config, own = self.config, messages.is_message
        symbolic = config.speaker_weight * messages.speaker + config.day_weight * messages.day
        dense = np.float32(config.dense_weight) * messages.dense
        lexical = np.float32(config.lexical_weight) * messages.lexical
        learned = self._context(dense + lexical, messages)
        return Scores(
            np.where(own, dense, scores.dense),
            np.where(own, lexical, scores.lexical),
            np.where(own, symbolic.astype(np.float32), scores.symbolic),
            np.where(own, learned, scores.learned),
            np.where(own, -1, scores.link),
        )

    def _context(self, found: NDArray[np.floating[Any]], messages: MessageFeatures) -> FloatArray:
        """What the messages around each are worth, and its length: [K] float32.

        A question and its reply are one exchange: what is ``found``, [K] cosine and BM25 weighted,
        gives a share to those beside it, and more to the reply where it asks. A session that holds
        nothing of what is asked counts against its messages; the best session changes nothing, so
        that messages stay comparable with other slots.
        """
        config, own, (one, other) = self.config, messages.is_message, messages.beside
        exchange, reply = np.zeros_like(found), np.zeros_like(found)
        np.maximum.at(exchange, one, found[other])
        np.maximum.at(exchange, other, found[one])
        np.maximum.at(reply, other, np.where(messages.asks[one], found[one], 0))
        best = np.full(len(found), -np.inf, np.float32)
        np.maximum.at(best, messages.session[own], found[own])
        session = best[messages.session] - found[own].max()
        length = np.log(messages.characters.clip(1, _LONG_MESSAGE) / _LONG_MESSAGE)
        worth: FloatArray = (
            config.exchange_weight * exchange
            + config.reply_weight * reply
            + config.session_weight * session
            + config.length_weight * length
        ).astype(np.float32)
        return worth


def passages_with_units(candidates: Candidates) -> NDArray[np.bool_]:
    """[K]: which are passages; none where none of them has keys of units."""
    passages, features = candidates.is_passage, candidates.features
    dense, unit = features[:, SlotFeature.DENSE], features[:, SlotFeature.UNIT]
    return passages if (passages & (dense != unit)).any() else np.zeros_like(passages)


def plain_logits(features: FloatArray, config: HopConfig) -> FloatArray:
    """[K] float32: logits by cosines and BM25 of features [K, F], of which nothing was learned."""
    similarity = 0.5 * (features[:, SlotFeature.DENSE] + features[:, SlotFeature.UNIT])
    similarity += config.lexical_weight * features[:, SlotFeature.LEXICAL]
    logits: FloatArray = (similarity / _PLAIN_TEMPERATURE).astype(np.float32, copy=False)
    return logits


def direct_logits(weights: Weights, config: HopConfig, features: Array) -> Array:
    """[K] logits of direct attention by features [K, F], of NumPy to answer, of torch to learn."""
    logits: Array = hop_scores(weights, DIRECT_PREFIX, without_previous(features), None).total()
    return logits / config.temperature


def without_previous(features: Array) -> Array:
    """Features [K, F] but for what an earlier hop found."""
    kept = library(features).ones_like(features[:1])
    kept[:, SlotFeature.PREVIOUS] = 0
    return features * kept


def share_features(
    of_hops: FloatArray, link: IntArray, features: FloatArray, config: HopConfig
) -> FloatArray:
    """[G] float32, see ``ShareFeature``: by the attention of the hops [K] and their links [K]."""
    plain = softmax(plain_logits(features, config))
    covered, linked = features[:, SlotFeature.COVERED], link >= 0
    hops_best, plain_best = of_hops.argmax(), plain.argmax()
    values = {
        ShareFeature.HOPS_BEST: of_hops[hops_best],
        ShareFeature.PLAIN_BEST: plain[plain_best],
        ShareFeature.COMMON: np.minimum(of_hops, plain).sum(),
        ShareFeature.PLAIN_OF_HOPS: plain[hops_best],
        ShareFeature.HOPS_OF_PLAIN: of_hops[plain_best],
        ShareFeature.HOPS_COVERED: covered[hops_best],
        ShareFeature.PLAIN_COVERED: covered[plain_best],
        ShareFeature.LINKED: of_hops[linked].sum(),
        ShareFeature.BEST_LINKED: linked[hops_best],
        ShareFeature.HOPS_ENTROPY: _entropy(of_hops),
        ShareFeature.PLAIN_ENTROPY: _entropy(plain),
    }
    return np.array([values[column] for column in ShareFeature], np.float32)


def _entropy(weights: FloatArray) -> float:
    positive = weights[weights > 0]
    return -float((positive * np.log(positive)).sum())


def hop_scores(weights: Weights, prefix: str, features: Array, links: Links | None) -> Scores:
    """Scores of candidates of features [K, F] with links to them, by the weights of one hop.

    Arrays are of NumPy to answer and of torch to learn, whose scores name no strongest link.
    """
    weighted = features * weights[f"{prefix}weights"]
    symbolic = weighted[:, SlotFeature.NAMED]
    linked, best = features[:, :0], np.full(len(features), -1)
    if links is not None and f"{prefix}links.weights" in weights:
        strength = _strength(weights, f"{prefix}links.", links)
        kinds = [
            largest_of(len(features), links.candidate[chosen], strength[chosen])
            for chosen in (links.kind == kind for kind in LinkKind)
        ]
        total = sum_of(len(features), links.candidate, strength)
        strongest = library(features).stack(kinds, 1)
        linked = library(features).concatenate((strongest, library(total).log1p(total)[:, None]), 1)
        symbolic = symbolic + strongest @ weights[f"{prefix}links.weights"]
        if isinstance(strength, np.ndarray):
            best = _strongest(strength, links, strongest)
    others = weighted[:, SlotFeature.NAMED + 1 : SlotFeature.UNIT].sum(1)
    learned = _corrected(weights, f"{prefix}correction.", features, linked) + others
    dense = weighted[:, SlotFeature.DENSE] + weighted[:, SlotFeature.UNIT]
    return Scores(dense, weighted[:, SlotFeature.LEXICAL], symbolic, learned, best)


def _strength(weights: Weights, prefix: str, links: Links) -> Array:
    """[E]: how far each link is followed, by the attention to its sender and a learned gate."""
    attended = links.features[:, LinkFeature.STRENGTH].clip(_MIN_ATTENTION)
    # Sharpness 1 leaves the attention to senders as it is; at 0 all senders count equally.
    attention = attended ** weights[f"{prefix}sharpness"].clip(0.0)
    return 2 * sigmoid(_corrected(weights, f"{prefix}gate.", links.features)) * attention


def _corrected(weights: Weights, prefix: str, features: Array, *unscaled: Array) -> Array:
    """A small network: features [N, F], brought to one scale, and further columns to [N]."""
    scaled = (features - weights[f"{prefix}shift"]) / weights[f"{prefix}scale"]
    inputs = library(features).concatenate((scaled, *unscaled), 1)
    hidden = gelu(linear(weights, f"{prefix}hidden", inputs))
    return linear(weights, f"{prefix}output", hidden)[:, 0]


def _strongest(strength: FloatArray, links: Links, strongest: FloatArray) -> IntArray:
    """[K]: the strongest link to each candidate, -1 without any; of equal ones the last.

    ``strength`` [E] is that of all links, ``strongest`` [K, 3] the largest of each kind.
    """
    index = np.full(len(strongest), -1)
    kind, reached = strongest.argmax(axis=1), strongest.max(axis=1)
    (best,) = np.nonzero(
        (links.kind == kind[links.candidate]) & (strength >= reached[links.candidate])
    )
    index[links.candidate[best]] = best
    return index


def _highest(scores: NDArray[np.floating[Any]], chosen: NDArray[np.bool_]) -> float:
    """The highest of the chosen scores [K]; 0 where none is chosen."""
    return float(scores[chosen].max()) if chosen.any() else 0.0


def _untrained(config: HopConfig) -> dict[str, FloatArray]:
    slots, links = len(SlotFeature), len(LinkFeature)
    weights, links_weights = np.zeros(slots, np.float32), np.zeros(len(LinkKind), np.float32)
    weights[SlotFeature.DENSE] = weights[SlotFeature.UNIT] = config.dense_weight / 2
    weights[SlotFeature.LEXICAL] = config.lexical_weight
    weights[SlotFeature.NAMED] = config.question_symbol_weight
    links_weights[LinkKind.KEY] = config.read_symbol_weight
    # Before anything is learned direct attention is that by plain similarity.
    direct = weights * np.float32(config.temperature / _PLAIN_TEMPERATURE)
    direct[SlotFeature.NAMED] = 0
    return {
        f"{DIRECT_PREFIX}weights": direct,
        **_no_correction(f"{DIRECT_PREFIX}correction.", slots, slots),
        f"{SHARE}.weight": np.zeros((1, len(ShareFeature)), np.float32),
        f"{SHARE}.bias": np.zeros(1, np.float32),
        "first.weights": weights,
        **_no_correction("first.correction.", slots, slots),
        "later.weights": weights,
        **_no_correction("later.correction.", slots, slots + len(LinkKind) + 1),
        "later.links.weights": links_weights,
        "later.links.sharpness": np.ones((), np.float32),
        **_no_correction("later.links.gate.", links, links),
    }


def _no_correction(prefix: str, features: int, inputs: int) -> dict[str, FloatArray]:
    shapes = (features,), (features,), (_HIDDEN, inputs), (_HIDDEN,), (1, _HIDDEN), (1,)
    return {
        f"{prefix}{name}": np.full(shape, name == "scale", np.float32)
        for name, shape in zip(_CORRECTION, shapes, strict=True)
    }


def save_text_model(folder: Path, controller: TextController, notes: Mapping[str, Any]) -> None:
    """Save a controller as a checkpoint; ModelError if the folder can't be written."""
    save_checkpoint(folder, MODEL, controller.arrays(), {"kind": KIND, "trained": dict(notes)})


def load_text_model(folder: Path, config: HopConfig) -> TextController:
    """A saved controller; ModelError if the folder holds no whole one."""
    return text_model_of(folder, load_checkpoint(folder, MODEL)[0], config)


def text_model_of(folder: Path, arrays: Weights, config: HopConfig) -> TextController:
    """The controller of a checkpoint; ModelError if the arrays are not those of one."""
    kinds = {name: (array.shape, array.dtype) for name, array in _untrained(config).items()}
    check_tensors(arrays, kinds, folder)
    return TextController(config, arrays)
