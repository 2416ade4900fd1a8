"""One question: its words as the memory spells them, names and vector, and what was fetched."""

import math
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial, reduce
from itertools import islice
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from memnet.encoders.protocol import Encoder, UnitEncoder, document_encode, query_encode
from memnet.encoders.weights import load_tokenizer
from memnet.runtime.device import in_background
from memnet.storage import EVERYWHERE, Encode, Hits, Keys, MemoryStore, Scope, Slot, Symbols
from memnet.text.english import NOT_NAMES, STOP_WORDS, is_foreign, query_terms
from memnet.text.names import (
    MESSAGE,
    STEM_LETTERS,
    capitalised_names,
    edits,
    explained,
    is_code,
    maximal_names,
    normalise,
    possible_names,
    stems,
    without_names,
)

_MIN_LETTERS = 5  # Too many shorter words are one edit apart
_MAX_LETTERS = 30
_ASKING = ("where", "which", "when", "what", "who", "whose", "why", "how", "does")
_MAX_MENDED = 1  # Words of a question that are tried, the longest: each costs a hundred look-ups
_MAX_SLOTS = 5000  # A word that more slots hold is known anyway
_LOOKED_AT = 20  # Slots with the stem of a word in which it is looked for as it is written
_OF_NAME = 100  # Facts that are looked at for a part of a name
_CAPITALISED = re.compile(r"\b[A-Z]\w+")
_NOWHERE = np.zeros(0, np.int64)  # Ids of no slot
# "DE57512108001245126199", "DE57 5121 0800 1245"
_LONG_CODE = re.compile(
    r"\b(?:[A-Z]{0,2}\d[A-Z\d]{9,32}|(?:[A-Z]{2}\d\d|\d{3,6})(?: [A-Z\d]{2,6}){2,8})\b"
)
_GROUP = 4  # Characters
_ANY_WORD = re.compile(r"[^\W\d_]+")
_MAX_INITIALS = 6  # Words of what is abbreviated
ASKS_MEANING = re.compile(
    r"(?:(?:please )?(?:can you )?(?:tell|explain to) me )?what (?:does|do|is|['’]s) "
    r"(?:the )?(?:(?:abbreviation|acronym|letters?) )?[\"“]?(?P<short>[^\W_]{2,8})[\"”]? "
    r"(?:(?:in|on|at|of) (?:the|our|your|this|that|my) [\w ]{1,40}? )?"
    r"(?:mean|stand for|short for)\b",
    re.IGNORECASE,
)


def looked_up(text: str, fetched: "FetchedSlots", scope: Scope) -> str:
    """A question as a memory is searched for it, within ``reading``; what reads it takes ``text``.

    Misspelled words are mended, names too; "Ida" becomes "Ida Morrow" where facts are about her and
    about no other Ida.
    """
    return _with_whole_names(mended(text, fetched, names=True), fetched.store, scope)


def mended(text: str, fetched: "FetchedSlots", names: bool = False) -> str:
    """A question without a misspelled word, within ``reading``; words of other languages stay.

    A word that stands neither in the memory nor in the vocabulary of the encoder becomes a word of
    the memory that is one edit away and has its first letter, the most frequent one, or one that
    questions begin with. Others than ``names`` are written in small letters: "Bergs" is not "Berg".
    """
    tokenizer = load_tokenizer()
    words = [
        word
        for word in query_terms(text)
        if word.isascii() and word.isalpha() and len(word) <= _MAX_LETTERS
        and tokenizer.token_to_id(word) is None  # a word of English is none
        and (names or re.search(rf"\b{word}\b", f"{text[:1].lower()}{text[1:]}"))
    ]  # fmt: skip
    if not words or is_foreign(text):
        return text
    known = fetched.store.search_terms(words, _MAX_SLOTS)
    unknown = [
        word for word in words if word in known and not _stands_in(word, known[word], fetched)
    ]
    for number, word in enumerate(sorted(unknown, key=len, reverse=True)):
        near = edits(word)
        best = next((one for one in _ASKING if one in near), "")
        if word == f"{best}s":
            best = f"{best}'s"
        if not best and len(word) >= _MIN_LETTERS and number < _MAX_MENDED:
            best = _close(word, near, known[word], fetched)
        if best:
            text = re.sub(rf"\b{word}\b", best, text, flags=re.IGNORECASE)
    return text


def grouped(text: str, fetched: "FetchedSlots", scope: Scope) -> str:
    """A question with its long codes as the memory has them: in groups of four, or in one piece."""
    for written in _LONG_CODE.findall(text):
        code = written.replace(" ", "")
        groups = (code[at : at + _GROUP] for at in range(0, len(code), _GROUP))
        other = code if " " in written else " ".join(groups)
        if not _is_written(written, fetched, scope) and _is_written(other, fetched, scope):
            text = text.replace(written, other)
    return text


def _is_written(code: str, fetched: "FetchedSlots", scope: Scope) -> bool:
    """Whether a slot has a code as it is written, which may be in groups."""
    found = fetched.store.search_terms(code.casefold().split(), _MAX_SLOTS).values()
    ids: list[int] = reduce(np.intersect1d, found)[:_LOOKED_AT].tolist() if found else []
    return any(
        scope.namespace in (None, one.namespace) and code in f"{one.title}\n{one.text}"
        for one in fetched.slots(ids)
    )


def spelled_out(text: str, fetched: "FetchedSlots", scope: Scope) -> str:
    """A question with both forms of what the memory abbreviates: "the Road Traffic Act (RTA)".

    An abbreviation is a word that the vocabulary of the encoder lacks, or the initials of words of
    the question, and stands for the words by which some slot explains it. One that no other slot
    has is written in full, too.
    """
    if ASKS_MEANING.match(text):
        return text
    tokenizer, words = load_tokenizer(), list(_ANY_WORD.finditer(text))
    found = {
        one[0]: one.span()
        for one in words
        if one[0].isupper() or tokenizer.token_to_id(one[0].casefold()) is None
    }
    for at, first in enumerate(words):
        for last in range(at + 1, min(at + _MAX_INITIALS, len(words))):
            part = (one[0] for one in words[at : last + 1])
            said = [one for one in part if one.casefold() not in STOP_WORDS]
            if said[:1] == [first[0]] and said[-1:] == [words[last][0]]:
                span = first.start(), words[last].end()
                found.setdefault("".join(one[0] for one in said), span)
    known = fetched.store.search_terms({one.casefold() for one in found}, _MAX_SLOTS)
    for short, (start, end) in found.items():
        ids = known.get(short.casefold(), _NOWHERE)
        for slot, place in explanations(short, ids, fetched, scope):
            full = slot.text[slice(*place)]
            if normalise(text[start:end]) == normalise(full):
                return f"{text[:end]} ({short.upper()}){text[end:]}"
            if text[start:end] == short and len(ids) == 1:
                return f"{text[:start]}{full} ({short}){text[end:]}"
    return text


def explanations(
    short: str, ids: NDArray[np.int64], fetched: "FetchedSlots", scope: Scope
) -> Iterator[tuple[Slot, tuple[int, int]]]:
    """Those of the slots with an abbreviation that say what it stands for, and where."""
    for slot in fetched.slots(ids[:_LOOKED_AT].tolist()):
        if scope.namespace in (None, slot.namespace) and (place := explained(short, slot.text)):
            yield slot, place


def _close(
    word: str, near: Collection[str], ids: NDArray[np.int64], fetched: "FetchedSlots"
) -> str:
    """The most frequent word of the memory ``near``, which is one edit away; "" without one.

    Where slots with ``ids`` have the stem of the word, it stands in them: "dries" has that of
    "dry", and is no slip of "drives".
    """
    close = sorted(
        one
        for one in near
        # "roofers" is no slip of "roofer".
        if one[0] == word[0] and one.isalpha() and not one.startswith(word[:-1])
    )
    found = {
        one: own
        for one, own in fetched.store.search_terms(close, _MAX_SLOTS).items()
        if len(own) and (not len(ids) or np.array_equal(own, ids)) and _stands_in(one, own, fetched)
    }
    return max(found, key=lambda one: len(found[one]), default="")


def _stands_in(word: str, ids: NDArray[np.int64], fetched: "FetchedSlots") -> bool:
    """Whether a word stands in slots with its stem as it is written: "replacment" has that too."""
    written = re.compile(rf"\b{word}\b", re.IGNORECASE)
    found = fetched.slots(ids[:_LOOKED_AT].tolist())
    return any(written.search(f"{one.title}\n{one.text}") for one in found)


def _with_whole_names(text: str, store: MemoryStore, scope: Scope) -> str:
    """A question with the names of subjects of facts in full of which it has a word."""
    if "facts" not in store.contents.kinds(scope.namespace):
        return text
    facts = replace(scope, kinds=frozenset(("facts",)))
    for word in dict.fromkeys(_CAPITALISED.findall(text)):
        part = normalise(word)
        if part in NOT_NAMES or store.facts.subjects([part]):
            continue
        hits = store.search_lexical([part], _OF_NAME, facts)
        titles = {
            slot.title
            for slot in store.fetch_existing(hits.ids[hits.mask].tolist())
            if slot.kind == "fact" and part in normalise(slot.title).split()
        }
        if len(titles) == 1:
            [title] = titles
            if f" {normalise(title)} " not in f" {normalise(text)} ":
                text = re.sub(rf"\b{word}\b", title.replace("\\", " "), text, count=1)
    return text


# Slots that one symbol may propose: the facts of a very common entity, or all the windows of a
# very long document.
MAX_SLOTS_PER_SYMBOL = 2000
_PROPOSED = 100  # Slots that a search proposes at least: the gate looks at fewer of the same ones
# Words of a question that are looked up; long questions say little more in their later words.
_MAX_TERMS = 24
# A word that more slots hold tells nothing apart, and is passed over.
_MAX_DOCUMENT_FREQUENCY = 5000
# Texts whose vectors are remembered: a question has a few parts, and several threads may ask.
_KEPT = 64
_MOST_CODED = 3  # Slots with a number or code that names them
_RELATION_STEM_LETTERS = 4  # Words of relations and questions are compared by their first letters


class RecentVectors:
    """An encoder that remembers the vectors of the texts that it encoded last, on each side."""

    def __init__(self, encoder: Encoder, kept: int = _KEPT) -> None:
        self._encoder = encoder
        self._kept = kept
        # Sides that are one method share what is remembered.
        self._recent: OrderedDict[tuple[Encode, str], NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()
        self.releases_gil = bool(getattr(encoder, "releases_gil", False))

    @property
    def fingerprint(self) -> str:
        """That of the encoder."""
        return self._encoder.fingerprint

    @property
    def dimension(self) -> int:
        """D, that of the encoder."""
        return self._encoder.dimension

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts -> [N, D] float32, not to be changed."""
        return self._remembered(self._encoder.encode, texts)

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``encode``, of questions."""
        return self._remembered(query_encode(self._encoder), texts)

    def encode_document(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As ``encode``, of what is stored."""
        return self._remembered(document_encode(self._encoder), texts)

    def _remembered(self, side: Encode, texts: Sequence[str]) -> NDArray[np.float32]:
        with self._lock:
            known = {
                text: self._recent[side, text] for text in texts if (side, text) in self._recent
            }
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known |= zip(missing, side(missing), strict=True)
        with self._lock:
            for text in known:
                self._recent[side, text] = known[text]
                self._recent.move_to_end((side, text))
            while len(self._recent) > self._kept:
                self._recent.popitem(last=False)
        return np.array([known[text] for text in texts], np.float32).reshape(-1, self.dimension)


class FullVectors(NamedTuple):
    """What questions are compared by beside the stored vectors of passages."""

    # Encodes passages in full whose stored vectors are quick ones; None to let these be.
    encode: Encode | None = None
    of_all: bool = False  # Whether the vectors of all passages are quick; else the store knows
    # [D, R] float32: what keys of units were reduced by; None where passages have none
    projection: NDArray[np.float32] | None = None
    multilingual: bool = False  # Whether the vectors are of an encoder of many languages
    words: Encode | None = None  # Encodes words that are no question; None for what encodes these


def unit_projection(encoder: Encoder) -> NDArray[np.float32] | None:
    """What an encoder's keys of units are reduced by; None of one that makes none."""
    return encoder.unit_projection() if isinstance(encoder, UnitEncoder) else None


class FetchedSlots:
    """What one ask reads of a store: no slot, key or symbols of a slot are fetched twice.

    All of it is of one commit, as long as the store is read within one ``reading``.
    """

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._slots: dict[int, Slot] = {}
        self._texts: dict[int, str] = {}
        self._symbols: dict[int, Symbols] = {}
        self._rows: dict[int, int] = {}
        self._keys: Keys | None = None

    def slots(self, ids: Sequence[int]) -> list[Slot]:
        """The slots with these ids, in order; StoreError where one referred to isn't stored."""
        missing = [slot for slot in dict.fromkeys(ids) if slot not in self._slots]
        if missing:
            self._slots.update((slot.id, slot) for slot in self.store.fetch_existing(missing))
        return [self._slots[slot] for slot in ids]

    def normalised_text(self, slot: int) -> str:
        """The text of a slot, normalised as names are."""
        if slot not in self._texts:
            [fetched] = self.slots([slot])
            self._texts[slot] = normalise(fetched.text)
        return self._texts[slot]

    def symbols(self, ids: Sequence[int]) -> dict[int, Symbols]:
        """What each slot is about and mentions; slots without any symbol are left out.

        Slots that are about something come first, in rising order of ids, then the others.
        """
        missing = [slot for slot in ids if slot not in self._symbols]
        if missing:
            self._symbols.update(dict.fromkeys(missing, Symbols([], [])))
            self._symbols.update(self.store.symbols(missing))
        found = {slot: self._symbols[slot] for slot in ids if any(self._symbols[slot])}
        return dict(sorted(found.items(), key=lambda item: (not item[1].keys, item[0])))

    def keys(self, ids: Sequence[int]) -> Keys:
        """The keys of the slots with these ids, in their order; errors as ``slots``."""
        missing = [slot for slot in ids if slot not in self._rows]
        if missing or self._keys is None:
            new, old = self.store.existing_keys(missing), self._keys
            self._rows |= {slot: row for row, slot in enumerate(missing, len(self._rows))}
            self._keys = new if old is None else _joined(old, new)
        rows = np.array([self._rows[slot] for slot in ids], np.int64)
        known = self._keys
        relations = tuple(known.relations[row] for row in rows.tolist())
        return Keys(known.ids[rows], known.vectors[rows], known.is_fact[rows], relations)


class Question:
    """A question as all who answer it see it: what it names, its words, its vector, what it finds.

    Each is looked up when it is first wanted, and once. The vector may be computed on another
    thread while this one looks up words.
    """

    def __init__(
        self,
        text: str,
        store: MemoryStore,
        encode: Encode,
        scope: Scope = EVERYWHERE,
        background: bool = False,
        full: FullVectors | None = None,
        whole: "Question | None" = None,
    ) -> None:
        """Look up nothing yet.

        Args:
            text: as asked.
            store: the memory, within ``reading``.
            encode: encodes questions.
            scope: which sources to look in.
            background: whether ``encode`` releases the GIL, so that it may overlap with look-ups.
            full: what the best passages are compared by.
            whole: the question that this one is a part of, or that it asks of fewer sources.
        """
        self.text = text
        self.store = store
        self.scope = scope
        self.full = full
        self.fetched: FetchedSlots = FetchedSlots(store) if whole is None else whole.fetched
        self._encode = encode
        self._background = background
        self._whole = whole
        self._nearest = self._sharing = (0, dict[int, float]())

    def mended(self) -> Self:
        """This question without slips of typing, abbreviations in full; within ``reading``."""
        text = grouped(mended(self.text, self.fetched), self.fetched, self.scope)
        text = spelled_out(text, self.fetched, self.scope)
        return self if text == self.text else self._with(text, self.scope)

    def sub_question(self, text: str) -> Self:
        """A question that is asked to answer this one; it shares what was fetched."""
        return self._with(text, self.scope)

    def within(self, scope: Scope) -> Self:
        """This question, asked of the sources of another scope."""
        return self if scope == self.scope else self._with(self.text, scope)

    def _with(self, text: str, scope: Scope) -> Self:
        return type(self)(
            text, self.store, self._encode, scope, self._background, self.full, whole=self
        )

    @cached_property
    def sought(self) -> str:
        """The text as it is looked up, which may be spelled otherwise."""
        if self._whole is not None and self._whole.text == self.text:
            return self._whole.sought
        return looked_up(self.text, self.fetched, self.scope)

    @cached_property
    def _vectors(self) -> Callable[[], NDArray[np.float32]]:
        """Gives the vector as [1, D] float32, which another thread may begin to compute now."""
        if self._whole is not None and self._whole.text == self.text:
            return self._whole._vectors
        if self._background:
            return in_background(self._encode, [self.sought]).result
        return partial(self._encode, [self.sought])

    @cached_property
    def vector(self) -> NDArray[np.float32]:
        """[D] float32: the encoded question."""
        vector: NDArray[np.float32] = self._vectors()[0]
        return vector

    @cached_property
    def unit_vector(self) -> NDArray[np.float32] | None:
        """[R] float32: the vector as keys of units are compared with it; None without such keys."""
        if self.full is None or self.full.projection is None:
            return None
        reduced = self.vector @ self.full.projection
        vector: NDArray[np.float32] = reduced / max(float(np.linalg.norm(reduced)), 1e-9)
        return vector

    @cached_property
    def slots_by_name(self) -> dict[str, list[int]]:
        """Slots about everything that some words of the question may name."""
        _ = self._vectors  # begins to be computed
        return self.store.search_symbolic(
            possible_names(self.sought), MAX_SLOTS_PER_SYMBOL, self.scope
        )

    @cached_property
    def named(self) -> list[str]:
        """Symbols that the question names, without those inside longer ones."""
        return maximal_names(self.slots_by_name)

    @cached_property
    def terms(self) -> "QuestionTerms":
        """Its words that are not too common."""
        return QuestionTerms(self.sought, self.store, self.named)

    @cached_property
    def relation(self) -> tuple[NDArray[np.float32], frozenset[str]]:
        """Vector [D] and stems of the question's words without its names: what relation it asks."""
        asked = without_names(self.sought, capitalised_names(self.sought, self.named))
        words = self.full.words if self.full else None
        vector: NDArray[np.float32] = (words or self._encode)([" ".join(query_terms(asked))])[0]
        return vector, relation_stems(asked)

    @cached_property
    def has_messages(self) -> bool:
        """Whether messages are in its scope."""
        whole = self._whole
        if whole is not None and whole.scope == self.scope:
            return whole.has_messages
        store = self.store
        return store.contents.has_key(MESSAGE) and bool(store.messages.known([MESSAGE], self.scope))

    def nearest(self, limit: int) -> dict[int, float]:
        """The cosines of the slots whose keys are nearest to the question, best first."""
        if self._nearest[0] < limit:
            most = max(limit, _PROPOSED)
            hits = self.store.search_dense(self.vector, most, self.scope)
            self._nearest = most, _by_slot(hits)
        return dict(islice(self._nearest[1].items(), limit))

    def sharing_words(self, limit: int) -> dict[int, float]:
        """BM25 of slots that share words with the question, best first.

        Words that very many slots hold are passed over, unless there are no others.
        """
        if self._sharing[0] < limit:
            most = max(limit, _PROPOSED)
            words = query_terms(" ".join(self.terms.words) or self.sought)
            self._sharing = most, _by_slot(self.store.search_lexical(words, most, self.scope))
        return dict(islice(self._sharing[1].items(), limit))


def _by_slot(hits: Hits) -> dict[int, float]:
    return dict(zip(hits.ids[hits.mask].tolist(), hits.scores[hits.mask].tolist(), strict=True))


class QuestionTerms:
    """Words of one question that are not too common. T = words."""

    def __init__(self, text: str, store: MemoryStore, named: Collection[str]) -> None:
        """Look the words up; ``named`` are the symbols that the question names."""
        asked = query_terms(text)[:_MAX_TERMS]
        found = store.search_terms(asked, _MAX_DOCUMENT_FREQUENCY)
        # share of them that the memory has
        self.known = 1 - sum(not len(slots) for slots in found.values()) / max(1, len(asked))
        rest = set(query_terms(without_names(text, capitalised_names(text, named))))
        self.words = tuple(term for term, slots in found.items() if len(slots))
        self._postings = [found[term] for term in self.words]
        # [T] float32: IDF, scaled so that they sum to one
        self.weights = _shares(
            1 - math.log1p(len(slots)) / math.log1p(_MAX_DOCUMENT_FREQUENCY)
            for slots in self._postings
        )
        # [T] float32: as ``weights``, with 0 for the words of names
        self.rest = _shares(
            weight if normalise(term) in rest else 0.0
            for term, weight in zip(self.words, self.weights, strict=True)
        )
        self._stems: dict[str, float] = {
            normalise(term)[:STEM_LETTERS]: weight
            for term, weight in zip(self.words, self.weights.tolist(), strict=True)
        }

    @property
    def coded(self) -> NDArray[np.int64]:
        """[P] ids of the slots with a number or code of the question that few others have."""
        found = (
            slots
            for term, slots in zip(self.words, self._postings, strict=True)
            if is_code(term) and len(slots) <= _MOST_CODED
        )
        return np.concatenate([_NOWHERE, *found])

    def occurrences(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Which words each slot contains: [K] ids to [K, T] float32, 1 or 0."""
        occurs = np.zeros((len(ids), len(self._postings)), np.float32)
        for term, slots in enumerate(self._postings):
            positions = np.searchsorted(slots, ids).clip(max=len(slots) - 1)
            occurs[:, term] = slots[positions] == ids
        return occurs

    def share_in(self, words: Sequence[str]) -> float:
        """Share of the question's words that are among some normalised words."""
        stems = {word[:STEM_LETTERS] for word in words}
        return sum(weight for stem, weight in self._stems.items() if stem in stems)

    def share_of(self, words: Sequence[str]) -> float:
        """Share of some normalised words that the question contains."""
        return sum(word[:STEM_LETTERS] in self._stems for word in words) / len(words)


@lru_cache(maxsize=1024)
def relation_stems(text: str) -> frozenset[str]:
    """The stems by which the words of relations and questions are compared."""
    return stems(text, _RELATION_STEM_LETTERS)


def _shares(weights: Iterable[float]) -> NDArray[np.float32]:
    weights = list(weights)
    total = sum(weights) or 1.0
    return np.array([weight / total for weight in weights], np.float32)


def _joined(old: Keys, new: Keys) -> Keys:
    return Keys(
        np.concatenate((old.ids, new.ids)),
        np.concatenate((old.vectors, new.vectors)),
        np.concatenate((old.is_fact, new.is_fact)),
        (*old.relations, *new.relations),
    )
