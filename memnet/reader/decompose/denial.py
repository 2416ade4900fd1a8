"""Denials: answers that some sentence of the evidence says are none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from memnet.reader.decompose.negation import clauses, denies_itself, negated, without_cues
from memnet.reader.passages import RankedSlot
from memnet.storage import Slot
from memnet.text.names import mentions, normalise, stems
from memnet.text.sentences import sentences
from memnet.types import Candidate

_STEM_LETTERS = 4
"""Of words that are compared: "work", "works" and "worked" agree."""
_SHORTEST = 4
"""Letters of an answer from which it may be the beginning of a longer word."""
_THERE = " there "
"""Stands for an answer that an earlier sentence of the same source names."""


class _Denial(NamedTuple):
    """A clause that denies what it says."""

    slot: Slot
    sentence: tuple[int, int]
    """Where its sentence stands in the slot."""
    clause: tuple[int, int]
    """Where it stands itself."""
    text: str
    """The clause, normalised, between spaces."""
    words: frozenset[str]
    """Those of the question's that its sentence or its title holds."""
    predicate: bool
    """Whether the clause holds any of the question's words that is not a name."""
    whole: bool
    """Whether it denies what the question asks about, and not only one answer: its words are the
    question's, and all of them."""


def undenied(
    question: str, found: Iterable[Candidate], passages: Sequence[RankedSlot]
) -> tuple[list[Candidate], float]:
    """Spans but for those that are denied, and their share of the probability of all.

    A span is denied where its own clause is ("Clara no longer works at Siemens"), and where a
    clause elsewhere denies it and its sentence holds at least those of the question's words that
    the span's sentence holds. A question that itself denies something ("Who never sailed?") is not
    looked at.

    Args:
        question: as asked.
        found: spans of the passages.
        passages: what was read.
    """
    found = list(found)
    denials = [] if negated(question) else list(_denials(question, passages))
    if not denials:
        return found, 1.0
    texts = {item.slot.id: (item.slot, sentences(item.slot.text)) for item in passages}
    asked = stems(question, _STEM_LETTERS)
    left = [one for one in found if not _denied(one, asked, texts, denials)]
    total = sum(one.score for one in found)
    return left, sum(one.score for one in left) / total if total else 1.0


def _denials(question: str, passages: Sequence[RankedSlot]) -> Iterator[_Denial]:
    asked = stems(question, _STEM_LETTERS)
    names = stems(" ".join(mentions(question)), _STEM_LETTERS)
    for slot in {item.slot.id: item.slot for item in passages}.values():
        if not negated(slot.text):
            continue
        title = stems(slot.title, _STEM_LETTERS)
        for start, end in sentences(slot.text):
            words = asked & (title | stems(slot.text[start:end], _STEM_LETTERS))
            for clause in clauses(slot.text[start:end], question):
                if clause.denied:
                    place = (start + clause.start, start + clause.end)
                    text = slot.text[slice(*place)]
                    says = stems(without_cues(text), _STEM_LETTERS)
                    whole = bool(says) and says <= asked | title and asked <= says | title
                    predicate = not says.isdisjoint(asked - names)
                    said = f" {normalise(text)} "
                    yield _Denial(slot, (start, end), place, said, words, predicate, whole)


def _denied(
    span: Candidate,
    asked: frozenset[str],
    texts: Mapping[int, tuple[Slot, list[tuple[int, int]]]],
    denials: Sequence[_Denial],
) -> bool:
    """Whether a span is denied.

    Args:
        span: of a slot.
        asked: the first letters of the question's words.
        texts: slots with their sentences, by id.
        denials: in all of them.
    """
    if span.evidence is None or span.start is None or span.end is None or denies_itself(span.text):
        return False
    slot, cut = texts[span.evidence]
    first, last = span.start - slot.start, span.end - slot.start
    answer = f" {normalise(span.text)} "
    said = " ".join(slot.text[start:end] for start, end in cut if start < last and first < end)
    asserted = asked & stems(f"{slot.title} {said}", _STEM_LETTERS)
    for one in denials:
        if one.slot.id == slot.id and _overlap(one.sentence, (first, last)):
            if _overlap(one.clause, (first, last)):
                return True
            continue
        if _THERE in one.text and one.slot.source == slot.source and one.predicate:
            return True
        if (one.whole or _holds(one.text, answer)) and asserted <= one.words:
            return True
    return False


def _holds(text: str, answer: str) -> bool:
    """Whether a text holds an answer, in one number or another: "walnut" in "walnuts"."""
    return answer in text or (len(answer.strip()) >= _SHORTEST and answer.rstrip() in text)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
