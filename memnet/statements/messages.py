"""Statements from messages: what speakers plainly say of themselves is told.

Plain are sentences that begin with "I" or "my": no questions, no requests, nothing in quotes or
code, and nothing that is only thought, hoped or wished. What is left out is still in the message.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from memnet.config import TellConfig
from memnet.errors import InputError
from memnet.ingest.messages import SpeakerText
from memnet.statements.dry_run import nearest_to
from memnet.statements.protocol import ParsedStatement
from memnet.statements.teller import ParserAndJudge, TellTransaction, checked, statement_slot
from memnet.storage import Encode, MemoryStore, NewSlot
from memnet.text.checks import latest_moment
from memnet.text.dates import written_moment
from memnet.text.english import listed, sentences
from memnet.text.names import subject_of

_MAX_SENTENCE = 300  # Characters: a longer one says more than one thing
# Characters of a message that are looked at: a longer one is a text that somebody pasted.
_MAX_MESSAGE = 20_000
_MAYBE = re.compile(r"\b(?:I|[Mm]y)\b")
# The beginning of a plain sentence, and where in it the statement starts.
_BEGIN = re.compile(
    r"(?:(?:and|but|so|also|well|yes|yeah|no|oh|actually|btw|by the way)\b,? )?"
    r"(?P<said>(?:I|I['’](?:m|ve)) |my (?=\w+ ))",
    re.IGNORECASE,
)
# After "I" or "my": nothing lasting, or nothing certain, is said of the speaker.
_NOT_PLAIN = re.compile(
    rf"(?:(?:{'|'.join(listed('adverbs'))}) ){{0,4}}(?:{'|'.join(listed('not plain'))})\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|would|could|might|suppose|imagine|please|can you|you should|"
    r"pretend)\b|[`{}<>=|]|https?:",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)
_QUOTED_LINE = re.compile(r"[ \t]*(?:>|\||    |\t)")
_OPEN, _CLOSED, _PLAIN_QUOTES = "“«„", "”»", '"'


def plain_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where a message has plain sentences of its speaker about himself: their spans."""
    # Most messages end here: to look for one word costs a thousandth of taking sentences apart.
    if not _MAYBE.search(text, 0, _MAX_MESSAGE):
        return
    text = text[:_MAX_MESSAGE]
    code = [found.start() for found in _FENCE.finditer(text)]
    lines = text.splitlines(keepends=True)
    for line_start, line in zip(accumulate(map(len, lines), initial=0), lines, strict=False):
        if not _MAYBE.search(line) or _QUOTED_LINE.match(line):
            continue
        if sum(place <= line_start for place in code) % 2:
            continue
        for start, end in sentences(line):
            said = _said(line[start:end])
            if said is not None and not _in_quotes(text, line_start + start):
                yield line_start + start + said, line_start + end


def _said(sentence: str) -> int | None:
    """Where in a sentence a plain statement of its speaker starts; None if it is not one."""
    begin = _BEGIN.match(sentence)
    if begin is None or len(sentence) > _MAX_SENTENCE:
        return None
    if _NOT_PLAIN.match(sentence, begin.end("said")) or _CONDITION.search(sentence):
        return None
    if sentence.count(_PLAIN_QUOTES) % 2 or "?" in sentence:
        return None
    return begin.start("said")


def _in_quotes(text: str, place: int) -> bool:
    """Whether a place of a text is within quotation marks of the same paragraph."""
    begin = text.rfind("\n\n", 0, place) + 1
    before = text[begin:place]
    opened = sum(map(before.count, _OPEN)) > sum(map(before.count, _CLOSED))
    return opened or before.count(_PLAIN_QUOTES) % 2 == 1


_MY = re.compile(r"my(?= \w)", re.IGNORECASE)


class _Learned(NamedTuple):
    """A statement of a message that is to be told."""

    message: SpeakerText
    at: float | None
    sentence: ParsedStatement
    slot: NewSlot


@dataclass(frozen=True)
class Learner:
    """Takes messages apart and tells what their speakers say of themselves."""

    store: MemoryStore
    encode: Encode
    config: TellConfig
    rules: ParserAndJudge

    def prepare(self, messages: Sequence[SpeakerText], namespace: str) -> Callable[[], None] | None:
        """Parse and encode what messages say, in their order, before a transaction begins.

        Returns what tells it, within a transaction in which the messages are stored; None for
        nothing.
        """
        found = [one for message in messages for one in self._learned(message)]
        if not found:
            return None
        slots = [one.slot for one in found]
        texts = [text for one in slots for text in (one.key_text, one.relation)]
        vectors = self.store.encoded(texts, self.encode)
        near = nearest_to(slots, self.store, vectors, namespace)

        def write() -> None:
            telling, message = None, None
            for one, nearest in zip(found, near, strict=True):
                if telling is None or one.message is not message:
                    message = one.message
                    telling = TellTransaction(
                        self.store, vectors, self.config, self.rules.judge, one.at, namespace,
                        message=message.source,
                    )  # fmt: skip
                telling.tell(one.sentence, one.slot, nearest)

        return write

    def _learned(self, message: SpeakerText) -> list[_Learned]:
        """The statements of a message; none of one whose time can't be understood."""
        subject = subject_of(message.speaker)
        if subject is None or not (spans := list(plain_sentences(message.text))):
            return []
        at = written_moment(message.time) if message.time else None
        if message.time and (at is None or not 0 <= at <= latest_moment()):
            return []
        found: list[_Learned] = []
        for start, end in spans:
            for parsed in self._parse(message.text[start:end], time.time() if at is None else at):
                sentence = _of_speaker(parsed, subject, message.start + start)
                if sentence is not None:
                    slot = statement_slot(sentence)
                    said = replace(slot.structure, speaker=message.speaker)
                    slot = replace(slot, structure=said, places=((0, message.title),))
                    found.append(_Learned(message, at, sentence, slot))
        return found

    def _parse(self, text: str, at: float) -> list[ParsedStatement]:
        """The statements of a sentence; none of one that the parser refuses."""
        with suppress(InputError):
            return [checked(one, text) for one in self.rules.parser.parse(text, max(0.0, at), ())]
        return []


def _of_speaker(parsed: ParsedStatement, subject: str, start: int) -> ParsedStatement | None:
    """A statement about the speaker, by his name, or what is his; None for any other."""
    if parsed.act == "forget" or parsed.certainty == "maybe" or not parsed.relation:
        return None
    if parsed.subject != "I" and not _MY.match(parsed.subject):
        return None
    return replace(
        parsed,
        subject=_named(parsed.subject, subject),
        aliases=tuple(_named(alias, subject) for alias in parsed.aliases),
        start=start + parsed.start,
        end=start + parsed.end,
    )


def _named(words: str, subject: str) -> str:
    """Words in which "I" and "my" are the speaker's name."""
    if subject == "I":
        return words
    return subject if words == "I" else _MY.sub(lambda _: f"{subject}'s", words, count=1)
