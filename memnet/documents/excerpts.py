"""Conversations read in excerpts: the messages that hops found with those beside them, in order.

What somebody writes often says nothing alone: "I'll do it", "yes, and a kitchen", "28 is ok".
Several answers are proposed of an excerpt, and the network for verdicts says of each whether the
excerpt gives it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import log
from typing import Literal, NamedTuple

from memnet.attention.arrays import log_odds, probability_of, weighted
from memnet.documents.mails import is_mail, said_in_mail, subject_of_mail, thread_of
from memnet.documents.messages import is_of_another, speaker_of
from memnet.documents.question import Question
from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.passages import RankedSlot, slot_candidate
from memnet.reader.quotes import Quotation, quote_around
from memnet.reader.spans import Passage, Reader, Reading, answered_by
from memnet.runtime.device import in_background
from memnet.storage import Slot
from memnet.text.english import units
from memnet.text.names import MESSAGE, SESSION, normalise, stems
from memnet.types import AnswerKind, Candidate

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
    start: int  # Where its text would begin in that of the excerpt, if all of it were there
    said: range  # The part of its text that is there, after the speaker where that names him

    @property
    def says_who(self) -> bool:
        """Whether its text begins with the speaker."""
        return bool(self.speaker) and self.item.slot.text.startswith(f"{self.speaker}:")


class Excerpt(NamedTuple):
    """Messages of one conversation, in their order."""

    lines: tuple[Line, ...]
    text: str  # Each on a line, after its speaker

    def line_at(self, position: int) -> Line:
        """The message that a character of the text is in, or whose speaker stands there."""
        ends = [one.start + one.said.stop for one in self.lines]
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
    line: Line
    start: int | None  # Where it stands in the text of its message, if it does
    said_at: int  # Where in that text stands what gives it
    signals: ExcerptSignals


# By logistic regression on what was proposed for 240 questions about conversations and those about
# everyday collections with messages or mails, from which nothing was learned
# (``benchmarks.fit_excerpts``), by an earlier reader of excerpts beside a network for verdicts that
# is not shipped. Fitted to what a later reader proposes, values and verdicts apart, 102 in place of
# 112 of 224 checks about conversations held.
_WEIGHTS = ExcerptSignals(
    bias=-1.438, stated=0.195, others=0.008, answers=-0.02, read=0.133, answerable=0.227,
    speaker=0.823, same=1.011, other=-0.032, sure=1.066,
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
    excerpt = excerpt_of(question, found)
    if excerpt is None:
        return read
    every = proposed(question.text, excerpt, reader, judge, read)
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
    own = {line.item.slot.id for line in excerpt.lines}
    judged = any(one.signals.same for one in every) and read.quotes[0].item.slot.id in own
    if best.signals.same or (not judged and read.probability > probability):
        return read
    return _shown(best, excerpt, probability)._replace(relevance=read.relevance)


def _shown(best: Proposed, excerpt: Excerpt, probability: float) -> Prediction:
    """An answer with the message that gives it, after the one that it is said to."""
    lines, own = excerpt.lines, best.line
    slot, number = own.item.slot, lines.index(own)
    quoted = [own]
    if own.says_who and len(slot.text) < _LONGEST_ALONE:
        quoted = [*lines[max(0, number - 1) : number], own]
    if is_mail(slot) and len(own.said) > _LONGEST_ALONE:
        quotes = quote_around(own.item, best.said_at, best.said_at + 1)
    else:
        quotes = tuple(
            Quotation(one.item, 0 if one.says_who else one.said.start, one.said.stop, 0.0)
            for one in quoted
        )
    candidate = Candidate(text=best.short, score=probability)
    if best.start is not None:
        candidate = slot_candidate(slot, best.start, best.start + len(best.short), probability)
    return Prediction(
        (candidate,),
        (own.item, *(one.item for one in quoted if one is not own)),
        best.kind,
        probability,
        quotes=quotes,
        short=best.short,
        told="" if own.says_who or not own.speaker else f"{own.speaker}: ",
    )


def excerpt_of(question: Question, found: Sequence[RankedSlot]) -> Excerpt | None:
    """The excerpt of the most attended conversation of which something was said; None of none.

    One alone is read: two took a tenth of a second more, for 2 of 224 checks.
    """
    symbols = question.fetched.symbols([item.slot.id for item in found])
    conversations = dict[_Conversation, list[RankedSlot]]()
    for item in found:
        keys = symbols[item.slot.id].keys if item.slot.id in symbols else ()
        own = None
        if MESSAGE in keys:
            session = next((one for one in keys if one.startswith(SESSION)), None)
            own = _Conversation("session", session) if session else None
            own = own or _Conversation("source", item.slot.source, item.slot.namespace)
        elif subject := subject_of_mail(question, item.slot):
            own = _Conversation("mails", subject)
        if own is not None:
            conversations.setdefault(own, []).append(item)
    best = sorted(conversations.items(), key=lambda own: -max(one.attention for one in own[1]))
    # A mail may be in no thread.
    return next((one for one in (_excerpt(question, *own) for own in best) if one.lines), None)


class _Conversation(NamedTuple):
    kind: Literal["session", "source", "mails"]  # What its messages share
    name: str  # Of the source, or the symbol of the session or of the subject
    namespace: str = ""  # Of a source

    def messages(self, question: Question) -> Sequence[Slot]:
        """In their order."""
        if self.kind == "mails":
            return thread_of(question, self.name)
        if self.kind == "source":
            return question.store.passages_of(self.name, self.namespace, _MOST_MESSAGES)
        ids = question.store.search_symbolic([self.name], _MOST_MESSAGES, question.scope)
        return question.fetched.slots(ids.get(self.name, []))


def _excerpt(question: Question, own: _Conversation, found: Sequence[RankedSlot]) -> Excerpt:
    """What was found of a conversation, with what stands beside it, as long as there is room."""
    messages = own.messages(question)
    known = {item.slot.id: item for item in found}
    places = {one.id: place for place, one in enumerate(messages)}
    chosen, left = dict[int, range](), _MOST_CHARACTERS
    for item in sorted(found, key=lambda one: -one.attention):
        place = places.get(item.slot.id)
        if place is None or not left:
            continue
        after, before = range(place + 1, place + _AFTER + 1), range(place - _BEFORE, place)
        for near in (place, *after, *before):
            if 0 <= near < len(messages) and near not in chosen:
                one = messages[near]
                said = said_in_mail(one) if own.kind == "mails" else range(len(one.text))
                if near == place and not chosen and len(said) > left:
                    said = _about(question.text, one.text, said, left)
                if len(said) <= left:
                    chosen[near] = said
                    left -= len(said)
            if place not in chosen:
                break  # What stands beside it says nothing without it.
    lines: list[Line] = []
    parts: list[str] = []
    start = 0
    question.fetched.symbols([messages[place].id for place in chosen])  # At once, for speaker_of
    for place, said in sorted(chosen.items()):
        one = messages[place]
        speaker = speaker_of(question, one) or ""
        text = one.text[said.start : said.stop]
        labelled = bool(speaker) and text.startswith(f"{speaker}:")
        label = f"{speaker}: " if speaker and not labelled else ""
        item = known.get(one.id) or RankedSlot(one, 0.0, 0.0, 0.0, 1)
        after_speaker = said.start + labelled * (len(speaker) + 1)
        first = start + len(label) - said.start
        lines.append(Line(item, speaker, first, range(after_speaker, said.stop)))
        parts.append(f"{label}{text}")
        start += len(parts[-1]) + 1
    return Excerpt(tuple(lines), "\n".join(parts))


def _about(question: str, text: str, said: range, most: int) -> range:
    """As much of a long message as fits, from what shares most words with a question on."""
    asked = stems(question)
    own = [one for one in units(text) if one.start >= said.start and one.end <= said.stop]
    if not own:
        return range(said.start, said.start + most)
    best = max(own, key=lambda one: len(asked & stems(text[one.start : one.end])))
    start = max(said.start, min(best.start, said.stop - most))
    start = next(one.start for one in own if one.start >= start or one is best)
    ends = [one.end for one in own if start < one.end <= start + most]
    return range(start, max(ends, default=start + most))


def proposed(
    question: str, excerpt: Excerpt, reader: Reader, judge: Reader, read: Prediction
) -> list[Proposed]:
    """The answers that an excerpt may give; ``read`` is what was read in single messages."""
    whether, passage = asks_whether(question), Passage("", excerpt.text)
    answers = in_background(judge.read, answered_by(question, None), [passage])
    reading = reader.read(question, [passage])
    spans = _verdicts(excerpt, reading) if whether else list(_spans(excerpt, reading, read))
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
    found: list[Proposed] = []
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
        found.append(Proposed(span.short, kind, span.line, span.start, span.said_at, signals))
    return found


class _Span(NamedTuple):
    short: str
    line: Line
    start: int | None  # Where it stands in the text of its message; None of a speaker or verdict
    said_at: int  # Where in that text stands what gives it
    probability: float  # By the reader


def _verdicts(excerpt: Excerpt, reading: Reading) -> list[_Span]:
    line, at = _best_unit(excerpt, reading, excerpt.lines)
    given = (("yes", reading.yes), ("no", reading.no))
    return [_Span(word, line, None, at, probability) for word, probability in given]


def _best_unit(excerpt: Excerpt, reading: Reading, lines: Sequence[Line]) -> tuple[Line, int]:
    """The message, of some, with the unit of the highest logit, and where in it that begins."""
    owned = ((one, excerpt.line_at(one.unit.end - 1)) for one in reading.units)
    own = [(one, line) for one, line in owned if line in lines]
    if not own:
        return lines[0], lines[0].said.start
    best, line = max(own, key=lambda one: one[0].logit)
    return line, max(line.said.start, best.unit.start - line.start)


def _spans(excerpt: Excerpt, reading: Reading, read: Prediction) -> Iterator[_Span]:
    """The likeliest spans, those of a speaker being the name, and what was read before."""
    seen = dict[str, _Span]()
    for span in reading.spans:
        line = excerpt.line_at(span.start)
        text, start, end = line.item.slot.text, span.start - line.start, span.end - line.start
        if line.speaker and start < line.said.start:
            at = _best_unit(excerpt, reading, [line])[1]
            found = _Span(line.speaker, line, None, at, span.probability)
        elif start < line.said.start or end > line.said.stop:
            continue
        else:
            found = _Span(text[start:end], line, start, start, span.probability)
        seen.setdefault(normalise(found.short), found)
        if len(seen) == _MOST_SPANS:
            break
    if read.short and not read.abstained and normalise(read.short) not in seen:
        for line in excerpt.lines:
            own = line.item.slot.text[: line.said.stop]
            if (start := own.find(read.short, line.said.start)) >= 0:
                seen[normalise(read.short)] = _Span(read.short, line, start, start, 0.0)
                break
    yield from seen.values()
