"""Sentences as statements, by rules for English: subject, predicate, value and negation.

A sentence that the rules can't parse is a statement about itself: it is stored, and only its own
repetition is compared with it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal

from memnet.statements.relations import (
    Relation,
    is_plain_name,
    relation_of,
    starts_relation,
)
from memnet.storage import NewSlot
from memnet.text.english import sentences
from memnet.text.names import maximal_names, mentions, normalise

_SENTENCE_ENDS = " \t\r\n.!;,\"'”"
_FORGET = re.compile(r"(?:please )?forget that\s+", re.IGNORECASE)
_LEAD_IN = re.compile(
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
"""How a predicate is negated, and whether that says that it was true before."""
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
_MAX_SUBJECT_WORDS = 8
_SUFFIXES = re.compile(r"(?<=\w\w)(?:s|es|ing|e)$")


@dataclass(frozen=True)
class ParsedStatement:
    """One sentence, parsed."""

    text: str
    """``source_text[start:end]``, exactly."""
    start: int
    end: int
    subject: str
    """As written, with pronouns resolved; empty where none was found."""
    about: str
    """The subject, normalised; without one, all of the sentence."""
    relation: Relation
    words: tuple[str, ...]
    """Stems of the predicate, or of all without a subject: equal if the same word for word."""
    negative: bool
    """Whether the predicate is negated."""
    act: Literal["tell", "end", "forget"]
    """Whether it holds, holds no longer, or is to be forgotten."""


def parse_statements(text: str) -> list[ParsedStatement]:
    """Parse the sentences of a text; a pronoun stands for the subject before it."""
    parsed: list[ParsedStatement] = []
    topic = ""
    for start, end in sentences(text):
        parsed.append(parse_sentence(text[start:end], start, topic))
        if parsed[-1].subject and not parsed[-1].subject.startswith(f"{topic}'s "):
            topic = parsed[-1].subject
    return parsed


@lru_cache(maxsize=10_000)
def parse_sentence(
    sentence: str, start: int = 0, topic: str = "", subject: str = ""
) -> ParsedStatement:
    """Parse one sentence. Cached: each ``tell`` parses the earlier statements about its subject.

    Args:
        sentence: as written.
        start: its first character in its text.
        topic: what "she" and the like stand for; empty where nothing came before.
        subject: of a stored statement; empty to find it.
    """
    body = _FILLERS.sub("", _without_contractions(sentence.strip(_SENTENCE_ENDS)))
    forget = _FORGET.match(body)
    offset = 0
    while lead_in := (_FORGET.match(body, offset) or _LEAD_IN.match(body, offset)):
        offset = lead_in.end()
    body = _LEADING_TIME.sub(r"\2 \1", body[offset:])
    is_question = sentence.rstrip().endswith("?")
    written_subject, predicate = ("", body) if is_question else _split(body)
    predicate, negative, over = _without_negation(predicate)
    subject = subject or _resolved(written_subject, topic)
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
    subject_is_named = parsed.subject in parsed.text
    key_text = parsed.text if subject_is_named else f"{parsed.subject}\n{parsed.text}"
    return NewSlot(
        kind="passage",
        title=parsed.subject,
        text=parsed.text,
        start=parsed.start,
        end=parsed.end,
        key_text=key_text,
        key_symbols=tuple(key_symbols),
        value_symbols=tuple(name for name in mentioned if name and name not in key_symbols),
        relation=parsed.relation.words,
    )


def _without_contractions(text: str) -> str:
    for pattern, words in _CONTRACTIONS:
        text = pattern.sub(words, text)
    return " ".join(text.split())


def _split(body: str) -> tuple[str, str]:
    """Subject and predicate; the subject is empty where none is found."""
    for space in islice(re.finditer(" ", body), _MAX_SUBJECT_WORDS):
        subject, position = body[: space.start()], space.end()
        is_predicate = starts_relation(body, position) or any(
            negation.match(body, position) for negation, _ in _NEGATIONS
        )
        if is_predicate and _may_be_subject(subject):
            return subject, body[position:]
    words = body.split(" ")
    for count in range(min(len(words) - 1, _MAX_SUBJECT_WORDS), 0, -1):
        subject = " ".join(words[:count])
        if is_plain_name(subject) and _may_be_subject(subject):
            return subject, " ".join(words[count:])
    return "", body


def _may_be_subject(text: str) -> bool:
    words = text.split(" ")
    if any(word.casefold() in _NO_SUBJECT for word in words):
        return False
    return len(words) <= 2 or is_plain_name(text) or bool(_DESCRIPTION.match(text))


def _resolved(subject: str, topic: str) -> str:
    """A subject with its pronoun resolved; empty where the topic is not known."""
    if _PRONOUN.match(subject):
        return topic
    if possessive := _POSSESSIVE.match(subject):
        return f"{topic}'s{subject[possessive.end() :]}" if topic else ""
    return subject


def _without_negation(predicate: str) -> tuple[str, bool, bool]:
    """A predicate without negation, whether it was negated, and whether it was true before."""
    for negation, over in _NEGATIONS:
        if match := negation.fullmatch(predicate):
            positive = " ".join(part for part in match.groups() if part)
            without_any_more = _ANY_MORE.sub("", positive)
            return without_any_more, True, over or without_any_more != positive
    return predicate, False, False


def _names_in(subject: str) -> str:
    return re.sub(r"['’]s\b", "", _DETERMINER.sub("", subject, count=1))


def _stems(text: str) -> tuple[str, ...]:
    words = (word for word in normalise(text).split() if word not in ("the", "a", "an"))
    return tuple(_SUFFIXES.sub("", _SUFFIXES.sub("", word)) for word in words)
