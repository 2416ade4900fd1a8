"""Conversations read in excerpts: the messages that hops found with those beside them, in order.

What somebody writes often says nothing alone: "I'll do it", "yes, and a kitchen", "28 is ok".
Several answers are proposed of an excerpt, and the network for verdicts says of each whether the
excerpt gives it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import log
from typing import NamedTuple

from memnet.attention.arrays import log_odds, probability_of, weighted
from memnet.documents.messages import is_of_another, speaker_of
from memnet.documents.question import Question
from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.passages import RankedSlot, slot_candidate
from memnet.reader.quotes import Quotation
from memnet.reader.spans import Passage, Reader, Reading, answered_by
from memnet.runtime.device import in_background
from memnet.storage import Slot
from memnet.text.names import MESSAGE, SESSION, normalise
from memnet.types import AnswerKind, Candidate

_MOST_CONVERSATIONS = 2  # Of a question, by attention
_MOST_MESSAGES = 2_000  # Of a conversation
_BEFORE, _AFTER = 1, 2  # Messages that are read beside one that was found
_MOST_CHARACTERS = 850  # Of an excerpt: the network has learned from texts of 900
_MOST_SPANS = 3  # That the network for verdicts is asked about
_LONGEST_ALONE = 300  # Characters of a message that is quoted with the one before it
_EPSILON = 1e-4  # The least probability, for its logarithm


class Line(NamedTuple):
    """A message in an excerpt."""

    item: RankedSlot
    speaker: str  # Empty if unknown
    start: int  # Of its text in that of the excerpt
    said: int  # Where in its text what is said starts, after the speaker


class Excerpt(NamedTuple):
    """Messages of one conversation, in their order."""

    lines: tuple[Line, ...]
    text: str  # Each on a line, after its speaker

    def line_at(self, position: int) -> Line:
        """The message that a character of the text is in, or whose speaker stands there."""
        ends = [one.start + len(one.item.slot.text) for one in self.lines]
        return self.lines[min(bisect_right(ends, position), len(ends) - 1)]


class ExcerptSignals(NamedTuple):
    """What speaks for an answer as what an excerpt gives, or the weights of these."""

    bias: float
    stated: float  # Log-odds that the excerpt gives it, by the network for verdicts
    others: float  # The highest of those of other answers
    answers: float  # Log-odds that the excerpt answers at all, by the same network
    read: float  # Log of its probability, by the reader
    answerable: float  # Log-odds that the excerpt answers, by the reader
    speaker: float  # Whether it is who writes, or yes or no
    same: float  # Whether it is what was read in single messages
    other: float  # Whether another answer was read there, and shown
    sure: float  # Confidence in what was read there


class Proposed(NamedTuple):
    """An answer that an excerpt may give."""

    short: str
    kind: AnswerKind
    excerpt: Excerpt
    line: Line
    start: int | None  # Where it stands in the text of its message, if it does
    signals: ExcerptSignals


# By logistic regression on what is proposed for 202 questions about conversations and 102 about
# everyday collections with messages, from which nothing was learned (``benchmarks.fit_excerpts``,
# stopped there). Of the 202 148 have a proposal from 0.25 on, of which 81 are right, and 66 from
# 0.5 on, of which 48 are.
_WEIGHTS = ExcerptSignals(
    bias=-1.048, stated=0.122, others=-0.059, answers=0.003, read=0.168, answerable=0.192,
    speaker=0.301, same=0.579, other=0.056, sure=0.611,
)  # fmt: skip


def read_excerpts(
    question: Question,
    found: Sequence[RankedSlot],
    reader: Reader,
    judge: Reader,
    read: Prediction,
) -> Prediction:
    """What conversations say, as what was read in single messages, or instead of it.

    Args:
        question: any.
        found: passages, best first, some of which are messages.
        reader: of spans.
        judge: the network for verdicts.
        read: what was read in single passages.
    """
    excerpts = excerpts_of(question, found)
    every = proposed(question.text, excerpts, reader, judge, read) if excerpts else []
    likely = [
        (probability_of(weighted(_WEIGHTS, one.signals)), one)
        for one in every
        # "I am afraid of eels" says nothing of the cook.
        if one.start is None
        or not is_of_another(question, one.line.item.slot, one.line.item.slot.text)
    ]
    if not likely:
        return read
    probability, best = max(likely, key=lambda one: one[0])
    own = {line.item.slot.id for one in excerpts for line in one.lines}
    judged = any(one.signals.same for one in every) and read.quotes[0].item.slot.id in own
    if best.signals.same or (not judged and read.probability > probability):
        return read
    return _shown(best, probability)._replace(relevance=read.relevance)


def _shown(best: Proposed, probability: float) -> Prediction:
    """An answer with the message that gives it, after the one that it is said to."""
    lines, own = best.excerpt.lines, best.line
    slot, number = own.item.slot, lines.index(own)
    quoted = [own]
    if own.said and len(slot.text) < _LONGEST_ALONE:  # Each says who writes.
        quoted = [*lines[max(0, number - 1) : number], own]
    candidate = Candidate(text=best.short, score=probability)
    if best.start is not None:
        candidate = slot_candidate(slot, best.start, best.start + len(best.short), probability)
    return Prediction(
        (candidate,),
        (own.item, *(one.item for one in quoted if one is not own)),
        best.kind,
        probability,
        quotes=tuple(Quotation(one.item, 0, len(one.item.slot.text), 0.0) for one in quoted),
        short=best.short,
        told="" if own.said or not own.speaker else f"{own.speaker}: ",
    )


def excerpts_of(question: Question, found: Sequence[RankedSlot]) -> list[Excerpt]:
    """The excerpts of the conversations that messages were found of, by attention."""
    symbols = question.fetched.symbols([item.slot.id for item in found])
    conversations = dict[str, list[RankedSlot]]()
    for item in found:
        keys = symbols[item.slot.id].keys if item.slot.id in symbols else ()
        if MESSAGE in keys:
            own = next((one for one in keys if one.startswith(SESSION)), item.slot.source)
            conversations.setdefault(own, []).append(item)
    best = sorted(conversations.items(), key=lambda own: -max(one.attention for one in own[1]))
    excerpts = (_excerpt(question, *one) for one in best[:_MOST_CONVERSATIONS])
    return [one for one in excerpts if one.lines]


def _excerpt(question: Question, name: str, found: Sequence[RankedSlot]) -> Excerpt:
    """What was found of a conversation, with what stands beside it, as long as there is room."""
    store, slot = question.store, found[0].slot
    if name.startswith(SESSION):
        of_name = store.search_symbolic([name], _MOST_MESSAGES, question.scope)
        messages: Sequence[Slot] = question.fetched.slots(of_name.get(name, []))
    else:
        messages = store.passages_of(slot.source, slot.namespace, _MOST_MESSAGES)
    known = {item.slot.id: item for item in found}
    places = {one.id: place for place, one in enumerate(messages)}
    chosen, used = set[int](), 0
    for item in sorted(found, key=lambda one: -one.attention):
        place = places.get(item.slot.id)
        if place is None:
            continue
        after, before = range(place + 1, place + _AFTER + 1), range(place - _BEFORE, place)
        for near in (place, *after, *before):
            if 0 <= near < len(messages) and near not in chosen:
                length = len(messages[near].text)
                if used + length <= _MOST_CHARACTERS:
                    chosen.add(near)
                    used += length
    lines: list[Line] = []
    parts: list[str] = []
    start = 0
    question.fetched.symbols([messages[place].id for place in chosen])  # At once, for speaker_of
    for place in sorted(chosen):
        one = messages[place]
        speaker = speaker_of(question, one) or ""
        labelled = bool(speaker) and one.text.startswith(f"{speaker}:")
        label = f"{speaker}: " if speaker and not labelled else ""
        item = known.get(one.id) or RankedSlot(one, 0.0, 0.0, 0.0, 1)
        said = len(speaker) + 1 if labelled else 0
        lines.append(Line(item, speaker, start + len(label), said))
        parts.append(f"{label}{one.text}")
        start += len(parts[-1]) + 1
    return Excerpt(tuple(lines), "\n".join(parts))


def proposed(
    question: str, excerpts: Sequence[Excerpt], reader: Reader, judge: Reader, read: Prediction
) -> list[Proposed]:
    """The answers that excerpts may give; ``read`` is what was read in single messages."""
    found: list[Proposed] = []
    whether = asks_whether(question)
    for one in excerpts:
        passage = Passage("", one.text)
        answers = in_background(judge.read, answered_by(question, None), [passage])
        reading = reader.read(question, [passage])
        spans = _verdicts(one, reading) if whether else list(_spans(one, reading, read))
        if whether:
            verdict = judge.read(question, [passage])
            stated = [verdict.yes, verdict.no]
        else:
            judged = [
                in_background(judge.read, answered_by(question, span.short), [passage])
                for span in spans
            ]
            stated = [result.result().answerable for result in judged]
        odds = [log_odds(own) for own in stated]
        sure = 0.0 if read.abstained else read.confidence or 0.0
        known = normalise(read.short or "") if sure else ""
        for number, span in enumerate(spans):
            same = bool(known) and normalise(span.short) == known
            signals = ExcerptSignals(
                bias=1.0,
                stated=odds[number],
                others=max((*odds[:number], *odds[number + 1 :]), default=log_odds(0.0)),
                answers=log_odds(answers.result().answerable),
                read=log(max(span.probability, _EPSILON)),
                answerable=log_odds(reading.answerable),
                speaker=float(span.start is None),
                same=float(same),
                other=float(bool(known) and not same),
                sure=sure if same else -sure if known else 0.0,
            )
            kind: AnswerKind = "value"
            if whether:
                kind = "yes" if span.short == "yes" else "no"
            found.append(Proposed(span.short, kind, one, span.line, span.start, signals))
    return found


class _Span(NamedTuple):
    short: str
    line: Line
    start: int | None  # Where it stands in the text of its message; None of a speaker or verdict
    probability: float  # By the reader


def _verdicts(excerpt: Excerpt, reading: Reading) -> list[_Span]:
    line = _best_line(excerpt, reading)
    given = (("yes", reading.yes), ("no", reading.no))
    return [_Span(word, line, None, probability) for word, probability in given]


def _spans(excerpt: Excerpt, reading: Reading, read: Prediction) -> Iterator[_Span]:
    """The likeliest spans, those of a speaker being the name, and what was read before."""
    seen = dict[str, _Span]()
    for span in reading.spans:
        line = excerpt.line_at(span.start)
        text, start, end = line.item.slot.text, span.start - line.start, span.end - line.start
        if line.speaker and start < line.said:
            found = _Span(line.speaker, line, None, span.probability)
        elif start < 0 or end > len(text):
            continue
        else:
            found = _Span(text[start:end], line, start, span.probability)
        seen.setdefault(normalise(found.short), found)
        if len(seen) == _MOST_SPANS:
            break
    if read.short and not read.abstained and normalise(read.short) not in seen:
        for line in excerpt.lines:
            if (start := line.item.slot.text.find(read.short)) >= 0:
                seen[normalise(read.short)] = _Span(read.short, line, start, 0.0)
                break
    yield from seen.values()


def _best_line(excerpt: Excerpt, reading: Reading) -> Line:
    """The message with the unit of the highest logit."""
    best = max(reading.units, key=lambda one: one.logit, default=None)
    return excerpt.lines[0] if best is None else excerpt.line_at(best.unit.end - 1)
