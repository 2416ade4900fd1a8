"""What memory and controller exchange in a hop: candidates with their features, links, scores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.attention.either import Array
from memnet.documents.question import MAX_SLOTS_PER_SYMBOL, Question
from memnet.ingest.slots import passage_key
from memnet.storage import EVERYWHERE, MemoryStore, Scope, Symbols
from memnet.text.names import maximal_names

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]

_MAX_SHARING = 20  # A name that more slots mention links none of them by being mentioned
# Max. characters of a rescored passage with its title: it takes 7 to 9 ms of processor time.
_RESCORED_CHARACTERS = 400
_NEAR = 12  # Words on each side of a name that stand near it


class SlotFeature(IntEnum):
    """Columns of ``Candidates.features``."""

    DENSE = 0  # Cosine of question and key; for a fact, of question and relation
    LEXICAL = 1  # BM25 over the best BM25 of the question
    NAMED = 2  # 1 where the question names what the slot is about
    NAMED_WORDS = 3  # Words in that name / 3
    NAMED_SHARE = 4  # 1 over the number of slots of that name
    PART_OF_NAME = 5  # As ``NAMED_WORDS``, for names inside longer ones too
    COVERED = 6  # Share of the question's words that the slot contains, weighted by IDF
    PREVIOUS = 7  # Its logit of the last hop less the best one, a tenth of it and at least -1
    UNIT = 8  # Cosine of question and its best unit; ``DENSE`` where its units have no keys


class LinkKind(IntEnum):
    """How a link leads from an attended slot, its sender, to a candidate."""

    KEY = 0  # The sender mentions what the candidate is about
    SHARED = 1  # Both mention one name
    BACK = 2  # The candidate mentions what the sender is about


class LinkFeature(IntEnum):
    """Columns of ``Links.features``."""

    KEY = 0  # One-hot kind of the link (3 columns)
    SHARED = 1
    BACK = 2
    MENTIONS = 3  # Logarithm of how many slots mention the name
    SLOTS = 4  # Logarithm of how many slots are about it
    WORDS = 5  # Words in the name / 3
    ASKED = 6  # Share of the name's words that the question contains
    POSITION = 7  # Where the sender first mentions the name, 0 start to 1 end
    NEAR = 8  # Share of the question's words that stand near it there
    STRENGTH = 9  # Attention to the sender over the best slot's
    RANK = 10  # Of the sender, in tens
    SENDER_NAMED = 11  # 1 where the question names what the sender is about
    # Share of the question's words, without its names, that the candidate contains and the sender
    # does not
    BEYOND = 12
    TOGETHER = 13  # Share of the question's words that one of the two contains
    LIKENESS = 14  # Cosine of the two keys
    DENSE = 15  # As of the candidate


@dataclass(frozen=True)
class QueryState:
    """What a hop leaves for the next one. The query vector stays that of the question."""

    # The slots that the last hop attended to most, best first: the senders of links
    attended: tuple[int, ...] = ()
    # For each slot that the last hop scored its logit less the best one's: at most 0
    logits: Mapping[int, float] | None = None


@dataclass(frozen=True)
class Links:
    """Ways from attended slots to candidates. E = links; tensors of torch where one learns."""

    candidate: Array  # [E] int64: index among the candidates
    sender: IntArray  # [E] slot id
    kind: Array  # [E] int64: a ``LinkKind``
    features: Array  # [E, G] float32: see ``LinkFeature``
    names: tuple[str, ...]  # [E] the name that links


@dataclass(frozen=True)
class Candidates:
    """The slots that addressing picked, with what each way of addressing says of them."""

    ids: tuple[int, ...]  # [K] slot ids, each once
    features: FloatArray  # [K, F] see ``SlotFeature``
    # [K] the name by which the question names what the slot is about, if it does
    named: tuple[str | None, ...]
    # [K] True for facts, whose ``DENSE`` compares the question with the relation only
    is_fact: NDArray[np.bool_]
    links: Links
    messages: "MessageFeatures | None" = None  # None where no message is among them

    @property
    def is_passage(self) -> NDArray[np.bool_]:
        """[K]: True for what is neither a fact nor a message."""
        others = ~self.is_fact
        return others if self.messages is None else others & ~self.messages.is_message


class MessageFeatures(NamedTuple):
    """What is known of those of K candidates that are messages of a conversation."""

    is_message: NDArray[np.bool_]  # [K] the others are 0 where it is False
    dense: FloatArray  # [K] cosine of the key and the question without the names of speakers
    lexical: FloatArray  # [K] BM25 for that question, over its best one
    # [K] 1 where somebody speaks whom the question asks about, if not about all
    speaker: FloatArray
    day: FloatArray  # [K] 1 on a day that the question names, a half on the days beside it
    # [2, P] pairs of messages, by their indices, that follow each other in a session
    beside: IntArray
    # [K] number of the session and day of each message, counted from 0; 0 for others
    session: IntArray
    asks: NDArray[np.bool_]  # [K] whether the message ends with a question mark
    characters: FloatArray  # [K] length of its text; 0 for others


class Scores(NamedTuple):
    """What a controller makes of K candidates."""

    # [K] the part of the score by vectors, of slots and units, in the unit of a cosine; so the
    # next three
    dense: FloatArray
    lexical: FloatArray
    symbolic: FloatArray
    learned: FloatArray  # What training added to the three ways of addressing
    link: IntArray  # [K] the strongest link to each candidate, -1 where there is none

    def total(self) -> FloatArray:
        """[K] float32."""
        return self.dense + self.lexical + self.symbolic + self.learned


class Link(NamedTuple):
    """A way from one slot to another."""

    sender: int
    slot: int
    kind: LinkKind
    name: str
    mentions: int  # Slots that mention the name, counted up to one more than may share it
    slots: int  # Slots that are about it


def find_links(
    symbols: Mapping[int, Symbols], store: MemoryStore, scope: Scope = EVERYWHERE
) -> list[Link]:
    """Follow the names of some slots: those that they mention, and those that they are about.

    Of several names that link two slots in one way, the one that the fewest slots mention counts.
    """
    if not symbols:
        return []
    mentioned = {name for slot in symbols.values() for name in slot.values}
    keyed = store.search_symbolic(mentioned, MAX_SLOTS_PER_SYMBOL, scope)
    about = {name for slot in symbols.values() for name in slot.keys}
    sharing = store.search_mentions(mentioned | about, _MAX_SHARING, scope)
    best: dict[tuple[int, int, LinkKind], Link] = {}
    for sender, own in symbols.items():
        whole = maximal_names(name for name in own.values if name in keyed and name not in own.keys)
        for kind, names, reached in (
            (LinkKind.KEY, whole, keyed),
            (LinkKind.SHARED, own.values, sharing),
            (LinkKind.BACK, own.keys, sharing),
        ):
            for name in names:
                mentions = len(sharing.get(name, ())) or _MAX_SHARING + 1
                slots = len(keyed.get(name, ()))
                for slot in reached.get(name, ()):
                    way = sender, slot, kind
                    other = best.get(way)
                    rarity = mentions, -len(name)
                    if slot != sender and (
                        other is None or rarity < (other.mentions, -len(other.name))
                    ):
                        best[way] = Link(sender, slot, kind, name, mentions, slots)
    return list(best.values())


def links_with_features(
    links: Sequence[Link],
    state: QueryState,
    question: Question,
    ids: Sequence[int],
    vectors: FloatArray,
    dense: FloatArray,
    occurs: FloatArray,
) -> Links:
    """What is known of E links between K candidates ``ids``, which ``state`` sends.

    ``vectors`` [K, D] are their keys, ``dense`` [K] the cosines with the question, and ``occurs``
    [K, T] says which of the question's words each contains; all float32.
    """
    if not links:
        none = np.zeros(0, np.int64)
        return Links(none, none, none, np.zeros((0, len(LinkFeature)), np.float32), ())
    index = {slot: i for i, slot in enumerate(ids)}
    sender = np.array([index[link.sender] for link in links], np.int64)
    slot = np.array([index[link.slot] for link in links], np.int64)
    kind = np.array([link.kind for link in links], np.int64)
    counts = np.log1p(np.array([(link.mentions, link.slots) for link in links], np.float32))
    of_sender = _sender_features(state, question)
    of_name = {
        pair: _name_features(*pair, question)
        for pair in {(link.sender, link.name) for link in links}
    }
    rows = [(*of_name[link.sender, link.name], *of_sender[link.sender]) for link in links]
    terms = question.terms
    beyond = np.einsum("et,t->e", occurs[slot] * (1 - occurs[sender]), terms.rest)
    together = np.einsum("et,t->e", np.maximum(occurs[slot], occurs[sender]), terms.weights)
    likeness = np.einsum("ed,ed->e", vectors[sender], vectors[slot])
    pairs = np.stack([beyond, together, likeness, dense[slot]], axis=1)
    features = np.concatenate(
        [np.eye(len(LinkKind), dtype=np.float32)[kind], counts, np.array(rows, np.float32), pairs],
        axis=1,
    )
    senders = np.array([link.sender for link in links], np.int64)
    return Links(slot, senders, kind, features, tuple(link.name for link in links))


def _sender_features(state: QueryState, question: Question) -> dict[int, tuple[float, ...]]:
    """STRENGTH, RANK and SENDER_NAMED of each attended slot that has symbols."""
    logits = state.logits or {}
    named = frozenset(question.named)
    symbols = question.fetched.symbols(state.attended)
    return {
        slot: (math.exp(logits[slot]), rank / 10, float(not named.isdisjoint(symbols[slot].keys)))
        for rank, slot in enumerate(state.attended)
        if slot in symbols
    }


def _name_features(sender: int, name: str, question: Question) -> tuple[float, ...]:
    """WORDS, ASKED, POSITION and NEAR of a name in the text of a sender."""
    text, terms = f" {question.fetched.normalised_text(sender)} ", question.terms
    words, start = name.split(), text.find(f" {name} ")
    if start < 0 or not words:
        return len(words) / 3, terms.share_of(words or [""]), 1.0, 0.0
    position, length = text.count(" ", 0, start), text.count(" ") - 1
    around = text.split()[max(0, position - _NEAR) : position + len(words) + _NEAR]
    return len(words) / 3, terms.share_of(words), position / length, terms.share_in(around)


def nearest_to_cutoff(logits: FloatArray, read: int, count: int) -> IntArray:
    """Positions of the ``count`` candidates of which it is least certain whether they are read.

    Their logits, of [K] falling ones, are nearest to the middle between the last that is read and
    the next one. Where all are read, these are all of them. [A] int64, rising.
    """
    if len(logits) <= read:
        return np.arange(len(logits) if count else 0)
    middle = (logits[read - 1] + logits[read]) / 2
    return np.sort(np.argsort(np.abs(logits - middle), kind="stable")[:count])


def rescore(candidates: Candidates, best: IntArray, question: Question) -> Candidates:
    """Candidates, some of which (``best``, [A] int64) are compared by newly encoded vectors.

    They stay as they are where all of their vectors are full, or the question has nothing to encode
    them by. The new cosines are shifted by one constant, so that their mean stays: quick vectors
    lie nearer to the question or farther from it as a whole, and what is compared again is to
    change places among itself. Those of full vectors are shifted along, so that all of these are
    compared in full. Facts, whose keys are few words, and messages stay as they are.
    """
    full = question.full
    if full is None or full.encode is None:
        return candidates
    own = best[candidates.is_passage[best]].tolist()
    if len(own) < 2:
        return candidates
    ids = [candidates.ids[index] for index in own]
    quick = frozenset(ids) if full.of_all else question.store.quick.of_slots(ids)
    if not quick:
        return candidates
    features, links = candidates.features.copy(), candidates.links
    cosines = features[own, SlotFeature.DENSE]
    before = cosines.mean()
    slots = question.fetched.slots([slot for slot in ids if slot in quick])
    keys = full.encode(
        [passage_key(slot.title, slot.text)[:_RESCORED_CHARACTERS] for slot in slots]
    )
    cosines[[slot in quick for slot in ids]] = keys @ question.vector
    cosines += before - cosines.mean()
    features[own, SlotFeature.UNIT] += cosines - features[own, SlotFeature.DENSE]
    features[own, SlotFeature.DENSE] = cosines
    of_links = links.features.copy()
    of_links[:, LinkFeature.DENSE] = features[links.candidate, SlotFeature.DENSE]
    return replace(candidates, features=features, links=replace(links, features=of_links))
