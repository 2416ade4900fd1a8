"""What people tell, as statements: who it is about, what it says, and whether it takes back.

By rules alone, without a language model. A sentence that they can't take apart is a statement about
itself: it is remembered, and nothing but its own repetition ever meets it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from memnet.statements.relations import (
    Relation,
    is_name,
    relation_of,
    starts_relation,
)
from memnet.storage import NewSlot
from memnet.text.names import maximal_names, mentions, normalise
from memnet.text.sentences import sentences

_END = " \t\r\n.!;,\"'”"
_FORGET = re.compile(r"(?:please )?forget that\s+", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:then|and|but|so|please|yesterday|(?:please )?remember(?: that)?|note that)\b[,:]?\s+",
    re.IGNORECASE,
)
_LEADING_TIME = re.compile(
    r"^((?:in|since) \d{4}|(?:in|on|since|from|as of|last|this) [^,]{1,30}(?=,)),?\s+(.+)",
    re.IGNORECASE,
)
_FILLERS = re.compile(
    r"\b(?:now|currently|just|recently|finally|still|already|also|again|today|actually|really)\b\s*",
    re.IGNORECASE,
)
_CONTRACTIONS = (
    (re.compile(r"\bcan['’]t\b|\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
    (re.compile(r"\bI['’]m\b", re.IGNORECASE), "I am"),
    (re.compile(r"\b(he|she|it)['’]s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(we|you|they)['’]re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(I|we|you|they)['’]ve\b", re.IGNORECASE), r"\1 have"),
)
_NEGATIONS = (
    (re.compile(r"(?:(is|are|am) )?no longer\s+(.+)", re.IGNORECASE), True),
    (re.compile(r"()(?:has |have )?(?:stopped|ceased)\s+(\w+ing\b.*)", re.IGNORECASE), True),
    (re.compile(r"(?:(is|are|am)|does|do|did|has|have) not\s+(.+)", re.IGNORECASE), False),
    (re.compile(r"()never\s+(.+)", re.IGNORECASE), False),
)
"""What stands before a denied predicate, and whether it says that it was true before."""
_ANY_MORE = re.compile(r"(?<!\s)\s++any(?: ?more| longer)$", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|it|they)$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?:his|her|its|their)\b", re.IGNORECASE)
_DETERMINER = re.compile(r"^(?:the|a|an|my|our|your|his|her|its|their|this|that) ", re.IGNORECASE)
_DESCRIPTION = re.compile(rf"{_DETERMINER.pattern}|^.+['’]s ", re.IGNORECASE)
_NO_SUBJECT = frozenset(
    """
    there here that this if when while where who whom whose which what why how whether because
    although to not will would can could may might shall should must was were had did does do has
    have nobody everybody everyone someone
    says said thinks thought believes believed hopes hoped wants wanted
    """.split()
)
_LONGEST_SUBJECT = 8
"""Words."""
_ENDINGS = re.compile(r"(?<=\w\w)(?:s|es|ing|e)$")


@dataclass(frozen=True)
class ParsedStatement:
    """One sentence that was told."""

    text: str
    """``told text[start:end]``, exactly."""
    start: int
    end: int
    subject: str
    """As written, a pronoun replaced by what it stands for; empty where none was found."""
    about: str
    """The subject, normalised; without one, all of the sentence."""
    relation: Relation
    words: tuple[str, ...]
    """Stems of subject and predicate: equal for statements that say the same, word for word."""
    negative: bool
    """Whether the predicate is denied."""
    act: Literal["tell", "end", "forget"]
    """To remember, to say that it holds no longer, or to have it forgotten."""


class _Told(NamedTuple):
    subject: str
    predicate: str


def parse_statements(text: str) -> list[ParsedStatement]:
    """The sentences of a text as statements; "she" and the like take the subject before them."""
    found: list[ParsedStatement] = []
    topic = ""
    for start, end in sentences(text):
        found.append(parse_sentence(text[start:end], start, topic))
        if found[-1].subject and not found[-1].subject.startswith(f"{topic}'s "):
            topic = found[-1].subject
    return found


@lru_cache(maxsize=10_000)
def parse_sentence(
    sentence: str, start: int = 0, topic: str = "", subject: str = ""
) -> ParsedStatement:
    """One sentence as a statement. Kept for a while: each write reads what was told before anew.

    Args:
        sentence: as written.
        start: where it starts in the told text.
        topic: what "she" and the like stand for; empty where nothing came before.
        subject: what it is about, where that is known from before.
    """
    body = _FILLERS.sub("", _without_contractions(sentence.strip(_END)))
    forget = _FORGET.match(body)
    start_of_rest = 0
    while lead := (_FORGET.match(body, start_of_rest) or _LEAD.match(body, start_of_rest)):
        start_of_rest = lead.end()
    body = body[start_of_rest:]
    body = _LEADING_TIME.sub(r"\2 \1", body)
    told = _split(body) if not sentence.rstrip().endswith("?") else _Told("", body)
    predicate, negative, over = _without_negation(told.predicate)
    subject = subject or _resolved(told.subject, topic)
    relation = relation_of(predicate, subject) if subject else Relation(f"X {predicate}")
    about = subject_symbol(subject) or normalise(body)
    return ParsedStatement(
        text=sentence,
        start=start,
        end=start + len(sentence),
        subject=subject,
        about=about,
        relation=relation,
        words=_stems(predicate if subject else body),
        negative=negative or relation.ends,
        act="forget" if forget else "end" if over or relation.ends else "tell",
    )


def subject_symbol(subject: str) -> str:
    """The normalised name of a subject, without "the" and the like."""
    return normalise(_DETERMINER.sub("", subject, count=1))


def statement_slot(parsed: ParsedStatement) -> NewSlot:
    """The slot of a statement; the time from which it is valid is yet to be set."""
    key_symbols = dict.fromkeys((parsed.about, *maximal_names(mentions(_names_in(parsed.subject)))))
    mentioned = dict.fromkeys((*mentions(parsed.text), parsed.relation.value))
    return NewSlot(
        kind="passage",
        title=parsed.subject,
        text=parsed.text,
        start=parsed.start,
        end=parsed.end,
        key_text=parsed.text
        if parsed.subject in parsed.text
        else f"{parsed.subject}\n{parsed.text}",
        key_symbols=tuple(key_symbols),
        value_symbols=tuple(name for name in mentioned if name and name not in key_symbols),
        relation=parsed.relation.words,
    )


def _without_contractions(text: str) -> str:
    for pattern, words in _CONTRACTIONS:
        text = pattern.sub(words, text)
    return " ".join(text.split())


def _split(body: str) -> _Told:
    """Subject and predicate; the subject is empty where none is found."""
    for space in islice(re.finditer(" ", body), _LONGEST_SUBJECT):
        subject, position = body[: space.start()], space.end()
        known = starts_relation(body, position) or any(
            negation.match(body, position) for negation, _ in _NEGATIONS
        )
        if known and _may_be_subject(subject):
            return _Told(subject, body[position:])
    words = body.split(" ")
    for count in range(min(len(words) - 1, _LONGEST_SUBJECT), 0, -1):
        subject = " ".join(words[:count])
        if is_name(subject) and _may_be_subject(subject):
            return _Told(subject, " ".join(words[count:]))
    return _Told("", body)


def _may_be_subject(text: str) -> bool:
    words = text.split(" ")
    if any(word.casefold() in _NO_SUBJECT for word in words):
        return False
    return len(words) <= 2 or is_name(text) or bool(_DESCRIPTION.match(text))


def _resolved(subject: str, topic: str) -> str:
    """A subject with what its pronoun stands for; empty where that is not known."""
    if _PRONOUN.match(subject):
        return topic
    if possessive := _POSSESSIVE.match(subject):
        return f"{topic}'s{subject[possessive.end() :]}" if topic else ""
    return subject


def _without_negation(predicate: str) -> tuple[str, bool, bool]:
    """A predicate as it would be said, whether it is denied, and whether it was true before."""
    for negation, over in _NEGATIONS:
        if match := negation.fullmatch(predicate):
            positive = " ".join(part for part in match.groups() if part)
            shorter = _ANY_MORE.sub("", positive)
            return shorter, True, over or shorter != positive
    return predicate, False, False


def _names_in(subject: str) -> str:
    return re.sub(r"['’]s\b", "", _DETERMINER.sub("", subject, count=1))


def _stems(text: str) -> tuple[str, ...]:
    words = (word for word in normalise(text).split() if word not in ("the", "a", "an"))
    return tuple(_ENDINGS.sub("", _ENDINGS.sub("", word)) for word in words)
