"""The exact twin of the memory store: the same interface over plain lists and NumPy."""

import functools
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from snowballstemmer import stemmer

from memnet.storage import (
    EVERYWHERE,
    Encode,
    Hits,
    Keys,
    NewSlot,
    NewSource,
    Scope,
    Slot,
    Symbols,
)
from memnet.storage.values import PutCounts
from tests import oracle

_stem = functools.cache(stemmer("porter").stemWord)


class ExactStore:
    """Holds everything in memory and searches it by brute force."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.statements = self
        self._sources: dict[tuple[str, str], NewSource] = {}
        self._slots: dict[int, tuple[NewSource, NewSlot, NDArray[np.float32]]] = {}
        self._until: dict[int, float] = {}
        self._usage: dict[int, tuple[float, float]] = {}
        self._last_id = 0

    def put(self, sources: Sequence[NewSource], encode: Encode) -> PutCounts:
        added = updated = 0
        for source in sources:
            place = (source.namespace, source.name)
            before = self._sources.get(place)
            if before is not None and before.digest == source.digest:
                continue
            added += before is None
            updated += before is not None
            wanted = list(dict.fromkeys(source.slots))
            held = {
                slot: slot_id
                for slot_id, (owner, slot, _) in self._slots.items()
                if (owner.namespace, owner.name) == place
            }
            for slot, slot_id in held.items():
                if slot not in wanted:
                    del self._slots[slot_id]
                else:  # its source may have other metadata now
                    self._slots[slot_id] = (source, *self._slots[slot_id][1:])
            for slot in wanted:
                if slot not in held:
                    self._add(source, slot, encode)
            self._sources[place] = source
        return PutCounts(added, updated, len(sources) - added - updated)

    def delete(self, names: Iterable[str], namespace: str | None = None) -> int:
        doomed = {
            place
            for place in self._sources
            if place[1] in set(names) and namespace in (None, place[0])
        }
        slots = [
            slot_id
            for slot_id, (source, _, _) in self._slots.items()
            if (source.namespace, source.name) in doomed
        ]
        for slot_id in slots:
            del self._slots[slot_id]
        for place in doomed:
            del self._sources[place]
        return len(slots)

    def append(self, source: NewSource, encode: Encode) -> list[int]:
        held = [slot for owner, slot, _ in self._slots.values() if owner.name == source.name]
        self._sources[source.namespace, source.name] = source
        return [self._add(source, slot, encode) for slot in source.slots if slot not in held]

    def end(self, ids: Sequence[int], at: float) -> None:
        for slot_id in ids:
            if slot_id in self._usage and slot_id in self._slots:
                self._until.setdefault(slot_id, at)

    def erase(self, ids: Sequence[int]) -> None:
        for slot_id in ids:
            source, _, _ = self._slots.pop(slot_id, (None, None, None))
            if source is None or source.kind != "statement":
                continue
            if not any(owner.name == source.name for owner, _, _ in self._slots.values()):
                del self._sources[source.namespace, source.name]

    def ids_about(self, symbols: Sequence[str]) -> list[int]:
        """Ids of statements about some symbols."""
        return [slot.id for symbol in symbols for slot in self.about(symbol)]

    def about(self, symbol: str, namespace: str | None = None) -> list[Slot]:
        found = [
            slot_id
            for slot_id, (source, slot, _) in self._slots.items()
            if symbol in slot.key_symbols
            and slot.valid_from is not None
            and namespace in (None, source.namespace)
        ]
        return sorted(self.fetch(found), key=lambda slot: slot.id)

    def latest_time(self) -> float:
        return max([0.0, *(slot.valid_from or 0.0 for _, slot, _ in self._slots.values())])

    def add_usage(self, weights: Mapping[int, float], at: float, half_life: float) -> None:
        for slot_id, weight in weights.items():
            if slot_id in self._usage and slot_id in self._slots:
                usage = self._decayed(slot_id, at, half_life)
                self._usage[slot_id] = usage + weight, at

    def evictable(
        self, capacity: int, at: float, half_life: float, keep: Collection[int] = ()
    ) -> list[int]:
        told = sorted(slot_id for slot_id in self._usage if slot_id in self._slots)
        leaving: list[int] = []
        while len(told) - len(leaving) > capacity:
            rest = [slot_id for slot_id in told if slot_id not in {*leaving, *keep}]
            ended = [slot_id for slot_id in rest if slot_id in self._until]
            least = min(self._decayed(slot_id, at, half_life) for slot_id in ended or rest)
            leaving.append(
                next(
                    slot_id
                    for slot_id in ended or rest
                    if self._decayed(slot_id, at, half_life) == least
                )
            )
        return leaving

    def search_dense(
        self, vector: NDArray[np.float32], limit: int, scope: Scope = EVERYWHERE
    ) -> Hits:
        scores = {
            slot_id: float(np.dot(vector.astype(np.float64), key.astype(np.float64)))
            for slot_id, (source, slot, key) in self._slots.items()
            if slot.kind == "passage" and slot_id not in self._until and covers(scope, source)
        }
        return _best(scores, limit)

    def search_lexical(self, terms: Sequence[str], limit: int, scope: Scope = EVERYWHERE) -> Hits:
        listed = [
            (slot_id, held) for slot_id, held in self._slots.items() if held[1].kind != "reverse"
        ]
        if not listed:
            return _best({}, limit)
        documents = [_words(f"{slot.title} {slot.text}") for _, (_, slot, _) in listed]
        query = [_stem(term) for term in terms]
        scores = {
            slot_id: score
            for (slot_id, (source, _, _)), score, words in zip(
                listed, oracle.bm25(documents, query), documents, strict=True
            )
            if set(words) & set(query) and slot_id not in self._until and covers(scope, source)
        }
        return _best(scores, limit)

    def search_symbolic(
        self, names: Iterable[str], limit: int, scope: Scope = EVERYWHERE
    ) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        counts = Counter[tuple[str, str]]()
        for name in names:
            for slot_id, (source, slot, _) in sorted(self._slots.items()):
                if (
                    name in slot.key_symbols
                    and slot_id not in self._until
                    and covers(scope, source)
                ):
                    kind = (name, "" if slot.kind == "passage" else slot.key_text)
                    counts[kind] += 1
                    if counts[kind] <= limit:
                        found.setdefault(name, []).append(slot_id)
        return found

    def fetch(self, ids: Sequence[int]) -> list[Slot]:
        return [
            Slot(
                slot_id, slot.kind, source.name, source.namespace, slot.title, slot.text,
                slot.start, slot.end, slot.relation, slot.value, slot.valid_from,
                self._until.get(slot_id), slot.places, source.metadata, slot.valid_from,
            )
            for slot_id in ids
            if slot_id in self._slots
            for source, slot, _ in [self._slots[slot_id]]
        ]  # fmt: skip

    def links(self, names: Collection[str], scope: Scope) -> list[tuple[str, str, str, int]]:
        """Subject, key text, object and slot of the facts about some symbols."""
        return [
            (subject, slot.key_text, value, slot_id)
            for slot_id, (source, slot, _) in self._slots.items()
            if slot.kind != "passage" and covers(scope, source)
            for subject in set(slot.key_symbols) & set(names)
            for value in set(slot.value_symbols)
        ]

    def keys(self, ids: Sequence[int]) -> Keys:
        present = [slot_id for slot_id in ids if slot_id in self._slots]
        return Keys(
            np.array(present, np.int64),
            np.array([self._slots[slot_id][2] for slot_id in present], np.float32).reshape(
                len(present), self.dimension
            ),
            np.array([self._slots[slot_id][1].kind != "passage" for slot_id in present], bool),
            tuple(
                "" if slot.kind == "passage" else slot.relation
                for slot_id in present
                for _, slot, _ in [self._slots[slot_id]]
            ),
        )

    def symbols(self, ids: Iterable[int]) -> dict[int, Symbols]:
        found = {
            slot_id: Symbols(sorted(set(slot.key_symbols)), sorted(set(slot.value_symbols)))
            for slot_id in ids
            if slot_id in self._slots
            for _, slot, _ in [self._slots[slot_id]]
        }
        return {slot_id: symbols for slot_id, symbols in found.items() if any(symbols)}

    def search_mentions(
        self, names: Iterable[str], most: int, scope: Scope = EVERYWHERE
    ) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for name in names:
            slots = [
                slot_id
                for slot_id, (_, slot, _) in self._slots.items()
                if name in slot.value_symbols
            ]
            valid = [
                slot_id
                for slot_id in slots
                if slot_id not in self._until
                and self._slots[slot_id][1].kind == "passage"
                and covers(scope, self._slots[slot_id][0])
            ]
            if len(slots) <= most and valid:
                found[name] = sorted(valid)
        return found

    def search_terms(self, terms: Iterable[str], most: int) -> dict[str, list[int]]:
        found = {
            term: sorted(
                slot_id
                for slot_id, (_, slot, _) in self._slots.items()
                if slot.kind != "reverse"
                and set(_words(term)) & set(_words(f"{slot.title} {slot.text}"))
            )
            for term in terms
        }
        return {term: slots for term, slots in found.items() if len(slots) <= most}

    def _add(self, source: NewSource, slot: NewSlot, encode: Encode) -> int:
        self._last_id += 1
        self._slots[self._last_id] = source, slot, encode([slot.key_text])[0]
        if slot.valid_from is not None:
            self._usage[self._last_id] = 1.0, slot.valid_from
        return self._last_id

    def _decayed(self, slot_id: int, at: float, half_life: float) -> float:
        usage, used = self._usage[slot_id]
        return usage * math.pow(0.5, max(0.0, at - used) / half_life)


_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def covers(scope: Scope, source: NewSource) -> bool:
    """Whether a source is in a scope, value by value."""
    if scope.namespace not in (None, source.namespace):
        return False
    return all(
        any(_matches(value, wanted) for value in _values(source.metadata, key.split(".")))
        for key, wanted in (scope.where or {}).items()
    )


def _values(metadata: Any, names: list[str]) -> list[Any]:
    for name in names:
        if not isinstance(metadata, dict) or name not in metadata:
            return []
        metadata = metadata[name]
    return metadata if isinstance(metadata, list) else [metadata]


def _matches(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_matches(value, one) for one in wanted)
    if isinstance(wanted, dict):
        low, high = wanted.get("from"), wanted.get("to")
        kind: Any = str if isinstance(high if low is None else low, str) else (int, float)
        if not isinstance(value, kind) or isinstance(value, bool):
            return False
        if isinstance(high, str) and _DAY.fullmatch(high):
            high += "~"
        return (low is None or low <= value) and (high is None or value <= high)
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, str) and isinstance(wanted, str) and _DAY.fullmatch(wanted):
        return value == wanted or re.match(rf"{wanted}[T ]\d\d:", value) is not None
    return not isinstance(value, dict | list) and bool(value == wanted)


def _words(text: str) -> list[str]:
    return [_stem(word) for word in re.findall(r"[^\W_]+", text.casefold())]


def _best(scores: dict[int, float], limit: int) -> Hits:
    order = sorted(scores, key=lambda slot_id: (-scores[slot_id], slot_id))[:limit]
    padding = limit - len(order)
    return Hits(
        np.array(order + [0] * padding, np.int64),
        np.array([scores[slot_id] for slot_id in order] + [0.0] * padding, np.float32),
        np.arange(limit) < len(order),
    )
