"""Statements from messages: what speakers say of themselves goes to the write controller."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from memnet.config import TellConfig
from memnet.errors import InputError
from memnet.ingest.messages import SaidMessage
from memnet.statements.candidates import NEAREST
from memnet.statements.first_person import plain_sentences, subject_of
from memnet.statements.protocol import ParsedStatement
from memnet.statements.teller import Rules, Telling, checked, statement_slot
from memnet.storage import Encode, MemoryStore, NewSlot
from memnet.text.checks import latest_moment
from memnet.text.moments import written_moment

_I = re.compile(r"I$")
_MY = re.compile(r"my(?= \w)", re.IGNORECASE)


class _Learned(NamedTuple):
    """A statement of a message that is to be told."""

    message: SaidMessage
    at: float | None
    sentence: ParsedStatement
    slot: NewSlot


class Learner:
    """Takes messages apart and tells what their speakers say of themselves."""

    def __init__(
        self, store: MemoryStore, encode: Encode, config: TellConfig, rules: Rules
    ) -> None:
        """Take the parts of ``tell``."""
        self._store = store
        self._encode = encode
        self._config = config
        self._rules = rules

    def prepare(self, messages: Sequence[SaidMessage], namespace: str) -> Callable[[], None] | None:
        """Parse and encode what some messages say, before a transaction begins.

        Args:
            messages: in the order in which they were said.
            namespace: that they are in.

        Returns:
            Tells it, within a transaction in which the messages are stored; None for nothing.
        """
        found = [one for message in messages for one in self._learned(message)]
        if not found:
            return None
        slots = [one.slot for one in found]
        texts = [text for one in slots for text in (one.key_text, one.relation)]
        vectors = self._store.encoded(texts, self._encode)
        near = [
            self._store.nearest_statements(vectors[one.key_text], NEAREST, namespace)
            for one in slots
        ]

        def write() -> None:
            telling, message = None, None
            for one, nearest in zip(found, near, strict=True):
                if telling is None or one.message is not message:
                    message = one.message
                    telling = Telling(
                        self._store, vectors, self._config, self._rules.judge, one.at, namespace,
                        message=message.source,
                    )  # fmt: skip
                telling.tell(one.sentence, one.slot, nearest)

        return write

    def _learned(self, message: SaidMessage) -> list[_Learned]:
        """The statements of a message; none of one whose time can't be understood."""
        subject = subject_of(message.speaker)
        spans = [] if subject is None else list(plain_sentences(message.text))
        if not spans or subject is None:
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
                    places = ((0, message.title),)
                    slot = replace(slot, structure=said, places=places)
                    found.append(_Learned(message, at, sentence, slot))
        return found

    def _parse(self, text: str, at: float) -> list[ParsedStatement]:
        """The statements of a sentence; none of one that the parser refuses."""
        try:
            found = self._rules.parser.parse(text, max(0.0, at), ())
        except InputError:
            return []
        return [checked(one, text) for one in found]


def _of_speaker(parsed: ParsedStatement, subject: str, start: int) -> ParsedStatement | None:
    """A statement about the speaker, by his name, or what is his; None for any other.

    Args:
        parsed: with offsets in its own sentence.
        subject: what "I" stands for.
        start: of the sentence in its source.
    """
    if parsed.act == "forget" or parsed.certainty == "maybe" or not parsed.relation:
        return None
    if not _I.match(parsed.subject) and not _MY.match(parsed.subject):
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
    return subject if _I.match(words) else _MY.sub(lambda _: f"{subject}'s", words, count=1)
