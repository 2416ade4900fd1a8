"""The gate: what a question is like, and what the memory holds for it, to weights of experts."""

import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import top_k_softmax
from memnet.checkpoints import SHIPPED, check_tensors, load_checkpoint
from memnet.documents.question import Question, relation_stems
from memnet.errors import ModelError
from memnet.text.names import normalise
from memnet.types import SourceKind

ExpertName = Literal["documents", "facts", "statements", "stories"]
# Experts in the order of the gate's outputs.
EXPERTS: tuple[ExpertName, ...] = ("documents", "facts", "statements", "stories")
KINDS: tuple[SourceKind, ...] = ("document", "facts", "statement", "story")
_OF_KIND = ("held", "cosine", "words", "covered", "named", "mentioned")
_OF_FACTS = ("relation", "relation words", "known relation")
_FIRST_WORDS = ("who", "where", "when", "which", "what", "how", "why", "is", "did")
_OF_QUESTION = ("first person", "length", "names", "story words", "other first word")
# F names, in their order.
FEATURES = (
    *(f"{kind}: {name}" for kind in KINDS for name in _OF_KIND),
    *_OF_FACTS,
    *_OF_QUESTION,
    *_FIRST_WORDS,
)
# Slots that dense and lexical search may each propose: the best of a kind is seldom further.
_HITS = 30
_NAMED = 30  # Slots of one name that are looked at
_FIRST_PERSON = frozenset("i me my mine we us our ours".split())
_LIKE_IS = frozenset("is are was were".split())
_LIKE_DID = frozenset("did do does has have had can could will would should may must".split())
_LENGTH = 20
_CAPITALISED = re.compile(r"(?<=\s)[A-Z]\w*")


class ModelVocabulary(NamedTuple):
    """What the loaded models know."""

    relations: AbstractSet[str]  # Of the fact model: digests in 32 hex digits; none without a model
    story_words: AbstractSet[str]  # Of the story model


def features_of(question: Question, known: ModelVocabulary) -> NDArray[np.float32]:
    """The features [F] float32, all within -1..2, of a question and the memory that it is asked of.

    The question is looked up within ``reading``.
    """
    parts = _of_kinds(question), _of_facts(question, known), _of_question(question, known)
    return np.array(list(chain(*parts)), np.float32)


def _of_kinds(question: Question) -> list[float]:
    """For each kind the best that a slot of it reaches."""
    store, scope = question.store, question.scope
    bm25 = question.sharing_words(_HITS)
    named = {
        slot: len(name.split())
        for name in reversed(question.named)
        for slot in question.slots_by_name[name][:_NAMED]
    }
    cosine = question.nearest(_HITS)
    slots = list(dict.fromkeys([*cosine, *bm25, *named]))
    others = [slot for slot in slots if slot not in cosine]
    keys = question.fetched.keys(others)
    cosine.update(zip(others, (keys.vectors @ question.vector).tolist(), strict=True))
    ids = np.array(slots, np.int64)
    occurs = question.terms.occurrences(ids)
    covered = dict(zip(slots, (occurs @ question.terms.weights).tolist(), strict=True))
    rest = dict(zip(slots, (occurs @ question.terms.rest).tolist(), strict=True))
    best_bm25 = max(bm25.values(), default=0.0) or 1.0
    kinds = store.contents.kinds_of(slots)
    held = store.contents.kinds(scope.namespace)
    found: list[float] = []
    for kind in KINDS:
        own = [slot for slot in slots if kinds.get(slot) == kind]
        found += [
            float(kind in held),
            max((cosine[slot] for slot in own), default=0.0),
            max((bm25.get(slot, 0.0) for slot in own), default=0.0) / best_bm25,
            max((covered[slot] for slot in own), default=0.0),
            min(1.0, max((named.get(slot, 0) for slot in own), default=0) / 3),
            max((rest[slot] for slot in own), default=0.0),
        ]
    return found


def _of_facts(question: Question, known: ModelVocabulary) -> list[float]:
    """How like the question the relations of what it names are, and whether a model knows them."""
    store = question.store
    numbers = [word for word in normalise(question.text).split() if word.isdigit()]
    subjects = store.facts.subjects([*question.named, *numbers])
    outgoing = store.facts.outgoing(subjects.values(), question.scope)
    if not len(outgoing):
        return [0.0] * len(_OF_FACTS)
    digests, vectors = store.facts.relation_keys(np.unique(outgoing[:, 1]).tolist())
    words = store.contents.relations()
    asked = relation_stems(question.text)
    cosines = (vectors @ question.vector).tolist()
    own = [relation_stems(words.get(digest, "")) for digest in digests]
    shared = [len(one & asked) / len(one) if one else 0.0 for one in own]
    best = max(range(len(digests)), key=lambda index: cosines[index] + shared[index])
    return [max(cosines), max(shared), float(digests[best] in known.relations)]


def _of_question(question: Question, known: ModelVocabulary) -> list[float]:
    words = normalise(question.text).split()
    first = next((word for word in words if word in _FIRST_WORDS), "")
    if words and words[0] in _LIKE_IS:
        first = "is"
    elif words and words[0] in _LIKE_DID:
        first = "did"
    first_words = [float(first == word) for word in _FIRST_WORDS]
    in_story = sum(word in known.story_words for word in words) / max(1, len(words))
    return [
        float(not _FIRST_PERSON.isdisjoint(words)),
        min(1.0, len(words) / _LENGTH),
        min(1.0, len(_CAPITALISED.findall(question.text)) / 3),
        in_story,
        float(not any(first_words)),
        *first_words,
    ]


FloatArray = NDArray[np.float32]
GATE = "gate"  # Name of the checkpoint, and of the folder that ships
HIDDEN = 24  # Width of the hidden layer
KEPT = 2  # Experts that get a weight
_MAX_DIMENSION = 100_000


@dataclass(frozen=True)
class Gate:
    """A network of one hidden layer with a sparse softmax. E experts, F features, H hidden.

    The vector of the question is an input only where the memory has the encoder that the gate was
    trained with; training leaves it out at random, so that the gate works without it.

    Source: Shazeer et al. 2017, section 2.1: the k largest logits keep their weights. Noise is for
    training only.
    """

    arrays: Mapping[str, FloatArray]  # Of ``gate_shapes``
    encoder: str  # Its fingerprint

    def weigh(
        self, features: FloatArray, vector: FloatArray | None, held: Collection[ExpertName]
    ) -> FloatArray:
        """The weights [E] float32 of the experts, which sum to one: zeros but for the best two.

        ``features`` are [F] float32, ``vector`` [D] float32 is the encoded question, None where
        another encoder made it. Experts that are not ``held`` by the memory are masked.
        """
        mask = np.array([name in held for name in EXPERTS], np.bool_)
        return top_k_softmax(self.logits(features, vector), mask, KEPT)

    def logits(self, features: FloatArray, vector: FloatArray | None) -> FloatArray:
        """[E] float32, one for each expert, held or not; arguments as for ``weigh``."""
        arrays = self.arrays
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
    """The gate of a folder; ModelError if there is none, or it is of other features or experts."""
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
    check_tensors(arrays, shapes, folder)
    return Gate(arrays, str(description.get("encoder")))


@lru_cache(maxsize=1)
def shipped_gate() -> Gate:
    """The gate that ships with memnet."""
    return load_gate(SHIPPED / GATE)
