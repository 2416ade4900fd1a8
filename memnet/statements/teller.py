"""``tell``: a controller compares sentences with earlier statements; one commit writes them."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import cosines, softmax
from memnet.config import TellConfig
from memnet.errors import InputError
from memnet.statements.parsing import (
    ParsedStatement,
    parse_sentence,
    parse_statements,
    statement_slot,
    subject_symbol,
)
from memnet.storage import Encode, MemoryStore, NewSlot, NewSource, Slot
from memnet.types import Action, Decision, Statement

WriteAction = Literal["add", "merge", "supersede", "end", "erase"]
"""``end`` closes the validity of what it affects and adds nothing; ``erase`` deletes it."""


class Choice(NamedTuple):
    """What to do with a statement."""

    action: WriteAction
    affected: tuple[tuple[int, float], ...]
    """Index, 0..K-1, and attention weight of each statement it affects; most attended first."""
    reason: str


class WriteController:
    """Attends to earlier statements about the subject of a new one, by relation.

    An empty slot with a fixed score is attended to as well: a statement that gets less attention
    than it has another relation. So "none of them" is an outcome of the attention.

    Source: addressing of a write by content, Graves et al. 2016, Methods, "Content-based
    addressing"; the empty slot, and the rules on what it leaves, are this project's own.
    """

    def __init__(self, config: TellConfig) -> None:
        """Take the weights from the settings."""
        self._config = config

    def attention(
        self,
        relation: NDArray[np.float32],
        relations: NDArray[np.float32],
        same_verb: NDArray[np.bool_],
        permitted: NDArray[np.bool_],
    ) -> NDArray[np.float32]:
        """Attention weights [K + 1] float32 of the statements and, last, of the empty slot.

        Args:
            relation: [D] float32, the new statement's relation vector.
            relations: [K, D] float32, those of the earlier statements.
            same_verb: [K] bool: True where a rule about verbs says that the relation is the same.
            permitted: [K] bool: True where a statement may be affected.
        """
        scores = cosines(relation, relations) + self._config.same_verb_weight * same_verb
        with np.errstate(all="ignore"):  # a temperature close to 0 overflows
            scores = np.append(scores, self._config.same_relation_floor) / self._config.temperature
            return softmax(scores.astype(np.float32), np.append(permitted, True))

    def choose(
        self,
        new: ParsedStatement,
        earlier: Sequence[ParsedStatement],
        valid: NDArray[np.bool_],
        relation: NDArray[np.float32],
        relations: NDArray[np.float32],
    ) -> Choice:
        """What to do with a statement.

        Args:
            new: the statement.
            earlier: K statements about its subject.
            valid: [K] bool: False for those that have ended.
            relation: [D] float32, the relation vector of the new statement.
            relations: [K, D] float32, those of the earlier ones.
        """

        def mask(compare: Callable[[ParsedStatement], bool]) -> NDArray[np.bool_]:
            return np.array([compare(one) for one in earlier], np.bool_)

        same_verb = mask(lambda one: new.relation.shares_aspect(one.relation, named=True))
        exclusive = mask(lambda one: new.relation.shares_aspect(one.relation))
        same_value = mask(lambda one: new.relation.same_value(one.relation))
        same_words = mask(lambda one: new.words == one.words)
        same_aspects = mask(lambda one: new.relation.aspects == one.relation.aspects)
        opposite = mask(lambda one: new.negative != one.negative)
        permitted = valid | (new.act == "forget")
        weights = self.attention(relation, relations, same_verb, permitted)

        excluded = exclusive & (weights[:-1] > weights[-1])
        same = permitted & (same_words | (excluded & same_value))
        repeated, contradicted = same & ~opposite, same & opposite
        replaced = excluded & ~same_value & ~opposite & (not new.negative)
        if new.act == "forget":
            return _choice("erase", repeated, weights, "It was to be forgotten.")
        if new.act == "end" and contradicted.any():
            return _choice("end", contradicted, weights, "It holds no longer; it stays as history.")
        if contradicted.any():
            reason = "It contradicts what was told before."
            return _choice("supersede", contradicted | replaced | repeated, weights, reason)
        if replaced.any():
            reason = "The same subject and relation have a new value."
            return _choice("supersede", replaced | repeated, weights, reason)
        if (repeated & same_words).any():
            return _choice("merge", repeated & same_words, weights, "It was told before.")
        if (repeated & same_aspects).any():
            reason = "Its subject, relation and value were told before in other words."
            return _choice("merge", repeated & same_aspects, weights, reason)
        if len(same):
            return Choice("add", (), "Nothing told about its subject excludes it.")
        return Choice("add", (), "Nothing was told about its subject before.")


def _choice(
    action: WriteAction, affected: NDArray[np.bool_], weights: NDArray[np.float32], reason: str
) -> Choice:
    indices = np.flatnonzero(affected).tolist()
    ranked = sorted(((i, float(weights[i])) for i in indices), key=lambda one: -one[1])
    return Choice(action, tuple(ranked[:1] if action == "merge" else ranked), reason)


def tell(
    store: MemoryStore, encode: Encode, config: TellConfig, text: str, namespace: str
) -> tuple[Decision, ...]:
    """Decide about each sentence of a text in turn, and do it, in one transaction.

    Raises:
        InputError: the text holds no words, or a statement to forget is not stored; nothing is
            written then.
        StoreBusyError, StoreError: the store can't be written.
    """
    parsed = [sentence for sentence in parse_statements(text) if sentence.about]
    if not parsed:
        raise InputError("the text holds no words; tell something in plain words")
    slots = [statement_slot(sentence) for sentence in parsed]
    # Encoded before the lock is taken: another writer need not wait for the encoder.
    texts = list(dict.fromkeys(text for slot in slots for text in (slot.key_text, slot.relation)))
    vectors = dict(zip(texts, encode(texts), strict=True))
    with store.changing():
        telling = _Telling(store, vectors, config, text, namespace)
        for sentence, slot in zip(parsed, slots, strict=True):
            telling.tell(sentence, slot)
    return tuple(telling.decisions)


def history(store: MemoryStore, name: str, namespace: str | None) -> tuple[Statement, ...]:
    """The statements about a subject, oldest first; ``namespace`` None looks in all."""
    return tuple(
        Statement(
            id=slot.id,
            source=slot.source,
            text=slot.text,
            valid_from=slot.valid_from,
            valid_until=slot.valid_until,
        )
        for slot in store.statements.about(subject_symbol(name), namespace)
        if slot.valid_from is not None
    )


class _Telling:
    """The decisions about one text, within one transaction."""

    def __init__(
        self,
        store: MemoryStore,
        vectors: Mapping[str, NDArray[np.float32]],
        config: TellConfig,
        text: str,
        namespace: str,
    ) -> None:
        """``vectors`` are those of all key texts and relations of the text's slots."""
        self.decisions: list[Decision] = []
        self._store = store
        self._vectors = vectors
        self._config = config
        self._controller = WriteController(config)
        self._digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        self._namespace = namespace
        self._source: str | None = None
        self._time = _statement_time(store.statements.latest_time(), config.clock_skew)

    def tell(self, sentence: ParsedStatement, slot: NewSlot) -> None:
        """Decide about a sentence, whose slot is given, and do it."""
        earlier = self._earlier(sentence)
        choice = self._controller.choose(
            sentence,
            [parsed for _, parsed in earlier],
            np.array([stored.valid_until is None for stored, _ in earlier], np.bool_),
            self._vectors[slot.relation],
            self._store.statements.relation_vectors([stored.id for stored, _ in earlier]),
        )
        affected = [(earlier[index][0], weight) for index, weight in choice.affected]
        ids = [stored.id for stored, _ in affected]
        slot_id: int | None = None
        if choice.action == "erase":
            if not ids:
                raise InputError(
                    f"no stored statement matches {sentence.text!r}, so nothing was done; "
                    "repeat the statement in the words in which it was told"
                )
            self._store.statements.erase(ids)
        elif choice.action == "merge":
            slot_id = ids[0]
            self._store.statements.add_usage(
                {slot_id: 1.0}, self._time, self._config.usage_half_life
            )
        else:
            self._store.statements.end(ids, self._time)
            slot_id = None if choice.action == "end" else self._add(slot)
        action: Action = "erase" if choice.action == "end" else choice.action
        for stored, weight in affected:
            self._report(action, sentence, choice.reason, slot_id, stored, weight)
        if not affected:
            self._report(action, sentence, choice.reason, slot_id)
        self._evict(sentence, slot_id)

    def _earlier(self, sentence: ParsedStatement) -> list[tuple[Slot, ParsedStatement]]:
        """Statements about the same subject, oldest first."""
        found = [
            (slot, parse_sentence(slot.text, subject=slot.title))
            for slot in self._store.statements.about(sentence.about, self._namespace)
        ]
        return [(slot, parsed) for slot, parsed in found if parsed.about == sentence.about]

    def _add(self, slot: NewSlot) -> int:
        """Store a statement; returns the id of its slot."""
        self._source = self._source or self._store.statements.new_source()
        dated = replace(slot, valid_from=self._time)
        source = NewSource(self._source, self._digest, [dated], self._namespace, "told")
        (added,) = self._store.append(source, self._encode)
        return added

    def _evict(self, sentence: ParsedStatement, slot_id: int | None) -> None:
        """Delete what is beyond the capacity, but not the statement just stored."""
        capacity, half_life = self._config.capacity, self._config.usage_half_life
        if capacity is None:
            return
        keep = () if slot_id is None else (slot_id,)
        surplus = self._store.statements.evictable(capacity, self._time, half_life, keep)
        for slot in self._store.fetch_existing(surplus):
            why = "was used least" if slot.valid_until is None else "was valid no longer"
            self._store.statements.erase([slot.id])
            reason = f"Room is for {capacity} told statements, and this one {why}."
            self._report("evict", sentence, reason, None, slot)

    def _report(
        self,
        action: Action,
        sentence: ParsedStatement,
        reason: str,
        slot_id: int | None,
        other: Slot | None = None,
        weight: float | None = None,
    ) -> None:
        """Note a decision; ``slot_id`` is that of the sentence, if one holds it now."""
        stored = [] if slot_id is None else self._store.fetch([slot_id])
        self.decisions.append(
            Decision(
                action=action,
                text=sentence.text,
                slot=slot_id,
                source=stored[0].source if stored else None,
                other=None if other is None else other.id,
                other_text=None if other is None else other.text,
                weight=weight,
                reason=reason,
            )
        )

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vectors[text] for text in texts])


class UsageBuffer:
    """Attention weights that reads paid to statements, kept until they can be stored.

    So a read never waits for a writer. May be shared between threads.
    """

    def __init__(self, store: MemoryStore, config: TellConfig) -> None:
        """Start empty."""
        self._store = store
        self._half_life = config.usage_half_life
        self._lock = threading.Lock()
        self._weights: dict[int, float] = {}

    def add(self, weights: Mapping[int, float]) -> None:
        """Add the attention weights, 0..1, of one read, by slot id."""
        with self._lock:
            for slot, weight in weights.items():
                self._weights[slot] = self._weights.get(slot, 0.0) + weight

    def save(self, wait: float | None = None) -> None:
        """Store the collected weights, and start again empty.

        Args:
            wait: seconds to wait for another writer; None for the configured time.

        Raises:
            StoreBusyError, StoreError: they can't be stored now, and are kept for the next call.
        """
        if not self._weights:
            return
        with self._store.writing(wait):
            with self._lock:
                weights, self._weights = self._weights, {}
            try:
                self._store.statements.add_usage(weights, _now(), self._half_life)
            except BaseException:
                self.add(weights)
                raise


def _now() -> float:
    """Seconds since the epoch; the store refuses negative times, which a wrong clock may give."""
    return max(0.0, time.time())


def _statement_time(latest: float, skew: float) -> float:
    """The time of a statement, in seconds since the epoch.

    Args:
        latest: the latest time in the store.
        skew: seconds by which it may be ahead of this machine's clock and still be taken as now,
            so that times rise although the clocks of machines differ a little. A time further
            ahead comes from a wrong clock, and must not become that of all later statements.
    """
    now = _now()
    return latest if now < latest <= now + skew else now
