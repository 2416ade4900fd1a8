"""What a new statement is compared with, and judging ahead of writing.

What a long text does is judged before the writer's lock is taken: the text is told to a copy in
memory of the statements that it is compared with. What was judged so counts when it is written only
where a statement and its candidates are still the same; the others are judged again.
"""

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memnet.config import TellConfig
from memnet.statements.decisions import (
    CHANGES,
    Resolution,
    end_of,
    is_open,
    limits_when_added,
    resolve,
)
from memnet.statements.protocol import Judgement, Label, ParsedStatement, StatementJudge
from memnet.storage import MemoryStore, NewSlot, Told
from memnet.text.dates import local_time

NEAREST = 16  # Statements with the nearest keys that a new one is compared with
LAST = 3  # Statements told just before, which a parser knows and a new one is always compared with
# Statements about each of its names that a new one is compared with, the last ones. Whoever has
# more told of them is mostly found by key.
_ABOUT = 128


def new_statement(
    sentence: ParsedStatement,
    told: float,
    namespace: str,
    relation: NDArray[np.float32],
    standing: bool = False,
) -> Told:
    """A statement told at some seconds since the epoch; ``relation`` [D] float32 is encoded."""
    valid_from = told if sentence.valid_from is None else sentence.valid_from
    until = sentence.valid_until
    return Told(
        text=sentence.text,
        subject=sentence.subject,
        aliases=sentence.aliases,
        relation=sentence.relation,
        values=sentence.values,
        polarity=sentence.polarity,
        certainty=sentence.certainty,
        told=told,
        valid_from=valid_from,
        valid_until=None if until is None else max(until, valid_from),
        relation_vector=relation,
        namespace=namespace,
        standing=standing,
        act=sentence.act,
    )


def candidate_ids(
    store: MemoryStore, slot: NewSlot, near: Sequence[int], namespace: str, last: int = LAST
) -> list[int]:
    """Ids of statements to compare with: about the same, near, or among the last that were told."""
    about = store.statements.ids_about(slot.key_symbols, namespace, _ABOUT)
    return [*about, *near, *store.statements.last(namespace, last)]


# First id of statements that are only in memory: above the ids of all slots.
_FIRST_ID = 2**62


class CachedJudge:
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


class DryRun:
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
        """Tell nothing yet; arguments as for ``TellTransaction``. The store is only read."""
        self._store = store
        self._vectors = vectors
        self._judge = judge
        self._backdated = at is not None
        self._namespace = namespace
        now = statement_time(store.statements.latest_time(), config.clock_skew)
        self._told = now if at is None else at
        # Statements of the text, each with the names of what it is about.
        self._added: list[tuple[Told, frozenset[str]]] = []
        # Statements that it has changed, by id; None for those that it has erased.
        self._changed: dict[int, Told | None] = {}

    def tell(self, sentence: ParsedStatement, slot: NewSlot, near: Sequence[int]) -> None:
        """As ``TellTransaction.tell``."""
        relation = self._vectors[slot.relation]
        new = new_statement(sentence, self._told, self._namespace, relation)
        earlier = [
            one for one in self._candidates(slot, near) if new.act == "forget" or is_open(one, new)
        ]
        resolution = resolve(new, earlier, self._judge.judge(new, earlier), self._backdated)
        self._change(new, slot, resolution)

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

    def _change(self, new: Told, slot: NewSlot, resolution: Resolution) -> None:
        """Do in memory what a ``TellTransaction`` does, as far as a later judgement sees it."""
        if new.act == "forget":
            self._changed.update((effect.told.id, None) for effect in resolution.changed)
            return
        if resolution.added:
            begin, end = limits_when_added(new, resolution)
            told = replace(new, valid_from=begin, valid_until=end, id=_FIRST_ID + len(self._added))
            if resolution.later is not None:
                corrects = resolution.later.label == Label.CORRECT
                told = replace(told, change="correct" if corrects else "supersede")
            self._added.append((told, frozenset(slot.key_symbols)))
        for effect in resolution.changed:
            if effect.label in CHANGES:
                one = self._changed.get(effect.told.id) or effect.told
                until = end_of(effect, new)
                ends = one.valid_until if until is None else max(until, one.valid_from)
                self._changed[one.id] = replace(one, valid_until=ends, change=CHANGES[effect.label])


def now() -> float:
    """Seconds since the epoch; the store refuses negative times, which a wrong clock may give."""
    return max(0.0, time.time())


def statement_time(latest: float, skew: float) -> float:
    """The time of a statement, in seconds since the epoch.

    Args:
        latest: the latest time in the store.
        skew: seconds by which it may be ahead of this machine's clock and still count as now, so
            that times rise although clocks differ. One further ahead comes from a wrong clock.
    """
    clock = now()
    return latest if clock < latest <= clock + skew else clock
