"""Judging ahead of writing: what a long text does is judged before the writer's lock is taken.

The text is told to a copy in memory of the statements that it is compared with. What was judged so
counts when it is written only where a statement and its candidates are still the same; the others
are judged again.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memnet.config import TellConfig
from memnet.statements.candidates import LAST, candidate_ids, told_of
from memnet.statements.decisions import CHANGES, Choice, choose, end_of, is_open, limits_when_added
from memnet.statements.protocol import Judgement, Label, ParsedStatement, StatementJudge
from memnet.statements.usage import statement_time
from memnet.storage import MemoryStore, NewSlot, Told
from memnet.text.dates import local_time

# Of what is only in memory: above the ids of all slots, as that of what is added last.
_FIRST_ID = 2**62


class AheadJudge:
    """A judge that remembers its judgements of one text; a ``StatementJudge``."""

    def __init__(self, judge: StatementJudge) -> None:
        """Remember nothing yet."""
        self._judge = judge
        self._known: dict[Hashable, Judgement] = {}

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        """As ``StatementJudge.judge``."""
        key = _key(new, earlier)
        if key not in self._known:
            self._known[key] = self._judge.judge(new, earlier)
        return self._known[key]


def _key(new: Told, earlier: Sequence[Told]) -> Hashable:
    """What a judgement depends on; ids and the time of the telling differ from one try to the next.

    All else of a statement never changes once it is told.
    """
    compared = [
        (
            one.text, one.subject, None if one.told == new.told else one.told, one.valid_until,
            one.change,
        )
        for one in earlier
    ]  # fmt: skip
    return new.text, new.subject, new.act, local_time(new.told).date(), tuple(compared)


class Rehearsal:
    """Tells a text to statements in memory, so that all that it changes has been judged."""

    def __init__(
        self,
        store: MemoryStore,
        vectors: Mapping[str, NDArray[np.float32]],
        config: TellConfig,
        judge: StatementJudge,
        at: float | None,
        namespace: str,
    ) -> None:
        """Tell nothing yet; arguments as for ``Telling``, of which the store is only read."""
        self._store = store
        self._vectors = vectors
        self._judge = judge
        self._late = at is not None
        self._namespace = namespace
        now = statement_time(store.statements.latest_time(), config.clock_skew)
        self._told = now if at is None else at
        # Statements of the text, each with the names of what it is about.
        self._added: list[tuple[Told, frozenset[str]]] = []
        # Statements that it has changed, by id; None for those that it has erased.
        self._changed: dict[int, Told | None] = {}

    def tell(self, sentence: ParsedStatement, slot: NewSlot, near: Sequence[int]) -> None:
        """As ``Telling.tell``."""
        relation = self._vectors[slot.relation]
        new = told_of(sentence, self._told, self._namespace, relation)
        earlier = [
            one for one in self._candidates(slot, near) if new.act == "forget" or is_open(one, new)
        ]
        choice = choose(new, earlier, self._judge.judge(new, earlier), self._late)
        self._change(new, slot, choice)

    def _candidates(self, slot: NewSlot, near: Sequence[int]) -> list[Told]:
        """Statements to compare with, as they would be by now, in the order of their telling."""
        added = [one for one, _ in self._added]
        last = {one.id for one in added[-LAST:]}
        own = [
            one
            for one, names in self._added
            if one.id in last or not names.isdisjoint(slot.key_symbols)
        ]
        ids = candidate_ids(self._store, slot, near, self._namespace, LAST - len(last))
        found = [*self._store.statements.told(ids), *own]
        changed = [self._changed.get(one.id, one) for one in found]
        return [one for one in changed if one is not None]

    def _change(self, new: Told, slot: NewSlot, choice: Choice) -> None:
        """Do in memory what ``Telling`` does to the store, as far as a later judgement sees it."""
        if new.act == "forget":
            self._changed.update((effect.told.id, None) for effect in choice.changed)
            return
        if choice.added:
            begin, end = limits_when_added(new, choice)
            told = replace(new, valid_from=begin, valid_until=end, id=_FIRST_ID + len(self._added))
            if choice.later is not None:
                corrects = choice.later.label == Label.CORRECT
                told = replace(told, change="correct" if corrects else "supersede")
            self._added.append((told, frozenset(slot.key_symbols)))
        for effect in choice.changed:
            if effect.label in CHANGES:
                one = self._changed.get(effect.told.id) or effect.told
                until = end_of(effect, new)
                ends = one.valid_until if until is None else max(until, one.valid_from)
                self._changed[one.id] = replace(one, valid_until=ends, change=CHANGES[effect.label])
