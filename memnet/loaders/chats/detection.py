"""Chats as text: WhatsApp's exports, and lines "Ann: See you at 5"."""

from collections.abc import Iterator
from pathlib import PurePath

from memnet.errors import InputError, Problem
from memnet.io import decode
from memnet.loaders.chats.chat import conversation
from memnet.loaders.chats.transcript import is_transcript, read_transcript
from memnet.loaders.chats.whatsapp import is_whatsapp, read_whatsapp
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile

# Titles that files of chats have and that say nothing: WhatsApp's "_chat.txt".
_NAMELESS = frozenset({"chat", "transcript", "messages"})


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The conversation, by any sign of one.

    Raises:
        InputError: no line begins with a speaker.
    """
    text = decode(file.data)
    document = read_chat(file, text) or _document(file, text)
    if document is None or not document.metadata["participants"]:
        raise InputError(
            'holds no chat, expected lines such as "Ann: See you at 5"; pass it without --as'
        )
    yield document


def read_chat(file: SourceFile, text: str) -> ParsedDocument | None:
    """The conversation that a text evidently is; None if it is a text like any other."""
    return _document(file, text) if is_whatsapp(text) or is_transcript(text) else None


def _document(file: SourceFile, text: str) -> ParsedDocument | None:
    messages = read_whatsapp(text) if is_whatsapp(text) else read_transcript(text)
    return conversation(messages, file.name, _title(file))


def _title(file: SourceFile) -> str:
    """What the file is called; if that says nothing, its archive or else the participants."""
    if file.title.lower() not in _NAMELESS:
        return file.title
    folder = PurePath(file.name).parent
    return folder.stem.strip("_") if folder.suffix.lower() == ".zip" else ""
