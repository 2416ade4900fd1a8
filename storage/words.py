"""Search by words: BM25 over what the text search holds, remembered until something is committed.

The text search by itself scores one text after the other, and does so for each question anew.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.storage.slots import Postings, Revision

_K1, _B = 1.2, 0.75
_LEAST_RARITY = 1e-6
_ENTRY = 64
"""Postings that take about as much memory as what stands beside those of a word."""


class WordRows(Protocol):
    """What the rows of a store say about words."""

    changing: bool
    """Whether there are changes that are no commit yet; only ``phrase`` sees them."""

    def revision(self) -> Revision:
        """The last commit that changed what is stored."""
        ...

    def tokens(self, words: Sequence[str]) -> list[list[str]]:
        """What the text search makes of each word: one token of most."""
        ...

    def postings(self, token: str, most: int) -> Postings | None:
        """The texts that hold a token; None where more than ``most`` do."""
        ...

    def phrase(self, words: str, most: int) -> list[tuple[int, float]] | None:
        """Texts that hold tokens in a row, by id, and their BM25; None where over ``most`` do."""
        ...

    def text_sizes(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tokens of each of the texts [P] int64."""
        ...

    def text_totals(self) -> tuple[int, int]:
        """How many texts there are, and how many tokens they have."""
        ...


class _Weighed(NamedTuple):
    """The texts that hold a word, and what of their BM25 is not the word's rarity."""

    ids: NDArray[np.int64]
    """[P] int64, rising."""
    parts: NDArray[np.float64]
    """[P] float64."""


class Words:
    """The words that were looked up since the last commit, for all threads that read a store.

    Source: Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond",
    section 3.4, with the constants and in the order of operations of SQLite's FTS5.
    """

    def __init__(self, config: StoreConfig) -> None:
        """Remember nothing yet."""
        self._config = config
        self._guard = threading.Lock()
        self._generation = -1
        self._mark = 0
        self._looked_up: OrderedDict[str, _Weighed | int] = OrderedDict()
        """By word; where too many texts hold it, how many are fewer than those."""
        self._room = config.remembered_postings
        self._sizes = _Sizes()

    def holding(
        self, rows: WordRows, words: Sequence[str], most: int
    ) -> dict[str, NDArray[np.int64]]:
        """The texts that hold each word: ids [P] int64, rising.

        Args:
            rows: of one commit.
            words: as ``query_terms`` gives them.
            most: a word that more texts hold is left out.
        """
        if rows.changing:
            scored = {word: rows.phrase(word, most) for word in words}
            return {word: _ids(texts) for word, texts in scored.items() if texts is not None}
        return {word: weighed.ids for word, weighed in self._found(rows, words, most).items()}

    def best(
        self, rows: WordRows, words: Sequence[str], limit: int
    ) -> list[tuple[int, float]] | None:
        """The texts with the highest BM25, best first, those of equal scores by their ids.

        Args:
            rows: of one commit.
            words: as ``query_terms`` gives them.
            limit: most to find.

        Returns:
            Ids and scores; None where more texts hold a word than are looked at here, or what
            would be searched is no commit yet.
        """
        if rows.changing:
            return None
        found = self._found(rows, words, self._config.longest_postings)
        if len(found) < len(words):
            return None
        texts, _ = rows.text_totals()
        ids, places = np.unique(
            np.concatenate([_NOWHERE.ids, *(one.ids for one in found.values())]),
            return_inverse=True,
        )
        parts = [_rarity(len(one.ids), texts) * one.parts for one in found.values()]
        scores = np.bincount(places, np.concatenate([_NOWHERE.parts, *parts]))
        order = _first(scores, limit)
        return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))

    def _found(self, rows: WordRows, words: Sequence[str], most: int) -> dict[str, _Weighed]:
        """By word the texts that hold it; words that more than ``most`` hold are left out."""
        revision = rows.revision()
        known = self._recalled(revision, words)
        new = [
            word
            for word in words
            if not isinstance(known.get(word), _Weighed) and known.get(word, -1) != most
        ]
        if new:
            totals = rows.text_totals()
            for word, tokens in zip(new, rows.tokens(new), strict=True):
                known[word] = self._weighed(rows, word, tokens, most, totals)
            self._remember(revision, {word: known[word] for word in new})
        return {
            word: weighed
            for word in words
            if isinstance(weighed := known[word], _Weighed) and len(weighed.ids) <= most
        }

    def _weighed(
        self,
        rows: WordRows,
        word: str,
        tokens: Sequence[str],
        most: int,
        totals: tuple[int, int],
    ) -> _Weighed | int:
        """The texts that hold a word, or ``most`` where they are more."""
        texts, size = totals
        if not tokens:
            return _NOWHERE
        if len(tokens) > 1:
            scored = rows.phrase(word, most)
            if scored is None:
                return most
            scores = np.array([score for _, score in scored], np.float64)
            return _Weighed(_ids(scored), scores / _rarity(len(scored), texts))
        postings = rows.postings(tokens[0], most)
        if postings is None:
            return most
        sizes, often = self._sizes.of(rows, postings.ids), postings.counts
        length = _K1 * (1 - _B + _B * sizes / (max(1, size) / max(1, texts)))
        return _Weighed(postings.ids, often * (_K1 + 1) / (often + length))

    def _recalled(self, revision: Revision, words: Sequence[str]) -> dict[str, _Weighed | int]:
        """What is remembered of some words, as of a commit."""
        with self._guard:
            if revision.generation > self._generation:
                self._generation, self._mark = revision.generation, revision.mark
                self._looked_up.clear()
                self._room = self._config.remembered_postings
            if revision.mark != self._mark:
                return {}
            known = {word: self._looked_up[word] for word in words if word in self._looked_up}
            for word in known:
                self._looked_up.move_to_end(word)
            return known

    def _remember(self, revision: Revision, new: dict[str, _Weighed | int]) -> None:
        """Remember words as of a commit, and forget those that were looked up longest ago."""
        with self._guard:
            if revision.mark != self._mark:
                return
            for word, found in new.items():
                before = self._looked_up.pop(word, None)
                self._room += 0 if before is None else _cost(before)
                self._looked_up[word] = found
                self._room -= _cost(found)
            while self._room < 0:
                self._room += _cost(self._looked_up.popitem(last=False)[1])


class _Sizes:
    """How long texts are. A text keeps its size and its id, so nothing of it is ever outdated."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known = _NO_SIZES

    def of(self, rows: WordRows, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tokens [P] int64 of the texts with ids [P] int64, which are there."""
        missing = ids[~np.isin(ids, self._known[0], assume_unique=True)]
        if len(missing):
            sizes = rows.text_sizes(missing)
            with self._guard:
                merged = np.concatenate([self._known[0], missing])
                merged, places = np.unique(merged, return_index=True)
                self._known = merged, np.concatenate([self._known[1], sizes])[places]
        known, sizes = self._known
        found: NDArray[np.int64] = sizes[np.searchsorted(known, ids)]
        return found


_NOWHERE = _Weighed(np.empty(0, np.int64), np.empty(0))
_NO_SIZES = np.empty(0, np.int64), np.empty(0, np.int64)


def _ids(scored: Sequence[tuple[int, float]]) -> NDArray[np.int64]:
    return np.array([text for text, _ in scored], np.int64)


def _cost(found: _Weighed | int) -> int:
    return _ENTRY + (0 if isinstance(found, int) else len(found.ids))


def _rarity(holding: int, texts: int) -> float:
    """What a word weighs that so many of the texts hold."""
    rarity = math.log((texts - holding + 0.5) / (holding + 0.5))
    return rarity if rarity > 0 else _LEAST_RARITY


def _first(scores: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """Places of the ``limit`` highest scores, best first, of equal ones in their order."""
    places = np.arange(len(scores))
    if len(scores) > limit:
        places = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    return places[np.argsort(-scores[places], kind="stable")][:limit]
