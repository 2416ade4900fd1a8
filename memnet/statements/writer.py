"""Writing: what is told is compared with what was told before, and becomes one commit."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memnet.clock import now
from memnet.config import WriteConfig
from memnet.errors import InputError
from memnet.statements.controller import ToldBefore, WriteController
from memnet.statements.parsing import Statement, statement, statements, told_slot
from memnet.storage import Encode, MemoryStore, NewSource, Slot
from memnet.types import Action, WriteDecision


class Write:
    """One text that is told: one transaction, however many sentences it has."""

    def __init__(
        self, store: MemoryStore, encode: Encode, config: WriteConfig, text: str, namespace: str
    ) -> None:
        """Take the text apart.

        Raises:
            InputError: it holds no words.
        """
        self._store = store
        self._encode = encode
        self._config = config
        self._controller = WriteController(config)
        self._digest = _digest(text)
        self._namespace = namespace
        self._statements = [told for told in statements(text) if told.about]
        if not self._statements:
            raise InputError("the text holds no words; tell something in plain words")
        self._source: str | None = None
        self._time = 0.0
        self._decisions: list[WriteDecision] = []

    def run(self) -> tuple[WriteDecision, ...]:
        """Decide about each sentence in turn, and do it.

        Raises:
            InputError: something is to be forgotten that was not told; nothing is written then.
            StoreBusyError, StoreError: the store can't be written.
        """
        # Encoded before the lock is taken: another writer need not wait for the encoder.
        slots = [told_slot(told, 0.0) for told in self._statements]
        texts = list(dict.fromkeys(text for one in slots for text in (one.key_text, one.relation)))
        vectors = dict(zip(texts, self._encode(texts), strict=True))
        self._encode = lambda texts: np.stack([vectors[text] for text in texts])
        with self._store.changing():
            self._time = _time_of_telling(self._store.latest_time(), self._config.clock_skew)
            for told in self._statements:
                self._evict(told, self._write(told))
        return tuple(self._decisions)

    def _write(self, told: Statement) -> int | None:
        """Decide about a sentence and do it; returns the slot that holds it, if one does."""
        before = self._told_before(told)
        relation = self._encode([told.relation.words])[0]
        choice = self._controller.choose(
            relation, self._compared(told, before), told.act, told.negative
        )
        affected = [(before[place][0], weight) for place, weight in choice.affected]
        ids = [slot.id for slot, _ in affected]
        holder: int | None = None
        if choice.action == "erase":
            if not ids:
                raise InputError(
                    f"nothing that was told matches {told.text!r}, so nothing was done; "
                    "say it as it was told"
                )
            self._store.erase(ids)
        elif choice.action == "merge":
            holder = ids[0]
            self._store.use({holder: 1.0}, self._time, self._config.usage_half_life)
        else:
            self._store.end(ids, self._time)
            holder = None if choice.action == "end" else self._add(told)
        action: Action = "erase" if choice.action == "end" else choice.action
        for slot, weight in affected:
            self._report(action, told, choice.reason, holder, slot, weight)
        if not affected:
            self._report(action, told, choice.reason, holder)
        return holder

    def _told_before(self, told: Statement) -> list[tuple[Slot, Statement]]:
        """What was told about the same subject, in the order of telling."""
        found = [
            (slot, statement(slot.text, subject=slot.title))
            for slot in self._store.told(told.about, self._namespace)
        ]
        return [(slot, stored) for slot, stored in found if stored.about == told.about]

    def _compared(self, told: Statement, before: Sequence[tuple[Slot, Statement]]) -> ToldBefore:
        ids = [slot.id for slot, _ in before]
        return ToldBefore(
            relations=self._store.relation_vectors(ids),
            permitted=_mask(told.act == "forget" or slot.valid_until is None for slot, _ in before),
            exclusive=_mask(told.shares_aspect(stored) for _, stored in before),
            same_verb=_mask(told.shares_aspect(stored, named=True) for _, stored in before),
            same_value=_mask(told.same_value(stored) for _, stored in before),
            same_words=_mask(told.words == stored.words for _, stored in before),
            same_aspects=_mask(
                told.relation.aspects == stored.relation.aspects for _, stored in before
            ),
            opposite=_mask(told.negative != stored.negative for _, stored in before),
        )

    def _add(self, told: Statement) -> int:
        """Store a statement; returns the id of its slot."""
        self._source = self._source or self._store.new_told_name()
        slot = told_slot(told, self._time)
        source = NewSource(self._source, self._digest, [slot], self._namespace, "told")
        (added,) = self._store.append(source, self._encode)
        return added

    def _evict(self, told: Statement, holder: int | None) -> None:
        """Delete what is beyond the capacity, but not what was told just now."""
        capacity, half_life = self._config.capacity, self._config.usage_half_life
        if capacity is None:
            return
        keep = () if holder is None else (holder,)
        surplus = self._store.surplus(capacity, self._time, half_life, keep)
        for slot in self._store.found(surplus):
            why = "was used least" if slot.valid_until is None else "was valid no longer"
            self._store.erase([slot.id])
            reason = f"Room is for {capacity} told statements, and this one {why}."
            self._report("evict", told, reason, None, slot)

    def _report(
        self,
        action: Action,
        told: Statement,
        reason: str,
        holder: int | None,
        affected: Slot | None = None,
        weight: float | None = None,
    ) -> None:
        holding = [] if holder is None else self._store.fetch([holder])
        self._decisions.append(
            WriteDecision(
                action=action,
                text=told.text,
                slot=holder,
                source=holding[0].source if holding else None,
                other=None if affected is None else affected.id,
                other_text=None if affected is None else affected.text,
                weight=weight,
                reason=reason,
            )
        )


def _time_of_telling(latest: float, skew: float) -> float:
    """The time at which something is told, in seconds since the epoch.

    Args:
        latest: the latest time that the store holds.
        skew: seconds by which it may be ahead of this machine's clock and still be taken as now,
            so that times rise although the clocks of machines differ a little. A time further
            ahead is of a clock that was wrong, and must not become that of all that follows.
    """
    current = now()
    return latest if current < latest <= current + skew else current


def _mask(values: Iterable[bool]) -> NDArray[np.bool_]:
    return np.array(list(values), np.bool_)


def _digest(text: str) -> bytes:
    """Of the told text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
