"""The words of the text index, and BM25 over cached posting lists.

Chinese, Japanese, Thai, Lao, Burmese and Khmer are written without spaces, and Korean joins
particles to its words. Of their letters each two neighbours are a word of the index (Manning,
Raghavan and Schütze 2008, "Introduction to Information Retrieval", section 2.2.1). SQLite's FTS5
scores each term once per commit, not per query.

Source: Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond",
section 3.4, with the constants of FTS5 (k1 1.2, b 0.75).
"""

import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.storage.tables.connection import Connection
from memnet.storage.values import Revision

# The option ``tokenize`` of FTS5. A vowel of Hindi or Thai may be a mark (Mn, Mc), which ends no
# word; U+FE0F is one too, but belongs to the emoji before it.
TOKENIZER = (
    "\"porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc' separators '\ufe0f'\""
)
# Of all scripts, without those that only symbols and phonetic letters bear.
_MARKS = "".join(
    character
    for start, end in ((0x300, 0x1D00), (0xA800, 0xAC00))
    for character in map(chr, range(start, end))
    if unicodedata.category(character) in ("Mn", "Mc")
)
WORD = re.compile(rf"[\w{_MARKS}]+")
"""Letters with their marks, digits and underscores of any script."""


def spaced(text: str) -> str:
    """A text as it is indexed: letters of scripts without spaces as pairs of neighbours.

    The last one of a run stands alone, so that a word begins with each.
    """
    return text if text.isascii() else _unspaced_letter().sub(_pair, text)


def words_of(text: str) -> list[str]:
    """The words of a question in their order, as the index has them."""
    found: list[str] = []
    for word in WORD.findall(spaced(text)):
        # The last letter of a run is in the pair before it.
        if not (found and found[-1].endswith(word) and is_beginning(word)):
            found.append(word)
    return found


def is_beginning(word: str) -> bool:
    """Whether a word of a question is a single letter, with which words of the index begin."""
    return not word.isascii() and _unspaced_letter().fullmatch(word) is not None


@cache  # made when it is first wanted: the set of letters takes 12 ms
def _unspaced_letter() -> re.Pattern[str]:
    """A letter or digit of a script without spaces, with its marks."""
    return re.compile(
        r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3"
        rf"\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff](?<=\w)[{_MARKS}]*"
    )


def _pair(letter: re.Match[str]) -> str:
    following = _unspaced_letter().match(letter.string, letter.end())
    return f" {letter[0]}{following[0] if following else ''} "


_ENTRY_COST = 64  # postings that take about as much memory as the rest of a term's entry


class _Postings(NamedTuple):
    """The slots with a term. P = how many."""

    ids: NDArray[np.int64]  # [P] int64, rising
    scores: NDArray[np.float64]  # [P] float64: BM25 of the term alone


_Entry = _Postings | int  # Postings, or for a term that is too common a lower bound of their number


class Bm25Index:
    """The terms that were looked up since the last commit, for all threads that read a store."""

    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        self._guard = threading.Lock()
        self._revision: Revision | None = None
        # Of that commit, least recently used first.
        self._cache: OrderedDict[str, _Entry] = OrderedDict()
        self._room = config.cached_postings

    def postings(
        self, connection: Connection, terms: Sequence[str], max_postings: int
    ) -> dict[str, NDArray[np.int64]]:
        """The slots with each of distinct terms, ids [P] int64, rising, within a snapshot."""
        found = self._lookup(connection, terms, max_postings)
        return {term: postings.ids for term, postings in found.items()}

    def search(
        self, connection: Connection, terms: Sequence[str], limit: int, hidden: NDArray[np.int64]
    ) -> list[tuple[int, float]] | None:
        """As ``TextIndex.search``, within a snapshot; None where a term has too many postings."""
        found = self._lookup(connection, terms, self._config.max_postings)
        if len(found) < len(terms):
            return None
        return highest_sums([*found.values()], limit, hidden)

    def _lookup(
        self, connection: Connection, terms: Sequence[str], max_postings: int
    ) -> dict[str, _Postings]:
        """Postings by term, without those of terms in more than ``max_postings`` slots."""
        # What a transaction under way sees is no commit yet, and is not cached.
        revision = None if connection.changing else connection.revision()
        entries = self._cached(revision, terms)
        new: dict[str, _Entry] = {}
        for term in terms:
            entry = entries.get(term)
            if entry is None or (isinstance(entry, int) and entry < max_postings):
                found = connection.text.postings(term, max_postings)
                new[term] = max_postings if found is None else _Postings(*found)
        self._add(revision, new)
        entries.update(new)
        return {
            term: entry
            for term in terms
            if isinstance(entry := entries[term], _Postings) and len(entry.ids) <= max_postings
        }

    def _cached(self, revision: Revision | None, terms: Sequence[str]) -> dict[str, _Entry]:
        """The entries of some terms as of a commit; those of an older one are dropped."""
        with self._guard:
            if revision is None or not self._advance_to(revision):
                return {}
            entries = {term: self._cache[term] for term in terms if term in self._cache}
            for term in entries:
                self._cache.move_to_end(term)
            return entries

    def _add(self, revision: Revision | None, new: dict[str, _Entry]) -> None:
        with self._guard:
            if revision is None or self._revision != revision:
                return
            for term, entry in new.items():
                previous = self._cache.pop(term, None)
                self._room += 0 if previous is None else _cost(previous)
                self._cache[term] = entry
                self._room -= _cost(entry)
            while self._room < 0:
                self._room += _cost(self._cache.popitem(last=False)[1])

    def _advance_to(self, revision: Revision) -> bool:
        """Empty the cache for a newer commit; False for an older one, which is not cached."""
        if self._revision is None or self._revision.generation < revision.generation:
            self._revision = revision
            self._cache.clear()
            self._room = self._config.cached_postings
        return self._revision == revision


def highest_sums(
    terms: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]],
    limit: int,
    hidden: NDArray[np.int64],
) -> list[tuple[int, float]]:
    """The slots with the highest sums of scores over some terms, best first, ties by rising ids.

    Each term has ids [P] int64 and scores [P] float64; ``hidden`` [H] int64 are left out.
    """
    if not terms:
        return []
    ids, inverse = np.unique(np.concatenate([one[0] for one in terms]), return_inverse=True)
    scores = np.bincount(inverse, np.concatenate([one[1] for one in terms]), len(ids))
    if len(hidden):
        kept = ~np.isin(ids, hidden)
        ids, scores = ids[kept], scores[kept]
    best = np.arange(len(ids))
    if len(ids) > limit:
        best = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    best = best[np.argsort(-scores[best], kind="stable")][:limit]
    return list(zip(ids[best].tolist(), scores[best].tolist(), strict=True))


def _cost(entry: _Entry) -> int:
    return _ENTRY_COST + (0 if isinstance(entry, int) else len(entry.ids))
