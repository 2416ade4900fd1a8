"""Passages as readers see them: slots that hops ranked, and which of them are about a name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from memnet.reader.sequences import is_heading
from memnet.reader.spans import Passage, Reader, Span
from memnet.reader.values import with_borders
from memnet.storage import Slot
from memnet.text.citations import place_in_time, place_of
from memnet.text.english import query_terms, sentences, units
from memnet.text.names import normalise, title_symbols, without_brackets
from memnet.types import Candidate, Copy, Evidence

# Gives by source and namespace the passages, in their order: at most so many.
PassagesOf: TypeAlias = Callable[[str, str, int], Sequence[Slot]]


@dataclass(frozen=True)
class RankedSlot:
    """A slot that the hops of one question ranked."""

    slot: Slot
    score: float  # The controller's score
    similarity: float  # Cosine of the slot's key and the question
    attention: float  # Weight of the slot in the attention of the hop that ranked it, 0..1
    hop: int  # The first hop, counted from 1, that ranked the slot as evidence
    copies: tuple[Slot, ...] = ()  # Passages of other sources that say the same
    contents: tuple[tuple[int, int], ...] = ()  # Spans of its text that only lead elsewhere

    @property
    def source(self) -> tuple[str, str]:
        """Id and namespace of its source."""
        return self.slot.source, self.slot.namespace

    @property
    def passage(self) -> Passage:
        """The slot as input of a reader."""
        return Passage(self.slot.title, self.slot.text)

    def leads_elsewhere(self, start: int) -> bool:
        """Whether at a character of its text an entry of contents starts, or a heading that asks.

        What follows such a heading answers it.
        """
        return any(first <= start < last for first, last in (*self.contents, *self.asking))

    @cached_property
    def asking(self) -> tuple[tuple[int, int], ...]:
        """The spans of headings that ask, each with a unit after it."""
        text = self.slot.text
        found = units(text)[:-1] if "?" in text else ()
        return tuple(
            (one.start, one.end)
            for one in found
            if text[one.end - 1] == "?" and is_heading(text, one)
        )

    @cached_property
    def normalised_text(self) -> str:
        """The slot's text, normalised as names are."""
        return normalise(self.slot.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its normalised text."""
        return frozenset(self.normalised_text.split())

    @cached_property
    def title_words(self) -> frozenset[str]:
        """The normalised words of its title, and of a first line that is not a sentence."""
        line, _, below = self.slot.text.partition("\n")
        heading = "" if line.endswith(".") or not below else line
        return frozenset(normalise(f"{self.slot.title} {heading}").split())

    @cached_property
    def normalised_units(self) -> frozenset[str]:
        """The units of the slot's text but its headings, normalised as names are."""
        text = self.slot.text
        own = (text[one.start : one.end] for one in units(text) if not is_heading(text, one))
        return frozenset(filter(None, map(normalise, own)))

    @cached_property
    def sentence_spans(self) -> list[tuple[int, int]]:
        """Character spans of the sentences of the slot's text."""
        return sentences(self.slot.text)

    @cached_property
    def subject(self) -> str:
        """What the slot is about: its title without brackets."""
        return without_brackets(self.slot.title)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The normalised names of its subject, with and without brackets."""
        return title_symbols(self.slot.title)


_MAX_COMPARED = 60  # Slots, the best ones, that are compared with each other
_SHARED = 2 / 3  # of the words of a copy, without headings, that the longer one holds
_ALIKE = 0.6  # of the words of the longer of two passages that say the same of different things


def merge_copies(question: str, ranked: Sequence[RankedSlot]) -> list[RankedSlot]:
    """Slots of which no two of different sources say the same, in their order.

    A passage whose sentences all stand in another one is a copy of it; what is left is the longer
    one, with the attention of the better. Messages and statements are none: who says them, and
    when, is a part of what they say. Passages whose titles tell them apart by a word of the
    question stay apart, too; where only one of them has one, the other is about something else:
    it comes last, without attention.
    """
    asked = frozenset(map(normalise, query_terms(question)))
    merged: list[RankedSlot] = []
    of_others: list[RankedSlot] = []
    first = ranked[:_MAX_COMPARED]
    for item in first:
        slot = item.slot
        may_be_copy = slot.kind == "passage" and not slot.has_usage and slot.told is None
        if may_be_copy and any(_is_told_from(asked, one, item) for one in first):
            of_others.append(item)
            continue
        alike = (n for n, one in enumerate(merged) if _say_the_same(asked, one, item))
        same = next(alike, None) if may_be_copy else None
        if same is None:
            merged.append(item)
            continue
        better = merged[same]
        if item.normalised_units <= better.normalised_units:
            merged[same] = replace(better, copies=(*better.copies, slot))
        else:
            merged[same] = replace(
                item, score=better.score, attention=better.attention, hop=better.hop,
                similarity=max(item.similarity, better.similarity),
                copies=(better.slot, *better.copies),
            )  # fmt: skip
    lowest = min((item.score for item in merged), default=0.0)
    last = [replace(one, attention=0.0, score=min(one.score, lowest)) for one in of_others]
    return [*merged, *last, *ranked[_MAX_COMPARED:]]


def _say_the_same(asked: frozenset[str], one: RankedSlot, other: RankedSlot) -> bool:
    """Whether one of two passages of different sources holds all that the other says."""
    if one.slot.source == other.slot.source:
        return False
    # Words first: the units of most passages are not looked for.
    if len(one.words & other.words) < _SHARED * min(len(one.words), len(other.words)):
        return False
    first, second = one.normalised_units, other.normalised_units
    if not (first and second and (first <= second or second <= first)):
        return False
    titles = [asked & set(normalise(item.slot.title).split()) for item in (one, other)]
    return not (titles[0] - titles[1] - other.words or titles[1] - titles[0] - one.words)


def _is_told_from(asked: frozenset[str], one: RankedSlot, other: RankedSlot) -> bool:
    """Whether a question names what one passage is about, and another says as much of another.

    Only the titles of both tell "The room has a screen." of one room from that of the next.
    """
    titles = [asked & item.title_words for item in (one, other)]
    if one is other or not (titles[1] <= titles[0] and titles[0] - titles[1] - other.words):
        return False
    own, others = (item.words - item.title_words for item in (one, other))
    return len(own & others) >= _ALIKE * max(len(own), len(others))


def may_hold_rows(text: str) -> bool:
    """Whether a text may hold rows of a table, or labelled cells."""
    return " | " in text or ("; " in text and ": " in text)


def evidence_of(
    slot: Slot,
    score: float,
    hop: int,
    answer: Candidate | None = None,
    copies: Sequence[Slot] = (),
) -> Evidence:
    """A slot as public evidence; where the answer was read in it, its place is the answer's."""
    start, end = 0, len(slot.text)
    if answer is not None and answer.evidence == slot.id and answer.start is not None:
        start, end = answer.start - slot.start, (answer.end or answer.start) - slot.start
    return Evidence(
        id=slot.id,
        kind="passage" if slot.kind == "passage" else "fact",
        source=slot.source,
        title=slot.title,
        start=slot.start,
        end=slot.end,
        text=slot.text,
        score=score,
        hop=hop,
        metadata=dict(slot.metadata),
        place=place_of(slot.places, start, end)
        if slot.told is None or slot.places  # a statement that a message made has those of it
        else place_in_time(slot.told, slot.valid_until),
        copies=tuple(
            Copy(
                source=copy.source,
                start=copy.start,
                end=copy.end,
                place=place_of(copy.places, 0, len(copy.text)),
            )
            for copy in copies
        ),
    )


def span_candidate(span: Span, passages: Sequence[RankedSlot], weight: float = 1.0) -> Candidate:
    """A span that was read in some passages as a candidate, placed in its source."""
    slot = passages[span.passage].slot
    start, end = with_borders(slot.text, span.start, span.end)
    return slot_candidate(slot, start, end, weight * span.probability)


def slot_candidate(slot: Slot | Evidence, start: int, end: int, score: float) -> Candidate:
    """A piece of the text of a slot as a candidate, placed in its source."""
    first, last = slot.start + start, slot.start + end
    return Candidate(
        text=slot.text[start:end], score=score, evidence=slot.id, start=first, end=last
    )


def read_best(
    question: str, passages: Sequence[RankedSlot], reader: Reader, prefer_names: bool = False
) -> Candidate | None:
    """The likeliest span of some passages, scored by its probability; None if there is none.

    With ``prefer_names``, the likeliest that starts with a capital letter or a digit, if one does.
    """
    spans = reader.read(question, [item.passage for item in passages]).spans
    candidates = [span_candidate(span, passages) for span in spans]
    named = [one for one in candidates if prefer_names and not one.text[:1].islower()]
    return next(iter(named or candidates), None)


def passages_titled(
    name: str, passages: Sequence[RankedSlot], apart: int | None = None
) -> list[int]:
    """The passages about a name, best first.

    Their title is the name, brackets left out, or else one of the two, each of several words, holds
    all words of the other: "Cy Dell" and "Cy Albert Dell". Passages of the document that the one at
    index ``apart`` is of don't count.
    """
    wanted = normalise(name)
    excluded = None if apart is None else passages[apart].slot.source
    others = [(i, item) for i, item in enumerate(passages) if item.slot.source != excluded]
    titled = [i for i, item in others if wanted in item.names]
    if titled or " " not in wanted:
        return titled
    subjects = [(i, normalise(item.subject)) for i, item in others]
    return [i for i, subject in subjects if " " in subject and names_match(wanted, subject)]


def names_match(name: str, other: str) -> bool:
    """Whether one of two normalised names holds all words of the other."""
    words, others = set(name.split()), set(other.split())
    return bool(words and others) and (words <= others or others <= words)


def windows_of_source(index: int, passages: Sequence[RankedSlot]) -> list[RankedSlot]:
    """The passages of the same document as the one at an index, that one first."""
    source = passages[index].slot.source
    others = [item for item in passages if item.slot.source == source]
    return [passages[index], *(item for item in others if item is not passages[index])]


def passages_named(question: str, passages: Sequence[RankedSlot]) -> list[int]:
    """Passages about what the question names: the longest names, the best passage for each."""
    asked = f" {normalise(question)} "
    named = [(name, index) for index, item in enumerate(passages) for name in item.names]
    chosen: list[int] = []
    for name, index in sorted(named, key=lambda pair: (-len(pair[0]), pair[1])):
        if f" {name} " in asked and index not in chosen:
            asked = asked.replace(f" {name} ", " | ", 1)
            chosen.append(index)
    return chosen
