"""Negation: which clauses of a text deny what they say. English, and linear in the text.

Source: NegEx (Chapman et al. 2001): a word of negation governs its clause, up to a word or a mark
that ends it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memnet.text.sentences import sentences

_NEVER_TRUE = re.compile(
    r"\b(?:not(?! (?:only|just|merely|simply|least)\b)|never|cannot|neither|nor|none(?! other\b)"
    r"|nobody|nothing(?! but\b)|nowhere|(?<!\bor )without(?! doubt\b)"
    r"|no(?! (?:fewer|less|more|later|earlier|doubt|longer)\b|[. ]+\d)"
    r"|(?:failed|refused|declined) to|den(?:y|ies|ied))\b|n['’]t\b",
    re.IGNORECASE,
)
"""Cues of what was not so. "Not only", "no fewer than" and "No. 5" deny nothing."""
_NO_LONGER_TRUE = re.compile(
    r"\b(?:no longer|any ?more|any longer|(?:stop(?:s|ped)?|ceas(?:es?|ed)|quit) [a-z]+ing"
    r"|used to)\b",
    re.IGNORECASE,
)
"""Cues of what was so and is not: they deny it now, and not what it was then."""
_PRESENT = re.compile(
    r"\b(?:is|are|am|does|do|has|have|['’]s|now|currently|today)\b", re.IGNORECASE
)
_PAST = re.compile(r"\b(?:did|was|were|had|used to|before|formerly|once)\b", re.IGNORECASE)
_BORDER = re.compile(
    r"[;:!?()\[\]—–]|[.,](?=\s|$)"
    r"|\bno\b(?! longer\b)|\b(?<!\bor )without\b"
    r"|\bfor (?=(?:\w+ ){0,4}(?:hour|day|week|month|year|decade|centur))"
    r"|\b(?:but|except|than|until|till|because|although|though|while|whereas|if|unless|when"
    r"|where|wherever|who|whom|whose|which|after|since)\b"
    r"|\band (?=(?:he|she|it|they|we|i|is|was|are|were|has|had|will|now|then|also"
    r"|instead|later|\w+ed)\b)",
    re.IGNORECASE,
)
"""Where a clause ends, and with it what a negation governs: "no" and "without" govern what follows
them alone."""


_DENYING_ANSWER = re.compile(r"(?:no|nobody|none|nothing|nowhere|without|neither)\b", re.IGNORECASE)


class Clause(NamedTuple):
    """A part of a text that says one thing."""

    start: int
    end: int
    denied: bool


def negated(text: str) -> bool:
    """Whether anything in a text is denied."""
    return _NEVER_TRUE.search(text) is not None or _NO_LONGER_TRUE.search(text) is not None


def denies_itself(answer: str) -> bool:
    """Whether an answer is itself a denial: "nobody", "without a crew"."""
    return _DENYING_ANSWER.match(answer) is not None


def clauses(text: str, question: str = "") -> list[Clause]:
    """The clauses of a text, in order, with whether each denies what it says.

    Args:
        text: one sentence or many.
        question: as asked; where it asks about the past, what is so no longer is not denied.
    """
    if not negated(text):
        return [Clause(0, len(text), denied=False)]
    past = _PAST.search(question) is not None and not _PRESENT.search(question)
    return [
        Clause(start, end, denied=_denies(text[start:end], past)) for start, end in _parts(text)
    ]


def asserted(text: str) -> str:
    """A text without the clauses that deny what they say."""
    return " ".join(text[one.start : one.end] for one in clauses(text) if not one.denied)


def _denies(clause: str, past: bool) -> bool:
    if _NEVER_TRUE.search(clause):
        return True
    return not past and _NO_LONGER_TRUE.search(clause) is not None


def _parts(text: str) -> Iterator[tuple[int, int]]:
    for start, end in sentences(text):
        for match in _BORDER.finditer(text, start, end):
            if match.start() > start:
                yield start, match.start()
                start = match.start()
        yield start, end


def without_cues(text: str) -> str:
    """A text without its words of negation."""
    return _NO_LONGER_TRUE.sub(" ", _NEVER_TRUE.sub(" ", text))
