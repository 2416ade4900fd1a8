"""Messages: found by who spoke, when and what about; read with their days or speakers."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

import numpy as np

from memnet.documents.candidates import MessageFeatures
from memnet.documents.mails import (
    is_mail,
    mail_id,
    mail_sent,
    own_end,
    passages_with_subject,
    sender_of,
    subject_of_mail,
    time_of_mail,
)
from memnet.documents.question import Question
from memnet.reader.answers import Prediction
from memnet.reader.passages import RankedSlot
from memnet.reader.quotes import Quotation
from memnet.reader.rows import stem
from memnet.reader.spans import Reading, Span
from memnet.storage import Keys, Slot
from memnet.text.dates import MONTH_NAMES, WrittenDay, day_name, days_in, local_time
from memnet.text.english import ASKS_WHO, Clauses, query_terms
from memnet.text.names import (
    DAY,
    MESSAGE,
    SESSION,
    SPEAKER,
    called_prefix,
    is_name,
    normalise,
    stems,
    subject_of,
)
from memnet.text.relative import WEEKDAYS, times_in
from memnet.types import Candidate

_MIN_CALLED = 3  # Messages that call a speaker by a name, for it to be his
# Min. share of the messages that call somebody by a name, for it to be one person.
_MIN_CALLED_SHARE = 0.75
_WORD = re.compile(r"(\w+)(?:['’]s\b)?")
# Who is meant by "I" and "you" in chats with an assistant.
_ROLES = {"user": "i me my mine myself".split(), "assistant": "you your yours".split()}
_SAYS_I = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b")
_OWNER = re.compile(r"\b(?P<owner>[A-Z]\w+)['’]s (?P<owned>\w+)")
# What a question says something of: "is the cook", "does the name of the band", "has Ann"
_SUBJECT = re.compile(
    r"\b(?i:is|are|was|were|do|does|did|has|have|had|can|will|should|must) "
    r"(?P<subject>(?i:the|an?) \w+(?: of (?:the )?\w+)?|[A-Z]\w+)",
)
# What somebody told is told by the message itself, whatever time that is about.
OF_TELLING = re.compile(
    r"\b(?:say|said|tell|told|mention(?:ed)?|announced?|suggest(?:ed)?|remind(?:ed)?|ask(?:ed)?|"
    r"send|sent|post(?:ed)?|shared?|write|wrote|report(?:ed)?)\b",
    re.IGNORECASE,
)
# Speakers have such names, and questions begin with them.
_AUXILIARIES = frozenset("will may can".split())
# Question marks: the usual one, the wide one, the Arabic one.
_ASKS = frozenset("?？؟")
_MAX_WORDS = 100
_MAX_OF_A_DAY = 200  # Messages of a day that the question names
_MAX_OF_DAYS = 1000  # Max. messages of all days that a question names.
# Max. days of a time in a question whose messages are looked up: "last month", not "last year".
_MAX_DAYS = 31


def day_sent(question: Question, slot: Slot) -> date | None:
    """The day on which a message or mail was sent or a statement told; None of other slots."""
    if slot.valid_from is not None:
        return local_time(slot.told or slot.valid_from).date()
    if (sent := mail_sent(slot)) is not None:
        return sent.date()
    if MESSAGE not in _keys_of(question, slot):
        return None
    places = [place for _, place in slot.places[:1]]
    found = [day for text in (slot.title, *places) for day in days_in(text) if day.year]
    return found[0].full() if found else None


def speaker_of(question: Question, slot: Slot) -> str | None:
    """Who says "I" in a message or mail, by its title or how its text begins; None for a user."""
    if is_mail(slot) and (sender := sender_of(slot)):
        return sender
    keys = _keys_of(question, slot)
    for name in (slot.title.partition(", ")[0], slot.text.partition(": ")[0]):
        if SPEAKER + normalise(name) in keys:
            return name if subject_of(name) == name else None
    return None


def without_messages(question: Question, ranked: Sequence[RankedSlot]) -> Sequence[RankedSlot]:
    """Slots without the messages that begin with who says them, as in exports of chats."""
    if not question.has_messages:
        return ranked
    question.fetched.symbols([item.slot.id for item in ranked])  # All in one query, for _keys_of

    def is_labelled(slot: Slot) -> bool:
        keys, name = _keys_of(question, slot), slot.text.partition(": ")[0]
        return MESSAGE in keys and SPEAKER + normalise(name) in keys

    return [item for item in ranked if not is_labelled(item.slot)]


def _keys_of(question: Question, slot: Slot) -> frozenset[str]:
    """The symbols of what a slot is about."""
    symbols = question.fetched.symbols([slot.id])
    return frozenset(symbols[slot.id].keys if slot.id in symbols else ())


def without_asides(
    question: Question, passages: Sequence[RankedSlot]
) -> tuple[list[RankedSlot], list[RankedSlot]]:
    """Some passages without what speakers say of themselves, and that.

    "I bring the bread" is no answer to what bread there is, as long as a document may hold one. A
    question that names a speaker, or asks who, is asked of all.
    """
    if not question.has_messages or ASKS_WHO.search(question.text):
        return list(passages), []
    symbols = question.fetched.symbols([item.slot.id for item in passages])
    spoken = {slot for slot, (keys, _) in symbols.items() if MESSAGE in keys}
    asides = [
        item for item in passages if item.slot.id in spoken and _SAYS_I.search(item.slot.text)
    ]
    if len(spoken) == len(passages) or not asides or MessageAddressing(question).names_speaker:
        return list(passages), []
    return [item for item in passages if item not in asides], asides


def is_of_another(question: Question, slot: Slot, quoted: str) -> bool:
    """Whether a speaker says something of himself, or at all, where a question is about another.

    "I am allergic to nuts" says nothing of the cook, unless the question names a speaker; nor does
    what Bo wrote say when Ida wrote it.
    """
    asked = _SUBJECT.search(question.text)
    keys = _keys_of(question, slot)
    if asked is None or MESSAGE not in keys:
        return False
    if (addressing := MessageAddressing(question)).names_speaker:
        if addressing.is_by(keys):
            return False
        told = OF_TELLING.search(question.text, asked.end())
        owner = _OWNER.search(question.text)  # "My number" is not Kofi's in what Nadia says.
        if owner is not None and stems(owner["owner"]).isdisjoint(stems(quoted)):
            mine = rf"\b(?:my|our) (?:\w+ )?{re.escape(owner['owned'])}\b"
            if re.search(mine, quoted, re.IGNORECASE):
                return True
        return told is not None
    own, said = stems(asked["subject"]), stems(quoted)
    return _SAYS_I.search(quoted) is not None and own.isdisjoint(said)


def later_messages(question: Question, own: Slot, items: Sequence[RankedSlot]) -> list[RankedSlot]:
    """Messages that were sent after one of their conversation, the last one first.

    Messages of a chat are slots of one source, or of sources of one session; they are among the
    ``items`` that were found. Mails of a thread share its subject, or answer each other; those that
    were not found have no attention.
    """
    keys = _keys_of(question, own)
    sent = time_of_mail(own)
    if sent:
        known = {item.slot.id for item in items}
        others = passages_with_subject(question, subject_of_mail(question, own))
        others = [slot for slot in others if slot.id not in known]
        items = [*items, *(RankedSlot(slot, 0.0, 0.0, 0.0, 1) for slot in others)]
    elif MESSAGE not in keys:
        return []
    question.fetched.symbols([item.slot.id for item in items])  # All in one query, for _keys_of
    session = frozenset(one for one in keys if one.startswith(SESSION))
    found: list[tuple[float, int, RankedSlot]] = []
    for item in items:
        slot, named = item.slot, _keys_of(question, item.slot)
        same = slot.source == own.source or not session.isdisjoint(named)
        later = slot.id > own.id and slot.namespace == own.namespace
        if sent:
            replies = mail_id(slot, "in_reply_to") in {mail_id(own, "message_id")} - {None}
            of_thread = replies or not keys.isdisjoint(named)
            # What a mail quotes was written before.
            new = own_end(slot) > 0
            if (time := time_of_mail(slot)) > sent and of_thread and new:
                found.append((time, slot.id, item))
        elif MESSAGE in named and same and later:
            found.append((0.0, slot.id, item))
    return [item for *_, item in sorted(found, key=lambda one: one[:2], reverse=True)]


class _Known(NamedTuple):
    speaker: float
    day: float  # As ``MessageFeatures`` says
    session: str  # Its symbol; empty for a message of a conversation that is one document
    sent: str  # Symbol of the day on which it was sent; empty if unknown


class MessageAddressing:
    """Picks messages for one question, without the names of speakers, who stand in few of them.

    "What are Emi's hobbies?" is asked of what Emi says as "What are hobbies?": in chats a name
    stands where somebody is greeted, and the speaker says "I".
    """

    def __init__(self, question: Question) -> None:
        """Look up who is named, by the names that others call them too."""
        self._question = question
        # What is known of the slots that were candidates; None of one that is not a message.
        self._known: dict[int, _Known | None] = {}
        # Symbols of the speakers that the question asks about, and where it names them.
        self._named, words = self._speakers()
        text = question.text
        for start, end in reversed(words):
            text = text[:start] + text[end:]
        # Without the names of speakers
        self.question = question.sub_question(" ".join(text.split())) if words else question
        days = list(_days_of(question))
        beside = [_symbol_of(other) for day in days for other in day.next_to()]
        self._days = dict.fromkeys(beside, 0.5) | dict.fromkeys(map(_symbol_of, days), 1.0)

    @property
    def names_speaker(self) -> bool:
        """Whether the question asks about somebody who speaks."""
        return bool(self._named)

    def of_days(self) -> list[int]:
        """The messages of the days that the question names, and of those beside them."""
        most = min(_MAX_OF_A_DAY, _MAX_OF_DAYS // max(1, len(self._days)))
        found = self._question.store.search_symbolic(self._days, most, self._question.scope)
        return [slot for slots in found.values() for slot in slots]

    def features(self, keys: Keys, lexical: Mapping[int, float]) -> MessageFeatures | None:
        """Of candidates with their relative BM25, what is known of messages; None without one.

        Messages follow each other as sources, or as slots of one conversation.
        """
        ids: list[int] = keys.ids.tolist()
        self._look_at([slot for slot in ids if slot not in self._known])
        is_message = np.array([self._known[slot] is not None for slot in ids], np.bool_)
        if not is_message.any():
            return None
        numbers: dict[tuple[str, str, str], int] = {}
        indices: dict[tuple[str, str, int], list[int]] = {}
        session, asks = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        speaker, day, characters = np.zeros((3, len(ids)), np.float32)
        places = self._question.store.messages.places(ids)
        for index, slot in enumerate(ids):
            known = self._known[slot]
            if known is None:
                continue
            speaker[index], day[index], place = known.speaker, known.day, places[slot]
            name = known.session or f"{place.source}"
            key = place.namespace, name, known.sent
            session[index] = numbers.setdefault(key, len(numbers))
            asks[index], characters[index] = place.last in _ASKS, place.characters
            position = place.source if known.session else slot
            indices.setdefault((place.namespace, name, position), []).append(index)
        pairs = [
            (one, other)
            for (namespace, name, position), found in indices.items()
            for other in indices.get((namespace, name, position + 1), ())
            for one in found
        ]
        beside = np.array(pairs, np.int64).reshape(-1, 2).T
        relative = np.array([lexical.get(slot, 0.0) for slot in ids], np.float32)
        dense = keys.vectors @ self.question.vector
        return MessageFeatures(
            is_message, dense, relative, speaker, day, beside, session, asks, characters
        )

    def _look_at(self, ids: Sequence[int]) -> None:
        """Find out which slots are messages, and how speaker and day of each match."""
        symbols = self._question.fetched.symbols(ids)
        self._known.update(dict.fromkeys(ids))
        for slot, (keys, _) in symbols.items():
            if MESSAGE in keys:
                session = next((name for name in keys if name.startswith(SESSION)), "")
                # One that says "yesterday" is of two days, of which it was sent on the later one.
                sent = max((name for name in keys if name.startswith(DAY)), default="")
                day = max(self._days.get(name, 0.0) for name in keys)
                self._known[slot] = _Known(float(self.is_by(keys)), day, session, sent)

    def is_by(self, keys: Iterable[str]) -> bool:
        """Whether a message with these symbols is by somebody whom the question names."""
        return not self._named.isdisjoint(keys)

    def _speakers(self) -> tuple[frozenset[str], list[tuple[int, int]]]:
        """Who is asked about, and where the question names them, in its order."""
        question = self._question
        words = list(_possible_speakers(question.text))
        said = frozenset(normalise(question.text).split())
        roles = [SPEAKER + role for role, own in _ROLES.items() if not said.isdisjoint(own)]
        symbols = [SPEAKER + word for _, word in words]
        known = question.store.messages.known([*roles, *symbols], question.scope)
        named = {symbol for symbol in roles if symbol in known}
        spans: list[tuple[int, int]] = []
        for (span, word), own in zip(words, symbols, strict=True):
            symbol = own if own in known else self._called(word)
            if symbol is not None:
                named.add(symbol)
                spans.append(span)
        return frozenset(named), spans

    def _called(self, name: str) -> str | None:
        """The symbol of the speaker whom others call by a name, if they call one by it."""
        prefix = called_prefix(name)
        counts = self._question.store.messages.mentioned(prefix, self._question.scope)
        if not counts:
            return None
        best = max(counts, key=counts.__getitem__)
        if counts[best] < max(_MIN_CALLED, _MIN_CALLED_SHARE * sum(counts.values())):
            return None
        return SPEAKER + best.removeprefix(prefix)


def _possible_speakers(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """The words of a question that may name a speaker, with their places.

    They are those with a capital; where no word but the first has one, any.
    """
    found = [(one.span(), one[1]) for one in _WORD.finditer(text)][:_MAX_WORDS]
    if found and found[0][1].lower() in _AUXILIARIES:
        found = found[1:]
    capital = [(span, word) for span, word in found if word[0].isupper()]
    if all(span[0] == 0 for span, _ in capital):
        capital = found
    for span, word in capital:
        name = normalise(word)
        if is_name(name) and query_terms(name) == [name] and name not in _AUXILIARIES:
            yield span, name


def _days_of(question: Question) -> Iterator[WrittenDay]:
    """The days that a question writes out, or names by the day on which it is asked."""
    yield from days_in(question.text)
    today = local_time(question.scope.moment()).date()
    for place in times_in(question.text, today):
        if place.relative and place.role == "at" and place.days.count <= _MAX_DAYS:
            yield from map(WrittenDay.of, place.days.each())


def _symbol_of(day: WrittenDay) -> str:
    return DAY + day.names()[0]


_ASKS_WHEN = re.compile(
    r"\W{0,9}(?:(?:and|so|but),? )?(?:(?:since )?when|(?:on |since )?(?:what|which) (?:day|date))"
    r"(?: of the \w+)? (?:did|was|were|has|had|have)\b"
    r"(?P<who>(?-i: [A-Z]\w*){0,3})",
    re.IGNORECASE,
)
# In the past, but that "booked for Friday" may also be said of what is to come
_ARRANGED = re.compile(
    r"\b(?:I|we|he|she|they) (?:(?:have|has|just|already) )?"
    r"(?:booked|reserved|scheduled|planned|closed)\b",
    re.IGNORECASE,
)
_BEGINS_WITH_WHO = re.compile(
    r"\W{0,9}(?:(?:and|so|but),? )?(?:who\b(?! (?:did|do|does)\b)|(?P<whose>whose)\b)",
    re.IGNORECASE,
)
# "Who offered to cook?" is answered by who wrote "I can cook", whatever the words.
_SAYING = re.compile(
    r" (?:was it (?:that|who) )?(?:first )?(?P<verb>asked|wanted to know|said|wrote|told|mentioned|"
    r"suggested|proposed|offered|promised|announced|complained|came up with|agreed|volunteered|"
    r"reminded|recommended|confirmed|warned|reported|admitted|explained|apologi[sz]ed|noticed)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"n['’]t\b|\b(?:not|never|cannot|no longer)\b", re.IGNORECASE)
_LINE = re.compile(r"\S.*")
_BY = re.compile(r"\bby [A-Z]")  # "written by Kim"
_ASKED_WHAT = re.compile(
    r"who .{0,20}?(?:asked|wanted to know) (?:if|whether|how|wh\w+)\b", re.IGNORECASE
)
_I = re.compile(r"\bI(?:(?: (?=am|have)|['’])(?P<verb>am|have|m|ve|ll|d)\b)?")
_MY = re.compile(r"\b(?P<verb>[Mm]y)\b")  # "Whose dog" is asked of "my dog".
# A turn of a transcript: "Lena Moss: I'll do it"
_SAYS = re.compile(
    r"^(?:(?P<name>[^\W\d_a-z][\w.'’-]{0,20}(?: [^\W\d_a-z][\w.'’-]{0,20}){0,2}): "
    r"|(?:\[?\d\d:\d\d(?::\d\d)?\]? )?<[@+%~& ]?(?P<nick>[^<>\s]{1,30})> )",  # IRC
    re.MULTILINE,
)
_MIN_SPEAKERS, _MIN_TURNS = 2, 2  # Of a conversation: speakers, and turns of one of them
_MAX_TURN = 300  # Characters before a sentence that are shown to say who speaks
# Labels of lines that name no speaker
_NO_SPEAKERS = frozenset(
    "note notes contact date time place phone address email name topic action decision question "
    "answer q a tip warning todo tel price title subject from to cc re ps today tomorrow".split()
).union(map(str.lower, (*WEEKDAYS, *MONTH_NAMES)))
_OF_OTHERS = {
    "am": " is", "m": " is", "have": " has", "ve": " has", "ll": " will", "d": " would",
    "my": "'s", "My": "'s",
}  # fmt: skip


@dataclass(frozen=True)
class IntroducedMessage:
    """A message with its day before the sentence that is asked about, or its speaker for "I"."""

    item: RankedSlot  # As it is stored
    place: int  # Where in its text the words are put
    last: int  # Where that sentence ends
    words: str  # Which are put there: "On 4 March 2022, ", "Lena" or "Lena has"
    told: str  # The day or the speaker in them
    replaced: int = 0  # Characters that they are put in place of: "I" or "I've"
    # Of a transcript: where "Lena: " stands that begins what she says. Only that is read: behind
    # what others say the reader gave 0.1 to a sentence that had 0.7 alone.
    turn: int | None = None

    @property
    def first(self) -> int:
        """Where what is read begins in the text that is stored."""
        return self.turn or 0

    @property
    def is_speaker(self) -> bool:
        """Whether a speaker is put in place of "I", and not a day in place of "today"."""
        return self.replaced > 0 and not self.told[:1].isdigit()

    @property
    def read(self) -> RankedSlot:
        """The message as it is read."""
        slot = self.item.slot
        last = len(slot.text) if self.turn is None else self.last
        after = slot.text[self.place + self.replaced : last]
        text = f"{slot.text[self.first : self.place]}{self.words}{after}"
        return replace(self.item, slot=replace(slot, text=text))

    def stored(self, position: int) -> int:
        """A position of the text that is read in the text that is stored."""
        position += self.first
        after = position - self.place - len(self.words)
        behind = after > 0 or (after == 0 and not self.is_speaker)
        return self.place + self.replaced + after if behind else min(position, self.place)

    def quotation(self, read: Quotation) -> Quotation:
        """A piece of what is read as one of what is stored."""
        start, end = self.stored(read.start), self.stored(read.end)
        turn = self.turn
        if turn is not None and turn < start <= self.place <= end and start - turn <= _MAX_TURN:
            start = turn  # It shows who says it.
        return Quotation(self.item, start, end, read.weight)

    def span(self, read: Span) -> Span:
        """A span of what is read; one that begins or ends in the words put there is what they tell.

        All else in a sentence that was read with its day is the day, too: it names no other time.
        """
        added, place = len(self.words), self.place - self.first
        end = place + added
        if read.start < end:
            is_told = place <= read.start or place < read.end <= end
        else:
            is_told = not self.replaced and read.end <= self.last - self.first + added
        start = place + self.words.index(self.told)
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
    when, who = _ASKS_WHEN.match(question.text), _AsksWho.of(question.text)
    found: dict[int, IntroducedMessage] = {}
    for item in passages:
        if who is not None and (own := who.of_transcript(item)) is not None:
            found[item.slot.id] = own
        elif not (question.has_messages or is_mail(item.slot)):
            continue
        elif when is not None and (sent := day_sent(question, item.slot)) is not None:
            if (message := _dated(question.text[when.end() :], item, sent)) is not None:
                found[item.slot.id] = message
        elif (
            who is not None
            and (speaker := speaker_of(question, item.slot)) is not None
            and (place := who.sentence(item)) is not None
        ):
            found[item.slot.id] = who.told_by(speaker, f"{speaker}: ", item, place)
    return found


def _dated(what: str, item: RankedSlot, sent: date) -> IntroducedMessage | None:
    """A message with the day before the sentence that tells ``what`` happened on it, if one does.

    In place of "today", "yesterday" or "last week" stand the days that are meant. What names a day
    itself answers "when" to the reader; what was told at all was told when the message was sent.
    """
    text = item.slot.text
    clauses, telling = Clauses(text), OF_TELLING.search(what)
    verb = stem(telling[0].casefold()) if telling else ""

    def is_told(start: int, end: int) -> bool:  # not "I sent it yesterday"
        return bool(verb) and verb not in map(stem, query_terms(text[start:end]))

    def fits(start: int, end: int) -> bool:
        if is_told(start, end):
            return True
        if text[start:end].endswith("?"):
            return False
        if times := times_in(text[start:end], sent):
            return len(times) == 1 and times[0].relative and times[0].days.last <= sent
        return clauses.tense_at(start) < 0 or _ARRANGED.search(text, start, end) is not None

    place = _sentence(what, item, fits)
    if place is None:
        return None
    start, end = place
    times = [] if is_told(start, end) else times_in(text[start:end], sent)
    if not times:
        told = day_name(sent)
        return IntroducedMessage(item, start, end, f"On {told}, ", told)
    [one] = times
    told = str(one.days)
    words = f"on {told}" if one.days.count == 1 else told
    return IntroducedMessage(item, start + one.start, end, words, told, one.end - one.start)


@dataclass(frozen=True)
class _AsksWho:
    """A question that a message answers by who wrote it."""

    what: str  # Is asked of somebody
    of_self: re.Pattern[str]  # Finds "I" or "my"
    verb: str | None  # Of saying: "offered"
    asks: bool  # "Who asked when ...?"
    denied: bool  # "Who can't come?"

    @classmethod
    def of(cls, question: str) -> "_AsksWho | None":
        """The question with a text; None where it does not begin with "who" or "whose"."""
        who = _BEGINS_WITH_WHO.match(question)
        if who is None:
            return None
        saying = None if who["whose"] else _SAYING.match(question, who.end())
        what = question[(saying or who).end() :]
        of_self, verb = _MY if who["whose"] else _I, saying["verb"] if saying else None
        asks = _ASKED_WHAT.search(question) is not None
        return cls(what, of_self, verb, asks, _DENIED.search(question) is not None)

    def sentence(self, item: RankedSlot) -> tuple[int, int] | None:
        """The sentence that is most likely said of, or by, its speaker; None if there is none."""
        text, end_of_own = item.slot.text, own_end(item.slot)
        # Where a text says itself who said it, that is not its speaker: "Joan offered to bake".
        verbs = stems(self.verb or "")

        def fits(start: int, end: int) -> bool:
            if start >= end_of_own:
                return False  # what a mail quotes
            if self.verb is not None:
                own = text[start:end]
                said_of = not verbs.isdisjoint(stems(own)) or _BY.search(own) is not None
                return text[:end].endswith("?") == self.asks and not said_of
            denied = _DENIED.search(text, start, end) is not None
            return denied == self.denied and self.of_self.search(text, start, end) is not None

        return _sentence(self.what, item, fits, last=self.verb is None)

    def told_by(
        self, speaker: str, label: str, item: RankedSlot, place: tuple[int, int]
    ) -> IntroducedMessage:
        """A message with its speaker in a sentence: in place of "I", or before what is said.

        ``label`` says in its text who speaks.
        """
        text, (start, end) = item.slot.text, place
        if self.verb is not None:
            replaced = len(label) * text.startswith(label, start)
            return IntroducedMessage(
                item, start, end, f"{speaker} {self.verb}: ", speaker, replaced
            )
        own = self.of_self.search(text, start, end)
        assert own is not None, "by this the sentence was found"  # noqa: S101
        words = f"{speaker}{_OF_OTHERS.get(own['verb'] or '', '')}"
        # Behind "Lena: " in a transcript it is she once more.
        start = own.start() - len(label) * text[: own.start()].endswith(label)
        return IntroducedMessage(item, start, end, words, speaker, own.end() - start)

    def of_transcript(self, item: RankedSlot) -> IntroducedMessage | None:
        """A passage of a conversation in which a sentence is told by a speaker; else None."""
        text = item.slot.text
        names = Counter(found["name"] or found["nick"] for found in _SAYS.finditer(text))
        if not _NO_SPEAKERS.isdisjoint(map(str.casefold, names)):
            return None
        if len(names) < _MIN_SPEAKERS or max(names.values()) < _MIN_TURNS:
            return None
        place = self.sentence(item)
        turn = place and _SAYS.match(text, text.rfind("\n", 0, place[0] + 1) + 1)
        if place is None or turn is None:
            return None
        found = self.told_by(turn["name"] or turn["nick"], turn[0], item, place)
        return replace(found, turn=turn.start())


def _sentence(
    what: str, item: RankedSlot, fits: Callable[[int, int], bool], last: bool = False
) -> tuple[int, int] | None:
    """The first or ``last`` sentence that shares most words with what somebody is asked to do.

    None without one that ``fits``, by its start and end.
    """
    text, asked = item.slot.text, stems(what)
    # "I mended the oars" says no word of when the roof was mended.
    things = stems(what.strip().partition(" ")[2]) or asked
    spans = [
        (line.start(), line.end())
        for span in item.sentence_spans
        for line in _LINE.finditer(text, *span)
    ]
    found = [
        (len(asked & own), start if last else -start, end)
        for start, end in spans
        if not things.isdisjoint(own := stems(text[start:end])) and fits(start, end)
    ]
    best = max(found, default=None)
    return None if best is None else (abs(best[1]), best[2])


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

    quotes = quotations(prediction.quotes)
    says_it = told is None or any(f"{told}{mark} " in quotes[0].text for mark in ":>")
    return prediction._replace(
        candidates=tuple(
            one if (message := dated.get(one.evidence or -1)) is None else message.candidate(one)
            for one in prediction.candidates
        ),
        quotes=quotes,
        attended=quotations(prediction.attended),
        told="" if says_it else f"{told}{': ' if first and first.is_speaker else '. '}",
    )
