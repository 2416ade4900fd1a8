"""Negation in English: the clauses of a text that deny something, and the answers that they deny.

Source: NegEx (Chapman et al. 2001): a cue negates its clause, up to a word or a mark that ends it.
All expressions are linear in the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from memnet.reader.passages import RankedSlot
from memnet.storage import Slot
from memnet.text.english import overlapping, sentences
from memnet.text.names import mentions, normalise, stems
from memnet.types import Candidate

# Cues of what was never true. "Not only", "no fewer than" and "No. 5" deny nothing.
_NEVER = re.compile(
    r"\b(?:not(?! (?:only|just|merely|simply|least|forget|hesitate|fail)\b)|never|cannot|neither"
    r"|nor|none(?! other\b)|nobody|nothing(?! but\b)|nowhere|(?<!\bor )without(?! doubt\b)"
    r"|no(?! (?:fewer|less|more|later|earlier|doubt|longer)\b|[. ]+\d)"
    r"|(?:failed|refused|declined) to|den(?:y|ies|ied))\b|n['’]t\b(?! (?:forget|hesitate|fail)\b)",
    re.IGNORECASE,
)
# Cues of what was true once: they deny the present, not the past.
_NO_LONGER = re.compile(
    r"\b(?:no longer|any ?more|any longer|(?:stop(?:s|ped)?|ceas(?:es?|ed)|quit) [a-z]+ing"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )used to)\b",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    r"\b(?:is|are|am|does|do|has|have|['’]s|now|currently|today)\b", re.IGNORECASE
)
_PAST = re.compile(r"\b(?:did|was|were|had|used to|before|formerly|once)\b", re.IGNORECASE)
# Where a clause ends, and with it the scope of a cue. "No" and "without" negate only what follows
# them.
_CLAUSE_END = re.compile(
    r"[;!?()\[\]—–]|[.,:](?=\s|$)"
    r"|\bno\b(?! longer\b)|\b(?<!\bor )without\b"
    # What is not above a number is up to it.
    r"|\b(?:exceed(?:s|ing)?|above|beyond|before)\b(?= (?:\w+ ){0,2}\d)"
    r"|\band (?=not\b)"
    r"|\bfor (?=(?:\w+ ){0,4}(?:hour|day|week|month|year|decade|centur))"
    r"|\b(?:but|except|than|until|till|because|although|though|while|whereas|if|unless|when"
    r"|where|wherever|who|whom|whose|which|after|since)\b"
    r"|\band (?=(?:he|she|it|they|we|i|is|was|are|were|has|had|will|now|then|also"
    r"|instead|later|\w+ed)\b)",
    re.IGNORECASE,
)

_STEM_LETTERS = 4  # Words are compared by their first letters: "work", "works" and "worked" agree
# Letters of an answer from which it may be the beginning of a longer word: "walnut", "walnuts".
_MIN_PREFIX = 4
# Score, over that of the likeliest, from which a span speaks for what its sentence does not deny
_LEAST_KEPT = 0.2
_COREFERENT = " there "  # Stands for an answer that an earlier sentence of the same source names


class Clause(NamedTuple):
    """A clause of a text."""

    start: int
    end: int
    denied: bool


class _Denial(NamedTuple):
    slot: Slot
    sentence: tuple[int, int]  # Span of its sentence in the slot
    clause: tuple[int, int]  # Its own span
    text: str  # The clause, normalised, between spaces
    shared: frozenset[str]  # Stems of the question that its sentence or its title contains
    predicate: bool  # Whether the clause shares a stem with the question that is of no name
    # Whether it denies what the question asks about, and not only one answer: it has all of the
    # question's stems and no others
    whole: bool


def negated(text: str) -> bool:
    """Whether anything in a text is denied."""
    return _NEVER.search(text) is not None or _NO_LONGER.search(text) is not None


def clauses(text: str, question: str = "") -> list[Clause]:
    """The clauses of a text, in order.

    Where the question asks about the past, what is no longer true is not denied.
    """
    if not negated(text):
        return [Clause(0, len(text), denied=False)]
    past = _PAST.search(question) is not None and not _PRESENT.search(question)
    found: list[Clause] = []
    for start, end in _spans(text):
        clause = text[start:end]
        denied = _NEVER.search(clause) or (not past and _NO_LONGER.search(clause))
        found.append(Clause(start, end, denied=bool(denied)))
    return found


def without_denied(text: str) -> str:
    """A text without its denied clauses."""
    return " ".join(text[one.start : one.end] for one in clauses(text) if not one.denied)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for start, end in sentences(text):
        for match in _CLAUSE_END.finditer(text, start, end):
            if match.start() > start:
                yield start, match.start()
                start = match.start()
        yield start, end


def drop_denied(
    question: str, candidates: Sequence[Candidate], passages: Sequence[RankedSlot]
) -> tuple[list[Candidate], float]:
    """Spans that are not denied, and their share of the probability of all but some.

    What is denied in the sentence of one that is not speaks for that one, wherever else it is said:
    "Not Ann but Bo".

    A span is denied where its own clause is ("Clara no longer works at Siemens"), and where a
    clause elsewhere denies it and its sentence shares at least those stems with the question that
    the span's sentence shares. A question with a negation ("Who never sailed?") drops nothing.
    """
    items = {item.slot.id: item for item in passages}
    denials = [] if negated(question) else list(_denials(question, items.values()))
    if not denials:
        return list(candidates), 1.0
    asked = stems(question, _STEM_LETTERS)

    @cache  # many spans stand in one sentence
    def shared_with(context: str) -> frozenset[str]:
        return asked & stems(context, _STEM_LETTERS)

    by = [_denial_of(one, shared_with, items, denials) for one in candidates]
    kept = [one for one, denial in zip(candidates, by, strict=True) if denial is None]
    best = max((one.score for one in candidates), default=0.0)
    likely = (one for one in kept if one.score >= _LEAST_KEPT * best)
    said = {place for one in likely for place in _places(one, items)}
    total = sum(
        one.score
        for one, denial in zip(candidates, by, strict=True)
        if denial is None
        or (said.isdisjoint(_places(one, items)) and (denial.slot.id, *denial.sentence) not in said)
    )
    return kept, sum(one.score for one in kept) / total if total else 1.0


def _places(span: Candidate, items: Mapping[int, RankedSlot]) -> list[tuple[int, int, int]]:
    """The sentences that a span stands in: slot, start and end."""
    if span.evidence is None or span.start is None or span.end is None:
        return []
    item = items[span.evidence]
    start, end = span.start - item.slot.start, span.end - item.slot.start
    return [(span.evidence, *one) for one in overlapping(item.sentence_spans, start, end)]


def _denials(question: str, items: Iterable[RankedSlot]) -> Iterator[_Denial]:
    asked = stems(question, _STEM_LETTERS)
    names = stems(" ".join(mentions(question)), _STEM_LETTERS)
    for item in items:
        slot = item.slot
        if not negated(slot.text):
            continue
        title = stems(slot.title, _STEM_LETTERS)
        for start, end in item.sentence_spans:
            sentence = slot.text[start:end]
            shared = asked & (title | stems(sentence, _STEM_LETTERS))
            for clause in clauses(sentence, question):
                if clause.denied:
                    text = sentence[clause.start : clause.end]
                    content = stems(_NO_LONGER.sub(" ", _NEVER.sub(" ", text)), _STEM_LETTERS)
                    yield _Denial(
                        slot=slot,
                        sentence=(start, end),
                        clause=(start + clause.start, start + clause.end),
                        text=f" {normalise(text)} ",
                        shared=shared,
                        predicate=not content.isdisjoint(asked - names),
                        whole=bool(content)
                        and content <= asked | title
                        and asked <= content | title,
                    )


def _denial_of(
    span: Candidate,
    shared_with: Callable[[str], frozenset[str]],
    items: Mapping[int, RankedSlot],
    denials: Sequence[_Denial],
) -> _Denial | None:
    """What denies a span, if anything; ``shared_with`` gives a text's stems of the question."""
    if span.evidence is None or span.start is None or span.end is None:
        return None
    if _NEVER.search(span.text):  # "Nobody", or "access is denied": it says itself what it denies
        return None
    item = items[span.evidence]
    slot, start, end = item.slot, span.start - item.slot.start, span.end - item.slot.start
    inside = overlapping(item.sentence_spans, start, end)
    context = " ".join([slot.title, *(slot.text[first:last] for first, last in inside)])
    shared = shared_with(context)
    answer = f" {normalise(span.text)} "
    for one in denials:
        if one.slot.id == slot.id and overlapping([one.sentence], start, end):
            if overlapping([one.clause], start, end):
                return one
            continue
        if _COREFERENT in one.text and one.slot.source == slot.source and one.predicate:
            return one
        if (one.whole or _contains(one.text, answer)) and shared <= one.shared:
            return one
    return None


def _contains(text: str, answer: str) -> bool:
    """Whether a text contains an answer, in singular or plural."""
    return answer in text or (len(answer.strip()) >= _MIN_PREFIX and answer.rstrip() in text)
