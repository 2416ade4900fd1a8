"""The last hop: attention over the units of what was found, and the quotation that is shown.

The units of the passages (sentences, items, rows, lines) are slots of a memory of their own. The
reader scores them, the attention of the hops before is their prior, and what is attended to is
quoted word for word. The kind of the answer is the gate over ways of reading: a value is shown in
its unit, a list with its items, the rest as the units that belong together.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from memnet.reader.contrasts import NamedUnits
from memnet.reader.passages import RankedSlot
from memnet.reader.sequences import MAX_ITEMS, introduces, is_heading, marker_of, sequence_at
from memnet.reader.spans import Reading, ReadUnit, ReadWord
from memnet.storage import Slot
from memnet.text.english import LABELLED, Unit, units
from memnet.text.names import normalise, stems
from memnet.types import AnswerKind, Candidate

_MAX_CHARACTERS = {"list": 600}
_MAX_OTHERWISE = 300
_MAX_SEQUENCE = 700  # Characters of a list or procedure that is shown from the first to the last
_JOINED = -4.0  # Logit from which a unit is quoted with the one beside it
# Logit from which the unit beside a value is quoted with it, but for rows; a value is looked for in
# its sentence.
_JOINED_VALUE = -2.0
# Logit from which an item is quoted with the one beside it: a list is asked for as a whole.
_JOINED_ITEM = -9.0
_MAX_ITEM = 110  # Characters of the items of a list, in the mean, that is shown as a whole
# Logit from which a unit is quoted as a further piece, in a list or steps, or that begins something
# else, as a row or a labelled line does.
_APART = 0.0
# Share of the most attention to a unit from which the next one is shown as well.
_CLOSE = 0.5
_CLOSE_IN_LIST = 0.3  # Its parts may stand in several passages
_FLOOR = 1e-9
# Logits by which a unit counts less that is about another code than the question's, or an entry of
# contents.
_OTHER = 8.0
# Logits by which what is a step counts more, times the probability that steps are asked for.
_STEP = 3.0
_MANY = ("list", "steps")
MAIL_HEAD = re.compile(r"From: [^\n;<]{1,80}[^\n]{0,400}; Date: \d")
_MAX_CANDIDATES = 3


# Gives the passage of the same source after a slot (1), or before it (-1); None without one.
Beside = Callable[[Slot, int], Slot | None]


class Quotation(NamedTuple):
    """A piece of a passage that is shown."""

    item: RankedSlot
    start: int  # Its first character in the slot's text
    end: int
    weight: float  # Attention to its units, 0..1
    words: tuple[ReadWord, ...] = ()  # Those that speak most for them

    @property
    def text(self) -> str:
        """The piece, word for word."""
        return self.item.slot.text[self.start : self.end]

    def overlaps(self, other: "Quotation") -> bool:
        """Whether both have a character in common."""
        same = self.item.slot.id == other.item.slot.id
        return same and self.start < other.end and other.start < self.end


def attend_units(
    reading: Reading, passages: Sequence[RankedSlot], named: NamedUnits | None = None
) -> list[ReadUnit]:
    """Attention over all units, in their order, and over "no answer", whose logit is 0.

    Where units are ``named`` by codes of the question, others have ``_OTHER`` less, and so have
    entries of contents. A heading that asks gives what it has to the unit that follows. Where
    steps are asked for, what is one in the passage that the reader points to has more than what is
    said beside them.

    Source: Miller et al. 2016, equation 2 (key addressing), with the log of the attention to the
    passage added to the score.
    """
    highest = max((item.attention for item in passages), default=0.0) or 1.0
    own = [
        one.logit - _OTHER
        if passages[one.passage].leads_elsewhere(one.unit.start)
        or (named is not None and not named.hold(one.passage, one.unit.start, one.unit.end))
        else one.logit
        for one in reading.units
    ]
    for n, (asks, one) in enumerate(pairwise(reading.units)):
        asking = (asks.unit.start, asks.unit.end) in passages[asks.passage].asking
        if asking and asks.passage == one.passage:
            both = float(np.logaddexp(asks.logit, own[n + 1]))
            own[n], own[n + 1] = _JOINED_ITEM - _OTHER, both
    logits = [
        logit + math.log(max(passages[one.passage].attention / highest, _FLOOR))
        for one, logit in zip(reading.units, own, strict=True)
    ]
    if logits:
        best = reading.units[max(range(len(logits)), key=logits.__getitem__)].passage
        text, step = passages[best].slot.text, _STEP * reading.kinds.get("steps", 0.0)
        for n, one in enumerate(reading.units):
            logits[n] += step * (one.passage == best and _is_step(text, one.unit))
    peak = max((0.0, *logits))
    scores = [math.exp(logit - peak) for logit in logits]
    total = math.exp(-peak) + sum(scores)
    return [
        one._replace(logit=logit, weight=score / total)
        for one, logit, score in zip(reading.units, own, scores, strict=True)
    ]


def _is_step(text: str, unit: Unit) -> bool:
    marker = marker_of(text, unit)
    return marker is not None and marker.number is not None


def most_attended(
    attended: Sequence[ReadUnit], passages: Sequence[RankedSlot], count: int
) -> tuple[Quotation, ...]:
    """The ``count`` units with most attention, best first."""
    best = sorted(attended, key=lambda one: -one.weight)[:count]
    return tuple(_quotation(one, passages) for one in best)


def relevance_of(attended: Sequence[ReadUnit], passages: Sequence[RankedSlot]) -> dict[int, float]:
    """The highest logit of a unit of each passage that has some, by the ids of their slots."""
    found: dict[int, float] = {}
    for one in attended:
        slot = passages[one.passage].slot.id
        found[slot] = max(one.logit, found.get(slot, one.logit))
    return found


def _quotation(one: ReadUnit, passages: Sequence[RankedSlot]) -> Quotation:
    return Quotation(passages[one.passage], one.unit.start, one.unit.end, one.weight, one.words)


def quote(
    kind: AnswerKind, attended: Sequence[ReadUnit], passages: Sequence[RankedSlot]
) -> tuple[Quotation, ...]:
    """The pieces of one passage to show for an answer without a short form, in their order.

    Who wrote a mail, and when, says nothing of what it says.
    """
    texts = [item.slot.text for item in passages]
    said = [one for one in attended if not MAIL_HEAD.match(texts[one.passage], one.unit.start)]
    own, anchor = _most_attended_passage(said or attended)
    return _pieces(kind, own, anchor, passages[own[anchor].passage]) if own else ()


def quote_candidates(
    kind: AnswerKind, attended: Sequence[ReadUnit], passages: Sequence[RankedSlot]
) -> tuple[Candidate, ...]:
    """The likeliest quotations, each from units that those before it leave, by their best unit."""
    found: list[Candidate] = []
    left = list(attended)
    while left and len(found) < _MAX_CANDIDATES:
        pieces = quote(kind, left, passages)
        found.append(candidate_of(pieces, max(one.weight for one in left)))
        left = [one for one in left if not any(map(_quotation(one, passages).overlaps, pieces))]
    return tuple(found)


def candidate_of(pieces: Sequence[Quotation], score: float) -> Candidate:
    """What is quoted of a passage as a candidate, with its offsets where it is one piece."""
    slot = pieces[0].item.slot
    return Candidate(
        text="\n".join(piece.text for piece in pieces),
        score=score,
        evidence=slot.id,
        start=slot.start + pieces[0].start if len(pieces) == 1 else None,
        end=slot.start + pieces[0].end if len(pieces) == 1 else None,
    )


def may_be_steps(attended: Sequence[ReadUnit], passages: Sequence[RankedSlot]) -> bool:
    """Whether the most attended unit stands in a list or procedure."""
    own, anchor = _most_attended_passage(attended)
    text = passages[own[anchor].passage].slot.text
    return _sequence("steps", own, anchor, text) is not None


def may_be_list(attended: Sequence[ReadUnit]) -> bool:
    """Whether a list would show more than sentences: an item, a row or a line."""
    own, anchor = _most_attended_passage(attended)
    chosen = _chosen("list", own, anchor, "") if own else ()
    return any(own[n].unit.kind != "sentence" for n in chosen)


def _most_attended_passage(attended: Sequence[ReadUnit]) -> tuple[list[ReadUnit], int]:
    """The units of the passage that holds the most attended one, and the index of that."""
    if not attended:
        return [], 0
    anchor = max(attended, key=lambda one: one.weight)
    own = [one for one in attended if one.passage == anchor.passage]
    return own, own.index(anchor)


def with_close_unit(
    question: str,
    kind: AnswerKind,
    quotes: tuple[Quotation, ...],
    attended: Sequence[Quotation],
) -> tuple[Quotation, ...]:
    """What is shown, with one more unit of any passage that has almost as much attention.

    It says as many words of the question as what is shown: with fewer it is about something else.
    Nothing is added to steps or a list with marks, which are whole, nor what says the same.
    """
    marked = any(unit.kind == "item" for one in quotes for unit in units(one.text))
    if kind == "steps" or (kind == "list" and marked):
        return quotes
    said = f" {normalise(' '.join(one.text for one in quotes))} "
    asked = stems(question)
    least = len(asked & stems(said))
    share = _CLOSE_IN_LIST if kind == "list" else _CLOSE
    limit = _MAX_CHARACTERS.get(kind, _MAX_OTHERWISE) - sum(len(one.text) + 1 for one in quotes)
    for one in attended:
        beside = not any(map(one.overlaps, quotes)) and f" {normalise(one.text)} " not in said
        alike = len(asked & stems(one.text)) >= least
        if beside and alike and one.weight >= share * attended[0].weight and len(one.text) <= limit:
            return (*quotes, one)
    return quotes


def kind_shown(kind: AnswerKind, quotes: Sequence[Quotation]) -> AnswerKind:
    """The kind by what is shown: steps that are lines of code, or a single sentence."""
    if kind != "steps" or not quotes:
        return kind
    kinds = [
        unit.kind
        for one in quotes
        for unit in units(one.item.slot.text)
        if unit.start < one.end and one.start < unit.end
    ]
    if set(kinds) == {"line"}:
        return "code"
    return "steps" if "item" in kinds or len(kinds) > 1 else "statement"


def quote_around(
    item: RankedSlot, start: int, end: int, attended: Sequence[ReadUnit] = ()
) -> tuple[Quotation, ...]:
    """The piece of a passage to show for a span of its text.

    ``attended`` are the passage's units in the attention of the last hop, if it read there.
    """
    own = attended or [ReadUnit(0, unit, 0.0) for unit in units(item.slot.text)]
    inside = [n for n, one in enumerate(own) if one.unit.start < end and start < one.unit.end]
    if not inside:
        return (Quotation(item, start, end, 0.0),)
    first, last = own[inside[0]].unit.start, own[inside[-1]].unit.end
    if last - first > _MAX_OTHERWISE or len(inside) > 1 or not attended:
        unit, text = own[inside[0]].unit, item.slot.text
        first, last = _cut(text, (first, last), (start, end), _MAX_OTHERWISE)
        shown = Quotation(item, first, last, sum(own[n].weight for n in inside))
        # The first cell of a row that is cut says what it is about.
        name = text.find("; ", unit.start, first) if unit.kind == "row" else -1
        return (Quotation(item, unit.start, name, 0.0), shown) if name > unit.start else (shown,)
    return _pieces("value", own, inside[0], item)


def _pieces(
    kind: AnswerKind, own: Sequence[ReadUnit], anchor: int, item: RankedSlot
) -> tuple[Quotation, ...]:
    """What is shown of the units of one passage, from the one at an index on."""
    run = _sequence(kind, own, anchor, item.slot.text) if kind in _MANY else None
    if run is not None:
        return (_joined(own[run[0] : run[1] + 1], item),)
    limit = _MAX_CHARACTERS.get(kind, _MAX_OTHERWISE)
    start, end = own[anchor].unit.start, own[anchor].unit.end
    if end - start > limit:
        start, end = _cut(item.slot.text, (start, end), (start, start), limit)
        return (Quotation(item, start, end, own[anchor].weight),)
    chosen = _chosen(kind, own, anchor, item.slot.text)
    headings = {
        n
        for n in chosen
        if is_heading(item.slot.text, own[n].unit)
        and not _are_labelled(item.slot.text, *(one.unit for one in own[n : n + 2]))
    }
    if anchor in headings and anchor + 1 < len(own):  # what stands under it answers
        more = sorted({*chosen, anchor + 1})
        chosen = more if _length(own, more) <= limit else chosen
    runs = [_without_last(run, headings - {anchor}) for run in _runs(chosen)]
    return tuple(_joined([own[n] for n in run], item) for run in runs if run)


def _without_last(run: Sequence[int], headings: Collection[int]) -> Sequence[int]:
    """Sorted numbers up to the last that is not a heading: one that heads nothing is not shown."""
    kept = [n for n in run if n not in headings]
    return [n for n in run if kept and n <= kept[-1]]


def _joined(some: Sequence[ReadUnit], item: RankedSlot) -> Quotation:
    """Units that follow each other as one piece."""
    return Quotation(
        item,
        some[0].unit.start,
        some[-1].unit.end,
        sum(one.weight for one in some),
        tuple(word for one in some for word in one.words),
    )


def _sequence(
    kind: AnswerKind, own: Sequence[ReadUnit], anchor: int, text: str
) -> tuple[int, int] | None:
    """First and last index of the list or procedure around a unit, as much as may be shown.

    Long items say different things: of these only numbered steps are shown together. Of 102
    questions about documents that ask how, 42 are answered right in place of 35.
    """
    found = sequence_at(text, [one.unit for one in own], anchor)
    if found is None:
        return None
    first, last = found
    size = own[last].unit.end - own[first].unit.start
    marker = marker_of(text, own[anchor].unit)
    bullet = marker is not None and marker.number is None
    if (kind == "list" or bullet) and size > _MAX_ITEM * (last + 1 - first):
        return None
    while own[last].unit.end - own[first].unit.start > _MAX_SEQUENCE and first < last:
        first, last = (first + 1, last) if anchor - first > last - anchor else (first, last - 1)
    return first, last


def with_rest(quotes: tuple[Quotation, ...], beside: Beside) -> tuple[Quotation, ...]:
    """What is shown of a list, with the items of it that stand in slots before and after."""
    if not quotes:
        return ()
    before = list(_rest(quotes[0], beside, -1, quotes))
    after = list(_rest(quotes[-1], beside, 1, (*before, *quotes)))
    return (*reversed(before), *quotes, *after)


def _rest(
    piece: Quotation, beside: Beside, step: int, shown: Sequence[Quotation]
) -> Iterator[Quotation]:
    """The items of a list in the slots that come next in one direction."""
    characters = sum(len(one.text) for one in shown)
    items = sum(map(_count_items, shown))
    while True:
        slot = piece.item.slot
        edge = units(slot.text)[-1 if step > 0 else 0]
        if not edge.start < piece.end or not piece.start < edge.end:
            return
        other = beside(slot, step)
        if other is None or not _belong(slot, other, step):
            return
        found = units(other.text)
        index = 0 if step > 0 else len(found) - 1
        first, last = sequence_at(other.text, found, index) or (index, index)
        piece = Quotation(replace(piece.item, slot=other), found[first].start, found[last].end, 0.0)
        characters += len(piece.text)
        items += _count_items(piece)
        if characters > _MAX_SEQUENCE or items > MAX_ITEMS:
            return
        yield piece


def _count_items(piece: Quotation) -> int:
    text = piece.text
    return sum(marker_of(text, unit) is not None for unit in units(text))


def _belong(slot: Slot, other: Slot, step: int) -> bool:
    """Whether a list goes on from a slot in the one beside it."""
    earlier, later = (slot, other) if step > 0 else (other, slot)
    last, first = units(earlier.text), units(later.text)
    marker = marker_of(later.text, first[0]) if last and first else None
    if marker is None:
        return False
    # A heading that was pointed to leads to a list; one at the end of what is before need not.
    end = earlier.text[last[-1].end - 1]
    if end == ":" or (step > 0 and introduces(earlier.text, last[-1])):
        return marker.number in (None, 1)
    # Bullets are alike: the later slot repeats what introduces the list in its title.
    follows = any(marker.follows(one) for unit in last if (one := marker_of(earlier.text, unit)))
    return follows and (marker.number is not None or " — " in later.title)


def _chosen(kind: AnswerKind, own: Sequence[ReadUnit], anchor: int, text: str) -> list[int]:
    """Indices of the units of one passage that are shown together, in their order."""
    limit = _MAX_CHARACTERS.get(kind, _MAX_OTHERWISE)
    first = last = anchor
    while True:
        beside = [
            (own[n].logit, n)
            for n, nearest in ((first - 1, first), (last + 1, last))
            if 0 <= n < len(own)
            and own[n].logit
            >= _threshold(kind, text, own[n].unit, own[nearest].unit, own[anchor].unit)
            and own[max(last, n)].unit.end - own[min(first, n)].unit.start <= limit
        ]
        if not beside:
            break
        n = max(beside)[1]
        first, last = min(first, n), max(last, n)
    chosen = list(range(first, last + 1))
    if kind in _MANY:
        for number in sorted(range(len(own)), key=lambda number: -own[number].logit):
            more = sorted({*chosen, number})
            alike = (own[number].unit.kind == "row") == (own[anchor].unit.kind == "row")
            if alike and own[number].logit >= _APART and _length(own, more) <= limit:
                chosen = more
    return chosen


def _length(own: Sequence[ReadUnit], chosen: Sequence[int]) -> int:
    """Characters of what is shown for some units, pieces on lines of their own."""
    spans = [(own[run[0]].unit.start, own[run[-1]].unit.end) for run in _runs(chosen)]
    return sum(end - start + 1 for start, end in spans) - 1


def _threshold(kind: AnswerKind, text: str, unit: Unit, beside: Unit, anchor: Unit) -> float:
    """The logit from which a unit is shown with the one ``beside`` it.

    What stands above a heading is of another section, and so is a list above a paragraph. A line
    such as "Policy number: 7" begins something else, but for a list, and so does a row beside a
    value.
    """
    if unit < beside:
        apart = unit.kind == "item" != beside.kind and "\n\n" in text[unit.end : beside.start]
        if apart or is_heading(text, beside):
            return math.inf
    if kind not in _MANY and _are_labelled(text, max(unit, beside)):
        return _APART
    if kind == "value":
        return _APART if unit.kind == anchor.kind == "row" else _JOINED_VALUE
    if (unit.kind == "row") != (anchor.kind == "row"):
        return _APART  # what stands above or below a table is not part of it
    return _JOINED_ITEM if kind in _MANY and unit.kind in ("item", "row") else _JOINED


def _are_labelled(text: str, *some: Unit) -> bool:
    """Whether each of some units is a line such as "Policy number: 7", and none a heading."""
    return all(LABELLED.match(text, one.start, one.end) for one in some)


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Sorted numbers in runs without a gap."""
    places = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    return [[number for _, number in run] for _, run in places]


def _cut(text: str, whole: tuple[int, int], inside: tuple[int, int], limit: int) -> tuple[int, int]:
    """At most ``limit`` characters of a piece around a part of it, cut between words."""
    if whole[1] - whole[0] <= limit:
        return whole
    start = max(whole[0], min(inside[0] - (limit - (inside[1] - inside[0])) // 2, whole[1] - limit))
    end = min(whole[1], start + limit)
    if start > whole[0]:
        for mark in ("; ", " "):  # Between the cells of a row, else between words
            space = text.find(mark, start, max(start, inside[0]))
            if space >= 0:
                start = space + len(mark)
                break
    if end < whole[1]:
        space = text.rfind(" ", max(start + 1, inside[1]), end)
        end = end if space < 0 else space
    return start, end
