"""Messages that a question with "when" or "who" is asked of, read with their days or speakers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from memnet.documents.messages import OF_TELLING, day_sent, speaker_of
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
_ASKS_WHO = re.compile(r"\W{0,9}(?:(?:and|so|but),? )?who\b(?! (?:did|do|does)\b)", re.IGNORECASE)
_I = re.compile(r"\bI(?:['’]\w{1,2})?\b")


@dataclass(frozen=True)
class IntroducedMessage:
    """A message with its day, or its speaker, before the sentence that a question is about."""

    item: RankedSlot  # As it is stored
    place: int  # Where in its text that sentence begins
    last: int  # Where it ends
    words: str  # Which are put there: "On 4 March 2022, " or "Lena: "
    told: str  # The day or the speaker in them

    @property
    def read(self) -> RankedSlot:
        """The message as it is read."""
        slot = self.item.slot
        text = f"{slot.text[: self.place]}{self.words}{slot.text[self.place :]}"
        return replace(self.item, slot=replace(slot, text=text))

    def stored(self, position: int) -> int:
        """A position of the text that is read in the text that is stored."""
        return min(position, max(self.place, position - len(self.words)))

    def quotation(self, read: Quotation) -> Quotation:
        """A piece of what is read as one of what is stored."""
        start, end = self.stored(read.start), self.stored(read.end)
        return Quotation(self.item, start, end, read.weight)

    def span(self, read: Span) -> Span:
        """A span of what is read; one that begins or ends in the words put there is what they tell.

        All else in a sentence that was read with its day is the day, too: it names no other time.
        In one that was read with its speaker, "I" is the speaker.
        """
        added = len(self.words)
        end = self.place + added
        if read.start < end:
            is_told = self.place <= read.start or self.place < read.end <= end
        elif self.words.startswith(self.told):
            is_told = _I.match(self.item.slot.text, read.start - added) is not None
        else:
            is_told = read.end <= self.last + added
        start = self.place + self.words.index(self.told)
        return read._replace(start=start, end=start + len(self.told)) if is_told else read

    def candidate(self, read: Candidate) -> Candidate:
        """A possible answer in what is read as one in what is stored."""
        if read.start is None or read.end is None:
            return read.model_copy(update={"text": read.text.replace(self.words, "")})
        first = self.item.slot.start
        start, end = self.stored(read.start - first), self.stored(read.end - first)
        if start == end:
            return read.model_copy(update={"start": None, "end": None})
        text = self.item.slot.text[start:end]
        return read.model_copy(update={"text": text, "start": first + start, "end": first + end})


def introduced_messages(
    question: Question, passages: Sequence[RankedSlot]
) -> dict[int, IntroducedMessage]:
    """By slot the messages that tell of their own day or speaker, where a question asks for it.

    "Sold the boat!" tells of the day on which it was sent, "Sold the boat last week" of another
    one, which it names; "I sold the boat" tells who sold it.
    """
    when = _ASKS_WHEN.match(question.text) if question.has_messages else None
    who = _ASKS_WHO.match(question.text) if question.has_messages else None
    found: dict[int, IntroducedMessage] = {}
    for item in passages:
        if when is not None and (sent := day_sent(question.store, item.slot)) is not None:
            place = _sentence(question.text[when.end() :], item, sent)
            told = day_name(sent)
            words = f"On {told}, "
        elif who is not None and (speaker := speaker_of(question, item.slot)) is not None:
            place = _sentence(question.text[who.end() :], item, None)
            told, words = speaker, f"{speaker}: "
        else:
            continue
        if place is not None:
            found[item.slot.id] = IntroducedMessage(item, *place, words, told)
    return found


def _sentence(what: str, item: RankedSlot, sent: date | None) -> tuple[int, int] | None:
    """The sentence that shares most words with what somebody is asked to have done.

    None without one of that day: to the reader any day is an answer to "when". Without a day, in
    which somebody speaks of himself.
    """
    text, asked = item.slot.text, stems(what, STEM_LETTERS)
    # "I mended the oars" says no word of when the roof was mended.
    things = stems(what.strip().partition(" ")[2], STEM_LETTERS) or asked
    clauses = Clauses(text)
    told = OF_TELLING.search(what)
    found = [
        (len(asked & own), -start, end)
        for start, end in item.sentence_spans
        if not things.isdisjoint(own := stems(text[start:end], STEM_LETTERS))
        if (
            _I.search(text, start, end)
            if sent is None
            else told or (clauses.tense_at(start) < 0 and not times_in(text[start:end], sent))
        )
    ]
    best = max(found, default=None)
    return None if best is None else (-best[1], best[2])


def with_introductions(
    reading: Reading, passages: Sequence[RankedSlot], dated: Mapping[int, IntroducedMessage]
) -> Reading:
    """What was read of some passages, with the days and speakers as the spans that tell them."""
    messages = [dated.get(item.slot.id) for item in passages]
    spans = (
        one if (message := messages[one.passage]) is None else message.span(one)
        for one in reading.spans
    )
    return reading._replace(spans=tuple(spans)) if dated else reading


def as_stored(prediction: Prediction, dated: Mapping[int, IntroducedMessage]) -> Prediction:
    """What was read of messages with days or speakers, as a prediction from what is stored."""
    if not dated:
        return prediction
    first = dated.get(prediction.quotes[0].item.slot.id) if prediction.quotes else None
    short = prediction.short
    told = first.told if first is not None and short == first.told else None

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
        added="" if told is None else f"{told}. ",
    )
