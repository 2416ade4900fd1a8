"""From the probabilities of a judge to what is done with a statement, and the reasons given."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from memnet.errors import ModelError
from memnet.statements.judge import columns_of, same_subjects
from memnet.statements.protocol import ENDING, Judgement, Label
from memnet.storage import ChangeBy, Told
from memnet.text.names import stems
from memnet.types import Change

# Separator of two items.
_JOINT = re.compile(r"(?<!\s)\s*+(?:[,;/]?\s*+(?:\b(?:and|or)\b|[&+])|[,;/])\s*+", re.IGNORECASE)
# Separator before the last item: commas alone may separate anything.
_LAST_JOINT = re.compile(r"\b(?:and|or)\b|[&+]", re.IGNORECASE)


def list_items(told: Told) -> tuple[str, ...]:
    """The items of the list in what a statement says of its subject; none without a list."""
    runs: list[tuple[int, int]] = []
    for value in told.values:
        start = told.text.find(value, runs[-1][1] if runs else 0)
        if start < 0:
            continue
        end = start + len(value)
        joint = _JOINT.match(told.text, runs[-1][1]) if runs else None
        if joint and joint.end() >= start:  # it may stand at the start of the value: "and a dog"
            start = runs.pop()[0]
        runs.append((start, end))
    for start, end in runs:
        if _LAST_JOINT.search(told.text, start, end):
            items = _JOINT.split(told.text[start:end].rpartition(":")[2].strip())
            return tuple(filter(None, items))
    return ()


def ends_an_item(new: Told, earlier: Told) -> bool:
    """Whether a statement that ends something names some items of an earlier one, and not all."""
    items = list_items(earlier)
    named = [says(new, item) for item in items]
    return any(named) and not all(named)


def says(told: Told, words: str) -> bool:
    """Whether all content words of a few stand in a statement, by their stems."""
    return stems(words) <= stems(told.text)


# How an earlier statement is changed; the decision about it has the same name.
CHANGES: dict[Label, Change] = {
    Label.SUPERSEDE: "supersede",
    Label.CORRECT: "correct",
    Label.END: "end",
    Label.CONTRADICT: "contradict",
}
_REASONS = {
    Label.SUPERSEDE: "The same subject and relation have a new value.",
    Label.CORRECT: "It corrects an earlier statement, which was never valid.",
    Label.END: "It is no longer valid; it stays in the history.",
    Label.CONTRADICT: "Both can't be true, and neither is known to be wrong.",
}


class Effect(NamedTuple):
    """What a new statement does to an earlier one."""

    told: Told
    label: Label
    weight: float  # Its probability, 0..1
    partly: bool = False  # Whether only a part of what it says is changed


class Resolution(NamedTuple):
    """What to do with a statement."""

    # Most probable first; of merges one, or, for a statement to be forgotten, those to erase.
    changed: tuple[Effect, ...]
    later: Effect | None  # The later statement at which a backdated one ends
    added: bool  # Whether the new statement is stored


def resolve(
    new: Told, earlier: Sequence[Told], judgement: Judgement, backdated: bool
) -> Resolution:
    """What to do with a statement, by the judgement of it and K earlier ones.

    ``backdated``: whether its time was given, so that it may be about an earlier one. Otherwise
    what is said to begin later has its time from a clock that ran ahead. ModelError for arrays of
    other shapes.
    """
    probabilities, partly = judgement
    shapes = np.shape(probabilities), np.shape(partly)
    expected = (len(earlier), len(Label)), (len(earlier),)
    if shapes != expected or not np.isfinite(probabilities).all():
        raise ModelError(
            f"the judge of statements gave numbers of shapes {shapes}, expected finite ones of "
            f"shapes {expected}; use another judge"
        )
    labels = np.argmax(probabilities, axis=1).tolist()
    effects = [
        Effect(
            one, Label(label), float(np.clip(probabilities[index, label], 0, 1)),
            (bool(partly[index]) and label in ENDING)
            or (label == Label.END and not new.polarity and ends_an_item(new, one)),
        )
        for index, (one, label) in enumerate(zip(earlier, labels, strict=True))
        if label != Label.NONE
    ]  # fmt: skip
    effects = [effect for effect in effects if not _leaves_plan(effect, new)]
    effects.sort(key=lambda effect: -effect.weight)
    if new.act == "forget":
        merged = tuple(effect for effect in effects if effect.label == Label.MERGE)
        return Resolution(merged, None, added=False)
    later = [effect for effect in effects if _is_later(effect.told, new, backdated)]
    bounds = [
        effect
        for effect in later
        if effect.label not in (Label.END, Label.CONTRADICT) and not effect.partly
    ]
    bound = min(bounds, key=lambda effect: effect.told.valid_from, default=None)
    now = [effect for effect in effects if effect not in later or effect.label == Label.CONTRADICT]
    if now and all(effect.label == Label.MERGE for effect in now):
        return Resolution((now[0],), None, added=False)
    # Beside what is changed, one that is the same is told in other words: both give way.
    changed = [
        effect._replace(label=Label.SUPERSEDE) if effect.label == Label.MERGE else effect
        for effect in now
    ]
    return Resolution(tuple(changed), bound, added=True)


def is_open(one: Told, new: Told) -> bool:
    """Whether a statement has not ended when a new one begins to hold, and ever held."""
    return one.valid_until is None or one.valid_until > max(new.valid_from, one.valid_from)


def end_of(effect: Effect, new: Told) -> float | None:
    """When what a new statement changes ends, in seconds since the epoch; None if it holds on.

    What never held ends before it begins: at 0.
    """
    if effect.label not in ENDING or effect.partly:
        return None
    return 0.0 if effect.label == Label.CORRECT else new.valid_from


def limits_when_added(new: Told, resolution: Resolution) -> tuple[float, float | None]:
    """From when until when a statement holds beside those that a resolution changes."""
    begin, end, later = new.valid_from, new.valid_until, resolution.later
    corrected = [one.told.valid_from for one in resolution.changed if one.label == Label.CORRECT]
    if new.valid_from == new.told:
        begin = min([begin, *corrected])
    if later is not None:
        bound = begin if later.label == Label.CORRECT else later.told.valid_from
        end = bound if end is None else min(bound, end)
    return begin, end


def change_by(later: Effect) -> ChangeBy:
    """How a later statement changes a backdated one."""
    if later.label == Label.CORRECT:
        reason = "Backdated: a later statement corrects it, so it was never valid."
        return ChangeBy(later.told.id, "correct", reason)
    return ChangeBy(later.told.id, "supersede", "Backdated: it is valid until the later statement.")


def reason_for(effect: Effect, new: Told, changed: Sequence[Effect]) -> str:
    """Why an earlier statement was changed or merged with, in one sentence."""
    if new.act == "forget":
        return "It was asked to be forgotten."
    if effect.partly:
        return "A part of it is no longer valid; the rest still is."
    if effect.label == Label.SUPERSEDE and any(
        columns_of(one.told).negative != columns_of(new).negative for one in changed
    ):
        return "It contradicts what was told before."
    if effect.label == Label.MERGE:
        if columns_of(effect.told).words == columns_of(new).words:
            return "It was told before."
        return "Its subject, relation and value were told before in other words."
    return _REASONS[effect.label]


def reason_to_add(new: Told, earlier: Sequence[Told]) -> str:
    """Why a statement is just added, in one sentence."""
    if same_subjects(columns_of(new), [columns_of(one) for one in earlier]).any():
        return "Nothing told about its subject excludes it."
    return "Nothing was told about its subject before."


def _is_later(one: Told, new: Told, backdated: bool) -> bool:
    """Whether a statement is of later than a new one, which is a late entry.

    The new one is told as of an earlier time, or both say since when they hold.
    """
    dated = one.valid_from < one.told and new.valid_from < new.told
    return one.valid_from > new.valid_from and (dated or (backdated and one.told > new.told))


def _leaves_plan(effect: Effect, new: Told) -> bool:
    """Whether an earlier statement is a plan that a new one about the time before it can't end."""
    plan = effect.told.told <= new.told < effect.told.valid_from
    return plan and effect.label == Label.SUPERSEDE and new.valid_from < effect.told.valid_from
