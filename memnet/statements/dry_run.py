"""What a new statement is compared with, and judging ahead of writing.

What a long text does is judged before the writer's lock is taken: the text is told to a copy in
memory of the statements that it is compared with. What was judged so counts when it is written only
where a statement and its candidates are still the same; the others are judged again.
"""

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from memnet.config import TellConfig
from memnet.statements.decisions import (
    CHANGES,
    Resolution,
    change_by,
    end_of,
    is_open,
    limits_when_added,
    resolve,
)
from memnet.statements.protocol import Judgement, ParsedStatement, StatementJudge
from memnet.storage import MemoryStore, NewSlot, Told
from memnet.text.dates import local_time

_NEAREST = 16  # Statements with the nearest keys that a new one is compared with
LAST = 3  # Statements told just before, which a parser knows and a new one is always compared with
# Statements about each of its names that a new one is compared with, the last ones. Whoever has
# more told of them is mostly found by key.
_ABOUT = 128


_FIRST_ID = 2**62  # First id of statements that are only in memory: above the ids of all slots


@dataclass
class CachedJudge:
    """A judge that remembers its judgements of one text; a ``StatementJudge``."""

    of: StatementJudge
    _known: dict[Hashable, Judgement] = field(default_factory=dict)

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        """As ``StatementJudge.judge``."""
        key = _key(new, earlier)
        if key not in self._known:
            self._known[key] = self.of.judge(new, earlier)
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


@dataclass
class Telling:
    """Decides about the sentences of one text or message in turn."""

    store: MemoryStore
    vectors: Mapping[str, NDArray[np.float32]]  # Of all key texts and relations of the slots
    config: TellConfig
    judge: StatementJudge
    at: float | None  # As for ``teller.tell``
    namespace: str
    standing: bool = False

    def __post_init__(self) -> None:
        """Take the time, in seconds since the epoch, so that it rises although clocks differ.

        The latest time in the store may be ahead of this machine's clock by the clock skew and
        still count as now. One further ahead comes from a wrong clock.
        """
        latest, clock = self.store.statements.latest_time(), now()
        self.now = latest if clock < latest <= clock + self.config.clock_skew else clock

    def tell(self, sentence: ParsedStatement, slot: NewSlot, near: Sequence[int]) -> None:
        """Decide about a sentence and do it; statements with ``near`` keys may be gone by now."""
        told = self.now if self.at is None else self.at
        valid_from = told if sentence.valid_from is None else sentence.valid_from
        until = sentence.valid_until
        new = Told(
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
            relation_vector=self.vectors[slot.relation],
            namespace=self.namespace,
            standing=self.standing,
            act=sentence.act,
        )
        candidates = self._candidates(slot, near)
        earlier = [one for one in candidates if new.act == "forget" or is_open(one, new)]
        judgement = self.judge.judge(new, earlier)
        resolution = resolve(new, earlier, judgement, backdated=self.at is not None)
        self._carry_out(new, slot, resolution, candidates)

    def _candidates(self, slot: NewSlot, near: Sequence[int], last: int = LAST) -> list[Told]:
        """Stored statements about the same, near, or among the ``last`` that were told."""
        statements = self.store.statements
        about = statements.ids_about(slot.key_symbols, self.namespace, _ABOUT)
        return statements.told([*about, *near, *statements.last(self.namespace, last)])

    def _carry_out(
        self, new: Told, slot: NewSlot, resolution: Resolution, candidates: Sequence[Told]
    ) -> None:
        raise NotImplementedError


@dataclass
class DryRun(Telling):
    """Tells a text to statements in memory, so that all that it changes has been judged."""

    # Statements of the text, each with the names of what it is about.
    added: list[tuple[Told, frozenset[str]]] = field(default_factory=list)
    # Statements that it has changed, by id; None for those that it has erased.
    changed: dict[int, Told | None] = field(default_factory=dict)

    def _candidates(self, slot: NewSlot, near: Sequence[int], last: int = LAST) -> list[Told]:
        """Statements to compare with, as they would be by now, in the order of their telling."""
        own_last = {one.id for one, _ in self.added[-last:]}
        own = [
            one
            for one, names in self.added
            if one.id in own_last or not names.isdisjoint(slot.key_symbols)
        ]
        found = [*super()._candidates(slot, near, last - len(own_last)), *own]
        changed = [self.changed.get(one.id, one) for one in found]
        return [one for one in changed if one is not None]

    def _carry_out(
        self,
        new: Told,
        slot: NewSlot,
        resolution: Resolution,
        candidates: Sequence[Told],  # noqa: ARG002
    ) -> None:
        """Do in memory what a ``TellTransaction`` does, as far as a later judgement sees it."""
        if new.act == "forget":
            self.changed.update((effect.told.id, None) for effect in resolution.changed)
            return
        if resolution.added:
            begin, end = limits_when_added(new, resolution)
            told = replace(new, valid_from=begin, valid_until=end, id=_FIRST_ID + len(self.added))
            if resolution.later is not None:
                told = replace(told, change=change_by(resolution.later).change)
            self.added.append((told, frozenset(slot.key_symbols)))
        for effect in resolution.changed:
            if effect.label in CHANGES:
                one = self.changed.get(effect.told.id) or effect.told
                until = end_of(effect, new)
                ends = one.valid_until if until is None else max(until, one.valid_from)
                self.changed[one.id] = replace(one, valid_until=ends, change=CHANGES[effect.label])


def nearest_to(
    slots: Sequence[NewSlot],
    store: MemoryStore,
    vectors: Mapping[str, NDArray[np.float32]],
    namespace: str,
) -> list[list[int]]:
    """For each slot of a new statement the ids of those with the nearest keys."""
    return [store.nearest_statements(vectors[one.key_text], _NEAREST, namespace) for one in slots]


def now() -> float:
    """Seconds since the epoch; the store refuses negative times, which a wrong clock may give."""
    return max(0.0, time.time())
