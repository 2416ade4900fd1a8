"""From the probabilities of a judge to what is done with a statement, and the reasons given."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.errors import ModelError
from memnet.statements.judge import reading, same_subjects
from memnet.statements.protocol import Label
from memnet.storage import Told
from memnet.types import Action, Change

CHANGES: dict[Label, tuple[Change, Action]] = {
    Label.SUPERSEDE: ("supersede", "supersede"),
    Label.CORRECT: ("correct", "correct"),
    Label.END: ("end", "erase"),
    Label.CONTRADICT: ("contradict", "contradict"),
}
"""How an earlier statement is changed, and what the decision about it is called."""
_REASONS = {
    Label.SUPERSEDE: "The same subject and relation have a new value.",
    Label.CORRECT: "It corrects what was told before, which never held.",
    Label.END: "It holds no longer; it stays as history.",
    Label.CONTRADICT: "Both can't hold, and neither is known to be wrong.",
}
_DENIED = "It contradicts what was told before."
TO_BE_FORGOTTEN = "It was to be forgotten."
LATE = "It was told of an earlier time, and held until what was told of a later one."
NEVER = "What was told later corrects it, so that it never held."


class Effect(NamedTuple):
    """What a new statement does to an earlier one."""

    told: Told
    label: Label
    weight: float
    """Its probability, 0..1."""


class Choice(NamedTuple):
    """What to do with a statement."""

    changed: tuple[Effect, ...]
    """Most probable first; of merges one, or, for a statement to be forgotten, those to erase."""
    later: Effect | None
    """What begins to hold later than the new statement, which ends there."""
    added: bool
    """Whether the new statement is stored."""


def choose(
    new: Told, earlier: Sequence[Told], probabilities: NDArray[np.float32], late: bool
) -> Choice:
    """What to do with a statement.

    Args:
        new: the statement.
        earlier: K candidates, as ``StatementJudge.judge`` got them.
        probabilities: [K, 6] float32 of it.
        late: whether its time was given, so that it may be an entry about an earlier one. Without,
            what is said to begin later has its time from a clock that ran ahead.

    Raises:
        ModelError: they are no probabilities of this shape.
    """
    expected = (len(earlier), len(Label))
    if np.shape(probabilities) != expected or not np.isfinite(probabilities).all():
        raise ModelError(
            f"the judge of statements gave numbers of shape {np.shape(probabilities)}, expected "
            f"finite ones of shape {expected}; use another judge"
        )
    labels = np.argmax(probabilities, axis=1).tolist() if len(earlier) else []
    effects = [
        Effect(one, Label(label), float(np.clip(probabilities[index, label], 0, 1)))
        for index, (one, label) in enumerate(zip(earlier, labels, strict=True))
        if label != Label.NONE
    ]
    effects = [effect for effect in effects if not _leaves_plan(effect, new)]
    effects.sort(key=lambda effect: -effect.weight)
    merged = [effect for effect in effects if effect.label == Label.MERGE]
    if new.act == "forget":
        return Choice(tuple(merged), None, added=False)
    later = [effect for effect in effects if late and _is_later(effect.told, new)]
    bounds = [effect for effect in later if effect.label not in (Label.END, Label.CONTRADICT)]
    bound = min(bounds, key=lambda effect: effect.told.valid_from, default=None)
    now = [effect for effect in effects if effect not in later or effect.label == Label.CONTRADICT]
    replaced = [effect for effect in now if effect.label in (Label.SUPERSEDE, Label.CORRECT)]
    same = [effect for effect in now if effect.label == Label.MERGE]
    if same and not replaced:
        return Choice((same[0],), None, added=False)
    # Beside a value that is replaced, one that is the same is told in other words: both give way.
    changed = [
        effect._replace(label=Label.SUPERSEDE) if effect.label == Label.MERGE else effect
        for effect in now
    ]
    only_ends = bool(changed) and all(effect.label == Label.END for effect in changed)
    return Choice(tuple(changed), bound, added=not only_ends)


def reason_for(effect: Effect, new: Told, changed: Sequence[Effect]) -> str:
    """Why an earlier statement was changed or merged with, in one sentence."""
    if new.act == "forget":
        return TO_BE_FORGOTTEN
    if effect.label == Label.SUPERSEDE and any(
        reading(one.told).negative != reading(new).negative for one in changed
    ):
        return _DENIED
    if effect.label == Label.MERGE:
        if reading(effect.told).words == reading(new).words:
            return "It was told before."
        return "Its subject, relation and value were told before in other words."
    return _REASONS[effect.label]


def reason_to_add(new: Told, earlier: Sequence[Told]) -> str:
    """Why a statement is just added, in one sentence."""
    if same_subjects(reading(new), [reading(one) for one in earlier]).any():
        return "Nothing told about its subject excludes it."
    return "Nothing was told about its subject before."


def _is_later(one: Told, new: Told) -> bool:
    """Whether a statement was told later than a new one, which is a late entry, and of later."""
    return one.told > new.told and one.valid_from > new.valid_from


def _leaves_plan(effect: Effect, new: Told) -> bool:
    """Whether an earlier statement is a plan that a new one about the time before it can't end."""
    plan = effect.told.told <= new.told < effect.told.valid_from
    return plan and effect.label == Label.SUPERSEDE and new.valid_from < effect.told.valid_from
