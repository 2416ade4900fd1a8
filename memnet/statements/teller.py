"""``tell``: sentences are parsed, judged against earlier statements and written in one commit."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.config import TellConfig
from memnet.errors import InputError, ModelError, shorten
from memnet.statements.decisions import (
    CHANGES,
    Resolution,
    change_by,
    end_of,
    limits_when_added,
    reason_for,
    reason_to_add,
)
from memnet.statements.dry_run import LAST, CachedJudge, DryRun, Telling, nearest_to, now
from memnet.statements.parsing import is_question
from memnet.statements.protocol import Label, ParsedStatement, StatementJudge, StatementParser
from memnet.storage import ChangeBy, Encode, MemoryStore, NewSlot, NewSource, Slot, Structure, Told
from memnet.text.names import maximal_names, mentions, subject_symbol, without_determiner
from memnet.types import Action, Decision

# Sentences of a text that is judged while the writer's lock is held: to judge it before would read
# all candidates twice.
_JUDGED_AT_ONCE = 2
_TITLE = 80  # Characters of the text that a list of sources shows
_REPLACED = (Label.SUPERSEDE, Label.CORRECT)
_MAX_TIME = 1e11  # Seconds since the epoch that a store takes


class ParserAndJudge(NamedTuple):
    """What parses and judges statements."""

    parser: StatementParser
    judge: StatementJudge


def tell(
    store: MemoryStore,
    encode: Encode,
    config: TellConfig,
    rules: ParserAndJudge,
    text: str,
    at: float | None,
    namespace: str,
    standing: bool = False,
) -> tuple[Decision, ...]:
    """Decide about each sentence of a text in turn, and do it, in one transaction.

    ``at`` is in seconds since the epoch, None for now; what is ``standing`` is never evicted.

    Raises:
        InputError: the text holds no words or only questions, a statement to forget is not stored,
            or standing statements leave no room; nothing is written then.
        ModelError: the parser or judge gives what can't be right.
        StoreBusyError, StoreError: the store can't be written.
    """
    before = store.statements.told(store.statements.last(namespace, LAST))
    found = rules.parser.parse(text, now() if at is None else at, before)
    parsed = [checked(sentence, text) for sentence in found if sentence.about]
    if not parsed:
        raise InputError("the text holds no words; tell something in plain words")
    if all(is_question(sentence.text) for sentence in parsed):
        asked = f'"{text.strip()}"'
        raise InputError(f"{asked} is a question, so nothing was told; 'memnet ask' answers it")
    slots = [statement_slot(sentence) for sentence in parsed]
    # Encoded and judged before the lock is taken: another writer need not wait for networks.
    vectors = store.encoded(
        [text for one in slots for text in (one.key_text, one.relation)], encode
    )
    judge: StatementJudge = rules.judge
    if len(parsed) > _JUDGED_AT_ONCE:
        judge = CachedJudge(rules.judge)
        with store.reading():
            near = nearest_to(slots, store, vectors, namespace)
            ahead = DryRun(store, vectors, config, judge, at, namespace)
            for sentence, slot, ids in zip(parsed, slots, near, strict=True):
                ahead.tell(sentence, slot, ids)
    with store.writing():
        # Of the last commit, which is what a vector index is of; what this text adds is seen later.
        near = nearest_to(slots, store, vectors, namespace)
        with store.changing():
            telling = TellTransaction(store, vectors, config, judge, at, namespace, standing, text)
            for sentence, slot, ids in zip(parsed, slots, near, strict=True):
                telling.tell(sentence, slot, ids)
    return tuple(telling.decisions)


def statement_slot(parsed: ParsedStatement) -> NewSlot:
    """The slot of a statement; its times are yet to be set."""
    subject = without_determiner(parsed.subject)
    own_names = mentions(subject.replace("'s", "").replace("’s", ""))
    aliases = map(subject_symbol, parsed.aliases)
    key_symbols = [one for one in (parsed.about, *maximal_names(own_names), *aliases) if one]
    mentioned = (*mentions(parsed.text), *map(subject_symbol, parsed.values[:1]))
    subject_is_named = parsed.subject in parsed.text
    key_text = parsed.text if subject_is_named else f"{parsed.subject}\n{parsed.text}"
    return NewSlot(
        kind="passage",
        title=parsed.subject,
        text=parsed.text,
        start=parsed.start,
        end=parsed.end,
        key_text=key_text,
        key_symbols=tuple(dict.fromkeys(key_symbols)),
        value_symbols=tuple(
            name for name in dict.fromkeys(mentioned) if name and name not in key_symbols
        ),
        relation=parsed.relation_words,
        structure=Structure(
            parsed.aliases, parsed.relation, parsed.values, parsed.polarity, parsed.certainty
        ),
    )


@dataclass
class TellTransaction(Telling):
    """The decisions about one text or message, within one transaction."""

    text: str = ""
    message: str | None = None  # Source of the message, without a ``text``, that they stand in
    decisions: list[Decision] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin an entry of the journal."""
        super().__post_init__()
        self.digest = hashlib.blake2b(self.text.encode(), digest_size=16).digest()
        self.source: str | None = None
        self.entry = self.store.journal.begin(self.namespace, self.now, self.message)

    def _carry_out(
        self, new: Told, slot: NewSlot, resolution: Resolution, candidates: Sequence[Told]
    ) -> None:
        slot_id = self._do(new, slot, resolution)
        if self.message is not None:  # whose writer reports no decisions
            return
        for effect in resolution.changed:
            action: Action = "merge" if effect.label == Label.MERGE else CHANGES[effect.label]
            action = "erase" if new.act == "forget" else action
            reason = reason_for(effect, new, resolution.changed)
            self._report(action, new.text, reason, slot_id, effect.told, effect.weight)
        if (later := resolution.later) is not None:
            reason = change_by(later).reason
            self._report("add", new.text, reason, slot_id, later.told, later.weight)
        elif not resolution.changed:
            self._report("add", new.text, reason_to_add(new, candidates), slot_id)
        self._evict(new.text, slot_id)

    def _do(self, new: Told, slot: NewSlot, resolution: Resolution) -> int | None:
        """Carry a resolution out; returns the slot that holds the statement now, if one does."""
        statements, journal = self.store.statements, self.store.journal
        ids = [effect.told.id for effect in resolution.changed]
        if new.act == "forget":
            if not ids:
                raise InputError(
                    f"no stored statement matches {new.text!r}, so nothing was done; "
                    "repeat the statement in the words in which it was told"
                )
            journal.note_erasure(self.entry)
            journal.erase(ids)
            return None
        if not resolution.added:  # it is merged with one
            journal.note(self.entry, ids, usage=1.0)
            statements.add_usage({ids[0]: 1.0}, self.now, self.config.usage_half_life)
            if new.standing:
                statements.make_standing(ids)
            return ids[0]
        journal.note(self.entry, ids)
        slot_id = self._add(new, slot, resolution)
        for effect in resolution.changed:
            change, changed = CHANGES[effect.label], effect.told.id
            reason = reason_for(effect, new, resolution.changed)
            until = end_of(effect, new)
            if until is not None:
                statements.end([changed], until)
                statements.mark([changed], change, slot_id, reason)
            else:
                statements.add_change(changed, ChangeBy(slot_id, change, reason))
        return slot_id

    def _add(self, new: Told, slot: NewSlot, resolution: Resolution) -> int:
        """Store a statement; returns the id of its slot."""
        begin, end = limits_when_added(new, resolution)
        later = resolution.later
        # What takes the place of a standing statement is one, too, whichever was told first.
        replaced = [one for one in resolution.changed if one.label in _REPLACED]
        standing = new.standing or any(one.told.standing for one in replaced)
        dated = replace(
            slot,
            valid_from=begin,
            valid_until=end,
            structure=replace(slot.structure, told=new.told, standing=standing),
        )
        added = self._store_slot(dated)
        self.store.journal.note(self.entry, [added], added=True)
        if later is not None:
            by, change, reason = change_by(later)
            self.store.statements.mark([added], change, by, reason)
            if standing:
                self.store.journal.note(self.entry, [later.told.id])
                self.store.statements.make_standing([later.told.id])
        return added

    def _store_slot(self, slot: NewSlot) -> int:
        """Store the slot of a statement, in its message if it has one; returns its id."""
        if self.message is not None:
            new = self.store.add_slots(self.message, self.namespace, [slot], self._encode)
            return new[0]
        self.source = self.source or self.store.statements.new_source()
        title = shorten(" ".join(self.text.split()), _TITLE)
        source = NewSource(
            self.source, self.digest, [slot], self.namespace, "statement", title=title
        )
        return self.store.append(source, self._encode)[0]

    def _evict(self, text: str, slot_id: int | None) -> None:
        """Delete what is beyond the capacity, but no standing statement or that just stored."""
        capacity, half_life = self.config.capacity, self.config.usage_half_life
        if capacity is None:
            return
        keep = () if slot_id is None else (slot_id,)
        surplus = self.store.statements.evictable(capacity, self.now, half_life, keep)
        for slot in self.store.fetch_existing(surplus):
            ended = slot.valid_until is not None and slot.valid_until <= self.now
            why = "no longer valid" if ended else "the least used one"
            self.store.journal.note_erasure(self.entry)
            self.store.statements.note_evictions([slot.id], self.now)
            self.store.statements.erase([slot.id])
            reason = f"Capacity is {capacity} statements; this one was {why}."
            self._report("evict", text, reason, None, slot)
        count = self.store.statements.count()
        if slot_id is not None and count > capacity:
            raise InputError(
                f"capacity is {capacity} statements, and with {text!r} there would be {count} that "
                "can't be evicted, so nothing was told; set a larger capacity, or forget standing "
                "statements"
            )

    def _report(
        self,
        action: Action,
        text: str,
        reason: str,
        slot_id: int | None,
        other: Slot | Told | None = None,
        weight: float | None = None,
    ) -> None:
        """Note a decision; ``slot_id`` is that of the sentence, if one holds it now."""
        stored = [] if slot_id is None else self.store.fetch([slot_id])
        self.decisions.append(
            Decision(
                action=action,
                text=text,
                slot=slot_id,
                source=stored[0].source if stored else None,
                other=None if other is None else other.id,
                other_text=None if other is None else other.text,
                weight=weight,
                reason=reason,
            )
        )

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.vectors[text] for text in texts])


def checked(sentence: ParsedStatement, text: str) -> ParsedStatement:
    """A sentence that is at its offsets, at times that a store takes; ModelError for any other."""
    times = [time for time in (sentence.valid_from, sentence.valid_until) if time is not None]
    if text[sentence.start : sentence.end] != sentence.text or not all(
        0 <= time <= _MAX_TIME for time in times
    ):
        raise ModelError(
            f"the parser of statements gave {sentence.text!r} at {sentence.start} to "
            f"{sentence.end}, with the times {times}; use another parser"
        )
    return sentence
