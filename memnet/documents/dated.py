"""Messages that a question with "when" is asked of, read with the days on which they were sent."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from memnet.documents.messages import day_sent
from memnet.documents.question import Question
from memnet.reader.answers import Prediction
from memnet.reader.confidence import STEM_LETTERS
from memnet.reader.passages import RankedSlot
from memnet.reader.quotes import Quotation
from memnet.reader.spans import Reading, Span
from memnet.text.dates import day_name
from memnet.text.english import Clauses
from memnet.text.names import stems
from memnet.text.relative import times_in
from memnet.types import Candidate

_ASKS_WHEN = re.compile(
    r"\W{0,9}(?:(?:and|so|but),? )?(?:(?:since )?when|(?:on |since )?(?:what|which) (?:day|date))"
    r"(?: of the \w+)? (?:did|was|were|has|had|have)\b"
    r"(?P<who>(?-i: [A-Z]\w*){0,3})",
    re.IGNORECASE,
)
# What somebody told is told by the message itself, whatever time that is about.
_OF_TELLING = re.compile(
    r"\b(?:say|said|tell|told|mention(?:ed)?|announced?|suggest(?:ed)?|remind(?:ed)?|ask(?:ed)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class DatedMessage:
    """A message with its day before the sentence that a question is about."""

    item: RankedSlot  # As it is stored
    place: int  # In its text, where the day is put
    day: str

    @property
    def _words(self) -> str:
        return f"On {self.day}, "

    @property
    def read(self) -> RankedSlot:
        """The message as it is read."""
        slot = self.item.slot
        text = f"{slot.text[: self.place]}{self._words}{slot.text[self.place :]}"
        return replace(self.item, slot=replace(slot, text=text))

    def stored(self, position: int) -> int:
        """A position of the text that is read in the text that is stored."""
        return min(position, max(self.place, position - len(self._words)))

    def quotation(self, read: Quotation) -> Quotation:
        """A piece of what is read as one of what is stored."""
        start, end = self.stored(read.start), self.stored(read.end)
        return Quotation(self.item, start, end, read.weight)

    def span(self, read: Span) -> Span:
        """A span of what is read; those that begin or end in the words of the day are the day."""
        words, day = self._words, self.day
        end = self.place + len(words)
        if not (self.place <= read.start < end or self.place < read.end <= end):
            return read
        start = self.place + words.index(day)
        return read._replace(start=start, end=start + len(day))

    def candidate(self, read: Candidate) -> Candidate:
        """A possible answer in what is read as one in what is stored, which the day is not in."""
        if read.start is None or read.end is None:
            return read.model_copy(update={"text": read.text.replace(self._words, "")})
        first = self.item.slot.start
        start, end = self.stored(read.start - first), self.stored(read.end - first)
        if start == end:
            return read.model_copy(update={"start": None, "end": None})
        text = self.item.slot.text[start:end]
        return read.model_copy(update={"text": text, "start": first + start, "end": first + end})


def dated_messages(question: Question, passages: Sequence[RankedSlot]) -> dict[int, DatedMessage]:
    """By slot the messages that tell of their own day; none where a question asks for no day.

    "Sold the boat!" tells of the day on which it was sent, "Sold the boat last week" of another
    one, which it names.
    """
    asked = _ASKS_WHEN.match(question.text) if question.has_messages else None
    if asked is None:
        return {}
    what = question.text[asked.end() :]
    found: dict[int, DatedMessage] = {}
    for item in passages:
        sent = day_sent(question.store, item.slot)
        place = None if sent is None else _place(what, item, sent)
        if sent is not None and place is not None:
            found[item.slot.id] = DatedMessage(item, place, day_name(sent))
    return found


def _place(what: str, item: RankedSlot, sent: date) -> int | None:
    """Where the sentence begins that shares most words with what somebody is asked to have done.

    None without one of that day: to the reader any day is an answer to "when".
    """
    text, asked = item.slot.text, stems(what, STEM_LETTERS)
    clauses = Clauses(text)
    told = _OF_TELLING.search(what)
    places = [
        (len(asked & stems(text[start:end], STEM_LETTERS)), -start)
        for start, end in item.sentence_spans
        if told or (clauses.tense_at(start) < 0 and not times_in(text[start:end], sent))
    ]
    most, start = max(places, default=(0, 0))
    return -start if most else None


def with_days_as_spans(
    reading: Reading, passages: Sequence[RankedSlot], dated: Mapping[int, DatedMessage]
) -> Reading:
    """What was read of some passages, with all spans that begin in a day as the day."""
    messages = [dated.get(item.slot.id) for item in passages]
    spans = (
        one if (message := messages[one.passage]) is None else message.span(one)
        for one in reading.spans
    )
    return reading._replace(spans=tuple(spans)) if dated else reading


def as_stored(prediction: Prediction, dated: Mapping[int, DatedMessage]) -> Prediction:
    """What was read of messages with their days, as a prediction from what is stored."""
    if not dated:
        return prediction
    first = dated.get(prediction.quotes[0].item.slot.id) if prediction.quotes else None
    short = prediction.short
    day = first.day if first is not None and short == first.day else None

    def quotations(read: Sequence[Quotation]) -> tuple[Quotation, ...]:
        own = ((one, dated.get(one.item.slot.id)) for one in read)
        return tuple(one if message is None else message.quotation(one) for one, message in own)

    return prediction._replace(
        candidates=tuple(
            one if (message := dated.get(one.evidence or -1)) is None else message.candidate(one)
            for one in prediction.candidates
        ),
        quotes=quotations(prediction.quotes),
        attended=quotations(prediction.attended),
        added="" if day is None else f"{day}. ",
    )
