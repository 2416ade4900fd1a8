"""Messages of conversations: slots that know their speaker, day and what was said before."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, starmap
from typing import NamedTuple

from memnet.errors import EMPTY, InputError
from memnet.ingest.windows import document_windows
from memnet.loaders.document import Block, ParsedDocument, Turn, paragraphs
from memnet.storage import MemoryStore, NewSlot, Slot
from memnet.text.dates import WrittenDay, days_in
from memnet.text.names import DAY, MESSAGE, SESSION, called_symbols, speaker_symbols
from memnet.text.relative import times_in
from memnet.types import Message

# Characters below which the key of a message also encodes the one before it: "Yes, last Sunday!"
# alone says little. Evidence@10 of 355 questions about five chats is 71.8 % with it, 70.9 %
# without; with the message before in all keys it is lower by far, as they drown what is new.
_SHORT = 60
_BEFORE = 200  # last characters of it that the key takes
_MIN_MESSAGES = 4
_MAX_SPEAKERS = 40
# Messages of a speaker, on average: people who talk come back, titles of a catalogue do not.
_MIN_EACH = 2
# Min. share of neighbouring ids whose numbers follow each other; the others begin a session.
_MIN_IN_SEQUENCE = 0.5
_MAX_SPEAKER, _MAX_TIME = 100, 80  # characters of a speaker's name and of a time in a title
_DIGITS = "0123456789"
_MAX_DIGITS = 15  # of the number at the end of an id
# Max. days of a time in a message that makes it one of those days: "last week", not "last month".
_MAX_DAYS = 7
_NUMERIC_DAY = re.compile(r"\b\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d\d)\b")
_WORDS = re.compile(r"[^\W\d_]+")
# Words that times are written with.
_OF_TIMES = frozenset(
    """
    jan january feb february mar march apr april may jun june jul july aug august sep sept september
    oct october nov november dec december
    mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday sat saturday sun
    sunday
    a am p pm m on at the of utc gmt t z st nd rd th
    """.split()
)

Extract = Callable[[str], Iterable[str]]


def message_document(message: Message) -> ParsedDocument:
    """A message as a document with the title "speaker, time".

    Raises:
        InputError: it is blank.
    """
    if not message.text.strip():
        raise InputError("has a blank 'text'; leave it out or fill it", EMPTY)
    turn = Turn(message.speaker, message.time, message.session)
    blocks = tuple(Block("paragraph", start, end) for start, end in paragraphs(message.text))
    title = f"{turn.speaker}, {turn.time}" if turn.time else turn.speaker
    named = {"session": turn.session, "speaker": turn.speaker, "time": turn.time}
    metadata = {name: value for name, value in named.items() if value}
    return ParsedDocument(message.id, title, message.text, blocks, metadata=metadata, turn=turn)


def recognise_turns(documents: Sequence[ParsedDocument]) -> list[ParsedDocument]:
    """The same documents; those that evidently are messages of a conversation know that.

    They follow each other with titles "Ann, 2024-03-01 10:05": the same few speakers come back, and
    the ids of a session end in rising numbers ("D1:1", "D1:2"). Four are the least.
    """
    found: list[ParsedDocument] = []
    run: list[ParsedDocument] = []
    for document in documents:
        turn = None if document.turn else _turn_of_title(document)
        if turn is None:
            found += [*_decided(run), document]
            run = []
        else:
            run.append(replace(document, turn=turn))
    return [*found, *_decided(run)]


def _decided(run: Sequence[ParsedDocument]) -> list[ParsedDocument]:
    """Documents with titles like those of messages, with turns if they are messages."""
    speakers = {one.turn.speaker for one in run if one.turn}
    same = [rising for rising in starmap(_rises, pairwise(run)) if rising is not None]
    talk = (
        len(run) >= _MIN_MESSAGES
        and 2 <= len(speakers) <= _MAX_SPEAKERS
        and len(run) >= _MIN_EACH * len(speakers)
        and all(same)
        and len(same) >= _MIN_IN_SEQUENCE * (len(run) - 1)
    )
    return list(run) if talk else [replace(one, turn=None) for one in run]


def _rises(before: ParsedDocument, after: ParsedDocument) -> bool | None:
    """Whether the number of an id is higher than that of the one before; None between sessions."""
    one, other = (_session_and_number(document.name) for document in (before, after))
    return one[1] < other[1] if one[0] == other[0] else None


def _session_and_number(name: str) -> tuple[str, int]:
    """An id that ends with a number, taken apart; no session and -1 for another."""
    digits = name[len(name.rstrip(_DIGITS)) :][-_MAX_DIGITS:]
    return (name[: -len(digits)], int(digits)) if digits else ("", -1)


def _turn_of_title(document: ParsedDocument) -> Turn | None:
    """Speaker and time of a title "Ann, 2024-03-01 10:05" of a document with a numbered id."""
    speaker, comma, after = document.title.rstrip().partition(",")
    session, number = _session_and_number(document.name)
    if number < 0 or document.kind != "document" or not comma or "\n" in document.title:
        return None
    time = after.strip()
    if not 0 < len(speaker) <= _MAX_SPEAKER or len(time) > _MAX_TIME or after[:1].strip():
        return None
    if time and not _is_time(time):
        return None
    return Turn(speaker.strip(), time, session)


def _is_time(time: str) -> bool:
    """Whether a text is a day, perhaps with a time of the day, and nothing else."""
    dated = days_in(time) or _NUMERIC_DAY.search(time)
    return bool(dated) and _OF_TIMES.issuperset(_WORDS.findall(time.casefold()))


class _Said(NamedTuple):
    """The last message of a session."""

    speaker: str = ""
    text: str = ""  # with its speaker; the end of a long one
    addressed: str = ""  # who else spoke last before it

    def addressed_by(self, speaker: str) -> str:
        return self.addressed if self.speaker == speaker else self.speaker


class Conversations:
    """Gives the messages of one ingest what was said before them."""

    def __init__(self, store: MemoryStore, namespace: str) -> None:
        self._store = store
        self._namespace = namespace
        self._last: dict[str, _Said] = {}  # of each session the messages that this ingest saw last

    def link_to_previous(self, document: ParsedDocument, stored: bool) -> ParsedDocument:
        """A message with what was said before it in its session."""
        turn = document.turn
        if turn is None:
            return document
        said = self._last.get(turn.session)
        if said is None or stored:
            said = self.stored_before(turn.session, document.name)
        addressed = said.addressed_by(turn.speaker)
        text = f"{turn.speaker}: {document.text.strip()[-_BEFORE:]}"
        self._last[turn.session] = _Said(turn.speaker, text, addressed)
        return replace(document, turn=turn._replace(before=said.text, addressed=addressed))

    def stored_before(self, session: str, name: str) -> _Said:
        """The stored message before a source, stored or not, in a session."""
        found = self._store.messages.before(SESSION + session, name, self._namespace)
        if found is None:
            return _Said()
        speaker = _speaker_of(found[0])
        return _Said(speaker, f"{speaker}: {found[1][-_BEFORE:]}")


def _speaker_of(title: str) -> str:
    """The speaker of a message by its title, "Ann, 2024-03-01"."""
    return title.partition(",")[0]


class SpeakerText(NamedTuple):
    """A message of a source, for what learns from it."""

    source: str
    speaker: str
    time: str  # as it was written; empty if unknown
    title: str
    text: str
    start: int  # of the text in its source


def speaker_texts(document: ParsedDocument) -> Iterator[SpeakerText]:
    """The messages of a document, which is one, a conversation, or neither."""
    name = document.name
    for turn, blocks in _spoken(document):
        if document.turn is not None:
            yield SpeakerText(name, turn.speaker, turn.time, document.title, document.text, 0)
            continue
        start, place = blocks[0].start, blocks[0].place
        label = f"{turn.speaker}:"
        start += len(label) if document.text.startswith(label, start) else 0
        text = document.text[start : blocks[-1].end]
        yield SpeakerText(name, turn.speaker, place, place, text, start)


def message_slots(
    document: ParsedDocument, max_characters: int, extract: Extract
) -> list[NewSlot] | None:
    """The slots of a message or of a conversation, a slot for each message that is not long.

    They are about nothing that a question names, but have symbols of their own: that they are
    messages, their speaker, day and session, and what the speaker calls others. None for a
    document that is neither.
    """
    spoken = _spoken(document)
    if not spoken:
        return None
    return [
        slot
        for turn, blocks in spoken
        for slot in _slots(replace(document, blocks=blocks), turn, max_characters, extract)
    ]


def _spoken(document: ParsedDocument) -> list[tuple[Turn, tuple[Block, ...]]]:
    """The messages of a document; none if it is neither one nor a conversation."""
    if document.turn is not None:
        return [(document.turn, document.blocks)]
    participants = document.metadata.get("participants")
    if not isinstance(participants, list) or document.blocks[0].kind != "message":
        return []
    parts: list[tuple[str, list[Block]]] = []  # each begins with the label of its speaker
    for block in document.blocks:
        speaker = next(
            (one for one in participants if document.text.startswith(f"{one}:", block.start)), None
        )
        if speaker is not None and block.kind == "message":
            parts.append((str(speaker), []))
        elif not parts:
            parts.append(("", []))
        parts[-1][1].append(block)
    spoken: list[tuple[Turn, tuple[Block, ...]]] = []
    said = _Said()
    for speaker, blocks in parts:
        addressed = said.addressed_by(speaker)
        spoken.append((Turn(speaker, blocks[0].place, "", said.text, addressed), tuple(blocks)))
        text = document.text[blocks[0].start : blocks[-1].end]
        said = _Said(speaker, text[-_BEFORE:], addressed)
    return spoken


def _slots(
    document: ParsedDocument, turn: Turn, max_characters: int, extract: Extract
) -> Iterator[NewSlot]:
    """The slots of one message, whose document may hold others before and after its blocks."""
    first, last = document.blocks[0], document.blocks[-1]
    whole = document.text[first.start : last.end]
    keys = (
        MESSAGE,
        *(speaker_symbols(turn.speaker) if turn.speaker else ()),
        *(DAY + name for day in _days_of(turn, whole) for name in day.names()),
        *((SESSION + turn.session,) if document.turn else ()),
    )
    called = called_symbols(whole, turn.addressed)
    for window in document_windows(document, max_characters):
        text = document.text[window.start : window.end]
        before = turn.before if len(whole) < _SHORT else ""
        yield NewSlot(
            kind="passage",
            title=document.title,
            text=text,
            start=window.start,
            end=window.end,
            key_text=_key(turn.speaker, text, before),
            key_symbols=keys,
            value_symbols=tuple(dict.fromkeys((*filter(None, extract(text)), *called))),
            places=((0, document.title),) if document.turn else window.places,
        )


def _key(speaker: str, text: str, before: str) -> str:
    """What the key vector of a message encodes: who says it, and of a short one what was said."""
    said = text if text.startswith(f"{speaker}:") else f"{speaker}: {text}"
    return f"{before}\n{said}" if before else said


def texts_of_message(store: MemoryStore, slot: Slot) -> Iterator[str]:
    """What the key vector of a slot encodes if it is a message, with the one before and alone.

    All spellings of speakers and sessions are tried, one of which is that of ``message_slots``.
    """
    sessions = {slot.metadata.get("session", ""), _session_and_number(slot.source)[0]}
    conversations = Conversations(store, slot.namespace)
    said = [
        conversations.stored_before(str(one), slot.source) for one in sorted(map(str, sessions))
    ]
    before = [one.text for one in said]
    if (last := store.passage_beside(slot, -1)) is not None:
        before.append(last.text[-_BEFORE:])
    label, colon, _ = slot.text.partition(":")
    speakers = (slot.metadata.get("speaker", ""), label if colon else "", _speaker_of(slot.title))
    for one in (*before, ""):
        yield from (_key(str(speaker), slot.text, one) for speaker in speakers if speaker)


def _days_of(turn: Turn, text: str) -> Iterator[WrittenDay]:
    """The day on which a message was sent, and those of which it says "yesterday" and the like."""
    for sent in days_in(turn.time)[:1]:
        yield sent
        day = sent.full()
        for place in times_in(text, day) if day else ():
            if place.relative and place.role == "at" and place.days.count <= _MAX_DAYS:
                yield from (WrittenDay.of(one) for one in place.days.each() if one != day)
