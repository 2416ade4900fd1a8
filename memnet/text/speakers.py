"""Speakers of messages: the symbols by which they are found, and what others call them."""

import re
from collections.abc import Iterable

from memnet.text.names import is_name, normalise, symbol

# Key symbol of every message; a slash starts symbols that no question can name by chance.
MESSAGE = "/message"
_SPEAKER = "/speaker "
_CALLS = "/calls "
_SESSION = "/session "
_DAY = "/day "
_MIN_LETTERS = 3  # Min. letters of a part of a speaker's name that stands for all of it
_NAME = r"([A-Z][a-z]{2,20})\b"
# Names after greetings and the like, and at the end of a sentence after a comma.
_VOCATIVE = re.compile(
    r"\b(?:[Hh]i+|[Hh]ey+|[Hh]ello+|[Tt]hanks|[Tt]hank you|[Bb]ye+|[Gg]ood ?night|"
    r"[Gg]ood (?:morning|afternoon|evening)|[Ww]elcome|[Ss]ure|[Yy]es|[Nn]o|[Ww]ow|"
    r"[Cc]ongratulations|about you|are you)(?: there)?,? "
    rf"{_NAME}(?=\s*[!.,?])|, {_NAME}(?=[!.?])"
)
# Speakers that are no people: what they say of themselves is not remembered.
_ROLES = frozenset("assistant system tool function developer bot model ai".split())
_USER = "user"


def speaker_symbols(speaker: str) -> tuple[str, ...]:
    """The symbols of a speaker: his name and its parts."""
    name = symbol(speaker)
    parts = [part for part in name.split() if len(part) >= _MIN_LETTERS and is_name(part)]
    return tuple(speaker_symbol(one) for one in dict.fromkeys((name, *parts)))


def speaker_symbol(name: str) -> str:
    """The symbol of the messages of a speaker, by his normalised name."""
    return f"{_SPEAKER}{name}"


def speaker_names(symbols: Iterable[str]) -> frozenset[str]:
    """The names of the speaker of a message, and their parts, among its symbols."""
    return frozenset(one.removeprefix(_SPEAKER) for one in symbols if one.startswith(_SPEAKER))


def called_symbols(text: str, addressed: str) -> tuple[str, ...]:
    """The mentions of a message that calls another speaker by some names: "Hello Kate!"."""
    own = symbol(addressed)
    names = {normalise(one or other) for one, other in _VOCATIVE.findall(text)}
    return tuple(f"{_CALLS}{name} /{own}" for name in sorted(names) if own and is_name(name))


def called_prefix(name: str) -> str:
    """What the symbols of all messages start with that call somebody by a name."""
    return f"{_CALLS}{name} /"


def day_symbols(days: Iterable[str]) -> tuple[str, ...]:
    """The symbols of the days on which a message was sent, or that a question names."""
    return tuple(f"{_DAY}{day}" for day in days)


def is_day(name: str) -> bool:
    """Whether a symbol is that of a day."""
    return name.startswith(_DAY)


def session_symbol(session: str) -> str:
    """The symbol of the messages of one session, as its name is written."""
    return f"{_SESSION}{session}"


def is_session(name: str) -> bool:
    """Whether a symbol is that of a session."""
    return name.startswith(_SESSION)


def subject_of(speaker: str) -> str | None:
    """Who "I" is in a message: the speaker; "I" for the user of an assistant, None for none."""
    name = speaker.strip()
    if not name or name.casefold() in _ROLES:
        return None
    return "I" if name.casefold() == _USER else name
