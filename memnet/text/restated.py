"""Whether a text says again what a question asks for yes or no, or its opposite."""

import re
from functools import cache
from pathlib import Path

from memnet.text.english import query_terms

_DENIES = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b", re.IGNORECASE
)
_DENYING = frozenset(
    "not no never none nobody nothing neither nor without cannot isn aren don doesn wasn weren "
    "didn hasn haven hadn won can t".split()
)
# What limits or shifts a statement: question and clause have to have the same of these.
_LIMITS = re.compile(
    r"\b(?:except|unless|only|hardly|until|used to|former|formerly|no longer|if|but|instead|than|"
    r"apart|once|some|may|maybe|almost|nearly|all|every|most|or|planned|still|yet|again|always|was|"
    r"were|had|will|would)\b",
    re.IGNORECASE,
)
# Of these, those that a clause may have more: what is so in all rooms is so.
_WIDER = frozenset("all every always".split())
_CLAUSE = re.compile(
    r"\n|[.;:!?,]\s|\s(?:but|while|whereas|although|though|and|because|so|before|after|when|if|which|"
    r"who|that)\s",
    re.IGNORECASE,
)
_ENDING = re.compile(r"(?:ing|ied|ies|ed|es|s|e|y)$")
_SKIPPED = frozenset("also there still ever now really own have get got my our".split())
_WORD = re.compile(r"\w+")
_NEGATING = ("un", "in", "non", "dis", "im", "ir", "il")
_SHORT = 4  # Letters of words that are compared whole


def restates(question: str, text: str) -> bool | None:
    """True where a clause of a text affirms a question for yes or no in its own words.

    False where it denies it, by a word such as "not" on one side alone or by an antonym. None where
    no clause has all words of the question, or one has others that limit what it says.
    """
    asked = _stems(question)
    for clause in _CLAUSE.split(text) if asked else ():
        said = _stems(clause)
        missing = [word for word in asked if word not in said]
        if len(missing) > 1 or not _same_limits(question, clause):
            continue
        opposite = [
            word
            for word in missing
            if _is_predicate(word, question)
            and any(_are_opposite(word, other) for other in said if other not in asked)
        ]
        if opposite == missing:
            denials = len(_DENIES.findall(question)) + len(_DENIES.findall(clause))
            return (denials + len(opposite)) % 2 == 0
    return None


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in query_terms(text) if word not in _SKIPPED | _DENYING]


def _stem(word: str) -> str:
    return _ENDING.sub("", word) if len(word) > _SHORT else word


def _same_limits(question: str, clause: str) -> bool:
    asked, said = (set(_LIMITS.findall(text.casefold())) for text in (question, clause))
    return asked <= said and said - asked <= _WIDER


def _is_predicate(stem: str, question: str) -> bool:
    """Whether a word of a question is no attribute: what is not at the east gate may be at both."""
    words = _WORD.findall(question.casefold())
    content = set(query_terms(question))
    following = [*words[1:], ""]
    return any(
        _stem(word) == stem and after not in content
        for word, after in zip(words, following, strict=True)
    )


def _are_opposite(stem: str, other: str) -> bool:
    pair = (stem, other) if stem < other else (other, stem)
    short, long = sorted((stem, other), key=len)
    negated = len(short) >= _SHORT and any(long == _stem(one + short) for one in _NEGATING)
    return negated or pair in _antonyms()


@cache
def _antonyms() -> frozenset[tuple[str, ...]]:
    """Pairs of stems, each in the order of the alphabet."""
    lines = Path(__file__).with_name("antonyms.txt").read_text(encoding="utf-8").splitlines()
    pairs = (map(_stem, line.split()) for line in lines if not line.startswith("#"))
    return frozenset(tuple(sorted(pair)) for pair in pairs)
