"""Chats written for this project, with questions, and sentences that affirm or deny something."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from memnet.io import read_json_lines
from memnet.statements.stance import shared_words
from memnet.text.english import sentences

FOLDER = Path(__file__).parent
_HELD_OUT = 3
"""Of each file every third line is never learned from."""
_OTHERS = 8
"""Sentences of the same chat that neither affirm nor deny, for each question: those that share most
words with it, which are read in use."""


class ChatMessage(BaseModel):
    """A message of a chat."""

    speaker: str
    text: str


class AnsweredQuestion(BaseModel):
    """A question that a chat answers; ``answer`` stands word for word in a message."""

    question: str
    answer: str


class Contradicted(BaseModel):
    """A question that two messages of a chat answer differently, by their indices."""

    question: str
    denied: int
    affirmed: int


class Chat(BaseModel):
    """A chat: of two people, or what somebody wrote to an assistant, without its replies."""

    id: str
    topic: str
    messages: list[ChatMessage]
    answered: list[AnsweredQuestion]
    unanswered: list[str]
    contradicted: list[Contradicted]
    whether: list[str]
    """Further questions whether something is so, about which nothing is contradictory."""


class StanceSet(BaseModel):
    """A question whether something is so, with sentences."""

    question: str
    denies: str
    affirms: str
    neither: list[str]


class StanceExample(NamedTuple):
    """A sentence read for a question."""

    question: str
    text: str
    affirms: bool
    denies: bool
    held_out: bool


def chats() -> list[Chat]:
    """All chats."""
    expected = '{"id": str, "topic": str, "messages": [...], "answered": [...], ...}'
    return read_json_lines(FOLDER / "chats.jsonl", Chat, "chat", expected)


def stance_sets() -> list[StanceSet]:
    """All questions with a sentence for each stance."""
    expected = '{"question": str, "denies": str, "affirms": str, "neither": [...]}'
    return read_json_lines(FOLDER / "stances.jsonl", StanceSet, "stance set", expected)


def stance_examples() -> Iterator[StanceExample]:
    """Sentences with their stances: of the sets, and of the contradictions in the chats."""
    sets = stance_sets()
    for number, one in enumerate(sets):
        held_out = is_held_out(number)
        yield StanceExample(one.question, one.affirms, True, False, held_out)
        yield StanceExample(one.question, one.denies, False, True, held_out)
        for text in one.neither:
            yield StanceExample(one.question, text, False, False, held_out)
        other = sets[(number + _HELD_OUT) % len(sets)]
        if is_held_out((number + _HELD_OUT) % len(sets)) == held_out:
            yield StanceExample(one.question, other.affirms, False, False, held_out)
            yield StanceExample(one.question, other.denies, False, False, held_out)
    for number, chat in enumerate(chats()):
        for asked in chat.contradicted:
            sides = (asked.denied, asked.affirmed)
            for side in sides:
                affirms = side == asked.affirmed
                text = chat.messages[side].text
                yield StanceExample(asked.question, text, affirms, not affirms, is_held_out(number))
            rest = [
                text
                for index, message in enumerate(chat.messages)
                if index not in sides
                for text in _sentences(message.text)
            ]
            rest.sort(key=lambda text: -shared_words(asked.question, text))
            for text in rest[:_OTHERS]:
                yield StanceExample(asked.question, text, False, False, is_held_out(number))


def is_held_out(number: int) -> bool:
    """Whether the line of a file, counted from 0, is not learned from."""
    return number % _HELD_OUT == 0


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]
