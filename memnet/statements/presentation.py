"""From what was read of statements to an answer: without what has ended, with quotes and hops."""

import re
import time
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.reader.passages import evidence_of, slot_candidate
from memnet.reader.spans import Passage
from memnet.statements.decisions import says
from memnet.statements.reading import FORMS, AnswerForm, Piece, StatementReading
from memnet.statements.things import about_other_things
from memnet.storage import Slot, Told
from memnet.text.dates import local_time, one_day
from memnet.text.relative import day_said
from memnet.types import Answer, AnswerKind, Candidate, Evidence, Hop, Quote, SlotWeight

NONE = 0.6  # Probability of "none" above which no answer is given
_MAX_SHOWN = 3
_JOINT = re.compile(r"[,;]|\b(?:and|but|or)\b", re.IGNORECASE)  # Joins two clauses
_OTHER_SIDE = 0.1  # Min. relevance of a further side of a conflict
# Question about the two sides of a conflict.
ASKED_BACK = "These contradict each other; which of them is right?"
# Of no statements
_NO_READING = StatementReading({**dict.fromkeys(FORMS, 0.0), "none": 1.0}, (), (), 0, ())
_KINDS: Mapping[AnswerForm, AnswerKind] = {
    "none": "none", "value": "value", "list": "list", "count": "value", "yes": "yes", "no": "no",
    "conflict": "statement",
}  # fmt: skip


class FoundStatements(NamedTuple):
    """Statements that are read, in the order of their time."""

    told: list[Told]
    slots: Mapping[int, Slot]  # Theirs, by id
    passages: list[Passage]  # As the network reads them
    weights: NDArray[np.float32]  # [K] attention of the first hop
    second: dict[int, str]  # Ids that a second hop added, each with the name that led to it
    chosen: bool  # Whether there are others, that are not read
    ended: list[Told]  # Statements that are not read as another one ended them


def answer_of(
    question: str,
    found: FoundStatements,
    reading: StatementReading | None,
    top_k: int,
    started: float,
) -> Answer:
    """The public answer; without a reading, of no statements, it abstains."""
    confidence = None if reading is None else 1 - reading.forms["none"]
    reading = _NO_READING if reading is None else reading
    relevance = reading.relevance
    shown, short, quotes = _shown(question, found, reading)
    abstained = reading.forms["none"] > NONE or shown is None
    quoted = {quote.evidence for quote in quotes}
    order = [
        index
        for index in _descending(relevance)
        # What holds no longer is evidence where it is needed.
        if relevance[index] > 1 / 2
        or found.told[index].valid_until is None
        or found.told[index].id in quoted
    ]
    return Answer(
        question=question,
        kind="none" if abstained else _KINDS[reading.form],
        answer=None if abstained else shown,
        short=None if abstained else short,
        quotes=() if abstained else quotes,
        confidence=confidence,
        abstained=abstained,
        contradiction=not abstained and reading.form == "conflict",
        candidates=_candidates(found, reading),
        evidence=tuple(
            evidence_of(found.slots[one.id], relevance[index], 2 if one.id in found.second else 1)
            for index in order[:top_k]
            for one in (found.told[index],)
        ),
        hops=_hops(found, attended(reading), top_k),
        model="statements",
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def with_contradiction(found: FoundStatements, reading: StatementReading) -> StatementReading:
    """A reading whose answer is contradicted by another statement that was told, as a conflict.

    The write controller has noted which statements can't both hold; both must still hold. What one
    statement of one clause says contradicts nothing, nor do statements about different things.
    """
    needed = [found.told[index] for index in _needed(reading)]
    needed = [one for one in needed if one.valid_until is None]
    apart = all(about_other_things(new, one) for one, new in combinations(needed, 2))
    joint = len(needed) == 1 and _JOINT.search(needed[0].text) is not None
    if reading.form == "conflict" and needed and apart and not joint:
        reading = reading._replace(forms={**reading.forms, "conflict": 0.0})
    if reading.form != "value" or not reading.pieces:
        return reading
    best = found.told[reading.pieces[0].statement]
    sides = {
        index
        for index, one in enumerate(found.told)
        if one.valid_until is None
        and best.valid_until is None
        and (_contradicts(one, best) or _contradicts(best, one))
    }
    if not sides:
        return reading
    sides.add(reading.pieces[0].statement)
    none = reading.forms["none"]
    return reading._replace(
        forms={**dict.fromkeys(FORMS, 0.0), "none": none, "conflict": 1 - none},
        relevance=tuple(float(index in sides) for index in range(len(found.told))),
    )


def _contradicts(one: Told, other: Told) -> bool:
    return any(by == one.id and change == "contradict" for by, change, _ in other.changes)


def attended(reading: StatementReading) -> list[float]:
    """How much the answer attends to each statement: weights that sum to one."""
    total = sum(reading.relevance)
    return [share / total for share in reading.relevance]


def _shown(
    question: str, found: FoundStatements, reading: StatementReading
) -> tuple[str | None, str | None, tuple[Quote, ...]]:
    """What a person reads, the short answer, and the pieces that they are made of."""
    form, relevance = reading.form, reading.relevance

    def quote(piece: Piece) -> Quote:
        slot = found.slots[found.told[piece.statement].id]
        return quote_at(slot, piece.start, piece.end, relevance[piece.statement])

    if form == "list" and reading.items:
        items = list({_text(found, piece).casefold(): piece for piece in reading.items}.values())
        quotes = tuple(map(quote, items))
        return ", ".join(one.text for one in quotes), None, quotes
    if form in ("value", "list"):
        if not reading.pieces:
            return None, None, ()
        best = reading.pieces[0]
        own = found.told[best.statement].text
        whole = quote(_whole(found, best.statement))
        said_on = local_time(found.told[best.statement].told).date()
        day = day_said(question, own, best.start, best.end, said_on)
        if best.start == best.end:
            day = str(one_day(said_on))
        if day is not None:
            return f"{day}. {own}", day, (whole,)
        return own, _text(found, best), (whole,)
    quotes = tuple(quote(_whole(found, index)) for index in _needed(reading))
    texts = "\n".join(one.text for one in quotes)
    if form == "conflict":
        return f"{ASKED_BACK}\n{texts}", None, quotes
    short = str(reading.number) if form == "count" else form
    return f"{short.capitalize()}. {texts}", short, quotes


def _needed(reading: StatementReading) -> list[int]:
    """Indices of the statements that an answer needs, in their order; of a conflict both sides.

    One statement may hold both: "Tom says at 8, Ida says at 9".
    """
    least = _OTHER_SIDE if reading.form == "conflict" else 1 / 2
    order = _descending(reading.relevance)
    needed = [one for one in order[1:_MAX_SHOWN] if reading.relevance[one] > least]
    return sorted([order[0], *needed])


def _descending(weights: Sequence[float]) -> list[int]:
    """Indices of weights, the largest first."""
    order: list[int] = np.argsort(-np.array(weights), kind="stable").tolist()
    return order


def _whole(found: FoundStatements, index: int, weight: float = 1.0) -> Piece:
    """All of a statement."""
    return Piece(index, 0, len(found.told[index].text), weight)


def _text(found: FoundStatements, piece: Piece) -> str:
    return found.told[piece.statement].text[piece.start : piece.end]


def quote_at(slot: Slot | Evidence, start: int, end: int, weight: float) -> Quote:
    """A piece of a slot as a quotation."""
    return Quote(
        evidence=slot.id,
        source=slot.source,
        start=slot.start + start,
        end=slot.start + end,
        text=slot.text[start:end],
        weight=weight,
    )


def _candidates(found: FoundStatements, reading: StatementReading) -> tuple[Candidate, ...]:
    """Possible answers, best first."""
    if reading.form in ("yes", "no", "count"):
        text = str(reading.number) if reading.form == "count" else reading.form
        return (Candidate(text=text, score=reading.forms[reading.form]),)
    pieces = reading.items if reading.form == "list" and reading.items else reading.pieces
    if reading.form == "conflict":
        pieces = tuple(_whole(found, one, reading.relevance[one]) for one in _needed(reading))
    return tuple(
        slot_candidate(found.slots[found.told[at].id], start, end, score)
        for at, start, end, score in pieces
    )


def _hops(found: FoundStatements, attended: Sequence[float], top_k: int) -> tuple[Hop, ...]:
    """What the first hop attended to, and what the reader did."""
    return tuple(
        Hop(
            hop=number,
            weights=tuple(
                SlotWeight(
                    id=one.id,
                    source=found.slots[one.id].source,
                    weight=weights[index],
                    title=one.text,
                    via=found.second.get(one.id),
                )
                for index in _descending(weights)[:top_k]
                for one in (found.told[index],)
            ),
        )
        for number, weights in enumerate((found.weights.tolist(), attended), start=1)
    )


_LEFT = 0.5  # Probability from which what is left is the answer; below it there is none.


class Ended(NamedTuple):
    """A statement of which another has ended all or a part."""

    told: Told
    by: Told


def without_ended(
    reading: StatementReading, told: Sequence[Told], ended: Sequence[Ended]
) -> StatementReading:
    """A reading without the pieces that name what holds no longer.

    ``ended``: of which a part has ended, or which the question is about and what ended them.
    """

    def holds(piece: Piece) -> bool:
        one = told[piece.statement]
        text = one.text[piece.start : piece.end]
        return not any(
            (one.id == pair.by.id and says(pair.told, text))
            or (one.id == pair.told.id and says(pair.by, text))
            for pair in ended
        )

    items, pieces = tuple(filter(holds, reading.items)), tuple(filter(holds, reading.pieces))
    if reading.form == "value" and pieces[:1] != reading.pieces[:1]:
        if pieces and pieces[0].probability >= _LEFT:
            return reading._replace(pieces=pieces)
        # Conditional on any form but "value"
        rest: dict[AnswerForm, float] = {**reading.forms, "value": 0.0}
        total = sum(rest.values()) or 1.0
        forms = {form: share / total for form, share in rest.items()}
        if not items or forms["list"] < _LEFT:
            return reading.of_form("none")._replace(pieces=pieces)
        # What was taken for a value was one item of a list.
        reading = reading._replace(forms=forms)
    elif reading.form != "list" or items == reading.items:
        return reading
    # Of a list of which one item is left, that one is the value.
    return reading._replace(items=items, pieces=items if len(items) == 1 else pieces)
