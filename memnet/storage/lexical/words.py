"""Search by words: BM25 over what the text search holds, remembered until something is committed.

The text search by itself scores one text after the other, and does so for each question anew.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.storage.slots import Revision
from memnet.storage.tables.row_values import damaged

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

    def places(self, tokens: Sequence[str], most: int) -> list[NDArray[np.int64] | None]:
        """For each token the text [M] int64, rising, of each place at which it stands.

        None where more than ``most`` texts hold it.
        """
        ...

    def phrase(self, words: str, most: int) -> list[tuple[int, float]] | None:
        """Texts that hold tokens in a row, by id, and their BM25; None where over ``most`` do."""
        ...

    def text_sizes(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tokens [P] int64 of each of the texts with rising ids [P] int64."""
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


_Found = _Weighed | int
"""The texts that hold a word, or where they are too many a number that is below theirs."""


class _Commit(NamedTuple):
    """What is the same for all words."""

    revision: Revision
    texts: int
    tokens: int


class Words:
    """The words that were looked up since the last commit, for all threads that read a store.

    Source: Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond",
    section 3.4, with the constants and in the order of operations of SQLite's FTS5.
    """

    def __init__(self, config: StoreConfig) -> None:
        """Remember nothing yet."""
        self._config = config
        self._guard = threading.Lock()
        self._commit: _Commit | None = None
        self._looked_up: OrderedDict[str, _Found] = OrderedDict()
        """Of that commit, by word, the one that was looked up longest ago first."""
        self._room = config.cached_postings
        self._sizes = _Sizes()

    def holding(
        self, rows: WordRows, words: Sequence[str], most: int
    ) -> dict[str, NDArray[np.int64]]:
        """The texts that hold each word: ids [P] int64, rising.

        Args:
            rows: of one commit.
            words: distinct words.
            most: a word that more texts hold is left out.
        """
        if rows.changing:
            scored = {word: rows.phrase(word, most) for word in words}
            return {word: _ids(texts) for word, texts in scored.items() if texts is not None}
        found = self._found(rows, self._commit_of(rows), words, most)
        return {word: weighed.ids for word, weighed in found.items()}

    def best(
        self, rows: WordRows, words: Sequence[str], limit: int
    ) -> list[tuple[int, float]] | None:
        """The texts with the highest BM25, best first, those of equal scores by their ids.

        Args:
            rows: of one commit.
            words: distinct words.
            limit: most to find.

        Returns:
            Ids and scores; None where more texts hold a word than are looked at here, or what
            would be searched is no commit yet.
        """
        if rows.changing:
            return None
        commit = self._commit_of(rows)
        found = self._found(rows, commit, words, self._config.max_postings)
        if len(found) < len(words):
            return None
        everywhere = np.concatenate([_NOWHERE.ids, *(one.ids for one in found.values())])
        parts = [_rarity(len(one.ids), commit.texts) * one.parts for one in found.values()]
        # Rising ids, word by word: a stable sort merges them, and leaves words in their order.
        order = np.argsort(everywhere, kind="stable")
        rising, weights = everywhere[order], np.concatenate([_NOWHERE.parts, *parts])[order]
        first = _changes(rising)
        ids, scores = rising[first], np.bincount(np.cumsum(first) - 1, weights)
        best = _first(scores, limit)
        return list(zip(ids[best].tolist(), scores[best].tolist(), strict=True))

    def _found(
        self, rows: WordRows, commit: _Commit, words: Sequence[str], most: int
    ) -> dict[str, _Weighed]:
        """By word the texts that hold it; words that more than ``most`` hold are left out."""
        known = self._recalled(commit, words)
        new = [word for word in words if _unknown(known.get(word), most)]
        if new:
            looked_up = self._look_up(rows, commit, new, most)
            self._remember(commit, looked_up)
            known.update(looked_up)
        return {
            word: found
            for word in words
            if isinstance(found := known[word], _Weighed) and len(found.ids) <= most
        }

    def _look_up(
        self, rows: WordRows, commit: _Commit, words: Sequence[str], most: int
    ) -> dict[str, _Found]:
        """The texts that hold each of some words."""
        found: dict[str, _Found] = {}
        single: dict[str, str] = {}
        for word, tokens in zip(words, rows.tokens(words), strict=True):
            found[word] = most
            if len(tokens) == 1:
                single[word] = tokens[0]
            elif not tokens:
                found[word] = _NOWHERE
            elif (scored := rows.phrase(word, most)) is not None:
                found[word] = _of_phrase(scored, commit)
        places = zip(single, rows.places(list(single.values()), most), strict=True)
        held = {word: own for word, own in places if own is not None}
        found.update(zip(held, self._weighed(rows, commit, list(held.values())), strict=True))
        return found

    def _weighed(
        self, rows: WordRows, commit: _Commit, places: Sequence[NDArray[np.int64]]
    ) -> list[_Weighed]:
        """The texts that hold some words, from the places [M] int64 at which each stands."""
        if not places:
            return []
        everywhere = np.concatenate(places)
        ends = np.cumsum([len(own) for own in places], dtype=np.int64)
        first = _changes(everywhere)
        first[ends[:-1][ends[:-1] < len(everywhere)]] = True
        starts = np.flatnonzero(first)
        ids, often = everywhere[starts], np.diff(starts, append=len(everywhere))
        sizes = self._sizes.of(rows, ids)
        length = _K1 * (1 - _B + _B * sizes / (max(1, commit.tokens) / max(1, commit.texts)))
        parts = often * (_K1 + 1) / (often + length)
        cuts = [0, *np.searchsorted(starts, ends).tolist()]
        return [
            _Weighed(ids[start:end].copy(), parts[start:end].copy())
            for start, end in pairwise(cuts)
        ]

    def _commit_of(self, rows: WordRows) -> _Commit:
        """The commit that is read; of a newer one than before nothing is remembered yet."""
        revision = rows.revision()
        with self._guard:
            if self._commit is not None and self._commit.revision == revision:
                return self._commit
        commit = _Commit(revision, *rows.text_totals())
        with self._guard:
            if self._commit is None or self._commit.revision.generation < revision.generation:
                self._commit = commit
                self._looked_up.clear()
                self._room = self._config.cached_postings
        return commit

    def _recalled(self, commit: _Commit, words: Sequence[str]) -> dict[str, _Found]:
        """What is remembered of some words, as of a commit."""
        with self._guard:
            if self._commit != commit:
                return {}
            known = {word: self._looked_up[word] for word in words if word in self._looked_up}
            for word in known:
                self._looked_up.move_to_end(word)
            return known

    def _remember(self, commit: _Commit, new: dict[str, _Found]) -> None:
        """Remember words as of a commit, and forget those that were looked up longest ago."""
        with self._guard:
            if self._commit != commit:
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
        self._known = np.empty(0, np.int64), np.empty(0, np.int64)
        """Ids, rising, and sizes."""

    def of(self, rows: WordRows, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tokens [P] int64 of the texts with ids [P] int64, which are there."""
        known, sizes = self._known
        places, there = _found_in(known, ids)
        if not there.all():
            missing = np.unique(ids[~there])
            known, sizes = self._add(missing, rows.text_sizes(missing))
            places = np.searchsorted(known, ids)
        found: NDArray[np.int64] = sizes[places]
        return found

    def _add(
        self, ids: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        with self._guard:
            known, before = self._known
            # Another thread may have added some of them meanwhile.
            places, there = _found_in(known, ids)
            places, ids, sizes = places[~there], ids[~there], sizes[~there]
            self._known = np.insert(known, places, ids), np.insert(before, places, sizes)
            return self._known


_NOWHERE = _Weighed(np.empty(0, np.int64), np.empty(0))


def _of_phrase(scored: Sequence[tuple[int, float]], commit: _Commit) -> _Weighed:
    scores = np.array([score for _, score in scored], np.float64)
    return _Weighed(_ids(scored), scores / _rarity(len(scored), commit.texts))


def _ids(scored: Sequence[tuple[int, float]]) -> NDArray[np.int64]:
    return np.array([text for text, _ in scored], np.int64)


def _found_in(
    known: NDArray[np.int64], ids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Places of ids [M] in rising ones [N], [M] int64, and [M] bool which of them are there."""
    places = np.searchsorted(known, ids)
    if not len(known):
        return places, np.zeros(len(ids), np.bool_)
    return places, known.take(places, mode="clip") == ids


def _changes(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a number [M] differs from the one before; the first does: [M] bool."""
    changes = np.ones(len(ids), np.bool_)
    changes[1:] = ids[1:] != ids[:-1]
    return changes


def _unknown(found: _Found | None, most: int) -> bool:
    """Whether what is known of a word doesn't say which texts, at most so many, hold it."""
    return found is None or (isinstance(found, int) and found < most)


def _cost(found: _Found) -> int:
    return _ENTRY + (0 if isinstance(found, int) else len(found.ids))


def _rarity(holding: int, texts: int) -> float:
    """What a word weighs that so many of the texts hold.

    Raises:
        StoreError: the text search says that there are fewer texts.
    """
    if holding > texts:
        raise damaged("a text search")
    rarity = math.log((texts - holding + 0.5) / (holding + 0.5))
    return rarity if rarity > 0 else _LEAST_RARITY


def _first(scores: NDArray[Any], limit: int) -> NDArray[np.int64]:
    """Places of the ``limit`` highest of [M] float64, best first, of equal ones in their order."""
    places = np.arange(len(scores))
    if len(scores) > limit:
        places = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    return places[np.argsort(-scores[places], kind="stable")][:limit]
